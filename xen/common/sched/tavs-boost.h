/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The boosts of a unit, whichever scheduler hosts the plane: what it owns,
 * what the present one is for, how it ended, how long the unit waited.
 *
 * A host (sched_tavs.c) keeps a struct tavs_boost for each unit, under the
 * schedule lock of the unit's pCPU, which all functions here need.  It asks
 * tavs_boost_grant() where a queued unit may go ahead, does that in its own
 * queue, and asks tavs_boost_leaves() when the running unit comes up for
 * decision.
 *
 * A boost ends
 *
 *   blocked   the guest has nothing more to run, or was stopped;
 *   revoked   what runs is not I/O-bound (plane.h);
 *   capped    it lasted as long as a boost may (tavs_boost_limit()),
 *
 * or goes on, or is interrupted (by a tasklet, by a yield), and then the unit is
 * queued, still boosted.
 */
#ifndef __XEN_SCHED_TAVS_BOOST_H__
#define __XEN_SCHED_TAVS_BOOST_H__

#include "../tavs/ledger.h"
#include "../tavs/plane.h"
#include "private.h"

struct xen_domctl_scheduler_op;
struct xen_sysctl_credit_schedule;
struct xen_sysctl_scheduler_op;

struct tavs_boost {
    struct tavs_ledger ledger;
    s_time_t since;             /* runs, and is charged for it, since then */
    enum tavs_reason reason;    /* of the present boost */

    /*
     * on:     it is boosted, queued or running.  Set in tavs_boost_grant(),
     *         cleared as the boost ends, before the unit is queued again.
     * had:    it was boosted when it was last asked to leave.
     * way:    it makes way for a unit that it works with.  Set in
     *         tavs_make_way(), cleared when it is next asked to leave.
     * made:   it did so in the present boost.
     */
    bool on, had, way, made;

    /* Why it leaves its pCPU, as of when it was asked: it can change since. */
    enum tavs_leave why;

    struct tavs_stats stats;

    /*
     * How long it took until it ran.  Its waiting began when it woke up, or, if
     * it was preempted, when an event moved it ahead; 0: it does not count, as
     * it has run since or was paused.
     */
    s_time_t woken;
    struct xen_domctl_tavs_latency latency[XEN_DOMCTL_TAVS_LATENCIES];
};

/* What a host does with the running unit. */
enum tavs_decision {
    TAVS_DECIDE,                /* as it would without a boost */
    TAVS_SWITCH,                /* its boost is over, or interrupted */
    TAVS_CONTINUE,              /* it goes on */
};

/* The vCPU of a unit, if it has only the one: others are not boosted. */
static inline struct vcpu *tavs_unit_vcpu(const struct sched_unit *unit)
{
    return unit->res->granularity == 1 ? unit->vcpu_list : NULL;
}

void tavs_boost_init(struct tavs_boost *b);

/*
 * A queued or waking unit: boost it, if the plane wants that and it owns a
 * boost?  `indebted`: it owes the scheduler nearly what that forgives.  Then it
 * is not boosted, for what it would run could not be charged any more, and its
 * share would be what its I/O asks for.  True: it is boosted from now on, and
 * the host puts it ahead.
 */
bool tavs_boost_grant(struct sched_unit *unit, struct tavs_boost *b,
                      bool indebted);

/* The boost of a unit that does not run ends: it was put to sleep. */
void tavs_boost_end(struct sched_unit *unit, struct tavs_boost *b,
                    enum tavs_end end);

/*
 * The running unit comes up for decision.  `breaks`: it cannot go on just now,
 * but may be boosted further.  With TAVS_CONTINUE *tslice is for how long.
 */
enum tavs_decision tavs_boost_leaves(struct sched_unit *unit,
                                     struct tavs_boost *b, s_time_t now,
                                     bool breaks, s_time_t *tslice);

/* prev loses the pCPU; next gets it.  Either may have no account: idle. */
void tavs_boost_out(struct sched_unit *prev, struct tavs_boost *b,
                    s_time_t now);
void tavs_boost_in(struct sched_unit *next, struct tavs_boost *b, s_time_t now,
                   bool switches);

/* For how long the unit that gets the pCPU may keep it, if it is boosted. */
s_time_t tavs_boost_slice(struct sched_unit *unit, const struct tavs_boost *b,
                          s_time_t now, s_time_t tslice);

/* It wakes up, or goes to sleep. */
void tavs_boost_wakes(struct sched_unit *unit, struct tavs_boost *b,
                      s_time_t now);
void tavs_boost_sleeps(struct sched_unit *unit, struct tavs_boost *b);

/* A boost that was granted, and withdrawn since, is to end. */
void tavs_boost_withdraw(const struct sched_unit *unit,
                         const struct tavs_boost *b);

void tavs_boost_dump(const struct sched_unit *unit, const struct tavs_boost *b);

/*
 * tavs-base.c: what is the same for each scheduler that hosts the plane, given
 * what it is built on.
 */
struct tavs_base {
    unsigned int sched_id;      /* the host's */

    /* The account of a unit of the host.  In its schedule lock, or to display. */
    struct tavs_boost *(*boost_of)(const struct sched_unit *unit);

    /* Weight and cap of a domain, as for the scheduler below. */
    int (*dom_cntl)(const struct scheduler *ops, struct domain *d,
                    struct xen_domctl_scheduler_op *op);

    /* Get or put its parameters; those that it lacks are 0. */
    int (*params)(const struct scheduler *ops,
                  struct xen_sysctl_credit_schedule *params, bool put);
};

/*
 * Lock the unit of a vCPU.  NULL, and nothing is locked, unless it is the
 * host's: a domain may be moved elsewhere before the lock is ours.
 * sched_res_rculock is held for reading.
 */
struct sched_unit *tavs_lock_unit(const struct vcpu *v,
                                  const struct tavs_base *base,
                                  spinlock_t **lock, unsigned long *flags);

/*
 * The unit has been boosted, and waits for a pCPU.  Where the running unit is
 * boosted too, and one of the two is a driver domain's, the work of the one is
 * what the other waits for: a guest has answered, or a packet been delivered.
 * So the running one makes way, once in a boost, and goes on behind.
 */
void tavs_make_way(const struct sched_unit *unit, const struct tavs_base *base);

void cf_check tavs_base_reconsider(struct vcpu *v);
int tavs_base_stats(const struct tavs_base *base, const struct vcpu *v,
                    struct tavs_stats *stats, s_time_t *budget);
int tavs_base_latency(const struct tavs_base *base, const struct vcpu *v,
                      unsigned int which,
                      struct xen_domctl_tavs_latency *latency);

int tavs_base_dom_cntl(const struct tavs_base *base,
                       const struct scheduler *ops, struct domain *d,
                       struct xen_domctl_scheduler_op *op);
int tavs_base_sys_cntl(const struct tavs_base *base,
                       const struct scheduler *ops,
                       struct xen_sysctl_scheduler_op *sc);
void tavs_base_dump(const struct tavs_base *base, const struct scheduler *ops);

#endif /* __XEN_SCHED_TAVS_BOOST_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
