/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parameters of task awareness, and what it shows of itself.
 */
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/param.h>
#include <xen/sched.h>
#include <xen/spinlock.h>
#include <xen/string.h>
#include <xen/time.h>

#include <public/domctl.h>
#include <public/sysctl.h>

#include "plane.h"

struct tavs_params __read_mostly tavs_params = TAVS_PARAMS_DEFAULT;

/*
 * The longest reaction that the inference takes for one: the task begins
 * within the I/O threshold after the event, and runs for no longer than that.
 */
s_time_t __read_mostly tavs_boost_cap = MICROSECS(1000);
s_time_t __read_mostly tavs_boost_burst = MILLISECS(10);

/* The paper's 0.125. */
uint16_t __read_mostly tavs_pbratio = 125;

bool __read_mostly tavs_track = true;

bool __read_mostly tavs_opt_born = true;
bool __read_mostly tavs_opt_timer = true;
bool __read_mostly tavs_opt_user = true;
bool __read_mostly tavs_opt_tick = true;
bool __read_mostly tavs_opt_way = true;

/*
 * The knobs: how they are called at boot, and where they are.  Those that tools
 * can turn come first, each at its number; public/sysctl.h states their ranges.
 * The others are for experiments, and stay as they are after boot.
 *
 * Tools write them under knob_lock, which makes of several values one set.
 * Whoever uses them reads them without: see plane.h.
 */
enum {
    BURST_US = XEN_SYSCTL_TAVS_KNOBS, POSITIVE, NEGATIVE, THRESHOLD, MIN, MAX,
    AGE_S, FORGIVE_MS, BORN, TIMER, USER, TICK, WAY,
};

static const struct knob {
    const char *name;
    int32_t min, max;
    void *value;
    uint8_t size;           /* of *value */
    s_time_t unit;          /* of a time, 1 otherwise */
} knobs[] = {
#define KNOB(id, name, var, unit)                                      \
    [XEN_SYSCTL_TAVS_ ## id] = { name, XEN_SYSCTL_TAVS_ ## id ## _MIN, \
                                 XEN_SYSCTL_TAVS_ ## id ## _MAX,       \
                                 &(var), sizeof(var), unit }
    KNOB(PBRATIO, "pbratio", tavs_pbratio, 1),
    KNOB(BOOST_CAP_US, "cap-us", tavs_boost_cap, MICROSECS(1)),
    KNOB(IO_THRESHOLD_US, "iothreshold-us", tavs_params.io_threshold,
         MICROSECS(1)),
    KNOB(WINDOW, "window", tavs_window, 1),
    KNOB(PORTMAP_BITS, "portmap-bits", tavs_portmap_bits, 1),
    KNOB(CORRELATE, "correlate", tavs_correlate, 1),
    KNOB(TRACK, "track", tavs_track, 1),
#undef KNOB
#define BOOT(id, name, min, max, var, unit) \
    [id] = { name, min, max, &(var), sizeof(var), unit }
    BOOT(BURST_US, "burst-us", 50, 1000000, tavs_boost_burst, MICROSECS(1)),
    BOOT(POSITIVE, "positive", 1, 1000, tavs_params.positive, 1),
    BOOT(NEGATIVE, "negative", 0, 1000, tavs_params.negative, 1),
    BOOT(THRESHOLD, "threshold", 0, 9999, tavs_params.threshold, 1),
    BOOT(MIN, "min", -10000, 0, tavs_params.min, 1),
    BOOT(MAX, "max", 1, 10000, tavs_params.max, 1),
    BOOT(AGE_S, "age-s", 1, 86400, tavs_params.age, SECONDS(1)),
    BOOT(FORGIVE_MS, "forgive-ms", 0, 1000000, tavs_params.forgive,
         MILLISECS(1)),
    BOOT(BORN, "born", 0, 1, tavs_opt_born, 1),
    BOOT(TIMER, "timer", 0, 1, tavs_opt_timer, 1),
    BOOT(USER, "user", 0, 1, tavs_opt_user, 1),
    BOOT(TICK, "tick", 0, 1, tavs_opt_tick, 1),
    BOOT(WAY, "way", 0, 1, tavs_opt_way, 1),
#undef BOOT
};

static DEFINE_SPINLOCK(knob_lock);

static int32_t knob_get(const struct knob *knob)
{
    switch ( knob->size )
    {
    case 1:
        return read_atomic((uint8_t *)knob->value);
    case 2:
        return read_atomic((uint16_t *)knob->value);
    case 4:
        return read_atomic((int32_t *)knob->value);
    default:
        return read_atomic((s_time_t *)knob->value) / knob->unit;
    }
}

static void knob_set(const struct knob *knob, int32_t n)
{
    switch ( knob->size )
    {
    case 1:
        write_atomic((uint8_t *)knob->value, n);
        break;
    case 2:
        write_atomic((uint16_t *)knob->value, n);
        break;
    case 4:
        write_atomic((int32_t *)knob->value, n);
        break;
    default:
        write_atomic((s_time_t *)knob->value, n * knob->unit);
        break;
    }
}

static bool knob_takes(const struct knob *knob, long n)
{
    return n >= knob->min && n <= knob->max;
}

/* What knobs have to do with each other; and a hole in a range. */
static bool knobs_agree(const int32_t *n)
{
    return n[THRESHOLD] < n[MAX] &&
           n[XEN_SYSCTL_TAVS_BOOST_CAP_US] <= n[BURST_US] &&
           n[XEN_SYSCTL_TAVS_PORTMAP_BITS] != 3;
}

/* The first `nr` of them. */
static void knobs_get(int32_t *n, unsigned int nr)
{
    unsigned int i;

    for ( i = 0; i < nr; i++ )
        n[i] = knobs[i].name ? knob_get(&knobs[i]) : 0;
}

int tavs_knobs_set(uint32_t set, const int32_t *n)
{
    int32_t all[ARRAY_SIZE(knobs)];
    unsigned int i;
    int rc = -EINVAL;

    BUILD_BUG_ON(XEN_SYSCTL_TAVS_KNOBS > 31);

    if ( set >> XEN_SYSCTL_TAVS_KNOBS )
        return rc;

    spin_lock(&knob_lock);

    knobs_get(all, ARRAY_SIZE(all));

    for ( i = 0; i < XEN_SYSCTL_TAVS_KNOBS; i++ )
    {
        if ( !(set & (1U << i)) )
            continue;

        if ( !knobs[i].name || !knob_takes(&knobs[i], n[i]) )
            goto out;

        all[i] = n[i];
    }

    if ( !knobs_agree(all) )
        goto out;

    for ( i = 0; i < XEN_SYSCTL_TAVS_KNOBS; i++ )
        if ( set & (1U << i) )
            knob_set(&knobs[i], all[i]);

    rc = 0;

 out:
    spin_unlock(&knob_lock);

    return rc;
}

uint32_t tavs_knobs_get(int32_t *n)
{
    uint32_t known = 0;
    unsigned int i;

    spin_lock(&knob_lock);
    knobs_get(n, XEN_SYSCTL_TAVS_KNOBS);
    spin_unlock(&knob_lock);

    for ( i = 0; i < XEN_SYSCTL_TAVS_KNOBS; i++ )
        if ( knobs[i].name )
            known |= 1U << i;

    return known;
}

/* The paper's choice. */
unsigned int __read_mostly tavs_portmap_bits = 2;
bool __read_mostly tavs_correlate = true;
unsigned int __read_mostly tavs_window = 3;

/*
 * Set *val to the number after `name=` at s, if that is what s is.  Of a switch:
 * on or off, or no more than its name.
 */
static bool __init parse_knob(const char *s, const char *end,
                              const struct knob *knob, int32_t *val, int *rc)
{
    size_t len = strlen(knob->name);
    const char *num = s + len + 1, *stop;
    bool negative;
    long n;

    if ( knob->size == sizeof(bool) )
    {
        int on = parse_boolean(knob->name, s, end);

        if ( on == -1 )
            return false;

        if ( on < 0 )
        {
            printk(XENLOG_WARNING "tavs: %s is on or off\n", knob->name);
            *rc = -EINVAL;
        }
        else
            *val = on;

        return true;
    }

    if ( strncmp(s, knob->name, len) || s[len] != '=' )
        return false;

    negative = *num == '-';
    n = simple_strtoul(num + negative, &stop, 10);
    if ( negative )
        n = -n;

    if ( stop != end || stop == num + negative || !knob_takes(knob, n) )
    {
        printk(XENLOG_WARNING "tavs: %s takes %d to %d\n", knob->name,
               knob->min, knob->max);
        *rc = -EINVAL;
    }
    else
        *val = n;

    return true;
}

static int __init cf_check parse_tavs(const char *s)
{
    int32_t n[ARRAY_SIZE(knobs)];
    const char *ss;
    unsigned int i;
    int rc = 0;

    knobs_get(n, ARRAY_SIZE(n));

    do {
        ss = strchr(s, ',');
        if ( !ss )
            ss = strchr(s, '\0');

        for ( i = 0; i < ARRAY_SIZE(knobs); i++ )
            if ( knobs[i].name && parse_knob(s, ss, &knobs[i], &n[i], &rc) )
                break;

        if ( i == ARRAY_SIZE(knobs) )
        {
            printk(XENLOG_WARNING "tavs: unknown parameter: %s\n", s);
            rc = -EINVAL;
        }

        s = ss + 1;
    } while ( *ss );

    if ( !knobs_agree(n) )
    {
        printk(XENLOG_WARNING
               "tavs: ignored: needs threshold < max, cap-us <= burst-us, portmap-bits 1, 2 or 4\n");
        return -EINVAL;
    }

    for ( i = 0; i < ARRAY_SIZE(knobs); i++ )
        if ( knobs[i].name )
            knob_set(&knobs[i], n[i]);

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
           "\tcorrelation        = %s, portmap of %u bits, window of %u\n",
           tavs_pbratio, tavs_boost_cap / MICROSECS(1),
           tavs_boost_burst / MICROSECS(1),
           tavs_params.io_threshold / MICROSECS(1),
           tavs_params.positive, tavs_params.negative, tavs_params.threshold,
           tavs_params.min, tavs_params.max,
           tavs_params.age / SECONDS(1),
           tavs_params.forgive / MILLISECS(1),
           tavs_correlate ? "on" : "off",
           tavs_portmap_bits, tavs_window);
}

void tavs_dump_stats(const struct tavs_stats *stats)
{
    static const char *const reasons[] = {
        [TAVS_REASON_ANY]    = "any",
        [TAVS_REASON_BLOCK]  = "block",
        [TAVS_REASON_NET]    = "net",
        [TAVS_REASON_DRIVER] = "driver",
        [TAVS_REASON_TIMER]  = "timer",
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

void tavs_dump_vcpu(const struct vcpu *v)
{
    const struct tavs_vcpu *tv = tavs_vcpu(v);

    if ( !tv )
        return;

    printk("\t  switches=%lu cur=%#lx no boost: no task=%d uncorrelated=%d off=%d\n",
           tv->segment.switches, tv->segment.cur,
           atomic_read(&tv->refused[TAVS_REFUSED_NO_TASK]),
           atomic_read(&tv->refused[TAVS_REFUSED_UNCORRELATED]),
           atomic_read(&tv->refused[TAVS_REFUSED_OFF]));
}

/* What there is to see of ports and tasks on a console; tools list them all. */
#define SHOWN 16

void tavs_dump_domain(const struct domain *d)
{
    struct tavs_guest *g = tavs_guest(d);
    struct tavs_beliefs *b = tavs_beliefs(d);
    unsigned int i, j, shown = 0;

    tavs_net_dump(d);

    if ( !b )
        return;

    /* The console is slow: numbers are as they are, tasks copied set by set. */
    printk("\t  tasks: believed=%u pos=%lu neg=%lu lost=%lu kernel=%#lx\n",
           b->tasks.believed, b->tasks.positives, b->tasks.negatives,
           b->tasks.lost, b->tasks.kernel);

    for ( i = 0; i < TAVS_TASK_SETS && shown < SHOWN; i++ )
    {
        struct tavs_task set[TAVS_TASK_WAYS];
        unsigned long flags;

        spin_lock_irqsave(&g->lock, flags);
        memcpy(set, b->tasks.task[i], sizeof(set));
        spin_unlock_irqrestore(&g->lock, flags);

        for ( j = 0; j < TAVS_TASK_WAYS && shown < SHOWN; j++ )
            if ( set[j].id && set[j].belief > b->tasks.threshold )
            {
                printk("\t    %#lx belief=%d last I/O=%"PRId64"ms\n",
                       set[j].id, set[j].belief,
                       set[j].last_io / MILLISECS(1));
                shown++;
            }
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
