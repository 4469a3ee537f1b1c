/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happened, in order.
 *
 * The source is Xen's own trace points: core.c and the schedulers already
 * describe what they do, to trace(). Every record of a scheduler goes into a
 * hash, so that two runs can be compared without keeping either, and each
 * record into a file if one is open: one line each,
 *
 *   time_ns  pcpu  event(hex)  word...(hex)
 *
 * sim.py turns it into Perfetto's format.
 */

#include <xen/trace.h>

#include "sim.h"

bool tb_init_done = true;
static host_file *file;

/*
 * What is to be hashed waits here: to read it right behind who wrote it, byte
 * by byte at times, stalls the host's CPU. Four hashes take turns, as each
 * step of one has to wait for the step before.
 */
#define LANES 4

static uint64_t waiting[1024];
static unsigned int nr_waiting;
static uint64_t lanes[LANES] = {
    0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL,
    0x9ae16a3b2f90404fULL, 0xc949d7c7509e6557ULL,
};

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;

    return hash ^ (hash >> 29);
}

static void hash_waiting(void)
{
    uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    unsigned int i;

    for ( i = 0; i + LANES <= nr_waiting; i += LANES )
    {
        a = mix(a, waiting[i]);
        b = mix(b, waiting[i + 1]);
        c = mix(c, waiting[i + 2]);
        d = mix(d, waiting[i + 3]);
    }
    lanes[0] = a;
    lanes[1] = b;
    lanes[2] = c;
    lanes[3] = d;

    nr_waiting -= i;
    memmove(waiting, waiting + i, nr_waiting * sizeof(*waiting));
}

uint64_t record_hash(void)
{
    uint64_t hash = 0;
    unsigned int i;

    hash_waiting();
    for ( i = 0; i < LANES; i++ )
        hash = mix(hash, lanes[i]);
    for ( i = 0; i < nr_waiting; i++ )
        hash = mix(hash, waiting[i]);

    return hash;
}

/*
 * What task awareness says of itself, whichever scheduler decides.  It is no
 * part of the hash: that is compared between schedulers, and with those of a
 * source without it.
 */
static bool is_commentary(uint32_t event)
{
#ifdef TRC_SCHED_TAVS
    uint32_t e = event & ~TRC_HD_CYCLE_FLAG;

    return (e & ~((1U << TRC_SCHED_ID_SHIFT) - 1)) ==
           TRC_SCHED_CLASS_EVT(TAVS, 0);
#else
    return false;
#endif
}

void trace(uint32_t event, unsigned int extra, const void *extra_data)
{
    const uint32_t *word = extra_data;
    struct pcpu *c = sim_cpu();
    unsigned int i, n = extra / sizeof(*word), cpu = c ? c->id : 0;

    /* The last thing that a scheduling decision says. */
    if ( (event & ~TRC_HD_CYCLE_FLAG) == TRC_SCHED_SWITCH ||
         (event & ~TRC_HD_CYCLE_FLAG) == TRC_SCHED_SWITCH_INFCONT )
        sim_decisions++;

    if ( !is_commentary(event) )
    {
        if ( nr_waiting + 3 + n / 2 > ARRAY_SIZE(waiting) )
            hash_waiting();
        waiting[nr_waiting++] = sim_now;
        waiting[nr_waiting++] = ((uint64_t)cpu << 32) | event;
        for ( i = 0; i + 1 < n; i += 2 )
            waiting[nr_waiting++] = ((uint64_t)word[i] << 32) | word[i + 1];
        if ( i < n )
            waiting[nr_waiting++] = word[i];
    }

    if ( file )
    {
        char line[256];
        int len = host_format(line, sizeof(line), "%lu\t%u\t%x",
                              (unsigned long)sim_now, cpu,
                              (unsigned int)(event & ~TRC_HD_CYCLE_FLAG));

        for ( i = 0; i < n && len < (int)sizeof(line) - 12; i++ )
            len += host_format(line + len, sizeof(line) - len, "\t%x",
                               word[i]);
        line[len++] = '\n';
        host_write(file, line, len);
    }
}

void record_open(const char *path)
{
    file = host_create(path);
    if ( !file )
    {
        host_err("error: cannot write %s\n", path);
        host_exit(2);
    }
}

void record_close(void)
{
    if ( file )
        host_close(file);
    file = NULL;
}
