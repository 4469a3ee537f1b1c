/* SPDX-License-Identifier: MIT */
/******************************************************************************
 * tavs.h
 *
 * What a domain with network back ends tells the task-aware scheduler.
 *
 * A guest that computes and serves requests at once is to be scheduled ahead
 * of its turn for a packet only if one of its I/O-bound tasks waits for that
 * packet.  Xen infers this from the destination port, which only the driver
 * domain sees.  So the driver domain shares a ring with Xen, and puts
 * protocol, port and receiver of each packet there before it notifies the
 * receiver of it.
 */

#ifndef __XEN_PUBLIC_TAVS_H__
#define __XEN_PUBLIC_TAVS_H__

/*
 * ` enum neg_errnoval
 * ` HYPERVISOR_sched_op(SCHEDOP_tavs_ring, struct xen_tavs_ring_op *arg)
 *
 * Shares the ring with Xen, in place of the one that was shared before, or
 * (with an address of all ones) shares none any longer.  A domain has one ring
 * for all its vCPUs: the vCPU that sees a packet and the one that notifies
 * need not be the same.  The ring must not cross a page boundary.  When the
 * call returns, Xen does not access the former ring any more.
 *
 * Returns 0, or
 *   -ENOSYS      this Xen has no task-aware scheduler;
 *   -EOPNOTSUPP  it does not know this version of the ring;
 *   -EPERM       the caller is no driver domain;
 *   -ENXIO, -EACCES, -ENOMEM   the ring cannot be mapped.
 *
 * The number is far from those that the other operations take in turn, lest
 * a Xen that gives the next one to something else takes this call for that.
 */
#define SCHEDOP_tavs_ring       0x7400

#define XEN_TAVS_RING_VERSION   1

struct xen_tavs_ring_op {
    uint64_t gaddr;             /* guest physical address; ~0: none */
    uint32_t version;           /* XEN_TAVS_RING_VERSION */
    uint32_t flags;             /* 0 */
};
typedef struct xen_tavs_ring_op xen_tavs_ring_op_t;

/* One packet for a guest. */
struct xen_tavs_packet {
    uint16_t domid;             /* the receiver */
    uint8_t protocol;           /* as in the IP header: 6 TCP, 17 UDP */
/* TCP: it opens a connection (SYN without ACK), and the receiver's kernel answers */
#define XEN_TAVS_PACKET_OPENS   (1U << 0)
    uint8_t flags;              /* all others 0 */
    uint16_t port;              /* destination, in host byte order */
    uint16_t reserved2;         /* 0 */
};
typedef struct xen_tavs_packet xen_tavs_packet_t;

#define XEN_TAVS_RING_SIZE      16

/*
 * The ring, all zero when it is registered.  `prod` and `cons` count packets
 * and wrap around at 2^32; packet i is at packet[i % XEN_TAVS_RING_SIZE].
 *
 * The driver domain writes the packet, then, behind a write barrier, prod.
 * While prod - cons is XEN_TAVS_RING_SIZE the ring is full: it counts the
 * packet in `lost` instead.  It may leave out a packet that is equal to one
 * from cons to prod.  Xen takes what is new when the driver domain notifies a
 * guest, and when it gives up its pCPU.
 */
struct xen_tavs_ring {
    /* Written by the driver domain. */
    uint32_t prod;
    uint32_t lost;              /* packets that found the ring full */
    uint32_t reserved[14];

    /* Written by Xen, which relies on a copy of its own. */
    uint32_t cons;
    uint32_t reserved2[15];

    /* Written by the driver domain. */
    struct xen_tavs_packet packet[XEN_TAVS_RING_SIZE];
};
typedef struct xen_tavs_ring xen_tavs_ring_t;

#endif /* __XEN_PUBLIC_TAVS_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
