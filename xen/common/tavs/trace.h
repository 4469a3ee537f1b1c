/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace records; public/trace.h says what is in them.
 *
 * Off, each costs a load, a test and a branch that is not taken: TRACE_TIME()
 * looks at tb_init_done, and what needs more is behind a test of it here.
 */
#ifndef __TAVS_TRACE_H__
#define __TAVS_TRACE_H__

#include <xen/sched.h>
#include <xen/trace.h>

#include "plane.h"

static inline uint32_t tavs_trace_vcpu(const struct vcpu *v)
{
    return v->vcpu_id | ((uint32_t)v->domain->domain_id << 16);
}

/* Of a unit that is boosted: it holds but one vCPU. */
static inline uint32_t tavs_trace_unit(const struct sched_unit *unit)
{
    return tavs_trace_vcpu(unit->vcpu_list);
}

void tavs_trace_task(const struct vcpu *v, const struct tavs_segment *s,
                     s_time_t now, bool resumes);
void tavs_trace_changes(const struct vcpu *v,
                        const struct tavs_changes *changes);
void tavs_trace_io(const struct vcpu *v, const struct evtchn *chn);

/*
 * The changes that are made between these two are recorded.  tavs_guest.lock
 * is held.
 */
static inline void tavs_trace_begin(struct tavs_segment *s,
                                    struct tavs_changes *changes)
{
    if ( unlikely(tb_init_done) )
    {
        changes->nr = 0;
        s->changes = changes;
    }
}

static inline void tavs_trace_end(const struct vcpu *v, struct tavs_segment *s)
{
    if ( unlikely(s->changes) )
    {
        tavs_trace_changes(v, s->changes);
        s->changes = NULL;
    }
}

/* What v runs now: a task that it switched to, or resumes with the pCPU. */
static inline void tavs_trace_runs(const struct vcpu *v,
                                   const struct tavs_segment *s, s_time_t now,
                                   bool resumes)
{
    if ( unlikely(tb_init_done) )
        tavs_trace_task(v, s, now, resumes);
}

static inline void tavs_trace_refused(const struct vcpu *v,
                                      enum tavs_refusal refusal,
                                      enum tavs_reason reason)
{
    TRACE_TIME(TRC_TAVS_BOOST_REFUSED, tavs_trace_vcpu(v), refusal, reason);
}

#endif /* __TAVS_TRACE_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
