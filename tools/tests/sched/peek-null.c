/* SPDX-License-Identifier: GPL-2.0-only */
/* The null scheduler's private state. This is null.c, unmodified. */

#include "null.c"

#include "sim.h"
#include "peek.h"

void peek_null_queue(unsigned int cpu, peek_fn *fn)
{
    const struct sched_resource *sr = get_sched_res(cpu);
    const struct null_pcpu *npc = sr->sched_priv;
    const struct null_private *prv = null_priv(sr->scheduler);
    struct list_head *iter;

    /* A unit that has a pCPU waits for nobody, if it is not running yet. */
    if ( npc->unit && npc->unit != curr_on_cpu(cpu) &&
         unit_runnable(npc->unit) )
        fn(npc->unit);

    if ( cpumask_first(sr->cpupool->res_valid) != cpu )
        return;

    list_for_each ( iter, &prv->waitq )
        fn(list_entry(iter, struct null_unit, waitq_elem)->unit);
}
