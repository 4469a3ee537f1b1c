/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who runs in a vCPU since when: what the architecture and the scheduler tell
 * reaches the inference (task.c), and what that thinks of the running task
 * tells whether unserved I/O is being served.
 *
 * When a boost has served its purpose is seen in two places:
 *
 *   - the guest switches to a task that is not I/O-bound (the paper's
 *     revocation);
 *   - the guest goes on in user mode as it was before the event.  Its kernel
 *     came to the point at which it would have switched to a task that was
 *     woken up, and did not.  Only 64-bit PV guests enter user mode through
 *     Xen; a boost of others lasts until a limit.
 *
 * What was not served then waits on, and the guest's next tick renews it (event.c):
 * a kernel that lets the running task finish its slice looks at it with a tick.
 *
 * The limits follow from the I/O threshold, since what begins to run within it
 * after the event can be for the event, and is I/O-bound if it ends within it:
 * until the threshold, or the cap while an I/O-bound task runs.
 */
#include <xen/event.h>
#include <xen/sched.h>

#include "plane.h"
#include "trace.h"

/* The inference learns of an event when the vCPU next does something. */
static void consume_event(struct tavs_vcpu *tv)
{
    s_time_t when;

    if ( likely(!ACCESS_ONCE(tv->event)) )
        return;

    when = xchg(&tv->event, 0);
    if ( when )
        tavs_segment_event(&tv->segment, &tavs_params, when);
}

void tavs_task_switch(struct vcpu *v, unsigned long id, bool was_kernel)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_changes changes;
    enum tavs_verdict verdict;
    struct tavs_vcpu *tv;
    unsigned long flags;
    s_time_t now;

    ASSERT(v == current);

    if ( !g || !tavs_beliefs(v->domain) )
        return;

    tv = &g->vcpu[v->vcpu_id];
    if ( unlikely(tv->restart) )
        return;

    now = NOW();

    if ( likely(!ACCESS_ONCE(tv->event)) &&
         !tavs_is_unserved(&tv->unserved) && !tb_init_done &&
         tavs_segment_passes(&tv->segment, &tavs_params, id, was_kernel, now) )
        return;

    spin_lock_irqsave(&g->lock, flags);
    tavs_trace_begin(&tv->segment, &changes);
    consume_event(tv);
    verdict = tavs_segment_switch(&tv->segment, &tavs_params, id, was_kernel,
                                  now);
    tavs_trace_end(v, &tv->segment);
    tavs_trace_runs(v, &tv->segment, now, false);
    tavs_net_learn(g, tv, now);
    spin_unlock_irqrestore(&g->lock, flags);

    tavs_unserved_switch(&tv->unserved, verdict);
    if ( verdict == TAVS_IO_BOUND )
        tv->hit = true;

    if ( v->tavs_boosted && verdict == TAVS_OTHER )
    {
        tv->over = true;
        g->host->reconsider(v);
    }
}

void tavs_user_mode(struct vcpu *v)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_vcpu *tv;
    enum tavs_verdict verdict;

    ASSERT(v == current);

    if ( !g || !tavs_opt_user || !tavs_beliefs(v->domain) )
        return;

    tv = &g->vcpu[v->vcpu_id];

    /* Of an event that it has not learned of yet the guest was not told. */
    if ( tv->over || tv->restart || ACCESS_ONCE(tv->event) )
        return;

    verdict = tavs_segment_verdict(&tv->segment, &tavs_params, NOW());
    if ( verdict == TAVS_IO_BOUND ||
         (verdict == TAVS_UNDECIDED && tavs_segment_woken(&tv->segment)) )
        return;

    tavs_unserved_went_on(&tv->unserved);
    tv->over = true;
    g->host->reconsider(v);
}

void tavs_task_sends(struct vcpu *v)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_vcpu *tv = &g->vcpu[v->vcpu_id];
    struct tavs_changes changes;
    unsigned long flags;

    ASSERT(v == current);

    /* All has been said, or nothing is known. */
    if ( tv->restart || (tv->segment.asked && !ACCESS_ONCE(tv->event)) ||
         tavs_segment_verdict(&tv->segment, &tavs_params, NOW()) !=
         TAVS_IO_BOUND )
        return;

    spin_lock_irqsave(&g->lock, flags);
    tavs_trace_begin(&tv->segment, &changes);
    consume_event(tv);
    tavs_segment_asks(&tv->segment);
    tavs_trace_end(v, &tv->segment);
    spin_unlock_irqrestore(&g->lock, flags);
}

void tavs_task_born(struct vcpu *v, unsigned long id)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_changes changes;
    struct tavs_vcpu *tv;
    unsigned long flags;

    ASSERT(v == current);

    if ( !g || !tavs_opt_born || !tavs_beliefs(v->domain) )
        return;

    tv = &g->vcpu[v->vcpu_id];
    if ( tv->restart )
        return;

    spin_lock_irqsave(&g->lock, flags);
    tavs_trace_begin(&tv->segment, &changes);
    tavs_segment_bears(&tv->segment, &tavs_params, id, NOW());
    tavs_trace_end(v, &tv->segment);
    spin_unlock_irqrestore(&g->lock, flags);
}

void tavs_task_gone(struct domain *d, unsigned long id)
{
    struct tavs_guest *g = tavs_guest(d);
    struct tavs_beliefs *b = tavs_beliefs(d);
    struct vcpu *v = current;
    struct tavs_changes changes = {};
    unsigned long flags;

    if ( !b )
        return;

    spin_lock_irqsave(&g->lock, flags);
    tavs_tasks_forget(&b->tasks, &tavs_params, id,
                      tb_init_done ? &changes : NULL);
    if ( v->domain == d && g->vcpu[v->vcpu_id].segment.cur == id )
        g->vcpu[v->vcpu_id].segment.cur = 0;
    if ( unlikely(changes.nr) )
        tavs_trace_changes(d->vcpu[0], &changes);
    spin_unlock_irqrestore(&g->lock, flags);
}

enum tavs_leave tavs_why_leaves(const struct vcpu *v)
{
    unsigned long flags = ACCESS_ONCE(v->pause_flags);

    if ( flags & (VPF_blocked | VPF_blocked_in_xen) )
        return TAVS_BLOCKED;

    return flags || atomic_read(&v->pause_count) ||
           atomic_read(&v->domain->pause_count) ? TAVS_STOPPED : TAVS_PREEMPTED;
}

void tavs_in(struct vcpu *v, s_time_t now, bool boosted)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_beliefs *b = tavs_beliefs(v->domain);
    struct tavs_changes changes;
    struct tavs_vcpu *tv;
    bool runs_io = false;

    ASSERT(!local_irq_is_enabled());

    if ( !g )
        return;

    tv = &g->vcpu[v->vcpu_id];
    tv->in = now;
    tv->active = true;
    tv->over = false;

    if ( b )
    {
        spin_lock(&g->lock);
        if ( unlikely(tv->restart) )
        {
            tavs_segment_init(&tv->segment, &b->tasks);
            write_atomic(&tv->event, 0);
            tv->restart = false;
        }
        tavs_trace_begin(&tv->segment, &changes);
        consume_event(tv);
        tavs_segment_in(&tv->segment, &tavs_params, now);
        tavs_trace_end(v, &tv->segment);
        tavs_trace_runs(v, &tv->segment, now, true);
        tv->told = false;
        runs_io = tavs_segment_verdict(&tv->segment, &tavs_params, now) ==
                  TAVS_IO_BOUND;
        spin_unlock(&g->lock);
    }

    tavs_unserved_in(&tv->unserved, runs_io);
    tv->hit = runs_io;
    v->tavs_boosted = boosted;
}

void tavs_out(struct vcpu *v, s_time_t now, enum tavs_leave why, bool boosted)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_vcpu *tv;
    struct tavs_changes changes;
    enum tavs_verdict verdict = TAVS_OTHER;

    ASSERT(!local_irq_is_enabled());

    if ( v->domain->tavs.net )
        tavs_net_flush(v->domain);

    if ( !g )
        return;

    tv = &g->vcpu[v->vcpu_id];
    v->tavs_boosted = false;

    if ( tavs_beliefs(v->domain) && !tv->restart )
    {
        spin_lock(&g->lock);
        tavs_trace_begin(&tv->segment, &changes);
        consume_event(tv);
        verdict = tavs_segment_verdict(&tv->segment, &tavs_params, now);
        tavs_segment_out(&tv->segment, &tavs_params, now, why == TAVS_BLOCKED);
        tavs_trace_end(v, &tv->segment);
        tavs_net_learn(g, tv, now);
        spin_unlock(&g->lock);
    }

    if ( why == TAVS_BLOCKED )
        tavs_unserved_clear(&tv->unserved);
    else if ( why == TAVS_PREEMPTED && verdict == TAVS_OTHER )
    {
        /* An I/O-bound task that ran for too long is none. */
        if ( tv->unserved.begun )
            tavs_unserved_clear(&tv->unserved);
        else if ( !boosted )
            tavs_unserved_preempted(&tv->unserved,
                                    now - tv->in > tavs_params.io_threshold);
    }

    /*
     * A driver domain that is preempted in its kernel has work in hand.  Whoever
     * waits for that need not notify it once more, and does not.
     */
    if ( why == TAVS_PREEMPTED && v->domain->tavs.driver &&
         guest_kernel_mode(v, guest_cpu_user_regs()) )
        tavs_unserved_note(&tv->unserved, TAVS_REASON_DRIVER, true, now);

    /* From here on who sends an event asks for a boost. */
    tv->active = false;
    smp_mb();
}

void tavs_boost_ended(struct vcpu *v)
{
    struct tavs_vcpu *tv = tavs_vcpu(v);

    v->tavs_boosted = false;
    if ( tv )
        tavs_unserved_tried(&tv->unserved);
}

bool tavs_boost_is_over(const struct vcpu *v)
{
    const struct tavs_vcpu *tv = tavs_vcpu(v);

    return !tv || tv->over;
}

bool tavs_boost_hit(const struct vcpu *v)
{
    const struct tavs_vcpu *tv = tavs_vcpu(v);

    return tv && tv->hit;
}

s_time_t tavs_boost_limit(struct vcpu *v, s_time_t now)
{
    s_time_t cap = ACCESS_ONCE(tavs_boost_cap);
    s_time_t threshold = ACCESS_ONCE(tavs_params.io_threshold);
    struct tavs_vcpu *tv = tavs_vcpu(v);

    /* Nobody else changes the segment of a vCPU that runs here. */
    if ( threshold < cap && tv && tavs_beliefs(v->domain) && !tv->restart &&
         tavs_segment_verdict(&tv->segment, &tavs_params, now) != TAVS_IO_BOUND )
        return threshold;

    return cap;
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
