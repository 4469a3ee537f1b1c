/* SPDX-License-Identifier: GPL-2.0-only */
/* The private state of tavs. This is sched_tavs.c, unmodified, if there is one. */

#if __has_include("sched_tavs.c")

#include "sched_tavs.c"

#include "peek.h"

static bool is_tavs(const struct sched_unit *unit)
{
    return !is_idle_unit(unit) && unit->domain->cpupool &&
           unit->domain->cpupool->sched->sched_id == XEN_SCHEDULER_TAVS;
}

/* NULL: the unit is none of tavs. */
const void *peek_tavs_account(const struct sched_unit *unit, bool *boosted,
                              unsigned int *permille)
{
    const struct tavs_unit *tu;

    if ( !is_tavs(unit) || !unit->priv || !(tu = TAVS_UNIT(unit)) )
        return NULL;

    *boosted = tu->boost.on;
    *permille = unit->domain->tavs.pbratio;

    return tu;
}

s_time_t peek_tavs_cap(void)
{
    return tavs_boost_cap;
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

#endif
