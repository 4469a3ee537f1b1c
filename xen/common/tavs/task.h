/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks of a domain are I/O-bound: the plain interface of the inference.
 *
 * Nothing here knows a vCPU, a scheduler, a lock or a clock: the caller says
 * what happened and when.  So the same code runs in the hypervisor, in the
 * unit tests and in the simulator.
 */
#ifndef __TAVS_TASK_H__
#define __TAVS_TASK_H__

#ifdef __XEN__
# include <xen/types.h>
#else
# include <stdbool.h>
# include <stdint.h>
#endif

/* What the inference is tuned with.  Times in nanoseconds. */
struct tavs_params {
    int64_t io_threshold;   /* a segment up to this is short */
    int64_t age;            /* without evidence for this long: not believed */
    int64_t forgive;        /* negative evidence this old counts no more, once
                               there is positive */
    int positive;           /* added for positive evidence */
    int negative;           /* taken for negative evidence */
    int threshold;          /* believed to be I/O-bound above this */
    int min, max;           /* range of the belief */
};

/* The paper's values, and ours for what the paper leaves open. */
#define TAVS_PARAMS_DEFAULT {          \
    .io_threshold = 500000,            \
    .age          = 120000000000LL,    \
    .forgive      = 1000000000,        \
    .positive     = 5,                 \
    .negative     = 20,                \
    .threshold    = 20,                \
    .min          = -100,              \
    .max          = 300,               \
}

/*
 * A table of 64 sets of 4 tasks: a look-up touches one set, and a task can
 * displace another only within it.  10 KiB a domain.
 */
#define TAVS_TASK_SETS 64
#define TAVS_TASK_WAYS 4

/* The longest inspection window. */
#define TAVS_WINDOW_MAX 8

/*
 * How many new address spaces are remembered until they first run: a server
 * forks a few times before the first child runs, and a 64-bit PV guest makes
 * two tables for each, of which one is never switched to.
 */
#define TAVS_BORN_MAX 16

struct tavs_task {
    unsigned long id;       /* 0: free */
    int64_t last_io;        /* time of the last positive evidence, or 0 */
    int64_t last_cpu;       /* time of the last negative evidence, or 0 */
    int32_t positives;      /* pieces of evidence, saturating */
    int32_t negatives;
    int16_t belief;
};

/* What the segment that runs can become evidence of. */
enum tavs_role {
    TAVS_ROLE_NONE,         /* no event precedes it */
    TAVS_ROLE_RUNNING,      /* it was running when the event arrived */
    TAVS_ROLE_RESUMED,      /* after idle, in the address space idle kept */
    TAVS_ROLE_NEXT,         /* first after the event, or after what resumed */
    TAVS_ROLE_BEHIND,       /* right behind a task of positive evidence */
};

/* What made the inference look at a belief anew. */
enum tavs_cause {
    TAVS_POSITIVE,          /* evidence for it */
    TAVS_NEGATIVE,          /* evidence against it */
    TAVS_AMBIGUOUS,         /* neither; it stays as it was */
    TAVS_AGED,              /* no evidence for long: not believed any more */
    TAVS_FORGOTTEN,         /* its address space is no more */
    TAVS_BORN,              /* its address space is the child of a task */
};

struct tavs_change {
    unsigned long id;
    int64_t used;           /* CPU time of the segment, 0 if there is none */
    enum tavs_cause cause;
    int before, after;      /* the belief */
};

/* What one call changes: a segment ends, and each task of one set ages. */
struct tavs_changes {
    unsigned int nr;
    struct tavs_change change[1 + TAVS_TASK_WAYS];
};

/* What is known of a task that begins to run. */
enum tavs_verdict {
    TAVS_OTHER,             /* not I/O-bound */
    TAVS_UNDECIDED,         /* it answers an event, nothing speaks against it */
    TAVS_IO_BOUND,
};

/* What an event was for, by who ran as it arrived and who was woken up. */
enum tavs_outcome {
    TAVS_OUTCOME_NONE,      /* not known yet, or asked for already */
    TAVS_OUTCOME_IO,        /* an I/O-bound task was woken up */
    TAVS_OUTCOME_OTHER,     /* no I/O-bound task was there to take it */
    TAVS_OUTCOME_UNCLEAR,   /* an I/O-bound task ran already: maybe for that */
};

/* How far the reaction to an event got. */
enum tavs_stage {
    TAVS_STAGE_OVER,
    TAVS_STAGE_FIRST,       /* who ran as it arrived still does */
    TAVS_STAGE_WOKEN,       /* who came next runs */
};

/* What is known of the tasks of a domain. */
struct tavs_tasks {
    struct tavs_task task[TAVS_TASK_SETS][TAVS_TASK_WAYS];
    unsigned long kernel;   /* the kernel's own address space; 0: not known */
    unsigned int believed;  /* number of tasks believed to be I/O-bound */
    int threshold;          /* that `believed` goes by; it can be tuned */
    unsigned int hand;      /* next set to be looked through for old beliefs */

    /* Address spaces that believed tasks made of late, and that did not run. */
    unsigned long born[TAVS_BORN_MAX];
    unsigned int births;    /* where the next one goes */
    int64_t born_until;     /* until then there may be some */

    /* Statistics; last, see tavs_tasks_restart(). */
    unsigned long positives, negatives, lost;
};

/* Who runs in a vCPU, since when, and what that is a reaction to. */
struct tavs_segment {
    struct tavs_tasks *tasks;   /* of its domain */

    unsigned long cur;      /* address space; 0: not known yet */
    unsigned long first;    /* what that was as the event arrived; 0: idle */
    int64_t used;           /* its CPU time until `since` */
    int64_t since;          /* when it last got the pCPU */
    int64_t reaction;       /* CPU time it had used when the event arrived */
    int64_t elapsed;        /* CPU time from the event to this segment */
    enum tavs_role role;
    bool answering;         /* what is switched to next may be for the event */
    bool changed;           /* its task may have: it is undecided again */
    bool running;           /* has the pCPU */
    bool asked;             /* its task waits for the next event */
    bool idle;              /* the vCPU is blocked */

    /* The reaction to the latest event. */
    enum tavs_stage stage;
    bool first_io;          /* who ran as it arrived is I/O-bound */
    enum tavs_outcome outcome;  /* not yet asked for */

    /* Who was switched to of late, the latest at `newest`. */
    unsigned long window[TAVS_WINDOW_MAX];
    unsigned int newest;

    /* Where changes are noted; NULL, as it is but for tracing: nowhere. */
    struct tavs_changes *changes;

    unsigned long switches; /* statistics */
};

/* A domain of which nothing is known yet. */
void tavs_tasks_init(struct tavs_tasks *t);

/*
 * Forget all tasks: nothing was heard of the domain for a while.  Statistics
 * remain.
 */
void tavs_tasks_restart(struct tavs_tasks *t);

/* The vCPU has not run yet, or nothing was heard of it for a while. */
void tavs_segment_init(struct tavs_segment *s, struct tavs_tasks *t);

/* The vCPU gets the pCPU. */
void tavs_segment_in(struct tavs_segment *s, const struct tavs_params *p,
                     int64_t now);

/* The vCPU loses the pCPU, because it blocks or while it could go on. */
void tavs_segment_out(struct tavs_segment *s, const struct tavs_params *p,
                      int64_t now, bool blocks);

/* An event became pending at `when`, which is not before the last call. */
void tavs_segment_event(struct tavs_segment *s, const struct tavs_params *p,
                        int64_t when);

/*
 * The task that runs has asked a back end.  It would go to sleep, were it not
 * answered before: the next event ends its segment.
 */
void tavs_segment_asks(struct tavs_segment *s);

/*
 * The vCPU, which has the pCPU, switches to another address space.
 * `was_kernel`: the one that it leaves has no user mode.
 */
enum tavs_verdict tavs_segment_switch(struct tavs_segment *s,
                                      const struct tavs_params *p,
                                      unsigned long id, bool was_kernel,
                                      int64_t now);

/*
 * The same where it teaches nothing, in a few instructions: no event is
 * open, and the segment that ends is short, which is evidence of nothing.
 * False: it may teach something, and nothing was done.
 */
static inline bool tavs_segment_passes(struct tavs_segment *s,
                                       const struct tavs_params *p,
                                       unsigned long id, bool was_kernel,
                                       int64_t now)
{
    unsigned long kernel = s->tasks->kernel;

    if ( s->answering || s->stage != TAVS_STAGE_OVER || s->changes ||
         now <= s->tasks->born_until ||
         s->used + (now - s->since) > p->io_threshold ||
         was_kernel != (s->cur == kernel) )
        return false;

    s->switches++;
    s->cur = id;
    s->role = TAVS_ROLE_NONE;
    s->used = 0;
    s->since = now;
    s->reaction = 0;
    s->asked = s->changed = false;

    if ( id != kernel && s->window[s->newest] != id )
    {
        s->newest = (s->newest + 1) % TAVS_WINDOW_MAX;
        s->window[s->newest] = id;
    }

    return true;
}

/*
 * What the latest event was for, told once, as soon as it is known.  To be
 * asked after each call of tavs_segment_switch() and tavs_segment_out().
 */
enum tavs_outcome tavs_segment_outcome(struct tavs_segment *s);

/*
 * What is known of the task whose segment it is.  A segment that is longer
 * than the I/O threshold is not I/O-bound, whosever it is.
 */
enum tavs_verdict tavs_segment_verdict(const struct tavs_segment *s,
                                       const struct tavs_params *p,
                                       int64_t now);

/*
 * The guest goes on in user mode: it had the occasion to switch to whoever
 * was woken up.  Is the task that runs one that was?
 */
bool tavs_segment_woken(const struct tavs_segment *s);

/*
 * The inspection window (3.3.1): is one of the `size` tasks that were
 * scheduled last, the present one included, believed to be I/O-bound?
 */
bool tavs_segment_inspect(const struct tavs_segment *s, unsigned int size);

/*
 * The task that runs makes the address space `child`.  Where that task is
 * believed, so is the child when it first runs.
 */
void tavs_segment_bears(struct tavs_segment *s, const struct tavs_params *p,
                        unsigned long child, int64_t now);

/* The address space is no more. */
void tavs_tasks_forget(struct tavs_tasks *t, const struct tavs_params *p,
                       unsigned long id, struct tavs_changes *changes);

/* The task of an address space, or NULL. */
struct tavs_task *tavs_tasks_find(const struct tavs_tasks *t,
                                  unsigned long id);

#endif /* __TAVS_TASK_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
