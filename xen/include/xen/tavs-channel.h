/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What task awareness keeps of an event channel.  Needs nothing of Xen.
 */
#ifndef __XEN_TAVS_CHANNEL_H__
#define __XEN_TAVS_CHANNEL_H__

#ifdef __XEN__
# include <xen/types.h>
#else
# include <stdint.h>
#endif

/*
 * The end of a guest, of a channel to a driver domain.  Used by
 * xen/common/tavs/channel.c, which says what it means, with the channel's lock
 * held in any mode; where two do so at once, the later one wins.
 */
struct tavs_evtchn {
    uint8_t wanted;         /* requests for I/O-bound tasks, outstanding */
    int8_t leaves;          /* above 0: its events tell that data has left */
    uint8_t maps;           /* counts reads that mapped and unmapped a page */
    uint8_t given;          /* 1: not allocated by the guest itself */
};

#endif /* __XEN_TAVS_CHANNEL_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
