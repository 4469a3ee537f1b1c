/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unserved I/O: the state of a vCPU whose guest was sent something that one of
 * its I/O-bound tasks waits for.
 *
 * Plain: it knows no domain, no scheduler, no lock and no clock.
 *
 *               an event for an I/O-bound task
 *     served  --------------------------------->  waiting
 *       ^  ^                                       |   |
 *       |  |   the vCPU blocks; it had its turn    |   | such a task runs
 *       |  +---------------------------------------+   v
 *       +------------------------------------------ being served
 *           it blocks, or goes on to another task
 *
 * Whoever sends an event notes it, on any pCPU.  All else is written where the
 * vCPU runs, or where it was taken from, with interrupts off.  Where two meet,
 * the later one wins: an event more, or less, to boost for.
 */
#ifndef __TAVS_UNSERVED_H__
#define __TAVS_UNSERVED_H__

#include "task.h"

/* What a boost is for.  Tools know these numbers. */
enum tavs_reason {
    TAVS_REASON_ANY,            /* any I/O event: correlation is off */
    TAVS_REASON_BLOCK,          /* a block was read for an I/O-bound task */
    TAVS_REASON_NET,            /* a packet came for an I/O-bound task */
    TAVS_REASON_DRIVER,         /* work for a driver domain */
    TAVS_REASON_TIMER,          /* a timer that may wake an I/O-bound task */
    TAVS_REASONS
};

struct tavs_unserved {
    int64_t since;              /* when the first event came; 0: served */
    uint32_t noted;             /* events */
    uint32_t seen;              /* ... that had come when it last switched */
    enum tavs_reason reason;    /* of the first event */

    /*
     * The guest's kernel does what there is to do: a step of a connection that
     * wakes nobody yet, a tick, work for others.  It is served as soon as the
     * guest goes on as it was.
     */
    bool brief;

    /* An I/O-bound task has run since. */
    bool begun;

    /* Another event came as what a task was woken up for was served. */
    bool again;

    /*
     * It was boosted for, and the guest's kernel did not switch: not again
     * before something new comes.
     */
    bool tried;
};

static inline bool tavs_is_unserved(const struct tavs_unserved *u)
{
    return *(const volatile int64_t *)&u->since;
}

/*
 * An event has come.  True: the scheduler is to be told.  It is the first that
 * is not served, or those before were tried.
 */
static inline bool tavs_unserved_note(struct tavs_unserved *u,
                                      enum tavs_reason reason, bool brief,
                                      int64_t now)
{
    bool tell = u->tried;

    u->noted++;
    u->tried = false;

    if ( tavs_is_unserved(u) )
    {
        /* One that somebody waits for counts more than one that nobody does. */
        if ( u->brief && !brief )
        {
            u->reason = reason;
            u->brief = false;
        }
        return tell;
    }

    u->reason = reason;
    u->brief = brief;
    *(volatile int64_t *)&u->since = now;

    return true;
}

static inline void tavs_unserved_clear(struct tavs_unserved *u)
{
    u->begun = u->again = u->tried = false;
    u->seen = u->noted;
    *(volatile int64_t *)&u->since = 0;
}

/* The vCPU gets the pCPU; `runs_io`: amid an I/O-bound task. */
static inline void tavs_unserved_in(struct tavs_unserved *u, bool runs_io)
{
    u->seen = u->noted;
    if ( runs_io && tavs_is_unserved(u) )
        u->begun = true;
}

/*
 * The vCPU switches tasks.  An event that came since it last did so cannot be
 * what the task before was woken for: it waits on.
 */
static inline void tavs_unserved_switch(struct tavs_unserved *u,
                                        enum tavs_verdict verdict)
{
    bool another = u->seen != u->noted;

    u->seen = u->noted;

    if ( !tavs_is_unserved(u) )
        return;

    if ( verdict == TAVS_IO_BOUND )
        u->begun = true;
    else if ( verdict == TAVS_OTHER )
    {
        if ( another )
        {
            u->begun = false;
            u->again = true;
        }
        else
            tavs_unserved_clear(u);
    }
}

/* The guest goes on in user mode, as it was before the event. */
static inline void tavs_unserved_went_on(struct tavs_unserved *u)
{
    if ( u->brief || u->begun )
        tavs_unserved_clear(u);
}

/* A boost for it ends, while the vCPU could go on. */
static inline void tavs_unserved_tried(struct tavs_unserved *u)
{
    u->tried = !u->again;
    u->again = false;
}

/* Something new happened to the vCPU: it is worth another boost. */
static inline void tavs_unserved_retry(struct tavs_unserved *u)
{
    u->tried = false;
}

/*
 * The vCPU loses the pCPU though it could go on, and had it without a boost.
 * `had_turn`: for long enough to switch to whoever was woken up.
 */
static inline void tavs_unserved_preempted(struct tavs_unserved *u,
                                           bool had_turn)
{
    if ( had_turn && !u->begun && u->seen == u->noted )
        tavs_unserved_clear(u);
}

#endif /* __TAVS_UNSERVED_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
