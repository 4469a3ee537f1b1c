/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace records of the inference and of events.  Only called while there is a
 * trace; those of boosts are made where the scheduler decides.
 */
#include <xen/event.h>
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/sched.h>

#include "trace.h"

/* What tools know these values by. */
static void __init __maybe_unused build_assertions(void)
{
    BUILD_BUG_ON(TAVS_REASONS != 5 || TAVS_REASON_TIMER != 4);
    BUILD_BUG_ON(TAVS_ENDS != 3 || TAVS_END_CAPPED != 2);
    BUILD_BUG_ON(TAVS_REFUSALS != 5 || TAVS_REFUSED_AHEAD != 4);
    BUILD_BUG_ON(TAVS_AMBIGUOUS != 2 || TAVS_BORN != 5);
    BUILD_BUG_ON(TAVS_OTHER != 0 || TAVS_IO_BOUND != 2);
    BUILD_BUG_ON(TAVS_ROLE_NONE != 0 || TAVS_ROLE_BEHIND != 4);
}

static uint32_t pair(int before, int after)
{
    return (uint16_t)before | ((uint32_t)after << 16);
}

/* tavs_guest.lock is held. */
void tavs_trace_task(const struct vcpu *v, const struct tavs_segment *s,
                     s_time_t now, bool resumes)
{
    const struct tavs_task *task = tavs_tasks_find(s->tasks, s->cur);

    TRACE_TIME(TRC_TAVS_TASK, tavs_trace_vcpu(v), s->cur,
               (uint64_t)s->cur >> 32, task ? task->belief : 0,
               tavs_segment_verdict(s, &tavs_params, now) | (s->role << 8) |
               (resumes ? 1U << 16 : 0) |
               (s->cur == s->tasks->kernel ? 2U << 16 : 0));
}

/* tavs_guest.lock is held. */
void tavs_trace_changes(const struct vcpu *v,
                        const struct tavs_changes *changes)
{
    int threshold = ACCESS_ONCE(tavs_params.threshold);
    unsigned int i;

    for ( i = 0; i < changes->nr; i++ )
    {
        const struct tavs_change *c = &changes->change[i];

        TRACE_TIME(TRC_TAVS_EVIDENCE, tavs_trace_vcpu(v), c->id,
                   (uint64_t)c->id >> 32, c->cause, pair(c->before, c->after),
                   min(c->used, (int64_t)UINT32_MAX));

        if ( (c->before > threshold) != (c->after > threshold) )
            TRACE_TIME(TRC_TAVS_BELIEF, tavs_trace_vcpu(v), c->id,
                       (uint64_t)c->id >> 32, pair(c->before, c->after),
                       c->cause);
    }
}

void tavs_trace_io(const struct vcpu *v, const struct evtchn *chn)
{
    TRACE_TIME(TRC_TAVS_EVENT, tavs_trace_vcpu(v), chn->port,
               chn->state == ECS_INTERDOMAIN
               ? chn->u.interdomain.remote_dom->domain_id : 0xffff,
               v->is_running);
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
