/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The boosts of a unit; see tavs-boost.h.
 */
#include <xen/sched.h>
#include <xen/softirq.h>

#include "../tavs/latency.h"
#include "../tavs/trace.h"
#include "tavs-boost.h"

/* A boost this close to its end has reached it: timers fire 50 us late. */
#define TAVS_CAP_SLOP MICROSECS(50)

void tavs_boost_init(struct tavs_boost *b)
{
    tavs_ledger_init(&b->ledger, ACCESS_ONCE(tavs_boost_cap));
}

bool tavs_boost_grant(struct sched_unit *unit, struct tavs_boost *b,
                      bool indebted)
{
    const struct vcpu *v = tavs_unit_vcpu(unit);
    enum tavs_reason reason;
    enum tavs_refusal refusal;

    if ( !v || !tavs_boost_wanted(v, &reason) )
        return false;

    b->stats.events++;

    if ( b->on || indebted ||
         !tavs_ledger_grants(&b->ledger, ACCESS_ONCE(tavs_boost_cap)) )
    {
        refusal = b->on ? TAVS_REFUSED_AHEAD : TAVS_REFUSED_BUDGET;
        b->stats.refused[refusal]++;
        tavs_trace_refused(v, refusal, reason);
        return false;
    }

    b->on = true;
    b->way = b->made = false;
    b->reason = reason;
    tavs_ledger_begin(&b->ledger);
    if ( !b->woken )
        b->woken = NOW();

    b->stats.boosts[reason]++;
    TRACE_TIME(TRC_TAVS_BOOST_GRANT, tavs_trace_unit(unit), reason,
               max(b->ledger.budget, (int64_t)0) / 1000);

    return true;
}

void tavs_boost_end(struct sched_unit *unit, struct tavs_boost *b,
                    enum tavs_end end)
{
    struct vcpu *v = tavs_unit_vcpu(unit);
    bool hit = v && tavs_boost_hit(v);

    ASSERT(b->on);

    b->stats.ends[b->reason][end]++;
    if ( hit )
        b->stats.hits[b->reason]++;

    TRACE_TIME(TRC_TAVS_BOOST_END, tavs_trace_unit(unit), b->reason,
               end | (hit ? 1U << 8 : 0), b->ledger.boosted,
               max(b->ledger.budget, (int64_t)0) / 1000);

    b->on = false;
    if ( v && end != TAVS_END_BLOCKED )
        tavs_boost_ended(v);
}

/* It was turned off while the unit was boosted. */
static bool is_withdrawn(const struct sched_unit *unit)
{
    const struct tavs_domain *td = &unit->domain->tavs;

    return !read_atomic(&td->pbratio) ||
           (!read_atomic(&td->track) && !read_atomic(&td->driver));
}

enum tavs_decision tavs_boost_leaves(struct sched_unit *unit,
                                     struct tavs_boost *b, s_time_t now,
                                     bool breaks, s_time_t *tslice)
{
    s_time_t ran = max(now - b->since, (s_time_t)0), left;
    struct vcpu *v = tavs_unit_vcpu(unit);

    b->since = now;
    b->had = b->on;
    b->why = v ? tavs_why_leaves(v)
               : unit_runnable(unit) ? TAVS_PREEMPTED : TAVS_BLOCKED;

    b->stats.run_time += ran;
    if ( b->on )
        b->stats.boost_time += ran;
    tavs_ledger_charge(&b->ledger, ran, b->on,
                       ACCESS_ONCE(unit->domain->tavs.pbratio),
                       ACCESS_ONCE(tavs_boost_burst));

    if ( !b->on )
        return TAVS_DECIDE;

    left = v ? tavs_ledger_left(&b->ledger, tavs_boost_limit(v, now)) : 0;

    if ( b->why != TAVS_PREEMPTED )
        tavs_boost_end(unit, b, TAVS_END_BLOCKED);
    else if ( (v && tavs_boost_is_over(v)) || is_withdrawn(unit) )
        tavs_boost_end(unit, b, TAVS_END_REVOKED);
    else if ( left <= TAVS_CAP_SLOP )
        tavs_boost_end(unit, b, TAVS_END_CAPPED);
    else if ( !breaks && !b->way )
    {
        *tslice = left;
        return TAVS_CONTINUE;
    }

    b->way = false;

    return TAVS_SWITCH;
}

static void count_latency(struct xen_domctl_tavs_latency *l, s_time_t since,
                          s_time_t now)
{
    uint64_t ns = max(now - since, (s_time_t)0);

    l->count++;
    l->sum_ns += ns;
    l->max_ns = max(l->max_ns, ns);
    l->bucket[tavs_latency_bucket(ns)]++;
}

/* The unit gets the pCPU: how long did it wait, and an event for it? */
static void count_latencies(struct sched_unit *unit, struct tavs_boost *b,
                            s_time_t now)
{
    const struct vcpu *v = tavs_unit_vcpu(unit);
    struct tavs_vcpu *tv = v ? tavs_vcpu(v) : NULL;
    s_time_t since;

    if ( b->woken )
        count_latency(&b->latency[b->on ? XEN_DOMCTL_TAVS_WAKE_boosted
                                        : XEN_DOMCTL_TAVS_WAKE_unboosted],
                      b->woken, now);
    b->woken = 0;

    if ( !tv || !ACCESS_ONCE(tv->event_at) )
        return;

    since = xchg(&tv->event_at, 0);

    /* One that came before that for which it is boosted was not boosted for. */
    if ( b->on && since < tv->unserved.since )
    {
        count_latency(&b->latency[XEN_DOMCTL_TAVS_EVENT_unboosted], since, now);
        since = tv->unserved.since;
    }

    count_latency(&b->latency[b->on ? XEN_DOMCTL_TAVS_EVENT_boosted
                                    : XEN_DOMCTL_TAVS_EVENT_unboosted],
                  since, now);
}

void tavs_boost_out(struct sched_unit *prev, struct tavs_boost *b,
                    s_time_t now)
{
    struct vcpu *v = tavs_unit_vcpu(prev);

    if ( b && v )
        tavs_out(v, now, b->why, b->had);
}

void tavs_boost_in(struct sched_unit *next, struct tavs_boost *b, s_time_t now,
                   bool switches)
{
    struct vcpu *v = tavs_unit_vcpu(next);

    if ( !b )
        return;

    b->since = now;
    if ( !switches )
        return;

    count_latencies(next, b, now);
    if ( v )
        tavs_in(v, now, b->on);
    if ( b->on )
        TRACE_TIME(TRC_TAVS_BOOST_RUN, tavs_trace_unit(next), b->reason,
                   b->ledger.boosted);
}

s_time_t tavs_boost_slice(struct sched_unit *unit, const struct tavs_boost *b,
                          s_time_t now, s_time_t tslice)
{
    struct vcpu *v = tavs_unit_vcpu(unit);

    if ( !b || !b->on || !v )
        return tslice;

    /* The cap may have been lowered since it was boosted. */
    return min(tslice, max(tavs_ledger_left(&b->ledger,
                                            tavs_boost_limit(v, now)),
                           TAVS_CAP_SLOP));
}

/* Whatever waited for it did not wait for the pCPU. */
static void forget_event(const struct sched_unit *unit)
{
    const struct vcpu *v = tavs_unit_vcpu(unit);
    struct tavs_vcpu *tv = v ? tavs_vcpu(v) : NULL;

    if ( tv && ACCESS_ONCE(tv->event_at) )
        xchg(&tv->event_at, 0);
}

void tavs_boost_wakes(struct sched_unit *unit, struct tavs_boost *b,
                      s_time_t now)
{
    const struct vcpu *v = tavs_unit_vcpu(unit);
    struct tavs_vcpu *tv = v ? tavs_vcpu(v) : NULL;

    /* Whatever came before, it waits for the pCPU from here. */
    b->woken = now;
    if ( tv && ACCESS_ONCE(tv->event_at) )
        write_atomic(&tv->event_at, now);

    /* It was paused between leaving and the choice that followed. */
    if ( b->on )
        tavs_boost_end(unit, b, TAVS_END_BLOCKED);
}

void tavs_boost_sleeps(struct sched_unit *unit, struct tavs_boost *b)
{
    b->woken = 0;
    forget_event(unit);
}

void tavs_boost_withdraw(const struct sched_unit *unit,
                         const struct tavs_boost *b)
{
    if ( b->on && unit->is_running && is_withdrawn(unit) )
        cpu_raise_softirq(sched_unit_master(unit), SCHEDULE_SOFTIRQ);
}

void tavs_boost_dump(const struct sched_unit *unit, const struct tavs_boost *b)
{
    printk("\t  [%u.%u] budget=%"PRI_stime"us\n",
           unit->domain->domain_id, unit->unit_id, b->ledger.budget / 1000);
    tavs_dump_stats(&b->stats);
    if ( unit->vcpu_list )
        tavs_dump_vcpu(unit->vcpu_list);
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
