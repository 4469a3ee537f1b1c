/* SPDX-License-Identifier: GPL-2.0-only */
/* The private state of tavs. This is sched_tavs.c, unmodified, if there is one. */

#if __has_include("sched_tavs.c")

#include "sched_tavs.c"
#include "credit2-ops.h"

#include "peek.h"

/* The account of a unit of a task-aware scheduler, or NULL. */
static const struct tavs_boost *account(const struct sched_unit *unit)
{
    if ( is_idle_unit(unit) || !unit->domain->cpupool || !unit->priv )
        return NULL;

    switch ( unit->domain->cpupool->sched->sched_id )
    {
    case XEN_SCHEDULER_TAVS:
        return credit_unit_data(unit->priv);    /* its first member */
    case XEN_SCHEDULER_TAVS2:
        return credit2_unit_data(unit->priv);
    default:
        return NULL;
    }
}

/* NULL: the unit is none of tavs. */
const void *peek_tavs_account(const struct sched_unit *unit, bool *boosted,
                              unsigned int *permille)
{
    const struct tavs_boost *b = account(unit);

    if ( !b )
        return NULL;

    *boosted = b->on;
    *permille = unit->domain->tavs.pbratio;

    return b;
}

s_time_t peek_tavs_cap(void)
{
    return tavs_boost_cap;
}

bool peek_tavs_wants(const struct sched_unit *unit, uint64_t *refused,
                     unsigned int *params)
{
    const struct tavs_boost *b = account(unit);
    const struct domain *d = unit->domain;
    enum tavs_reason reason;

    if ( !b )
        return false;

    *refused = b->stats.refused[TAVS_REFUSED_BUDGET];
    *params = d->tavs.pbratio | d->tavs.track << 16 | d->tavs.driver << 17 |
              tavs_has_believed(d) << 18;

    return !b->on && tavs_boost_wanted(unit->vcpu_list, &reason) &&
           tavs_ledger_grants(&b->ledger, tavs_boost_cap);
}

#else

#include "peek.h"

const void *peek_tavs_account(const struct sched_unit *unit, bool *boosted,
                              unsigned int *permille)
{
    return NULL;
}

s_time_t peek_tavs_cap(void)
{
    return 0;
}

bool peek_tavs_wants(const struct sched_unit *unit, uint64_t *refused,
                     unsigned int *params)
{
    return false;
}

#endif
