/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of task awareness and the scheduler tavs share.
 */
#ifndef __TAVS_PRIVATE_H__
#define __TAVS_PRIVATE_H__

#include <xen/cache.h>
#include <xen/sched.h>
#include <xen/spinlock.h>
#include <xen/tavs.h>

#include "task.h"

/*
 * Parameters.  Read without a lock wherever they are needed: each is a value
 * of its own, and one that changes meanwhile takes effect a little later.
 */
extern struct tavs_params tavs_params;

extern s_time_t tavs_boost_cap;         /* the longest single boost */
extern s_time_t tavs_boost_burst;       /* the most budget that can be saved */
extern uint16_t tavs_pbratio;           /* permille, of domains created later */

/*
 * Task awareness of a vCPU.  It hangs off struct vcpu, so what was learned
 * survives a move to another cpupool.
 */
struct tavs_vcpu {
    /*
     * Protects `tasks`.  Taken by the vCPU itself (switching tasks; being
     * scheduled), and by other vCPUs of the domain when they tear down an
     * address space.  It is a leaf: nothing is taken while holding it.
     * Interrupts are off while it is held.
     */
    spinlock_t lock;
    struct tavs_tasks tasks;

    /*
     * When the last I/O event became pending, 0 if tavs_tasks_event() was
     * called for it.  Written by whoever sends, consumed by the vCPU.
     */
    s_time_t event;

    /*
     * Only written on the pCPU where the vCPU runs, with interrupts off or by
     * the vCPU itself; needs no lock.
     *
     * active:  its tasks are being tracked.  Set when a tavs pool schedules
     *          the vCPU in, cleared when it is scheduled out.
     * boosted: it runs by virtue of a partial boost.  Set and cleared by the
     *          scheduler.
     * revoke:  the boost is to end.  Set by the task switch, along with
     *          SCHEDULE_SOFTIRQ; cleared by the scheduler.
     * hit:     an I/O-bound task was switched to during the boost.
     */
    bool active, boosted, revoke, hit;
};

/* task tracking, called by the scheduler with the schedule lock held */
void tavs_vcpu_in(struct vcpu *v, s_time_t now);
void tavs_vcpu_out(struct vcpu *v, s_time_t now, bool blocks);

/* May v, which runs on this pCPU, be about to answer an event? */
bool tavs_vcpu_answers(const struct vcpu *v, s_time_t now);

/* Has v, which is queued, something to be boosted for?  No lock is needed. */
static inline bool tavs_vcpu_wants_boost(const struct vcpu *v)
{
    const struct tavs_vcpu *tv = v->tavs;

    return v->domain->tavs.track && ACCESS_ONCE(tv->tasks.believed);
}

/*
 * An event for v has become pending: let the scheduler, if it is tavs, decide
 * whether v goes ahead.  Takes the schedule lock.
 */
void tavs_sched_event(struct vcpu *v);

void tavs_dump_params(void);
void tavs_dump_vcpu(struct vcpu *v);

#endif /* __TAVS_PRIVATE_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
