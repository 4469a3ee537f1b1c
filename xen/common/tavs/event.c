/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: which of them is for a task that waits?
 *
 * An event that becomes pending for a vCPU is
 *
 *   for a driver domain    work, whatever it is;
 *   from a driver domain   for an I/O-bound task if a witness says so: a packet
 *                          (net.c) or a block (block.c).  Where the driver
 *                          domain tells of no packets, or correlation is off,
 *                          each one counts;
 *   a timer                for an I/O-bound task if such a task was woken up by
 *                          a timer of late (1.);
 *   anything else          no I/O.
 *
 * 1. Timers
 *
 *   A task that sleeps until a time and then runs for a short while is as
 *   interactive as one that waits for a packet: a player, a game, a voice.  The
 *   paper leaves timers out.  A guest kernel has one timer armed, for the
 *   earliest of its tick and of what its tasks sleep for.  So
 *
 *   - an expiry that is not on the grid of its ticks is what a task sleeps
 *     for, and the inference learns from it as from any event;
 *   - a tick is not.  While the vCPU is queued Xen knows of no timer behind the
 *     tick, for the guest arms that when it has handled the tick.  So where a
 *     timer woke up an I/O-bound task within the last second, the guest is let
 *     handle its ticks: each costs it some tens of microseconds of its budget.
 *
 *   What waits on as the guest kernel did not switch (segment.c) is looked at
 *   again with the tick, for that is when such a kernel switches.
 *
 * 2. Cost
 *
 *   An event for a vCPU that runs, or whose unserved I/O the scheduler has been
 *   told of, takes no schedule lock.  Nothing here waits for, allocates or
 *   walks anything.  Locks: plane.h, 4.
 */
#include <xen/event.h>
#include <xen/sched.h>

#include "channel.h"
#include "plane.h"
#include "trace.h"

/*
 * Is the event I/O, for the guest or for the domain that does its I/O?  IPIs
 * and virtual interrupts are not; neither is what two guests have between them.
 */
static bool is_io(const struct domain *d, const struct evtchn *chn)
{
    switch ( chn->state )
    {
    case ECS_PIRQ:
        return true;

    case ECS_INTERDOMAIN:
        return d->tavs.driver || chn->u.interdomain.remote_dom->tavs.driver;

    default:
        return false;
    }
}

static bool is_timer(const struct evtchn *chn)
{
    return chn->state == ECS_VIRQ && chn->u.virq == VIRQ_TIMER;
}

/*
 * Is the event for an I/O-bound task, and if so, why is that thought?  False:
 * it is not.
 *
 * Whether a channel is that of a network interface is not known, but seen
 * from packets.  Without one, and without a block, it may announce anything;
 * only where the driver domain tells nothing of packets does any event count.
 */
static bool correlates(enum tavs_net_verdict net,
                       enum tavs_block_verdict block, enum tavs_reason *reason)
{
    if ( !ACCESS_ONCE(tavs_correlate) )
    {
        *reason = TAVS_REASON_ANY;
        return true;
    }

    if ( block == TAVS_BLOCK_YES )
    {
        *reason = TAVS_REASON_BLOCK;
        return true;
    }

    if ( net == TAVS_NET_ABSENT )
    {
        *reason = TAVS_REASON_ANY;
        return true;
    }

    *reason = net == TAVS_NET_NONE ? TAVS_REASON_BLOCK : TAVS_REASON_NET;

    return net == TAVS_NET_YES || net == TAVS_NET_OPENS;
}

static void waits_since(struct tavs_vcpu *tv, s_time_t now)
{
    if ( !tv->active && !ACCESS_ONCE(tv->event_at) )
        cmpxchg(&tv->event_at, 0, now);
}

void tavs_waits_since(struct vcpu *v, s_time_t now)
{
    struct tavs_vcpu *tv = tavs_vcpu(v);

    if ( tv )
        waits_since(tv, now);
}

static void refuse(const struct vcpu *v, struct tavs_vcpu *tv,
                   enum tavs_refusal refusal, enum tavs_reason reason)
{
    atomic_inc(&tv->refused[refusal]);
    tavs_trace_refused(v, refusal, reason);
}

void tavs_raise(struct vcpu *v, enum tavs_reason reason, bool brief,
                s_time_t since)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_vcpu *tv;
    bool first;

    if ( !g )
        return;

    tv = &g->vcpu[v->vcpu_id];
    first = tavs_unserved_note(&tv->unserved, reason, brief, since);

    /* tavs_out() writes the one, then reads the other. */
    smp_mb();
    if ( tv->active )
        return;

    if ( !ACCESS_ONCE(v->domain->tavs.pbratio) )
        refuse(v, tv, TAVS_REFUSED_OFF, reason);
    else if ( first )
        g->host->unserved(v);
}

bool tavs_boost_wanted(const struct vcpu *v, enum tavs_reason *reason)
{
    const struct tavs_vcpu *tv = tavs_vcpu(v);

    if ( !tv || !tavs_is_unserved(&tv->unserved) || tv->unserved.tried ||
         !ACCESS_ONCE(v->domain->tavs.pbratio) )
        return false;

    *reason = tv->unserved.reason;

    return *reason == TAVS_REASON_DRIVER || tavs_has_believed(v->domain);
}

/*
 * Is the expiry of v's one-shot timer one of its ticks?  They have equal
 * distances, and nothing that is shorter has them twice in a row.
 */
static bool timer_is_tick(struct tavs_vcpu *tv, s_time_t expiry)
{
    s_time_t step = expiry - tv->timer_last;

    if ( step > 0 && step == tv->timer_step && (!tv->tick || step < tv->tick) )
    {
        tv->tick = step;
        tv->tick_at = expiry;
    }

    tv->timer_last = expiry;
    tv->timer_step = step;

    return !tv->tick || (expiry - tv->tick_at) % tv->tick == 0;
}

/* The timer of v, which is tracked, has expired. */
static void timer_event(struct vcpu *v, struct tavs_guest *g,
                        struct tavs_vcpu *tv, s_time_t now)
{
    bool tick = timer_is_tick(tv, v->singleshot_timer.expires);

    if ( !tick && tavs_opt_timer )
    {
        tv->timed = true;
        write_atomic(&tv->event, now);
    }

    if ( tv->active || !ACCESS_ONCE(v->domain->tavs.pbratio) ||
         !tavs_has_believed(v->domain) )
        return;

    if ( tavs_is_unserved(&tv->unserved) )
    {
        if ( tavs_opt_tick )
        {
            tavs_unserved_retry(&tv->unserved);
            g->host->unserved(v);
        }
    }
    else if ( tavs_opt_timer && g->timer_io &&
              now - ACCESS_ONCE(g->timer_io) < tavs_params.forgive )
        tavs_raise(v, TAVS_REASON_TIMER, true, now);
}

void tavs_event(struct vcpu *v, struct evtchn *chn)
{
    struct domain *d = v->domain;
    struct tavs_guest *g = tavs_guest(d);
    enum tavs_net_verdict net = TAVS_NET_NONE;
    enum tavs_block_verdict block = TAVS_BLOCK_NO;
    bool tracked, gone = false;
    enum tavs_reason reason;
    struct tavs_vcpu *tv;
    s_time_t now;

    if ( likely(!g) )
        return;

    tv = &g->vcpu[v->vcpu_id];
    tracked = tavs_beliefs(d);

    if ( is_timer(chn) )
    {
        if ( tracked )
            timer_event(v, g, tv, NOW());
        return;
    }

    if ( !is_io(d, chn) )
        return;

    now = NOW();

    if ( unlikely(tb_init_done) )
        tavs_trace_io(v, chn);

    if ( d->tavs.driver )
    {
        waits_since(tv, now);
        if ( tracked )
            write_atomic(&tv->event, now);
        tavs_raise(v, TAVS_REASON_DRIVER, true, now);
        return;
    }

    if ( chn->state == ECS_INTERDOMAIN &&
         chn->u.interdomain.remote_dom->tavs.driver )
    {
        struct domain *driver = chn->u.interdomain.remote_dom;

        net = tavs_net_sent(driver, v);
        if ( tracked )
            block = tavs_block_sent(driver, d, chn, net);

        gone = (net == TAVS_NET_NONE || net == TAVS_NET_ABSENT) &&
               tavs_channel_sends(&chn->tavs);
    }

    /* That a packet has gone is nothing that anybody waits for. */
    if ( !gone )
        waits_since(tv, now);

    if ( !tracked )
        return;

    /*
     * ... nor does the task that sent it, if it has not gone to sleep yet.  A
     * packet that opens a connection wakes nobody up.
     */
    if ( net != TAVS_NET_OPENS && (!gone || !ACCESS_ONCE(tv->segment.asked)) )
        write_atomic(&tv->event, now);

    if ( !tavs_has_believed(d) )
    {
        if ( !tv->active )
            refuse(v, tv, TAVS_REFUSED_NO_TASK, TAVS_REASON_ANY);
    }
    else if ( !correlates(net, block, &reason) )
    {
        if ( !tv->active )
            refuse(v, tv, TAVS_REFUSED_UNCORRELATED, reason);
    }
    else
        tavs_raise(v, reason, net == TAVS_NET_OPENS, now);
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
