/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evidence and belief: cases from the TAVS paper (section 3.1, Figure 2, the
 * slides), from the departures that task.c lists, and from what a guest could
 * do to it.  And what else of the plane is plain: unserved I/O, the ledger of
 * boosts, channels, latencies.
 *
 * A case is a script of what happens to one vCPU, and what is believed of its
 * domain's tasks afterwards:
 *
 *   in        the vCPU gets the pCPU
 *   out       ... loses it, while it could go on
 *   block     ... loses it, because it has nothing to run
 *   event     an I/O event becomes pending
 *   asks      the running task asks a back end for a block
 *   +300      300 us pass
 *   a b c     the vCPU switches to that task; k is the kernel's page table
 *   ^a        the running task makes the address space a
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
#include "ledger.h"
#include "task.h"
#include "unserved.h"

#define KERNEL 1000UL

static const struct tavs_params paper = {
    .io_threshold = 500000, .age = 120000000000LL, .forgive = 1000000000,
    .positive = 5, .negative = 20, .threshold = 20, .min = -100, .max = 300,
};

/* A domain with one vCPU. */
struct guest {
    struct tavs_tasks t;
    struct tavs_segment s;
    enum tavs_verdict verdict;      /* at the last switch */
};

/* A domain whose kernel has been recognised. */
static void init(struct guest *g)
{
    memset(g, 0, sizeof(*g));
    tavs_tasks_init(&g->t);
    tavs_segment_init(&g->s, &g->t);
    g->t.kernel = KERNEL;
}

static unsigned long task_id(char c)
{
    return c == 'k' ? KERNEL : (unsigned long)(c - 'a' + 1);
}

static int belief(const struct guest *g, unsigned long id)
{
    const struct tavs_task *task = tavs_tasks_find(&g->t, id);

    return task ? task->belief : 0;
}

/* Is the number of believed tasks that of those in the table? */
static bool counted(const struct tavs_tasks *t)
{
    unsigned int i, j, n = 0;

    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        for ( j = 0; j < TAVS_TASK_WAYS; j++ )
            n += t->task[i][j].id && t->task[i][j].belief > t->threshold;

    return n == t->believed;
}

static void forget(struct guest *g, const struct tavs_params *p,
                   unsigned long id)
{
    tavs_tasks_forget(&g->t, p, id, NULL);
    if ( g->s.cur == id )
        g->s.cur = 0;               /* as segment.c does */
}

static void play(struct guest *g, const struct tavs_params *p,
                 const char *script, int64_t *now)
{
    char *copy = strdup(script), *save, *word;

    for ( word = strtok_r(copy, " ", &save); word;
          word = strtok_r(NULL, " ", &save) )
    {
        if ( !strcmp(word, "in") )
            tavs_segment_in(&g->s, p, *now);
        else if ( !strcmp(word, "out") )
            tavs_segment_out(&g->s, p, *now, false);
        else if ( !strcmp(word, "block") )
            tavs_segment_out(&g->s, p, *now, true);
        else if ( !strcmp(word, "event") )
            tavs_segment_event(&g->s, p, *now);
        else if ( !strcmp(word, "asks") )
            tavs_segment_asks(&g->s);
        else if ( *word == '+' )
            *now += atol(word + 1) * 1000;
        else if ( *word == '!' )
            forget(g, p, task_id(word[1]));
        else if ( *word == '^' )
            tavs_segment_bears(&g->s, p, task_id(word[1]), *now);
        else if ( strlen(word) == 1 )
            g->verdict = tavs_segment_switch(&g->s, p, task_id(*word),
                                             g->s.cur == KERNEL, *now);
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

static void test_cases(void)
{
    unsigned int i, j;

    for ( i = 0; i < sizeof(cases) / sizeof(cases[0]); i++ )
    {
        struct guest g;
        int64_t now = 1000000;

        init(&g);
        play(&g, &paper, cases[i].script, &now);

        for ( j = 0; j < MAX_TASKS; j++ )
            check(belief(&g, j + 1) == cases[i].belief[j], cases[i].name,
                  "belief of %c is %d, not %d", 'a' + j, belief(&g, j + 1),
                  cases[i].belief[j]);
    }
}

/* 5 a positive evidence, above 20 believed: the fifth request makes it. */
static void test_learning(void)
{
    struct guest g;
    int64_t now = 0;
    unsigned int i;

    init(&g);
    play(&g, &paper, "in a", &now);
    for ( i = 1; i <= 70; i++ )
    {
        play(&g, &paper, "event +100 b +100 a +30000", &now);
        check(g.t.believed == (i >= 5), "learning",
              "after %u requests %u tasks are believed", i, g.t.believed);
        check(belief(&g, 2) == (i < 60 ? 5 * (int)i : 300), "range",
              "after %u requests the belief is %d", i, belief(&g, 2));
    }
    check(belief(&g, 1) == -100, "range", "the hog is at %d", belief(&g, 1));

    play(&g, &paper, "event +100 b", &now);
    check(g.verdict == TAVS_IO_BOUND, "verdict", "b is %d", g.verdict);
    play(&g, &paper, "+100 a", &now);
    check(g.verdict == TAVS_OTHER, "verdict", "a is %d", g.verdict);

    /* From the top it takes 15 long segments to lose faith: 300 - 15 * 20. */
    for ( i = 1; i <= 14; i++ )
        play(&g, &paper, "b +900 a +900", &now);
    check(g.t.believed == 0 && belief(&g, 2) == 20, "unlearning",
          "%u believed, belief %d", g.t.believed, belief(&g, 2));
}

/* Unknown tasks that answer an event may run on; others may not (7.1). */
static void test_undecided(void)
{
    struct guest g;
    int64_t now = 0;

    init(&g);
    play(&g, &paper, "in a event +100 b", &now);
    check(g.verdict == TAVS_UNDECIDED, "undecided", "new, after event: %d",
          g.verdict);
    play(&g, &paper, "+100 c", &now);
    check(g.verdict == TAVS_UNDECIDED, "undecided", "new, behind: %d", g.verdict);
    play(&g, &paper, "+900 d", &now);
    check(g.verdict == TAVS_OTHER, "undecided", "behind a long one: %d", g.verdict);
    play(&g, &paper, "event +100 c", &now);
    check(g.verdict == TAVS_OTHER, "undecided", "thought CPU-bound: %d", g.verdict);
    play(&g, &paper, "+100 k", &now);
    check(g.verdict == TAVS_UNDECIDED, "undecided", "the kernel: %d", g.verdict);
}

/* What a task did long before it answers is not held against it. */
static void test_forgiven(void)
{
    struct guest g;
    int64_t now = 0;

    init(&g);
    play(&g, &paper, "in a b +9000 a +9000 b +9000 a", &now);
    check(belief(&g, 2) == -40, "start", "belief %d", belief(&g, 2));
    play(&g, &paper, "event +100 b +100 a", &now);
    check(belief(&g, 2) == -35, "too soon", "belief %d", belief(&g, 2));
    now += paper.forgive;
    play(&g, &paper, "event +100 b +100 a", &now);
    check(belief(&g, 2) == 5, "forgiven", "belief %d", belief(&g, 2));
    play(&g, &paper, "event +100 b +100 a", &now);
    check(belief(&g, 2) == 10, "goes on", "belief %d", belief(&g, 2));
    play(&g, &paper, "b +9000 a event +100 b +100 a", &now);
    check(belief(&g, 2) == -5, "not again", "belief %d", belief(&g, 2));

    /* Undecided again is who has not computed for long, if an event woke it. */
    play(&g, &paper, "event +100 b", &now);
    check(g.verdict == TAVS_OTHER, "too soon", "verdict %d", g.verdict);
    now += paper.forgive;
    play(&g, &paper, "+100 a", &now);
    now += paper.forgive;
    play(&g, &paper, "b", &now);
    check(g.verdict == TAVS_OTHER, "for no event", "verdict %d", g.verdict);
    /* It has run since, but for so short a time that it is no evidence. */
    play(&g, &paper, "+100 a event +100 b", &now);
    check(g.verdict == TAVS_UNDECIDED, "forgiven", "verdict %d", g.verdict);
    play(&g, &paper, "out +9000 in", &now);
    check(tavs_segment_verdict(&g.s, &paper, now) == TAVS_UNDECIDED,
          "forgiven", "cut off: verdict %d",
          tavs_segment_verdict(&g.s, &paper, now));
    play(&g, &paper, "+900 a event +100 b", &now);
    check(g.verdict == TAVS_OTHER, "not again", "verdict %d", g.verdict);
}

static void test_age(void)
{
    struct guest g;
    int64_t now = 0;
    unsigned int i;

    init(&g);
    play(&g, &paper, "in a", &now);
    for ( i = 0; i < 10; i++ )
        play(&g, &paper, "event +100 b +100 a +900", &now);
    check(g.t.believed == 1, "age", "%u believed", g.t.believed);

    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        play(&g, &paper, "out in", &now);
    check(g.t.believed == 1, "age", "%u believed, at once", g.t.believed);

    now += paper.age;
    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        play(&g, &paper, "out in", &now);
    check(g.t.believed == 0 && belief(&g, 2) == 20, "age",
          "%u believed, belief %d", g.t.believed, belief(&g, 2));
    play(&g, &paper, "event +100 b +100 a", &now);
    check(g.t.believed == 1, "age", "not revived");
}

/* A guest that rotates address spaces displaces no believed task. */
static void test_churn(void)
{
    struct guest g;
    int64_t now = 0;
    unsigned long id;
    unsigned int i, n = 0, j;

    init(&g);
    play(&g, &paper, "in a", &now);
    for ( i = 0; i < 5; i++ )
        play(&g, &paper, "event +100 b +100 a +900", &now);

    for ( id = 2000; id < 200000; id++ )
    {
        tavs_segment_switch(&g.s, &paper, id, false, now);
        now += 1000;
    }
    check(g.t.believed == 1 && belief(&g, 2) == 25, "churn",
          "%u believed, belief %d", g.t.believed, belief(&g, 2));

    /* Nor does it help to have each of them believed. */
    for ( id = 2000; id < 20000; id++ )
        for ( i = 0; i < 6; i++ )
        {
            tavs_segment_event(&g.s, &paper, now);
            tavs_segment_switch(&g.s, &paper, id, false, now);
            now += 1000;
            tavs_segment_switch(&g.s, &paper, 1, false, now);
            now += 1000;
        }

    check(belief(&g, 2) == 25, "churn of believed tasks", "belief %d",
          belief(&g, 2));
    check(g.t.lost > 0, "churn of believed tasks", "the table never filled");

    for ( i = 0; i < TAVS_TASK_SETS; i++ )
        for ( j = 0; j < TAVS_TASK_WAYS; j++ )
            n += g.t.task[i][j].id && g.t.task[i][j].belief > paper.threshold;
    check(n == g.t.believed, "count", "%u, not %u", g.t.believed, n);
}

/* Whatever happens in whatever order, the count and the range hold. */
static void test_random(void)
{
    static const char *const words[] = {
        "event", "+10", "+100", "+600", "a", "b", "c", "d", "k", "!a", "!b",
        "^c", "^d", "asks",
    };
    unsigned int seed, step;

    for ( seed = 0; seed < 2000; seed++ )
    {
        struct guest g;
        uint64_t state = seed * 2654435761ULL + 1;
        int64_t now = 0;
        bool in = false;

        init(&g);
        for ( step = 0; step < 200; step++ )
        {
            unsigned int r, i, j, n = 0;
            bool range = true;

            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            r = (state >> 33) % 17;
            if ( !in )
                play(&g, &paper, r & 1 ? "+50 event in" : "+50 in", &now);
            else if ( r < 14 )
                play(&g, &paper, words[r], &now);
            else
                play(&g, &paper, r & 1 ? "out" : "block", &now);
            in = !in || r < 14;

            for ( i = 0; i < TAVS_TASK_SETS; i++ )
                for ( j = 0; j < TAVS_TASK_WAYS; j++ )
                {
                    const struct tavs_task *task = &g.t.task[i][j];

                    n += task->id && task->belief > paper.threshold;
                    range &= task->belief >= paper.min &&
                             task->belief <= paper.max;
                }
            if ( n != g.t.believed || !range || g.s.used < 0 )
            {
                check(false, "random", "seed %u step %u: %u believed, %u in "
                      "the table", seed, step, g.t.believed, n);
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
        struct guest g;
        int64_t now = 0;
        unsigned int n;

        init(&g);
        check(!tavs_segment_inspect(&g.s, TAVS_WINDOW_MAX),
              windows[i].name, "somebody waits, before anybody ran");

        play(&g, &paper, "in b", &now);
        for ( n = 0; n < 10; n++ )
            play(&g, &paper, "event +100 a +100 b +900", &now);
        play(&g, &paper, "c d e b c d e b", &now);
        play(&g, &paper, windows[i].script, &now);

        for ( size = 1; size <= TAVS_WINDOW_MAX; size++ )
            check(tavs_segment_inspect(&g.s, size) ==
                  (windows[i].found[size - 1] == '1'),
                  windows[i].name, "window of %u", size);

        check(!tavs_segment_inspect(&g.s, 0), windows[i].name,
              "something is found in nothing");
        check(tavs_segment_inspect(&g.s, 1000) ==
              (windows[i].found[TAVS_WINDOW_MAX - 1] == '1'),
              windows[i].name, "beyond the longest window");
    }
}

/* What is believed as the window is looked at counts. */
static void test_window_belief(void)
{
    struct guest g;
    int64_t now = 0;
    unsigned int i;

    init(&g);
    play(&g, &paper, "in b", &now);
    for ( i = 0; i < 5; i++ )
    {
        check(!tavs_segment_inspect(&g.s, 3), "window, belief",
              "not yet believed after %u", i);
        play(&g, &paper, "event +100 a +100 b +900", &now);
    }
    check(tavs_segment_inspect(&g.s, 3), "window, belief", "believed");

    play(&g, &paper, "a +900 b", &now);
    check(!tavs_segment_inspect(&g.s, 3), "window, belief",
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
    struct guest g;
    int64_t now = 0;
    unsigned int i;

    init(&g);
    play(&g, &p, "in a", &now);
    for ( i = 0; i < 10; i++ )
        play(&g, &p, "event +100 b +100 a +30000", &now);
    check(g.t.believed == 1 && belief(&g, 2) == 50, "threshold",
          "%u believed, belief %d", g.t.believed, belief(&g, 2));

    p.threshold = 50;
    play(&g, &p, "out in", &now);
    check(g.t.believed == 0, "threshold", "raised: %u believed", g.t.believed);
    play(&g, &p, "event +100 b +100 a +30000", &now);
    check(g.t.believed == 1, "threshold", "above: %u believed", g.t.believed);

    p.threshold = 0;
    play(&g, &p, "out in", &now);
    check(g.t.believed == 1, "threshold", "lowered: %u believed", g.t.believed);
    play(&g, &p, "!b", &now);
    check(g.t.believed == 0, "threshold", "gone: %u believed", g.t.believed);
}

/* Tracking begins again: nothing remains of what was before but statistics. */
static void test_restart(void)
{
    struct guest g;
    int64_t now = 0;
    unsigned long negatives;
    unsigned int i;

    init(&g);
    play(&g, &paper, "in a", &now);
    for ( i = 0; i < 10; i++ )
        play(&g, &paper, "event +100 b +100 a +30000", &now);
    play(&g, &paper, "event +400 out", &now);
    negatives = g.t.negatives;

    tavs_tasks_restart(&g.t);
    tavs_segment_init(&g.s, &g.t);
    check(g.t.believed == 0 && !tavs_tasks_find(&g.t, 1) &&
          !tavs_tasks_find(&g.t, 2), "restart", "%u believed, beliefs %d %d", g.t.believed, belief(&g, 1),
          belief(&g, 2));
    check(g.t.positives == 10, "restart", "%lu positives", g.t.positives);

    /* Neither the segment nor the event of then means anything. */
    play(&g, &paper, "+9000 in +100 b +100 a", &now);
    check(g.t.positives == 10 && g.t.negatives == negatives, "restart",
          "%lu positives, %lu negatives", g.t.positives, g.t.negatives);
    play(&g, &paper, "event +100 b +100 a", &now);
    check(g.t.positives == 11, "restart", "%lu positives", g.t.positives);
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

/*
 * What is thought of who runs: with it, and with whether it was woken up, the
 * plane decides if a boost goes on.  B: b is believed already.
 */
static void test_progress(void)
{
    static const struct {
        const char *script;
        bool believed, woken;
        enum tavs_verdict verdict;
    } steps[] = {
        { "in a +100", false, false, TAVS_OTHER },
        { "in a event +100", false, false, TAVS_UNDECIDED },
        { "in a event +9000", false, false, TAVS_UNDECIDED },
        { "in a out event +9000 in +100", false, false, TAVS_UNDECIDED },
        { "in a event +100 k", false, true, TAVS_UNDECIDED },
        { "in a event +100 k +100 b", false, true, TAVS_UNDECIDED },
        { "in a event +100 b", false, true, TAVS_UNDECIDED },
        { "in a event +100 b +50 out +900 in", false, true, TAVS_UNDECIDED },
        { "in a event +100 b +50 a", false, true, TAVS_OTHER }, /* goes on */
        { "in a event +100 b +50 c", false, true, TAVS_UNDECIDED },
        { "in a event +100 b +50 c +50 a", false, true, TAVS_OTHER },
        { "in a event +100 b +50 c +5 out +900 in", false, false, TAVS_OTHER },
        { "in a event +9000 b", false, false, TAVS_OTHER },
        { "in a +10 block +500 event +10 in", false, true, TAVS_UNDECIDED },
        { "in a +10 block +500 in", false, false, TAVS_OTHER },

        /* Believed: for as long as an answer may take, whatever it follows. */
        { "in a +100 b", true, false, TAVS_IO_BOUND },
        { "in a event +100 b", true, true, TAVS_IO_BOUND },
        { "in a event +100 b +500", true, true, TAVS_IO_BOUND },
        { "in a event +100 b +501", true, true, TAVS_OTHER },
        { "in a event +100 b +300 out +9000 in +200", true, true,
          TAVS_IO_BOUND },
        { "in a event +100 b +300 out +9000 in +201", true, true,
          TAVS_OTHER },
        { "in a event +100 b +300 asks event +400", true, true,
          TAVS_IO_BOUND },
    };
    unsigned int i, n;

    for ( i = 0; i < sizeof(steps) / sizeof(steps[0]); i++ )
    {
        enum tavs_verdict verdict;
        struct guest g;
        int64_t now = 1000000;

        init(&g);
        for ( n = 0; n < 5 && steps[i].believed; n++ )
            play(&g, &paper, "in a event +100 b +100 a +100 block", &now);
        play(&g, &paper, steps[i].script, &now);
        verdict = tavs_segment_verdict(&g.s, &paper, now);
        check(verdict == steps[i].verdict, "progress", "verdict %d, not %d: %s",
              verdict, steps[i].verdict, steps[i].script);
        check(tavs_segment_woken(&g.s) == steps[i].woken, "progress",
              "woken, %s", steps[i].script);
    }
}

/*
 * The kernel's own address space is known by what it does.  Whoever is switched
 * to first may be anybody: after a restore it is a user's task, maybe the
 * server.
 */
static void test_kernel(void)
{
    struct guest g;
    int64_t now = 0;
    unsigned int i;

    init(&g);
    g.t.kernel = 0;
    play(&g, &paper, "in b +100 a", &now);
    for ( i = 0; i < 5; i++ )
        play(&g, &paper, "event +100 b +100 a +900", &now);
    check(!g.t.kernel && belief(&g, 2) == 25, "kernel",
          "the first one is exempt: belief %d", belief(&g, 2));

    /* Before it was left once nothing is known of it. */
    play(&g, &paper, "event +50 k", &now);
    check(!g.t.kernel, "kernel", "known at once");
    play(&g, &paper, "+50 b", &now);
    check(g.t.kernel == KERNEL && g.verdict == TAVS_IO_BOUND, "kernel",
          "it is %#lx, verdict %d", g.t.kernel, g.verdict);
    play(&g, &paper, "+100 k +9000 a", &now);
    check(!tavs_tasks_find(&g.t, KERNEL), "kernel", "is a task");

    /* Taken for a task until then: what it did is forgotten. */
    init(&g);
    g.t.kernel = 0;
    play(&g, &paper, "in a event +100", &now);
    tavs_segment_switch(&g.s, &paper, KERNEL, false, now);
    now += 100000;
    tavs_segment_switch(&g.s, &paper, 1, false, now);
    check(belief(&g, KERNEL) == 5, "kernel", "user mode in it: belief %d",
          belief(&g, KERNEL));
    play(&g, &paper, "event +100 k +100 a", &now);
    check(g.t.kernel == KERNEL && !tavs_tasks_find(&g.t, KERNEL), "kernel",
          "not forgotten");

    /* Its frame is reused: by a task, or by nobody. */
    play(&g, &paper, "event +100", &now);
    tavs_segment_switch(&g.s, &paper, KERNEL, false, now);
    now += 100000;
    tavs_segment_switch(&g.s, &paper, 1, false, now);
    check(!g.t.kernel && belief(&g, KERNEL) == 5, "kernel",
          "it is %#lx, belief %d", g.t.kernel, belief(&g, KERNEL));
    play(&g, &paper, "k +100 a", &now);
    check(g.t.kernel == KERNEL, "kernel", "it is %#lx", g.t.kernel);
    play(&g, &paper, "!k", &now);
    check(!g.t.kernel, "kernel", "torn down, it is %#lx", g.t.kernel);
}

/* Beliefs are the domain's: a task that moves takes its own along. */
static void test_two_vcpus(void)
{
    struct guest g;
    struct tavs_segment other;
    int64_t now = 0;
    unsigned int i;

    init(&g);
    tavs_segment_init(&other, &g.t);
    play(&g, &paper, "in a", &now);
    for ( i = 0; i < 5; i++ )
        play(&g, &paper, "event +100 b +100 a +900", &now);

    tavs_segment_in(&other, &paper, now);
    check(tavs_segment_switch(&other, &paper, 2, false, now) == TAVS_IO_BOUND,
          "two vCPUs", "b is not known on the other");
    now += 900000;
    tavs_segment_switch(&other, &paper, 3, false, now);
    check(belief(&g, 2) == 5 && !g.t.believed, "two vCPUs",
          "belief %d, %u believed", belief(&g, 2), g.t.believed);

    /* An event is one vCPU's. */
    play(&g, &paper, "event +100", &now);
    check(tavs_segment_switch(&other, &paper, 4, false, now) == TAVS_OTHER,
          "two vCPUs", "the other answers");
}

/* Five requests make b believed; a runs. */
#define SERVER "in a event +100 b +100 a event +100 b +100 a event +100 b " \
               "+100 a event +100 b +100 a event +100 b +100 a +900 "

/* A process that a believed one makes begins as the least believed. */
static void test_born(void)
{
    static const struct {
        const char *name, *script;
        enum tavs_verdict verdict;
        int belief;                     /* of c */
        unsigned int believed;          /* how many are */
    } births[] = {
        { "child", SERVER "b ^c +100 a +900 c", TAVS_IO_BOUND, 25, 2 },
        { "... is served at once", SERVER "event +100 b ^c +50 c",
          TAVS_IO_BOUND, 25, 2 },
        { "... stays by what it does", SERVER "b ^c +100 c +100 a event +100 c "
          "+100 a", TAVS_OTHER, 30, 2 },
        { "... of one that computes", SERVER "a ^c +100 c", TAVS_OTHER, 0, 1 },
        { "... of one who learns", "in a event +100 b ^c +100 a +900 c",
          TAVS_OTHER, 0, 0 },
        { "... that computes", SERVER "b ^c +100 c +900 a", TAVS_OTHER, 5, 1 },
        { "... too late", SERVER "b ^c +1000001 c", TAVS_OTHER, 0, 0 },
        { "... just in time", SERVER "b ^c +400 a +999600 c", TAVS_IO_BOUND,
          25, 2 },
        { "born once", SERVER "b ^c +100 c +900 a +900 c", TAVS_OTHER, 5, 1 },
        { "a table that nobody switches to", SERVER "b ^d ^c +100 c",
          TAVS_IO_BOUND, 25, 2 },
        { "grandchild", SERVER "b ^d +100 d +100 ^c +100 c", TAVS_IO_BOUND, 25,
          3 },
        { "of a child that computed", SERVER "b ^d +100 d +900 a +100 d +100 "
          "^c +100 c", TAVS_OTHER, 0, 1 },
        { "the table was another's", SERVER "c +900 a +900 b ^c +100 c",
          TAVS_IO_BOUND, 25, 2 },
        { "... whoever makes it", SERVER "c +900 a +900 ^c", TAVS_OTHER, 0, 1 },
        { "torn down before it ran", SERVER "b ^c !c +100 a +100", TAVS_OTHER,
          0, 1 },
    };
    struct guest g;
    int64_t now = 1000000;
    unsigned int i;

    for ( i = 0; i < sizeof(births) / sizeof(births[0]); i++ )
    {
        init(&g);
        play(&g, &paper, births[i].script, &now);
        check(g.verdict == births[i].verdict && counted(&g.t) &&
              belief(&g, 3) == births[i].belief &&
              g.t.believed == births[i].believed, births[i].name,
              "verdict %d, belief %d, %u believed", g.verdict, belief(&g, 3),
              g.t.believed);
    }

    /* As many as are remembered, and one more: the first is a stranger. */
    init(&g);
    play(&g, &paper, SERVER "b", &now);
    for ( i = 0; i <= TAVS_BORN_MAX; i++ )
        tavs_segment_bears(&g.s, &paper, 100 + i, now);
    for ( i = 0; i <= TAVS_BORN_MAX; i++ )
    {
        g.verdict = tavs_segment_switch(&g.s, &paper, 100 + i, false, now);
        check(g.verdict == (i ? TAVS_IO_BOUND : TAVS_OTHER), "born, many",
              "number %u: %d", i, g.verdict);
    }
}

/*
 * tavs_segment_passes() is tavs_segment_switch(), wherever it returns true:
 * two guests live through the same, one of them the slow way.
 */
static bool same(const struct guest *fast, const struct guest *slow)
{
    struct guest a = *fast, b = *slow;

    a.s.tasks = b.s.tasks = NULL;
    a.s.changes = b.s.changes = NULL;
    a.verdict = b.verdict = TAVS_OTHER;
    /* Counts from the next event on, and nobody asks before that. */
    if ( !a.s.answering )
        a.s.elapsed = b.s.elapsed = 0;

    return !memcmp(&a.t, &b.t, sizeof(a.t)) &&
           a.s.cur == b.s.cur && a.s.first == b.s.first &&
           a.s.used == b.s.used && a.s.since == b.s.since &&
           a.s.reaction == b.s.reaction && a.s.elapsed == b.s.elapsed &&
           a.s.role == b.s.role && a.s.answering == b.s.answering &&
           a.s.changed == b.s.changed && a.s.running == b.s.running &&
           a.s.asked == b.s.asked && a.s.idle == b.s.idle &&
           a.s.stage == b.s.stage && a.s.first_io == b.s.first_io &&
           a.s.outcome == b.s.outcome && a.s.newest == b.s.newest &&
           !memcmp(a.s.window, b.s.window, sizeof(a.s.window)) &&
           a.s.switches == b.s.switches;
}

static uint32_t rnd(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;

    return *state >> 33;
}

static void test_passes(void)
{
    static const char *const words[] = {
        "event", "asks", "!a", "!b", "^c", "^d", "event", "asks",
    };
    static const unsigned int steps[] = { 1, 20, 100, 300, 499, 501, 900 };
    unsigned long passed = 0, switched = 0;
    unsigned int seed;

    for ( seed = 0; seed < 3000; seed++ )
    {
        uint64_t state = seed * 2654435761ULL + 1;
        struct tavs_changes changes = {};
        struct tavs_params p = paper;
        struct guest fast, slow;
        int64_t now = 1000000;
        bool in = false;
        unsigned int step;

        init(&fast);
        init(&slow);
        if ( seed % 4 == 0 )
            fast.t.kernel = slow.t.kernel = 0;
        if ( seed % 5 == 0 )
            p.threshold = 0;

        for ( step = 0; step < 300; step++ )
        {
            unsigned int r = rnd(&state) % 100;

            now += steps[rnd(&state) % 7] * 1000;
            if ( !in )
            {
                play(&fast, &p, r & 1 ? "event in" : "in", &now);
                play(&slow, &p, r & 1 ? "event in" : "in", &now);
                in = true;
            }
            else if ( r < 70 )
            {
                /* As the kernel would have it, but for one in 16. */
                unsigned long id = rnd(&state) % 8 ? 1 + rnd(&state) % 6
                                                   : KERNEL;
                bool was_kernel = (fast.s.cur == KERNEL) ^
                                  !(rnd(&state) % 16);

                switched++;
                if ( tavs_segment_passes(&fast.s, &p, id, was_kernel, now) )
                {
                    passed++;
                    fast.verdict = tavs_segment_verdict(&fast.s, &p, now);
                }
                else
                    fast.verdict = tavs_segment_switch(&fast.s, &p, id,
                                                       was_kernel, now);
                slow.verdict = tavs_segment_switch(&slow.s, &p, id, was_kernel,
                                                   now);
                if ( fast.verdict != slow.verdict )
                {
                    check(false, "passes", "seed %u step %u: verdict %d, not "
                          "%d", seed, step, fast.verdict, slow.verdict);
                    return;
                }
            }
            else if ( r < 80 )
            {
                play(&fast, &p, r & 1 ? "out" : "block", &now);
                play(&slow, &p, r & 1 ? "out" : "block", &now);
                in = false;
            }
            else if ( r < 82 )
                now += p.forgive;
            else if ( r < 84 )
                p.threshold = 20 - p.threshold;
            else if ( r < 86 )
                /* Traced: then nothing may pass unseen. */
                fast.s.changes = fast.s.changes ? NULL : &changes;
            else
            {
                play(&fast, &p, words[r % 8], &now);
                play(&slow, &p, words[r % 8], &now);
            }
            changes.nr = 0;

            if ( !same(&fast, &slow) ||
                 (rnd(&state) % 2 && tavs_segment_outcome(&fast.s) !=
                                     tavs_segment_outcome(&slow.s)) )
            {
                check(false, "passes", "seed %u step %u: differ", seed, step);
                return;
            }
        }
    }

    check(passed * 10 > switched && passed * 2 < switched, "passes",
          "%lu of %lu pass", passed, switched);
    printf("%lu of %lu switches pass\n", passed, switched);
}

/*
 * Unserved I/O: scripts of
 *
 *   N B       an event that somebody waits for, one that is brief
 *   i I       the vCPU gets the pCPU; amid an I/O-bound task
 *   o ? s     the guest switches to a task that is not I/O-bound, undecided, is
 *   u         it goes on in user mode as it was
 *   x         it blocks
 *   t r       a boost of it ends; something new: it is worth another
 *   p P       it loses the pCPU; having had its turn
 *
 * and whether something is unserved then, is being served, was tried.
 */
static const struct {
    const char *script;
    bool unserved, begun, tried;
} diagram[] = {
    { "", false, false, false },
    { "N", true, false, false },
    { "Ni", true, false, false },
    { "Nis", true, true, false },               /* being served */
    { "NI", true, true, false },                /* interrupted amid it */
    { "Niso", false, false, false },            /* ... went on to another */
    { "Nisx", false, false, false },
    { "Nx", false, false, false },
    { "Nio", false, false, false },             /* it was for somebody else */
    { "Ni?", true, false, false },
    { "Ni?o", false, false, false },
    { "o", false, false, false },

    /* The kernel did not switch: it waits for its tick, but is tried once. */
    { "Niu", true, false, false },
    { "Nit", true, false, true },
    { "NitN", true, false, false },
    { "Nitr", true, false, false },
    { "Nitio", false, false, false },
    { "Bi", true, false, false },
    { "Biu", false, false, false },             /* a brief one is served */
    { "Nisu", false, false, false },            /* as is one that began */
    { "BNiu", true, false, false },             /* one of them is not brief */
    { "NBiu", true, false, false },

    /* An event that comes while another is served is not lost. */
    { "NisNo", true, false, false },
    { "NisNot", true, false, false },           /* ... nor tried */
    { "NisNott", true, false, true },
    { "NisNoo", false, false, false },
    { "NisNos", true, true, false },
    { "NisNsNo", true, false, false },
    { "NNio", false, false, false },            /* both were there before */
    { "NiNo", true, false, false },             /* the second came since */
    { "NisNx", false, false, false },           /* idle: nobody waits */

    /* Preempted without a boost. */
    { "Nip", true, false, false },
    { "NiP", false, false, false },             /* its turn, and nobody ran */
    { "NiNP", true, false, false },             /* one that came since */
    { "NisP", true, true, false },
    { "NiNPiP", false, false, false },
};

static void test_unserved(void)
{
    unsigned int i;

    for ( i = 0; i < sizeof(diagram) / sizeof(diagram[0]); i++ )
    {
        struct tavs_unserved u = {};
        int64_t now = 1000, since = 0;
        const char *s;

        for ( s = diagram[i].script; *s; s++ )
        {
            bool was = tavs_is_unserved(&u), brief = *s == 'B';
            bool tried = u.tried;

            now++;
            switch ( *s )
            {
            case 'N': case 'B':
                check(tavs_unserved_note(&u, brief ? TAVS_REASON_TIMER
                                                   : TAVS_REASON_NET,
                                         brief, now) == (!was || tried),
                      "unserved", "told twice, or never: %s",
                      diagram[i].script);
                if ( !was )
                    since = now;
                check(brief || u.reason == TAVS_REASON_NET, "unserved",
                      "reason %d: %s", u.reason, diagram[i].script);
                break;

            case 'i': case 'I': tavs_unserved_in(&u, *s == 'I'); break;
            case 'o': tavs_unserved_switch(&u, TAVS_OTHER); break;
            case '?': tavs_unserved_switch(&u, TAVS_UNDECIDED); break;
            case 's': tavs_unserved_switch(&u, TAVS_IO_BOUND); break;
            case 'u': tavs_unserved_went_on(&u); break;
            case 'x': tavs_unserved_clear(&u); break;
            case 't': tavs_unserved_tried(&u); break;
            case 'r': tavs_unserved_retry(&u); break;
            case 'p': case 'P': tavs_unserved_preempted(&u, *s == 'P'); break;
            }
        }

        check(tavs_is_unserved(&u) == diagram[i].unserved &&
              u.begun == diagram[i].begun && u.tried == diagram[i].tried,
              "unserved", "%d%d%d: %s", tavs_is_unserved(&u), u.begun,
              u.tried, diagram[i].script);
        check(!tavs_is_unserved(&u) || u.since == since, "unserved",
              "since %lld, not %lld: %s", (long long)u.since,
              (long long)since, diagram[i].script);
    }
}

/*
 * In whatever order: an event waits until the vCPU blocks, switches to another
 * task though none came since it last switched, or goes on though it was
 * brief, had begun, or had its turn.
 */
static void test_unserved_random(void)
{
    unsigned int seed, step;

    for ( seed = 0; seed < 2000; seed++ )
    {
        uint64_t state = seed * 2654435761ULL + 1;
        struct tavs_unserved u = {};
        bool news = false, ok = true;   /* noted since it last looked */

        for ( step = 0; ok && step < 100; step++ )
        {
            struct tavs_unserved was = u;
            bool may_end = false;

            switch ( rnd(&state) % 9 )
            {
            case 0:
                tavs_unserved_note(&u, TAVS_REASON_NET, rnd(&state) % 2,
                                   1 + step);
                news = true;
                ok = tavs_is_unserved(&u) && !u.tried;
                break;

            case 1:
                tavs_unserved_in(&u, rnd(&state) % 2);
                news = false;
                break;

            case 2:
                tavs_unserved_switch(&u, TAVS_OTHER);
                may_end = !news;
                news = false;
                break;

            case 3:
                tavs_unserved_switch(&u, rnd(&state) % 2 ? TAVS_IO_BOUND
                                                         : TAVS_UNDECIDED);
                news = false;
                break;

            case 4:
                tavs_unserved_went_on(&u);
                may_end = was.brief || was.begun;
                break;

            case 5:
                tavs_unserved_clear(&u);
                may_end = true;
                news = false;
                break;

            case 6: tavs_unserved_tried(&u); break;
            case 7: tavs_unserved_retry(&u); break;

            case 8:
                may_end = rnd(&state) % 2;
                tavs_unserved_preempted(&u, may_end);
                may_end = may_end && !news && !was.begun;
                break;
            }

            if ( was.since && !u.since && !may_end )
                ok = false;
            if ( !u.since && u.begun )
                ok = false;
        }
        if ( !ok )
        {
            check(false, "unserved, random", "seed %u step %u", seed, step);
            return;
        }
    }
    check(true, "unserved, random", "");
}

/* A boost in one go, from a granted one to where nothing is left. */
static int64_t boost(struct tavs_ledger *l, int64_t limit, int64_t slop,
                     unsigned int permille, int64_t burst)
{
    tavs_ledger_begin(l);
    check(tavs_ledger_left(l, limit) == limit, "ledger", "begins late");
    tavs_ledger_charge(l, limit + slop, true, permille, burst);
    check(tavs_ledger_left(l, limit) == -slop, "ledger", "does not end");

    return limit + slop;
}

static void test_ledger(void)
{
    const int64_t cap = 1000000, burst = 10000000;
    struct tavs_ledger l;
    int64_t sum = 0;
    unsigned int n;

    /* It begins with one cap. */
    tavs_ledger_init(&l, cap);
    check(tavs_ledger_grants(&l, cap), "ledger", "nothing to begin with");
    boost(&l, cap, 0, 0, burst);
    check(!tavs_ledger_grants(&l, cap) && !l.budget, "ledger", "%lld left",
          (long long)l.budget);

    /* Renewal: an eighth of what it runs; a cap after eight. */
    tavs_ledger_charge(&l, 8 * cap - 8, false, 125, burst);
    check(!tavs_ledger_grants(&l, cap), "ledger", "too early");
    tavs_ledger_charge(&l, 8, false, 125, burst);
    check(tavs_ledger_grants(&l, cap), "ledger", "not renewed: %lld",
          (long long)l.budget);

    /* Boosted time renews as well. */
    boost(&l, cap, 0, 125, burst);
    check(l.budget == cap / 8, "ledger", "%lld left", (long long)l.budget);

    /* Burst: ten boosts are saved, whatever it ran. */
    tavs_ledger_charge(&l, 1000 * burst, false, 125, burst);
    check(l.budget == burst, "ledger", "%lld saved", (long long)l.budget);
    for ( n = 0; tavs_ledger_grants(&l, cap); n++ )
        sum += boost(&l, cap, 0, 0, burst);
    check(n == 10 && sum == burst && !l.budget, "ledger", "%u boosts", n);

    /* A timer that is late is paid for before the next one. */
    tavs_ledger_charge(&l, cap, false, 1000, burst);
    boost(&l, cap, 50000, 0, burst);
    check(l.budget == -50000, "ledger", "%lld owned", (long long)l.budget);
    tavs_ledger_charge(&l, cap, false, 1000, burst);
    check(!tavs_ledger_grants(&l, cap), "ledger", "lateness is forgiven");
    tavs_ledger_charge(&l, 50000, false, 1000, burst);
    check(tavs_ledger_grants(&l, cap), "ledger", "lateness is paid twice");

    /* A burst that was lowered meanwhile. */
    tavs_ledger_charge(&l, 1000 * burst, false, 125, burst);
    tavs_ledger_charge(&l, 0, false, 125, cap);
    check(l.budget == cap, "ledger", "%lld saved", (long long)l.budget);

    /* The longest run that is charged at once. */
    tavs_ledger_charge(&l, 1LL << 34, false, 1000, 1LL << 62);
    check(l.budget == cap + (1LL << 34), "ledger", "overflow: %lld",
          (long long)l.budget);
}

/* boosted <= r * run + cap + one boost's lateness, over any history. */
static void test_ledger_random(void)
{
    unsigned int seed, step;
    unsigned long boosts = 0;

    for ( seed = 0; seed < 2000; seed++ )
    {
        uint64_t state = seed * 2654435761ULL + 1;
        const int64_t slop = rnd(&state) % 80000;
        int64_t cap = 100000 + rnd(&state) % 2000000;
        int64_t burst = cap + rnd(&state) % 20000000;
        unsigned int permille = rnd(&state) % 1001;
        int64_t boosted = 0, earned = 0;        /* earned: permille ns */
        struct tavs_ledger l;
        bool on = false;

        tavs_ledger_init(&l, cap);
        for ( step = 0; step < 500; step++ )
        {
            int64_t ran = rnd(&state) % (rnd(&state) % 4 ? 500000 : 30000000);

            if ( !on && tavs_ledger_grants(&l, cap) && rnd(&state) % 2 )
            {
                tavs_ledger_begin(&l);
                on = true;
                boosts++;
            }

            /* Asked again when it was to be over, or before: and then late. */
            if ( on && ran > tavs_ledger_left(&l, cap) )
                ran = tavs_ledger_left(&l, cap) + slop;

            tavs_ledger_charge(&l, ran, on, permille, burst);
            boosted += on ? ran : 0;
            earned += ran * permille;

            if ( boosted > earned / 1000 + cap + slop || l.budget > burst )
            {
                check(false, "ledger, random", "seed %u step %u: boosted for "
                      "%lld, %lld earned, cap %lld, saved %lld", seed, step,
                      (long long)boosted, (long long)earned / 1000,
                      (long long)cap, (long long)l.budget);
                return;
            }
            if ( on && (tavs_ledger_left(&l, cap) <= 0 || !(rnd(&state) % 4)) )
                on = false;
        }
    }
    check(boosts > 10000, "ledger, random", "%lu boosts", boosts);
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
    test_kernel();
    test_two_vcpus();
    test_born();
    test_passes();
    test_unserved();
    test_unserved_random();
    test_ledger();
    test_ledger_random();
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
