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
 * 4. Trust
 *
 *   All of it is counted by Xen from what domains do; nothing is read from
 *   their memory.  A guest can mark its own channels and spend its own budget.
 *   A driver domain can have a guest boosted for nothing, within that guest's
 *   budget; it can do so by sending packets as well.
 *
 * 5. Locking
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
#include "plane.h"

static bool tracked_by(const struct domain *driver, const struct domain *d)
{
    return driver->tavs.driver && tavs_beliefs(d);
}

/* Is an I/O-bound task in the inspection window of a vCPU of d? */
static bool inspect(const struct domain *d, unsigned int vcpu_id)
{
    struct tavs_guest *g = tavs_guest(d);
    unsigned long flags;
    bool found;

    if ( !g || vcpu_id >= g->nr_vcpus || !tavs_has_believed(d) ||
         g->vcpu[vcpu_id].restart )
        return false;

    spin_lock_irqsave(&g->lock, flags);
    found = tavs_segment_inspect(&g->vcpu[vcpu_id].segment,
                                 ACCESS_ONCE(tavs_window));
    spin_unlock_irqrestore(&g->lock, flags);

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
    struct tavs_guest *g = tavs_guest(d);
    struct vcpu *v = current;

    ASSERT(chn->state == ECS_INTERDOMAIN);

    if ( likely(!g) || v->domain != d ||
         !tracked_by(chn->u.interdomain.remote_dom, d) )
        return;

    g->tx_vcpu = v->vcpu_id;

    tavs_channel_notified(&chn->tavs, inspect(d, v->vcpu_id));

    if ( tavs_channel_asks(&chn->tavs) || tavs_channel_sends(&chn->tavs) )
        tavs_task_sends(v);
}

/* The domain may have other vCPUs than the one that notified last. */
bool tavs_grant_map(const struct domain *mapper, struct domain *d, bool pte)
{
    struct tavs_guest *g = tavs_guest(d);

    return g && !pte && tracked_by(mapper, d) &&
           inspect(d, ACCESS_ONCE(g->tx_vcpu));
}

static void move(const struct domain *driver, struct tavs_guest *g,
                 unsigned int what)
{
    if ( ACCESS_ONCE(g->mover) != driver->domain_id )
    {
        write_atomic(&g->mover, driver->domain_id);
        write_atomic(&g->moved, 0);
    }

    if ( !test_bit(what, &g->moved) )
        set_bit(what, &g->moved);
}

void tavs_grant_unmap(const struct domain *mapper, struct domain *d,
                      bool readonly, bool wanted)
{
    struct tavs_guest *g = tavs_guest(d);
    unsigned int tx;

    if ( likely(!g) || !tracked_by(mapper, d) )
        return;

    if ( readonly )
    {
        move(mapper, g, TAVS_MOVED_WRITTEN);
        return;
    }

    move(mapper, g, TAVS_MOVED_READ);
    if ( !wanted )
        return;

    move(mapper, g, TAVS_MOVED_WANTED);
    tx = ACCESS_ONCE(g->tx_vcpu);
    if ( tx < g->nr_vcpus && ACCESS_ONCE(g->vcpu[tx].told) )
        tavs_net_block(mapper, d->domain_id);
}

void tavs_block_left_over(domid_t domid)
{
    struct domain *d = rcu_lock_domain_by_id(domid);
    struct tavs_guest *g;

    if ( !d )
        return;

    g = tavs_guest(d);
    if ( g && tavs_has_believed(d) && ACCESS_ONCE(tavs_correlate) )
    {
        struct vcpu *v = domain_vcpu(d, ACCESS_ONCE(g->tx_vcpu));

        if ( v && ACCESS_ONCE(g->vcpu[v->vcpu_id].told) &&
             test_and_clear_bit(TAVS_MOVED_WANTED, &g->moved) )
            tavs_raise(v, TAVS_REASON_BLOCK, false, NOW());
    }

    rcu_unlock_domain(d);
}

void tavs_grant_copy(struct domain *from, struct domain *to)
{
    const struct domain *driver = current->domain;
    struct tavs_guest *g;

    if ( likely(!driver->tavs.driver) )
        return;

    if ( from && from->tavs.track && (g = tavs_guest(from)) )
        move(driver, g, TAVS_MOVED_FROM);

    if ( to && to->tavs.track && (g = tavs_guest(to)) )
        move(driver, g, TAVS_MOVED_TO);
}

enum tavs_block_verdict tavs_block_sent(const struct domain *driver,
                                        struct domain *d, struct evtchn *chn,
                                        enum tavs_net_verdict net)
{
    struct tavs_guest *g = tavs_guest(d);
    unsigned long moved = 0;
    bool wanted;

    if ( ACCESS_ONCE(g->mover) == driver->domain_id && ACCESS_ONCE(g->moved) )
        moved = xchg(&g->moved, 0);

    wanted = tavs_channel_event(&chn->tavs,
                                net != TAVS_NET_ABSENT && net != TAVS_NET_NONE,
                                &moved);

    if ( moved & TAVS_MOVED(READ) )
        move(driver, g, TAVS_MOVED_READ);
    if ( moved & TAVS_MOVED(WANTED) )
        move(driver, g, TAVS_MOVED_WANTED);

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
