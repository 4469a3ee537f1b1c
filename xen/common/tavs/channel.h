/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event that comes through a channel may be for: the plain part of
 * block.c.  Nothing here knows a domain, a lock or a clock.
 */
#ifndef __TAVS_CHANNEL_H__
#define __TAVS_CHANNEL_H__

#ifdef __XEN__
# include <xen/tavs-channel.h>
# include <xen/types.h>
#else
# include <stdbool.h>
# include "../../include/xen/tavs-channel.h"
#endif

/* What a driver domain moved since its last event for a guest. */
#define TAVS_MOVED_WANTED   0   /* unmapped: read into, and waited for */
#define TAVS_MOVED_READ     1   /* unmapped: read into */
#define TAVS_MOVED_WRITTEN  2   /* unmapped: was mapped read-only */
#define TAVS_MOVED_FROM     3   /* copied from the guest */
#define TAVS_MOVED_TO       4   /* copied to the guest */

#define TAVS_MOVED(what)    (1UL << TAVS_MOVED_ ## what)

/*
 * The front end notifies the back end.  `wanted`: an I/O-bound task is in the
 * inspection window.
 */
void tavs_channel_notified(struct tavs_evtchn *c, bool wanted);

/* May the notification be for a block that an I/O-bound task waits for? */
bool tavs_channel_asks(const struct tavs_evtchn *c);

/* May it be for a packet that the guest sends? */
bool tavs_channel_sends(const struct tavs_evtchn *c);

/*
 * The back end sends an event, after it moved what *moved says.  `packets`: it
 * announces network packets.  Returns whether it announces a block that was
 * read for an I/O-bound task.  *moved is what another event is still to tell.
 */
bool tavs_channel_event(struct tavs_evtchn *c, bool packets,
                        unsigned long *moved);

#endif /* __TAVS_CHANNEL_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
