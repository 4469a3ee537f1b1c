/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credit's private state. This is credit.c, unmodified, with the two
 * operations that move credit observed.
 */

#include <xen/sched.h>
#include <asm/atomic.h>

static void credit_given(int n, atomic_t *credit);
static void credit_burned(int n, atomic_t *credit);

#define atomic_add(n, v) ({ credit_given(n, v); (atomic_add)(n, v); })
#define atomic_sub(n, v) ({ credit_burned(n, v); (atomic_sub)(n, v); })
#include "credit.c"
#undef atomic_add
#undef atomic_sub

#include "sim.h"
#include "guest.h"
#include "peek.h"

static void credit_burned(int n, atomic_t *credit)
{
    const struct csched_unit *svc =
        container_of(credit, struct csched_unit, credit);

    if ( !is_idle_unit(svc->unit) )
        guest_of(svc->unit->vcpu_list)->account.burned += n;
}

/* ---- queues ------------------------------------------------------------ */

void peek_credit_queue(unsigned int cpu, peek_fn *fn)
{
    const struct sched_resource *sr = get_sched_res(cpu);
    const struct csched_private *prv = CSCHED_PRIV(sr->scheduler);
    const struct csched_pcpu *spc = sr->sched_priv;
    const struct csched_unit *prev = NULL;
    bool sorted = spc->runq_sort_last == prv->runq_sort;
    unsigned int n = 0;
    struct list_head *iter;

    list_for_each ( iter, &spc->runq )
    {
        const struct csched_unit *svc = __runq_elem(iter);

        if ( svc->unit->res != sr )
            sim_fail("d%dv%u is on the queue of pCPU %u but belongs to pCPU "
                     "%u", svc->unit->domain->domain_id, svc->unit->unit_id,
                     cpu, svc->unit->res->master_cpu);

        /* Whoever yielded may be behind one of lower priority. */
        if ( test_bit(CSCHED_FLAG_UNIT_YIELD, &svc->flags) )
            sorted = false;
        /* csched_runq_sort() does not tell BOOST from UNDER. */
        if ( prev && sorted && prev->pri < svc->pri &&
             !(prev->pri == CSCHED_PRI_TS_UNDER &&
               check_known("credit-boost-not-sorted")) )
            sim_fail("queue of pCPU %u: d%dv%u (priority %d) is behind "
                     "d%dv%u (priority %d)", cpu,
                     svc->unit->domain->domain_id, svc->unit->unit_id,
                     svc->pri, prev->unit->domain->domain_id,
                     prev->unit->unit_id, prev->pri);
        prev = svc;

        if ( !is_idle_unit(svc->unit) )
        {
            fn(svc->unit);
            n++;
        }
    }

    if ( !is_idle_unit(curr_on_cpu(cpu)) )
        n++;
    if ( spc->nr_runnable != n &&
         !(spc->nr_runnable > n && check_known("credit-nr-runnable")) )
        sim_fail("pCPU %u counts %u runnable units but has %u", cpu,
                 spc->nr_runnable, n);
}

/* ---- accounts ---------------------------------------------------------- */

/*
 * A credit is 100 us. Charges are rounded down and the rest carried over, so
 * a unit that does not run is charged exactly, but for what is carried. It is
 * carried in two places, each less than a credit, now and when we began.
 */
void peek_credit_account(const struct sched_unit *unit)
{
    const struct csched_unit *svc = CSCHED_UNIT(unit);
    struct gvcpu *gv = guest_of(unit->vcpu_list);
    uint64_t ran = unit->vcpu_list->runstate.time[RUNSTATE_running];
    const s_time_t credit_ns = MILLISECS(1) / CSCHED_CREDITS_PER_MSEC;
    int64_t off;

    if ( unit->is_running )
        return;

    if ( gv->account.svc != svc || gv->account.pool != unit->domain->cpupool )
    {
        /* New, or moved to another pool: a new account. */
        gv->account.svc = svc;
        gv->account.pool = unit->domain->cpupool;
        gv->account.ran = ran;
        gv->account.burned = 0;
        return;
    }

    off = (int64_t)gv->account.burned * credit_ns -
          (int64_t)(ran - gv->account.ran);
    if ( off < -4 * credit_ns || off > 4 * credit_ns )
        sim_fail("d%dv%u ran %lu us and was charged %ld us",
                 unit->domain->domain_id, unit->unit_id,
                 (unsigned long)((ran - gv->account.ran) / 1000),
                 (long)(gv->account.burned * credit_ns / 1000));
}

/* Per scheduler instance: credit that was given, and that could be. */
static struct given {
    const struct csched_private *prv;
    uint32_t round;
    unsigned int credit;        /* prv->credit when last looked at, */
    int balance;                /* and prv->credit_balance */
    uint64_t given, allowed, tolerance;
} given[8];

static struct given *given_of(const struct csched_private *prv)
{
    struct given *g;

    for ( g = given; g < given + ARRAY_SIZE(given); g++ )
        if ( g->prv == prv )
            return g;
    for ( g = given; g < given + ARRAY_SIZE(given); g++ )
        if ( !g->prv || mem_is_free(g->prv) )
        {
            *g = (struct given){ .prv = prv, .round = prv->runq_sort };
            return g;
        }

    return NULL;
}

static void credit_given(int n, atomic_t *credit)
{
    const struct csched_unit *svc =
        container_of(credit, struct csched_unit, credit);
    struct given *g =
        given_of(CSCHED_PRIV(svc->sdom->dom->cpupool->sched));

    if ( g )
        g->given += n;
}

/*
 * In each round at most prv->credit, and what the units together are short of,
 * but for rounding up: by at most one for each active domain and unit.
 */
void peek_credit_given(unsigned int cpu)
{
    const struct csched_private *prv =
        CSCHED_PRIV(get_sched_res(cpu)->scheduler);
    struct given *g;
    const struct csched_dom *sdom;
    unsigned int slack = 0;

    /* Once for all pCPUs. */
    if ( cpumask_first(prv->cpus) != cpu || !(g = given_of(prv)) )
        return;
    if ( g->round == prv->runq_sort && g->given <= g->allowed )
    {
        g->credit = prv->credit;
        g->balance = prv->credit_balance;
        return;
    }

    /* A unit may have left the active list since: count all that exist. */
    {
        const struct domain *d;

        for_each_domain ( d )
            slack += d->max_vcpus + 2;
    }
    list_for_each_entry ( sdom, &prv->active_sdom, active_sdom_elem )
        slack += 2;

    /* pCPUs may have come or gone since the last round. */
    g->allowed += (uint64_t)(prv->runq_sort - g->round) *
                  (max(g->credit, prv->credit) + max(-g->balance, 0) +
                   slack * 2);
    g->round = prv->runq_sort;
    g->credit = prv->credit;
    g->balance = prv->credit_balance;

    /* Weights and pCPUs come and go; be exact to one round. */
    g->tolerance = max(g->tolerance, (uint64_t)2 * prv->credits_per_tslice *
                                     (prv->ncpus + 1));
    if ( g->given > g->allowed + g->tolerance )
        sim_fail("units were given %lu credits, of %lu that there were",
                 (unsigned long)g->given, (unsigned long)g->allowed);
}

unsigned int peek_credit_weight(const struct domain *d, unsigned int *cap)
{
    const struct csched_dom *sdom = CSCHED_DOM(d);

    *cap = sdom->cap;

    return sdom->weight;
}

bool peek_credit_parked(const struct sched_unit *unit)
{
    return test_bit(CSCHED_FLAG_UNIT_PARKED, &CSCHED_UNIT(unit)->flags);
}
