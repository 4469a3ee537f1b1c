/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef XEN_TAVS_RING_H
#define XEN_TAVS_RING_H

#include <linux/types.h>

/*
 * Shares the ring with Xen.  -ENOSYS: this Xen has no task-aware scheduler.
 * No packet may be recorded before; none after tavs_ring_close().
 */
int tavs_ring_open(void);
void tavs_ring_close(void);

/* Xen lets go of the ring, though packets may go on being recorded. */
void tavs_ring_withdraw(void);

/* In any context.  `flags`: XEN_TAVS_PACKET_*. */
void tavs_ring_record(u16 domid, u8 protocol, u16 port, u8 flags);

u32 tavs_ring_recorded(void);
u32 tavs_ring_lost(void);

#endif
