/*
 * This program is free software; you can redistribute it and/or modify
 * it under the terms of the GNU Lesser General Public License as published
 * by the Free Software Foundation; version 2.1 only. with the special
 * exception on linking described in file LICENSE.
 *
 * This program is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
 * GNU Lesser General Public License for more details.
 */

/* What xl sched-tavs shows of domains: as text, as JSON, as metrics. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libxl.h>
#include <libxl_json.h>
#include <libxl_utils.h>

#include <xen-tools/common-macros.h>

#include "xl.h"
#include "xl_utils.h"
#include "xl_tavs.h"

/* Boosts for a reason. */
static const struct {
    const char *name;
    size_t offset;
} reasons[] = {
#define REASON(name) { #name, offsetof(libxl_tavs_vcpu_stats, name) }
    REASON(any), REASON(block), REASON(net), REASON(driver), REASON(timer),
#undef REASON
};
#define NR_REASONS ARRAY_SIZE(reasons)

static const libxl_tavs_boosts *boosts_for(const libxl_tavs_vcpu_stats *s,
                                           unsigned int reason)
{
    return (const libxl_tavs_boosts *)((const char *)s +
                                       reasons[reason].offset);
}

/* Times from wake-up or event to running. */
static const struct {
    const char *since, *boosted;
    size_t offset;
} latencies[] = {
#define LATENCY(since, boosted, field) \
    { since, boosted, offsetof(libxl_tavs_domain_latency, field) }
    LATENCY("wake", "no", wake), LATENCY("wake", "yes", wake_boosted),
    LATENCY("event", "no", event), LATENCY("event", "yes", event_boosted),
#undef LATENCY
};
#define NR_LATENCIES ARRAY_SIZE(latencies)

static const libxl_tavs_histogram *
histogram(const libxl_tavs_domain_latency *l, unsigned int i)
{
    return (const libxl_tavs_histogram *)((const char *)l +
                                          latencies[i].offset);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * part / whole : 0;
}

/*
 * The time below which `share` of all were.  Within a bucket they are taken to
 * be spread evenly.  `max` is what the last one in use is bounded by.
 */
static double quantile_ns(const uint64_t *bounds, const uint64_t *buckets,
                          unsigned int nr, uint64_t max, double share)
{
    uint64_t count = 0, below = 0;
    double wanted, from, to;
    unsigned int i;

    for (i = 0; i < nr; i++)
        count += buckets[i];
    wanted = share * count;

    for (i = 0; i < nr; i++) {
        if (!buckets[i] || below + buckets[i] < wanted) {
            below += buckets[i];
            continue;
        }
        from = i ? bounds[i - 1] : 0;
        to = i == nr - 1 || (max && bounds[i] > max) ? max : bounds[i];
        return from + (to - from) * (wanted - below) / buckets[i];
    }

    return 0;
}

/* Text. */

static void show_vcpu_stats(const struct tavs_domain *d,
                            const libxl_tavs_vcpu_stats *s)
{
    uint64_t boosts = 0, hits = 0;
    unsigned int i;

    printf("%s, ID %"PRIu32", vCPU %d\n", d->name, d->domid, s->vcpu);
    printf("  ran %.3f s, boosted %.3f s (%.2f%%), budget %.3f ms\n",
           s->run_ns / 1e9, s->boost_ns / 1e9, percent(s->boost_ns, s->run_ns),
           s->budget_us / 1e3);

    printf("  %-8s %10s %10s %7s %10s %10s %10s\n", "Boosts", "Number", "Hits",
           "PBHR", "Revoked", "Blocked", "Capped");
    for (i = 0; i < NR_REASONS; i++) {
        const libxl_tavs_boosts *b = boosts_for(s, i);

        if (!b->boosts)
            continue;

        /* A driver domain is boosted whichever of its tasks runs. */
        if (b == &s->driver) {
            printf("  %-8s %10"PRIu64" %10s %7s %10"PRIu64" %10"PRIu64
                   " %10"PRIu64"\n", reasons[i].name, b->boosts, "-", "-",
                   b->revoked, b->blocked, b->capped);
            continue;
        }

        printf("  %-8s %10"PRIu64" %10"PRIu64" %6.1f%% %10"PRIu64
               " %10"PRIu64" %10"PRIu64"\n", reasons[i].name, b->boosts,
               b->hits, percent(b->hits, b->boosts), b->revoked, b->blocked,
               b->capped);
        boosts += b->boosts;
        hits += b->hits;
    }
    printf("  %-8s %10"PRIu64" %10"PRIu64" %6.1f%%\n", "tasks", boosts, hits,
           percent(hits, boosts));

    printf("  Refused: no I/O-bound task %"PRIu64", not correlated %"PRIu64
           ", PBratio 0 %"PRIu64", budget %"PRIu64", already ahead %"PRIu64
           "\n", s->refused_no_task, s->refused_uncorrelated, s->refused_off,
           s->refused_budget, s->refused_ahead);
    printf("  Task switches: %"PRIu64"\n", s->switches);
}

static bool show_stats(const struct tavs_domain *d)
{
    libxl_tavs_domain_stats stats;
    int i;

    if (libxl_domain_tavs_stats_get(ctx, d->domid, &stats))
        return false;

    for (i = 0; i < stats.num_vcpus; i++)
        show_vcpu_stats(d, &stats.vcpus[i]);

    printf("%s, ID %"PRIu32", all vCPUs\n", d->name, d->domid);
    printf("  Evidence: positive %"PRIu64", negative %"PRIu64
           "; tasks: I/O-bound %"PRIu32", without room %"PRIu64"\n",
           stats.positives, stats.negatives, stats.believed, stats.untracked);
    if (stats.ring.registered)
        printf("  Packets told of: %"PRIu64"; notified %"PRIu64", left over %"
               PRIu64", dropped %"PRIu64", lost %"PRIu64", nonsense %"PRIu64
               ", overrun %"PRIu64"\n", stats.ring.taken, stats.ring.notified,
               stats.ring.left_over, stats.ring.dropped, stats.ring.lost,
               stats.ring.nonsense, stats.ring.overrun);

    libxl_tavs_domain_stats_dispose(&stats);

    return true;
}

static int by_belief(const void *a, const void *b)
{
    const libxl_tavs_task *s = a, *t = b;

    if (s->belief != t->belief)
        return s->belief > t->belief ? -1 : 1;

    return s->id < t->id ? -1 : s->id > t->id;
}

static const char *ago(uint64_t ns, char buf[16])
{
    if (ns == ~0ULL)
        snprintf(buf, 16, "-");
    else
        snprintf(buf, 16, "%.1f", ns / 1e9);

    return buf;
}

static bool show_tasks(const struct tavs_domain *d)
{
    libxl_tavs_domain_tasks tasks;
    int i;

    if (libxl_domain_tavs_tasks_get(ctx, d->domid, &tasks))
        return false;

    printf("%s, ID %"PRIu32": tasks %d\n", d->name, d->domid,
           tasks.num_tasks);
    if (tasks.num_tasks) {
        qsort(tasks.tasks, tasks.num_tasks, sizeof(*tasks.tasks), by_belief);
        printf("  %-10s %6s %9s %8s %8s %10s %11s\n", "Task", "Belief",
               "I/O-bound", "Positive", "Negative", "Last I/O s",
               "Last long s");
    }
    for (i = 0; i < tasks.num_tasks; i++) {
        const libxl_tavs_task *t = &tasks.tasks[i];
        char io[16], cpu[16];

        printf("  %-10"PRIx64" %6d %9s %8"PRIu32" %8"PRIu32" %10s %11s%s\n",
               t->id, t->belief, t->io_bound ? "yes" : "no", t->positives,
               t->negatives, ago(t->last_io_ns, io), ago(t->last_cpu_ns, cpu),
               t->current ? " *" : "");
    }

    libxl_tavs_domain_tasks_dispose(&tasks);

    return true;
}

static bool show_portmap(const struct tavs_domain *d)
{
    libxl_tavs_domain_ports ports;
    int i;

    if (libxl_domain_tavs_ports_get(ctx, d->domid, &ports))
        return false;

    printf("%s, ID %"PRIu32": ports %d\n", d->name, d->domid,
           ports.num_ports);
    if (ports.num_ports)
        printf("  %-8s %5s %7s %6s\n", "Protocol", "Port", "Counter",
               "Boosts");
    for (i = 0; i < ports.num_ports; i++) {
        const libxl_tavs_port *p = &ports.ports[i];

        printf("  %-8s %5d %7d %6s\n", p->protocol == 6 ? "tcp" : "udp",
               p->port, p->value, p->boosts ? "yes" : "no");
    }

    libxl_tavs_domain_ports_dispose(&ports);

    return true;
}

static void show_latency_header(void)
{
    printf("%-20s %4s %-5s %-7s %10s %9s %9s %9s %9s %9s\n", "Name", "ID",
           "Since", "Boosted", "Number", "Mean ms", "p50 ms", "p90 ms",
           "p99 ms", "Max ms");
}

static bool show_latency(const struct tavs_domain *d)
{
    libxl_tavs_domain_latency l;
    unsigned int i;

    if (libxl_domain_tavs_latency_get(ctx, d->domid, &l))
        return false;

    for (i = 0; i < NR_LATENCIES; i++) {
        const libxl_tavs_histogram *h = histogram(&l, i);
#define MS(share)                                                        \
        (quantile_ns(l.bounds_ns, h->buckets, h->num_buckets, h->max_ns, \
                     share) / 1e6)

        if (!h->count)
            continue;

        printf("%-20s %4"PRIu32" %-5s %-7s %10"PRIu64
               " %9.3f %9.3f %9.3f %9.3f %9.3f\n", d->name, d->domid,
               latencies[i].since, latencies[i].boosted, h->count,
               h->sum_ns / 1e6 / h->count, MS(0.5), MS(0.9), MS(0.99),
               h->max_ns / 1e6);
#undef MS
    }

    libxl_tavs_domain_latency_dispose(&l);

    return true;
}

/* JSON. */

#define JSON_GET(what)                                                    \
static bool json_##what(yajl_gen hand, const struct tavs_domain *d,       \
                        yajl_gen_status *s)                               \
{                                                                         \
    libxl_tavs_domain_##what x;                                           \
                                                                          \
    if (libxl_domain_tavs_##what##_get(ctx, d->domid, &x))                \
        return false;                                                     \
                                                                          \
    *s = libxl_tavs_domain_##what##_gen_json(hand, &x);                   \
    libxl_tavs_domain_##what##_dispose(&x);                               \
                                                                          \
    return true;                                                          \
}
JSON_GET(stats)
JSON_GET(tasks)
JSON_GET(ports)
JSON_GET(latency)
#undef JSON_GET

static yajl_gen_status json_string(yajl_gen hand, const char *s)
{
    return yajl_gen_string(hand, (const unsigned char *)s, strlen(s));
}

static int show_json(enum tavs_show what, const struct tavs_domain *doms,
                     unsigned int nr)
{
    static const struct {
        const char *key;
        bool (*gen)(yajl_gen hand, const struct tavs_domain *d,
                    yajl_gen_status *s);
    } kinds[] = {
        [TAVS_SHOW_STATS] = { "stats", json_stats },
        [TAVS_SHOW_TASKS] = { "tasks", json_tasks },
        [TAVS_SHOW_PORTMAP] = { "ports", json_ports },
        [TAVS_SHOW_LATENCY] = { "latency", json_latency },
    };
    yajl_gen hand = libxl_yajl_gen_alloc(NULL);
    libxl_yajl_length len;
    const unsigned char *buf;
    yajl_gen_status s;
    unsigned int i;
    int rc = EXIT_FAILURE;

    if (!hand) {
        fprintf(stderr, "xl sched-tavs: out of memory\n");
        return rc;
    }

    s = yajl_gen_array_open(hand);
    for (i = 0; i < nr && s == yajl_gen_status_ok; i++) {
        s = yajl_gen_map_open(hand);
        if (s == yajl_gen_status_ok)
            s = json_string(hand, "name");
        if (s == yajl_gen_status_ok)
            s = json_string(hand, doms[i].name);
        if (s == yajl_gen_status_ok)
            s = json_string(hand, kinds[what].key);
        if (s == yajl_gen_status_ok && !kinds[what].gen(hand, &doms[i], &s))
            goto out;
        if (s == yajl_gen_status_ok)
            s = yajl_gen_map_close(hand);
    }
    if (s == yajl_gen_status_ok)
        s = yajl_gen_array_close(hand);
    if (s == yajl_gen_status_ok)
        s = yajl_gen_get_buf(hand, &buf, &len);

    if (s == yajl_gen_status_ok) {
        puts((const char *)buf);
        rc = EXIT_SUCCESS;
    } else
        fprintf(stderr, "xl sched-tavs: cannot format as JSON (%d)\n", s);

out:
    yajl_gen_free(hand);

    return rc;
}

/*
 * Metrics in the text exposition format of Prometheus.  All samples of a
 * metric stand together, so all is read first.
 */

struct metrics {
    const struct tavs_domain *d;
    libxl_domain_sched_params params;
    libxl_tavs_domain_stats stats;
    libxl_tavs_domain_latency latency;
};

static void metric(const char *name, const char *type, const char *help)
{
    printf("# HELP xen_tavs_%s %s\n# TYPE xen_tavs_%s %s\n", name, help, name,
           type);
}

static void label_value(const char *s)
{
    putchar('"');
    for (; *s; s++)
        if (*s == '\n')
            printf("\\n");
        else if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else
            putchar(*s);
    putchar('"');
}

static void labels(const char *name, const struct tavs_domain *d)
{
    printf("xen_tavs_%s{domain=", name);
    label_value(d->name);
    printf(",domid=\"%"PRIu32"\"", d->domid);
}

/* One sample for each vCPU of each domain. */
#define VCPU_METRIC(name, type, help, format, value) do {                  \
    metric(name, type, help);                                              \
    for (i = 0; i < nr; i++)                                               \
        for (j = 0; j < m[i].stats.num_vcpus; j++) {                       \
            const libxl_tavs_vcpu_stats *s = &m[i].stats.vcpus[j];         \
                                                                           \
            labels(name, m[i].d);                                          \
            printf(",vcpu=\"%d\"} %" format "\n", s->vcpu, value);         \
        }                                                                  \
} while (0)

static void boost_metric(const struct metrics *m, unsigned int nr,
                         const char *name, const char *help, size_t offset)
{
    unsigned int i, k;
    int j;

    metric(name, "counter", help);
    for (i = 0; i < nr; i++)
        for (j = 0; j < m[i].stats.num_vcpus; j++)
            for (k = 0; k < NR_REASONS; k++) {
                const libxl_tavs_vcpu_stats *s = &m[i].stats.vcpus[j];
                const char *b = (const char *)boosts_for(s, k);

                labels(name, m[i].d);
                printf(",vcpu=\"%d\",reason=\"%s\"} %"PRIu64"\n", s->vcpu,
                       reasons[k].name, *(const uint64_t *)(b + offset));
            }
}

static void ends_metric(const struct metrics *m, unsigned int nr)
{
    static const struct {
        const char *name;
        size_t offset;
    } ends[] = {
        { "revoked", offsetof(libxl_tavs_boosts, revoked) },
        { "blocked", offsetof(libxl_tavs_boosts, blocked) },
        { "capped", offsetof(libxl_tavs_boosts, capped) },
    };
    unsigned int i, k, e;
    int j;

    metric("boost_ends_total", "counter", "How boosts ended.");
    for (i = 0; i < nr; i++)
        for (j = 0; j < m[i].stats.num_vcpus; j++)
            for (k = 0; k < NR_REASONS; k++)
                for (e = 0; e < ARRAY_SIZE(ends); e++) {
                    const libxl_tavs_vcpu_stats *s = &m[i].stats.vcpus[j];
                    const char *b = (const char *)boosts_for(s, k);

                    labels("boost_ends_total", m[i].d);
                    printf(",vcpu=\"%d\",reason=\"%s\",end=\"%s\"} %"PRIu64
                           "\n", s->vcpu, reasons[k].name, ends[e].name,
                           *(const uint64_t *)(b + ends[e].offset));
                }
}

static void counts_metric(const struct metrics *m, unsigned int nr,
                          const char *name, const char *label,
                          const char *help, const char *const *values,
                          const size_t *offsets, unsigned int n)
{
    unsigned int i, k;
    int j;

    metric(name, "counter", help);
    for (i = 0; i < nr; i++)
        for (j = 0; j < m[i].stats.num_vcpus; j++)
            for (k = 0; k < n; k++) {
                const libxl_tavs_vcpu_stats *s = &m[i].stats.vcpus[j];

                labels(name, m[i].d);
                printf(",vcpu=\"%d\",%s=\"%s\"} %"PRIu64"\n", s->vcpu, label,
                       values[k],
                       *(const uint64_t *)((const char *)s + offsets[k]));
            }
}

/* One sample for each domain. */
#define DOMAIN_METRIC(name, type, help, format, value) do {                \
    metric(name, type, help);                                              \
    for (i = 0; i < nr; i++) {                                             \
        const libxl_tavs_domain_stats *s = &m[i].stats;                    \
                                                                           \
        labels(name, m[i].d);                                              \
        printf("} %" format "\n", value);                                  \
    }                                                                      \
} while (0)

static void evidence_metric(const struct metrics *m, unsigned int nr)
{
    unsigned int i;

    metric("evidence_total", "counter",
           "Evidence for and against tasks being I/O-bound.");
    for (i = 0; i < nr; i++) {
        labels("evidence_total", m[i].d);
        printf(",kind=\"positive\"} %"PRIu64"\n", m[i].stats.positives);
        labels("evidence_total", m[i].d);
        printf(",kind=\"negative\"} %"PRIu64"\n", m[i].stats.negatives);
    }
}

static void ring_metric(const struct metrics *m, unsigned int nr)
{
    static const struct {
        const char *fate;
        size_t offset;
    } fates[] = {
#define FATE(fate) { #fate, offsetof(libxl_tavs_ring, fate) }
        FATE(taken), FATE(notified), FATE(left_over), FATE(dropped),
        FATE(lost), FATE(nonsense), FATE(overrun),
#undef FATE
    };
    unsigned int i, k;

    metric("ring_packets_total", "counter",
           "Packets that a driver domain told of, by fate.");
    for (i = 0; i < nr; i++)
        for (k = 0; m[i].stats.ring.registered && k < ARRAY_SIZE(fates); k++) {
            const char *ring = (const char *)&m[i].stats.ring;

            labels("ring_packets_total", m[i].d);
            printf(",fate=\"%s\"} %"PRIu64"\n", fates[k].fate,
                   *(const uint64_t *)(ring + fates[k].offset));
        }
}

static void latency_metric(const struct metrics *m, unsigned int nr)
{
    unsigned int i, k;
    int b;

    metric("latency_seconds", "histogram",
           "Time until a vCPU ran, since it woke up or an I/O event came.");
    for (i = 0; i < nr; i++)
        for (k = 0; k < NR_LATENCIES; k++) {
            const libxl_tavs_histogram *h = histogram(&m[i].latency, k);
            uint64_t below = 0;
            char id[64];

            snprintf(id, sizeof(id), ",since=\"%s\",boosted=\"%s\"",
                     latencies[k].since, latencies[k].boosted);

            /* Each power of two; the last bucket has no bound. */
            for (b = 0; b < h->num_buckets - 1; b++) {
                uint64_t bound = m[i].latency.bounds_ns[b];

                below += h->buckets[b];
                if (bound & (bound - 1))
                    continue;
                labels("latency_seconds_bucket", m[i].d);
                printf("%s,le=\"%.9g\"} %"PRIu64"\n", id, bound / 1e9, below);
            }
            labels("latency_seconds_bucket", m[i].d);
            printf("%s,le=\"+Inf\"} %"PRIu64"\n", id, h->count);
            labels("latency_seconds_sum", m[i].d);
            printf("%s} %.9f\n", id, h->sum_ns / 1e9);
            labels("latency_seconds_count", m[i].d);
            printf("%s} %"PRIu64"\n", id, h->count);
        }
}

static void print_metrics(const struct metrics *m, unsigned int nr)
{
#define FIELD(field) offsetof(libxl_tavs_vcpu_stats, field)
    static const char *const refusals[] = {
        "no_task", "uncorrelated", "off", "budget", "ahead",
    };
    static const size_t refused[] = {
        FIELD(refused_no_task), FIELD(refused_uncorrelated),
        FIELD(refused_off), FIELD(refused_budget), FIELD(refused_ahead),
    };
#undef FIELD
    unsigned int i;
    int j;
    char buf[8];

    metric("domain_info", "gauge", "A domain that tavs schedules; always 1.");
    for (i = 0; i < nr; i++) {
        labels("domain_info", m[i].d);
        printf(",pool=");
        label_value(m[i].d->pool);
        printf(",tracked=\"%s\",driver=\"%s\"} 1\n",
               libxl_defbool_val(m[i].params.tracked) ? "yes" : "no",
               libxl_defbool_val(m[i].params.driver) ? "yes" : "no");
    }

    metric("pb_ratio", "gauge", "Part of its CPU time a vCPU may be boosted.");
    for (i = 0; i < nr; i++) {
        labels("pb_ratio", m[i].d);
        printf("} %s\n", tavs_ratio(m[i].params.pb_ratio, buf));
    }

    VCPU_METRIC("cpu_seconds_total", "counter", "CPU time.", ".9f",
                s->run_ns / 1e9);
    VCPU_METRIC("boosted_cpu_seconds_total", "counter", "CPU time boosted.",
                ".9f", s->boost_ns / 1e9);
    VCPU_METRIC("budget_seconds", "gauge", "Boosted time that is left.", ".6f",
                s->budget_us / 1e6);
    VCPU_METRIC("task_switches_total", "counter",
                "Switches of address spaces.", PRIu64, s->switches);
    DOMAIN_METRIC("io_bound_tasks", "gauge",
                  "Tasks believed to be I/O-bound.", PRIu32, s->believed);
    DOMAIN_METRIC("tasks_without_room_total", "counter",
                  "Tasks that could not be tracked.", PRIu64, s->untracked);
    VCPU_METRIC("events_total", "counter",
                "Events that asked for a boost.", PRIu64, s->events);

    ring_metric(m, nr);
    boost_metric(m, nr, "boosts_total", "Boosts, by reason.",
                 offsetof(libxl_tavs_boosts, boosts));
    boost_metric(m, nr, "boost_hits_total",
                 "Boosts in which an I/O-bound task ran.",
                 offsetof(libxl_tavs_boosts, hits));
    ends_metric(m, nr);
    counts_metric(m, nr, "refusals_total", "reason",
                  "Events that did not boost a vCPU that was not running.",
                  refusals, refused, ARRAY_SIZE(refused));
    evidence_metric(m, nr);
    latency_metric(m, nr);
}

static int show_prometheus(const struct tavs_domain *doms, unsigned int nr)
{
    struct metrics *m = xcalloc(nr ?: 1, sizeof(*m));
    unsigned int i;
    int rc = EXIT_FAILURE;

    for (i = 0; i < nr; i++) {
        m[i].d = &doms[i];
        if (libxl_domain_sched_params_get(ctx, doms[i].domid, &m[i].params))
            goto out;
        if (libxl_domain_tavs_stats_get(ctx, doms[i].domid, &m[i].stats))
            goto out;
        if (libxl_domain_tavs_latency_get(ctx, doms[i].domid, &m[i].latency)) {
            libxl_tavs_domain_stats_dispose(&m[i].stats);
            goto out;
        }
    }

    print_metrics(m, nr);
    rc = EXIT_SUCCESS;

out:
    while (i--) {
        libxl_tavs_domain_stats_dispose(&m[i].stats);
        libxl_tavs_domain_latency_dispose(&m[i].latency);
        libxl_domain_sched_params_dispose(&m[i].params);
    }
    free(m);

    return rc;
}

int tavs_show(enum tavs_show what, bool json, const struct tavs_domain *doms,
              unsigned int nr)
{
    bool (*show)(const struct tavs_domain *d) =
        what == TAVS_SHOW_STATS ? show_stats :
        what == TAVS_SHOW_TASKS ? show_tasks :
        what == TAVS_SHOW_PORTMAP ? show_portmap : show_latency;
    unsigned int i;

    if (what == TAVS_SHOW_PROMETHEUS)
        return show_prometheus(doms, nr);

    if (json)
        return show_json(what, doms, nr);

    if (what == TAVS_SHOW_LATENCY)
        show_latency_header();

    for (i = 0; i < nr; i++)
        if (!show(&doms[i]))
            return EXIT_FAILURE;

    return EXIT_SUCCESS;
}

/* The running view. */

struct sample {
    uint64_t run_ns, boost_ns, boosts, hits, refused, events;
    libxl_tavs_domain_latency latency;
    uint32_t domid;
};

static bool take_sample(const struct tavs_domain *d, struct sample *s)
{
    libxl_tavs_domain_stats stats;
    unsigned int k;
    int i;

    memset(s, 0, sizeof(*s));
    s->domid = d->domid;

    if (libxl_domain_tavs_stats_get(ctx, d->domid, &stats))
        return false;

    for (i = 0; i < stats.num_vcpus; i++) {
        const libxl_tavs_vcpu_stats *v = &stats.vcpus[i];

        s->run_ns += v->run_ns;
        s->boost_ns += v->boost_ns;
        s->refused += v->refused_no_task + v->refused_uncorrelated +
                      v->refused_off + v->refused_budget;
        for (k = 0; k < NR_REASONS; k++) {
            s->boosts += boosts_for(v, k)->boosts;
            s->hits += boosts_for(v, k)->hits;
        }
    }
    libxl_tavs_domain_stats_dispose(&stats);

    return !libxl_domain_tavs_latency_get(ctx, d->domid, &s->latency);
}

/* Of the latencies of one kind, boosted or not, those in between. */
static double quantile_between(const struct sample *a, const struct sample *b,
                               unsigned int kind, double share)
{
    const libxl_tavs_domain_latency *l = &b->latency;
    unsigned int nr = l->num_bounds_ns, i, k;
    uint64_t *buckets = xcalloc(nr, sizeof(*buckets));
    double q;

    for (k = kind; k < kind + 2; k++)
        for (i = 0; i < nr; i++)
            buckets[i] += histogram(l, k)->buckets[i] -
                          histogram(&a->latency, k)->buckets[i];
    q = quantile_ns(l->bounds_ns, buckets, nr, l->bounds_ns[nr - 1], share);
    free(buckets);

    return q;
}

static void free_samples(struct sample *s, unsigned int nr)
{
    unsigned int i;

    for (i = 0; i < nr; i++)
        libxl_tavs_domain_latency_dispose(&s[i].latency);
    free(s);
}

static void top_line(const struct tavs_domain *d, const struct sample *a,
                     const struct sample *b, double seconds)
{
    uint64_t boosts = b->boosts - a->boosts;

    printf("%-20s %4"PRIu32" %6.1f %6.2f %8.1f %6.1f %8.1f %9.3f %9.3f %9.3f"
           " %9.3f\n", d->name, d->domid,
           (b->run_ns - a->run_ns) / 1e7 / seconds,
           (b->boost_ns - a->boost_ns) / 1e7 / seconds, boosts / seconds,
           percent(b->hits - a->hits, boosts),
           (b->refused - a->refused) / seconds,
           quantile_between(a, b, 0, 0.5) / 1e6,
           quantile_between(a, b, 0, 0.99) / 1e6,
           quantile_between(a, b, 2, 0.5) / 1e6,
           quantile_between(a, b, 2, 0.99) / 1e6);
}

int tavs_top(unsigned int seconds, unsigned int count,
             bool (*list)(void *arg, struct tavs_domain **doms,
                          unsigned int *nr),
             void *arg)
{
    struct sample *before = NULL, *now;
    unsigned int nr_before = 0, nr, i, j, round;
    struct timespec then = {}, t;
    struct tavs_domain *doms;

    for (round = 0; ; round++) {
        double passed;

        if (!list(arg, &doms, &nr))
            return EXIT_FAILURE;

        now = xcalloc(nr ?: 1, sizeof(*now));
        clock_gettime(CLOCK_MONOTONIC, &t);
        passed = t.tv_sec - then.tv_sec + (t.tv_nsec - then.tv_nsec) / 1e9;
        then = t;

        if (round)
            printf("%-20s %4s %6s %6s %8s %6s %8s %9s %9s %9s %9s\n", "Name",
                   "ID", "CPU %", "Boost%", "Boosts/s", "PBHR %", "Refus./s",
                   "Wake p50", "p99 ms", "Event p50", "p99 ms");

        for (i = 0; i < nr; i++) {
            if (!take_sample(&doms[i], &now[i]))
                return EXIT_FAILURE;
            for (j = 0; j < nr_before; j++)
                if (before[j].domid == doms[i].domid)
                    top_line(&doms[i], &before[j], &now[i], passed);
        }
        fflush(stdout);

        tavs_domains_free(doms, nr);
        free_samples(before, nr_before);
        before = now;
        nr_before = nr;

        if (round && round == count)
            break;
        sleep(seconds);
    }

    free_samples(before, nr_before);

    return EXIT_SUCCESS;
}

/*
 * Local variables:
 * mode: C
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
