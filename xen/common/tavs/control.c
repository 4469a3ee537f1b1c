/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parameters of task awareness, and what it shows of itself.
 */
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/param.h>
#include <xen/sched.h>
#include <xen/string.h>
#include <xen/time.h>

#include "private.h"

struct tavs_params __read_mostly tavs_params = TAVS_PARAMS_DEFAULT;

/*
 * A boosted request needs some 250 us: interrupt, softirq, the task.  Two of
 * them fit in.
 */
s_time_t __read_mostly tavs_boost_cap = MICROSECS(500);
s_time_t __read_mostly tavs_boost_burst = MILLISECS(10);

/* The paper's 0.125. */
uint16_t __read_mostly tavs_pbratio = 125;

bool __read_mostly tavs_exact = true;
bool __read_mostly tavs_head = true;

/* The paper's choice. */
unsigned int __read_mostly tavs_portmap_bits = 2;
bool __read_mostly tavs_correlate = true;
unsigned int __read_mostly tavs_window = 3;

/* Set *val to the number after `name=` at s, if that is what s is. */
static bool __init parse_knob(const char *s, const char *end, const char *name,
                              long min, long max, long *val, int *rc)
{
    size_t len = strlen(name);
    const char *num = s + len + 1, *stop;
    bool negative;
    long n;

    if ( strncmp(s, name, len) || s[len] != '=' )
        return false;

    negative = *num == '-';
    n = simple_strtoul(num + negative, &stop, 10);
    if ( negative )
        n = -n;

    if ( stop != end || stop == num + negative || n < min || n > max )
    {
        printk(XENLOG_WARNING "tavs: %s takes %ld to %ld\n", name, min, max);
        *rc = -EINVAL;
    }
    else
        *val = n;

    return true;
}

/* The same for `name=<bool>`. */
static bool __init parse_switch(const char *s, const char *end,
                                const char *name, bool *val, int *rc)
{
    int on = parse_boolean(name, s, end);

    if ( on == -1 )
        return false;

    if ( on < 0 )
    {
        printk(XENLOG_WARNING "tavs: %s is on or off\n", name);
        *rc = -EINVAL;
    }
    else
        *val = on;

    return true;
}

static int __init cf_check parse_tavs(const char *s)
{
    long pbratio = tavs_pbratio;
    long cap = tavs_boost_cap / MICROSECS(1);
    long burst = tavs_boost_burst / MICROSECS(1);
    long io = tavs_params.io_threshold / MICROSECS(1);
    long age = tavs_params.age / SECONDS(1);
    long forgive = tavs_params.forgive / MILLISECS(1);
    long positive = tavs_params.positive, negative = tavs_params.negative;
    long threshold = tavs_params.threshold;
    long lowest = tavs_params.min, highest = tavs_params.max;
    long bits = tavs_portmap_bits;
    long window = tavs_window;
    const char *ss;
    int rc = 0;

    do {
        ss = strchr(s, ',');
        if ( !ss )
            ss = strchr(s, '\0');

        if ( !parse_knob(s, ss, "pbratio", 0, 1000, &pbratio, &rc) &&
             !parse_knob(s, ss, "cap-us", 50, 10000, &cap, &rc) &&
             !parse_knob(s, ss, "burst-us", 50, 1000000, &burst, &rc) &&
             !parse_knob(s, ss, "iothreshold-us", 10, 100000, &io, &rc) &&
             !parse_knob(s, ss, "age-s", 1, 86400, &age, &rc) &&
             !parse_knob(s, ss, "forgive-ms", 0, 1000000, &forgive, &rc) &&
             !parse_knob(s, ss, "positive", 1, 1000, &positive, &rc) &&
             !parse_knob(s, ss, "negative", 0, 1000, &negative, &rc) &&
             !parse_knob(s, ss, "threshold", 0, 10000, &threshold, &rc) &&
             !parse_knob(s, ss, "min", -10000, 0, &lowest, &rc) &&
             !parse_knob(s, ss, "max", 1, 10000, &highest, &rc) &&
             !parse_switch(s, ss, "exact", &tavs_exact, &rc) &&
             !parse_switch(s, ss, "head", &tavs_head, &rc) &&
             !parse_switch(s, ss, "correlate", &tavs_correlate, &rc) &&
             !parse_knob(s, ss, "portmap-bits", 1, 4, &bits, &rc) &&
             !parse_knob(s, ss, "window", 1, TAVS_WINDOW_MAX, &window, &rc) )
        {
            printk(XENLOG_WARNING "tavs: unknown parameter: %s\n", s);
            rc = -EINVAL;
        }

        s = ss + 1;
    } while ( *ss );

    if ( bits == 3 )
    {
        printk(XENLOG_WARNING "tavs: portmap-bits takes 1, 2 or 4\n");
        rc = -EINVAL;
    }
    else
        tavs_portmap_bits = bits;

    tavs_window = window;
    tavs_pbratio = pbratio;
    tavs_boost_cap = MICROSECS(cap);
    tavs_boost_burst = MICROSECS(max(burst, cap));
    tavs_params.io_threshold = MICROSECS(io);
    tavs_params.age = SECONDS(age);
    tavs_params.forgive = MILLISECS(forgive);
    tavs_params.positive = positive;
    tavs_params.negative = negative;
    tavs_params.threshold = threshold;
    tavs_params.min = lowest;
    tavs_params.max = highest;

    return rc;
}
custom_param("tavs", parse_tavs);

void tavs_dump_params(void)
{
    printk("\tpbratio            = %u permille\n"
           "\tboost cap          = %"PRI_stime"us, saved up to %"PRI_stime"us\n"
           "\tI/O threshold      = %"PRId64"us\n"
           "\tevidence           = +%d -%d, believed above %d, %d..%d\n"
           "\tage, forgiven      = %"PRId64"s, %"PRId64"ms\n"
           "\texact accounting   = %d, places kept = %d\n"
           "\tcorrelation        = %s, portmap of %u bits, window of %u\n",
           tavs_pbratio, tavs_boost_cap / MICROSECS(1),
           tavs_boost_burst / MICROSECS(1),
           tavs_params.io_threshold / MICROSECS(1),
           tavs_params.positive, tavs_params.negative, tavs_params.threshold,
           tavs_params.min, tavs_params.max,
           tavs_params.age / SECONDS(1),
           tavs_params.forgive / MILLISECS(1),
           tavs_exact, tavs_head, tavs_correlate ? "on" : "off",
           tavs_portmap_bits, tavs_window);
}

void tavs_dump_stats(const struct tavs_stats *stats)
{
    static const char *const reasons[] = {
        [TAVS_REASON_ANY]    = "any",
        [TAVS_REASON_BLOCK]  = "block",
        [TAVS_REASON_NET]    = "net",
        [TAVS_REASON_DRIVER] = "driver",
    };
    unsigned int i;

    printk("\t  run=%"PRIu64"us boosted=%"PRIu64"us events=%"PRIu64" budget=%"PRIu64" ahead=%"PRIu64"\n",
           stats->run_time / 1000, stats->boost_time / 1000, stats->events,
           stats->refused[TAVS_REFUSED_BUDGET],
           stats->refused[TAVS_REFUSED_AHEAD]);

    for ( i = 0; i < TAVS_REASONS; i++ )
        if ( stats->boosts[i] )
            printk("\t  boosts for %s: %"PRIu64" (hit=%"PRIu64" revoked=%"PRIu64" blocked=%"PRIu64" capped=%"PRIu64")\n",
                   reasons[i], stats->boosts[i], stats->hits[i],
                   stats->ends[i][TAVS_END_REVOKED],
                   stats->ends[i][TAVS_END_BLOCKED],
                   stats->ends[i][TAVS_END_CAPPED]);
}

void tavs_dump_vcpu(struct vcpu *v)
{
    struct tavs_vcpu *tv = v->tavs;
    const struct tavs_tasks *t;
    unsigned int i, j;

    if ( !tv )
        return;

    /* The console is slow: numbers are as they are, tasks copied set by set. */
    t = &tv->tasks;
    printk("\t  tasks: believed=%u switches=%lu pos=%lu neg=%lu amb=%lu lost=%lu kernel=%#lx cur=%#lx\n",
           t->believed, t->switches, t->positives, t->negatives, t->ambiguous,
           t->lost, v->domain->tavs.kernel, t->cur);
    printk("\t  no boost: no task=%d uncorrelated=%d off=%d\n",
           atomic_read(&tv->refused[TAVS_REFUSED_NO_TASK]),
           atomic_read(&tv->refused[TAVS_REFUSED_UNCORRELATED]),
           atomic_read(&tv->refused[TAVS_REFUSED_OFF]));
    tavs_net_dump_vcpu(v);

    for ( i = 0; i < TAVS_TASK_SETS; i++ )
    {
        struct tavs_task set[TAVS_TASK_WAYS];
        unsigned long flags;

        spin_lock_irqsave(&tv->lock, flags);
        memcpy(set, t->task[i], sizeof(set));
        spin_unlock_irqrestore(&tv->lock, flags);

        for ( j = 0; j < TAVS_TASK_WAYS; j++ )
            if ( set[j].id && set[j].belief )
                printk("\t    %#lx belief=%d cpu=%ums last I/O=%"PRId64"ms\n",
                       set[j].id, set[j].belief, set[j].cpu_us / 1000,
                       set[j].last_io / MILLISECS(1));
    }
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
