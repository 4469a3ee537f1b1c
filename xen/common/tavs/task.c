/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks of a vCPU are I/O-bound.
 *
 * 1. Tasks and segments
 *
 *   An address space stands for a task.  A segment is what a task runs from
 *   one switch of address spaces to the next, in CPU time of the vCPU: while
 *   the vCPU waits for a pCPU, the segment stands still, and goes on after.
 *   Blocking ends a segment; waking up begins one, in the address space that
 *   the guest kernel kept while it was idle.
 *
 * 2. Evidence (Figure 2 of the TAVS paper)
 *
 *        event
 *          |
 *      T1..|  T2  | T3 |     T4     | T5 |      T6      |
 *       amb. pos.  pos.    negative  amb.    negative
 *
 *   A segment longer than the I/O threshold is negative evidence, whatever it
 *   follows.  A short one is positive when it comes right after the task that
 *   ran as the event arrived (T2), or right behind such a positive one (T3).
 *   Any other short one is ambiguous: T1 may owe its shortness to T2, and T5
 *   may have been held up by T4.  Ambiguity changes nothing.
 *
 *   "Right after" is taken literally: what begins to run within the I/O
 *   threshold after the event, in CPU time of the vCPU, can be its answer.
 *   Otherwise T2 was not scheduled because of the event, and each of a row of
 *   short tasks, however long, would be T3.
 *
 * 3. Belief
 *
 *   Starts at 0, grows by 5 a positive evidence, shrinks by 20 a negative one,
 *   stays within -100 and 300.  Above 20 the task is believed to be I/O-bound:
 *   with the fifth positive evidence, so five requests teach it.
 *
 * 4. Where this says more than the paper, and why
 *
 *   - The past.  Every program starts by computing: exec, page faults,
 *     linking, filling its tables.  One such segment costs as much belief as
 *     four requests earn, and there are several.  Positive evidence counts
 *     from 0, however negative the belief was, if there was no negative one
 *     for a second: the task has changed.  A CPU-bound task has negative
 *     evidence whenever it runs, and stays where it is.  Who has not even run
 *     for a second and then comes right after an event (T2) is undecided again,
 *     so that it can show it, also in a boost that was for another task.
 *   - A segment that is cut off by a deschedule goes on when the vCPU does.
 *     Where it followed a positive task (T3), it becomes ambiguous: most of
 *     all it is the CPU-bound task on whose account a boost was just revoked.
 *     Where it came first after the event (T2), it keeps its role, for
 *     otherwise a task once thought CPU-bound would be descheduled at each of
 *     its switches and could never show that it is not.
 *   - An event that arrives while a task answers an earlier one (T2) leaves it
 *     in that role; the paper would call it the running task, and ambiguous.
 *     Such events are the echo of the answer itself: the back end, woken by
 *     the reply, preempts the guest and reports that it was sent.  A task
 *     behind T2 does become ambiguous.
 *   - The segment in which a vCPU resumes from idle is that of whoever the
 *     guest ran before: if the guest switches to another task from there, it
 *     held nothing but the interrupt and is ambiguous.  If the guest goes
 *     idle again, the task that idle kept was the one that answered (a guest
 *     with one task never switches address spaces), so it is positive.
 *   - Who ran as the event arrived, and goes on behind who answered it, is not
 *     undecided: nobody woke it.  In a guest whose tasks come and go each one
 *     would be, as there is nothing against it yet.
 *   - A task that is answered before it has gone to sleep ends its segment and
 *     begins another: it would have slept, had the back end been slower.
 *     Without that, a reader whose blocks come quickly never switches, and
 *     looks CPU-bound.
 *   - A task that is torn down is forgotten.  The kernel's own page table is
 *     no task.  A believed task without positive evidence for two minutes
 *     goes back to the threshold, from where one more makes it believed.
 *
 * 5. What an event was for (section 4.3.2)
 *
 *   The first task is the one that ran as the event arrived, the first woken
 *   one is who follows it (T2).  If T2 is I/O-bound, it was for that one.  If
 *   neither is, it was for no I/O-bound task.  If only the first is, nobody
 *   knows: the driver domain may have preempted it, and it may take what came
 *   without being woken up.
 *
 *   - Here a task counts as I/O-bound also while its belief grows: one whose
 *     segment is positive evidence, and whose belief is above 0 by it.  Else
 *     what the events were for could be learned only once the task is
 *     believed, and it would wait for twice as many of them.
 *   - T2 is given until the I/O threshold, as in 2.  Where nobody was switched
 *     to by then, nobody was woken up.
 *   - A vCPU that resumes from idle ran no task as the event arrived, whatever
 *     address space it kept.  If it goes idle again, that task is T2, as in 4.
 *   - It is known as soon as a believed task, or one that is known to be
 *     CPU-bound, is switched to.  Otherwise the segment is waited for.
 *
 * 6. Bounds
 *
 *   The table has a fixed size.  A new task takes a free place of its set,
 *   else the place of the task that is not believed and whose last positive
 *   evidence is the oldest; where all four are believed, it is not tracked,
 *   which means that it stays undecided.  So a guest that wears out address
 *   spaces displaces no believed task, and hurts nobody but itself.  Each
 *   call looks at one set, but for the first after the threshold was changed.
 */
#ifdef __XEN__
# include <xen/lib.h>
# include <xen/string.h>
#else
# include <stddef.h>
# include <string.h>
#endif

#include "task.h"

static struct tavs_task *tavs_set(struct tavs_tasks *t, unsigned long id)
{
    return t->task[(id ^ (id >> 6) ^ (id >> 12)) % TAVS_TASK_SETS];
}

struct tavs_task *tavs_tasks_find(struct tavs_tasks *t, unsigned long id)
{
    struct tavs_task *set = tavs_set(t, id);
    unsigned int i;

    for ( i = 0; id && i < TAVS_TASK_WAYS; i++ )
        if ( set[i].id == id )
            return &set[i];

    return NULL;
}

static struct tavs_task *tavs_get(struct tavs_tasks *t, unsigned long id)
{
    struct tavs_task *set = tavs_set(t, id), *victim = NULL;
    unsigned int i;

    for ( i = 0; i < TAVS_TASK_WAYS; i++ )
    {
        if ( set[i].id == id )
            return &set[i];

        if ( !set[i].id )
        {
            if ( !victim || victim->id )
                victim = &set[i];
        }
        else if ( set[i].belief <= t->threshold &&
                  (!victim ||
                   (victim->id && set[i].last_io < victim->last_io)) )
            victim = &set[i];
    }

    if ( !victim )
    {
        t->lost++;
        return NULL;
    }

    *victim = (struct tavs_task){ .id = id };

    return victim;
}

/* All changes of a belief are made here: `believed` counts along. */
static void tavs_set_belief(struct tavs_tasks *t, const struct tavs_params *p,
                            struct tavs_task *task, int belief)
{
    if ( belief > p->max )
        belief = p->max;
    if ( belief < p->min )
        belief = p->min;

    t->believed -= task->belief > t->threshold;
    t->believed += belief > t->threshold;
    task->belief = belief;
}

/* For whoever traces.  More than one call can change is not noted. */
static void tavs_note(struct tavs_tasks *t, const struct tavs_task *task,
                      enum tavs_cause cause, int before, int64_t used)
{
    struct tavs_changes *changes = t->changes;

    if ( changes && changes->nr < 1 + TAVS_TASK_WAYS )
        changes->change[changes->nr++] = (struct tavs_change){
            .id     = task->id,
            .used   = used,
            .cause  = cause,
            .before = before,
            .after  = task->belief,
        };
}

/* CPU time of the segment until now. */
static int64_t tavs_used(const struct tavs_tasks *t, int64_t now)
{
    return t->used + (t->running && now > t->since ? now - t->since : 0);
}

/* The reaction to the event is over: who was woken up was, or not, for I/O. */
static void tavs_conclude(struct tavs_tasks *t, bool woken_io)
{
    t->stage = TAVS_STAGE_OVER;
    t->outcome = woken_io ? TAVS_OUTCOME_IO
                          : t->first_io ? TAVS_OUTCOME_UNCLEAR
                                        : TAVS_OUTCOME_OTHER;
}

/* A segment ends, of which it was learned whether the task is for I/O. */
static void tavs_end_stage(struct tavs_tasks *t, bool io, bool is_kernel,
                           bool blocks)
{
    switch ( t->stage )
    {
    case TAVS_STAGE_OVER:
        break;

    case TAVS_STAGE_FIRST:
        if ( t->role == TAVS_ROLE_RESUMED )
        {
            if ( blocks )
                tavs_conclude(t, io);
            else
                t->stage = TAVS_STAGE_WOKEN;
            break;
        }

        t->first_io = io;
        if ( blocks || !t->answering )
            tavs_conclude(t, false);
        else
            t->stage = TAVS_STAGE_WOKEN;
        break;

    case TAVS_STAGE_WOKEN:
        if ( !is_kernel || blocks || !t->answering )
            tavs_conclude(t, io);
        break;
    }
}

enum tavs_outcome tavs_tasks_outcome(struct tavs_tasks *t)
{
    enum tavs_outcome outcome = t->outcome;

    t->outcome = TAVS_OUTCOME_NONE;

    return outcome;
}

/* The segment ends: what is it evidence of, and what may follow it? */
static void tavs_end_segment(struct tavs_tasks *t,
                             const struct tavs_params *p,
                             unsigned long kernel, int64_t now, bool blocks)
{
    int64_t used = tavs_used(t, now);
    bool is_short = used <= p->io_threshold;
    bool positive = is_short &&
                    (t->role == TAVS_ROLE_NEXT || t->role == TAVS_ROLE_BEHIND ||
                     (t->role == TAVS_ROLE_RESUMED && blocks));
    struct tavs_task *task = NULL;
    enum tavs_cause cause;
    int before;

    /* Who ran as the event arrived may have been long at it before. */
    t->elapsed += used - t->reaction;
    if ( t->elapsed > p->io_threshold )
        t->answering = false;

    if ( t->cur && t->cur != kernel )
        task = tavs_get(t, t->cur);
    if ( !task )
    {
        tavs_end_stage(t, false, t->cur == kernel, blocks);
        return;
    }

    if ( task->segments < UINT32_MAX )
        task->segments++;

    if ( task->cpu_us < UINT32_MAX - used / 1000 )
        task->cpu_us += used / 1000;
    else
        task->cpu_us = UINT32_MAX;

    task->last_run = now;
    before = task->belief;

    if ( positive )
    {
        int belief = before;

        if ( belief < 0 && now - task->last_cpu > p->forgive )
            belief = 0;

        cause = TAVS_POSITIVE;
        t->positives++;
        task->last_io = now;
        tavs_set_belief(t, p, task, belief + p->positive);
    }
    else if ( !is_short )
    {
        cause = TAVS_NEGATIVE;
        t->negatives++;
        task->last_cpu = now;
        tavs_set_belief(t, p, task, before - p->negative);
    }
    else
    {
        cause = TAVS_AMBIGUOUS;
        t->ambiguous++;
    }

    tavs_note(t, task, cause, before, used);
    tavs_end_stage(t, task->belief > t->threshold ||
                      (positive && task->belief > 0), false, blocks);
}

static void tavs_begin_segment(struct tavs_tasks *t, unsigned long id,
                               enum tavs_role role, int64_t now)
{
    t->cur = id;
    t->role = role;
    t->asked = false;
    t->changed = false;
    t->used = 0;
    t->reaction = 0;
    t->since = now;
}

/* Who comes back after idle, or after the kernel alone, counts once. */
static void tavs_remember(struct tavs_tasks *t, unsigned long id)
{
    if ( t->window[t->newest] == id )
        return;

    t->newest = (t->newest + 1) % TAVS_WINDOW_MAX;
    t->window[t->newest] = id;
}

/* Beliefs without recent evidence return to the threshold.  One set a call. */
static void tavs_age(struct tavs_tasks *t, const struct tavs_params *p,
                     int64_t now)
{
    struct tavs_task *set = t->task[t->hand++ % TAVS_TASK_SETS];
    unsigned int i;

    for ( i = 0; i < TAVS_TASK_WAYS; i++ )
        if ( set[i].id && set[i].belief > t->threshold &&
             now - set[i].last_io > p->age )
        {
            int before = set[i].belief;

            tavs_set_belief(t, p, &set[i], t->threshold);
            tavs_note(t, &set[i], TAVS_AGED, before, 0);
        }
}

void tavs_tasks_init(struct tavs_tasks *t)
{
    memset(t, 0, sizeof(*t));
    t->idle = true;
}

void tavs_tasks_restart(struct tavs_tasks *t)
{
    memset(t, 0, offsetof(struct tavs_tasks, positives));
    t->idle = true;
}

/* The threshold was changed: who is believed by the new one? */
static void tavs_recount(struct tavs_tasks *t, int threshold)
{
    unsigned int i, j;

    t->threshold = threshold;
    t->believed = 0;

    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        for ( j = 0; j < TAVS_TASK_WAYS; j++ )
            t->believed += t->task[i][j].id &&
                           t->task[i][j].belief > threshold;
}

bool tavs_tasks_answering(const struct tavs_tasks *t,
                          const struct tavs_params *p, int64_t now)
{
    return t->answering &&
           t->elapsed + tavs_used(t, now) - t->reaction <= p->io_threshold;
}

void tavs_tasks_asks(struct tavs_tasks *t)
{
    t->asked = !t->idle;
}

void tavs_tasks_event(struct tavs_tasks *t, const struct tavs_params *p,
                      unsigned long kernel, int64_t when)
{
    bool joins;

    if ( t->asked && !t->idle )
    {
        tavs_end_segment(t, p, kernel, when, true);
        tavs_begin_segment(t, t->cur, TAVS_ROLE_NEXT, when);
        t->first = 0;
        t->answering = true;
        t->elapsed = 0;
        t->stage = TAVS_STAGE_OVER;
        return;
    }

    joins = !t->idle && t->role == TAVS_ROLE_NEXT &&
            tavs_tasks_answering(t, p, when);

    if ( !joins || t->stage == TAVS_STAGE_OVER )
    {
        t->stage = TAVS_STAGE_FIRST;
        t->first_io = false;
    }

    if ( joins )
        return;

    if ( t->idle )
    {
        t->first = 0;
        t->answering = true;
        t->elapsed = 0;
        return;
    }

    t->first = t->cur;

    t->answering = true;
    t->role = TAVS_ROLE_RUNNING;
    t->reaction = tavs_used(t, when);
    t->elapsed = 0;
}

void tavs_tasks_in(struct tavs_tasks *t, const struct tavs_params *p,
                   int64_t now)
{
    int threshold = *(const volatile int *)&p->threshold;

    if ( t->threshold != threshold )
        tavs_recount(t, threshold);

    if ( t->idle )
    {
        tavs_begin_segment(t, t->cur, t->answering ? TAVS_ROLE_RESUMED
                                                   : TAVS_ROLE_NONE, now);
        t->idle = false;
    }

    t->since = now;
    t->running = true;
}

/* Was the event for nobody who did anything until now? */
static void tavs_end_waiting(struct tavs_tasks *t,
                             const struct tavs_params *p, int64_t now)
{
    const struct tavs_task *task;

    switch ( t->stage )
    {
    case TAVS_STAGE_OVER:
        break;

    case TAVS_STAGE_FIRST:
        if ( tavs_tasks_answering(t, p, now) )
            break;

        task = t->role == TAVS_ROLE_RESUMED ? NULL : tavs_tasks_find(t, t->cur);
        t->first_io = task && task->belief > t->threshold;
        tavs_conclude(t, false);
        break;

    case TAVS_STAGE_WOKEN:
        if ( tavs_used(t, now) > p->io_threshold )
            tavs_conclude(t, false);
        break;
    }
}

void tavs_tasks_out(struct tavs_tasks *t, const struct tavs_params *p,
                    unsigned long kernel, int64_t now, bool blocks)
{
    if ( blocks )
    {
        tavs_end_segment(t, p, kernel, now, true);
        t->answering = false;
        t->idle = true;
        t->used = 0;
    }
    else
    {
        t->used = tavs_used(t, now);
        t->running = false;
        if ( t->role == TAVS_ROLE_BEHIND )
            t->role = TAVS_ROLE_NONE;

        tavs_end_waiting(t, p, now);
    }

    t->running = false;

    tavs_age(t, p, now);
}

enum tavs_verdict tavs_tasks_verdict(struct tavs_tasks *t,
                                     unsigned long kernel)
{
    const struct tavs_task *task = tavs_tasks_find(t, t->cur);

    if ( task && task->belief > t->threshold )
        return TAVS_IO_BOUND;

    /* Until the guest has switched, it is still about to answer the event. */
    if ( t->role == TAVS_ROLE_NONE )
        return TAVS_OTHER;

    if ( t->cur == kernel )
        return TAVS_UNDECIDED;

    /* Who ran as the event arrived was not woken by it, and just goes on. */
    if ( t->role == TAVS_ROLE_BEHIND && t->cur == t->first )
        return TAVS_OTHER;

    return !task || task->belief >= 0 || t->changed ? TAVS_UNDECIDED
                                                    : TAVS_OTHER;
}

bool tavs_tasks_answered(struct tavs_tasks *t, unsigned long kernel)
{
    return t->role == TAVS_ROLE_BEHIND &&
           tavs_tasks_verdict(t, kernel) == TAVS_OTHER;
}

bool tavs_tasks_pending(const struct tavs_tasks *t, unsigned long kernel)
{
    return t->role == TAVS_ROLE_RUNNING ||
           (t->role == TAVS_ROLE_NEXT && t->cur == kernel);
}

enum tavs_verdict tavs_tasks_switch(struct tavs_tasks *t,
                                    const struct tavs_params *p,
                                    unsigned long kernel, unsigned long id,
                                    int64_t now)
{
    enum tavs_verdict verdict;
    enum tavs_role role;

    t->switches++;
    tavs_end_segment(t, p, kernel, now, false);

    /* The kernel's own address space does not come between two tasks. */
    if ( !t->answering )
        role = TAVS_ROLE_NONE;
    else if ( t->role == TAVS_ROLE_RUNNING || t->role == TAVS_ROLE_RESUMED ||
              (t->cur == kernel && t->role == TAVS_ROLE_NEXT) )
        role = TAVS_ROLE_NEXT;
    else if ( t->role == TAVS_ROLE_NEXT || t->role == TAVS_ROLE_BEHIND )
        role = TAVS_ROLE_BEHIND;
    else
        role = TAVS_ROLE_NONE;

    /* A chain ends with the first task that is not part of it. */
    t->answering = role != TAVS_ROLE_NONE;

    tavs_begin_segment(t, id, role, now);
    if ( id != kernel )
        tavs_remember(t, id);

    if ( role == TAVS_ROLE_NEXT )
    {
        const struct tavs_task *task = tavs_tasks_find(t, id);

        t->changed = task && now - task->last_run > p->forgive;
    }

    verdict = tavs_tasks_verdict(t, kernel);

    if ( t->stage == TAVS_STAGE_WOKEN && id != kernel )
    {
        if ( verdict == TAVS_IO_BOUND )
            tavs_conclude(t, true);
        else if ( verdict == TAVS_OTHER )
            tavs_conclude(t, false);
    }

    return verdict;
}

bool tavs_tasks_inspect(struct tavs_tasks *t, unsigned int size)
{
    unsigned int i;

    for ( i = 0; i < size && i < TAVS_WINDOW_MAX; i++ )
    {
        unsigned int at = (t->newest - i) % TAVS_WINDOW_MAX;
        const struct tavs_task *task = tavs_tasks_find(t, t->window[at]);

        if ( task && task->belief > t->threshold )
            return true;
    }

    return false;
}

void tavs_tasks_forget(struct tavs_tasks *t, const struct tavs_params *p,
                       unsigned long id)
{
    struct tavs_task *task = tavs_tasks_find(t, id);
    unsigned int i;

    for ( i = 0; i < TAVS_WINDOW_MAX; i++ )
        if ( t->window[i] == id )
            t->window[i] = 0;

    if ( task )
    {
        int before = task->belief;

        tavs_set_belief(t, p, task, 0);
        tavs_note(t, task, TAVS_FORGOTTEN, before, 0);
        task->id = 0;
    }

    if ( t->cur == id )
        t->cur = 0;
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
