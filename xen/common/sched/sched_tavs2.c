/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TAVS on credit2: partial boosting for the scheduler that Xen runs by default.
 *
 * 1. Design
 *
 *   Everything that concerns shares and order is the credit2 scheduler's; this
 *   file is a policy for it (credit2-ops.h).  The plane says which vCPUs have
 *   unserved I/O (xen/common/tavs/plane.h, where the words are explained);
 *   tavs-boost.h says how much of a boost a unit owns, and when one is over.
 *
 *   A unit that is boosted goes first in its run queue, whatever its credit,
 *   first come first served.  Run queues are shared by the pCPUs of a cache, so
 *   it takes any of them: the one whose unit has least credit.  It is charged as
 *   always, and is where its credit puts it as soon as the boost ends.
 *
 *   Credit2 accounts by time and keeps its order by credit.  So nothing of what
 *   mends credit under sched_tavs.c (places, kept slices, exact accounting, a
 *   shorter slice) is needed here, and whoever is not recognised waits no longer
 *   than under credit2.
 *
 *   The driver domain is boosted for its events, on a budget of all of its CPU
 *   time; its credit bounds that: a unit whose debt comes close to what credit2
 *   forgives is not boosted.
 *
 *   r = 0, for all domains: each decision is credit2's.  The simulator compares
 *   the traces.
 *
 * 2. Locking
 *
 *   Everything here is protected by the schedule lock of the unit's pCPU, which
 *   is its run queue's, but for statistics as they are printed.  Order:
 *
 *     param_lock (tavs-base.c) -> credit2's private lock -> schedule lock
 *     event channel -> schedule lock -> tavs_guest.lock | tavs_net.lock
 *
 * 3. Known limits
 *
 *   - Units with more than one vCPU (core scheduling) are never boosted.
 *   - A unit of a capped domain whose budget is used up is not boosted: it is
 *     not in a run queue.
 *   - Hard affinities that divide a run queue let a boosted unit wait behind
 *     another one, for at most a boost.
 */
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/xmalloc.h>

#include "credit2-ops.h"
#include "tavs-boost.h"

#define TAVS_BOOST(unit) \
    ((struct tavs_boost *)credit2_unit_data((unit)->priv))

static enum credit2_verdict cf_check leave(struct sched_unit *unit, void *data,
                                           s_time_t now, bool breaks,
                                           s_time_t *tslice)
{
    struct tavs_boost *b = data;

    if ( !b )
        return CREDIT2_DECIDE;      /* idle */

    switch ( tavs_boost_leaves(unit, b, now, breaks, tslice) )
    {
    case TAVS_CONTINUE:
        return CREDIT2_CONTINUE;

    case TAVS_SWITCH:
        /* If its boost goes on, it is queued behind those that wait boosted. */
        credit2_unit_set_first(unit, false);
        return CREDIT2_SWITCH;

    case TAVS_DECIDE:
        break;
    }

    return CREDIT2_DECIDE;
}

/* A queued unit goes behind those that are boosted, ahead of all others. */
static bool boost_queued(struct sched_unit *unit, struct tavs_boost *b)
{
    if ( !credit2_unit_queued(unit) ||
         !tavs_boost_grant(unit, b, credit2_unit_indebted(unit)) )
        return false;

    credit2_unit_set_first(unit, true);

    return true;
}

static s_time_t cf_check enter(struct sched_unit *prev, void *prev_data,
                               struct sched_unit *next, void *next_data,
                               s_time_t now, s_time_t tslice)
{
    struct tavs_boost *from = prev_data, *to = next_data;

    if ( from && from->on )
        credit2_unit_set_first(prev, true);

    if ( prev != next && from )
    {
        tavs_boost_out(prev, from, now);
        if ( !from->on )
            boost_queued(prev, from);
    }

    if ( !to )
        return tslice;              /* idle */

    tavs_boost_in(next, to, now, prev != next);

    return tavs_boost_slice(next, to, now, tslice);
}

static const struct credit2_policy tavs2_policy = {
    .leave = leave,
    .enter = enter,
};

static struct tavs_boost *boost_of(const struct sched_unit *unit)
{
    return TAVS_BOOST(unit);
}

static int cf_check base_params(const struct scheduler *ops,
                                struct xen_sysctl_credit_schedule *params,
                                bool put)
{
    struct xen_sysctl_scheduler_op sc = {
        .cmd = put ? XEN_SYSCTL_SCHEDOP_putinfo : XEN_SYSCTL_SCHEDOP_getinfo,
        .u.sched_credit2.ratelimit_us = params->ratelimit_us,
    };
    int rc = csched2_sys_cntl(ops, &sc);

    if ( !rc )
        *params = (struct xen_sysctl_credit_schedule){
            .ratelimit_us = sc.u.sched_credit2.ratelimit_us,
        };

    return rc;
}

static const struct tavs_base credit2_base = {
    .sched_id = XEN_SCHEDULER_TAVS2,
    .boost_of = boost_of,
    .dom_cntl = csched2_dom_cntl,
    .params   = base_params,
};

static void cf_check tavs2_unserved(struct vcpu *v)
{
    struct sched_unit *unit;
    unsigned long flags;
    spinlock_t *lock;

    rcu_read_lock(&sched_res_rculock);

    unit = tavs_lock_unit(v, &credit2_base, &lock, &flags);
    if ( unit )
    {
        if ( boost_queued(unit, TAVS_BOOST(unit)) )
            tavs_make_way(unit, &credit2_base);
        unit_schedule_unlock_irqrestore(lock, flags, unit);
    }

    rcu_read_unlock(&sched_res_rculock);
}

static int cf_check tavs2_stats(const struct vcpu *v, struct tavs_stats *stats,
                                s_time_t *budget)
{
    return tavs_base_stats(&credit2_base, v, stats, budget);
}

static int cf_check tavs2_latency(const struct vcpu *v, unsigned int which,
                                  struct xen_domctl_tavs_latency *latency)
{
    return tavs_base_latency(&credit2_base, v, which, latency);
}

static const struct tavs_host tavs_credit2_host = {
    .unserved   = tavs2_unserved,
    .reconsider = tavs_base_reconsider,
    .stats      = tavs2_stats,
    .latency    = tavs2_latency,
};

static void cf_check tavs2_unit_sleep(const struct scheduler *ops,
                                      struct sched_unit *unit)
{
    struct tavs_boost *b = TAVS_BOOST(unit);
    bool queued = credit2_unit_queued(unit);

    csched2_unit_sleep(ops, unit);

    tavs_boost_sleeps(unit, b);

    /* The running unit is asked to leave soon. */
    if ( queued && b->on )
    {
        tavs_boost_end(unit, b, TAVS_END_BLOCKED);
        credit2_unit_set_first(unit, false);
    }
}

static void cf_check tavs2_unit_wake(const struct scheduler *ops,
                                     struct sched_unit *unit)
{
    struct tavs_boost *b = TAVS_BOOST(unit);

    if ( curr_on_cpu(sched_unit_master(unit)) != unit &&
         !credit2_unit_queued(unit) )
    {
        bool boosts;

        tavs_boost_wakes(unit, b, NOW());
        boosts = tavs_boost_grant(unit, b, credit2_unit_indebted(unit));
        credit2_unit_set_first(unit, boosts);
        if ( boosts )
            tavs_make_way(unit, &credit2_base);
    }

    csched2_unit_wake(ops, unit);
}

static void *cf_check tavs2_alloc_udata(const struct scheduler *ops,
                                        struct sched_unit *unit, void *dd)
{
    struct tavs_boost *b = NULL;
    void *priv;

    if ( !is_idle_unit(unit) )
    {
        b = xzalloc(struct tavs_boost);
        if ( !b )
            return NULL;

        tavs_boost_init(b);
    }

    priv = csched2_alloc_udata(ops, unit, dd);
    if ( priv )
        credit2_unit_set_data(priv, b);
    else
        xfree(b);

    return priv;
}

static void cf_check tavs2_free_udata(const struct scheduler *ops, void *priv)
{
    xfree(credit2_unit_data(priv));
    csched2_free_udata(ops, priv);
}

static void *cf_check tavs2_alloc_domdata(const struct scheduler *ops,
                                          struct domain *d)
{
    int rc = tavs_domain_join(d, &tavs_credit2_host);
    void *priv;

    if ( rc )
        return ERR_PTR(rc);

    priv = csched2_alloc_domdata(ops, d);
    if ( IS_ERR(priv) )
        tavs_domain_leave(d);

    return priv;
}

static void cf_check tavs2_free_domdata(const struct scheduler *ops,
                                        void *data)
{
    struct domain *d = credit2_domain(data);

    if ( d )
        tavs_domain_leave(d);
    csched2_free_domdata(ops, data);
}

static int cf_check tavs2_init(struct scheduler *ops)
{
    int rc = csched2_init(ops);

    if ( !rc )
        credit2_set_policy(ops, &tavs2_policy);

    return rc;
}

static int cf_check tavs2_dom_cntl(const struct scheduler *ops,
                                   struct domain *d,
                                   struct xen_domctl_scheduler_op *op)
{
    return tavs_base_dom_cntl(&credit2_base, ops, d, op);
}

static int cf_check tavs2_sys_cntl(const struct scheduler *ops,
                                   struct xen_sysctl_scheduler_op *sc)
{
    return tavs_base_sys_cntl(&credit2_base, ops, sc);
}

static void cf_check tavs2_dump(const struct scheduler *ops)
{
    csched2_dump(ops);

    printk("task awareness:\n");
    tavs_base_dump(&credit2_base, ops);
}

static const struct scheduler sched_tavs2_def = {
    .name            = "Task-aware Scheduler on SMP Credit rev2",
    .opt_name        = "tavs2",
    .sched_id        = XEN_SCHEDULER_TAVS2,
    .sched_data      = NULL,

    /* No .global_init: credit2's runs anyway, and has all there is to check. */

    .insert_unit     = csched2_unit_insert,
    .remove_unit     = csched2_unit_remove,

    .sleep           = tavs2_unit_sleep,
    .wake            = tavs2_unit_wake,
    .yield           = csched2_unit_yield,

    .adjust          = tavs2_dom_cntl,
    .adjust_affinity = csched2_aff_cntl,
    .adjust_global   = tavs2_sys_cntl,

    .pick_resource   = csched2_res_pick,
    .migrate         = csched2_unit_migrate,
    .do_schedule     = csched2_schedule,
    .context_saved   = csched2_context_saved,

    .dump_settings   = tavs2_dump,
    .init            = tavs2_init,
    .deinit          = csched2_deinit,
    .alloc_udata     = tavs2_alloc_udata,
    .free_udata      = tavs2_free_udata,
    .alloc_pdata     = csched2_alloc_pdata,
    .deinit_pdata    = csched2_deinit_pdata,
    .free_pdata      = csched2_free_pdata,
    .switch_sched    = csched2_switch_sched,
    .alloc_domdata   = tavs2_alloc_domdata,
    .free_domdata    = tavs2_free_domdata,
};

REGISTER_SCHEDULER(sched_tavs2_def);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
