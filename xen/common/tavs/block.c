/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a block that was read for an I/O-bound task?  (TAVS paper, 3.3.1, 4.3.1)
 *
 * 1. The inspection window
 *
 *   Who asks for a block is taken to be one of the tasks that were scheduled
 *   last: the guest kernel may send the request later than the task asked for
 *   it.  If one of the last N (tavs_window) is believed to be I/O-bound, as of
 *   then, the request is for an I/O-bound task.  task.c keeps the window.
 *
 * 2. Back ends that map what they read into (the paper's way)
 *
 *   A page that a driver domain maps for writing is going to be read into.
 *   It is tagged with what the window says as it is mapped (grant_map), and
 *   unmapped when the block is there.  The next event from that driver domain
 *   is the completion.  Pages mapped read-only hold what is written, or
 *   descriptors of requests.  Pages mapped for good (rings) are mapped with
 *   GNTMAP_contains_pte by a PV driver domain, and ignored; those of others
 *   are unmapped when the device goes, where one event may be taken for a
 *   completion.
 *
 *   A back end that was told that the guest has not looked at the ring since
 *   the last event sends no other one, and what it reads for an I/O-bound task
 *   behind what it read for others would never be heard of.  So if a page that
 *   is tagged is unmapped when the guest was told of something and has not run
 *   since, and no event follows until the driver domain gives up its pCPU, that
 *   counts as announced.  (The same with packets: net.c, 1.)
 *
 *   The tag is the mapping's: written whenever a page is mapped for writing,
 *   read only when such a mapping ends.  So nothing stale is ever read, and
 *   nothing has to be cleared.
 *
 * 3. Back ends that keep pages mapped, or copy
 *
 *   With persistent grants nothing is mapped for a request, and a copy to a
 *   page of the guest is only made when the block is there already: too late
 *   to ask the window.  So the event channel carries the hint: channel.c, 1.
 *   Which of the two ways a channel needs, and which channel is no block
 *   device's at all, is told from what moves before an event: channel.c, 2.
 *
 *   What moved is kept for the latest driver domain that moved something for
 *   a guest.  With several of them the evidence of one may be lost to another:
 *   a boost too few, or too many.
 *
 * 4. A task that asks, or answers
 *
 *   Where the task that notifies a block device's back end is I/O-bound itself,
 *   it has nothing to do until it is answered.  Where it sends a packet, that
 *   is an answer that somebody waits for, most likely.  What follows is said in
 *   sched_tavs.c (4.) and task.c (4.).
 *
 * 5. Trust
 *
 *   All of it is counted by Xen from what domains do; nothing is read from
 *   their memory.  A guest can mark its own channels and spend its own budget.
 *   A driver domain can have a guest boosted for nothing, within that guest's
 *   budget; it can do so by sending packets as well.
 *
 * 6. Locking
 *
 *   tavs_grant_map() and tavs_grant_unmap() run with locks of the grant table
 *   held.  They take the lock of the tasks or that of packets, which are
 *   leaves, and never a schedule lock.  Everything else here is one word or
 *   byte, and races change a guess.
 */
#include <xen/event.h>
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/sched.h>

#include "channel.h"
#include "private.h"

static bool tracked_by(const struct domain *driver, const struct domain *d)
{
    return driver->tavs.driver && d->tavs.track;
}

/* Is an I/O-bound task in the inspection window of v? */
static bool inspect(struct vcpu *v)
{
    struct tavs_vcpu *tv = v->tavs;
    unsigned long flags;
    bool found;

    if ( !tv || !ACCESS_ONCE(tv->tasks.believed) )
        return false;

    spin_lock_irqsave(&tv->lock, flags);
    found = tavs_tasks_inspect(&tv->tasks, ACCESS_ONCE(tavs_window));
    spin_unlock_irqrestore(&tv->lock, flags);

    return found;
}

void tavs_evtchn_alloc(const struct domain *d, struct evtchn *chn)
{
    chn->tavs = (struct tavs_evtchn){ .given = current->domain != d };
}

void tavs_evtchn_reset(struct evtchn *chn)
{
    bool given = chn->state == ECS_UNBOUND && chn->tavs.given;

    chn->tavs = (struct tavs_evtchn){ .given = given };
}

void tavs_event_send(struct domain *d, struct evtchn *chn)
{
    struct vcpu *v = current;

    ASSERT(chn->state == ECS_INTERDOMAIN);

    if ( v->domain != d || !tracked_by(chn->u.interdomain.remote_dom, d) )
        return;

    d->tavs.tx_vcpu = v->vcpu_id;

    tavs_channel_notified(&chn->tavs, inspect(v));

    if ( !ACCESS_ONCE(d->tavs.pbratio) || !tavs_vcpu_serves(v) )
        return;

    if ( tavs_channel_asks(&chn->tavs) )
        tavs_vcpu_asks(v);
    else if ( tavs_channel_sends(&chn->tavs) )
        tavs_vcpu_replies(v);
}

static struct vcpu *tx_vcpu(const struct domain *d)
{
    return d->vcpu ? domain_vcpu(d, ACCESS_ONCE(d->tavs.tx_vcpu)) : NULL;
}

/* The domain may have other vCPUs than the one that notified last. */
bool tavs_grant_map(const struct domain *mapper, struct domain *d, bool pte)
{
    struct vcpu *v;

    if ( pte || !tracked_by(mapper, d) )
        return false;

    v = tx_vcpu(d);

    return v && inspect(v);
}

static void move(const struct domain *driver, struct domain *d,
                 unsigned int what)
{
    if ( ACCESS_ONCE(d->tavs.mover) != driver->domain_id )
    {
        write_atomic(&d->tavs.mover, driver->domain_id);
        write_atomic(&d->tavs.moved, 0);
    }

    if ( !test_bit(what, &d->tavs.moved) )
        set_bit(what, &d->tavs.moved);
}

void tavs_grant_unmap(const struct domain *mapper, struct domain *d,
                      bool readonly, bool wanted)
{
    if ( !tracked_by(mapper, d) )
        return;

    if ( readonly )
        move(mapper, d, TAVS_MOVED_WRITTEN);
    else
    {
        move(mapper, d, TAVS_MOVED_READ);
        if ( wanted )
        {
            const struct vcpu *v = tx_vcpu(d);

            move(mapper, d, TAVS_MOVED_WANTED);
            if ( v && v->tavs && ACCESS_ONCE(v->tavs->told) )
                tavs_net_block(mapper, d->domain_id);
        }
    }
}

void tavs_block_left_over(domid_t domid)
{
    struct domain *d = rcu_lock_domain_by_id(domid);
    struct vcpu *v;

    if ( !d )
        return;

    v = tx_vcpu(d);
    if ( v && v->tavs && d->tavs.track && ACCESS_ONCE(v->tavs->told) &&
         test_and_clear_bit(TAVS_MOVED_WANTED, &d->tavs.moved) &&
         ACCESS_ONCE(tavs_correlate) && tavs_vcpu_wants_boost(v) )
        tavs_sched_event(v, TAVS_REASON_BLOCK, NOW());

    rcu_unlock_domain(d);
}

void tavs_grant_copy(struct domain *from, struct domain *to)
{
    const struct domain *driver = current->domain;

    if ( from && tracked_by(driver, from) )
        move(driver, from, TAVS_MOVED_FROM);

    if ( to && tracked_by(driver, to) )
        move(driver, to, TAVS_MOVED_TO);
}

enum tavs_block_verdict tavs_block_sent(const struct domain *driver,
                                        struct domain *d, struct evtchn *chn,
                                        enum tavs_net_verdict net)
{
    unsigned long moved = 0;
    bool wanted;

    if ( ACCESS_ONCE(d->tavs.mover) == driver->domain_id &&
         ACCESS_ONCE(d->tavs.moved) )
        moved = xchg(&d->tavs.moved, 0);

    wanted = tavs_channel_event(&chn->tavs,
                                net == TAVS_NET_YES || net == TAVS_NET_NO,
                                &moved);

    if ( moved & TAVS_MOVED(READ) )
        move(driver, d, TAVS_MOVED_READ);
    if ( moved & TAVS_MOVED(WANTED) )
        move(driver, d, TAVS_MOVED_WANTED);

    return wanted ? TAVS_BLOCK_YES : TAVS_BLOCK_NO;
}

static void __init __maybe_unused build_assertions(void)
{
    /* There was room for it. */
    BUILD_BUG_ON(sizeof(struct evtchn) != 64);
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
