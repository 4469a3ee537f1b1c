/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xenalyze: the records of the task-aware scheduler.  What is in them, and
 * what their values mean, is said in xen/include/public/trace.h.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include <xen/trace.h>
#include <xen-tools/common-macros.h>

#include "xenalyze-tavs.h"

static const char *const reason_name[TAVS_REASONS] = {
    "any", "block", "net", "driver", "timer",
};

static const char *const end_name[TAVS_ENDS] = {
    "revoked", "blocked", "capped",
};

static const char *const refusal_name[TAVS_REFUSALS] = {
    "no task", "uncorrelated", "off", "budget", "ahead",
};

static const char *const cause_name[TAVS_CAUSES] = {
    "positive", "negative", "ambiguous", "aged", "forgotten", "born",
};

static const char *const verdict_name[] = {
    "not I/O-bound", "undecided", "I/O-bound",
};

static const char *const role_name[] = {
    "no event", "ran at the event", "resumed", "next", "behind",
};

#define NAME(names, value) \
    ((value) < ARRAY_SIZE(names) ? (names)[value] : "?")

unsigned int tavs_record_words(unsigned int event)
{
    switch ( event )
    {
    case TRC_TAVS_EVENT:         return 4;
    case TRC_TAVS_TASK:          return 5;
    case TRC_TAVS_EVIDENCE:      return 6;
    case TRC_TAVS_BELIEF:        return 5;
    case TRC_TAVS_BOOST_GRANT:   return 3;
    case TRC_TAVS_BOOST_REFUSED: return 3;
    case TRC_TAVS_BOOST_RUN:     return 3;
    case TRC_TAVS_BOOST_END:     return 5;
    }

    return 0;
}

static void add(struct tavs_times *t, unsigned long long time)
{
    if ( !t->count || time < t->min )
        t->min = time;
    if ( time > t->max )
        t->max = time;
    t->sum += time;
    t->count++;
}

static uint64_t task(const uint32_t *word)
{
    return word[0] | ((uint64_t)word[1] << 32);
}

void tavs_record(struct tavs_summary *s, unsigned int event,
                 const uint32_t *word, unsigned long long tsc,
                 const char *header)
{
    unsigned int dom = word[0] >> 16, vcpu = word[0] & 0xffff;
    int before, after;

#define SAY(fmt, args...)                                       \
    do {                                                        \
        if ( header )                                           \
            printf(" %s tavs:" fmt "\n", header, ## args);      \
    } while ( 0 )

    switch ( event )
    {
    case TRC_TAVS_EVENT:
        s->events++;
        if ( word[2] == 0xffff )
            SAY("event d%uv%u, port %u%s", dom, vcpu, word[1],
                word[3] ? ", running" : "");
        else
            SAY("event d%uv%u, port %u from d%u%s", dom, vcpu, word[1],
                word[2], word[3] ? ", running" : "");
        break;

    case TRC_TAVS_TASK:
        if ( word[4] & (1U << 16) )
            s->resumes++;
        else
            s->switches++;
        SAY("task d%uv%u, %s %#"PRIx64"%s, belief %d, %s, %s", dom, vcpu,
            word[4] & (1U << 16) ? "resumes" : "switches to", task(word + 1),
            word[4] & (2U << 16) ? " (kernel)" : "", (int)word[3],
            NAME(verdict_name, word[4] & 0xff),
            NAME(role_name, (word[4] >> 8) & 0xff));
        break;

    case TRC_TAVS_EVIDENCE:
        before = (int16_t)word[4];
        after = (int16_t)(word[4] >> 16);
        if ( word[3] < TAVS_CAUSES )
            s->evidence[word[3]]++;
        else
            s->bad++;
        SAY("evidence d%uv%u, %#"PRIx64" %s, belief %d -> %d, ran %u ns", dom,
            vcpu, task(word + 1), NAME(cause_name, word[3]), before, after,
            word[5]);
        break;

    case TRC_TAVS_BELIEF:
        before = (int16_t)word[3];
        after = (int16_t)(word[3] >> 16);
        if ( after > before )
            s->rose++;
        else
            s->fell++;
        SAY("belief d%uv%u, %#"PRIx64" is %sI/O-bound, %d -> %d, %s", dom,
            vcpu, task(word + 1), after > before ? "" : "not ", before, after,
            NAME(cause_name, word[4]));
        break;

    case TRC_TAVS_BOOST_GRANT:
        if ( word[1] < TAVS_REASONS )
            s->grants[word[1]]++;
        else
            s->bad++;
        s->granted_at = tsc;
        SAY("boost_grant d%uv%u, reason %s, budget %u us", dom, vcpu,
            NAME(reason_name, word[1]), word[2]);
        break;

    case TRC_TAVS_BOOST_REFUSED:
        if ( word[1] < TAVS_REFUSALS )
            s->refused[word[1]]++;
        else
            s->bad++;
        SAY("boost_refused d%uv%u, %s, reason %s", dom, vcpu,
            NAME(refusal_name, word[1]), NAME(reason_name, word[2]));
        break;

    case TRC_TAVS_BOOST_RUN:
        if ( s->granted_at )
            add(&s->waited, tsc - s->granted_at);
        s->granted_at = 0;
        SAY("boost_run d%uv%u, reason %s, boosted for %u ns", dom, vcpu,
            NAME(reason_name, word[1]), word[2]);
        break;

    case TRC_TAVS_BOOST_END:
        s->granted_at = 0;
        if ( word[1] < TAVS_REASONS && (word[2] & 0xff) < TAVS_ENDS )
        {
            s->ends[word[1]][word[2] & 0xff]++;
            s->hits[word[1]] += word[2] >> 8;
            add(&s->lasted[word[1]], word[3]);
        }
        else
            s->bad++;
        SAY("boost_end d%uv%u, reason %s, %s%s, boosted for %u ns, budget %u us",
            dom, vcpu, NAME(reason_name, word[1]),
            NAME(end_name, word[2] & 0xff), word[2] >> 8 ? ", hit" : "",
            word[3], word[4]);
        break;
    }
#undef SAY
}

static void print_times(const char *what, const struct tavs_times *t,
                        double per_us)
{
    if ( t->count )
        printf("    %s: %.1f us, %.1f to %.1f\n", what,
               t->sum / per_us / t->count, t->min / per_us, t->max / per_us);
}

/* " 3 of this, 2 of that": those that there are. */
static void print_counts(const char *what, const unsigned long long *count,
                         const char *const *name, unsigned int n)
{
    unsigned int i, printed = 0;

    for ( i = 0; i < n; i++ )
        if ( count[i] )
            printf("%s %llu %s", printed++ ? "," : what, count[i], name[i]);
    if ( printed )
        printf("\n");
}

void tavs_print_summary(const struct tavs_summary *s,
                        unsigned long long cpu_hz)
{
    unsigned long long refused = 0, evidence = 0, grants = 0;
    unsigned int i;

    for ( i = 0; i < TAVS_REFUSALS; i++ )
        refused += s->refused[i];
    for ( i = 0; i < TAVS_CAUSES; i++ )
        evidence += s->evidence[i];
    for ( i = 0; i < TAVS_REASONS; i++ )
        grants += s->grants[i];

    if ( !(s->events + s->switches + s->resumes + evidence + grants + refused +
           s->bad) )
        return;

    printf(" Task-aware scheduling:\n");
    printf("  I/O events: %llu; task switches: %llu, resumed: %llu\n",
           s->events, s->switches, s->resumes);
    print_counts("  evidence:", s->evidence, cause_name, TAVS_CAUSES);
    if ( s->rose || s->fell )
        printf("  beliefs that crossed the threshold: %llu up, %llu down\n",
               s->rose, s->fell);

    for ( i = 0; i < TAVS_REASONS; i++ )
    {
        if ( !s->grants[i] && !s->lasted[i].count )
            continue;
        printf("  boosts for %s: %llu", reason_name[i], s->grants[i]);
        if ( s->lasted[i].count )
            printf(", hit %llu", s->hits[i]);
        printf("\n");
        print_counts("    ended:", s->ends[i], end_name, TAVS_ENDS);
        print_times("boosted for", &s->lasted[i], 1000.0);
    }
    print_times("waited for the pCPU", &s->waited, cpu_hz / 1000000.0);
    print_counts("  refused:", s->refused, refusal_name, TAVS_REFUSALS);
    if ( s->bad )
        printf("  records with values that are unknown: %llu\n", s->bad);
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
