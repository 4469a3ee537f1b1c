/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which packets are for I/O-bound tasks: the plain part.  See net.c.
 */
#ifdef __XEN__
# include <xen/lib.h>
# include <xen/string.h>
# include <asm/system.h>
#else
# include <string.h>
# define ACCESS_ONCE(x) (*(volatile typeof(x) *)&(x))
# define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
# define smp_mb()  __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

#include "net-map.h"

bool tavs_packet_valid(const struct xen_tavs_packet *packet)
{
    return (packet->protocol == TAVS_TCP &&
            !(packet->flags & ~XEN_TAVS_PACKET_OPENS)) ||
           (packet->protocol == TAVS_UDP && !packet->flags);
}

static bool receives(const unsigned long *receivers, unsigned int domid)
{
    const unsigned int bits = sizeof(*receivers) * 8;

    return !receivers ||
           (domid < DOMID_FIRST_RESERVED &&
            (receivers[domid / bits] & (1UL << (domid % bits))));
}

static bool same(const struct xen_tavs_packet *a,
                 const struct xen_tavs_packet *b)
{
    return a->domid == b->domid && a->protocol == b->protocol &&
           a->port == b->port;
}

/* Without a place for it, it takes that of the oldest. */
static void add(struct tavs_packets *p, const struct xen_tavs_packet *packet,
                bool old)
{
    if ( p->num == XEN_TAVS_RING_SIZE )
    {
        p->dropped++;
        p->incomplete = true;
        p->num--;
        memmove(&p->waiting[0], &p->waiting[1],
                p->num * sizeof(p->waiting[0]));
    }

    p->waiting[p->num].packet = *packet;
    p->waiting[p->num].old = old;
    p->num++;
}

static void remove(struct tavs_packets *p, unsigned int i)
{
    p->num--;
    memmove(&p->waiting[i], &p->waiting[i + 1],
            (p->num - i) * sizeof(p->waiting[0]));
}

void tavs_packets_drain(struct tavs_packets *p, struct xen_tavs_ring *ring,
                        const unsigned long *receivers)
{
    uint32_t prod = ACCESS_ONCE(ring->prod);
    uint32_t lost = ACCESS_ONCE(ring->lost);

    if ( lost != p->lost )
    {
        p->lost = lost;
        p->incomplete = true;
    }

    if ( prod == p->cons )
        return;

    if ( prod - p->cons > XEN_TAVS_RING_SIZE )
    {
        /* There is nothing to be made of it: start anew. */
        p->overrun++;
        p->incomplete = true;
        p->cons = prod;
    }

    /* Packets are read after the index that covers them. */
    smp_rmb();

    for ( ; p->cons != prod; p->cons++ )
    {
        const struct xen_tavs_packet *from =
            &ring->packet[p->cons % XEN_TAVS_RING_SIZE];
        const struct xen_tavs_packet packet = {
            .domid    = ACCESS_ONCE(from->domid),
            .protocol = ACCESS_ONCE(from->protocol),
            .flags    = ACCESS_ONCE(from->flags),
            .port     = ACCESS_ONCE(from->port),
        };

        p->taken++;
        if ( !tavs_packet_valid(&packet) )
            p->nonsense++;
        else if ( !receives(receivers, packet.domid) )
            p->strange++;
        else
            add(p, &packet, false);
    }

    /* ... and before they are given back. */
    smp_mb();
    ACCESS_ONCE(ring->cons) = p->cons;
}

unsigned int tavs_packets_take(struct tavs_packets *p, uint16_t domid,
                               struct xen_tavs_packet *to)
{
    unsigned int i, num = 0;

    for ( i = 0; i < p->num; )
        if ( p->waiting[i].packet.domid == domid )
        {
            to[num++] = p->waiting[i].packet;
            remove(p, i);
        }
        else
            i++;

    return num;
}

bool tavs_packets_flush(struct tavs_packets *p, struct xen_tavs_packet *to,
                        bool *old)
{
    p->incomplete = false;

    if ( !p->num )
        return false;

    *to = p->waiting[0].packet;
    *old = p->waiting[0].old;
    remove(p, 0);

    return true;
}

void tavs_packets_keep(struct tavs_packets *p,
                       const struct xen_tavs_packet *packet)
{
    if ( p->num < XEN_TAVS_RING_SIZE )
        add(p, packet, true);
    else
        p->dropped++;
}

/*
 * Four bits for each counter: the complement of its value, in two's
 * complement.  So a map of zeroes has all counters at -1, one below the
 * middle.  A wider counter keeps its sign when it is made narrower.
 */
static uint8_t *cell(struct tavs_portmap *m,
                     const struct xen_tavs_packet *packet, unsigned int *shift)
{
    *shift = packet->port & 1 ? 4 : 0;

    return &m->counter[packet->protocol == TAVS_UDP][packet->port / 2];
}

bool tavs_portmap_known(const struct tavs_portmap *m,
                        const struct xen_tavs_packet *packet)
{
    unsigned int shift;
    uint8_t stored = *cell((struct tavs_portmap *)m, packet, &shift);

    return (stored >> shift) & 0xf;
}

int tavs_portmap_get(const struct tavs_portmap *m, unsigned int bits,
                     const struct xen_tavs_packet *packet)
{
    unsigned int shift;
    uint8_t stored = *cell((struct tavs_portmap *)m, packet, &shift);
    int value = (~(stored >> shift) & 0xf), limit = 1 << (bits - 1);

    if ( value >= 8 )
        value -= 16;

    if ( value >= limit )
        return limit - 1;
    if ( value < -limit )
        return -limit;

    return value;
}

static void set(struct tavs_portmap *m, unsigned int bits,
                const struct xen_tavs_packet *packet, int value)
{
    int limit = 1 << (bits - 1);
    unsigned int shift;
    uint8_t *stored = cell(m, packet, &shift);

    if ( value >= limit || value < -limit )
        return;

    *stored = (*stored & ~(0xf << shift)) | ((~value & 0xf) << shift);
}

bool tavs_slice_note(struct tavs_slice *s, const struct tavs_portmap *m,
                     unsigned int bits, const struct xen_tavs_packet *packet)
{
    bool io = tavs_portmap_get(m, bits, packet) >= 0;

    if ( !s->any )
    {
        s->packet = *packet;
        s->any = true;
    }
    else if ( !same(&s->packet, packet) )
        s->several = true;

    if ( !io )
    {
        s->other = true;
        return false;
    }

    if ( !s->other )
        return true;

    s->behind = true;

    return s->worth >= 0;
}

void tavs_slice_served(struct tavs_slice *s)
{
    s->other = false;
}

void tavs_slice_learn(struct tavs_slice *s, struct tavs_portmap *m,
                      unsigned int bits, enum tavs_outcome outcome)
{
    if ( s->any && !s->several && outcome != TAVS_OUTCOME_UNCLEAR )
        set(m, bits, &s->packet,
            tavs_portmap_get(m, bits, &s->packet) +
            (outcome == TAVS_OUTCOME_IO ? 1 : -1));

    if ( s->behind && outcome == TAVS_OUTCOME_IO && s->worth < 1 )
        s->worth++;
    if ( s->behind && outcome == TAVS_OUTCOME_OTHER && s->worth > -2 )
        s->worth--;

    s->any = s->several = s->other = s->behind = false;
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
