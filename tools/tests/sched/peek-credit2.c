/* SPDX-License-Identifier: GPL-2.0-only */
/* Credit2's private state. This is credit2.c, unmodified. */

#include "credit2.c"

#include "sim.h"
#include "peek.h"

void peek_credit2_queue(unsigned int cpu, peek_fn *fn)
{
    const struct csched2_runqueue_data *rqd = c2rqd(cpu);
    const struct csched2_unit *prev = NULL;
    struct list_head *iter;

    if ( cpumask_first(&rqd->active) != cpu )
        return;

    list_for_each ( iter, &rqd->runq )
    {
        const struct csched2_unit *svc =
            list_entry(iter, struct csched2_unit, runq_elem);

        if ( svc->rqd != rqd )
            sim_fail("d%dv%u is on a queue that it does not belong to",
                     svc->unit->domain->domain_id, svc->unit->unit_id);
#ifdef XEN_SCHEDULER_TAVS2
        if ( prev && svc->first && prev->first )
            ;                   /* First come, first served. */
        else
        if ( prev && (svc->first || (!prev->first &&
                                     prev->credit < svc->credit)) )
#else
        if ( prev && prev->credit < svc->credit )
#endif
            sim_fail("queue of pCPU %u: d%dv%u (credit %d) is behind d%dv%u "
                     "(credit %d)", cpu, svc->unit->domain->domain_id,
                     svc->unit->unit_id, svc->credit,
                     prev->unit->domain->domain_id, prev->unit->unit_id,
                     prev->credit);
        prev = svc;
        fn(svc->unit);
    }
}

bool peek_credit2_same_queue(unsigned int cpu, const struct sched_unit *unit)
{
    return csched2_unit(unit)->rqd == c2rqd(cpu);
}

unsigned int peek_credit2_weight(const struct domain *d, unsigned int *cap)
{
    const struct csched2_dom *sdom = csched2_dom(d);

    *cap = sdom->cap;

    return sdom->weight;
}

bool peek_credit2_parked(const struct sched_unit *unit)
{
    return !list_empty(&csched2_unit(unit)->parked_elem);
}
