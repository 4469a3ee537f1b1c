/* SPDX-License-Identifier: GPL-2.0-only */
/* RTDS' private state. This is rt.c, unmodified. */

#include "rt.c"

#include "sim.h"
#include "peek.h"

void peek_rt_queue(unsigned int cpu, peek_fn *fn)
{
    const struct sched_resource *sr = get_sched_res(cpu);
    const struct rt_private *prv = rt_priv(sr->scheduler);
    const struct rt_unit *prev = NULL;
    struct list_head *iter;

    if ( cpumask_first(sr->cpupool->res_valid) != cpu )
        return;

    list_for_each ( iter, &prv->runq )
    {
        const struct rt_unit *svc = q_elem(iter);

        if ( prev && compare_unit_priority(prev, svc) < 0 )
            sim_fail("RTDS' queue: d%dv%u is behind d%dv%u",
                     svc->unit->domain->domain_id, svc->unit->unit_id,
                     prev->unit->domain->domain_id, prev->unit->unit_id);
        prev = svc;
        fn(svc->unit);
    }

    list_for_each ( iter, &prv->depletedq )
        fn(q_elem(iter)->unit);
}

bool peek_rt_depleted(const struct sched_unit *unit)
{
    return rt_unit(unit)->cur_budget <= 0;
}
