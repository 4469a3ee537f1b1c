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

#include <public/domctl.h>

#include "net-map.h"
#include "task.h"

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

/*
 * What differs from credit for whoever is not boosted.  Set by boot options
 * only: fixed for the lifetime of a scheduler.
 */
extern bool tavs_exact;                 /* exact accounting */
extern bool tavs_head;                  /* places and kept slices (4.4) */
extern bool tavs_timers;                /* timers do not delay a boost */

/* How many of the last tasks count as having asked for a block (3.3.1). */
extern unsigned int tavs_window;

/* Why a boost began. */
enum tavs_reason {
    TAVS_REASON_ANY,            /* any I/O event: correlation is off */
    TAVS_REASON_BLOCK,          /* a block was read for an I/O-bound task */
    TAVS_REASON_NET,            /* a packet came for an I/O-bound task */
    TAVS_REASON_DRIVER,         /* a queued driver domain, not by budget */
    TAVS_REASONS
};

/* How it ended. */
enum tavs_end {
    TAVS_END_REVOKED,           /* switch to a task that is not I/O-bound */
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
    TAVS_REFUSED_AHEAD,         /* boosted already; for a block: next */
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

/*
 * Task awareness of a vCPU.  It hangs off struct vcpu, so what was learned
 * survives a move to another cpupool.
 */
struct tavs_vcpu {
    /*
     * Protects `tasks`, `ports`, `slice` and `told`.  Taken by the vCPU itself
     * (switching tasks; being scheduled), by other vCPUs of the domain when
     * they tear down an address space, and by who tells it of a packet.  It is
     * a leaf: nothing but the trace buffer's is taken while holding it.
     * Interrupts are off while it is held.
     */
    spinlock_t lock;
    struct tavs_tasks tasks;

    /*
     * Which ports are for I/O-bound tasks.  Allocated by tavs_net_track(), and
     * there until the vCPU is destroyed.  NULL: never tracked.
     */
    struct tavs_portmap *ports;
    struct tavs_slice slice;

    /*
     * It was told of a packet and has not run since.
     * + Set when the driver domain notifies it, in tavs_net_sent();
     * + Cleared in tavs_vcpu_in();
     * + Checked when packets are left over, in net.c.
     */
    bool told;

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
     * hit:     an I/O-bound task ran during the boost, or while the vCPU ran
     *          without: it was switched to, or was the one that ran when the
     *          vCPU lost the pCPU before the boost.  Set there; cleared as the
     *          boost ends, and by the scheduler as the vCPU is asked to leave.
     * holds:   a driver domain waits until it has answered an event.  Set and
     *          cleared by the scheduler as it is asked; cleared as well when
     *          the vCPU gets the pCPU.
     * asks:    the I/O-bound task that runs notified a block device's back
     *          end, which goes first.  Set in tavs_vcpu_asks(), along with
     *          SCHEDULE_SOFTIRQ; cleared by the scheduler and by the next task
     *          switch.
     * replies: the same for the first packet that it sent since the last event.
     *          Set in tavs_vcpu_replies(); set and cleared like `asks`.
     * replied: that was so since the last event.  Set along with `replies`,
     *          cleared as the inference learns of an event.
     */
    bool active, boosted, revoke, hit, holds, asks, replies, replied;

    /*
     * Tracking was turned on: what is in `tasks` is from before.  Set with
     * `lock` held, in tavs_domain_track(); cleared, with `tasks`, when it is
     * next scheduled in.  Until then it asks for no boost.
     */
    bool restart;

    /*
     * Sends the event of a timer that had to wait (tavs_timer()); whether it
     * ever did.  Scheduled with the schedule lock held.  One that never did is
     * not killed either: a vCPU that no tavs pool ever had is destroyed without
     * a lock more than in an unpatched Xen.
     */
    struct tasklet timer;
    bool timer_used;

    /*
     * Events that asked for no boost, by reason, up to REFUSED_OFF.
     * Counted by whoever sends, under no common lock.
     */
    atomic_t refused[TAVS_REFUSED_OFF + 1];
};

/* What the driver domain said of the packets that an event announces. */
enum tavs_net_verdict {
    TAVS_NET_ABSENT,            /* it has no ring: nobody knows */
    TAVS_NET_NONE,              /* there are none */
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

/*
 * It gave up its pCPU since: boost the guest, if it has still not been told of
 * the block, and not run.  Takes the schedule lock.
 */
void tavs_block_left_over(domid_t domid);

/* It may be known what the last packets for tv were for.  In tv->lock. */
void tavs_net_learn(struct tavs_vcpu *tv);

/*
 * Memory for v, whose domain is to be tracked.  To be called before
 * domain.tavs.track is set.
 */
int tavs_net_track(struct vcpu *v);

/* What it told of packets, for tools. */
void tavs_net_stats(const struct domain *d, struct xen_domctl_tavs_stats *out);

void tavs_net_dump(const struct domain *d);
void tavs_net_dump_vcpu(struct vcpu *v);

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
 * Track the tasks of a domain from now on, or no longer.  -ENOMEM: as before.
 */
int tavs_domain_track(struct domain *d, bool track);

/* task tracking, called by the scheduler with the schedule lock held */
void tavs_vcpu_in(struct vcpu *v, s_time_t now);
void tavs_vcpu_out(struct vcpu *v, s_time_t now, bool blocks);

/* Does v, which gets or has this pCPU, run a task believed to be I/O-bound? */
bool tavs_vcpu_serves(struct vcpu *v);

/*
 * The I/O-bound task that runs on the current vCPU has asked a back end for a
 * block: it waits from here, although the guest has not switched yet.
 */
void tavs_vcpu_asks(struct vcpu *v);

/*
 * The I/O-bound task that runs on the current vCPU has sent a packet: its
 * answer, if it is the first since the last event.
 */
void tavs_vcpu_replies(struct vcpu *v);

/* May v, which runs on this pCPU, be about to answer an event? */
bool tavs_vcpu_answers(struct vcpu *v, s_time_t now);

/*
 * Is v, which runs on this pCPU, not done with an event?  Its I/O-bound task
 * runs, or the guest kernel did not come to switch tasks yet.
 */
bool tavs_vcpu_is_at_it(struct vcpu *v);

/* Has v, which is queued, something to be boosted for?  No lock is needed. */
static inline bool tavs_vcpu_wants_boost(const struct vcpu *v)
{
    const struct tavs_vcpu *tv = v->tavs;

    return v->domain->tavs.track && ACCESS_ONCE(tv->tasks.believed) &&
           !ACCESS_ONCE(tv->restart);
}

/*
 * An event waits for v, whether tracked or not, since `now` if none did before
 * (tavs_sched_latency()).  No lock is needed.
 */
void tavs_waits_since(struct vcpu *v, s_time_t now);

/*
 * An event for v has become pending `at` a time: let the scheduler, if it is
 * tavs, decide whether v goes ahead.  `reason` is what a boost would be for; of
 * a driver domain it is TAVS_REASON_DRIVER.  Takes the schedule lock.  For a
 * packet a driver domain that is current is then asked to make way.
 */
void tavs_sched_event(struct vcpu *v, enum tavs_reason reason, s_time_t at);

/*
 * The timer of v, which has something to be boosted for, has expired.  Returns
 * whether tavs sends its event later, by the tasklet tavs_vcpu.timer.  If not,
 * v may have been boosted for it.  Takes the schedule lock.
 */
bool tavs_sched_timer(struct vcpu *v);

/* Is there a cpupool under the scheduler tavs? */
extern atomic_t tavs_pools;

/* Of a vCPU's unit; -EINVAL where the scheduler is not tavs. */
int tavs_sched_stats(const struct vcpu *v, struct tavs_stats *stats,
                     s_time_t *budget);
int tavs_sched_latency(const struct vcpu *v, unsigned int which,
                       struct xen_domctl_tavs_latency *latency);

void tavs_dump_params(void);
void tavs_dump_stats(const struct tavs_stats *stats);
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
