/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plane: what is seen of the tasks of guests and of the events that they
 * wait for, and what a scheduler is told of it.
 *
 * After Kim, Lim, Jeong, Jo and Lee, "Task-aware Virtual Machine Scheduling
 * for I/O Performance" (VEE 2009), whose section numbers are given.
 *
 * 1. Who calls whom
 *
 *     arch/x86: switches of address spaces, user mode      event channels,
 *         |                                                grants, packets
 *         v                                                       |
 *     segment.c  who runs in a vCPU since when                    v
 *         |                                     event.c  is it for somebody
 *         +--> task.c  beliefs of a domain <--+    |     who waits?
 *         |                                   |    +--> net.c    packets
 *         v                                   +---------block.c  blocks
 *     unserved.h  a state of the vCPU  <-----------+
 *     =============================== struct tavs_host, both ways ===========
 *     ledger.h  budget, cap, charge
 *     sched/    credit as the host
 *
 *   The plane knows no scheduler.  One that hosts it lets each domain of its
 *   pool join (tavs_domain_join()), says when a vCPU gets and loses a pCPU, and
 *   registers two functions: `unserved`, that v waits for a pCPU with unserved
 *   I/O, and `reconsider`, that a boost of v, which runs, has served its
 *   purpose.  It asks tavs_boost_wanted() whenever a vCPU that could run gets
 *   or loses a pCPU.  So no event is lost by the time at which it came.
 *
 * 2. Words
 *
 *     address space   what stands for a task: the frame of its root page table
 *     segment         what a task runs from one switch to the next
 *     belief          evidence that a task is I/O-bound (task.c)
 *     believed        its belief is above the threshold
 *     event           an event channel's; I/O if it comes from a driver domain
 *                     or a device, or is a timer that a task sleeps for
 *     witness         what says whether an event is for a believed task: the
 *                     packets that it announces (net.c), the blocks (block.c)
 *     unserved        such an event has come, and no such task has run for it
 *     boost           a time for which a unit goes ahead of others
 *     driver domain   has back ends for others.  All its events are work.
 *
 * 3. One request, from the wire to the reply
 *
 *     dom0, which runs                   Xen                       d1, queued
 *     -----------------------------------------------------------------------
 *     puts {d1, UDP, port 7}
 *     into its ring
 *     copies the packet to d1
 *     notifies d1                        tavs_event(): takes the
 *                                        packet; port 7 wakes up a
 *                                        believed task: d1 has
 *                                        unserved I/O
 *                                        host->unserved(): boosted
 *     has nothing more to do: blocks     d1 gets the pCPU
 *                                                                  interrupt,
 *                                                                  the server
 *                                        tavs_task_switch(): it    wakes up
 *                                        is believed: being served
 *                                                                  replies
 *                                        tavs_event() for dom0:
 *                                        it is boosted next
 *                                                                  sleeps; the
 *                                        tavs_task_switch(): not   hog is next
 *                                        believed: served.
 *                                        host->reconsider()
 *     gets the pCPU, forwards the reply                            queued, at
 *                                                                  its old place
 *
 * 4. Locking
 *
 *   tavs_event() is called with a lock of the event channel held, and takes
 *   the schedule lock, as vcpu_wake() does there.  So the order is
 *
 *     event channel -> schedule lock -> tavs_guest.lock | tavs_net.lock
 *     grant table                    -> tavs_guest.lock | tavs_net.lock
 *
 *   The last two are leaves, taken with interrupts off: nothing but the trace
 *   buffer's lock is taken while one of them is held.  A schedule lock is never
 *   taken with a grant table's held.  What a segment is, and whose, is written
 *   where the vCPU runs, with interrupts off; other pCPUs do not read it.
 */
#ifndef __TAVS_PLANE_H__
#define __TAVS_PLANE_H__

#include <xen/rcupdate.h>
#include <xen/sched.h>
#include <xen/spinlock.h>
#include <xen/tavs.h>

#include <public/domctl.h>

#include "net-map.h"
#include "task.h"
#include "unserved.h"

/*
 * Parameters.  Read without a lock wherever they are needed: each is a value
 * of its own, and one that changes meanwhile takes effect a little later.
 */
extern struct tavs_params tavs_params;

extern s_time_t tavs_boost_cap;         /* the longest single boost */
extern s_time_t tavs_boost_burst;       /* the most budget that can be saved */
extern uint16_t tavs_pbratio;           /* permille, of domains created later */
extern unsigned int tavs_portmap_bits;  /* of a counter: 1 to 4 */
extern bool tavs_correlate;             /* else any I/O event counts */
extern bool tavs_track;                 /* PV domains created later */

/* How many of the last tasks count as having asked for a block (3.3.1). */
extern unsigned int tavs_window;

/* Mechanisms beyond the paper, to be switched off in experiments, at boot. */
extern bool tavs_opt_born;              /* children of believed tasks */
extern bool tavs_opt_timer;             /* timers are events */
extern bool tavs_opt_user;              /* user mode ends a boost */
extern bool tavs_opt_tick;              /* ticks renew what is unserved */
extern bool tavs_opt_way;               /* who works with another makes way */

/*
 * The knobs by number (XEN_SYSCTL_TAVS_*), for tools.  To set some, all are
 * checked first: -EINVAL, and nothing is changed.  tavs_knobs_get() tells which
 * there are, one bit each.
 */
int tavs_knobs_set(uint32_t set, const int32_t *n);
uint32_t tavs_knobs_get(int32_t *n);

/* Can the tasks of the domain be tracked at all? */
static inline bool tavs_can_track(const struct domain *d)
{
    return is_pv_domain(d) && !is_idle_domain(d);
}

/* How a boost ended. */
enum tavs_end {
    TAVS_END_REVOKED,           /* what runs is not I/O-bound */
    TAVS_END_BLOCKED,           /* nothing more to run, or put to sleep */
    TAVS_END_CAPPED,            /* it used up the cap */
    TAVS_ENDS
};

/* Why an event for a vCPU that was not running did not boost it. */
enum tavs_refusal {
    TAVS_REFUSED_NO_TASK,       /* no task of it is believed to be I/O-bound */
    TAVS_REFUSED_UNCORRELATED,  /* the event is not for such a task */
    TAVS_REFUSED_OFF,           /* PBratio is 0 */
    TAVS_REFUSED_BUDGET,        /* not enough budget for one boost */
    TAVS_REFUSED_AHEAD,         /* boosted already */
    TAVS_REFUSALS
};

/*
 * Statistics of a unit, for its scheduler's lifetime.  Protected by the
 * schedule lock; read without it for display.
 */
struct tavs_stats {
    uint64_t events;                            /* that asked for a boost */
    uint64_t boosts[TAVS_REASONS];
    uint64_t hits[TAVS_REASONS];                /* an I/O-bound task ran */
    uint64_t ends[TAVS_REASONS][TAVS_ENDS];
    uint64_t refused[TAVS_REFUSALS];            /* from REFUSED_BUDGET on */
    uint64_t run_time, boost_time;              /* in nanoseconds */
};

/* A vCPU, of a domain that joined. */
struct tavs_vcpu {
    /* Who runs.  Valid while the domain has beliefs. */
    struct tavs_segment segment;

    struct tavs_unserved unserved;

    /* The packets that may have woken up who runs next.  In tavs_guest.lock. */
    struct tavs_slice slice;

    /*
     * It was told of a packet and has not run since.  In tavs_guest.lock.
     * + Set when the driver domain notifies it, in tavs_net_sent();
     * + Cleared in tavs_in();
     * + Checked when packets are left over, in net.c.
     */
    bool told;

    /*
     * Only written on the pCPU where the vCPU runs, with interrupts off or by
     * the vCPU itself.
     *
     * active:  it has a pCPU.  Set in tavs_in(), cleared in tavs_out(), with the
     *          schedule lock held.  Read by who sends it an event: behind what
     *          was noted, as tavs_out() reads that behind this.
     * over:    its boost has served its purpose.  Set where the plane finds
     *          that, cleared as a boost begins to run.
     * hit:     an I/O-bound task ran since it has the pCPU.
     */
    bool active, over, hit;

    /*
     * Tracking was turned on: what is known of its segment is from before.
     * Set in tavs_guest.lock; cleared as it gets a pCPU.
     */
    bool restart;

    s_time_t in;                /* when it got the pCPU */

    /*
     * When the last event of which the inference is to learn became pending, 0
     * if it did.  Written by whoever sends, consumed by the vCPU.
     */
    s_time_t event;

    /* Since when an I/O event waits for it, 0: none, or it runs. */
    s_time_t event_at;

    /* Its timers; see tavs_timer_is_tick(). */
    s_time_t timer_last, timer_step, tick, tick_at;
    bool timed;                 /* a timer came since it last was learned of */

    /*
     * Events that asked for no boost, by reason, up to REFUSED_OFF.
     * Counted by whoever sends, under no common lock.
     */
    atomic_t refused[TAVS_REFUSED_OFF + 1];
};

/* What is known of the tasks of a tracked domain.  76 KiB. */
struct tavs_beliefs {
    struct tavs_tasks tasks;
    struct tavs_portmap ports;
};

/* A domain that joined a pool of a task-aware scheduler. */
struct tavs_guest {
    const struct tavs_host *host;
    struct rcu_head rcu;
    unsigned int joined;        /* pools: two while it moves between them */

    /*
     * Protects `beliefs` and, of each vCPU, `slice` and `told`.  Taken by the
     * domain's vCPUs where something is learned of them, and by who tells of a
     * packet for one.
     */
    spinlock_t lock;

    /* NULL: it was never tracked.  Set once, by cmpxchg. */
    struct tavs_beliefs *beliefs;

    /* A timer last woke up an I/O-bound task then; 0: never. */
    s_time_t timer_io;

    /*
     * Of a tracked domain: the vCPU last told of a packet, the vCPU that last
     * notified a driver domain, the driver domain that last moved data, and
     * what it did since it last sent an event (TAVS_MOVED_* of block.c).
     * Written under no common lock.
     */
    uint16_t rx_vcpu, tx_vcpu;
    domid_t mover;
    unsigned long moved;

    unsigned int nr_vcpus;
    struct tavs_vcpu vcpu[];
};

/*
 * The scheduler that hosts the plane for the domains of a pool.
 */
struct tavs_host {
    /*
     * v, which has no pCPU, has unserved I/O.  Takes the schedule lock.
     */
    void (*unserved)(struct vcpu *v);

    /* v, which is current, is boosted and need not be any longer. */
    void (*reconsider)(struct vcpu *v);

    /* Of a vCPU's unit, for tools; -EINVAL where the scheduler is another. */
    int (*stats)(const struct vcpu *v, struct tavs_stats *stats,
                 s_time_t *budget);
    int (*latency)(const struct vcpu *v, unsigned int which,
                   struct xen_domctl_tavs_latency *latency);
};

/*
 * domain.c: memory
 */

/*
 * The domain enters a pool of a scheduler that hosts the plane, or leaves it.
 * Allocates: to be called without locks.  -ENOMEM: it has not joined.
 */
int tavs_domain_join(struct domain *d, const struct tavs_host *host);
void tavs_domain_leave(struct domain *d);

/*
 * Track the tasks of a domain from now on, or no longer.  -ENOMEM: as before.
 */
int tavs_domain_track(struct domain *d, bool track);

/* NULL unless the domain joined.  A caller lets no softirq run meanwhile. */
static inline struct tavs_guest *tavs_guest(const struct domain *d)
{
    return ACCESS_ONCE(d->tavs.guest);
}

static inline struct tavs_vcpu *tavs_vcpu(const struct vcpu *v)
{
    struct tavs_guest *g = tavs_guest(v->domain);

    return g ? &g->vcpu[v->vcpu_id] : NULL;
}

/* Its beliefs, where its tasks are tracked. */
static inline struct tavs_beliefs *tavs_beliefs(const struct domain *d)
{
    const struct tavs_guest *g = tavs_guest(d);

    return g && d->tavs.track ? ACCESS_ONCE(g->beliefs) : NULL;
}

/*
 * segment.c: called by the scheduler with the schedule lock held
 */

/* Why a vCPU loses its pCPU. */
enum tavs_leave {
    TAVS_BLOCKED,               /* the guest has nothing to do */
    TAVS_PREEMPTED,             /* it could go on */
    TAVS_STOPPED,               /* paused, parked by a cap, migrating */
};

enum tavs_leave tavs_why_leaves(const struct vcpu *v);

/* v gets this pCPU; `boosted` or not. */
void tavs_in(struct vcpu *v, s_time_t now, bool boosted);

/* v loses this pCPU, which it had boosted or not. */
void tavs_out(struct vcpu *v, s_time_t now, enum tavs_leave why, bool boosted);

/*
 * The task that runs on v, which is current, asks a back end or answers
 * through it.  If it is I/O-bound, it would go to sleep, were it not sent
 * something else before.
 */
void tavs_task_sends(struct vcpu *v);

/* A boost of v, which had this pCPU, is over. */
void tavs_boost_ended(struct vcpu *v);

/* Has what v is boosted for been served, or turned out to be for nobody? */
bool tavs_boost_is_over(const struct vcpu *v);

/* How long a boost of v may last by now, given what runs. */
s_time_t tavs_boost_limit(struct vcpu *v, s_time_t now);

/* Did an I/O-bound task run in the boost that ends? */
bool tavs_boost_hit(const struct vcpu *v);

/*
 * event.c
 */

/*
 * Has v unserved I/O for which it is to be boosted, as far as the plane knows?
 * Needs no lock.
 */
bool tavs_boost_wanted(const struct vcpu *v, enum tavs_reason *reason);

/*
 * An event waits for v, whether tracked or not, since `now` if none did before
 * (XEN_DOMCTL_TAVS_EVENT_*).  No lock is needed.
 */
void tavs_waits_since(struct vcpu *v, s_time_t now);

/* An event that is unserved `since` was found for v by net.c or block.c. */
void tavs_raise(struct vcpu *v, enum tavs_reason reason, bool brief,
                s_time_t since);

/* Is one of the tasks of the domain believed? */
static inline bool tavs_has_believed(const struct domain *d)
{
    const struct tavs_beliefs *b = tavs_beliefs(d);

    return b && ACCESS_ONCE(b->tasks.believed);
}

/*
 * net.c
 */

/* What the driver domain said of the packets that an event announces. */
enum tavs_net_verdict {
    TAVS_NET_ABSENT,            /* it has no ring, or not a sane one */
    TAVS_NET_NONE,              /* there are none */
    TAVS_NET_OPENS,             /* one opens a connection for such a task */
    TAVS_NET_YES,               /* one is for an I/O-bound task */
    TAVS_NET_NO,                /* none of them is */
};

/*
 * `driver` has sent an event to v, which need not be tracked: take what it
 * said of packets for v's domain.  May be called with an event channel's lock
 * held.
 */
enum tavs_net_verdict tavs_net_sent(struct domain *driver, struct vcpu *v);

/* A vCPU of d, a driver domain, loses its pCPU.  In the schedule lock. */
void tavs_net_flush(struct domain *d);

/*
 * A driver domain read a block for an I/O-bound task of the guest `domid`,
 * which it was told that it need not notify.  Takes tavs_net.lock.
 */
void tavs_net_block(const struct domain *driver, domid_t domid);

/* It may be known what the last packets for v were for.  In tavs_guest.lock. */
void tavs_net_learn(struct tavs_guest *g, struct tavs_vcpu *tv, s_time_t now);

/* What it told of packets, for tools. */
void tavs_net_stats(const struct domain *d, struct xen_domctl_tavs_stats *out);

void tavs_net_dump(const struct domain *d);

/*
 * block.c
 */

/* What is known of an event from a driver domain that announces no packet. */
enum tavs_block_verdict {
    TAVS_BLOCK_NO,              /* nothing that a task waits for */
    TAVS_BLOCK_YES,             /* a block was read for an I/O-bound task */
};

/*
 * `driver` has sent an event to d, which is tracked, through a channel whose
 * end at d is chn; `net` is what that told of packets.
 */
enum tavs_block_verdict tavs_block_sent(const struct domain *driver,
                                        struct domain *d, struct evtchn *chn,
                                        enum tavs_net_verdict net);

/*
 * A driver domain gave up its pCPU since it read a block for the guest: boost
 * that, if it has still not been told of the block, and not run.
 */
void tavs_block_left_over(domid_t domid);

void tavs_dump_params(void);
void tavs_dump_stats(const struct tavs_stats *stats);
void tavs_dump_domain(const struct domain *d);
void tavs_dump_vcpu(const struct vcpu *v);

#endif /* __TAVS_PLANE_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
