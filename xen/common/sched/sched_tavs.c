/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TAVS: the task-aware scheduler, on credit.
 *
 * After Kim, Lim, Jeong, Jo and Lee, "Task-aware Virtual Machine Scheduling
 * for I/O Performance" (VEE 2009), whose section numbers are given below.
 *
 * 1. Design
 *
 *   A guest that computes and serves requests at once is queued whenever it
 *   does not run, so an event for it waits its turn: up to a time slice for
 *   each other busy guest.  Boosting the whole vCPU would hand its CPU-bound
 *   tasks the time slice of others.  TAVS boosts the vCPU only while one of
 *   its I/O-bound tasks has something to do (partial boosting, 3.2).
 *
 *   Everything that concerns shares is the credit scheduler's; this file is a
 *   policy for it (credit-ops.h).  That a vCPU has unserved I/O, and whether it
 *   serves it, is the plane's to know (xen/common/tavs/plane.h, where the words
 *   are explained and a request is told).  How much of a boost a unit owns, and
 *   when one is over, is in tavs-boost.h.  This file decides who runs:
 *
 *     a queued unit gets unserved I/O, or a unit with such wakes up, or is
 *     preempted
 *       |  budget left?
 *       v
 *     boosted, queued --> boosted, runs --> as it was before: its priority by
 *                              |            its credit, in its old place
 *                              |
 *            ends by: task switch (revoked) | blocking | the cap
 *
 * 2. The queue
 *
 *   Boosted units have a priority of their own, above that which credit gives
 *   to whoever wakes up: a guest that wakes up to compute is not I/O.  They are
 *   queued first come, first served, and the first preempts who runs, ratelimit
 *   or not, unless that one is boosted too.
 *
 *   A turn is short (opt_slice_us), so that whoever is not recognised waits no
 *   longer than under Xen's default scheduler.  Credit's accounting keeps its
 *   own period.
 *
 *   Each unit has a place in its queue: the time at which it woke up, or
 *   yielded, or at which the slice began that it used up since.  Units of one
 *   priority stand in the order of their places when they are inserted, which
 *   is that of credit as long as nobody is preempted: who runs has the slice
 *   that began last.  A unit that is preempted keeps place and remaining slice.
 *   So a unit that was preempted by a boosted one goes to the head of its
 *   priority (4.4), a unit whose boost ends goes back to where it was, and
 *   neither gains a fresh slice by it.
 *
 * 3. The driver domain
 *
 *   What an I/O-bound task waits for, and whom it answers through, is the
 *   domain with the back ends.  All its events are unserved I/O, and it is
 *   boosted as anybody, on a budget of its own: by default all of its CPU time
 *   (PBratio 1000).  So it goes ahead for its work, and credit bounds what it
 *   takes; what computes in it ends its boost like in any guest.
 *
 * 4. Accounting
 *
 *   Boosted time is paid for in credit like any other.  Credit accounts
 *   exactly for this scheduler ("Exact accounting" in credit.c).  A unit whose
 *   debt comes close to what credit forgives (credit_unit_indebted()) is not
 *   boosted: that would cost it nothing, and its share would be what its I/O
 *   asks for.  So shares stay, up to r = 1.
 *
 *   Credit's accounting writes priorities under no lock of ours;
 *   policy_holds() asks it not to while a unit is boosted.  Where that comes too
 *   late, a boosted unit has a wrong priority until its boost ends.  Nothing
 *   here depends on the priority: tavs_boost.on says what a unit is.
 *
 *   r = 0: no boost, ever, of a driver domain either; credit decides, but for
 *   places, the shorter slice and exact accounting.  With the boot options
 *   sched_tavs_places=0, sched_tavs_exact=0 and sched_tavs_slice_us=0 each
 *   decision is credit's.  The simulator compares the traces.
 *
 * 5. Locking
 *
 *   Everything here is protected by the schedule lock of the unit's pCPU, but
 *   for hold_priority() (above) and statistics as they are printed.  Order:
 *
 *     param_lock (tavs-base.c) -> credit's private lock -> schedule lock
 *                                             -> credit's overdrawn_lock
 *     event channel -> schedule lock -> tavs_guest.lock | tavs_net.lock
 *
 * 6. Known limits
 *
 *   - Units with more than one vCPU (core scheduling) are never boosted and
 *     their tasks not tracked: a boost would take the siblings along.
 *   - The work that the driver domain does for a guest is charged to the
 *     driver domain, as with credit.
 *   - Where no driver domain tells of packets, or correlation is off, any I/O
 *     event counts, also one that only the guest kernel handles.
 */
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/param.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/xmalloc.h>

#include "credit-ops.h"
#include "tavs-boost.h"

/*
 * What is left of a slice below this is not worth a context switch: the slice
 * counts as used up.  The least that Xen's ratelimit can be set to.
 */
#define TAVS_MIN_SLICE MICROSECS(XEN_SYSCTL_SCHED_RATELIMIT_MIN)

/*
 * How long a unit runs at most before others of its priority do, us; 0: as long
 * as credit's time slice.  By default as long as Xen's ratelimit lets a unit run
 * at least, which is what busy units under credit2 alternate by.
 */
static unsigned int __read_mostly opt_slice_us = SCHED_DEFAULT_RATELIMIT_US;
integer_param("sched_tavs_slice_us", opt_slice_us);

/* Departures from credit for whoever is not boosted: see 2. and 4. */
static bool __read_mostly opt_exact = true;
boolean_param("sched_tavs_exact", opt_exact);
static bool __read_mostly opt_places = true;
boolean_param("sched_tavs_places", opt_places);

struct tavs_unit {
    struct tavs_boost boost;
    s_time_t place;         /* when it got to the end of the queue */
    s_time_t slice;         /* what is left of its slice; 0: a full one */
    s_time_t turn;          /* when that slice began */
};

#define TAVS_UNIT(unit) \
    ((struct tavs_unit *)credit_unit_data((unit)->priv))

/* The slice is over: back to the end of the queue, as of `when`. */
static void to_tail(struct tavs_unit *tu, s_time_t when)
{
    tu->place = when;
    tu->slice = 0;
}

static enum credit_verdict cf_check leave(struct sched_unit *unit, void *data,
                                          s_time_t now, bool tasklet,
                                          s_time_t *tslice)
{
    struct tavs_unit *tu = data;
    s_time_t ran;

    if ( !tu )
        return CREDIT_DECIDE;       /* idle */

    ran = max(now - tu->boost.since, (s_time_t)0);
    if ( !tu->boost.on )
        tu->slice -= ran;

    switch ( tavs_boost_leaves(unit, &tu->boost, now,
                               tasklet || credit_unit_yields(unit), tslice) )
    {
    case TAVS_CONTINUE:
        return CREDIT_CONTINUE;

    case TAVS_SWITCH:
        if ( !tu->boost.on )
            credit_unit_settle(unit);
        return CREDIT_SWITCH;

    case TAVS_DECIDE:
        break;
    }

    if ( tu->boost.why != TAVS_PREEMPTED )
        return CREDIT_DECIDE;

    if ( credit_unit_yields(unit) )
        to_tail(tu, now);
    else if ( tu->slice < TAVS_MIN_SLICE )
        to_tail(tu, tu->turn);

    return credit_unit_partial_waits(unit) ? CREDIT_SWITCH : CREDIT_DECIDE;
}

/* A queued unit goes behind those that are boosted, ahead of all others. */
static bool boost_queued(struct sched_unit *unit)
{
    if ( !credit_unit_queued(unit) ||
         !tavs_boost_grant(unit, &TAVS_UNIT(unit)->boost,
                           credit_unit_indebted(unit)) )
        return false;

    credit_unit_boost(unit);

    return true;
}

static s_time_t cf_check enter(struct sched_unit *prev, void *prev_data,
                               struct sched_unit *next, void *next_data,
                               s_time_t now, s_time_t tslice)
{
    struct tavs_unit *from = prev_data, *to = next_data;

    if ( prev != next && from )
    {
        tavs_boost_out(prev, &from->boost, now);
        if ( !from->boost.on )
            boost_queued(prev);
        /* next was chosen before; prev is current still, and not tickled. */
        if ( from->boost.on && !(to && to->boost.on) )
            raise_softirq(SCHEDULE_SOFTIRQ);
    }

    if ( !to )
        return tslice;              /* idle */

    tavs_boost_in(next, &to->boost, now, prev != next);

    if ( to->boost.on )
        return tavs_boost_slice(next, &to->boost, now, tslice);

    if ( opt_slice_us )
        tslice = min(tslice, (s_time_t)MICROSECS(opt_slice_us));

    if ( !opt_places )
        return tslice;

    if ( to->slice < TAVS_MIN_SLICE )
    {
        to->slice = tslice;
        to->turn = now;
    }

    return min(tslice, to->slice);
}

static bool cf_check ahead(const void *data, const void *queued_data)
{
    const struct tavs_unit *tu = data, *queued = queued_data;

    return opt_places && tu->place < queued->place;
}

static bool cf_check hold_priority(const void *data)
{
    const struct tavs_unit *tu = data;

    return tu && ACCESS_ONCE(tu->boost.on);
}

static const struct credit_policy tavs_policy = {
    .leave         = leave,
    .enter         = enter,
    .ahead         = ahead,
    .hold_priority = hold_priority,
};

static struct tavs_boost *boost_of(const struct sched_unit *unit)
{
    return &TAVS_UNIT(unit)->boost;
}

static int cf_check base_params(const struct scheduler *ops,
                                struct xen_sysctl_credit_schedule *params,
                                bool put)
{
    struct xen_sysctl_scheduler_op sc = {
        .cmd = put ? XEN_SYSCTL_SCHEDOP_putinfo : XEN_SYSCTL_SCHEDOP_getinfo,
        .u.sched_credit = *params,
    };
    int rc = csched_sys_cntl(ops, &sc);

    if ( !rc )
        *params = sc.u.sched_credit;

    return rc;
}

static const struct tavs_base credit_base = {
    .sched_id = XEN_SCHEDULER_TAVS,
    .boost_of = boost_of,
    .dom_cntl = csched_dom_cntl,
    .params   = base_params,
};

static void cf_check tavs_unserved(struct vcpu *v)
{
    struct sched_unit *unit;
    unsigned long flags;
    spinlock_t *lock;

    rcu_read_lock(&sched_res_rculock);

    unit = tavs_lock_unit(v, &credit_base, &lock, &flags);
    if ( unit )
    {
        if ( boost_queued(unit) )
            tavs_make_way(unit, &credit_base);
        unit_schedule_unlock_irqrestore(lock, flags, unit);
    }

    rcu_read_unlock(&sched_res_rculock);
}

static int cf_check tavs_stats(const struct vcpu *v, struct tavs_stats *stats,
                               s_time_t *budget)
{
    return tavs_base_stats(&credit_base, v, stats, budget);
}

static int cf_check tavs_latency(const struct vcpu *v, unsigned int which,
                                 struct xen_domctl_tavs_latency *latency)
{
    return tavs_base_latency(&credit_base, v, which, latency);
}

static const struct tavs_host tavs_credit_host = {
    .unserved   = tavs_unserved,
    .reconsider = tavs_base_reconsider,
    .stats      = tavs_stats,
    .latency    = tavs_latency,
};

static void cf_check tavs_unit_sleep(const struct scheduler *ops,
                                     struct sched_unit *unit)
{
    struct tavs_unit *tu = TAVS_UNIT(unit);
    bool queued = credit_unit_queued(unit);

    csched_unit_sleep(ops, unit);

    tavs_boost_sleeps(unit, &tu->boost);

    /* The running unit is asked to leave soon. */
    if ( queued && tu->boost.on )
    {
        tavs_boost_end(unit, &tu->boost, TAVS_END_BLOCKED);
        credit_unit_settle(unit);
    }
}

static void cf_check tavs_unit_wake(const struct scheduler *ops,
                                    struct sched_unit *unit)
{
    struct tavs_unit *tu = TAVS_UNIT(unit);

    if ( curr_on_cpu(sched_unit_master(unit)) != unit &&
         !credit_unit_queued(unit) )
    {
        s_time_t now = NOW();

        to_tail(tu, now);
        if ( tu->boost.on )
            credit_unit_settle(unit);
        tavs_boost_wakes(unit, &tu->boost, now);
        if ( tavs_boost_grant(unit, &tu->boost, credit_unit_indebted(unit)) )
        {
            credit_unit_go_first(unit);
            tavs_make_way(unit, &credit_base);
        }
    }

    csched_unit_wake(ops, unit);

    if ( tu->boost.on )
        credit_unit_tickle(unit);
}

static void *cf_check tavs_alloc_udata(const struct scheduler *ops,
                                       struct sched_unit *unit, void *dd)
{
    struct tavs_unit *tu = NULL;
    void *priv;

    if ( !is_idle_unit(unit) )
    {
        tu = xzalloc(struct tavs_unit);
        if ( !tu )
            return NULL;

        tu->place = NOW();
        tavs_boost_init(&tu->boost);
    }

    priv = csched_alloc_udata(ops, unit, dd);
    if ( priv )
        credit_unit_set_data(priv, tu);
    else
        xfree(tu);

    return priv;
}

static void cf_check tavs_free_udata(const struct scheduler *ops, void *priv)
{
    xfree(credit_unit_data(priv));
    csched_free_udata(ops, priv);
}

static void *cf_check tavs_alloc_domdata(const struct scheduler *ops,
                                         struct domain *d)
{
    int rc = tavs_domain_join(d, &tavs_credit_host);
    void *priv;

    if ( rc )
        return ERR_PTR(rc);

    priv = csched_alloc_domdata(ops, d);
    if ( IS_ERR(priv) )
        tavs_domain_leave(d);

    return priv;
}

static void cf_check tavs_free_domdata(const struct scheduler *ops, void *data)
{
    struct domain *d = credit_domain(data);

    if ( d )
        tavs_domain_leave(d);
    csched_free_domdata(ops, data);
}

static int cf_check tavs_init(struct scheduler *ops)
{
    int rc = csched_init(ops);

    if ( !rc )
        credit_set_policy(ops, &tavs_policy, opt_exact);

    return rc;
}

static int cf_check tavs_dom_cntl(const struct scheduler *ops,
                                  struct domain *d,
                                  struct xen_domctl_scheduler_op *op)
{
    return tavs_base_dom_cntl(&credit_base, ops, d, op);
}

static int cf_check tavs_sys_cntl(const struct scheduler *ops,
                                  struct xen_sysctl_scheduler_op *sc)
{
    return tavs_base_sys_cntl(&credit_base, ops, sc);
}

static void cf_check tavs_dump(const struct scheduler *ops)
{
    csched_dump(ops);

    printk("task awareness:\n"
           "\tslice              = %u us, exact accounting = %d, places kept = %d\n",
           opt_slice_us, opt_exact, opt_places);
    tavs_base_dump(&credit_base, ops);
}

static const struct scheduler sched_tavs_def = {
    .name            = "Task-aware Scheduler on SMP Credit",
    .opt_name        = "tavs",
    .sched_id        = XEN_SCHEDULER_TAVS,
    .sched_data      = NULL,

    /* No .global_init: credit's runs anyway, and has all there is to check. */

    .insert_unit     = csched_unit_insert,
    .remove_unit     = csched_unit_remove,

    .sleep           = tavs_unit_sleep,
    .wake            = tavs_unit_wake,
    .yield           = csched_unit_yield,

    .adjust          = tavs_dom_cntl,
    .adjust_affinity = csched_aff_cntl,
    .adjust_global   = tavs_sys_cntl,

    .pick_resource   = csched_res_pick,
    .do_schedule     = csched_schedule,

    .dump_cpu_state  = csched_dump_pcpu,
    .dump_settings   = tavs_dump,
    .init            = tavs_init,
    .deinit          = csched_deinit,
    .alloc_udata     = tavs_alloc_udata,
    .free_udata      = tavs_free_udata,
    .alloc_pdata     = csched_alloc_pdata,
    .deinit_pdata    = csched_deinit_pdata,
    .free_pdata      = csched_free_pdata,
    .switch_sched    = csched_switch_sched,
    .alloc_domdata   = tavs_alloc_domdata,
    .free_domdata    = tavs_free_domdata,
    .move_timers     = csched_move_timers,
};

REGISTER_SCHEDULER(sched_tavs_def);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
