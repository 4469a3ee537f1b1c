/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is the same for each scheduler that hosts the plane: how its units are
 * found and locked, and what tools set and see.
 *
 * Domains' parameters are written under param_lock, which makes of several one
 * set; the private locks of the scheduler below and the schedule lock nest
 * inside.  The hosts and the plane read each for itself, without it.
 */
#include <xen/lib.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/string.h>

#include <public/domctl.h>
#include <public/sysctl.h>

#include "tavs-boost.h"

/*
 * Is the data of the unit the host's?  The schedule lock is held.  While a
 * domain moves between cpupools, its new units are for a moment on the pCPU of
 * an old one (sched_move_domain()).
 */
static bool is_ours(const struct sched_unit *unit,
                    const struct tavs_base *base)
{
    const struct scheduler *ops = unit->res->scheduler;
    const struct cpupool *pool = unit->domain->cpupool;

    return ops && ops->sched_id == base->sched_id &&
           pool && pool->sched == ops && !is_idle_unit(unit);
}

struct sched_unit *tavs_lock_unit(const struct vcpu *v,
                                  const struct tavs_base *base,
                                  spinlock_t **lock, unsigned long *flags)
{
    struct sched_unit *unit = ACCESS_ONCE(v->sched_unit);

    *lock = unit_schedule_lock_irqsave(unit, flags);
    if ( unit == ACCESS_ONCE(v->sched_unit) && is_ours(unit, base) )
        return unit;

    unit_schedule_unlock_irqrestore(*lock, *flags, unit);

    return NULL;
}

void tavs_make_way(const struct sched_unit *unit, const struct tavs_base *base)
{
    const struct sched_unit *cur = current->sched_unit;
    struct tavs_boost *b;

    if ( cur == unit || cur->res != unit->res || !is_ours(cur, base) ||
         cur->domain->tavs.driver == unit->domain->tavs.driver ||
         !tavs_opt_way )
        return;

    b = base->boost_of(cur);
    if ( !b->on || b->made )
        return;

    b->way = b->made = true;
    raise_softirq(SCHEDULE_SOFTIRQ);
}

void cf_check tavs_base_reconsider(struct vcpu *v)
{
    raise_softirq(SCHEDULE_SOFTIRQ);
}

int tavs_base_stats(const struct tavs_base *base, const struct vcpu *v,
                    struct tavs_stats *stats, s_time_t *budget)
{
    struct sched_unit *unit;
    unsigned long flags;
    spinlock_t *lock;

    rcu_read_lock(&sched_res_rculock);

    unit = tavs_lock_unit(v, base, &lock, &flags);
    if ( unit )
    {
        const struct tavs_boost *b = base->boost_of(unit);

        *stats = b->stats;
        *budget = b->ledger.budget;
        unit_schedule_unlock_irqrestore(lock, flags, unit);
    }

    rcu_read_unlock(&sched_res_rculock);

    return unit ? 0 : -EINVAL;
}

int tavs_base_latency(const struct tavs_base *base, const struct vcpu *v,
                      unsigned int which,
                      struct xen_domctl_tavs_latency *latency)
{
    struct sched_unit *unit;
    unsigned long flags;
    spinlock_t *lock;

    ASSERT(which < XEN_DOMCTL_TAVS_LATENCIES);

    rcu_read_lock(&sched_res_rculock);

    unit = tavs_lock_unit(v, base, &lock, &flags);
    if ( unit )
    {
        *latency = base->boost_of(unit)->latency[which];
        unit_schedule_unlock_irqrestore(lock, flags, unit);
    }

    rcu_read_unlock(&sched_res_rculock);

    return unit ? 0 : -EINVAL;
}

static DEFINE_SPINLOCK(param_lock);

static uint8_t flags_of(const struct domain *d)
{
    return (d->tavs.track ? XEN_DOMCTL_SCHED_TAVS_tracked : 0) |
           (d->tavs.driver ? XEN_DOMCTL_SCHED_TAVS_driver : 0);
}

static bool can_be_boosted(const struct domain *d)
{
    return d->tavs.pbratio && (d->tavs.track || d->tavs.driver);
}

static int dom_put(const struct tavs_base *base, const struct scheduler *ops,
                   struct domain *d, struct xen_domctl_scheduler_op *op)
{
    const struct xen_domctl_sched_tavs *p = &op->u.tavs;
    uint8_t flags = (flags_of(d) & ~p->set_flags) | (p->flags & p->set_flags);
    bool boosts = can_be_boosted(d);
    const struct sched_unit *unit;
    int rc;

    ASSERT(spin_is_locked(&param_lock));

    if ( p->cap != (uint16_t)~0 && p->cap > d->max_vcpus * 100U )
        return -EINVAL;

    if ( p->pbratio != (uint16_t)~0 &&
         p->pbratio > XEN_DOMCTL_SCHED_TAVS_PBRATIO_MAX )
        return -EINVAL;

    if ( (p->flags | p->set_flags) & ~(XEN_DOMCTL_SCHED_TAVS_tracked |
                                       XEN_DOMCTL_SCHED_TAVS_driver) )
        return -EINVAL;

    if ( (flags & XEN_DOMCTL_SCHED_TAVS_tracked) && !tavs_can_track(d) )
        return -EOPNOTSUPP;

    rc = tavs_domain_track(d, flags & XEN_DOMCTL_SCHED_TAVS_tracked);
    if ( rc )
        return rc;

    /* Weight and cap: nothing is refused from here on. */
    rc = base->dom_cntl(ops, d, op);
    ASSERT(!rc);

    if ( p->pbratio != (uint16_t)~0 )
        write_atomic(&d->tavs.pbratio, p->pbratio);

    write_atomic(&d->tavs.driver, (flags & XEN_DOMCTL_SCHED_TAVS_driver) != 0);

    /*
     * A boost that was granted before ends now if it runs.  Otherwise it ends
     * as soon as it has run, after the cap at the latest.
     */
    if ( boosts && !can_be_boosted(d) )
        for_each_sched_unit ( d, unit )
        {
            spinlock_t *lock = unit_schedule_lock_irq(unit);

            if ( is_ours(unit, base) )
                tavs_boost_withdraw(unit, base->boost_of(unit));

            unit_schedule_unlock_irq(lock, unit);
        }

    return rc;
}

static int dom_get(const struct tavs_base *base, const struct scheduler *ops,
                   struct domain *d, struct xen_domctl_scheduler_op *op)
{
    int rc;

    ASSERT(spin_is_locked(&param_lock));

    memset(&op->u, 0, sizeof(op->u));

    rc = base->dom_cntl(ops, d, op);
    if ( rc )
        return rc;

    op->u.tavs.pbratio = d->tavs.pbratio;
    op->u.tavs.flags = flags_of(d);

    return 0;
}

int tavs_base_dom_cntl(const struct tavs_base *base,
                       const struct scheduler *ops, struct domain *d,
                       struct xen_domctl_scheduler_op *op)
{
    int rc = -EINVAL;

    /* Weight and cap are where credit and credit2 look for them. */
    BUILD_BUG_ON(offsetof(typeof(op->u.tavs), weight) !=
                 offsetof(typeof(op->u.credit), weight) ||
                 offsetof(typeof(op->u.tavs), weight) !=
                 offsetof(typeof(op->u.credit2), weight));
    BUILD_BUG_ON(offsetof(typeof(op->u.tavs), cap) !=
                 offsetof(typeof(op->u.credit), cap) ||
                 offsetof(typeof(op->u.tavs), cap) !=
                 offsetof(typeof(op->u.credit2), cap));
    BUILD_BUG_ON(sizeof(struct xen_domctl_schedparam_vcpu) != 16);

    spin_lock(&param_lock);

    if ( op->cmd == XEN_DOMCTL_SCHEDOP_putinfo )
        rc = dom_put(base, ops, d, op);
    else if ( op->cmd == XEN_DOMCTL_SCHEDOP_getinfo )
        rc = dom_get(base, ops, d, op);

    spin_unlock(&param_lock);

    return rc;
}

int tavs_base_sys_cntl(const struct tavs_base *base,
                       const struct scheduler *ops,
                       struct xen_sysctl_scheduler_op *sc)
{
    struct xen_sysctl_tavs_schedule *p = &sc->u.sched_tavs;
    struct xen_sysctl_credit_schedule old = {};
    int rc = 0;

    spin_lock(&param_lock);

    if ( sc->cmd == XEN_SYSCTL_SCHEDOP_putinfo )
    {
        uint32_t knobs = p->valid & ~XEN_SYSCTL_TAVS_VALID_credit;

        /* What one half has taken is given back if the other refuses. */
        if ( p->valid & XEN_SYSCTL_TAVS_VALID_credit )
            rc = base->params(ops, &old, false) ?:
                 base->params(ops, &p->credit, true);

        if ( !rc )
        {
            rc = tavs_knobs_set(knobs, p->knob);
            if ( rc && (p->valid & XEN_SYSCTL_TAVS_VALID_credit) )
                base->params(ops, &old, true);
        }
    }

    if ( !rc )
    {
        memset(p, 0, sizeof(*p));
        rc = base->params(ops, &p->credit, false);
        p->valid = tavs_knobs_get(p->knob) | XEN_SYSCTL_TAVS_VALID_credit;
    }

    spin_unlock(&param_lock);

    return rc;
}

void tavs_base_dump(const struct tavs_base *base, const struct scheduler *ops)
{
    struct domain *d;
    const struct sched_unit *unit;

    tavs_dump_params();

    rcu_read_lock(&domlist_read_lock);

    for_each_domain_in_cpupool ( d, ops->cpupool )
    {
        printk("\tdomain %u: %s%s pbratio=%u\n", d->domain_id,
               d->tavs.track ? "tracked" : "not tracked",
               d->tavs.driver ? " driver" : "", d->tavs.pbratio);
        tavs_dump_domain(d);

        for_each_sched_unit ( d, unit )
        {
            tavs_boost_dump(unit, base->boost_of(unit));
            process_pending_softirqs();
        }
    }

    rcu_read_unlock(&domlist_read_lock);
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
