/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event plane: what happens in a guest reaches the inference, and an
 * event that may be for an I/O-bound task reaches the scheduler.
 *
 * Locking: tavs_event() is called with a lock of the event channel held, and
 * takes the schedule lock as vcpu_wake() does there.  The locks of the tasks
 * and of a driver domain's packets are leaves below the schedule lock.  So the
 * order is
 *
 *     event channel -> schedule lock -> tasks | packets
 *
 * and nothing here waits for, allocates or walks anything.
 */
#include <xen/event.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/vmap.h>
#include <xen/xmalloc.h>

#include "channel.h"
#include "private.h"
#include "trace.h"

void tavs_domain_init(struct domain *d)
{
    d->tavs.pbratio = tavs_pbratio;
    d->tavs.driver = is_hardware_domain(d);
    d->tavs.track = tavs_track && tavs_can_track(d) && !d->tavs.driver;
}

static void cf_check send_timer(void *data)
{
    send_timer_event(data);
}

int tavs_vcpu_create(struct vcpu *v)
{
    const struct domain *d = v->domain;

    if ( !tavs_can_track(d) )
        return 0;

    v->tavs = xzalloc(struct tavs_vcpu);
    if ( !v->tavs )
        return -ENOMEM;

    spin_lock_init(&v->tavs->lock);
    tavs_tasks_init(&v->tavs->tasks);
    softirq_tasklet_init(&v->tavs->timer, send_timer, v);

    if ( d->tavs.track && tavs_net_track(v) )
    {
        XFREE(v->tavs);
        return -ENOMEM;
    }

    return 0;
}

void tavs_vcpu_destroy(struct vcpu *v)
{
    if ( !v->tavs )
        return;

    if ( v->tavs->timer_used )
        tasklet_kill(&v->tavs->timer);
    vfree(v->tavs->ports);
    XFREE(v->tavs);
}

int tavs_domain_track(struct domain *d, bool track)
{
    struct vcpu *v;

    if ( d->tavs.track == track )
        return 0;

    if ( track )
        for_each_vcpu ( d, v )
            if ( tavs_net_track(v) )
                return -ENOMEM;

    /* Of tasks that ended meanwhile nothing was heard. */
    if ( track )
        for_each_vcpu ( d, v )
        {
            unsigned long flags;

            if ( !v->tavs )
                continue;

            spin_lock_irqsave(&v->tavs->lock, flags);
            v->tavs->restart = true;
            spin_unlock_irqrestore(&v->tavs->lock, flags);
        }

    write_atomic(&d->tavs.track, track);

    return 0;
}

/* The inference learns of an event when the vCPU next does something. */
static void consume_event(const struct vcpu *v)
{
    struct tavs_vcpu *tv = v->tavs;
    s_time_t when;

    ASSERT(spin_is_locked(&tv->lock));

    if ( likely(!ACCESS_ONCE(tv->event)) )
        return;

    when = xchg(&tv->event, 0);
    if ( when )
    {
        tavs_tasks_event(&tv->tasks, &tavs_params, v->domain->tavs.kernel,
                         when);
        tv->replied = false;
    }
}

void tavs_task_switch(struct vcpu *v, unsigned long id)
{
    struct tavs_vcpu *tv = v->tavs;
    struct domain *d = v->domain;
    struct tavs_changes changes;
    enum tavs_verdict verdict;
    unsigned long flags;

    ASSERT(v == current);

    if ( !tv )
        return;

    if ( unlikely(!d->tavs.kernel) )
        d->tavs.kernel = id;

    if ( !tv->active )
        return;

    spin_lock_irqsave(&tv->lock, flags);
    tavs_trace_begin(&tv->tasks, &changes);
    consume_event(v);
    verdict = tavs_tasks_switch(&tv->tasks, &tavs_params, d->tavs.kernel, id,
                                NOW());
    tavs_trace_end(v, &tv->tasks);
    tavs_trace_runs(v, false);
    tavs_net_learn(tv);
    spin_unlock_irqrestore(&tv->lock, flags);

    tv->asks = tv->replies = false;

    if ( verdict == TAVS_IO_BOUND )
        tv->hit = true;

    if ( !tv->boosted )
    {
        /* The driver domain that waits for the answer need not wait longer. */
        if ( unlikely(tv->holds) && !tavs_vcpu_answers(v, NOW()) )
            raise_softirq(SCHEDULE_SOFTIRQ);
        return;
    }

    /* Acted upon before the guest runs on, in leave() of the scheduler. */
    if ( verdict == TAVS_OTHER )
    {
        tv->revoke = true;
        raise_softirq(SCHEDULE_SOFTIRQ);
    }
}

void tavs_task_exit(struct domain *d, unsigned long id)
{
    struct vcpu *v;

    if ( !d->tavs.track )
        return;

    for_each_vcpu ( d, v )
    {
        struct tavs_changes changes;
        unsigned long flags;

        if ( !v->tavs )
            continue;

        spin_lock_irqsave(&v->tavs->lock, flags);
        tavs_trace_begin(&v->tavs->tasks, &changes);
        tavs_tasks_forget(&v->tavs->tasks, &tavs_params, id);
        tavs_trace_end(v, &v->tavs->tasks);
        spin_unlock_irqrestore(&v->tavs->lock, flags);
    }
}

void tavs_vcpu_in(struct vcpu *v, s_time_t now)
{
    struct tavs_vcpu *tv = v->tavs;
    struct tavs_changes changes;

    ASSERT(!local_irq_is_enabled());

    if ( !tv || !v->domain->tavs.track )
        return;

    spin_lock(&tv->lock);
    if ( unlikely(tv->restart) )
    {
        tavs_tasks_restart(&tv->tasks);
        write_atomic(&tv->event, 0);
        tv->restart = false;
    }
    tavs_trace_begin(&tv->tasks, &changes);
    consume_event(v);
    tavs_tasks_in(&tv->tasks, &tavs_params, now);
    tavs_trace_end(v, &tv->tasks);
    tavs_trace_runs(v, true);
    tv->told = false;
    spin_unlock(&tv->lock);

    tv->holds = false;
    tv->active = true;
}

void tavs_vcpu_out(struct vcpu *v, s_time_t now, bool blocks)
{
    struct tavs_vcpu *tv = v->tavs;
    struct tavs_changes changes;

    ASSERT(!local_irq_is_enabled());

    if ( v->domain->tavs.net )
        tavs_net_flush(v->domain);

    if ( !tv || !tv->active )
        return;

    tv->active = false;

    spin_lock(&tv->lock);
    tavs_trace_begin(&tv->tasks, &changes);
    consume_event(v);
    tavs_tasks_out(&tv->tasks, &tavs_params, v->domain->tavs.kernel, now,
                   blocks);
    tavs_trace_end(v, &tv->tasks);
    tavs_net_learn(tv);
    spin_unlock(&tv->lock);
}

/* The task that runs is going to sleep. */
static void waits_from_here(struct vcpu *v)
{
    struct tavs_vcpu *tv = v->tavs;
    struct tavs_changes changes;
    unsigned long flags;

    ASSERT(v == current);

    spin_lock_irqsave(&tv->lock, flags);
    tavs_trace_begin(&tv->tasks, &changes);
    consume_event(v);
    tavs_tasks_asks(&tv->tasks);
    tavs_trace_end(v, &tv->tasks);
    spin_unlock_irqrestore(&tv->lock, flags);
}

void tavs_vcpu_asks(struct vcpu *v)
{
    waits_from_here(v);
    v->tavs->asks = true;

    /* The driver domain may be queued: then it asks for the pCPU no more. */
    raise_softirq(SCHEDULE_SOFTIRQ);
}

void tavs_vcpu_replies(struct vcpu *v)
{
    struct tavs_vcpu *tv = v->tavs;

    /* Not the first since the last event or switch: all has been said. */
    if ( tv->replied && tv->tasks.asked && !ACCESS_ONCE(tv->event) )
        return;

    waits_from_here(v);

    if ( tv->replied )
        return;

    tv->replied = tv->replies = true;
    raise_softirq(SCHEDULE_SOFTIRQ);
}

bool tavs_vcpu_serves(struct vcpu *v)
{
    struct tavs_vcpu *tv = v->tavs;

    /* Nobody else changes the segment of a vCPU that runs here. */
    return tv && tv->active &&
           tavs_tasks_verdict(&tv->tasks,
                              v->domain->tavs.kernel) == TAVS_IO_BOUND;
}

bool tavs_vcpu_answers(struct vcpu *v, s_time_t now)
{
    struct tavs_vcpu *tv = v->tavs;

    /* Nobody else changes the segment of a vCPU that runs here. */
    return tv && tv->active &&
           (ACCESS_ONCE(tv->event) ||
            (tavs_tasks_answering(&tv->tasks, &tavs_params, now) &&
             !tavs_tasks_answered(&tv->tasks, v->domain->tavs.kernel)));
}

bool tavs_vcpu_is_at_it(struct vcpu *v)
{
    struct tavs_vcpu *tv = v->tavs;

    ASSERT(v == current);

    /* In user mode it had the occasion to switch, and went on as it was. */
    return tavs_vcpu_serves(v) ||
           (tv && tv->active &&
            tavs_tasks_pending(&tv->tasks, v->domain->tavs.kernel) &&
            guest_kernel_mode(v, guest_cpu_user_regs()));
}

/*
 * Is the event I/O, for the guest or for the domain that does its I/O?
 * Timers, IPIs and other virtual interrupts are not; neither is what two
 * guests have between them.
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

    return net == TAVS_NET_YES;
}

void tavs_waits_since(struct vcpu *v, s_time_t now)
{
    if ( !v->is_running && !ACCESS_ONCE(v->tavs_event_at) )
        cmpxchg(&v->tavs_event_at, 0, now);
}

void tavs_event(struct vcpu *v, struct evtchn *chn)
{
    struct domain *d = v->domain;
    struct tavs_vcpu *tv = v->tavs;
    enum tavs_net_verdict net = TAVS_NET_NONE;
    enum tavs_block_verdict block = TAVS_BLOCK_NO;
    enum tavs_reason reason;
    bool gone = false;
    s_time_t now;

    if ( !atomic_read(&tavs_pools) || !is_io(d, chn) )
        return;

    now = NOW();

    if ( unlikely(tb_init_done) )
        tavs_trace_io(v, chn);

    if ( d->tavs.driver )
    {
        tavs_waits_since(v, now);
        if ( !v->is_running )
            tavs_sched_event(v, TAVS_REASON_DRIVER, now);
        return;
    }

    if ( chn->state == ECS_INTERDOMAIN &&
         chn->u.interdomain.remote_dom->tavs.driver )
    {
        struct domain *driver = chn->u.interdomain.remote_dom;

        net = tavs_net_sent(driver, v);
        if ( tv && d->tavs.track )
            block = tavs_block_sent(driver, d, chn, net);

        gone = net != TAVS_NET_YES && net != TAVS_NET_NO &&
               tavs_channel_sends(&chn->tavs);
    }

    /* That a packet has gone is nothing that anybody waits for. */
    if ( !gone )
        tavs_waits_since(v, now);

    if ( !tv || !d->tavs.track )
        return;

    /* Nor does the task that sent it, if it has not gone to sleep yet. */
    if ( !gone || !ACCESS_ONCE(tv->tasks.asked) )
        write_atomic(&tv->event, now);

    if ( v->is_running )
        return;

    if ( !tavs_vcpu_wants_boost(v) )
    {
        atomic_inc(&tv->refused[TAVS_REFUSED_NO_TASK]);
        tavs_trace_refused(v, TAVS_REFUSED_NO_TASK, TAVS_REASON_ANY);
    }
    else if ( !correlates(net, block, &reason) )
    {
        atomic_inc(&tv->refused[TAVS_REFUSED_UNCORRELATED]);
        tavs_trace_refused(v, TAVS_REFUSED_UNCORRELATED, reason);
    }
    else
        tavs_sched_event(v, reason, now);
}

bool tavs_timer(struct vcpu *v)
{
    return v->tavs && !v->is_running && tavs_vcpu_wants_boost(v) &&
           tavs_sched_timer(v);
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
