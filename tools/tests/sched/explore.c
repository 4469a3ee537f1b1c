/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exploration: a random machine, random guests, and random management
 * operations at random times, all from one seed.
 *
 * The operations of a seed are a list that is made before anything runs. Each
 * carries its own random arguments, and picks its object by them among what
 * exists at that time, so leaving some of them out leaves a run that makes
 * sense: a failure shrinks by leaving out ever more of them while it still
 * fails. What is left is printed as the command that replays it.
 *
 * Management runs as it does in Xen: in a tasklet on the idle vCPU of pCPU 0,
 * where continue_hypercall_on_cpu() would put it. Wake-ups arrive as
 * interrupts, on any pCPU.
 */

#include <xen/cpu.h>
#include <xen/domain.h>
#include <xen/err.h>
#include <xen/tasklet.h>
#include <public/sysctl.h>

#include "sim.h"
#include "scenario.h"
#include "explore.h"

#include "private.h"

#define MAX_CHANGES 128
#define MAX_DOMAINS 40
#define DOM_VCPUS   4

enum change_kind {
    CH_CREATE, CH_DESTROY, CH_WAKE, CH_STORM, CH_PAUSE, CH_UNPAUSE, CH_WEIGHT,
    CH_AFFINITY, CH_SOFT, CH_GLOBAL, CH_POOL_CREATE, CH_POOL_DESTROY,
    CH_POOL_ADD, CH_POOL_REMOVE, CH_POOL_MOVE, CH_CPU_DOWN, CH_CPU_UP,
    CH_DUMP, CH_PIN, CH_KINDS
};

static const char *const kind_names[CH_KINDS] = {
    "create", "destroy", "wake", "storm", "pause", "unpause", "weight",
    "affinity", "soft-affinity", "global", "pool-create", "pool-destroy",
    "pool-add-cpu", "pool-remove-cpu", "pool-move", "cpu-down", "cpu-up",
    "dump", "pin",
};

/* How often each kind is drawn. */
static const unsigned char kind_share[CH_KINDS] = {
    [CH_CREATE] = 4, [CH_DESTROY] = 3, [CH_WAKE] = 12, [CH_STORM] = 5,
    [CH_PAUSE] = 4, [CH_UNPAUSE] = 5, [CH_WEIGHT] = 5, [CH_AFFINITY] = 6,
    [CH_SOFT] = 3, [CH_GLOBAL] = 3, [CH_POOL_CREATE] = 2,
    [CH_POOL_DESTROY] = 2, [CH_POOL_ADD] = 4, [CH_POOL_REMOVE] = 3,
    [CH_POOL_MOVE] = 4, [CH_CPU_DOWN] = 3, [CH_CPU_UP] = 4, [CH_DUMP] = 1,
    [CH_PIN] = 2,
};

struct change {
    enum change_kind kind;
    s_time_t when;
    uint64_t a, b, c;
    bool left_out;
};

struct explore_options explore_opt = { .changes = 60 };

static struct change changes[MAX_CHANGES];
static unsigned int nr_changes;
static struct tasklet management;

/* Domains by our own number; NULL: does not exist. */
static struct domain *doms[MAX_DOMAINS];
static struct link *links[MAX_DOMAINS];
static unsigned int paused[MAX_DOMAINS];
static unsigned int next_dom;

/* ---- making the list --------------------------------------------------- */

/* With explore_opt.pools domains mostly move from pool to pool. */
static unsigned int share(enum change_kind kind)
{
    return !explore_opt.pools        ? kind_share[kind]
           : kind == CH_POOL_CREATE  ? 10
           : kind == CH_POOL_ADD     ? 10
           : kind == CH_POOL_MOVE    ? 80
           : kind == CH_POOL_DESTROY ? 0
                                     : kind_share[kind];
}

static enum change_kind draw_kind(void)
{
    unsigned int sum = 0, i, r;

    for ( i = 0; i < CH_KINDS; i++ )
        sum += share(i);
    r = sim_below(sum);
    for ( i = 0; r >= share(i); i++ )
        r -= share(i);

    return i;
}

static void make_changes(void)
{
    static const s_time_t gaps[] = {
        MICROSECS(10), MICROSECS(200), MILLISECS(2), MILLISECS(12),
    };
    unsigned int i, first = 1 + sim_below(5);
    s_time_t when = 0;

    nr_changes = min(explore_opt.changes + first, (unsigned int)MAX_CHANGES);

    for ( i = 0; i < nr_changes; i++ )
    {
        struct change *ch = &changes[i];

        ch->kind = i < first ? CH_CREATE : draw_kind();
        if ( i >= first )
            when += sim_between(1, gaps[sim_below(ARRAY_SIZE(gaps))]);
        ch->when = when;
        ch->a = sim_random();
        ch->b = sim_random();
        ch->c = sim_random();
        if ( i < MAX_CHANGES )
            ch->left_out = explore_opt.left_out[i];
    }
}

void explore_machine(void)
{
    static const unsigned int sizes[] = { 1, 1, 2, 2, 3, 4, 4, 6, 8 };
    static const unsigned int preempt[] = { 0, 0, 4, 16, 64 };
    static const unsigned int fail[] = { 0, 0, 3, 20 };
    static const unsigned int jitter[] = { 0, 1000, 60000 };

    /* The same stream as the run's: see sim_start(). */
    sim_seed();
    sim_opt.check_memory = true;
    sim_opt.pcpus = sizes[sim_below(ARRAY_SIZE(sizes))];
    sim_opt.threads_per_core = 1 + sim_below(2);
    if ( sim_opt.pcpus % sim_opt.threads_per_core )
        sim_opt.threads_per_core = 1;
    sim_opt.cores_per_socket = 1 + sim_below(4);
    sim_opt.nodes = 1 + sim_below(sim_opt.pcpus > 1 ? 2 : 1);
    sim_opt.preempt = preempt[sim_below(ARRAY_SIZE(preempt))];
    sim_opt.trylock_fail = fail[sim_below(ARRAY_SIZE(fail))];
    sim_opt.jitter_ns = jitter[sim_below(ARRAY_SIZE(jitter))];
    if ( explore_opt.no_preempt )
        sim_opt.preempt = sim_opt.trylock_fail = 0;
    make_changes();
}

/* ---- guests ------------------------------------------------------------ */

static void add_op(struct task *t, enum op_kind kind, uint64_t a, uint64_t b)
{
    t->ops[t->nr_ops++] = (struct op){ kind, a, b };
}

static void give_tasks(struct gvcpu *gv, struct link *l, uint64_t r)
{
    unsigned int n = 1 + r % 3, i;

    gv->costs.wake_preempts = r & 8;
    gv->costs.tick_ns = r & 16 ? MILLISECS(4) : 0;
    gv->costs.tick_drifts = true;       /* All kernels are not Linux. */
    r >>= 5;

    for ( i = 0; i < n; i++, r = r * 0x9e3779b97f4a7c15ULL >> 3 )
    {
        struct task *t = guest_task(gv, "t", 1 + i);

        switch ( r % 9 )
        {
        case 0:
            add_op(t, OP_RUN, MILLISECS(100), MILLISECS(100));
            break;
        case 1:
            add_op(t, OP_RUN, MILLISECS(9), MILLISECS(9));
            add_op(t, OP_SLEEP, MILLISECS(1), MILLISECS(1));
            break;
        case 2:
            add_op(t, OP_RUN, MICROSECS(20), MILLISECS(2));
            add_op(t, OP_SLEEP, MICROSECS(100), MILLISECS(5));
            break;
        case 3:
            add_op(t, OP_RUN, MICROSECS(10), MICROSECS(300));
            add_op(t, OP_YIELD, 0, 0);
            break;
        case 4:
            add_op(t, OP_RUN_TO, MILLISECS(10), MICROSECS(9800));
            add_op(t, OP_SLEEP_TO, MILLISECS(10), MICROSECS(200));
            break;
        case 5:
            add_op(t, OP_RUN, MICROSECS(200), MICROSECS(900));
            add_op(t, OP_ASID, 10, 20);
            break;
        case 6:
            add_op(t, OP_SLEEP, MILLISECS(20), MILLISECS(300));
            add_op(t, OP_RUN, MICROSECS(50), MILLISECS(30));
            break;
        default:
            if ( l && gv->v->vcpu_id == 0 )
                add_op(t, OP_WAIT, l->id, 0);
            else
                add_op(t, OP_SLEEP, MILLISECS(1), MILLISECS(8));
            add_op(t, OP_RUN, MICROSECS(5), MICROSECS(400));
            if ( l && gv->v->vcpu_id == 0 )
                add_op(t, OP_SEND, l->id, 0);
            break;
        }
    }
}

/*
 * With explore_opt.io each guest also has I/O, which is what there is to be
 * boosted for: it answers packets, or reads blocks, whose pages are mapped for
 * it, or stay mapped, or are copied. Half of them through a ring that saves
 * notifications.
 */
static void add_io(struct gvcpu *gv, struct link *l, uint64_t r)
{
    static const s_time_t gaps[] = {
        MICROSECS(100), MICROSECS(500), MILLISECS(2), MILLISECS(8),
    };
    struct gvcpu *dom0 = guest_of(doms[0]->vcpu[0]);
    s_time_t gap = gaps[r % ARRAY_SIZE(gaps)];
    bool block = r & 4;
    struct task *guest = guest_task(gv, "io", 50),
                *back = guest_task(dom0, "back", block ? 0 : 50);

    if ( r & 64 )
        guest_ring(l, 1, NULL);

    if ( !block )
    {
        add_op(guest, OP_WAIT, l->id, 0);
        add_op(guest, OP_RUN, MICROSECS(5), MICROSECS(50));
        add_op(guest, OP_SEND, l->id, 0);

        add_op(back, OP_SLEEP, MICROSECS(50), gap);
        add_op(back, OP_RUN, MICROSECS(1), MICROSECS(30));
        add_op(back, OP_COPY_TO, l->id, 0);
        /* Two of four have one in common. */
        if ( r & 8 )
            add_op(back, OP_PACKET, l->id,
                   (r & 16 ? 17 : 6) << 16 | (r & 32 ? 7 : r >> 8 & 0xffff));
        add_op(back, OP_SEND, l->id, 0);
    }
    else
    {
        add_op(guest, OP_SEND, l->id, 0);
        add_op(guest, OP_WAIT, l->id, 0);
        add_op(guest, OP_RUN, MICROSECS(5), MICROSECS(50));
        add_op(guest, OP_SLEEP, MICROSECS(1), gap);

        add_op(back, OP_WAIT, l->id, 0);
        if ( r & 8 )
            add_op(back, r & 16 ? OP_MAP : OP_MAP_RO, l->id, 0);
        add_op(back, OP_RUN, MICROSECS(5), MICROSECS(60));
        if ( r & 8 )
            add_op(back, OP_UNMAP, l->id, 0);
        else if ( r & 16 )
            add_op(back, OP_COPY_TO, l->id, 0);
        add_op(back, OP_SEND, l->id, 0);
    }

    /* dom0 may be asleep. */
    send_timer_event(doms[0]->vcpu[0]);
}

static unsigned int pool_ids[8];
static unsigned int nr_pools;

/* Pool 0 most of the time. */
static unsigned int some_pool(uint64_t r)
{
    return nr_pools && r % 3 == 0 ? pool_ids[r / 3 % nr_pools] : 0;
}

static void create(const struct change *ch)
{
    unsigned int n = next_dom, vcpus = 1 + ch->a % DOM_VCPUS;
    struct domain *d;
    struct vcpu *v;
    uint64_t r = ch->c;

    if ( n == MAX_DOMAINS )
        return;
    d = dom_create(n, vcpus, n ? some_pool(ch->b) : 0);
    if ( IS_ERR(d) )
        return;
    next_dom++;
    doms[n] = d;
    if ( n )
        links[n] = guest_link("x", guest_of(doms[0]->vcpu[0]),
                              guest_of(d->vcpu[0]));
    for_each_vcpu ( d, v )
    {
        give_tasks(guest_of(v), links[n], r);
        r = r * 0xd1342543de82ef95ULL + 1;
    }
    if ( n && explore_opt.io )
        add_io(guest_of(d->vcpu[0]), links[n], ch->c >> 32);
    if ( ch->b & 256 )
        scenario_weight(d, 32 << (ch->b >> 9) % 6, 0);
    for_each_vcpu ( d, v )
        dom_start_vcpu(v);
}

/* ---- doing it ---------------------------------------------------------- */

/* Any domain but dom0; NULL if there is none. */
static struct domain *some_domain(uint64_t r, unsigned int *number)
{
    unsigned int i, n = 0, found[MAX_DOMAINS];

    for ( i = 1; i < next_dom; i++ )
        if ( doms[i] )
            found[n++] = i;
    if ( !n )
        return NULL;
    *number = found[r % n];

    return doms[*number];
}

static long pool_op(unsigned int op, unsigned int pool, unsigned int sched,
                    unsigned int domid, unsigned int cpu)
{
    struct xen_sysctl_cpupool_op o = {
        .op = op, .cpupool_id = pool, .sched_id = sched, .domid = domid,
        .cpu = cpu,
    };
    long rc = cpupool_do_sysctl(&o);

    if ( op == XEN_SYSCTL_CPUPOOL_OP_CREATE && !rc &&
         nr_pools < ARRAY_SIZE(pool_ids) )
        pool_ids[nr_pools++] = o.cpupool_id;

    return rc;
}

static void forget_pool(unsigned int id)
{
    unsigned int i;

    for ( i = 0; i < nr_pools; i++ )
        if ( pool_ids[i] == id )
        {
            pool_ids[i] = pool_ids[--nr_pools];
            return;
        }
}

/*
 * Removing a pCPU from a pool is to be tried again for as long as it is in use.
 * Adding it back meanwhile, though meant to be possible, fails an assertion.
 */
static struct { bool active; unsigned int pool, cpu; } removing;

static void cf_check manage_later(void *unused)
{
    tasklet_schedule_on_cpu(&management, 0);
}

static void remove_cpu(void)
{
    long rc = pool_op(XEN_SYSCTL_CPUPOOL_OP_RMCPU, removing.pool, 0, 0,
                      removing.cpu);

    removing.active = !rc;
    if ( removing.active )
        sim_at(sim_now + MICROSECS(500), 0, manage_later, NULL);
}

static void continue_removal(void)
{
    if ( !removing.active )
        return;
    if ( glue_elsewhere_result < 0 )
        remove_cpu();
    else if ( glue_elsewhere_result > 0 )
        sim_at(sim_now + MICROSECS(500), 0, manage_later, NULL);
    else
        removing.active = false;
}

static bool someone_is_pinned(void)
{
    const struct domain *d;
    const struct vcpu *v;

    for_each_domain ( d )
        for_each_vcpu ( d, v )
            if ( v->affinity_broken )
                return true;

    return false;
}

/* A unit may run on no other pCPU of its pool; it takes a stall to meet it. */
static bool someone_needs(unsigned int cpu)
{
    const struct domain *d;
    const struct sched_unit *unit;
    cpumask_t rest;

    if ( !sim_opt.stalls )
        return false;

    for_each_domain ( d )
        for_each_sched_unit ( d, unit )
        {
            cpumask_andnot(&rest, unit->cpu_hard_affinity, cpumask_of(cpu));
            if ( !cpumask_intersects(&rest, d->cpupool->cpu_valid) )
                return check_known("cpupool-remove-affinity");
        }

    return false;
}

static void set_global(const struct change *ch)
{
    struct xen_sysctl_scheduler_op op = {
        .cmd = XEN_SYSCTL_SCHEDOP_putinfo,
        .sched_id = scheduler_id(),
    };

    if ( op.sched_id == XEN_SCHEDULER_CREDIT2 )
        op.u.sched_credit2.ratelimit_us = ch->a % 2 ? ch->b % 5000 + 100 : 0;
    else if ( op.sched_id == XEN_SCHEDULER_RTDS ||
              op.sched_id == XEN_SCHEDULER_NULL ||
              op.sched_id == XEN_SCHEDULER_ARINC653 )
        return;
    else
    {
        op.u.sched_credit.tslice_ms = 1 + ch->a % 60;
        op.u.sched_credit.ratelimit_us =
            ch->b % 3 ? 100 + ch->b % 900 : 0;
        op.u.sched_credit.vcpu_migr_delay_us = ch->c % 2 ? ch->c % 5000 : 0;
#ifdef XEN_SCHEDULER_TAVS
        if ( op.sched_id == XEN_SCHEDULER_TAVS ||
             op.sched_id == XEN_SCHEDULER_TAVS2 )
            op.u.sched_tavs.valid = XEN_SYSCTL_TAVS_VALID_credit;
#endif
    }
    sched_adjust_global(&op);
}

static void some_cpus(uint64_t r, cpumask_t *mask)
{
    unsigned int cpu;

    cpumask_clear(mask);
    for ( cpu = 0; cpu < sim_opt.pcpus; cpu++ )
        if ( r >> cpu & 1 )
            cpumask_set_cpu(cpu, mask);
    if ( cpumask_empty(mask) || !(r >> 32 & 3) )
        cpumask_setall(mask);
}

static void schedulers_for_pools(uint64_t r, unsigned int *id)
{
    static const unsigned int ids[] = {
        XEN_SCHEDULER_CREDIT, XEN_SCHEDULER_CREDIT2, XEN_SCHEDULER_RTDS,
        XEN_SCHEDULER_NULL,
    };

    *id = r % 3 ? scheduler_id() : ids[r / 3 % ARRAY_SIZE(ids)];
    /* Credit with other options than the machine's has other traces. */
    if ( *id == XEN_SCHEDULER_CREDIT && sim_opt.same_chances )
        *id = scheduler_id();
    /* Taking a pCPU from RTDS reaches through a NULL pointer. */
    if ( *id == XEN_SCHEDULER_RTDS && check_known("rtds-remove-pcpu") )
        *id = XEN_SCHEDULER_CREDIT2;
}

static bool rtds_here(void)
{
    return scheduler_id() == XEN_SCHEDULER_RTDS &&
           check_known("rtds-remove-pcpu");
}

/* Units of a dying domain stay on a pCPU that is removed. */
static bool null_and_dying(void)
{
    const struct domain *d;
    unsigned int n = 0;

    for_each_domain ( d )
        n++;

    return n != dom_count && check_known("null-dying-unit");
}

/* A pCPU that is being removed may still pick a unit: credit2 looks at
 * affinities only. */
static bool credit2_pool(unsigned int id)
{
    struct cpupool *c = cpupool_get_by_id(id);
    bool is = c && sim_base(c->sched->sched_id) == XEN_SCHEDULER_CREDIT2;

    if ( c )
        cpupool_put(c);

    return is && check_known("credit2-remove-pcpu");
}

/* Capping a domain asserts what is not so after a pCPU came back. */
static bool no_cap(const struct domain *d)
{
    return sim_base(d->cpupool->sched->sched_id) == XEN_SCHEDULER_CREDIT2 &&
           sim_opt.threads_per_core > 1 && check_known("credit2-smt-idle");
}

static void do_change(const struct change *ch)
{
    unsigned int n = 0, id, cpu = ch->b % sim_opt.pcpus;
    struct domain *d = some_domain(ch->a, &n);
    struct vcpu *v = d ? d->vcpu[ch->b % d->max_vcpus] : NULL;
    struct xen_domctl_vcpuaffinity aff = { };
    cpumask_t mask;
    long rc = 0;

    switch ( ch->kind )
    {
    case CH_CREATE:
        create(ch);
        break;
    case CH_DESTROY:
        if ( d )
        {
            doms[n] = NULL;
            links[n] = NULL;
            paused[n] = 0;
            dom_destroy(d);
        }
        break;
    case CH_PAUSE:
        if ( d && paused[n] < 3 )
        {
            paused[n]++;
            domain_pause(d);
        }
        break;
    case CH_UNPAUSE:
        if ( d && paused[n] )
        {
            paused[n]--;
            domain_unpause(d);
        }
        break;
    case CH_WEIGHT:
        if ( d )
            rc = scenario_weight(d, 1 + ch->b % (ch->c & 1 ? 65535 : 1024),
                                 ch->c & 6 || no_cap(d) ? 0 :
                                 min_t(uint64_t, 1 + ch->c % 200,
                                       100 * d->max_vcpus));
        break;
    case CH_AFFINITY:
        some_cpus(ch->c, &mask);
        if ( v )
            rc = vcpu_set_hard_affinity(v, &mask);
        break;
    case CH_SOFT:
        some_cpus(ch->c, &mask);
        aff.flags = XEN_VCPUAFFINITY_SOFT;
        aff.vcpu = v ? v->vcpu_id : 0;
        aff.cpumap_soft.nr_bits = 64;
        set_xen_guest_handle(aff.cpumap_soft.bitmap,
                             (uint8_t *)cpumask_bits(&mask));
        if ( v )
            rc = vcpu_affinity_domctl(d, XEN_DOMCTL_setvcpuaffinity, &aff);
        break;
    case CH_PIN:
        if ( removing.active && check_known("cpupool-remove-pinned") )
            break;
        if ( v )
            rc = vcpu_temporary_affinity(v, ch->c & 1 ? NR_CPUS : cpu,
                                         VCPU_AFFINITY_OVERRIDE);
        break;
    case CH_GLOBAL:
        set_global(ch);
        break;
    case CH_POOL_CREATE:
        schedulers_for_pools(ch->a, &id);
        if ( nr_pools < 4 )
            rc = pool_op(XEN_SYSCTL_CPUPOOL_OP_CREATE,
                         XEN_SYSCTL_CPUPOOL_PAR_ANY, id, 0, 0);
        break;
    case CH_POOL_DESTROY:
        if ( nr_pools )
        {
            id = pool_ids[ch->a % nr_pools];
            rc = pool_op(XEN_SYSCTL_CPUPOOL_OP_DESTROY, id, 0, 0, 0);
            if ( !rc )
                forget_pool(id);
        }
        break;
    case CH_POOL_ADD:
        if ( removing.active && check_known("cpupool-add-while-removing") )
            break;
        rc = pool_op(XEN_SYSCTL_CPUPOOL_OP_ADDCPU, some_pool(ch->a * 3), 0, 0,
                     ch->c & 1 ? cpu : XEN_SYSCTL_CPUPOOL_PAR_ANY);
        break;
    case CH_POOL_REMOVE:
        if ( removing.active || rtds_here() || null_and_dying() ||
             someone_needs(cpu) )
            break;
        /* A pinned unit stays, on a pCPU that its pool does not have. */
        if ( someone_is_pinned() && check_known("cpupool-remove-pinned") )
            break;
        if ( credit2_pool(some_pool(ch->a)) )
            break;
        removing.pool = some_pool(ch->a);
        removing.cpu = cpu;
        remove_cpu();
        break;
    case CH_POOL_MOVE:
        if ( d )
            rc = pool_op(XEN_SYSCTL_CPUPOOL_OP_MOVEDOMAIN,
                         some_pool(ch->c * (ch->b & 1 ? 3 : 1)), 0,
                         d->domain_id, 0);
        break;
    case CH_CPU_DOWN:
        if ( !cpu || rtds_here() || someone_needs(cpu) )
            break;
        /* If it fails, the scheduler's data is freed, though in use. */
        if ( someone_is_pinned() && check_known("cpu-down-fails") )
            break;
        /* The next try to remove it finds no sched_resource. */
        if ( removing.active && check_known("cpupool-retry-after-offline") )
            break;
        sim_opt.no_trylock_fail = true;
        rc = cpu_down(cpu);
        sim_opt.no_trylock_fail = false;
        break;
    case CH_CPU_UP:
        if ( cpu && !cpu_online(cpu) )
            rc = cpu_up(cpu);
        break;
    case CH_DUMP:
        schedule_dump(doms[0]->cpupool);
        break;
    default:
        break;
    }

    if ( sim_opt.verbose )
        host_out("%lu.%06lu ms: %s -> %ld\n",
                 (unsigned long)(sim_now / 1000000),
                 (unsigned long)(sim_now % 1000000), kind_names[ch->kind],
                 rc);
}

static struct change *due[MAX_CHANGES];
static unsigned int due_in, due_out;

static void cf_check manage(void *unused)
{
    continue_removal();
    while ( due_out < due_in )
        do_change(due[due_out++]);
}

/* In an interrupt. */
static void on_time(void *arg)
{
    struct change *ch = arg;
    unsigned int n, i, times;
    struct domain *d;

    switch ( ch->kind )
    {
    case CH_WAKE:
    case CH_STORM:
        d = some_domain(ch->a, &n);
        times = ch->kind == CH_WAKE ? 1 : 3 + ch->c % 30;
        for ( i = 0; d && i < times; i++ )
        {
            if ( (ch->b >> i & 1) && links[n] )
                guest_message(links[n], 1);
            else
                send_timer_event(d->vcpu[(ch->b + i) % d->max_vcpus]);
        }
        break;
    default:
        due[due_in++] = ch;
        tasklet_schedule_on_cpu(&management, 0);
        break;
    }
}

static void boot(void)
{
    static const struct change dom0 = { .a = 1, .c = 7 };
    unsigned int i;
    s_time_t origin;

    glue_boot();
    create(&dom0);
    tasklet_init(&management, manage, NULL);
    origin = sim_now + MILLISECS(1);
    for ( i = 0; i < nr_changes; i++ )
        if ( !changes[i].left_out )
            sim_at(origin + changes[i].when, changes[i].b % sim_opt.pcpus,
                   on_time, &changes[i]);
}

void explore_run(void)
{
    glue_init();
    sim_start(boot);
    sim_run(sim_now + changes[nr_changes - 1].when + MILLISECS(60));
    if ( due_out < due_in )
        sim_fail("management did not finish: %s",
                 kind_names[due[due_out]->kind]);
}

unsigned int explore_nr_changes(void)
{
    return nr_changes;
}

const char *explore_kind(unsigned int i)
{
    return kind_names[changes[i].kind];
}
