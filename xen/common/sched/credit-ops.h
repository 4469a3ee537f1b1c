/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The task-aware operation interface of the credit scheduler.
 *
 * A scheduler that wants to decide a few things better than credit does, and
 * everything else exactly as credit does, is built *on* credit rather than
 * from a copy of it:
 *
 *  - credit offers its hooks under their own names, so that such a scheduler
 *    can put them into its struct scheduler, or call them from hooks of its
 *    own;
 *  - credit asks a policy where the decision is taken: when a unit leaves the
 *    pCPU, where it goes in the queue, how long the next one may run, and
 *    whether credit may touch its priority;
 *  - credit does for the policy what only credit can: it puts a queued unit
 *    ahead, and says what stands at the head of a queue.
 *
 * An instance of credit proper (prv->policy is NULL) asks nobody.  Only files
 * in xen/common/sched/ include this header.  Without CONFIG_SCHED_TAVS it
 * leaves credit.c exactly what it was.
 */
#ifndef __XEN_SCHED_CREDIT_OPS_H__
#define __XEN_SCHED_CREDIT_OPS_H__

#include "private.h"

/* What a policy says when the running unit comes up for decision. */
enum credit_verdict {
    CREDIT_DECIDE,      /* nothing: credit decides, within its ratelimit */
    CREDIT_SWITCH,      /* choose from the queue now, whatever the ratelimit */
    CREDIT_CONTINUE,    /* the unit goes on */
};

#ifdef CONFIG_SCHED_TAVS

/*
 * `unit_data` is what credit_unit_set_data() set, NULL for an idle unit.  All
 * but hold_priority() are called with the schedule lock of the unit's pCPU
 * held.
 */
struct credit_policy {
    /*
     * The running unit comes up for decision.  Its credit has been burnt.
     * With CREDIT_CONTINUE, *tslice is how long it goes on.
     */
    enum credit_verdict (*leave)(struct sched_unit *unit, void *unit_data,
                                 s_time_t now, bool tasklet,
                                 s_time_t *tslice);

    /* next follows prev on the pCPU (or is the same): for how long at most? */
    s_time_t (*enter)(struct sched_unit *prev, void *prev_data,
                      struct sched_unit *next, void *next_data,
                      s_time_t now, s_time_t tslice);

    /* Of two units of one priority, does the first go ahead of the second? */
    bool (*ahead)(const void *unit_data, const void *queued_data);

    /*
     * Is the priority of the unit the policy's for the time being?  Called by
     * the accounting without the schedule lock, so the answer may be late; the
     * policy must not rely on the priority it set.
     */
    bool (*hold_priority)(const void *unit_data);
};

/*
 * Give an instance of credit a policy, and have it account exactly (see "Exact
 * accounting" in credit.c; sched_credit_exact asks for that too).  To be called
 * by .init.
 */
void credit_set_policy(struct scheduler *ops,
                       const struct credit_policy *policy, bool exact);

/* The policy's data of a unit; `priv` is what csched_alloc_udata() returned. */
void credit_unit_set_data(void *priv, void *unit_data);
void *credit_unit_data(const void *priv);

/* For the following the schedule lock of the unit's pCPU must be held. */

/* Is the unit in a queue? */
bool credit_unit_queued(const struct sched_unit *unit);

/* Is it yielding? */
bool credit_unit_yields(const struct sched_unit *unit);

/*
 * Put a queued unit behind those that are boosted by the policy, ahead of all
 * others, at a priority above credit's own boost.
 */
void credit_unit_boost(struct sched_unit *unit);

/*
 * Does it owe three quarters of the debt that the accounting remembers?  What
 * it runs on top of that is likely to be forgiven.
 */
bool credit_unit_indebted(const struct sched_unit *unit);

/* Give a unit that is in no queue the priority that its credit gives it. */
void credit_unit_settle(struct sched_unit *unit);

/*
 * Give a unit that is in no queue the priority of a policy's boost: it is going
 * to be queued behind those that are boosted, ahead of all others.
 */
void credit_unit_go_first(struct sched_unit *unit);

/* Have the pCPU of a queued unit that the policy boosted look at its queue. */
void credit_unit_tickle(const struct sched_unit *unit);

/* Is a unit that the policy boosted the next to run where `unit` runs? */
bool credit_unit_partial_waits(const struct sched_unit *unit);

/* The domain of what csched_alloc_domdata() returned; NULL for NULL. */
struct domain *credit_domain(void *data);

/* Credit's hooks have external linkage, for schedulers built on it. */
#define CREDIT_HOOK

struct xen_domctl_scheduler_op;
struct xen_sysctl_scheduler_op;

int cf_check csched_init(struct scheduler *ops);
void cf_check csched_deinit(struct scheduler *ops);

void *cf_check csched_alloc_udata(const struct scheduler *ops,
                                  struct sched_unit *unit, void *dd);
void cf_check csched_free_udata(const struct scheduler *ops, void *priv);
void *cf_check csched_alloc_pdata(const struct scheduler *ops, int cpu);
void cf_check csched_deinit_pdata(const struct scheduler *ops, void *pcpu,
                                  int cpu);
void cf_check csched_free_pdata(const struct scheduler *ops, void *pcpu,
                                int cpu);
void *cf_check csched_alloc_domdata(const struct scheduler *ops,
                                    struct domain *dom);
void cf_check csched_free_domdata(const struct scheduler *ops, void *data);

spinlock_t *cf_check csched_switch_sched(struct scheduler *new_ops,
                                         unsigned int cpu, void *pdata,
                                         void *vdata);
void cf_check csched_move_timers(const struct scheduler *ops,
                                 struct sched_resource *sr);

void cf_check csched_unit_insert(const struct scheduler *ops,
                                 struct sched_unit *unit);
void cf_check csched_unit_remove(const struct scheduler *ops,
                                 struct sched_unit *unit);
void cf_check csched_unit_sleep(const struct scheduler *ops,
                                struct sched_unit *unit);
void cf_check csched_unit_wake(const struct scheduler *ops,
                               struct sched_unit *unit);
void cf_check csched_unit_yield(const struct scheduler *ops,
                                struct sched_unit *unit);
struct sched_resource *cf_check csched_res_pick(const struct scheduler *ops,
                                                const struct sched_unit *unit);
void cf_check csched_schedule(const struct scheduler *ops,
                              struct sched_unit *unit, s_time_t now,
                              bool tasklet_work_scheduled);

int cf_check csched_dom_cntl(const struct scheduler *ops, struct domain *d,
                             struct xen_domctl_scheduler_op *op);
void cf_check csched_aff_cntl(const struct scheduler *ops,
                              struct sched_unit *unit, const cpumask_t *hard,
                              const cpumask_t *soft);
int cf_check csched_sys_cntl(const struct scheduler *ops,
                             struct xen_sysctl_scheduler_op *sc);

void cf_check csched_dump_pcpu(const struct scheduler *ops, int cpu);
void cf_check csched_dump(const struct scheduler *ops);

#else /* !CONFIG_SCHED_TAVS */

#define CREDIT_HOOK static

#endif /* CONFIG_SCHED_TAVS */

#endif /* __XEN_SCHED_CREDIT_OPS_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
