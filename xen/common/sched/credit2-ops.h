/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The task-aware operation interface of the credit2 scheduler.
 *
 * As credit-ops.h is for credit: a scheduler that wants some units to go first
 * for a while, and everything else exactly as credit2 does it, is built on
 * credit2.
 *
 *  - credit2 offers its hooks under their own names;
 *  - it asks a policy when a unit leaves the pCPU, and for how long the next one
 *    may run;
 *  - a unit for which the policy said credit2_unit_set_first() goes before all
 *    others in its run queue, whatever its credit, first come first served.  It
 *    takes the pCPU from whoever has least credit of those that it may run on,
 *    ratelimit or not.  It burns credit as always, and is back at its place by
 *    its credit when it does not go first any more.
 *
 * An instance of credit2 proper (prv->policy is NULL) asks nobody.  Only files
 * in xen/common/sched/ include this header.  Without CONFIG_SCHED_TAVS it
 * leaves credit2.c exactly what it was.
 */
#ifndef __XEN_SCHED_CREDIT2_OPS_H__
#define __XEN_SCHED_CREDIT2_OPS_H__

#include "private.h"

/* What a policy says when the running unit comes up for decision. */
enum credit2_verdict {
    CREDIT2_DECIDE,     /* nothing: credit2 decides, within its ratelimit */
    CREDIT2_SWITCH,     /* choose by credit now, whatever the ratelimit */
    CREDIT2_CONTINUE,   /* the unit goes on, if it can */
};

#ifdef CONFIG_SCHED_TAVS

/*
 * `unit_data` is what credit2_unit_set_data() set, NULL for an idle unit.  Both
 * are called with the schedule lock of the unit's pCPU held.
 */
struct credit2_policy {
    /*
     * The running unit comes up for decision.  Its credit has been burnt.
     * `breaks`: it yields, or a tasklet needs the pCPU.  With
     * CREDIT2_CONTINUE, *tslice is how long it goes on.
     */
    enum credit2_verdict (*leave)(struct sched_unit *unit, void *unit_data,
                                  s_time_t now, bool breaks,
                                  s_time_t *tslice);

    /* next follows prev on the pCPU (or is the same): for how long at most? */
    s_time_t (*enter)(struct sched_unit *prev, void *prev_data,
                      struct sched_unit *next, void *next_data,
                      s_time_t now, s_time_t tslice);
};

/* To be called by .init. */
void credit2_set_policy(struct scheduler *ops,
                        const struct credit2_policy *policy);

/* The policy's data of a unit; `priv` is what csched2_alloc_udata() returned. */
void credit2_unit_set_data(void *priv, void *unit_data);
void *credit2_unit_data(const void *priv);

/* For the following the schedule lock of the unit's pCPU must be held. */

/* Is the unit in its run queue, or about to be? */
bool credit2_unit_queued(const struct sched_unit *unit);

/* Let the unit, queued or not, go first from now on, or no longer. */
void credit2_unit_set_first(struct sched_unit *unit, bool first);

/*
 * Does it owe three quarters of the debt that credit2 remembers?  What it runs
 * on top of that is likely to be forgiven.
 */
bool credit2_unit_indebted(const struct sched_unit *unit);

/* The domain of what csched2_alloc_domdata() returned; NULL for NULL. */
struct domain *credit2_domain(void *data);

/* Credit2's hooks have external linkage, for schedulers built on it. */
#define CREDIT2_HOOK

struct xen_domctl_scheduler_op;
struct xen_sysctl_scheduler_op;

int cf_check csched2_init(struct scheduler *ops);
void cf_check csched2_deinit(struct scheduler *ops);

void *cf_check csched2_alloc_udata(const struct scheduler *ops,
                                   struct sched_unit *unit, void *dd);
void cf_check csched2_free_udata(const struct scheduler *ops, void *priv);
void *cf_check csched2_alloc_pdata(const struct scheduler *ops, int cpu);
void cf_check csched2_deinit_pdata(const struct scheduler *ops, void *pcpu,
                                   int cpu);
void cf_check csched2_free_pdata(const struct scheduler *ops, void *pcpu,
                                 int cpu);
void *cf_check csched2_alloc_domdata(const struct scheduler *ops,
                                     struct domain *dom);
void cf_check csched2_free_domdata(const struct scheduler *ops, void *data);
spinlock_t *cf_check csched2_switch_sched(struct scheduler *new_ops,
                                          unsigned int cpu, void *pdata,
                                          void *vdata);

void cf_check csched2_unit_insert(const struct scheduler *ops,
                                  struct sched_unit *unit);
void cf_check csched2_unit_remove(const struct scheduler *ops,
                                  struct sched_unit *unit);
void cf_check csched2_unit_sleep(const struct scheduler *ops,
                                 struct sched_unit *unit);
void cf_check csched2_unit_wake(const struct scheduler *ops,
                                struct sched_unit *unit);
void cf_check csched2_unit_yield(const struct scheduler *ops,
                                 struct sched_unit *unit);
void cf_check csched2_context_saved(const struct scheduler *ops,
                                    struct sched_unit *unit);
void cf_check csched2_unit_migrate(const struct scheduler *ops,
                                   struct sched_unit *unit,
                                   unsigned int new_cpu);
struct sched_resource *cf_check csched2_res_pick(const struct scheduler *ops,
                                                 const struct sched_unit *unit);
void cf_check csched2_schedule(const struct scheduler *ops,
                               struct sched_unit *currunit, s_time_t now,
                               bool tasklet_work_scheduled);

int cf_check csched2_dom_cntl(const struct scheduler *ops, struct domain *d,
                              struct xen_domctl_scheduler_op *op);
void cf_check csched2_aff_cntl(const struct scheduler *ops,
                               struct sched_unit *unit, const cpumask_t *hard,
                               const cpumask_t *soft);
int cf_check csched2_sys_cntl(const struct scheduler *ops,
                              struct xen_sysctl_scheduler_op *sc);
void cf_check csched2_dump(const struct scheduler *ops);

#else /* !CONFIG_SCHED_TAVS */

#define CREDIT2_HOOK static

#endif /* CONFIG_SCHED_TAVS */

#endif /* __XEN_SCHED_CREDIT2_OPS_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
