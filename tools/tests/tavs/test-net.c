/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which packets are for I/O-bound tasks: the rules of the TAVS paper (3.3.2,
 * 4.3.2) and of xen/common/tavs/net.c as a table of cases, the ring with
 * whatever a driver domain may write there, and the parser of the Linux module
 * with whatever arrives.
 *
 *     test-net [SEED [ITERATIONS]]
 *
 * A case is a script of what happens to one vCPU.  As in test-tavs.c:
 *
 *   in out block event +300 a b c   and
 *   u7 t7     a packet for UDP (TCP) port 7 is announced, by an event
 *   o7        one that opens a connection to TCP port 7 is
 *   A B C     a b c is made known as I/O-bound (belief 100)
 *   X Y Z     x y z is made known as CPU-bound (belief -100)
 *
 * and then what the counters of ports are, relative to where they boost.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "net-map.h"
#include "task.h"

/* What parse.h takes from the kernel. */
struct sk_buff {
    const unsigned char *data;
    int len;
};

static const void *skb_header_pointer(const struct sk_buff *skb, int offset,
                                      int len, void *buffer)
{
    if ( offset < 0 || len > skb->len - offset )
        return NULL;

    memcpy(buffer, skb->data + offset, len);

    return buffer;
}

#include "parse.h"

#define KERNEL 1000UL

/* DOMID_FIRST_RESERVED, and the words of a bitmap with a bit for each below. */
#define DOMAINS 0x7ff0U
#define LONG_BITS (8 * sizeof(unsigned long))
#define RECEIVERS ((DOMAINS + LONG_BITS - 1) / LONG_BITS)

/* xorshift64*: the same on every host. */
static uint64_t rnd_state;

static uint32_t rnd(void)
{
    rnd_state ^= rnd_state >> 12;
    rnd_state ^= rnd_state << 25;
    rnd_state ^= rnd_state >> 27;

    return (rnd_state * 0x2545f4914f6cdd1dULL) >> 32;
}

static const struct tavs_params params = TAVS_PARAMS_DEFAULT;

struct machine {
    struct tavs_tasks tasks;
    struct tavs_segment segment;
    struct tavs_slice slice;
    struct tavs_portmap *map;
    unsigned int bits;
    int64_t now;
    bool told, wanted;
};

static struct xen_tavs_packet packet_of(const char *word)
{
    return (struct xen_tavs_packet){
        .domid = 1,
        .protocol = *word == 'u' ? 17 : 6,
        .flags = *word == 'o' ? XEN_TAVS_PACKET_OPENS : 0,
        .port = atoi(word + 1),
    };
}

static unsigned long task_id(char c)
{
    return c == 'k' ? KERNEL : (unsigned long)(c - 'a' + 1);
}

/* As tavs_net_learn() does it. */
static void learn(struct machine *m)
{
    enum tavs_outcome outcome = tavs_segment_outcome(&m->segment);

    if ( outcome != TAVS_OUTCOME_NONE )
        tavs_slice_learn(&m->slice, m->map, m->bits, outcome);
}

static void switch_to(struct machine *m, unsigned long id)
{
    tavs_segment_switch(&m->segment, &params, id, m->segment.cur == KERNEL,
                        m->now);
    learn(m);
}

static void know(struct machine *m, unsigned long id, int belief)
{
    switch_to(m, id);
    m->now += params.io_threshold + 1;      /* evidence, so it is tracked */
    switch_to(m, KERNEL);
    m->tasks.believed -= tavs_tasks_find(&m->tasks, id)->belief >
                         params.threshold;
    tavs_tasks_find(&m->tasks, id)->belief = belief;
    m->tasks.believed += belief > params.threshold;
}

static void play(struct machine *m, const char *script)
{
    char *copy = strdup(script), *save, *word;

    for ( word = strtok_r(copy, " ", &save); word;
          word = strtok_r(NULL, " ", &save) )
    {
        if ( !strcmp(word, "in") )
        {
            tavs_segment_in(&m->segment, &params, m->now);
            m->told = false;
        }
        else if ( !strcmp(word, "out") || !strcmp(word, "block") )
        {
            tavs_segment_out(&m->segment, &params, m->now, *word == 'b');
            learn(m);
        }
        else if ( !strcmp(word, "event") )
            tavs_segment_event(&m->segment, &params, m->now);
        else if ( *word == '+' )
            m->now += atol(word + 1) * 1000;
        else if ( (*word == 'u' || *word == 't') && word[1] )
        {
            struct xen_tavs_packet packet = packet_of(word);

            if ( !m->told )
                tavs_slice_served(&m->slice);
            m->told = true;
            m->wanted = tavs_slice_note(&m->slice, m->map, m->bits, &packet);
            tavs_segment_event(&m->segment, &params, m->now);
        }
        else if ( strlen(word) == 1 && *word >= 'A' && *word <= 'Z' )
            know(m, *word - 'A' + 1, *word < 'M' ? 100 : -100);
        else if ( strlen(word) == 1 )
            switch_to(m, task_id(*word));
        else
        {
            fprintf(stderr, "ERROR: what is '%s'?\n", word);
            exit(2);
        }
    }

    free(copy);
}

/*
 * `a` is I/O-bound; y and z are CPU-bound; z runs.  The vCPU lost its pCPU to
 * the driver domain when an event arrives, as it does on one pCPU.
 */
#define SETTING "in A Y Z z +1000 out +50 "

static const struct {
    const char *name;
    const char *script;
    struct {
        const char *port;
        int value;
    } counter[3];
} cases[] = {
    { "unknown", SETTING, { { "u7", -1 }, { "t7", -1 }, { "u65535", -1 } } },

    /* 3.3.2: "If an incoming packet makes the kernel wake up an inferred
     * I/O-bound task, the counter is incremented." */
    { "the first woken task is I/O-bound",
      SETTING "u7 in +70 a +80 z", { { "u7", 0 }, { "t7", -1 }, { "u8", -1 } } },
    { "... and it saturates",
      SETTING "u7 in +70 a +80 z +900 out u7 in +70 a +80 z +900 out "
              "u7 in +70 a +80 z +900 out u7 in +70 a +80 z",
      { { "u7", 1 } } },
    { "the protocols are told apart",
      SETTING "t7 in +70 a +80 z", { { "t7", 0 }, { "u7", -1 } } },
    { "the kernel's own page table is not the task that is woken up",
      SETTING "u7 in +50 k +20 a +80 z", { { "u7", 0 } } },
    /* "Otherwise, the counter is decremented." */
    { "the first woken task is CPU-bound",
      SETTING "u7 in +70 y +900 z", { { "u7", -2 } } },
    { "... and it saturates",
      SETTING "u7 in +70 y +9000 z +9000 out u7 in +70 y +9000 z +9000 out "
              "u7 in +70 y +9000 z", { { "u7", -2 } } },
    { "nobody is woken up",
      SETTING "u7 in +9000 out", { { "u7", -2 } } },
    { "... but somebody is switched to long after",
      SETTING "u7 in +9000 a +80 z", { { "u7", -2 } } },
    { "history outlives one miss",
      SETTING "u7 in +70 a +80 z +900 out u7 in +70 a +80 z +900 out "
              "u7 in +9000 out", { { "u7", 0 } } },

    /* 4.3.2: "... decremented if neither the first task nor the first woken
     * task is I/O-bound." */
    { "an I/O-bound task ran as it arrived: it may have taken it",
      SETTING "in a +80 out u7 in +50 y +900 z", { { "u7", -1 } } },
    { "... and another one is woken up",
      "in A B Y Z z +1000 out +50 in a +80 out u7 in +50 b +80 z",
      { { "u7", 0 } } },
    { "... though the first went on for too long",
      SETTING "in a +80 out u7 in +9000 out", { { "u7", -1 } } },

    /* 3.3.2: "The VMM updates portmap only if all incoming packets are
     * destined for one port number before the time slice." */
    { "several packets for one port",
      SETTING "u7 u7 u7 in +70 a +80 z", { { "u7", 0 } } },
    { "packets for different ports",
      SETTING "u7 u8 in +70 a +80 z", { { "u7", -1 }, { "u8", -1 } } },
    { "... of different protocols",
      SETTING "u7 t7 in +70 a +80 z", { { "u7", -1 }, { "t7", -1 } } },
    { "... and what comes after is a slice of its own",
      SETTING "u7 u8 in +70 a +80 z +900 out u7 in +70 a +80 z",
      { { "u7", 0 }, { "u8", -1 } } },
    { "an event without a packet teaches nothing",
      SETTING "event in +70 a +80 z", { { "u7", -1 } } },
    { "... and does not disturb",
      SETTING "u7 event in +70 a +80 z", { { "u7", 0 } } },
    { "the echo of the answer is no packet",
      SETTING "u7 in +70 a +50 out event in +30 z +900 out",
      { { "u7", 0 } } },
    { "a packet for the task that answers another",
      SETTING "u7 in +70 a +50 out u7 in +30 z +900 out", { { "u7", 0 } } },

    /* While the belief grows (task.c, 5). */
    { "a new task that answers quickly",
      SETTING "u7 in +70 b +80 z", { { "u7", 0 } } },
    { "... learns port and task at once",
      SETTING "u7 in +70 b +80 z +900 out u7 in +70 b +80 z +900 out "
              "u7 in +70 b +80 z", { { "u7", 1 } } },
    { "a new task that computes",
      SETTING "u7 in +70 b +900 z", { { "u7", -2 } } },
    { "... is known to by the time it loses the pCPU",
      SETTING "u7 in +70 b +900 out", { { "u7", -2 } } },
    { "a CPU-bound task that happens to be short stays what it is",
      SETTING "u7 in +70 y +80 z", { { "u7", -2 } } },
    { "... unless it has not been CPU-bound for a second",
      SETTING "+1000000 u7 in +70 y +80 z", { { "u7", 0 } } },
    { "... and is not now",
      SETTING "+1000000 u7 in +70 y +900 z", { { "u7", -2 } } },
    { "cut off before it could show itself",
      SETTING "u7 in +70 b +10 out +900 in +70 z", { { "u7", 0 } } },

    /* Idle. */
    { "resumes from idle, then switches",
      "in A Y y +10 block +500 u7 in +70 a +80 y", { { "u7", 0 } } },
    { "idle kept an I/O-bound task, another one answers",
      "in A Y a +10 block +500 u7 in +70 y +80 a", { { "u7", -2 } } },
    { "idle kept the one that answers",
      "in A a +10 block +500 u7 in +150 block", { { "u7", 0 } } },
    { "idle kept one that is none",
      "in Y y +10 block +500 u7 in +900 block", { { "u7", -2 } } },
    { "the guest has nothing to run but the kernel",
      "in Y k +10 block +500 u7 in +90 block", { { "u7", -2 } } },
};

static void setup(struct machine *m, unsigned int bits)
{
    memset(m, 0, sizeof(*m));
    tavs_tasks_init(&m->tasks);
    tavs_segment_init(&m->segment, &m->tasks);
    m->tasks.kernel = KERNEL;
    m->map = calloc(1, sizeof(*m->map));
    m->bits = bits;
    m->now = 1000000;
}

static int counter(const struct machine *m, const char *port)
{
    struct xen_tavs_packet packet = packet_of(port);

    return tavs_portmap_get(m->map, m->bits, &packet);
}

static void test_cases(void)
{
    unsigned int i, j;

    for ( i = 0; i < sizeof(cases) / sizeof(cases[0]); i++ )
    {
        struct machine m;

        setup(&m, 2);
        play(&m, cases[i].script);
        for ( j = 0; j < 3 && cases[i].counter[j].port; j++ )
        {
            int value = counter(&m, cases[i].counter[j].port);

            check(value == cases[i].counter[j].value, cases[i].name,
                  "%s is %d, not %d", cases[i].counter[j].port, value,
                  cases[i].counter[j].value);
        }
        free(m.map);
    }
}

/* Each width has its range; one packet teaches any of them. */
static void test_bits(void)
{
    static const unsigned int bits[] = { 1, 2, 4 };
    unsigned int i, n;
    struct machine m;

    for ( i = 0; i < 3; i++ )
    {
        int limit = 1 << (bits[i] - 1);

        setup(&m, bits[i]);
        check(counter(&m, "u7") == -1, "bits", "%u begin elsewhere", bits[i]);
        play(&m, SETTING);
        for ( n = 1; n <= 20; n++ )
        {
            int want = (int)n - 1 < limit ? (int)n - 1 : limit - 1;

            play(&m, "u7 in +70 a +80 z +900 out");
            check(counter(&m, "u7") == want, "bits", "%u after %u packets: %d",
                  bits[i], n, counter(&m, "u7"));
        }
        for ( n = 1; n <= 20; n++ )
        {
            int want = limit - 1 - (int)n > -limit ? limit - 1 - (int)n : -limit;

            play(&m, "u7 in +9000 out");
            check(counter(&m, "u7") == want, "bits", "%u after %u misses: %d",
                  bits[i], n, counter(&m, "u7"));
        }
        check(counter(&m, "u6") == -1 && counter(&m, "t7") == -1, "bits",
              "neighbours of port 7 changed");
        free(m.map);
    }

    /* Changed while it is in use: what was learned is kept, in range. */
    setup(&m, 4);
    play(&m, SETTING);
    for ( n = 0; n < 20; n++ )
        play(&m, "u7 in +70 a +80 z +900 out u8 in +9000 out");
    check(counter(&m, "u7") == 7 && counter(&m, "u8") == -8, "live", "4 bits");
    m.bits = 2;
    check(counter(&m, "u7") == 1 && counter(&m, "u8") == -2, "live", "2 bits");
    m.bits = 1;
    check(counter(&m, "u7") == 0 && counter(&m, "u8") == -1, "live", "1 bit");
    play(&m, "u7 in +9000 out");
    check(counter(&m, "u7") == -1, "live", "1 bit, after a miss");
    free(m.map);
}

/* A task is believed, and its port boosts, after five requests. */
static void test_learning(void)
{
    struct machine m;
    unsigned int n;

    setup(&m, 2);
    play(&m, "in Z z +1000 out");
    for ( n = 1; n <= 6; n++ )
    {
        bool boosts = m.tasks.believed && counter(&m, "u7") >= 0;

        check(boosts == (n > 5), "learning", "request %u is%s boosted", n,
              boosts ? "" : " not");
        play(&m, "+90000 u7 in +70 b +80 z +30000 out");
    }
    free(m.map);
}

/*
 * A packet for an I/O-bound task behind one that is for none: whether it is
 * worth a boost depends on who came first in such slices.
 */
static void test_behind(void)
{
    struct machine m;
    unsigned int i;

    setup(&m, 2);
    play(&m, SETTING "u7 in +70 a +80 z +900 out u8 in +70 y +900 z +900 out");

    play(&m, "u7");
    check(m.wanted, "behind", "alone");
    play(&m, "in +70 a +80 z +900 out u8");
    check(!m.wanted, "behind", "for the CPU-bound task");
    play(&m, "u7");
    check(m.wanted, "behind", "not tried");
    play(&m, "in +70 y +900 z +900 out u8 u7");
    check(!m.wanted, "behind", "tried again though it failed");
    play(&m, "in +70 y +900 z +900 out u7 u8 u7");
    check(!m.wanted, "behind", "both ahead and behind: was wanted before");
    play(&m, "in +70 a +80 z +900 out u7");
    check(m.wanted, "behind", "alone again");
    play(&m, "in +70 a +80 z +900 out");

    /* Told of it, but has run since: no more ahead. */
    play(&m, "u8 in +9000 out u7");
    check(m.wanted, "behind", "what was ahead is served");
    play(&m, "in +70 a +80 z +900 out");

    /* Packets that wake up nobody are not in the way. */
    for ( i = 0; i < 4; i++ )
        play(&m, "u9 u7 in +70 a +80 z +900 out");
    play(&m, "u9 u7");
    check(m.wanted, "behind", "behind what wakes up nobody");
    check(counter(&m, "u7") == 1, "behind", "port 7 is %d", counter(&m, "u7"));
    free(m.map);
}

static void put(struct xen_tavs_ring *ring, uint16_t domid, uint8_t protocol,
                uint16_t port)
{
    ring->packet[ring->prod++ % XEN_TAVS_RING_SIZE] =
        (struct xen_tavs_packet){ .domid = domid, .protocol = protocol,
                                  .port = port };
}

static void test_ring(void)
{
    struct xen_tavs_ring ring = {};
    struct tavs_packets p = {};
    struct xen_tavs_packet got[XEN_TAVS_RING_SIZE];
    unsigned int i, n, turns;
    bool old;

    tavs_packets_drain(&p, &ring, NULL);
    check(!p.taken && !p.num, "ring", "something in an empty one");

    /* In order, each once, to whom it is for; also around the wrap. */
    ring.prod = ring.cons = p.cons = -3U;
    for ( turns = 0; turns < 10; turns++ )
    {
        put(&ring, 1, 17, 100 + turns);
        put(&ring, 2, 6, 200 + turns);
        put(&ring, 1, 17, 300 + turns);
        tavs_packets_drain(&p, &ring, NULL);
        check(ring.cons == ring.prod, "ring", "not given back");
        n = tavs_packets_take(&p, 1, got);
        check(n == 2 && got[0].port == 100 + turns && got[1].port == 300 + turns,
              "ring", "%u packets for domain 1", n);
        n = tavs_packets_take(&p, 2, got);
        check(n == 1 && got[0].port == 200 + turns && got[0].protocol == 6,
              "ring", "%u packets for domain 2", n);
        check(!tavs_packets_take(&p, 1, got), "ring", "a packet twice");
    }
    check(p.taken == 30 && !p.overrun && !p.incomplete, "ring", "lost some");

    /* What is left over is seen twice, then no more. */
    put(&ring, 3, 17, 7);
    tavs_packets_drain(&p, &ring, NULL);
    check(tavs_packets_flush(&p, got, &old) && !old && got[0].domid == 3,
          "ring", "not left over");
    check(!tavs_packets_flush(&p, got + 1, &old), "ring", "left over twice");
    tavs_packets_keep(&p, got);
    check(tavs_packets_flush(&p, got, &old) && old && got[0].port == 7,
          "ring", "not kept");

    /* Full: what waits is bounded, the oldest goes. */
    for ( turns = 0; turns < 2; turns++ )
    {
        for ( i = 0; i < XEN_TAVS_RING_SIZE; i++ )
            put(&ring, 9, 17, turns * 100 + i);
        tavs_packets_drain(&p, &ring, NULL);
    }
    check(p.num == XEN_TAVS_RING_SIZE && p.dropped == XEN_TAVS_RING_SIZE &&
          p.incomplete, "ring", "%u wait, %lu dropped", p.num, p.dropped);
    n = tavs_packets_take(&p, 9, got);
    check(n == XEN_TAVS_RING_SIZE && got[0].port == 100, "ring",
          "not the newest ones");

    /* Nothing that is neither TCP nor UDP. */
    put(&ring, 1, 1, 7);
    put(&ring, 1, 0, 7);
    put(&ring, 1, 255, 7);
    tavs_packets_drain(&p, &ring, NULL);
    check(!p.num && p.nonsense == 3, "ring", "nonsense was taken");

    /* An index out of bounds: all is forgotten, and it goes on from there. */
    ring.prod += XEN_TAVS_RING_SIZE + 1;
    tavs_packets_drain(&p, &ring, NULL);
    check(!p.num && p.overrun == 1 && ring.cons == ring.prod, "ring",
          "overrun");
    put(&ring, 1, 17, 5);
    tavs_packets_drain(&p, &ring, NULL);
    check(tavs_packets_take(&p, 1, got) == 1 && got[0].port == 5, "ring",
          "nothing after an overrun");

    /* It is known that packets are missing. */
    p.incomplete = false;
    ring.lost++;
    tavs_packets_drain(&p, &ring, NULL);
    check(p.incomplete, "ring", "loss unnoticed");
}

/* The ring is a page of its own, scribbled over between (and during) calls. */
static void fuzz_ring(unsigned long iterations)
{
    struct xen_tavs_ring *ring = calloc(1, sizeof(*ring));
    struct tavs_packets *p = calloc(1, sizeof(*p));
    struct tavs_portmap *map = calloc(1, sizeof(*map));
    struct tavs_slice slice = {};
    struct xen_tavs_packet *got = calloc(XEN_TAVS_RING_SIZE, sizeof(*got));
    unsigned long *receivers = calloc(RECEIVERS, sizeof(*receivers));
    unsigned long i;

    for ( i = 0; i < iterations; i++ )
    {
        unsigned int n, j, before, bits = 1 << rnd() % 3;
        unsigned long taken = p->taken;
        bool old;

        switch ( rnd() % 4 )
        {
        case 0:                                 /* anything */
            for ( j = 0; j < sizeof(*ring) / 4; j++ )
                ((uint32_t *)ring)[j] = rnd();
            break;

        case 1:                                 /* anything, plausible index */
            for ( j = 0; j < XEN_TAVS_RING_SIZE; j++ )
                ring->packet[j] = (struct xen_tavs_packet){
                    .domid = rnd() % 4, .protocol = rnd() % 2 ? 17 : rnd(),
                    .port = rnd() };
            /* fallthrough */
        case 2:
            ring->prod = p->cons + rnd() % (XEN_TAVS_RING_SIZE + 2);
            break;

        case 3:                                 /* one bit */
            ((unsigned char *)ring)[rnd() % sizeof(*ring)] ^= 1 << rnd() % 8;
            break;
        }

        before = p->num;
        for ( j = 0; j < RECEIVERS; j++ )
            receivers[j] = rnd() | (unsigned long)rnd() << 31;
        tavs_packets_drain(p, ring, i % 2 ? receivers : NULL);
        for ( j = before; i % 2 && j < p->num; j++ )
        {
            unsigned int id = p->waiting[j].packet.domid;

            if ( id >= DOMAINS ||
                 !(receivers[id / LONG_BITS] & 1UL << id % LONG_BITS) )
                check(false, "fuzz", "a packet for %u", id);
        }
        check(p->taken - taken <= XEN_TAVS_RING_SIZE, "fuzz",
              "%lu packets at once", p->taken - taken);
        check(p->num <= XEN_TAVS_RING_SIZE, "fuzz", "%u wait", p->num);
        check(ring->cons == p->cons || p->taken == taken, "fuzz",
              "not given back");
        if ( p->num < before )
            check(false, "fuzz", "drain took some away");

        n = tavs_packets_take(p, rnd() % 4, got);
        check(n <= XEN_TAVS_RING_SIZE, "fuzz", "%u taken", n);
        for ( j = 0; j < n; j++ )
        {
            int value = tavs_portmap_get(map, bits, &got[j]);

            check(tavs_packet_valid(&got[j]), "fuzz", "invalid packet");
            check(value >= -(1 << (bits - 1)) && value < 1 << (bits - 1),
                  "fuzz", "a counter of %u bits is %d", bits, value);
            tavs_slice_note(&slice, map, bits, &got[j]);
            check(slice.worth >= -2 && slice.worth <= 1, "fuzz",
                  "worth is %d", slice.worth);
            if ( !(rnd() % 4) )
                tavs_slice_served(&slice);
            if ( !(rnd() % 4) )
                tavs_slice_learn(&slice, map, bits,
                                 TAVS_OUTCOME_IO + rnd() % 3);
        }

        if ( !(rnd() % 8) )
        {
            struct xen_tavs_packet left[XEN_TAVS_RING_SIZE];

            for ( n = 0; n < XEN_TAVS_RING_SIZE; n++ )
                if ( !tavs_packets_flush(p, &left[n], &old) )
                    break;
            check(!p->num, "fuzz", "%u left behind", p->num);
            while ( n-- )
                if ( rnd() % 2 )
                    tavs_packets_keep(p, &left[n]);
        }
    }

    free(receivers);
    free(got);
    free(map);
    free(p);
    free(ring);
}

#define ETH4 "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0"
#define ETH6 "\x02\0\0\0\0\1\x02\0\0\0\0\2\x86\xdd"
#define VLAN4 "\x02\0\0\0\0\1\x02\0\0\0\0\2\x81\0\0\5\x08\0"
#define QINQ4 "\x02\0\0\0\0\1\x02\0\0\0\0\2\x88\xa8\0\5\x81\0\0\6\x08\0"
#define TAGS3 "\x02\0\0\0\0\1\x02\0\0\0\0\2\x88\xa8\0\5\x81\0\0\6\x81\0\0\7\x08\0"
#define IP(frag, proto) "\x45\0\0\x1c\0\0" frag "\x40" proto "\0\0\x0a\0\0\1\x0a\0\0\2"
#define IP_OPTIONS(proto) "\x47\0\0\x24\0\0\0\0\x40" proto "\0\0\x0a\0\0\1\x0a\0\0\2" "\1\1\1\1\1\1\1\0"
#define ADDRESS "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define IP6(next) "\x60\0\0\0\0\x08" next "\x40" ADDRESS ADDRESS
#define L4 "\x12\x34\0\7\0\x08\0\0"         /* to port 7 */

static const struct {
    const char *name;
    const char *bytes;
    int len, protocol, port;                    /* protocol 0: not told */
} frames[] = {
#define F(name, bytes, protocol, port) \
    { name, bytes, sizeof(bytes) - 1, protocol, port }
    F("udp", ETH4 IP("\0\0", "\x11") L4, 17, 7),
    F("tcp", ETH4 IP("\0\0", "\x06") L4, 6, 7),
    F("icmp", ETH4 IP("\0\0", "\x01") L4, 0, 0),
    F("don't fragment", ETH4 IP("\x40\0", "\x11") L4, 17, 7),
    F("first fragment", ETH4 IP("\x20\0", "\x11") L4, 17, 7),
    F("later fragment", ETH4 IP("\x20\1", "\x11") L4, 0, 0),
    F("last fragment", ETH4 IP("\0\1", "\x11") L4, 0, 0),
    F("options", ETH4 IP_OPTIONS("\x11") L4, 17, 7),
    F("one tag", VLAN4 IP("\0\0", "\x11") L4, 17, 7),
    F("two tags", QINQ4 IP("\0\0", "\x11") L4, 17, 7),
    F("three tags", TAGS3 IP("\0\0", "\x11") L4, 0, 0),
    F("v6", ETH6 IP6("\x11") L4, 17, 7),
    F("v6 tcp", ETH6 IP6("\x06") L4, 6, 7),
    F("v6 icmp", ETH6 IP6("\x3a") L4, 0, 0),
    F("v6 hop by hop", ETH6 IP6("\0") "\x11\0\1\4\0\0\0\0" L4, 17, 7),
    F("v6 long option",
      ETH6 IP6("\x3c") "\x11\1\1\4\0\0\0\0\1\6\0\0\0\0\0\0" L4, 17, 7),
    F("v6 first fragment", ETH6 IP6("\x2c") "\x11\0\0\1\0\0\0\0" L4, 17, 7),
    F("v6 later fragment", ETH6 IP6("\x2c") "\x11\0\0\x9\0\0\0\0" L4, 0, 0),
    F("v6 authentication",
      ETH6 IP6("\x33") "\x11\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" L4,
      17, 7),
    F("v6 seven headers", ETH6 IP6("\x3c")
      "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0"
      "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0"
      "\x11\0\1\4\0\0\0\0" L4, 17, 7),
    F("v6 too many headers", ETH6 IP6("\x3c")
      "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0"
      "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0" "\x3c\0\1\4\0\0\0\0"
      "\x3c\0\1\4\0\0\0\0" "\x11\0\1\4\0\0\0\0" L4, 0, 0),
    F("v4 that says v6", ETH6 IP("\0\0", "\x11") L4, 0, 0),
    F("v4 with a short header", ETH4 "\x44\0\0\x1c\0\0\0\0\x40\x11\0\0"
      "\x0a\0\0\1\x0a\0\0\2" L4, 0, 0),
    F("arp", "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\6" "\0\1\x08\0\6\4\0\1", 0, 0),
#undef F
};

static void test_frames(void)
{
    unsigned int i;

    for ( i = 0; i < sizeof(frames) / sizeof(frames[0]); i++ )
    {
        /* A copy without a byte to spare, and each beginning of it. */
        int len;

        for ( len = frames[i].len; len >= 0; len-- )
        {
            unsigned char *data = malloc(len ?: 1), protocol = 0;
            struct sk_buff skb = { .data = data, .len = len };
            unsigned short port = 0;
            bool told;

            memcpy(data, frames[i].bytes, len);
            told = tavs_parse(&skb, &protocol, &port);
            if ( len == frames[i].len )
                check(told == !!frames[i].protocol &&
                      protocol == frames[i].protocol &&
                      port == frames[i].port, frames[i].name,
                      "%d: %u port %u", told, protocol, port);
            else if ( told )                    /* ports are 4 of its 8 bytes */
                check(len >= frames[i].len - 4 && port == frames[i].port,
                      frames[i].name, "port %u at length %d", port, len);
            free(data);
        }
    }
}

#define TCP(offset, flags) "\x12\x34\0\7\0\0\0\1\0\0\0\1" offset flags "\1\0\0\0\0\0"
#define IP_LEN(len, frag) "\x45\0\0" len "\0\0" frag "\x40\x06\0\0\x0a\0\0\1\x0a\0\0\2"
#define IP6_LEN(len) "\x60\0\0\0\0" len "\x06\x40" ADDRESS ADDRESS
#define PAD "\0\0\0\0\0\0"

/* What of TCP may be for a task, and what the kernel of the guest keeps. */
static const struct {
    const char *name;
    const char *bytes;
    int len;
    bool told;
} segments[] = {
#define S(name, bytes, told) { name, bytes, sizeof(bytes) - 1, told }
    S("acknowledgement", ETH4 IP_LEN("\x28", "\0\0") TCP("\x50", "\x10"), false),
    S("... padded", ETH4 IP_LEN("\x28", "\0\0") TCP("\x50", "\x10") PAD, false),
    S("... with an option",
      ETH4 IP_LEN("\x2c", "\0\0") TCP("\x60", "\x10") "\1\1\1\1", false),
    S("one byte", ETH4 IP_LEN("\x29", "\0\0") TCP("\x50", "\x10") "x", true),
    S("... behind an option",
      ETH4 IP_LEN("\x2d", "\0\0") TCP("\x60", "\x18") "\1\1\1\1x", true),
    S("SYN", ETH4 IP_LEN("\x28", "\0\0") TCP("\x50", "\x02"), true),
    S("FIN", ETH4 IP_LEN("\x28", "\0\0") TCP("\x50", "\x11"), true),
    S("RST", ETH4 IP_LEN("\x28", "\0\0") TCP("\x50", "\x04"), true),
    S("first fragment", ETH4 IP_LEN("\x30", "\x20\0") TCP("\x50", "\x10")
      "xxxxxxxx", true),
    S("v6 acknowledgement", ETH6 IP6_LEN("\x14") TCP("\x50", "\x10"), false),
    S("v6 one byte", ETH6 IP6_LEN("\x15") TCP("\x50", "\x10") "x", true),
    S("v6 longer than can be said", ETH6 IP6_LEN("\0") TCP("\x50", "\x10"), true),
#undef S
};

static void test_segments(void)
{
    unsigned int i;

    for ( i = 0; i < sizeof(segments) / sizeof(segments[0]); i++ )
    {
        unsigned char *data = malloc(segments[i].len), protocol = 0;
        struct sk_buff skb = { .data = data, .len = segments[i].len };
        unsigned short port = 0;
        bool told;

        memcpy(data, segments[i].bytes, segments[i].len);
        told = tavs_parse(&skb, &protocol, &port);
        check(told == segments[i].told &&
              (!told || (protocol == 6 && port == 7)), segments[i].name,
              "%d: %u port %u", told, protocol, port);
        free(data);
    }
}

static void fuzz_frames(unsigned long iterations)
{
    unsigned long n;

    for ( n = 0; n < iterations; n++ )
    {
        unsigned int i = rnd() % (sizeof(frames) / sizeof(frames[0]));
        int len = rnd() % 8 ? frames[i].len : (int)(rnd() % 200), j;
        unsigned char *data = malloc(len ?: 1), protocol = 0;
        struct sk_buff skb = { .data = data, .len = len };
        unsigned short port;

        for ( j = 0; j < len; j++ )
            data[j] = j < frames[i].len ? (unsigned char)frames[i].bytes[j] : rnd();
        for ( j = rnd() % 8; j && len; j-- )
            data[rnd() % len] = rnd();
        if ( tavs_parse(&skb, &protocol, &port) )
            check(protocol == 6 || protocol == 17, "frames", "protocol %u",
                  protocol);
        free(data);
    }
}

/*
 * What opens a connection counts where the port's packets do, and teaches
 * nothing.  As note() of net.c has it.
 */
static void test_opens(void)
{
    struct xen_tavs_packet packet = packet_of("o7"), data = packet_of("t7");
    struct machine m;

    check(tavs_packet_valid(&packet), "opens", "not valid");
    setup(&m, 2);
    check(tavs_portmap_get(m.map, 2, &packet) == -1, "opens", "unknown port");
    play(&m, SETTING "t7 in +70 a +80 z +900 out");
    check(tavs_portmap_get(m.map, 2, &packet) == 0 &&
          tavs_portmap_get(m.map, 2, &data) == 0, "opens",
          "another counter than the port's");
    free(m.map);
}

/* Of a packet that says what it may not say nothing is taken. */
static void test_malformed(void)
{
    unsigned int protocol, flags;

    for ( protocol = 0; protocol < 256; protocol++ )
        for ( flags = 0; flags < 256; flags++ )
        {
            struct xen_tavs_packet packet = {
                .domid = 1, .protocol = protocol, .flags = flags, .port = 7,
            };
            bool valid = (protocol == 17 && !flags) ||
                         (protocol == 6 && flags <= XEN_TAVS_PACKET_OPENS);
            struct xen_tavs_ring ring = { .prod = 1, .packet = { packet } };
            struct tavs_packets p = {};

            check(tavs_packet_valid(&packet) == valid, "malformed",
                  "protocol %u, flags %#x", protocol, flags);
            tavs_packets_drain(&p, &ring, NULL);
            check(p.num == valid && p.nonsense == !valid && p.taken == 1 &&
                  ring.cons == 1, "malformed", "taken: protocol %u, flags %#x",
                  protocol, flags);
        }
}

/*
 * Only those that the driver domain has sent an event to are receivers.  What
 * it tells of others takes no place.
 */
static void test_receivers(void)
{
    static const uint16_t ids[] = {
        0, 1, 2, 31, 32, 63, 64, 65, 1000, DOMAINS - 1, DOMAINS, 0x7ff1, 0x7fff,
        0x8001, 0xffff,
    };
    /* Without a word to spare: what is read behind it is found. */
    unsigned long *receivers = calloc(RECEIVERS, sizeof(*receivers));
    struct xen_tavs_packet got[XEN_TAVS_RING_SIZE];
    struct xen_tavs_ring ring = {};
    struct tavs_packets p = {};
    unsigned int i, j, n;

    for ( i = 0; i < sizeof(ids) / sizeof(ids[0]); i++ )
    {
        put(&ring, ids[i], 17, 7);
        tavs_packets_drain(&p, &ring, receivers);
    }
    check(!p.num && p.strange == i && !p.nonsense && !p.dropped, "receivers",
          "%u of strangers wait, %lu are strange", p.num, p.strange);

    for ( i = 0; i < sizeof(ids) / sizeof(ids[0]); i++ )
    {
        if ( ids[i] >= DOMAINS )
            continue;

        receivers[ids[i] / LONG_BITS] |= 1UL << ids[i] % LONG_BITS;
        for ( j = 0; j < sizeof(ids) / sizeof(ids[0]); j++ )
        {
            put(&ring, ids[j], 17, 7);
            tavs_packets_drain(&p, &ring, receivers);
            n = tavs_packets_take(&p, ids[j], got);
            check(n == (i == j), "receivers", "%u for %u, where %u receives", n,
                  ids[j], ids[i]);
        }
        receivers[ids[i] / LONG_BITS] = 0;
    }

    /* Two rings full of a stranger's displace nothing. */
    receivers[0] = 1UL << 1;
    put(&ring, 1, 17, 7);
    for ( i = 0; i < 2 * XEN_TAVS_RING_SIZE; i++ )
    {
        put(&ring, 5, 17, i);
        tavs_packets_drain(&p, &ring, receivers);
    }
    check(!p.dropped && !p.incomplete, "receivers", "%lu dropped", p.dropped);
    n = tavs_packets_take(&p, 1, got);
    check(n == 1 && got[0].port == 7, "receivers", "%u left", n);
    check(!tavs_packets_take(&p, 5, got), "receivers", "a stranger's packet");
    free(receivers);
}

/* Handshakes: which segments are told of, in the order in which they come. */
static void test_handshakes(void)
{
#define SEG4(host, port, flags) ETH4 "\x45\0\0\x28\0\0\0\0\x40\x06\0\0" \
    "\x0a\0\0" host "\x0a\0\0\2" "\x12" port "\0\7\0\0\0\1\0\0\0\1\x50" flags \
    "\1\0\0\0\0\0"
#define SEG6(host, flags) ETH6 "\x60\0\0\0\0\x14\x06\x40" \
    "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0" host ADDRESS TCP("\x50", flags)
    static const struct {
        const char *name;
        const char *bytes;
        int len;
        bool told, opens;
    } steps[] = {
#define S(name, bytes, told, opens) { name, bytes, sizeof(bytes) - 1, told, opens }
        S("ACK of nothing", SEG4("\1", "\1", "\x10"), false, false),
        S("SYN", SEG4("\1", "\1", "\x02"), true, true),
        S("SYN again", SEG4("\1", "\1", "\x02"), true, true),
        S("ACK of another port", SEG4("\1", "\2", "\x10"), false, false),
        S("ACK of another host", SEG4("\3", "\1", "\x10"), false, false),
        S("UDP from there", ETH4 IP("\0\0", "\x11") L4, true, false),
        S("ACK that completes", SEG4("\1", "\1", "\x10"), true, false),
        S("ACK behind it", SEG4("\1", "\1", "\x10"), false, false),
        S("SYN of another", SEG4("\1", "\3", "\xc2"), true, true),
        S("FIN instead", SEG4("\1", "\3", "\x11"), true, false),
        S("ACK after that", SEG4("\1", "\3", "\x10"), false, false),
        S("answer to a SYN", SEG4("\1", "\4", "\x12"), true, false),
        S("ACK behind the answer", SEG4("\1", "\4", "\x10"), false, false),
        S("v6 SYN", SEG6("\1", "\x02"), true, true),
        S("v6 ACK of another", SEG6("\2", "\x10"), false, false),
        S("v6 ACK", SEG6("\1", "\x10"), true, false),
        S("v6 ACK again", SEG6("\1", "\x10"), false, false),
#undef S
    };
    unsigned int syns[TAVS_SYNS] = {}, i, used = 0;
    struct tavs_parsed parsed;

    for ( i = 0; i < sizeof(steps) / sizeof(steps[0]); i++ )
    {
        unsigned char *data = malloc(steps[i].len);
        struct sk_buff skb = { .data = data, .len = steps[i].len };
        bool known, told;

        memcpy(data, steps[i].bytes, steps[i].len);
        known = tavs_parse_packet(&skb, &parsed);
        told = known && tavs_is_told(&parsed, &syns[parsed.tag % TAVS_SYNS]);
        check(known && told == steps[i].told && parsed.opens == steps[i].opens,
              "handshakes", "%s: told %d, opens %d", steps[i].name, told,
              known && parsed.opens);
        free(data);
    }

    for ( i = 0; i < TAVS_SYNS; i++ )
        check(!syns[i], "handshakes", "entry %u is left", i);

    /* Connections of one host fill the table, and a newer one displaces. */
    for ( i = 0; i < 4 * TAVS_SYNS; i++ )
    {
        unsigned char data[] = SEG4("\1", "\1", "\x02");
        struct sk_buff skb = { .data = data, .len = sizeof(data) - 1 };

        data[34] = i >> 8;
        data[35] = i;
        check(tavs_parse_packet(&skb, &parsed) && parsed.tag, "handshakes",
              "no tag");
        tavs_is_told(&parsed, &syns[parsed.tag % TAVS_SYNS]);
        check(syns[parsed.tag % TAVS_SYNS] == parsed.tag, "handshakes",
              "SYN %u is not remembered", i);
    }
    for ( i = 0; i < TAVS_SYNS; i++ )
        used += !!syns[i];
    check(used > TAVS_SYNS * 9 / 10, "handshakes", "%u entries in use", used);
#undef SEG4
#undef SEG6
}

int main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    unsigned long iterations = argc > 2 ? strtoul(argv[2], NULL, 0) : 200000;

    rnd_state = seed * 0x9e3779b97f4a7c15ULL + 1;

    test_cases();
    test_bits();
    test_learning();
    test_behind();
    test_ring();
    test_frames();
    test_segments();
    test_opens();
    test_malformed();
    test_receivers();
    test_handshakes();
    fuzz_ring(iterations);
    fuzz_frames(iterations);

    printf("%u checks, %u failures\n", checks, failures);

    return failures != 0;
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
