/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evidence and belief: cases from the TAVS paper (section 3.1, Figure 2, the
 * slides), from the departures that task.c lists, and from what a guest could
 * do to it.
 *
 * A case is a script of what happens to one vCPU, and what is believed of its
 * tasks afterwards:
 *
 *   in        the vCPU gets the pCPU
 *   out       ... loses it, while it could go on
 *   block     ... loses it, because it has nothing to run
 *   event     an I/O event becomes pending
 *   asks      the running task asks a back end for a block
 *   +300      300 us pass
 *   a b c     the vCPU switches to that task; k is the kernel's page table
 *   !a        a is torn down
 *
 * Tasks begin at belief 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "check.h"
#include "latency.h"
#include "task.h"

#define KERNEL 1000UL

static unsigned long task_id(char c)
{
    return c == 'k' ? KERNEL : (unsigned long)(c - 'a' + 1);
}

static int belief(struct tavs_tasks *t, unsigned long id)
{
    const struct tavs_task *task = tavs_tasks_find(t, id);

    return task ? task->belief : 0;
}

static enum tavs_verdict verdict;

static void play(struct tavs_tasks *t, const struct tavs_params *p,
                 const char *script, int64_t *now)
{
    char *copy = strdup(script), *save, *word;

    for ( word = strtok_r(copy, " ", &save); word;
          word = strtok_r(NULL, " ", &save) )
    {
        if ( !strcmp(word, "in") )
            tavs_tasks_in(t, p, *now);
        else if ( !strcmp(word, "out") )
            tavs_tasks_out(t, p, KERNEL, *now, false);
        else if ( !strcmp(word, "block") )
            tavs_tasks_out(t, p, KERNEL, *now, true);
        else if ( !strcmp(word, "event") )
            tavs_tasks_event(t, p, KERNEL, *now);
        else if ( !strcmp(word, "asks") )
            tavs_tasks_asks(t);
        else if ( *word == '+' )
            *now += atol(word + 1) * 1000;
        else if ( *word == '!' )
            tavs_tasks_forget(t, p, task_id(word[1]));
        else if ( strlen(word) == 1 )
            verdict = tavs_tasks_switch(t, p, KERNEL, task_id(*word), *now);
        else
        {
            fprintf(stderr, "ERROR: what is '%s'?\n", word);
            exit(2);
        }
    }

    free(copy);
}

#define MAX_TASKS 6

static const struct {
    const char *name;
    const char *script;
    int belief[MAX_TASKS];          /* of a, b, c, ... */
} cases[] = {
    /* Figure 2, with the threshold at 0.5 ms: T1..T6 are a..f. */
    { "figure 2",
      "in a event +100 b +200 c +300 d +900 e +300 f +900 a",
      { 0, 5, 5, -20, 0, -20 } },
    { "the running task is ambiguous though short",
      "in a event +100 b +900 a", { 0, -20 } },
    { "right after the event and short is positive",
      "in a event +100 b +400 a", { 0, 5 } },
    { "at the threshold is short",
      "in a event +100 b +500 a", { 0, 5 } },
    { "above the threshold is long",
      "in a event +100 b +501 a", { 0, -20 } },
    { "right after the event but long is negative",
      "in a event +100 b +600 a", { 0, -20 } },
    { "short without an event is ambiguous",
      "in a +100 b +100 c +100 a", { 0, 0, 0 } },
    { "long without an event is negative",
      "in a +900 b +900 a", { -20, -20 } },
    { "short behind a long one is ambiguous",
      "in a event +100 b +900 c +100 a", { 0, -20, 0 } },
    { "several wait for one event",
      "in a event +10 b +100 c +100 d +100 e +900 a", { 0, 5, 5, 5, -20 } },
    { "a row of short tasks does not go on for ever",
      "in a event +100 b +150 c +150 d +150 e +150 f +150 a",
      { 0, 5, 5, 5, 0, 0 } },
    { "the running task long before the event is negative",
      "in a +9000 event +100 b +100 a", { -20, 5 } },

    /* A back end that answers before the task sleeps. */
    { "each answer is a segment",
      "in a event +100 b +300 asks out event +90 in +300 asks out event in +300 a",
      { 0, 15 } },
    { "... also where it kept its pCPU",
      "in a event +100 b +300 asks event +300 asks event +300 a", { 0, 15 } },
    { "... and a long one is long",
      "in a event +100 b +300 asks out event +90 in +600 a", { 0, -15 } },
    { "without having asked it is one",
      "in a event +100 b +300 out event +90 in +300 a", { 0, -20 } },

    /* What belongs to the event. */
    { "too long after the event is not because of it",
      "in a event +600 b +100 a", { -20, 0 } },
    { "an event that wakes nobody changes nothing for later tasks",
      "in a event +30000 out +9000 in +600 b +100 a", { -20, 0 } },
    { "the event came while the vCPU was queued",
      "in a +100 out event +90000 in +100 b +100 a", { 0, 5 } },
    { "an event during the answer to another leaves it the answer",
      "in a event +100 b +100 event +100 c +100 a", { 0, 5, 5 } },
    { "... also when the back end runs in between",
      "in a event +100 b +50 out event +90 in +20 a", { 0, 5 } },
    { "an event long after an answer is a new one",
      "in a event +100 b +100 event +50 a +30000 event +100 b +100 a",
      { -20, 10 } },
    { "an event behind the answer makes who runs there ambiguous",
      "in a event +100 b +100 c +50 event +50 b +100 a", { 0, 10, 0 } },

    /* Segments are CPU time of the vCPU. */
    { "waiting for a pCPU is not running",
      "in a event +100 b +100 out +90000 in +100 a", { 0, 5 } },
    { "two parts of a segment add up",
      "in a event +100 b +300 out +90000 in +300 a", { 0, -20 } },
    { "a deschedule is no evidence (design 7.6)",
      "in a event +100 b +100 c +5 out +9000 in +100 b", { 0, 5, 0 } },
    { "a deschedule does not make a long segment short",
      "in a event +100 b +100 c +5 out +9000 in +900 b", { 0, 5, -20 } },
    { "cut off at its own switch, a task can still show itself (7.1)",
      "in a event +100 b +1 out +90000 in +80 a", { 0, 5 } },

    /* Idle. */
    { "one task that answers and blocks (7.7)",
      "in a +10 block +500 event +10 in +200 block", { 5 } },
    { "... again and again",
      "in a +10 block event +10 in +90 block event +10 in +90 block", { 10 } },
    { "awake without an I/O event is no evidence",
      "in a +10 block +500 in +200 block", { 0 } },
    { "resumed from idle, then another task answers",
      "in a +10 block +500 event in +70 b +80 block", { 0, 5 } },
    { "long after idle is negative",
      "in a +10 block +500 event in +900 block", { -20 } },
    { "blocking ends a segment",
      "in a event +100 b +100 block +900 in +500 a", { 0, 5 } },
    { "what happens after idle has nothing to do with the event before",
      "in a event +100 b +100 block +900 in b +100 c +100 b", { 0, 5, 0 } },

    /* The kernel's own page table is no task and does not come between. */
    { "kernel in between",
      "in a event +50 k +50 b +100 a", { 0, 5 } },
    { "kernel alone",
      "in a event +50 k +100 block", { 0 } },

    /* Tear down. */
    { "torn down is forgotten",
      "in a event +100 b +100 a !b", { 0, 0 } },
    { "torn down while it runs",
      "in a event +100 b !b +100 a", { 0, 0 } },
};

static const struct tavs_params paper = {
    .io_threshold = 500000, .age = 120000000000LL, .forgive = 1000000000,
    .positive = 5, .negative = 20, .threshold = 20, .min = -100, .max = 300,
};

static void test_cases(void)
{
    unsigned int i, j;

    for ( i = 0; i < sizeof(cases) / sizeof(cases[0]); i++ )
    {
        struct tavs_tasks t;
        int64_t now = 1000000;

        tavs_tasks_init(&t);
        play(&t, &paper, cases[i].script, &now);

        for ( j = 0; j < MAX_TASKS; j++ )
            check(belief(&t, j + 1) == cases[i].belief[j], cases[i].name,
                  "belief of %c is %d, not %d", 'a' + j, belief(&t, j + 1),
                  cases[i].belief[j]);
    }
}

/* 5 a positive evidence, above 20 believed: the fifth request makes it. */
static void test_learning(void)
{
    struct tavs_tasks t;
    int64_t now = 0;
    unsigned int i;

    tavs_tasks_init(&t);
    play(&t, &paper, "in a", &now);
    for ( i = 1; i <= 70; i++ )
    {
        play(&t, &paper, "event +100 b +100 a +30000", &now);
        check(t.believed == (i >= 5), "learning",
              "after %u requests %u tasks are believed", i, t.believed);
        check(belief(&t, 2) == (i < 60 ? 5 * (int)i : 300), "range",
              "after %u requests the belief is %d", i, belief(&t, 2));
    }
    check(belief(&t, 1) == -100, "range", "the hog is at %d", belief(&t, 1));

    play(&t, &paper, "event +100 b", &now);
    check(verdict == TAVS_IO_BOUND, "verdict", "b is %d", verdict);
    play(&t, &paper, "+100 a", &now);
    check(verdict == TAVS_OTHER, "verdict", "a is %d", verdict);

    /* From the top it takes 15 long segments to lose faith: 300 - 15 * 20. */
    for ( i = 1; i <= 14; i++ )
        play(&t, &paper, "b +900 a +900", &now);
    check(t.believed == 0 && belief(&t, 2) == 20, "unlearning",
          "%u believed, belief %d", t.believed, belief(&t, 2));
}

/* Unknown tasks that answer an event may run on; others may not (7.1). */
static void test_undecided(void)
{
    struct tavs_tasks t;
    int64_t now = 0;

    tavs_tasks_init(&t);
    play(&t, &paper, "in a event +100 b", &now);
    check(verdict == TAVS_UNDECIDED, "undecided", "new, after event: %d",
          verdict);
    play(&t, &paper, "+100 c", &now);
    check(verdict == TAVS_UNDECIDED, "undecided", "new, behind: %d", verdict);
    play(&t, &paper, "+900 d", &now);
    check(verdict == TAVS_OTHER, "undecided", "behind a long one: %d", verdict);
    play(&t, &paper, "event +100 c", &now);
    check(verdict == TAVS_OTHER, "undecided", "thought CPU-bound: %d", verdict);
    play(&t, &paper, "+100 k", &now);
    check(verdict == TAVS_UNDECIDED, "undecided", "the kernel: %d", verdict);
}

/* What a task did long before it answers is not held against it. */
static void test_forgiven(void)
{
    struct tavs_tasks t;
    int64_t now = 0;

    tavs_tasks_init(&t);
    play(&t, &paper, "in a b +9000 a +9000 b +9000 a", &now);
    check(belief(&t, 2) == -40, "start", "belief %d", belief(&t, 2));
    play(&t, &paper, "event +100 b +100 a", &now);
    check(belief(&t, 2) == -35, "too soon", "belief %d", belief(&t, 2));
    now += paper.forgive;
    play(&t, &paper, "event +100 b +100 a", &now);
    check(belief(&t, 2) == 5, "forgiven", "belief %d", belief(&t, 2));
    play(&t, &paper, "event +100 b +100 a", &now);
    check(belief(&t, 2) == 10, "goes on", "belief %d", belief(&t, 2));
    play(&t, &paper, "b +9000 a event +100 b +100 a", &now);
    check(belief(&t, 2) == -5, "not again", "belief %d", belief(&t, 2));

    /* Undecided again is who has slept, if an event woke it. */
    play(&t, &paper, "event +100 b", &now);
    check(verdict == TAVS_OTHER, "too soon", "verdict %d", verdict);
    now += paper.forgive;
    play(&t, &paper, "+100 a", &now);
    now += paper.forgive;
    play(&t, &paper, "b", &now);
    check(verdict == TAVS_OTHER, "for no event", "verdict %d", verdict);
    play(&t, &paper, "+100 a event +100 b", &now);
    check(verdict == TAVS_OTHER, "has just run", "verdict %d", verdict);
    play(&t, &paper, "+100 a", &now);
    now += paper.forgive;
    play(&t, &paper, "event +100 b", &now);
    check(verdict == TAVS_UNDECIDED, "forgiven", "verdict %d", verdict);
    play(&t, &paper, "out +9000 in", &now);
    check(tavs_tasks_verdict(&t, KERNEL) == TAVS_UNDECIDED, "forgiven",
          "cut off: verdict %d", tavs_tasks_verdict(&t, KERNEL));
    play(&t, &paper, "+900 a event +100 b", &now);
    check(verdict == TAVS_OTHER, "not again", "verdict %d", verdict);
}

static void test_age(void)
{
    struct tavs_tasks t;
    int64_t now = 0;
    unsigned int i;

    tavs_tasks_init(&t);
    play(&t, &paper, "in a", &now);
    for ( i = 0; i < 10; i++ )
        play(&t, &paper, "event +100 b +100 a +900", &now);
    check(t.believed == 1, "age", "%u believed", t.believed);

    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        play(&t, &paper, "out in", &now);
    check(t.believed == 1, "age", "%u believed, at once", t.believed);

    now += paper.age;
    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        play(&t, &paper, "out in", &now);
    check(t.believed == 0 && belief(&t, 2) == 20, "age",
          "%u believed, belief %d", t.believed, belief(&t, 2));
    play(&t, &paper, "event +100 b +100 a", &now);
    check(t.believed == 1, "age", "not revived");
}

/* A guest that rotates address spaces displaces no believed task. */
static void test_churn(void)
{
    struct tavs_tasks t;
    int64_t now = 0;
    unsigned long id;
    unsigned int i, n = 0, j;

    tavs_tasks_init(&t);
    play(&t, &paper, "in a", &now);
    for ( i = 0; i < 5; i++ )
        play(&t, &paper, "event +100 b +100 a +900", &now);

    for ( id = 2000; id < 200000; id++ )
    {
        tavs_tasks_switch(&t, &paper, KERNEL, id, now);
        now += 1000;
    }
    check(t.believed == 1 && belief(&t, 2) == 25, "churn",
          "%u believed, belief %d", t.believed, belief(&t, 2));

    /* Nor does it help to have each of them believed. */
    for ( id = 2000; id < 20000; id++ )
        for ( i = 0; i < 6; i++ )
        {
            tavs_tasks_event(&t, &paper, KERNEL, now);
            tavs_tasks_switch(&t, &paper, KERNEL, id, now);
            now += 1000;
            tavs_tasks_switch(&t, &paper, KERNEL, 1, now);
            now += 1000;
        }

    check(belief(&t, 2) == 25, "churn of believed tasks", "belief %d",
          belief(&t, 2));
    check(t.lost > 0, "churn of believed tasks", "the table never filled");

    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        for ( j = 0; j < TAVS_TASK_WAYS; j++ )
            n += t.task[i][j].id && t.task[i][j].belief > paper.threshold;
    check(n == t.believed, "count", "%u, not %u", t.believed, n);
}

/* Whatever happens in whatever order, the count and the range hold. */
static void test_random(void)
{
    static const char *const words[] = {
        "event", "+10", "+100", "+600", "a", "b", "c", "d", "k", "!a", "!b",
    };
    unsigned int seed, step;

    for ( seed = 0; seed < 2000; seed++ )
    {
        struct tavs_tasks t;
        uint64_t state = seed * 2654435761ULL + 1;
        int64_t now = 0;
        bool in = false;

        tavs_tasks_init(&t);
        for ( step = 0; step < 200; step++ )
        {
            unsigned int r, i, j, n = 0;
            bool range = true;

            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            r = (state >> 33) % 14;
            if ( !in )
                play(&t, &paper, r & 1 ? "+50 event in" : "+50 in", &now);
            else if ( r < 11 )
                play(&t, &paper, words[r], &now);
            else
                play(&t, &paper, r == 11 ? "out" : "block", &now);
            in = !in || r < 11;

            for ( i = 0; i < TAVS_TASK_SETS; i++ )
                for ( j = 0; j < TAVS_TASK_WAYS; j++ )
                {
                    const struct tavs_task *task = &t.task[i][j];

                    n += task->id && task->belief > paper.threshold;
                    range &= task->belief >= paper.min &&
                             task->belief <= paper.max;
                }
            if ( n != t.believed || !range || t.used < 0 )
            {
                check(false, "random", "seed %u step %u: %u believed, %u in "
                      "the table", seed, step, t.believed, n);
                return;
            }
        }
    }
    check(true, "random", "");
}

/*
 * The inspection window (3.3.1).  `a` is I/O-bound, others are not.  What is
 * found for each size of the window, 1 to 8, as a bit string.
 */
static const struct {
    const char *name;
    const char *script;
    const char *found;
} windows[] = {
    /*
     * The paper's example: T1 asks for the 100th block, T2 for the 200th; the
     * driver handles both requests while T2 runs; the window's size is two.
     */
    { "both requests are handled while T2 runs", "a b", "01111111" },
    { "the 100th block alone, at once", "a", "11111111" },
    { "the 200th block alone: T1 is too far back", "a b c b", "00011111" },

    { "nobody is I/O-bound", "b c d e b c d e", "00000000" },
    { "who runs counts", "b c a", "11111111" },
    { "three are looked at", "a b c", "00111111" },
    { "... and not the fourth", "a b c d", "00011111" },
    { "the eighth", "a b c d e b c d", "00000001" },
    { "the ninth is forgotten", "a b c d e b c d e", "00000000" },
    { "the kernel's page table is no task", "a k b k", "01111111" },
    { "who comes back after idle counts once", "a b block in b", "01111111" },
    { "who is scheduled again counts again", "a b c b c", "00001111" },
    { "who was torn down asks for nothing", "a b !a", "00000000" },
};

static void test_window(void)
{
    unsigned int i, size;

    for ( i = 0; i < sizeof(windows) / sizeof(windows[0]); i++ )
    {
        struct tavs_tasks t;
        int64_t now = 0;
        unsigned int n;

        tavs_tasks_init(&t);
        check(!tavs_tasks_inspect(&t, TAVS_WINDOW_MAX),
              windows[i].name, "somebody waits, before anybody ran");

        play(&t, &paper, "in b", &now);
        for ( n = 0; n < 10; n++ )
            play(&t, &paper, "event +100 a +100 b +900", &now);
        play(&t, &paper, "c d e b c d e b", &now);
        play(&t, &paper, windows[i].script, &now);

        for ( size = 1; size <= TAVS_WINDOW_MAX; size++ )
            check(tavs_tasks_inspect(&t, size) ==
                  (windows[i].found[size - 1] == '1'),
                  windows[i].name, "window of %u", size);

        check(!tavs_tasks_inspect(&t, 0), windows[i].name,
              "something is found in nothing");
        check(tavs_tasks_inspect(&t, 1000) ==
              (windows[i].found[TAVS_WINDOW_MAX - 1] == '1'),
              windows[i].name, "beyond the longest window");
    }
}

/* What is believed as the window is looked at counts. */
static void test_window_belief(void)
{
    struct tavs_tasks t;
    int64_t now = 0;
    unsigned int i;

    tavs_tasks_init(&t);
    play(&t, &paper, "in b", &now);
    for ( i = 0; i < 5; i++ )
    {
        check(!tavs_tasks_inspect(&t, 3), "window, belief",
              "not yet believed after %u", i);
        play(&t, &paper, "event +100 a +100 b +900", &now);
    }
    check(tavs_tasks_inspect(&t, 3), "window, belief", "believed");

    play(&t, &paper, "a +900 b", &now);
    check(!tavs_tasks_inspect(&t, 3), "window, belief",
          "believed no more");
}

/*
 * Channels.  A script of what happens, with the expected answer to each event:
 *
 *   N n       the front end notifies, for an I/O-bound task, or not
 *   m M       the back end unmaps a page that was read into; M: waited for
 *   w         ... unmaps a page that was mapped read-only
 *   f t       ... copies from, or to, the guest
 *   + -       it sends an event, which is to boost, or not
 *   p         it sends one that announces packets
 */
static const struct {
    const char *name;
    const char *script;
} channels[] = {
    /* The paper's way. */
    { "each read maps a page", "NM+ nm- NM+ nm-" },
    { "the mapping decides, not the notification", "Nm- Nm- Nm- nM+" },
    { "several pages, one waited for", "NmMm+ nm-" },
    { "unmapped before, told of with the next event", "NM+ NMnm+ nm-" },
    { "writes are no completion", "NM+ NM+ Nw- NM+ Nw- Nw- NM+" },

    /* Persistent grants. */
    { "nothing is mapped", "N+ N+ n+ n- n-" },
    { "nobody waits", "n- n- n-" },
    { "one notification, two completions", "N+ + -" },
    { "what is left when nobody reads any more", "N N N + + + - -" },
    { "others' notifications use marks up", "N N n n n - -" },
    { "the pool of mapped pages is trimmed", "N+ N+ m- N+ N+" },

    /* Grant copy. */
    { "copies to the guest", "Nt+ Nt+ nt+ nt- Nt+" },

    /* A network interface. */
    { "what was sent has gone", "Nf- Nf- Nf- NfNf- N- Nf-" },
    { "large packets are mapped read-only", "Nw- Nw- Nw-" },
    { "one channel for both directions", "tp Nf- N- tp N- N- tp" },
    { "a channel of packets stays one", "p p N- N- N-" },
    { "the event of another device between unmapping and telling",
      "Nf- Nf- Nf- M- Nf-" },

    /* Change of use. */
    { "from the network to a disk", "p p N- N- N- N+ N+" },
    { "from mapping to persistent", "NM+ NM+ NM+ N- N- N+ N+" },
    { "from persistent to mapping", "N+ N+ NM+ NM+ N- " },
};

static void test_channels(void)
{
    unsigned int i;

    for ( i = 0; i < sizeof(channels) / sizeof(channels[0]); i++ )
    {
        struct tavs_evtchn c = {};
        unsigned long moved = 0;
        const char *s;

        for ( s = channels[i].script; *s; s++ )
        {
            switch ( *s )
            {
            case 'N': case 'n':
                tavs_channel_notified(&c, *s == 'N');
                break;

            case 'M':
                moved |= TAVS_MOVED(WANTED);
                /* Fallthrough. */
            case 'm':
                moved |= TAVS_MOVED(READ);
                break;

            case 'w': moved |= TAVS_MOVED(WRITTEN); break;
            case 'f': moved |= TAVS_MOVED(FROM); break;
            case 't': moved |= TAVS_MOVED(TO); break;

            case 'p':
                check(!tavs_channel_event(&c, true, &moved), channels[i].name,
                      "a packet is taken for a block");
                break;

            case '+': case '-':
                check(tavs_channel_event(&c, false, &moved) == (*s == '+'),
                      channels[i].name, "the event at %d of %s",
                      (int)(s - channels[i].script), channels[i].script);
                break;
            }
        }
    }
}

/* Console and xenstore. */
static void test_given_channel(void)
{
    struct tavs_evtchn c = { .given = 1 };
    unsigned long moved = TAVS_MOVED(READ) | TAVS_MOVED(WANTED);

    tavs_channel_notified(&c, true);
    check(!tavs_channel_event(&c, false, &moved), "given channel", "boosts");
    check(moved == (TAVS_MOVED(READ) | TAVS_MOVED(WANTED)), "given channel",
          "used up what a block device left");
}

/* A disk that is read by mapping, beside an interface that sends. */
static void test_two_channels(void)
{
    struct tavs_evtchn disk = {}, sends = {};
    unsigned long moved;
    unsigned int i;

    for ( i = 0; i < 10; i++ )
    {
        tavs_channel_notified(&sends, true);
        moved = TAVS_MOVED(FROM);
        check(!tavs_channel_event(&sends, false, &moved), "two channels",
              "a packet has gone");

        /* What the disk read is not used up by the interface. */
        tavs_channel_notified(&sends, true);
        moved = TAVS_MOVED(FROM) | TAVS_MOVED(READ) | TAVS_MOVED(WANTED);
        check(!tavs_channel_event(&sends, false, &moved), "two channels",
              "a packet has gone, while a block came");
        check(tavs_channel_event(&disk, false, &moved), "two channels",
              "the block");
        check(!moved, "two channels", "left over: %#lx", moved);
    }
}

/* A threshold that is changed meanwhile: what was learned is judged anew. */
static void test_threshold(void)
{
    struct tavs_params p = paper;
    struct tavs_tasks t;
    int64_t now = 0;
    unsigned int i;

    tavs_tasks_init(&t);
    play(&t, &p, "in a", &now);
    for ( i = 0; i < 10; i++ )
        play(&t, &p, "event +100 b +100 a +30000", &now);
    check(t.believed == 1 && belief(&t, 2) == 50, "threshold",
          "%u believed, belief %d", t.believed, belief(&t, 2));

    p.threshold = 50;
    play(&t, &p, "out in", &now);
    check(t.believed == 0, "threshold", "raised: %u believed", t.believed);
    play(&t, &p, "event +100 b +100 a +30000", &now);
    check(t.believed == 1, "threshold", "above: %u believed", t.believed);

    p.threshold = 0;
    play(&t, &p, "out in", &now);
    check(t.believed == 1, "threshold", "lowered: %u believed", t.believed);
    play(&t, &p, "!b", &now);
    check(t.believed == 0, "threshold", "gone: %u believed", t.believed);
}

/* Tracking begins again: nothing remains of what was before but statistics. */
static void test_restart(void)
{
    struct tavs_tasks t;
    int64_t now = 0;
    unsigned long negatives;
    unsigned int i;

    tavs_tasks_init(&t);
    play(&t, &paper, "in a", &now);
    for ( i = 0; i < 10; i++ )
        play(&t, &paper, "event +100 b +100 a +30000", &now);
    play(&t, &paper, "event +400 out", &now);
    negatives = t.negatives;

    tavs_tasks_restart(&t);
    check(t.believed == 0 && !tavs_tasks_find(&t, 1) && !tavs_tasks_find(&t, 2),
          "restart", "%u believed, beliefs %d %d", t.believed, belief(&t, 1),
          belief(&t, 2));
    check(t.positives == 10, "restart", "%lu positives", t.positives);

    /* Neither the segment nor the event of then means anything. */
    play(&t, &paper, "+9000 in +100 b +100 a", &now);
    check(t.positives == 10 && t.negatives == negatives, "restart",
          "%lu positives, %lu negatives", t.positives, t.negatives);
    play(&t, &paper, "event +100 b +100 a", &now);
    check(t.positives == 11, "restart", "%lu positives", t.positives);
}

/* Buckets: in order, without a gap, an eighth wide, and the last takes all. */
static void test_latency(void)
{
    unsigned int b, last = 0;
    uint64_t ns, first = 0;

    for ( ns = 0; ns < 1ULL << 36; ns += 1 + ns / 1024 )
    {
        b = tavs_latency_bucket(ns);
        check(b == last || b == last + 1, "latency", "%llu ns: %u after %u",
              (unsigned long long)ns, b, last);
        if ( b != last && b < TAVS_LATENCY_BUCKETS - 1 )
        {
            check(ns - first <= 130 || 7 * (ns - first) <= first, "latency",
                  "bucket %u is %llu wide", last,
                  (unsigned long long)(ns - first));
            first = ns;
        }
        last = b;
    }
    check(last == TAVS_LATENCY_BUCKETS - 1, "latency", "the last is %u", last);
    check(tavs_latency_bucket(~0ULL) == last, "latency", "~0");
    check(tavs_latency_bucket(127) == 0 && tavs_latency_bucket(128) == 1 &&
          tavs_latency_bucket(1023) == 7 && tavs_latency_bucket(1024) == 8 &&
          tavs_latency_bucket(2048) == 16 && tavs_latency_bucket(2303) == 16 &&
          tavs_latency_bucket(2304) == 17, "latency", "the first buckets");
}

/* How far an answer got: what a boost, and who waits for its end, go by. */
static void test_progress(void)
{
    static const struct {
        const char *script;
        bool pending, answered;
    } steps[] = {
        { "in a +100", false, false },
        { "in a event +100", true, false },
        { "in a event +9000", true, false },            /* in the kernel */
        { "in a event +9000 out +9000 in", true, false },
        { "in a out event +9000 in +100", true, false },
        { "in a event +100 k", true, false },
        { "in a event +100 k +100 b", false, false },
        { "in a event +100 b", false, false },
        { "in a event +100 b +50 k", false, false },
        { "in a event +100 b +50 a", false, true },     /* it went on */
        { "in a event +100 b +50 c", false, false },    /* or was woken too? */
        { "in a event +100 b +50 c +50 a", false, true },
        { "in a event +100 k +50 a", false, false },
        { "in a +9000 b +100 a event +100 b +100", false, false },
        { "in a +9000 b +100 a event +100 b +100 a", false, true },
        { "in a +9000 b +100 a event +100 b +100 c", false, false },
        { "in a +9000 b +100 a event +100 b +100 c +100 a", false, true },
        { "in a +9000 b +100 a event +100 b +900 a", false, false },
    };
    struct tavs_params p = TAVS_PARAMS_DEFAULT;
    unsigned int i;

    for ( i = 0; i < sizeof(steps) / sizeof(steps[0]); i++ )
    {
        struct tavs_tasks t;
        int64_t now = 1000000;

        tavs_tasks_init(&t);
        play(&t, &p, steps[i].script, &now);
        check(tavs_tasks_pending(&t, KERNEL) == steps[i].pending, "progress",
              "pending, %s", steps[i].script);
        check(tavs_tasks_answered(&t, KERNEL) == steps[i].answered,
              "progress", "answered, %s", steps[i].script);
    }
}

int main(void)
{
    test_cases();
    test_learning();
    test_undecided();
    test_progress();
    test_forgiven();
    test_age();
    test_churn();
    test_threshold();
    test_restart();
    test_latency();
    test_random();
    test_window();
    test_window_belief();
    test_channels();
    test_given_channel();
    test_two_channels();

    printf("%s: %u checks, %u failures\n", failures ? "FAILURE" : "SUCCESS",
           checks, failures);

    return failures ? 1 : 0;
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
