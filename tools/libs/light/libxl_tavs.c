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

/*
 * The task-aware scheduler: its parameters, and what it knows of domains.
 */

#include "libxl_internal.h"

/* libxl's numbers of schedulers are Xen's. */
bool libxl__sched_is_tavs(libxl_scheduler sched)
{
    return sched == LIBXL_SCHEDULER_TAVS || sched == LIBXL_SCHEDULER_TAVS2;
}

/* Parameters of a domain. */

int libxl__sched_tavs_domain_get(libxl__gc *gc, uint32_t domid,
                                 libxl_scheduler sched,
                                 libxl_domain_sched_params *scinfo)
{
    struct xen_domctl_sched_tavs sdom;

    if (xc_sched_tavs_domain_get(CTX->xch, domid, sched, &sdom)) {
        LOGED(ERROR, domid, "Getting domain sched tavs");
        return ERROR_FAIL;
    }

    libxl_domain_sched_params_init(scinfo);
    scinfo->sched = sched;
    scinfo->weight = sdom.weight;
    scinfo->cap = sdom.cap;
    scinfo->pb_ratio = sdom.pbratio;
    libxl_defbool_set(&scinfo->tracked,
                      sdom.flags & XEN_DOMCTL_SCHED_TAVS_tracked);
    libxl_defbool_set(&scinfo->driver,
                      sdom.flags & XEN_DOMCTL_SCHED_TAVS_driver);

    return 0;
}

static void set_flag(const libxl_defbool *b, uint8_t flag,
                     struct xen_domctl_sched_tavs *sdom)
{
    if (libxl_defbool_is_default(*b))
        return;

    sdom->set_flags |= flag;
    if (libxl_defbool_val(*b))
        sdom->flags |= flag;
}

int libxl__sched_tavs_domain_set(libxl__gc *gc, uint32_t domid,
                                 libxl_scheduler sched,
                                 const libxl_domain_sched_params *scinfo)
{
    struct xen_domctl_sched_tavs sdom = { .cap = ~0, .pbratio = ~0 };
    xc_domaininfo_t domaininfo;

    if (xc_domain_getinfo_single(CTX->xch, domid, &domaininfo) < 0) {
        LOGED(ERROR, domid, "Getting domain info");
        return errno == ESRCH ? ERROR_INVAL : ERROR_FAIL;
    }

    if (scinfo->weight != LIBXL_DOMAIN_SCHED_PARAM_WEIGHT_DEFAULT) {
        if (scinfo->weight < 1 || scinfo->weight > 65535) {
            LOGD(ERROR, domid, "Cpu weight out of range, "
                 "valid values are within range from 1 to 65535");
            return ERROR_INVAL;
        }
        sdom.weight = scinfo->weight;
    }

    if (scinfo->cap != LIBXL_DOMAIN_SCHED_PARAM_CAP_DEFAULT) {
        if (scinfo->cap < 0
            || scinfo->cap > (domaininfo.max_vcpu_id + 1) * 100) {
            LOGD(ERROR, domid, "Cpu cap out of range, "
                 "valid range is from 0 to %d for specified number of vcpus",
                 ((domaininfo.max_vcpu_id + 1) * 100));
            return ERROR_INVAL;
        }
        sdom.cap = scinfo->cap;
    }

    if (scinfo->pb_ratio != LIBXL_DOMAIN_SCHED_PARAM_PB_RATIO_DEFAULT) {
        if (scinfo->pb_ratio < 0
            || scinfo->pb_ratio > XEN_DOMCTL_SCHED_TAVS_PBRATIO_MAX) {
            LOGD(ERROR, domid, "PBratio out of range, "
                 "valid range is from 0 to %d permille",
                 XEN_DOMCTL_SCHED_TAVS_PBRATIO_MAX);
            return ERROR_INVAL;
        }
        sdom.pbratio = scinfo->pb_ratio;
    }

    set_flag(&scinfo->tracked, XEN_DOMCTL_SCHED_TAVS_tracked, &sdom);
    set_flag(&scinfo->driver, XEN_DOMCTL_SCHED_TAVS_driver, &sdom);

    if (xc_sched_tavs_domain_set(CTX->xch, domid, sched, &sdom)) {
        if (errno == EOPNOTSUPP) {
            LOGD(ERROR, domid, "Only tasks of PV domains can be tracked");
            return ERROR_INVAL;
        }
        LOGED(ERROR, domid, "Setting domain sched tavs");
        return ERROR_FAIL;
    }

    return 0;
}

/*
 * Parameters that another scheduler does not have are no error, as always.  Of
 * a driver domain nothing is said: it is one under any scheduler.
 */
void libxl__sched_tavs_ignored(libxl__gc *gc, uint32_t domid,
                               libxl_scheduler sched,
                               const libxl_domain_sched_params *scinfo)
{
    const char *name =
        scinfo->pb_ratio != LIBXL_DOMAIN_SCHED_PARAM_PB_RATIO_DEFAULT
            ? "pb_ratio" :
        !libxl_defbool_is_default(scinfo->tracked) &&
        libxl_defbool_val(scinfo->tracked) ? "tracked" : NULL;

    if (name)
        LOGD(WARN, domid, "%s is ignored: the scheduler is %s, not tavs", name,
             libxl_scheduler_to_string(sched));
}

/* Parameters of a cpupool, and of the host. */

static const struct {
    const char *name;
    size_t offset;
    unsigned int knob;
    int min, max;
} knobs[] = {
#define KNOB(name, field, id)                                 \
    { name, offsetof(libxl_sched_tavs_params, field),         \
      XEN_SYSCTL_TAVS_ ## id, XEN_SYSCTL_TAVS_ ## id ## _MIN, \
      XEN_SYSCTL_TAVS_ ## id ## _MAX }
    KNOB("PBratio of new domains", pb_ratio, PBRATIO),
    KNOB("Boost cap", boost_cap_us, BOOST_CAP_US),
    KNOB("I/O threshold", io_threshold_us, IO_THRESHOLD_US),
    KNOB("Inspection window", window, WINDOW),
    KNOB("Portmap bits", portmap_bits, PORTMAP_BITS),
    KNOB("Correlation", correlate, CORRELATE),
    KNOB("Tracking of new domains", track, TRACK),
#undef KNOB
};

static int *field(libxl_sched_tavs_params *scinfo, unsigned int i)
{
    return (int *)((char *)scinfo + knobs[i].offset);
}

static void params_from_xen(const struct xen_sysctl_tavs_schedule *sparam,
                            libxl_sched_tavs_params *scinfo)
{
    unsigned int i;

    scinfo->tslice_ms = sparam->credit.tslice_ms;
    scinfo->ratelimit_us = sparam->credit.ratelimit_us;
    scinfo->vcpu_migr_delay_us = sparam->credit.vcpu_migr_delay_us;

    for (i = 0; i < ARRAY_SIZE(knobs); i++)
        *field(scinfo, i) = sparam->valid & (1U << knobs[i].knob)
                            ? sparam->knob[knobs[i].knob]
                            : LIBXL_SCHED_TAVS_PARAM_DEFAULT;
}

/* The scheduler of a pool, which is to be task-aware. */
static int pool_scheduler(libxl__gc *gc, uint32_t poolid,
                          libxl_scheduler *sched)
{
    libxl_cpupoolinfo info;
    int rc;

    libxl_cpupoolinfo_init(&info);
    rc = libxl_cpupool_info(CTX, &info, poolid);
    *sched = info.sched;
    libxl_cpupoolinfo_dispose(&info);

    if (!rc && !libxl__sched_is_tavs(*sched)) {
        LOG(ERROR, "Pool %"PRIu32" is scheduled by %s, not by tavs", poolid,
            libxl_scheduler_to_string(*sched));
        rc = ERROR_INVAL;
    }

    return rc;
}

int libxl_sched_tavs_params_get(libxl_ctx *ctx, uint32_t poolid,
                                libxl_sched_tavs_params *scinfo)
{
    struct xen_sysctl_tavs_schedule sparam;
    libxl_scheduler sched;
    int rc;
    GC_INIT(ctx);

    rc = pool_scheduler(gc, poolid, &sched);
    if (rc) goto out;

    if (xc_sched_tavs_params_get(ctx->xch, poolid, sched, &sparam)) {
        LOGE(ERROR, "getting Tavs scheduler parameters");
        rc = ERROR_FAIL;
        goto out;
    }

    params_from_xen(&sparam, scinfo);

    rc = 0;
 out:
    GC_FREE;
    return rc;
}

static int check_range(libxl__gc *gc, const char *name, int value, int min,
                       int max)
{
    if (value >= min && value <= max)
        return 0;

    LOG(ERROR, "%s out of range, valid range is from %d to %d", name, min, max);
    return ERROR_INVAL;
}

/* The value after a change, which `scinfo` may leave as it is. */
static int after(const libxl_sched_tavs_params *scinfo, int value, int now)
{
    return value == LIBXL_SCHED_TAVS_PARAM_DEFAULT ? now : value;
}

int libxl_sched_tavs_params_set(libxl_ctx *ctx, uint32_t poolid,
                                libxl_sched_tavs_params *scinfo)
{
    struct xen_sysctl_tavs_schedule sparam = {}, now;
    int tslice, ratelimit, migr_delay, rc;
    libxl_scheduler sched;
    unsigned int i;
    GC_INIT(ctx);

    rc = pool_scheduler(gc, poolid, &sched);
    if (rc) goto out;

    if (xc_sched_tavs_params_get(ctx->xch, poolid, sched, &now)) {
        LOGE(ERROR, "getting Tavs scheduler parameters");
        rc = ERROR_FAIL;
        goto out;
    }

    tslice = after(scinfo, scinfo->tslice_ms, now.credit.tslice_ms);
    ratelimit = after(scinfo, scinfo->ratelimit_us, now.credit.ratelimit_us);
    migr_delay = after(scinfo, scinfo->vcpu_migr_delay_us,
                       now.credit.vcpu_migr_delay_us);

    if (sched == LIBXL_SCHEDULER_TAVS2 && (tslice || migr_delay)) {
        LOG(ERROR, "tavs2 has no time slice and no migration delay");
        rc = ERROR_INVAL;
        goto out;
    }
    if (sched == LIBXL_SCHEDULER_TAVS) {
        rc = check_range(gc, "Time slice", tslice, XEN_SYSCTL_CSCHED_TSLICE_MIN,
                         XEN_SYSCTL_CSCHED_TSLICE_MAX);
        if (rc) goto out;
    }
    if (ratelimit) {
        rc = check_range(gc, "Ratelimit", ratelimit,
                         XEN_SYSCTL_SCHED_RATELIMIT_MIN,
                         XEN_SYSCTL_SCHED_RATELIMIT_MAX);
        if (rc) goto out;
    }
    if (sched == LIBXL_SCHEDULER_TAVS && ratelimit > tslice * 1000) {
        LOG(ERROR, "Ratelimit cannot be greater than timeslice");
        rc = ERROR_INVAL;
        goto out;
    }
    rc = check_range(gc, "Migration delay", migr_delay, 0,
                     XEN_SYSCTL_CSCHED_MGR_DLY_MAX_US);
    if (rc) goto out;

    if (scinfo->tslice_ms != LIBXL_SCHED_TAVS_PARAM_DEFAULT ||
        scinfo->ratelimit_us != LIBXL_SCHED_TAVS_PARAM_DEFAULT ||
        scinfo->vcpu_migr_delay_us != LIBXL_SCHED_TAVS_PARAM_DEFAULT) {
        sparam.valid = XEN_SYSCTL_TAVS_VALID_credit;
        sparam.credit.tslice_ms = tslice;
        sparam.credit.ratelimit_us = ratelimit;
        sparam.credit.vcpu_migr_delay_us = migr_delay;
    }

    for (i = 0; i < ARRAY_SIZE(knobs); i++) {
        unsigned int knob = knobs[i].knob;
        int value = *field(scinfo, i);

        if (value == LIBXL_SCHED_TAVS_PARAM_DEFAULT)
            continue;

        if (!(now.valid & (1U << knob))) {
            LOG(ERROR, "%s: the hypervisor does not have this", knobs[i].name);
            rc = ERROR_NI;
            goto out;
        }

        rc = check_range(gc, knobs[i].name, value, knobs[i].min, knobs[i].max);
        if (rc) goto out;

        sparam.valid |= 1U << knob;
        sparam.knob[knob] = value;
    }

    if (scinfo->portmap_bits == 3) {
        LOG(ERROR, "Portmap bits can be 1, 2 or 4");
        rc = ERROR_INVAL;
        goto out;
    }

    if (xc_sched_tavs_params_set(ctx->xch, poolid, sched, &sparam)) {
        LOGE(ERROR, "Setting Tavs scheduler parameters");
        rc = ERROR_FAIL;
        goto out;
    }

    params_from_xen(&sparam, scinfo);

    rc = 0;
 out:
    GC_FREE;
    return rc;
}

/* What task awareness knows. */

/* Room for one more at the end of an array that the caller will free. */
#define GROW(array, nr) \
    ((array) = libxl__realloc(NOGC, array, ((nr) + 1) * sizeof(*(array))))

/* Of one vCPU.  Non-zero, with errno: it failed. */
typedef int vcpu_getter(libxl__gc *gc, uint32_t domid, unsigned int vcpu,
                        void *all);

/* Ask about the first vCPUs, `nr` at most, of a domain that tavs schedules. */
static int get_vcpus(libxl__gc *gc, uint32_t domid, unsigned int nr,
                     const char *what, vcpu_getter *get, void *all)
{
    xc_domaininfo_t info;
    libxl_scheduler sched;
    unsigned int nr_vcpus, i;

    if (xc_domain_getinfo_single(CTX->xch, domid, &info) < 0) {
        LOGED(ERROR, domid, "Getting domain info");
        return errno == ESRCH ? ERROR_DOMAIN_NOTFOUND : ERROR_FAIL;
    }

    sched = libxl__domain_scheduler(gc, domid);
    if (!libxl__sched_is_tavs(sched)) {
        LOGD(ERROR, domid, "Domain is scheduled by %s, not by tavs",
             libxl_scheduler_to_string(sched));
        return ERROR_INVAL;
    }

    /* 0 where max_vcpu_id is invalid. */
    nr_vcpus = info.max_vcpu_id + 1;
    for (i = 0; i < nr_vcpus && i < nr; i++) {
        /* One that was never created has nothing to tell. */
        if (get(gc, domid, i, all) && errno != ESRCH) {
            LOGED(ERROR, domid, "Getting %s of vcpu %u", what, i);
            return ERROR_FAIL;
        }
    }

    return 0;
}

static int get_each_vcpu(libxl__gc *gc, uint32_t domid, const char *what,
                         vcpu_getter *get, void *all)
{
    return get_vcpus(gc, domid, ~0U, what, get, all);
}

/* What is the domain's: all its vCPUs have the same to tell. */
static int get_domain(libxl__gc *gc, uint32_t domid, const char *what,
                      vcpu_getter *get, void *all)
{
    return get_vcpus(gc, domid, 1, what, get, all);
}

typedef int array_getter(xc_interface *xch, uint32_t domid, unsigned int vcpu,
                         void *array, uint32_t *nr);

/* All elements of what there is an array of for a vCPU, or NULL. */
static void *get_array(libxl__gc *gc, uint32_t domid, unsigned int vcpu,
                       array_getter *get, size_t size, uint32_t *nr)
{
    void *array = NULL;
    uint32_t room;

    /* There may be more by the time that they are read. */
    *nr = 0;
    do {
        room = *nr;
        array = libxl__realloc(gc, array, (room ?: 1) * size);
        if (get(CTX->xch, domid, vcpu, array, nr))
            return NULL;
    } while (*nr > room);

    return array;
}

static void boosts_from_xen(const xen_domctl_tavs_stats_t *xs,
                            unsigned int reason, libxl_tavs_boosts *b)
{
    b->boosts = xs->boosts[reason];
    b->hits = xs->hits[reason];
    b->revoked = xs->ends[reason][XEN_DOMCTL_TAVS_END_revoked];
    b->blocked = xs->ends[reason][XEN_DOMCTL_TAVS_END_blocked];
    b->capped = xs->ends[reason][XEN_DOMCTL_TAVS_END_capped];
}

static int get_stats(libxl__gc *gc, uint32_t domid, unsigned int vcpu,
                     void *all)
{
    libxl_tavs_domain_stats *stats = all;
    libxl_tavs_vcpu_stats *vs;
    xen_domctl_tavs_stats_t xs;

    if (xc_tavs_stats(CTX->xch, domid, vcpu, &xs))
        return -1;

    /* The domain's, whichever vCPU. */
    stats->positives = xs.positives;
    stats->negatives = xs.negatives;
    stats->untracked = xs.untracked;
    stats->believed = xs.believed;
    stats->ring.registered = xs.flags & XEN_DOMCTL_TAVS_STATS_ring;
    stats->ring.taken = xs.ring_taken;
    stats->ring.notified = xs.ring_notified;
    stats->ring.left_over = xs.ring_left_over;
    stats->ring.dropped = xs.ring_dropped;
    stats->ring.lost = xs.ring_lost;
    stats->ring.nonsense = xs.ring_nonsense;
    stats->ring.overrun = xs.ring_overrun;

    GROW(stats->vcpus, stats->num_vcpus);
    vs = &stats->vcpus[stats->num_vcpus++];
    libxl_tavs_vcpu_stats_init(vs);
    vs->vcpu = vcpu;
    vs->run_ns = xs.run_ns;
    vs->boost_ns = xs.boost_ns;
    vs->budget_us = xs.budget_ns / 1000;
    vs->events = xs.events;
    boosts_from_xen(&xs, XEN_DOMCTL_TAVS_REASON_any, &vs->any);
    boosts_from_xen(&xs, XEN_DOMCTL_TAVS_REASON_block, &vs->block);
    boosts_from_xen(&xs, XEN_DOMCTL_TAVS_REASON_net, &vs->net);
    boosts_from_xen(&xs, XEN_DOMCTL_TAVS_REASON_driver, &vs->driver);
    boosts_from_xen(&xs, XEN_DOMCTL_TAVS_REASON_timer, &vs->timer);
    vs->refused_no_task = xs.refused[XEN_DOMCTL_TAVS_REFUSED_no_task];
    vs->refused_uncorrelated =
        xs.refused[XEN_DOMCTL_TAVS_REFUSED_uncorrelated];
    vs->refused_off = xs.refused[XEN_DOMCTL_TAVS_REFUSED_off];
    vs->refused_budget = xs.refused[XEN_DOMCTL_TAVS_REFUSED_budget];
    vs->refused_ahead = xs.refused[XEN_DOMCTL_TAVS_REFUSED_ahead];
    vs->switches = xs.switches;

    return 0;
}

int libxl_domain_tavs_stats_get(libxl_ctx *ctx, uint32_t domid,
                                libxl_tavs_domain_stats *stats)
{
    int rc;
    GC_INIT(ctx);

    libxl_tavs_domain_stats_init(stats);
    stats->domid = domid;

    rc = get_each_vcpu(gc, domid, "tavs statistics", get_stats, stats);
    if (rc)
        libxl_tavs_domain_stats_dispose(stats);

    GC_FREE;
    return rc;
}

static void task_from_xen(const xen_domctl_tavs_task_t *xt,
                          libxl_tavs_task *task)
{
    libxl_tavs_task_init(task);
    task->id = xt->id;
    task->belief = xt->belief;
    task->io_bound = xt->flags & XEN_DOMCTL_TAVS_TASK_io_bound;
    task->current = xt->flags & XEN_DOMCTL_TAVS_TASK_current;
    task->positives = xt->positives;
    task->negatives = xt->negatives;
    task->last_io_ns = xt->last_io_ns;
    task->last_cpu_ns = xt->last_cpu_ns;
}

static int read_tasks(xc_interface *xch, uint32_t domid, unsigned int vcpu,
                      void *array, uint32_t *nr)
{
    return xc_tavs_tasks(xch, domid, vcpu, array, nr);
}

static int get_tasks(libxl__gc *gc, uint32_t domid, unsigned int vcpu,
                     void *all)
{
    libxl_tavs_domain_tasks *tasks = all;
    const xen_domctl_tavs_task_t *xt;
    uint32_t nr, i;

    xt = get_array(gc, domid, vcpu, read_tasks, sizeof(*xt), &nr);
    if (!xt)
        return -1;

    tasks->tasks = libxl__calloc(NOGC, nr ?: 1, sizeof(*tasks->tasks));
    for (i = 0; i < nr; i++)
        task_from_xen(&xt[i], &tasks->tasks[i]);
    tasks->num_tasks = nr;

    return 0;
}

int libxl_domain_tavs_tasks_get(libxl_ctx *ctx, uint32_t domid,
                                libxl_tavs_domain_tasks *tasks)
{
    int rc;
    GC_INIT(ctx);

    libxl_tavs_domain_tasks_init(tasks);
    tasks->domid = domid;

    rc = get_domain(gc, domid, "tasks", get_tasks, tasks);
    if (rc)
        libxl_tavs_domain_tasks_dispose(tasks);

    GC_FREE;
    return rc;
}

static void port_from_xen(const xen_domctl_tavs_port_t *xp,
                          libxl_tavs_port *port)
{
    libxl_tavs_port_init(port);
    port->protocol = xp->protocol;
    port->port = xp->port;
    port->value = xp->value;
    port->boosts = xp->value >= 0;
}

static int read_ports(xc_interface *xch, uint32_t domid, unsigned int vcpu,
                      void *array, uint32_t *nr)
{
    return xc_tavs_ports(xch, domid, vcpu, array, nr);
}

static int get_ports(libxl__gc *gc, uint32_t domid, unsigned int vcpu,
                     void *all)
{
    libxl_tavs_domain_ports *ports = all;
    const xen_domctl_tavs_port_t *xp;
    uint32_t nr, i;

    xp = get_array(gc, domid, vcpu, read_ports, sizeof(*xp), &nr);
    if (!xp)
        return -1;

    ports->ports = libxl__calloc(NOGC, nr ?: 1, sizeof(*ports->ports));
    for (i = 0; i < nr; i++)
        port_from_xen(&xp[i], &ports->ports[i]);
    ports->num_ports = nr;

    return 0;
}

int libxl_domain_tavs_ports_get(libxl_ctx *ctx, uint32_t domid,
                                libxl_tavs_domain_ports *ports)
{
    int rc;
    GC_INIT(ctx);

    libxl_tavs_domain_ports_init(ports);
    ports->domid = domid;

    rc = get_domain(gc, domid, "ports", get_ports, ports);
    if (rc)
        libxl_tavs_domain_ports_dispose(ports);

    GC_FREE;
    return rc;
}

/* The first time that is too long for a bucket of a histogram. */
static uint64_t bucket_bound_ns(unsigned int bucket)
{
    unsigned int subs = 1U << XEN_DOMCTL_TAVS_LATENCY_SUB_SHIFT;
    unsigned int octave = bucket < subs ? 0 : bucket / subs - 1;
    uint64_t units = bucket - octave * subs + 1;

    return units << (octave + XEN_DOMCTL_TAVS_LATENCY_UNIT_SHIFT);
}

static void add_latency(const xen_domctl_tavs_latency_t *xl,
                        libxl_tavs_histogram *h)
{
    unsigned int i;

    h->count += xl->count;
    h->sum_ns += xl->sum_ns;
    if (h->max_ns < xl->max_ns)
        h->max_ns = xl->max_ns;
    for (i = 0; i < XEN_DOMCTL_TAVS_LATENCY_BUCKETS; i++)
        h->buckets[i] += xl->bucket[i];
}

static int get_latency(libxl__gc *gc, uint32_t domid, unsigned int vcpu,
                       void *all)
{
    libxl_tavs_domain_latency *latency = all;
    xen_domctl_tavs_latency_t *xl;

    xl = libxl__calloc(gc, XEN_DOMCTL_TAVS_LATENCIES, sizeof(*xl));
    if (xc_tavs_latency(CTX->xch, domid, vcpu, xl))
        return -1;

    add_latency(&xl[XEN_DOMCTL_TAVS_WAKE_unboosted], &latency->wake);
    add_latency(&xl[XEN_DOMCTL_TAVS_WAKE_boosted], &latency->wake_boosted);
    add_latency(&xl[XEN_DOMCTL_TAVS_EVENT_unboosted], &latency->event);
    add_latency(&xl[XEN_DOMCTL_TAVS_EVENT_boosted], &latency->event_boosted);

    return 0;
}

static void init_histogram(libxl__gc *gc, libxl_tavs_histogram *h)
{
    h->num_buckets = XEN_DOMCTL_TAVS_LATENCY_BUCKETS;
    h->buckets = libxl__calloc(NOGC, h->num_buckets, sizeof(*h->buckets));
}

int libxl_domain_tavs_latency_get(libxl_ctx *ctx, uint32_t domid,
                                  libxl_tavs_domain_latency *latency)
{
    int i, rc;
    GC_INIT(ctx);

    libxl_tavs_domain_latency_init(latency);
    latency->domid = domid;

    latency->num_bounds_ns = XEN_DOMCTL_TAVS_LATENCY_BUCKETS;
    latency->bounds_ns = libxl__calloc(NOGC, latency->num_bounds_ns,
                                       sizeof(*latency->bounds_ns));
    for (i = 0; i < latency->num_bounds_ns; i++)
        latency->bounds_ns[i] = bucket_bound_ns(i);

    init_histogram(gc, &latency->wake);
    init_histogram(gc, &latency->wake_boosted);
    init_histogram(gc, &latency->event);
    init_histogram(gc, &latency->event_boosted);

    rc = get_each_vcpu(gc, domid, "latencies", get_latency, latency);
    if (rc)
        libxl_tavs_domain_latency_dispose(latency);

    GC_FREE;
    return rc;
}

/*
 * Local variables:
 * mode: C
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
