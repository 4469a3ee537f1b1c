/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event that comes through a channel may be for.
 *
 * 1. Marks
 *
 *   Where nothing is mapped for a request (persistent grants, grant copy), it
 *   is taken to be sent when the front end notifies the back end.  If the
 *   inspection window has an I/O-bound task then, the channel is marked, and
 *   an event that comes back through it is the completion.
 *
 *   Rings save notifications, both ways: several requests and no notification
 *   while the back end is busy, several completions and one event.  So marks
 *   are counted loosely: a notification for an I/O-bound task adds two, one
 *   for others takes one, an event takes one, and there are never more than
 *   three.  Two completions whose requests were not notified of are not
 *   missed, and a task that stops reading leaves no more than three behind.
 *
 *   Each queue of a device has a channel, and so marks, of its own.
 *
 * 2. Which channels marks are for
 *
 *   The front end of a network interface notifies of what it sends, and is
 *   told when that has gone.  Such an event is for nobody who waits.  What
 *   tells it from a completed read is where data went since the driver
 *   domain's last event: a sent packet is copied, or mapped read-only, *from*
 *   the guest.  So a channel has two counters:
 *
 *     leaves  votes: +1 where data only left the guest, -1 where none moved
 *             (persistent grants), -2 where it only came in.  While it is above
 *             0 the channel earns no boost and uses up none of what block
 *             completions left.  Where packets were announced (net.c) the
 *             channel is that of a network interface: the highest vote.
 *     maps    counts events before which a page was unmapped that had been read
 *             into, less those before which nothing moved.  From 2 on it is
 *             known what each read does, and marks are not looked at: an event
 *             without a tagged page is for a write, or for another task.
 *
 *   The channels of console and xenstore are given to a guest by whoever builds
 *   it; device drivers allocate their own.  So what a guest was given is for no
 *   device.
 *
 *   Both counters forget, so a channel may change its use.  A block device that
 *   is only written to ends up like the network's sending half.
 */
#include "channel.h"

#define MOVED_IN     (TAVS_MOVED(WANTED) | TAVS_MOVED(READ) | TAVS_MOVED(TO))
#define MOVED_OUT    (TAVS_MOVED(WRITTEN) | TAVS_MOVED(FROM))

#define WANTED_MORE  2
#define WANTED_MAX   3
#define LEAVES_MAX   4
#define MAPS_SURE    2
#define MAPS_MAX     3

void tavs_channel_notified(struct tavs_evtchn *c, bool wanted)
{
    unsigned int marks = c->wanted;

    if ( wanted )
        marks += WANTED_MORE;
    else if ( marks )
        marks--;

    c->wanted = marks < WANTED_MAX ? marks : WANTED_MAX;
}

bool tavs_channel_asks(const struct tavs_evtchn *c)
{
    return c->wanted && c->leaves <= 0 && !c->given;
}

bool tavs_channel_sends(const struct tavs_evtchn *c)
{
    return c->leaves > 0 && !c->given;
}

bool tavs_channel_event(struct tavs_evtchn *c, bool packets,
                        unsigned long *moved)
{
    bool in = *moved & MOVED_IN, out = *moved & MOVED_OUT;
    bool read = *moved & TAVS_MOVED(READ);
    bool wanted = *moved & TAVS_MOVED(WANTED);
    bool sure = c->maps >= MAPS_SURE;
    unsigned int marks = c->wanted, maps = c->maps;
    int leaves = c->leaves;

    if ( c->given )
        return false;

    if ( packets )
        leaves = LEAVES_MAX;
    else if ( in && !out )
        leaves -= 2;
    else if ( out && !in )
        leaves++;
    else if ( !in )
        leaves--;

    if ( leaves > LEAVES_MAX )
        leaves = LEAVES_MAX;
    if ( leaves < -LEAVES_MAX )
        leaves = -LEAVES_MAX;
    c->leaves = leaves;

    if ( leaves > 0 )
    {
        /* What was read is for a block device, whose event is to come. */
        *moved &= TAVS_MOVED(READ) | TAVS_MOVED(WANTED);
        c->wanted = 0;

        return false;
    }

    *moved = 0;

    if ( marks )
        c->wanted = marks - 1;

    if ( read && maps < MAPS_MAX )
        maps++;
    else if ( !in && !out && maps )
        maps--;
    c->maps = maps;

    if ( read || sure )
        return wanted;

    return marks;
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
