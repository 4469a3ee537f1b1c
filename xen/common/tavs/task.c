/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks of a domain are I/O-bound.
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
 *   Beliefs are the domain's; a segment is a vCPU's.  A task that moves from
 *   one vCPU to another takes its belief along.
 *
 * 4. Where this says more than the paper, and why
 *
 *   - The past.  Every program starts by computing: exec, page faults,
 *     linking, filling its tables.  One such segment costs as much belief as
 *     four requests earn, and there are several.  Positive evidence counts
 *     from 0, however negative the belief was, if there was no negative one
 *     for a second: the task has changed.  A CPU-bound task has negative
 *     evidence whenever it runs, and stays where it is.  A task that comes right
 *     after an event (T2), without negative evidence for as long, is undecided
 *     again, so that it can show it, also in a boost that was for another task.
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
 *   - A task that is torn down is forgotten.  A believed task without positive
 *     evidence for two minutes goes back to the threshold, from where one more
 *     makes it believed.
 *   - A process that a believed one makes begins as the least believed: servers
 *     fork for each connection, and the child answers.  One long segment
 *     takes it away.
 *   - A believed task that has run for longer than the I/O threshold is served
 *     as what its segment will be evidence of: CPU-bound.
 *   - The kernel's own address space is no task.  It is known by what it does:
 *     no user mode belongs to it.  The first one that is switched to may be
 *     anybody's, after a restore or a migration.
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

static const struct tavs_task *tavs_set(const struct tavs_tasks *t,
                                        unsigned long id)
{
    return t->task[(id ^ (id >> 6) ^ (id >> 12)) % TAVS_TASK_SETS];
}

struct tavs_task *tavs_tasks_find(const struct tavs_tasks *t, unsigned long id)
{
    const struct tavs_task *set = tavs_set(t, id);
    unsigned int i;

    for ( i = 0; id && i < TAVS_TASK_WAYS; i++ )
        if ( set[i].id == id )
            return (struct tavs_task *)&set[i];

    return NULL;
}

static struct tavs_task *tavs_get(struct tavs_tasks *t, unsigned long id)
{
    struct tavs_task *set = (struct tavs_task *)tavs_set(t, id), *victim = NULL;
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
static void tavs_note(struct tavs_changes *changes,
                      const struct tavs_task *task, enum tavs_cause cause,
                      int before, int64_t used)
{
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
static int64_t tavs_used(const struct tavs_segment *s, int64_t now)
{
    return s->used + (s->running && now > s->since ? now - s->since : 0);
}

/* The reaction to the event is over: who was woken up was, or not, for I/O. */
static void tavs_conclude(struct tavs_segment *s, bool woken_io)
{
    s->stage = TAVS_STAGE_OVER;
    s->outcome = woken_io ? TAVS_OUTCOME_IO
                          : s->first_io ? TAVS_OUTCOME_UNCLEAR
                                        : TAVS_OUTCOME_OTHER;
}

/* A segment ends, of which it was learned whether the task is for I/O. */
static void tavs_end_stage(struct tavs_segment *s, bool io, bool is_kernel,
                           bool blocks)
{
    switch ( s->stage )
    {
    case TAVS_STAGE_OVER:
        break;

    case TAVS_STAGE_FIRST:
        if ( s->role == TAVS_ROLE_RESUMED )
        {
            if ( blocks )
                tavs_conclude(s, io);
            else
                s->stage = TAVS_STAGE_WOKEN;
            break;
        }

        s->first_io = io;
        if ( blocks || !s->answering )
            tavs_conclude(s, false);
        else
            s->stage = TAVS_STAGE_WOKEN;
        break;

    case TAVS_STAGE_WOKEN:
        if ( !is_kernel || blocks || !s->answering )
            tavs_conclude(s, io);
        break;
    }
}

enum tavs_outcome tavs_segment_outcome(struct tavs_segment *s)
{
    enum tavs_outcome outcome = s->outcome;

    s->outcome = TAVS_OUTCOME_NONE;

    return outcome;
}

/* The segment ends: what is it evidence of, and what may follow it? */
static void tavs_end_segment(struct tavs_segment *s,
                             const struct tavs_params *p, int64_t now,
                             bool blocks)
{
    struct tavs_tasks *t = s->tasks;
    int64_t used = tavs_used(s, now);
    bool is_kernel = s->cur == t->kernel;
    bool is_short = used <= p->io_threshold;
    bool positive = is_short &&
                    (s->role == TAVS_ROLE_NEXT || s->role == TAVS_ROLE_BEHIND ||
                     (s->role == TAVS_ROLE_RESUMED && blocks));
    struct tavs_task *task = NULL;
    int before;

    /* Who ran as the event arrived may have been long at it before. */
    s->elapsed += used - s->reaction;
    if ( s->elapsed > p->io_threshold )
        s->answering = false;

    if ( s->cur && !is_kernel )
        task = positive || !is_short ? tavs_get(t, s->cur)
                                     : tavs_tasks_find(t, s->cur);
    if ( !task )
    {
        tavs_end_stage(s, false, is_kernel, blocks);
        return;
    }

    before = task->belief;

    if ( positive )
    {
        int belief = before;

        if ( belief < 0 && now - task->last_cpu > p->forgive )
            belief = 0;

        t->positives++;
        if ( task->positives < INT32_MAX )
            task->positives++;
        task->last_io = now;
        tavs_set_belief(t, p, task, belief + p->positive);
        tavs_note(s->changes, task, TAVS_POSITIVE, before, used);
    }
    else if ( !is_short )
    {
        t->negatives++;
        if ( task->negatives < INT32_MAX )
            task->negatives++;
        task->last_cpu = now;
        tavs_set_belief(t, p, task, before - p->negative);
        tavs_note(s->changes, task, TAVS_NEGATIVE, before, used);
    }
    else
        tavs_note(s->changes, task, TAVS_AMBIGUOUS, before, used);

    tavs_end_stage(s, task->belief > t->threshold ||
                      (positive && task->belief > 0), false, blocks);
}

static void tavs_begin_segment(struct tavs_segment *s, unsigned long id,
                               enum tavs_role role, int64_t now)
{
    s->cur = id;
    s->role = role;
    s->asked = false;
    s->changed = false;
    s->used = 0;
    s->reaction = 0;
    s->since = now;
}

/* Who comes back after idle, or after the kernel alone, counts once. */
static void tavs_remember(struct tavs_segment *s, unsigned long id)
{
    if ( s->window[s->newest] == id )
        return;

    s->newest = (s->newest + 1) % TAVS_WINDOW_MAX;
    s->window[s->newest] = id;
}

/* Beliefs without recent evidence return to the threshold.  One set a call. */
static void tavs_age(struct tavs_segment *s, const struct tavs_params *p,
                     int64_t now)
{
    struct tavs_tasks *t = s->tasks;
    struct tavs_task *set = t->task[t->hand++ % TAVS_TASK_SETS];
    unsigned int i;

    for ( i = 0; i < TAVS_TASK_WAYS; i++ )
        if ( set[i].id && set[i].belief > t->threshold &&
             now - set[i].last_io > p->age )
        {
            int before = set[i].belief;

            tavs_set_belief(t, p, &set[i], t->threshold);
            tavs_note(s->changes, &set[i], TAVS_AGED, before, 0);
        }
}

void tavs_tasks_init(struct tavs_tasks *t)
{
    memset(t, 0, sizeof(*t));
}

void tavs_tasks_restart(struct tavs_tasks *t)
{
    memset(t, 0, offsetof(struct tavs_tasks, positives));
}

void tavs_segment_init(struct tavs_segment *s, struct tavs_tasks *t)
{
    *s = (struct tavs_segment){ .tasks = t, .idle = true };
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

/* May what runs, or is about to be switched to, still be for the event? */
static bool tavs_answering(const struct tavs_segment *s,
                           const struct tavs_params *p, int64_t now)
{
    return s->answering &&
           s->elapsed + tavs_used(s, now) - s->reaction <= p->io_threshold;
}

void tavs_segment_asks(struct tavs_segment *s)
{
    s->asked = !s->idle;
}

void tavs_segment_event(struct tavs_segment *s, const struct tavs_params *p,
                        int64_t when)
{
    bool joins;

    if ( s->asked && !s->idle )
    {
        tavs_end_segment(s, p, when, true);
        tavs_begin_segment(s, s->cur, TAVS_ROLE_NEXT, when);
        s->first = 0;
        s->answering = true;
        s->elapsed = 0;
        s->stage = TAVS_STAGE_OVER;
        return;
    }

    joins = !s->idle && s->role == TAVS_ROLE_NEXT && tavs_answering(s, p, when);

    if ( !joins || s->stage == TAVS_STAGE_OVER )
    {
        s->stage = TAVS_STAGE_FIRST;
        s->first_io = false;
    }

    if ( joins )
        return;

    s->answering = true;
    s->elapsed = 0;

    if ( s->idle )
    {
        s->first = 0;
        return;
    }

    s->first = s->cur;
    s->role = TAVS_ROLE_RUNNING;
    s->reaction = tavs_used(s, when);
}

void tavs_segment_in(struct tavs_segment *s, const struct tavs_params *p,
                     int64_t now)
{
    int threshold = *(const volatile int *)&p->threshold;

    if ( s->tasks->threshold != threshold )
        tavs_recount(s->tasks, threshold);

    if ( s->idle )
    {
        tavs_begin_segment(s, s->cur, s->answering ? TAVS_ROLE_RESUMED
                                                   : TAVS_ROLE_NONE, now);
        s->idle = false;
    }

    s->since = now;
    s->running = true;
}

/* Was the event for nobody who did anything until now? */
static void tavs_end_waiting(struct tavs_segment *s,
                             const struct tavs_params *p, int64_t now)
{
    const struct tavs_task *task;

    switch ( s->stage )
    {
    case TAVS_STAGE_OVER:
        break;

    case TAVS_STAGE_FIRST:
        if ( tavs_answering(s, p, now) )
            break;

        task = s->role == TAVS_ROLE_RESUMED ? NULL
                                            : tavs_tasks_find(s->tasks, s->cur);
        s->first_io = task && task->belief > s->tasks->threshold;
        tavs_conclude(s, false);
        break;

    case TAVS_STAGE_WOKEN:
        if ( tavs_used(s, now) > p->io_threshold )
            tavs_conclude(s, false);
        break;
    }
}

void tavs_segment_out(struct tavs_segment *s, const struct tavs_params *p,
                      int64_t now, bool blocks)
{
    if ( blocks )
    {
        tavs_end_segment(s, p, now, true);
        s->answering = false;
        s->idle = true;
        s->used = 0;
    }
    else
    {
        s->used = tavs_used(s, now);
        s->running = false;
        if ( s->role == TAVS_ROLE_BEHIND )
            s->role = TAVS_ROLE_NONE;

        tavs_end_waiting(s, p, now);
    }

    s->running = false;

    tavs_age(s, p, now);
}

enum tavs_verdict tavs_segment_verdict(const struct tavs_segment *s,
                                       const struct tavs_params *p,
                                       int64_t now)
{
    const struct tavs_task *task = tavs_tasks_find(s->tasks, s->cur);

    if ( task && task->belief > s->tasks->threshold )
        return tavs_used(s, now) > p->io_threshold ? TAVS_OTHER
                                                   : TAVS_IO_BOUND;

    /* Until the guest has switched, it is still about to answer the event. */
    if ( s->role == TAVS_ROLE_NONE )
        return TAVS_OTHER;

    if ( s->cur == s->tasks->kernel )
        return TAVS_UNDECIDED;

    /* Who ran as the event arrived was not woken by it, and just goes on. */
    if ( s->role == TAVS_ROLE_BEHIND && s->cur == s->first )
        return TAVS_OTHER;

    return !task || task->belief >= 0 || s->changed ? TAVS_UNDECIDED
                                                    : TAVS_OTHER;
}

bool tavs_segment_woken(const struct tavs_segment *s)
{
    return s->role == TAVS_ROLE_NEXT || s->role == TAVS_ROLE_BEHIND ||
           s->role == TAVS_ROLE_RESUMED;
}

/* An address space first runs: is it that of a believed task's child? */
static void tavs_inherit(struct tavs_segment *s, const struct tavs_params *p,
                         int64_t now)
{
    struct tavs_tasks *t = s->tasks;
    struct tavs_task *task;
    unsigned int i;

    if ( now > t->born_until )
        return;

    for ( i = 0; i < TAVS_BORN_MAX && t->born[i] != s->cur; i++ )
        continue;
    if ( i == TAVS_BORN_MAX )
        return;

    t->born[i] = 0;
    task = tavs_get(t, s->cur);
    if ( !task || task->belief )
        return;

    task->last_io = now;
    tavs_set_belief(t, p, task, t->threshold + p->positive);
    tavs_note(s->changes, task, TAVS_BORN, 0, 0);
}

/* Only the kernel runs in an address space without user mode: by what it does. */
static void tavs_recognise_kernel(struct tavs_segment *s,
                                  const struct tavs_params *p, bool was_kernel)
{
    struct tavs_tasks *t = s->tasks;

    if ( !s->cur || was_kernel == (s->cur == t->kernel) )
        return;

    if ( was_kernel )
        tavs_tasks_forget(t, p, s->cur, s->changes);
    t->kernel = was_kernel ? s->cur : 0;
}

enum tavs_verdict tavs_segment_switch(struct tavs_segment *s,
                                      const struct tavs_params *p,
                                      unsigned long id, bool was_kernel,
                                      int64_t now)
{
    struct tavs_tasks *t = s->tasks;
    enum tavs_verdict verdict;
    enum tavs_role role;

    s->switches++;
    tavs_recognise_kernel(s, p, was_kernel);
    tavs_end_segment(s, p, now, false);

    /* The kernel's own address space does not come between two tasks. */
    if ( !s->answering )
        role = TAVS_ROLE_NONE;
    else if ( s->role == TAVS_ROLE_RUNNING || s->role == TAVS_ROLE_RESUMED ||
              (s->cur == t->kernel && s->role == TAVS_ROLE_NEXT) )
        role = TAVS_ROLE_NEXT;
    else if ( s->role == TAVS_ROLE_NEXT || s->role == TAVS_ROLE_BEHIND )
        role = TAVS_ROLE_BEHIND;
    else
        role = TAVS_ROLE_NONE;

    /* A chain ends with the first task that is not part of it. */
    s->answering = role != TAVS_ROLE_NONE;

    tavs_begin_segment(s, id, role, now);
    tavs_inherit(s, p, now);
    if ( id != t->kernel )
        tavs_remember(s, id);

    if ( role == TAVS_ROLE_NEXT )
    {
        const struct tavs_task *task = tavs_tasks_find(t, id);

        s->changed = task && now - task->last_cpu > p->forgive;
    }

    verdict = tavs_segment_verdict(s, p, now);

    if ( s->stage == TAVS_STAGE_WOKEN && id != t->kernel )
    {
        if ( verdict == TAVS_IO_BOUND )
            tavs_conclude(s, true);
        else if ( verdict == TAVS_OTHER )
            tavs_conclude(s, false);
    }

    return verdict;
}

bool tavs_segment_inspect(const struct tavs_segment *s, unsigned int size)
{
    unsigned int i;

    for ( i = 0; i < size && i < TAVS_WINDOW_MAX; i++ )
    {
        unsigned int at = (s->newest - i) % TAVS_WINDOW_MAX;
        const struct tavs_task *task = tavs_tasks_find(s->tasks, s->window[at]);

        if ( task && task->belief > s->tasks->threshold )
            return true;
    }

    return false;
}

void tavs_tasks_forget(struct tavs_tasks *t, const struct tavs_params *p,
                       unsigned long id, struct tavs_changes *changes)
{
    struct tavs_task *task = tavs_tasks_find(t, id);

    if ( task )
    {
        int before = task->belief;

        tavs_set_belief(t, p, task, 0);
        tavs_note(changes, task, TAVS_FORGOTTEN, before, 0);
        task->id = 0;
    }

    if ( t->kernel == id )
        t->kernel = 0;
}

void tavs_segment_bears(struct tavs_segment *s, const struct tavs_params *p,
                        unsigned long child, int64_t now)
{
    struct tavs_tasks *t = s->tasks;
    const struct tavs_task *parent = tavs_tasks_find(t, s->cur);

    /* Of a former use of the same table. */
    tavs_tasks_forget(t, p, child, s->changes);

    if ( !parent || parent->belief <= t->threshold )
        return;

    t->born[t->births++ % TAVS_BORN_MAX] = child;
    t->born_until = now + p->forgive;
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
