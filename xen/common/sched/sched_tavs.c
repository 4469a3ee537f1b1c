/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TAVS: the task-aware scheduler.
 *
 * After Kim, Lim, Jeong, Jo and Lee, "Task-aware Virtual Machine Scheduling
 * for I/O Performance" (VEE 2009), whose section numbers are given below.
 *
 * 1. Design
 *
 *   A guest that computes and serves requests at once is queued whenever it
 *   does not run, so an event for it waits its turn: up to a time slice for
 *   each other busy guest.  Boosting the whole vCPU would hand its CPU-bound
 *   tasks the time slice of others.  TAVS boosts the vCPU only while one of
 *   its I/O-bound tasks has something to do (partial boosting, 3.2).
 *
 *   Everything that concerns shares is the credit scheduler's; this file is a
 *   policy for it (credit-ops.h).  Which tasks are I/O-bound is inferred in
 *   xen/common/tavs/task.c; that an event may be for one of them is found in
 *   xen/common/tavs/event.c.  This file decides who runs:
 *
 *     event for a queued vCPU
 *       |  believed to have an I/O-bound task, budget left?
 *       v
 *     boosted, queued --> boosted, runs --> as it was before: its priority by
 *                              |            its credit, in its old place
 *                              |
 *            ends by: task switch (revoked) | blocking | the cap
 *
 * 2. A boost
 *
 *   It begins in tavs_sched_event() with UNIT_BOOSTED.  The unit takes
 *   credit's BOOST priority whatever its own is, behind those that are boosted
 *   already, and preempts who runs, ratelimit or not.
 *
 *   It ends in leave(), which is asked exactly once for each pass of the
 *   running unit through schedule(), with one of these outcomes:
 *
 *     blocked    the guest has nothing more to run, or the I/O-bound task that
 *                runs has asked for a block and waits from here (4.);
 *     revoked    it switched to a task that is not I/O-bound (paper);
 *     capped     it used up the cap, for an event that wakes no such task;
 *
 *   or goes on (CREDIT_CONTINUE: something else raised the softirq), or is
 *   interrupted by a tasklet or lets the driver domain go first (4.), and is
 *   then queued, still boosted, with what is left of its cap.  A boosted unit
 *   that is put to sleep while queued loses its boost in tavs_unit_sleep(), or,
 *   where a pause came too quick for that, in tavs_unit_wake().  Whether the
 *   unit is runnable is looked at once, in leave(), and kept for enter(): it
 *   can change in between.
 *
 *   A task that is undecided is not revoked but runs on, up to the cap, as
 *   long as it answers an event (task.c).  Otherwise a second I/O-bound task
 *   of a guest would be descheduled at the very moment it was to show what it
 *   is, and never become believed.
 *
 *   The cap needs no timer of its own: the time slice is cut to it.
 *
 *   It is there for events that wake no I/O-bound task.  Where one runs as the
 *   cap is reached, it was late and is cut off amid its answer; where the guest
 *   kernel has not switched tasks since the event, it could not yet: without
 *   preemption it forks, executes and tears down programs in half a
 *   millisecond and more.  Both would cost the request a turn of everybody
 *   else.  So the unit is boosted anew then, behind those that wait boosted, if
 *   it owns another whole cap, and TAVS_RENEWALS times at most.
 *
 *   A boost does not begin with a tick.  A guest that waited for longer than
 *   its tick finds its timer expired, and would see to that first: 30 us of the
 *   boost, for which its client waits as well.  It need not hear of the timer
 *   before its turn, as it would not without a boost either.  So the event of a
 *   timer that expires while the vCPU is queued is kept back (UNIT_TIMER) until
 *   the vCPU runs without a boost, goes to sleep, or has been boosted for
 *   TAVS_TIMER_WAIT without a turn.  That is so only where the guest has an
 *   I/O-bound task; and a timer for which it sleeps wakes it as ever.
 *
 *   It is also with a tick that a guest kernel notices whose slice is over.  So
 *   it hears of it in the boost after all if no I/O-bound task has run within
 *   TAVS_TIMER_GRACE.  And where a boost reached the cap without one, as the
 *   guest kernel let run on who ran, the next tick that finds the unit queued
 *   boosts it anew (UNIT_OWES): what it was boosted for still waits, and would
 *   for a turn of everybody else.  That counts as one of the TAVS_RENEWALS.
 *
 *   Until then the guest's count of ticks is behind the clock, and a timer that
 *   its kernel sets by that count expires early by as much.  TCP sets one for
 *   each segment that it sends.  So where what came may be TCP, the boost does
 *   begin with the tick (timer_first()).
 *
 * 3. The queue
 *
 *   Each unit has a place in its queue: the time at which it woke up, or
 *   yielded, or at which the slice began that it used up since.  Units of one
 *   priority stand in the order of their places, which is that of credit as
 *   long as nobody is preempted: who runs has the slice that began last.  A
 *   unit that is preempted keeps place and remaining slice.  So
 *
 *     - a unit that was preempted by a boosted one goes to the head of its
 *       priority, for it had the oldest place when it was chosen (4.4);
 *     - a unit whose boost ends goes back to where it was;
 *     - neither gains a fresh slice by it;
 *     - nor does a small rest of a slice that had to wait (its unit ran out of
 *       credit meanwhile) delay the next one.  By the end of the slice as its
 *       place, a guest with much I/O lost every fourth turn;
 *     - a turn that began with credit is run to its end, interrupted or not
 *       (UNIT_TURN).  Credit lets a unit that nobody interrupts overdraw by
 *       what is left of its slice, and forgives a debt of more than a slice.
 *       Who was interrupted at each request of its own, and then found to have
 *       no credit, lost a fifth of its share to those.
 *
 *   Boosted units are queued first come, first served.
 *
 *   With plain credit, a unit that loses its boost to the accounting while it
 *   is still queued stays where it is, at the head.  In the order of places it
 *   would be behind all others, having woken up last.  So whom credit boosted
 *   keeps that until it has run (UNIT_AHEAD).
 *
 * 4. The driver domain
 *
 *   What an I/O-bound task waits for, and whom it answers through, is the
 *   domain with the back ends.  An event for its vCPU that is queued (credit
 *   took its boost away at a tick, or it is out of credit) takes it to BOOST,
 *   where credit treats it as any other; without that, the reply of a guest
 *   waits for the slices of all others.  It need not respect the ratelimit,
 *   except towards a guest that is just answering an event without a boost:
 *   the guest kernel notifies the back end before it runs the task, and would
 *   lose its turn to it.  Once that guest has switched from the answer to a
 *   task that is not I/O-bound, the driver domain waits no longer.
 *
 *   Where the I/O-bound task that runs asks for a block itself, it has nothing
 *   to do until it is answered, and the driver domain goes at once: in the
 *   guest's own slice whatever the ratelimit, in a boost by ending it.  A quick
 *   block is there before the task has gone to sleep, which saves the guest two
 *   switches of address spaces, a third of what a read costs it.
 *
 *   It goes at once as well where the I/O-bound task that runs sends a packet,
 *   the first since the last event: whoever waits for the answer need not wait
 *   until the task has gone to sleep.  The guest then goes on where it was, in
 *   its boost if it was boosted, for a task that is left before it sleeps is
 *   charged by its own kernel for the time until it runs again, and would not
 *   be let run at once the next time.  Only the first, so that an answer of
 *   many packets is not cut into as many pieces.
 *
 *   It makes way at once for a guest that it boosts with a packet, although
 *   credit has both at one priority: what that guest waits for is done, and it
 *   gets the pCPU back for the answer.  If it ran on until it has nothing to
 *   do, its threads going to sleep would cost each request 30 us.
 *
 *   For blocks it is not taken away from its work by the guest that it works
 *   for.  The guest's next request would find a back end that is awake and is
 *   not notified, and would wait until the driver domain gets the pCPU by
 *   itself.  So for as long as a boost may last credit's tick leaves it ahead
 *   (UNIT_WORKS); and who was at work as a boosted guest took the pCPU is
 *   queued right behind the boosted ones, unless it is out of credit.
 *
 *   The block that comes for a guest which is the next to run anyway, as the
 *   driver domain took the pCPU from it in its own slice, boosts it not: there
 *   is nobody that it could get ahead of, and the budget is kept for when there
 *   is.
 *
 * 5. Budget
 *
 *   PBratio is the share of its CPU time that a vCPU may spend boosted.  With
 *   r = PBratio, a unit that ran for t earns r * t, and pays for boosted time
 *   one to one.  It can save at most `burst`, starts with one `cap`, and gets
 *   a boost only if it owns a whole cap:
 *
 *     boosted(0..T) <= r * run(0..T) + cap + (timer slop per boost)
 *
 *   for each T, since what is owned never goes below zero but for the slop of
 *   the last boost, which the next one waits for.  It renews continuously.
 *   Boosted time earns as well, unless the unit's debt comes close to what
 *   credit forgives (credit_unit_indebted()): its boosts would cost it nothing,
 *   and its share would be what its I/O asks for.  So shares stay, up to r = 1.
 *   r = 0: no boost, ever, of a driver domain either; credit decides, but for
 *   places (3.) and exact accounting (6.).  With those off too (boot options
 *   tavs=head=0,exact=0) each decision is credit's: nothing here then takes the
 *   schedule lock, or holds a priority, or changes a time slice.  The
 *   simulator compares the traces.
 *   Numbers: ran <= 2^34 ns (17 s) times 1000 stays far from 2^63.
 *
 * 6. Accounting
 *
 *   Boosted time is paid for in credit like any other.  Credit accounts
 *   exactly for this scheduler ("Exact accounting" in credit.c).  Credit's
 *   accounting writes priorities under no lock of ours; policy_holds() asks
 *   it not to while a unit is boosted.  Where that comes too late, a boosted
 *   unit has a wrong priority until its boost ends.  Nothing here depends on
 *   the priority: the flags below say what a unit is.
 *
 * 7. Locking
 *
 *   Everything here is protected by the schedule lock of the unit's pCPU, but
 *   for hold_priority() (above) and statistics as they are printed.  Order:
 *
 *     event channel -> schedule lock -> tasks of the vCPU (tavs_vcpu.lock)
 *                                      or packets (tavs_net.lock)
 *     credit's private lock -> schedule lock -> credit's overdrawn_lock
 *
 * 8. Known limits
 *
 *   - Units with more than one vCPU (core scheduling) are never boosted and
 *     their tasks not tracked: a boost would take the siblings along.
 *   - The work that the driver domain does for a guest is charged to the
 *     driver domain, as with credit.
 *   - Where no driver domain tells of packets, or correlation is off, any I/O
 *     event counts, also one that only the guest kernel handles, such as that
 *     a packet was sent.  It boosts for a whole cap.
 *   - What came for others while a guest was not boosted is ahead of a packet
 *     for its I/O-bound task: the guest handles it first.  So in a flood such a
 *     task waits for its guest's turn (net.c, 2.).
 *
 * 9. What went wrong before, and what answers it
 *
 *   - A guest is boosted for one task (which may be long dead), and each other
 *     I/O-bound one is descheduled at its own switch: undecided tasks run on
 *     (2.), and a task that was cut off keeps its role (task.c, 4.).
 *   - Dead tasks make a guest of nothing but CPU-bound ones look boostable:
 *     who is torn down is forgotten, beliefs age, the kernel's own page table
 *     is no task (task.c, 4.).
 *   - A boosted guest preempts the driver domain in mid-work, and its reply
 *     then waits for everybody: the driver domain stays ahead while it works
 *     and where it is preempted (4.), an event takes it to BOOST (4.), and it
 *     stays there until it has run (3.).
 *   - A boosted guest is requeued at the tail and loses its share: places (3.).
 *   - A revoked CPU-bound task looks short: a deschedule ends no segment, and
 *     one behind an answer becomes ambiguous by it (task.c, 4.).
 *   - A guest with one task never switches: blocking ends a segment, waking up
 *     begins one (task.c, 1.).
 *   - Starting up is held against a task: forgiven (task.c, 4.).
 *   - A boost that nobody ended: one place decides, once a pass (2.).
 */
#include <xen/atomic.h>
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/xmalloc.h>

#include "../tavs/latency.h"
#include "../tavs/private.h"
#include "../tavs/trace.h"
#include "credit-ops.h"

/* Instances of this scheduler.  Without any, events cost nobody a lock. */
atomic_t tavs_pools = ATOMIC_INIT(0);

/*
 * What is left of a slice below this is not worth a context switch: the slice
 * counts as used up.  The least that Xen's ratelimit can be set to.
 */
#define TAVS_MIN_SLICE MICROSECS(XEN_SYSCTL_SCHED_RATELIMIT_MIN)

/* A boost this close to its cap has reached it: timers fire 50 us late. */
#define TAVS_CAP_SLOP MICROSECS(50)

/* How often one event can boost anew, at the cap or with the next tick. */
#define TAVS_RENEWALS 3

/*
 * How late a guest may hear of its timer.  A unit's turn comes within this,
 * with 30 others and credit's slice of 30 ms, unless most of its share goes
 * into boosts (a PBratio near 1); and it is short to the watchdogs of a
 * guest, which wait for 10 s and longer.
 */
#define TAVS_TIMER_WAIT SECONDS(1)

/*
 * How long a boost may take to come to its task without a tick.  Usually that
 * is 40 us, and where the guest kernel cannot be preempted, often less than
 * 450.  The tick, the task and its answer take 150, and the cap is 500.
 */
#define TAVS_TIMER_GRACE MICROSECS(350)

/*
 * Flags of a unit.  Protected by the schedule lock; read without it by
 * hold_priority().
 */
/*
 * UNIT_BOOSTED: it is boosted, queued or running.
 * + Set when an event boosts it, in tavs_sched_event();
 * + Cleared when the boost ends, in end_boost(), before the unit is queued
 *   again;
 * + Checked in leave(), enter(), hold_priority(), tavs_unit_sleep().
 */
#define UNIT_BOOSTED  (1U << 0)
/*
 * UNIT_RUNNABLE: it could have gone on when it was last asked to leave.
 * + Set and cleared in leave();
 * + Checked in enter(), for the inference.
 */
#define UNIT_RUNNABLE (1U << 1)
/*
 * UNIT_AHEAD: credit boosted it as it woke up, or it is a driver domain's that
 * an event was for or that was at work, or it is in the middle of its turn; it
 * has not run since.
 * + Set in tavs_unit_wake(), tavs_sched_event(), leave(), and resume_turn();
 * + Cleared when it runs, in enter(), or is put to sleep, in
 *   tavs_unit_sleep(), or its turn is over, in to_tail();
 * + Checked in hold_priority().
 */
#define UNIT_AHEAD    (1U << 2)
/*
 * UNIT_TURN: its slice began while it had credit, and is not used up.
 * + Set in enter();
 * + Cleared when the slice is over, in to_tail();
 * + Checked in leave() and resume_turn().
 */
#define UNIT_TURN     (1U << 3)
/*
 * UNIT_WORKS: it is a driver domain's, and went ahead of others for its work.
 * + Set and cleared when it gets the pCPU, in enter();
 * + Checked in hold_priority().
 */
#define UNIT_WORKS    (1U << 4)
/*
 * UNIT_MAKES_WAY: it is a driver domain's, and a packet that it just delivered
 * has boosted a unit that waits for its pCPU.
 * + Set in tavs_sched_event();
 * + Cleared in leave(), as it is next asked;
 * + Checked there.
 */
#define UNIT_MAKES_WAY (1U << 5)
/*
 * UNIT_TIMER: the timer of its vCPU expired while it was queued, and the event
 * is still to be sent.
 * + Set in tavs_sched_timer();
 * + Cleared in send_timer(), as it goes to sleep, or timer_first() as it gets
 *   the pCPU or goes on with it;
 * + Checked there, in enter() and tavs_sched_timer().
 */
#define UNIT_TIMER    (1U << 6)
/*
 * UNIT_OWES: its boost reached the cap, and no I/O-bound task has run since.
 * + Set in end_capped();
 * + Cleared in begin_boost(), as it is boosted again; in leave() once such a
 *   task has run; as it goes to sleep, in leave() or tavs_unit_sleep();
 * + Checked in tavs_sched_timer().
 */
#define UNIT_OWES     (1U << 7)

struct tavs_unit {
    s_time_t place;         /* when it got to the end of the queue */
    s_time_t slice;         /* what is left of its slice; 0: a full one */
    s_time_t turn;          /* when that slice began */
    s_time_t since;         /* runs, and is charged for it, since then */
    s_time_t boosted;       /* length of the present boost until now */
    unsigned int renewed;   /* how often it followed another at its cap */
    s_time_t budget;        /* boosted time that it owns */
    unsigned int flags;     /* UNIT_* */
    enum tavs_reason reason; /* of the present boost */
    s_time_t event;         /* when the event came that it began for */
    s_time_t timer;         /* when the timer expired, if UNIT_TIMER */

    struct tavs_stats stats;

    /*
     * How long it took until it ran.  Its waiting began when it woke up, or, if
     * it was preempted, when an event moved it ahead; 0: it does not count, as
     * it has run since or was paused.
     */
    s_time_t woken;
    struct xen_domctl_tavs_latency latency[XEN_DOMCTL_TAVS_LATENCIES];
};

#define TAVS_UNIT(unit) \
    ((struct tavs_unit *)credit_unit_data((unit)->priv))

/* The vCPU of a unit, if it has only the one. */
static struct vcpu *unit_vcpu(const struct sched_unit *unit)
{
    return unit->res->granularity == 1 ? unit->vcpu_list : NULL;
}

static void set_boosted(const struct sched_unit *unit, bool boosted)
{
    const struct vcpu *v = unit_vcpu(unit);

    if ( v && v->tavs )
    {
        v->tavs->boosted = boosted;
        v->tavs->revoke = false;
    }
}

static void count_end(struct sched_unit *unit, struct tavs_unit *tu,
                      enum tavs_end end)
{
    const struct vcpu *v = unit_vcpu(unit);
    bool hit = v && v->tavs && v->tavs->hit;

    ASSERT(tu->flags & UNIT_BOOSTED);

    tu->stats.ends[tu->reason][end]++;
    if ( hit )
    {
        tu->stats.hits[tu->reason]++;
        v->tavs->hit = false;
    }

    TRACE_TIME(TRC_TAVS_BOOST_END, tavs_trace_unit(unit), tu->reason,
               end | (hit ? 1U << 8 : 0),
               tu->boosted, max(tu->budget, (s_time_t)0) / 1000);
}

/* The priority of a unit that is in no queue: it may be in mid-turn. */
static void resume_turn(struct sched_unit *unit, struct tavs_unit *tu)
{
    if ( tu->flags & UNIT_TURN )
        tu->flags |= UNIT_AHEAD;

    credit_unit_settle(unit, tu->flags & UNIT_TURN);
}

/* The boost of a unit that is in no queue ends. */
static void end_boost(struct sched_unit *unit, struct tavs_unit *tu,
                      enum tavs_end end)
{
    count_end(unit, tu, end);

    tu->flags &= ~UNIT_BOOSTED;
    set_boosted(unit, false);
    resume_turn(unit, tu);
}

static void count_boost(const struct sched_unit *unit, struct tavs_unit *tu,
                        enum tavs_reason reason)
{
    tu->stats.boosts[reason]++;
    TRACE_TIME(TRC_TAVS_BOOST_GRANT, tavs_trace_unit(unit), reason,
               max(tu->budget, (s_time_t)0) / 1000);
}

/* The boost of a unit begins, of which it owns a whole cap. */
static void begin_boost(const struct sched_unit *unit, struct tavs_unit *tu,
                        enum tavs_reason reason)
{
    tu->flags |= UNIT_BOOSTED;
    tu->flags &= ~UNIT_OWES;
    tu->boosted = 0;
    tu->reason = reason;
    count_boost(unit, tu, reason);
}

/* Can the boost of the unit be followed by another for the same event? */
static bool can_renew(const struct tavs_unit *tu)
{
    return tu->renewed < TAVS_RENEWALS &&
           tu->budget >= ACCESS_ONCE(tavs_boost_cap);
}

/*
 * The cap is reached, and the unit in no queue.  If it is boosted anew, it
 * keeps the priority that it has, and is queued at its end.
 */
static void end_capped(struct sched_unit *unit, struct tavs_unit *tu,
                       bool renew)
{
    struct vcpu *v = unit_vcpu(unit);

    if ( v && v->tavs && !v->tavs->hit && tu->reason != TAVS_REASON_ANY )
        tu->flags |= UNIT_OWES;

    if ( !renew || !can_renew(tu) || !v || !tavs_vcpu_is_at_it(v) )
    {
        end_boost(unit, tu, TAVS_END_CAPPED);
        return;
    }

    count_end(unit, tu, TAVS_END_CAPPED);
    set_boosted(unit, false);
    tu->renewed++;
    begin_boost(unit, tu, tu->reason);
}

/* It was turned off while the unit was boosted. */
static bool boost_withdrawn(const struct sched_unit *unit)
{
    const struct tavs_domain *td = &unit->domain->tavs;

    return !read_atomic(&td->track) || !read_atomic(&td->pbratio);
}

/* Charge the running unit up to now. */
static void charge(const struct sched_unit *unit, struct tavs_unit *tu,
                   s_time_t now)
{
    s_time_t ran = max(now - tu->since, (s_time_t)0);

    tu->since = now;
    tu->stats.run_time += ran;
    if ( !(tu->flags & UNIT_BOOSTED) || !credit_unit_indebted(unit) )
        tu->budget += ran * ACCESS_ONCE(unit->domain->tavs.pbratio) / 1000;

    if ( tu->flags & UNIT_BOOSTED )
    {
        tu->boosted += ran;
        tu->stats.boost_time += ran;
        tu->budget -= ran;
    }
    else
        tu->slice -= ran;

    tu->budget = min(tu->budget, ACCESS_ONCE(tavs_boost_burst));
}

/*
 * Its vCPU hears of the timer that expired meanwhile.  An event may wake up a
 * vCPU, which takes the schedule lock: the tasklet sends it behind this pass,
 * and before a vCPU that got the pCPU runs.
 */
static void send_timer(const struct sched_unit *unit, struct tavs_unit *tu)
{
    if ( tu->flags & UNIT_TIMER )
    {
        struct tavs_vcpu *tv = unit->vcpu_list->tavs;

        tu->flags &= ~UNIT_TIMER;
        tv->timer_used = true;
        tasklet_schedule(&tv->timer);
    }
}

/* Does it hear of it before what it may be boosted for? */
static bool timer_first(const struct tavs_unit *tu, const struct vcpu *v,
                        s_time_t now)
{
    return !(tu->flags & UNIT_BOOSTED) || tu->reason == TAVS_REASON_ANY ||
           tavs_slice_tcp(&v->tavs->slice) ||
           now - tu->timer > TAVS_TIMER_WAIT ||
           (tu->boosted >= TAVS_TIMER_GRACE && !v->tavs->hit);
}

/* What a boost may use until it is asked again, at its cap or for a timer. */
static s_time_t boost_slice(const struct tavs_unit *tu, const struct vcpu *v)
{
    s_time_t left = ACCESS_ONCE(tavs_boost_cap) - tu->boosted;

    if ( (tu->flags & UNIT_TIMER) && !v->tavs->hit &&
         tu->boosted < TAVS_TIMER_GRACE )
        left = min(left, TAVS_TIMER_GRACE - tu->boosted);

    return left;
}

/* Does a driver domain's vCPU go ahead for an event? */
static bool drives(const struct domain *d)
{
    return d->tavs.driver && ACCESS_ONCE(d->tavs.pbratio);
}

/* Is a driver domain that goes ahead of others the next in the queue? */
static bool driver_waits(const struct sched_unit *unit)
{
    const struct sched_unit *head = credit_unit_head(unit);

    return head && drives(head->domain) && credit_unit_boosted(head);
}

/* The next in the queue, if it was boosted by us. */
static const struct sched_unit *boosted_head(const struct sched_unit *unit)
{
    const struct sched_unit *head = credit_unit_head(unit);

    return head && credit_unit_boosted(head) &&
           (TAVS_UNIT(head)->flags & UNIT_BOOSTED) ? head : NULL;
}

/* The slice is over: back to the end of the queue, as of `when`. */
static void to_tail(struct tavs_unit *tu, s_time_t when)
{
    tu->place = when;
    tu->slice = 0;
    tu->flags &= ~(UNIT_AHEAD | UNIT_TURN);
}

static enum credit_verdict cf_check leave(struct sched_unit *unit, void *data,
                                          s_time_t now, bool tasklet,
                                          s_time_t *tslice)
{
    struct tavs_unit *tu = data;
    struct vcpu *v = unit_vcpu(unit);
    const struct sched_unit *overtaker;
    bool runnable, makes_way, asks = false, replies = false;

    if ( !tu )
        return CREDIT_DECIDE;       /* idle */

    if ( v && v->tavs )
    {
        asks = v->tavs->asks;
        replies = v->tavs->replies;
        v->tavs->asks = v->tavs->replies = false;
    }

    makes_way = tu->flags & UNIT_MAKES_WAY;
    tu->flags &= ~UNIT_MAKES_WAY;

    runnable = unit_runnable(unit);
    if ( runnable )
        tu->flags |= UNIT_RUNNABLE;
    else
    {
        tu->flags &= ~(UNIT_RUNNABLE | UNIT_OWES);
        send_timer(unit, tu);
    }

    charge(unit, tu, now);

    if ( v && v->tavs )
        v->tavs->holds = false;

    if ( tu->flags & UNIT_BOOSTED )
    {
        s_time_t left = ACCESS_ONCE(tavs_boost_cap) - tu->boosted;

        if ( !runnable || asks )
            end_boost(unit, tu, TAVS_END_BLOCKED);
        else if ( (v && v->tavs && v->tavs->revoke) || boost_withdrawn(unit) )
            end_boost(unit, tu, TAVS_END_REVOKED);
        else if ( left <= TAVS_CAP_SLOP )
            end_capped(unit, tu, !tasklet && !credit_unit_yields(unit));
        else if ( !tasklet && !credit_unit_yields(unit) &&
                  !(replies && driver_waits(unit)) )
        {
            if ( (tu->flags & UNIT_TIMER) && timer_first(tu, v, now) )
                send_timer(unit, tu);
            *tslice = boost_slice(tu, v);
            return CREDIT_CONTINUE;
        }
        else
            set_boosted(unit, false);

        return CREDIT_SWITCH;
    }

    /* Whatever a boost of before was for, it waits no longer. */
    if ( v && v->tavs && v->tavs->hit )
    {
        tu->flags &= ~UNIT_OWES;
        v->tavs->hit = false;
    }

    if ( !runnable )
        return CREDIT_DECIDE;

    if ( credit_unit_yields(unit) )
        to_tail(tu, now);
    else if ( tu->slice < TAVS_MIN_SLICE )
        to_tail(tu, tu->turn);
    else if ( (tu->flags & UNIT_TURN) && !credit_unit_boosted(unit) )
        resume_turn(unit, tu);

    overtaker = credit_unit_overtaker(unit);
    if ( !overtaker && makes_way )
        overtaker = boosted_head(unit);

    if ( overtaker && credit_unit_boosted(overtaker) )
    {
        if ( TAVS_UNIT(overtaker)->flags & UNIT_BOOSTED )
        {
            if ( tavs_head && drives(unit->domain) && !credit_unit_over(unit) )
            {
                tu->flags |= UNIT_AHEAD;
                credit_unit_go_first(unit);
            }
            return CREDIT_SWITCH;
        }

        if ( drives(overtaker->domain) )
        {
            if ( asks || replies || !v || !tavs_vcpu_answers(v, now) )
                return CREDIT_SWITCH;

            v->tavs->holds = true;
        }
    }

    /* Credit boosted both: neither overtakes the other. */
    if ( replies && driver_waits(unit) )
        return CREDIT_SWITCH;

    return CREDIT_DECIDE;
}

static void count_latency(struct xen_domctl_tavs_latency *l, s_time_t since,
                          s_time_t now)
{
    uint64_t ns = max(now - since, (s_time_t)0);

    l->count++;
    l->sum_ns += ns;
    l->max_ns = max(l->max_ns, ns);
    l->bucket[tavs_latency_bucket(ns)]++;
}

/* The unit gets the pCPU: how long did it wait, and an event for it? */
static void count_latencies(struct sched_unit *unit, struct tavs_unit *tu,
                            s_time_t now)
{
    bool boosted = tu->flags & UNIT_BOOSTED;
    struct vcpu *v = unit_vcpu(unit);
    s_time_t since;

    if ( tu->woken )
        count_latency(&tu->latency[boosted ? XEN_DOMCTL_TAVS_WAKE_boosted
                                           : XEN_DOMCTL_TAVS_WAKE_unboosted],
                      tu->woken, now);

    tu->woken = 0;

    if ( !v || !ACCESS_ONCE(v->tavs_event_at) )
        return;

    since = xchg(&v->tavs_event_at, 0);

    /* One that came before that for which it is boosted was not boosted for. */
    if ( boosted && since < tu->event )
    {
        count_latency(&tu->latency[XEN_DOMCTL_TAVS_EVENT_unboosted], since,
                      now);
        since = tu->event;
    }

    count_latency(&tu->latency[boosted ? XEN_DOMCTL_TAVS_EVENT_boosted
                                       : XEN_DOMCTL_TAVS_EVENT_unboosted],
                  since, now);
}

/* Whatever waited for it did not wait for the pCPU. */
static void forget_event(struct sched_unit *unit)
{
    struct vcpu *v = unit_vcpu(unit);

    if ( v && ACCESS_ONCE(v->tavs_event_at) )
        xchg(&v->tavs_event_at, 0);
}

static s_time_t cf_check enter(struct sched_unit *prev, void *prev_data,
                               struct sched_unit *next, void *next_data,
                               s_time_t now, s_time_t tslice)
{
    const struct tavs_unit *from = prev_data;
    struct tavs_unit *to = next_data;
    struct vcpu *v;

    if ( prev != next )
    {
        v = unit_vcpu(prev);
        if ( from && v )
            tavs_vcpu_out(v, now, !(from->flags & UNIT_RUNNABLE));

        v = unit_vcpu(next);
        if ( to && v )
            tavs_vcpu_in(v, now);

        if ( to )
            count_latencies(next, to, now);
    }

    if ( !to )
        return tslice;              /* idle */

    to->since = now;
    to->flags &= ~UNIT_AHEAD;

    if ( (to->flags & UNIT_TIMER) && timer_first(to, next->vcpu_list, now) )
        send_timer(next, to);

    if ( tavs_head && drives(next->domain) && credit_unit_boosted(next) )
        to->flags |= UNIT_WORKS;
    else
        to->flags &= ~UNIT_WORKS;

    if ( to->flags & UNIT_BOOSTED )
    {
        set_boosted(next, true);
        v = unit_vcpu(next);
        if ( v && v->tavs && tavs_vcpu_serves(v) )
            v->tavs->hit = true;
        if ( prev != next || !to->boosted )
            TRACE_TIME(TRC_TAVS_BOOST_RUN, tavs_trace_unit(next), to->reason,
                       to->boosted);

        /* The cap may have been lowered since it was boosted. */
        return min(tslice, max(boost_slice(to, v), TAVS_CAP_SLOP));
    }

    if ( !tavs_head )
        return tslice;

    if ( to->slice < TAVS_MIN_SLICE )
    {
        to->slice = tslice;
        to->turn = now;
        if ( !credit_unit_over(next) )
            to->flags |= UNIT_TURN;
    }

    return min(tslice, to->slice);
}

static bool cf_check ahead(const void *data, const void *queued_data)
{
    const struct tavs_unit *tu = data, *queued = queued_data;

    return tavs_head && tu->place < queued->place;
}

static bool cf_check hold_priority(const void *data)
{
    const struct tavs_unit *tu = data;
    unsigned int flags = tu ? ACCESS_ONCE(tu->flags) : 0;

    if ( flags & (UNIT_BOOSTED | UNIT_AHEAD) )
        return true;

    return (flags & UNIT_WORKS) &&
           NOW() - ACCESS_ONCE(tu->turn) < ACCESS_ONCE(tavs_boost_cap);
}

static const struct credit_policy tavs_policy = {
    .leave         = leave,
    .enter         = enter,
    .ahead         = ahead,
    .hold_priority = hold_priority,
};

/*
 * Is the data of the unit ours?  The schedule lock is held.  While a domain
 * moves between cpupools, its new units are for a moment on the pCPU of an old
 * one (sched_move_domain()).
 */
static bool is_ours(const struct sched_unit *unit)
{
    const struct scheduler *ops = unit->res->scheduler;
    const struct cpupool *pool = unit->domain->cpupool;

    return ops && ops->sched_id == XEN_SCHEDULER_TAVS &&
           pool && pool->sched == ops && !is_idle_unit(unit);
}

static void unlock_unit(const struct sched_unit *unit, spinlock_t *lock,
                        unsigned long flags)
{
    unit_schedule_unlock_irqrestore(lock, flags, unit);
    rcu_read_unlock(&sched_res_rculock);
}

/*
 * Lock the unit of a vCPU: unlock_unit().  NULL, and nothing is locked, unless
 * it is queued, ours, and can be boosted.
 */
static struct tavs_unit *lock_queued(const struct vcpu *v, spinlock_t **lock,
                                     unsigned long *flags)
{
    const struct sched_unit *unit = v->sched_unit;

    rcu_read_lock(&sched_res_rculock);
    *lock = unit_schedule_lock_irqsave(unit, flags);

    if ( is_ours(unit) && unit->res->granularity == 1 &&
         credit_unit_queued(unit) )
        return TAVS_UNIT(unit);

    unlock_unit(unit, *lock, *flags);

    return NULL;
}

/* A queued unit goes behind those that are boosted; its waiting begins here. */
static void go_ahead(struct sched_unit *unit, struct tavs_unit *tu)
{
    if ( !tu->woken )
        tu->woken = NOW();

    credit_unit_boost(unit);
}

void tavs_sched_event(struct vcpu *v, enum tavs_reason reason, s_time_t at)
{
    struct sched_unit *unit = v->sched_unit;
    const struct sched_unit *sender;
    struct tavs_unit *tu;
    unsigned long flags;
    spinlock_t *lock;

    if ( !atomic_read(&tavs_pools) )
        return;

    if ( !ACCESS_ONCE(v->domain->tavs.pbratio) )
    {
        if ( v->tavs )
            atomic_inc(&v->tavs->refused[TAVS_REFUSED_OFF]);
        tavs_trace_refused(v, TAVS_REFUSED_OFF, reason);
        return;
    }

    tu = lock_queued(v, &lock, &flags);
    if ( !tu )
        return;

    tu->stats.events++;

    /*
     * By us: it waits its turn.  By credit, as it woke up: nothing to add.  And
     * who is next goes on with a slice in which there is room for a boost.
     */
    if ( credit_unit_boosted(unit) || (tu->flags & UNIT_BOOSTED) ||
         (reason == TAVS_REASON_BLOCK && tavs_head && credit_unit_next(unit) &&
          (!tu->slice || tu->slice >= ACCESS_ONCE(tavs_boost_cap))) )
    {
        tu->stats.refused[TAVS_REFUSED_AHEAD]++;
        tavs_trace_refused(v, TAVS_REFUSED_AHEAD, reason);
        goto out;
    }

    if ( reason == TAVS_REASON_DRIVER )
    {
        tu->flags |= UNIT_AHEAD;
        count_boost(unit, tu, reason);
    }
    else if ( tu->budget < ACCESS_ONCE(tavs_boost_cap) )
    {
        tu->stats.refused[TAVS_REFUSED_BUDGET]++;
        tavs_trace_refused(v, TAVS_REFUSED_BUDGET, reason);
        goto out;
    }
    else
    {
        begin_boost(unit, tu, reason);
        tu->renewed = 0;
        tu->event = at;
    }

    go_ahead(unit, tu);

    /* Credit preempts nobody for its like. */
    sender = current->sched_unit;
    if ( tavs_head && reason == TAVS_REASON_NET && sender->res == unit->res &&
         is_ours(sender) && drives(sender->domain) )
    {
        TAVS_UNIT(sender)->flags |= UNIT_MAKES_WAY;
        raise_softirq(SCHEDULE_SOFTIRQ);
    }

 out:
    unlock_unit(unit, lock, flags);
}

bool tavs_sched_timer(struct vcpu *v)
{
    struct sched_unit *unit = v->sched_unit;
    struct tavs_unit *tu;
    unsigned long flags;
    spinlock_t *lock;
    bool waits = true;

    if ( !atomic_read(&tavs_pools) || !tavs_timers ||
         !ACCESS_ONCE(v->domain->tavs.pbratio) )
        return false;

    tu = lock_queued(v, &lock, &flags);
    if ( !tu )
        return false;

    if ( (tu->flags & UNIT_OWES) && !credit_unit_boosted(unit) &&
         can_renew(tu) )
    {
        tu->renewed++;
        begin_boost(unit, tu, tu->reason);
        go_ahead(unit, tu);
        waits = false;
    }
    else if ( !(tu->flags & UNIT_TIMER) )
    {
        tu->flags |= UNIT_TIMER;
        tu->timer = NOW();
    }

    unlock_unit(unit, lock, flags);

    return waits;
}

static void cf_check tavs_unit_sleep(const struct scheduler *ops,
                                     struct sched_unit *unit)
{
    struct tavs_unit *tu = TAVS_UNIT(unit);
    bool queued = credit_unit_queued(unit);

    csched_unit_sleep(ops, unit);

    tu->woken = 0;
    forget_event(unit);

    /* The running unit is asked to leave soon. */
    if ( !queued )
        return;

    if ( tu->flags & UNIT_BOOSTED )
        end_boost(unit, tu, TAVS_END_BLOCKED);
    tu->flags &= ~(UNIT_AHEAD | UNIT_OWES);
    send_timer(unit, tu);
}

static void cf_check tavs_unit_wake(const struct scheduler *ops,
                                    struct sched_unit *unit)
{
    struct tavs_unit *tu = TAVS_UNIT(unit);
    bool wakes = curr_on_cpu(sched_unit_master(unit)) != unit &&
                 !credit_unit_queued(unit);

    if ( wakes )
    {
        s_time_t now = NOW();

        to_tail(tu, now);

        /* An event that came before did not wake it, or it was paused. */
        tu->woken = now;
        forget_event(unit);

        /* It was paused between leave() and the choice that followed. */
        if ( tu->flags & UNIT_BOOSTED )
            end_boost(unit, tu, TAVS_END_BLOCKED);
    }

    csched_unit_wake(ops, unit);

    if ( wakes && tavs_head && credit_unit_boosted(unit) )
        tu->flags |= UNIT_AHEAD;
}

static void *cf_check tavs_alloc_udata(const struct scheduler *ops,
                                       struct sched_unit *unit, void *dd)
{
    struct tavs_unit *tu = NULL;
    void *priv;

    if ( !is_idle_unit(unit) )
    {
        tu = xzalloc(struct tavs_unit);
        if ( !tu )
            return NULL;

        tu->place = NOW();
        tu->budget = tavs_boost_cap;

        /* It has no pCPU yet, and may have come from another scheduler. */
        if ( unit->vcpu_list )
            unit->vcpu_list->tavs_event_at = 0;
    }

    priv = csched_alloc_udata(ops, unit, dd);
    if ( priv )
        credit_unit_set_data(priv, tu);
    else
        xfree(tu);

    return priv;
}

static void cf_check tavs_free_udata(const struct scheduler *ops, void *priv)
{
    xfree(credit_unit_data(priv));
    csched_free_udata(ops, priv);
}

static int cf_check tavs_init(struct scheduler *ops)
{
    int rc = csched_init(ops);

    if ( !rc )
    {
        credit_set_policy(ops, &tavs_policy, tavs_exact);
        atomic_inc(&tavs_pools);
    }

    return rc;
}

static void cf_check tavs_deinit(struct scheduler *ops)
{
    csched_deinit(ops);
    atomic_dec(&tavs_pools);
}

/*
 * The tools' side.  Domains' parameters are written under param_lock, which
 * makes of several one set; credit's private lock and the schedule lock nest
 * inside.  The scheduler and the event plane read each for itself, without it.
 */
static DEFINE_SPINLOCK(param_lock);

static int dom_put(const struct scheduler *ops, struct domain *d,
                   struct xen_domctl_scheduler_op *op)
{
    const struct xen_domctl_sched_tavs *p = &op->u.tavs;
    uint8_t flags = (d->tavs.track ? XEN_DOMCTL_SCHED_TAVS_tracked : 0) |
                    (d->tavs.driver ? XEN_DOMCTL_SCHED_TAVS_driver : 0);
    bool boosts = d->tavs.track && d->tavs.pbratio;
    const struct sched_unit *unit;
    int rc;

    ASSERT(spin_is_locked(&param_lock));

    if ( p->cap != (uint16_t)~0 && p->cap > d->max_vcpus * 100U )
        return -EINVAL;

    if ( p->pbratio != (uint16_t)~0 &&
         p->pbratio > XEN_DOMCTL_SCHED_TAVS_PBRATIO_MAX )
        return -EINVAL;

    if ( (p->flags | p->set_flags) & ~(XEN_DOMCTL_SCHED_TAVS_tracked |
                                       XEN_DOMCTL_SCHED_TAVS_driver) )
        return -EINVAL;

    flags = (flags & ~p->set_flags) | (p->flags & p->set_flags);
    if ( (flags & XEN_DOMCTL_SCHED_TAVS_tracked) &&
         (flags & XEN_DOMCTL_SCHED_TAVS_driver) )
        return -EINVAL;

    if ( (flags & XEN_DOMCTL_SCHED_TAVS_tracked) && !tavs_can_track(d) )
        return -EOPNOTSUPP;

    rc = tavs_domain_track(d, flags & XEN_DOMCTL_SCHED_TAVS_tracked);
    if ( rc )
        return rc;

    /* Weight and cap: nothing is refused from here on. */
    rc = csched_dom_cntl(ops, d, op);
    ASSERT(!rc);

    if ( p->pbratio != (uint16_t)~0 )
        write_atomic(&d->tavs.pbratio, p->pbratio);

    write_atomic(&d->tavs.driver, (flags & XEN_DOMCTL_SCHED_TAVS_driver) != 0);

    /*
     * A boost that was granted before ends now if it runs.  Otherwise it ends
     * as soon as it has run, after the cap at the latest.
     */
    if ( boosts && (!d->tavs.track || !d->tavs.pbratio) )
        for_each_sched_unit ( d, unit )
        {
            spinlock_t *lock = unit_schedule_lock_irq(unit);

            if ( is_ours(unit) && unit->is_running &&
                 (TAVS_UNIT(unit)->flags & UNIT_BOOSTED) )
                cpu_raise_softirq(sched_unit_master(unit), SCHEDULE_SOFTIRQ);

            unit_schedule_unlock_irq(lock, unit);
        }

    return rc;
}

static int dom_get(const struct scheduler *ops, struct domain *d,
                   struct xen_domctl_scheduler_op *op)
{
    int rc;

    ASSERT(spin_is_locked(&param_lock));

    memset(&op->u, 0, sizeof(op->u));

    rc = csched_dom_cntl(ops, d, op);
    if ( rc )
        return rc;

    op->u.tavs.pbratio = d->tavs.pbratio;
    op->u.tavs.flags = (d->tavs.track ? XEN_DOMCTL_SCHED_TAVS_tracked : 0) |
                       (d->tavs.driver ? XEN_DOMCTL_SCHED_TAVS_driver : 0);

    return 0;
}

static int cf_check tavs_dom_cntl(const struct scheduler *ops,
                                  struct domain *d,
                                  struct xen_domctl_scheduler_op *op)
{
    int rc = -EINVAL;

    /* Weight and cap are where credit looks for them. */
    BUILD_BUG_ON(offsetof(typeof(op->u.tavs), weight) !=
                 offsetof(typeof(op->u.credit), weight));
    BUILD_BUG_ON(offsetof(typeof(op->u.tavs), cap) !=
                 offsetof(typeof(op->u.credit), cap));
    BUILD_BUG_ON(sizeof(struct xen_domctl_schedparam_vcpu) != 16);

    spin_lock(&param_lock);

    if ( op->cmd == XEN_DOMCTL_SCHEDOP_putinfo )
        rc = dom_put(ops, d, op);
    else if ( op->cmd == XEN_DOMCTL_SCHEDOP_getinfo )
        rc = dom_get(ops, d, op);

    spin_unlock(&param_lock);

    return rc;
}

static int cf_check tavs_sys_cntl(const struct scheduler *ops,
                                  struct xen_sysctl_scheduler_op *sc)
{
    struct xen_sysctl_tavs_schedule *p = &sc->u.sched_tavs;
    struct xen_sysctl_credit_schedule old = {};
    uint32_t cmd = sc->cmd, knobs = p->valid & ~XEN_SYSCTL_TAVS_VALID_credit;
    int rc = 0;

    BUILD_BUG_ON(offsetof(typeof(sc->u), sched_tavs.credit) !=
                 offsetof(typeof(sc->u), sched_credit));

    spin_lock(&param_lock);

    if ( cmd == XEN_SYSCTL_SCHEDOP_putinfo )
    {
        /* What one half has taken is given back if the other refuses. */
        if ( p->valid & XEN_SYSCTL_TAVS_VALID_credit )
        {
            const struct xen_sysctl_credit_schedule new = p->credit;

            sc->cmd = XEN_SYSCTL_SCHEDOP_getinfo;
            rc = csched_sys_cntl(ops, sc);
            old = p->credit;

            sc->cmd = XEN_SYSCTL_SCHEDOP_putinfo;
            p->credit = new;
            rc = rc ?: csched_sys_cntl(ops, sc);
        }

        if ( !rc )
        {
            rc = tavs_knobs_set(knobs, p->knob);
            if ( rc && (p->valid & XEN_SYSCTL_TAVS_VALID_credit) )
            {
                p->credit = old;
                csched_sys_cntl(ops, sc);
            }
        }
    }

    if ( !rc )
    {
        memset(p, 0, sizeof(*p));
        sc->cmd = XEN_SYSCTL_SCHEDOP_getinfo;
        rc = csched_sys_cntl(ops, sc);
        p->valid = tavs_knobs_get(p->knob) | XEN_SYSCTL_TAVS_VALID_credit;
    }

    sc->cmd = cmd;

    spin_unlock(&param_lock);

    return rc;
}

/* The unit of a vCPU, with the schedule lock held, if it is scheduled by us. */
static struct tavs_unit *lock_unit(const struct vcpu *v, spinlock_t **lock,
                                   unsigned long *flags)
{
    struct sched_unit *unit = v->sched_unit;

    *lock = unit_schedule_lock_irqsave(unit, flags);
    if ( is_ours(unit) )
        return TAVS_UNIT(unit);

    unit_schedule_unlock_irqrestore(*lock, *flags, unit);

    return NULL;
}

int tavs_sched_stats(const struct vcpu *v, struct tavs_stats *stats,
                     s_time_t *budget)
{
    const struct tavs_unit *tu;
    unsigned long flags;
    spinlock_t *lock;

    rcu_read_lock(&sched_res_rculock);

    tu = lock_unit(v, &lock, &flags);
    if ( tu )
    {
        *stats = tu->stats;
        *budget = tu->budget;
        unit_schedule_unlock_irqrestore(lock, flags, v->sched_unit);
    }

    rcu_read_unlock(&sched_res_rculock);

    return tu ? 0 : -EINVAL;
}

int tavs_sched_latency(const struct vcpu *v, unsigned int which,
                       struct xen_domctl_tavs_latency *latency)
{
    const struct tavs_unit *tu;
    unsigned long flags;
    spinlock_t *lock;

    ASSERT(which < XEN_DOMCTL_TAVS_LATENCIES);

    rcu_read_lock(&sched_res_rculock);

    tu = lock_unit(v, &lock, &flags);
    if ( tu )
    {
        *latency = tu->latency[which];
        unit_schedule_unlock_irqrestore(lock, flags, v->sched_unit);
    }

    rcu_read_unlock(&sched_res_rculock);

    return tu ? 0 : -EINVAL;
}

static void cf_check tavs_dump(const struct scheduler *ops)
{
    struct domain *d;
    const struct sched_unit *unit;

    csched_dump(ops);

    printk("task awareness:\n");
    tavs_dump_params();

    rcu_read_lock(&domlist_read_lock);

    for_each_domain_in_cpupool ( d, ops->cpupool )
    {
        printk("\tdomain %u: %s%s pbratio=%u\n", d->domain_id,
               d->tavs.track ? "tracked" : "not tracked",
               d->tavs.driver ? " driver" : "", d->tavs.pbratio);
        tavs_net_dump(d);

        for_each_sched_unit ( d, unit )
        {
            const struct tavs_unit *tu = TAVS_UNIT(unit);

            printk("\t  [%u.%u] budget=%"PRI_stime"us\n",
                   d->domain_id, unit->unit_id, tu->budget / 1000);
            tavs_dump_stats(&tu->stats);
            tavs_dump_vcpu(unit->vcpu_list);
        }
    }

    rcu_read_unlock(&domlist_read_lock);
}

static const struct scheduler sched_tavs_def = {
    .name            = "Task-aware Scheduler on SMP Credit",
    .opt_name        = "tavs",
    .sched_id        = XEN_SCHEDULER_TAVS,
    .sched_data      = NULL,

    /* No .global_init: credit's runs anyway, and has all there is to check. */

    .insert_unit     = csched_unit_insert,
    .remove_unit     = csched_unit_remove,

    .sleep           = tavs_unit_sleep,
    .wake            = tavs_unit_wake,
    .yield           = csched_unit_yield,

    .adjust          = tavs_dom_cntl,
    .adjust_affinity = csched_aff_cntl,
    .adjust_global   = tavs_sys_cntl,

    .pick_resource   = csched_res_pick,
    .do_schedule     = csched_schedule,

    .dump_cpu_state  = csched_dump_pcpu,
    .dump_settings   = tavs_dump,
    .init            = tavs_init,
    .deinit          = tavs_deinit,
    .alloc_udata     = tavs_alloc_udata,
    .free_udata      = tavs_free_udata,
    .alloc_pdata     = csched_alloc_pdata,
    .deinit_pdata    = csched_deinit_pdata,
    .free_pdata      = csched_free_pdata,
    .switch_sched    = csched_switch_sched,
    .alloc_domdata   = csched_alloc_domdata,
    .free_domdata    = csched_free_domdata,
    .move_timers     = csched_move_timers,
};

REGISTER_SCHEDULER(sched_tavs_def);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
