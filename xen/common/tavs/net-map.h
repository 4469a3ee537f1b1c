/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which packets are for I/O-bound tasks: the plain part.
 *
 * Nothing here knows a vCPU, a lock or a clock, so the same code runs in the
 * hypervisor and in the unit tests.  What it is for is told in net.c.
 */
#ifndef __TAVS_NET_MAP_H__
#define __TAVS_NET_MAP_H__

#ifdef __XEN__
# include <xen/types.h>
#else
# include <stdbool.h>
# include <stdint.h>
#endif

#include <public/tavs.h>

#include "task.h"

/* As in the IP header, and in xen_tavs_packet.protocol. */
#define TAVS_TCP 6
#define TAVS_UDP 17

/* 1. The ring. */

/*
 * Packets that Xen has taken from the ring of a driver domain, and that wait
 * for the notification of their receiver.
 */
struct tavs_packets {
    uint32_t cons;              /* of the ring */
    uint32_t lost;              /* as the ring showed it last */
    unsigned int num;
    bool incomplete;            /* packets were lost since the last flush */
    struct {
        struct xen_tavs_packet packet;
        bool old;               /* there at the last flush already */
    } waiting[XEN_TAVS_RING_SIZE];

    /* Statistics. */
    unsigned long taken, nonsense, strange, dropped, overrun;
};

/*
 * Take what is new in the ring.  Whatever is in there, at most
 * XEN_TAVS_RING_SIZE packets are looked at, each read once.  Those for a domain
 * whose bit is not set in `receivers` are dropped; NULL: none is.
 */
void tavs_packets_drain(struct tavs_packets *p, struct xen_tavs_ring *ring,
                        const unsigned long *receivers);

/*
 * Move those for a domain, at most XEN_TAVS_RING_SIZE, to `to`; returns their
 * number.
 */
unsigned int tavs_packets_take(struct tavs_packets *p, uint16_t domid,
                               struct xen_tavs_packet *to);

/*
 * The driver domain gave up its pCPU: move one packet of which nobody was told
 * to *to, and say whether it was there at the last flush; false if there is
 * none (left).
 */
bool tavs_packets_flush(struct tavs_packets *p, struct xen_tavs_packet *to,
                        bool *old);

/* It may still be told of: wait for that until the next flush. */
void tavs_packets_keep(struct tavs_packets *p,
                       const struct xen_tavs_packet *packet);

/* 2. The portmap. */

#define TAVS_PORTS (1U << 16)

/* 64 KiB: for TCP and UDP, 4 bits a port, whatever the width of a counter. */
struct tavs_portmap {
    uint8_t counter[2][TAVS_PORTS / 2];
};

/* The packets that may have woken up who runs next. */
struct tavs_slice {
    struct xen_tavs_packet packet;
    bool any;                   /* there was one */
    bool several;               /* ... and others for another port */
    bool other;                 /* one was not for an I/O-bound task */
    bool behind;                /* ... and a later one is for such a task */

    /*
     * Is a boost for one behind others worth it?  From 0 on; -2 to 1.  Learned
     * from slice to slice.
     */
    int8_t worth;
};

bool tavs_packet_valid(const struct xen_tavs_packet *packet);

/*
 * The value of a counter, relative to where its top bit is set: boost from 0
 * on.  `bits` is 1 to 4.
 */
int tavs_portmap_get(const struct tavs_portmap *m, unsigned int bits,
                     const struct xen_tavs_packet *packet);

/* Is anything known of its port? */
bool tavs_portmap_known(const struct tavs_portmap *m,
                        const struct xen_tavs_packet *packet);

/* A packet came in this slice: is it one to boost for? */
bool tavs_slice_note(struct tavs_slice *s, const struct tavs_portmap *m,
                     unsigned int bits, const struct xen_tavs_packet *packet);

/* The vCPU has run: what came until now is not ahead of what comes next. */
void tavs_slice_served(struct tavs_slice *s);

/* It is known what they were for: learn from it, and begin a new slice. */
void tavs_slice_learn(struct tavs_slice *s, struct tavs_portmap *m,
                      unsigned int bits, enum tavs_outcome outcome);

#endif /* __TAVS_NET_MAP_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
