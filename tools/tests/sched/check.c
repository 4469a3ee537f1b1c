/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Invariants, derived anew from the state of the schedulers.
 *
 * They hold whenever the machine is at rest: every pCPU in a guest or idle,
 * nothing pending. With one pCPU that is after every step; with several, after
 * all but a few. On big machines what concerns the pCPU that made the step is
 * checked after every step, and everything after some.
 *
 * 1. Every pCPU runs what its scheduler thinks it runs; nothing runs twice,
 *    nothing runs that may not (blocked, paused, not allowed on this pCPU).
 * 2. A runnable unit that does not run is on exactly one queue, the one that
 *    its pCPU looks at; any other unit is on none. Queues are in order.
 * 3. Work is conserved: no pCPU is idle while a unit that could run there
 *    waits, for longer than a grace period.
 * 4. No runnable unit waits longer than a bound derived from the weights.
 * 5. Credit is conserved: who ran was charged for it, and no more was given
 *    than there was.
 * 6. Timers are in order, not late, and belong to something alive.
 * 7. Who waits for a pCPU under tavs with I/O that nobody served is boosted for
 *    it, or was refused that, or it was tried; and if it is boosted, no other
 *    runs in its place.
 * 8. Of its CPU time a unit under tavs is boosted for no more than its PBratio,
 *    and one cap. Checked at every step, at rest or not.
 *
 * The rules for locks are in lock.c, those for memory in mem.c.
 */

#include "sim.h"
#include "guest.h"
#include "peek.h"

#include "private.h"

#ifdef XEN_SCHEDULER_TAVS
# define tavs_sched_id XEN_SCHEDULER_TAVS
#else
# define tavs_sched_id ~0U
#endif

struct check_limits check_limits = {
    .idle_grace = MILLISECS(35),
    .balance_grace = SECONDS(5),
    .wait_slack = MILLISECS(500),
};

static uint64_t stamp;
static uint64_t steps;
/* Runnable units that wait on a queue, in the walk under way. */
static const struct sched_unit *waiting[4096];
static unsigned int nr_waiting;

static s_time_t idle_since[NR_CPUS];

static bool at_rest(void)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < sim_opt.pcpus; cpu++ )
    {
        const struct pcpu *c = &pcpus[cpu];

        if ( c->state == PCPU_OFF )
            continue;
        if ( c->state != PCPU_PARKED || c->ipi || c->irqs ||
             softirq_pending(cpu) )
            return false;
    }

    return true;
}

static void queued(const struct sched_unit *unit)
{
    struct gvcpu *gv = guest_of(unit->vcpu_list);

    if ( gv->check.queued == stamp )
        sim_fail("d%dv%u is on two queues", unit->domain->domain_id,
                 unit->unit_id);
    gv->check.queued = stamp;
}

static void walk_queue(unsigned int cpu)
{
    switch ( sim_base(get_sched_res(cpu)->scheduler->sched_id) )
    {
    case XEN_SCHEDULER_CREDIT2:
        peek_credit2_queue(cpu, queued);
        break;
    case XEN_SCHEDULER_RTDS:
        peek_rt_queue(cpu, queued);
        break;
    case XEN_SCHEDULER_NULL:
        peek_null_queue(cpu, queued);
        break;
    case XEN_SCHEDULER_ARINC653:
        break;
    default:
        peek_credit_queue(cpu, queued);
        peek_credit_given(cpu);
        break;
    }
}

static bool credit_like(const struct scheduler *s)
{
    return sim_base(s->sched_id) == XEN_SCHEDULER_CREDIT;
}

/* 1. */
static void check_running(unsigned int cpu)
{
    const struct sched_resource *sr = get_sched_res(cpu);
    const struct vcpu *v = get_cpu_current(cpu);
    const struct sched_unit *unit = v->sched_unit;
    struct gvcpu *gv;

    if ( sr->curr != unit )
        sim_fail("pCPU %u runs d%dv%d, its scheduler thinks d%dv%u", cpu,
                 v->domain->domain_id, v->vcpu_id,
                 sr->curr->domain->domain_id, sr->curr->unit_id);
    if ( !unit->is_running || !v->is_running ||
         v->runstate.state != RUNSTATE_running || v->processor != cpu )
        sim_fail("d%dv%d runs on pCPU %u, but its state says otherwise",
                 v->domain->domain_id, v->vcpu_id, cpu);

    if ( is_idle_vcpu(v) )
        return;

    gv = guest_of(v);
    if ( gv->check.running == stamp )
        sim_fail("d%dv%d runs twice", v->domain->domain_id, v->vcpu_id);
    gv->check.running = stamp;

    if ( !vcpu_runnable(v) &&
         !(v->pause_flags == VPF_migrating &&
           sim_base(sr->scheduler->sched_id) == XEN_SCHEDULER_CREDIT2 &&
           check_known("credit2-late-migration")) )
        sim_fail("d%dv%d runs, but is not runnable (flags %#lx)",
                 v->domain->domain_id, v->vcpu_id, v->pause_flags);
    if ( sr->cpupool != v->domain->cpupool )
        sim_fail("d%dv%d runs in another pool", v->domain->domain_id,
                 v->vcpu_id);
    if ( !cpumask_test_cpu(cpu, unit->cpu_hard_affinity) )
        sim_fail("d%dv%d runs on pCPU %u, which its affinity excludes",
                 v->domain->domain_id, v->vcpu_id, cpu);
}

/* ---- what is known ----------------------------------------------------- */

static struct known {
    const char *name;
    unsigned long seen;
    bool strict;
} known[24];

static struct known *find_known(const char *name)
{
    struct known *k;

    for ( k = known; k < known + ARRAY_SIZE(known) && k->name; k++ )
        if ( !strcmp(k->name, name) )
            return k;
    if ( k == known + ARRAY_SIZE(known) )
        sim_fail("too many names of findings");
    k->name = name;

    return k;
}

bool check_known(const char *name)
{
    struct known *k = find_known(name);

    if ( k->strict || find_known("all")->strict )
        return false;
    k->seen++;

    return true;
}

void check_strict(const char *name)
{
    find_known(name)->strict = true;
}

void check_report_known(void)
{
    const struct known *k;

    for ( k = known; k < known + ARRAY_SIZE(known) && k->name; k++ )
        if ( k->seen )
            host_out("known: %s, %lu times\n", k->name, k->seen);
}

static bool out_of_budget(const struct sched_unit *unit)
{
    switch ( sim_base(unit->domain->cpupool->sched->sched_id) )
    {
    case XEN_SCHEDULER_CREDIT2:
        return peek_credit2_parked(unit);
    case XEN_SCHEDULER_RTDS:
        return peek_rt_depleted(unit);
    case XEN_SCHEDULER_NULL:
        return false;
    default:
        return peek_credit_parked(unit);
    }
}

/* 2. */
static void check_unit(const struct sched_unit *unit)
{
    const struct gvcpu *gv = guest_of(unit->vcpu_list);
    const struct scheduler *s = unit->domain->cpupool->sched;
    bool runs = gv->check.running == stamp;
    bool on_queue = gv->check.queued == stamp;
    bool runnable = unit_runnable(unit);

    if ( runs && on_queue )
        sim_fail("d%dv%u runs and is on a queue", unit->domain->domain_id,
                 unit->unit_id);
    if ( s->sched_id == XEN_SCHEDULER_ARINC653 )
        return;
    if ( runnable && !runs && !on_queue && !out_of_budget(unit) )
        sim_fail("d%dv%u is lost: runnable, but neither running nor on a "
                 "queue", unit->domain->domain_id, unit->unit_id);
    if ( !runnable && on_queue && s->sched_id != XEN_SCHEDULER_RTDS &&
         s->sched_id != XEN_SCHEDULER_NULL )
        sim_fail("d%dv%u is on a queue, but not runnable",
                 unit->domain->domain_id, unit->unit_id);

    if ( runnable && !runs && nr_waiting < ARRAY_SIZE(waiting) &&
         !out_of_budget(unit) )
        waiting[nr_waiting++] = unit;

    if ( credit_like(s) )
        peek_credit_account(unit);
    else
        guest_of(unit->vcpu_list)->account.svc = NULL;
}

/*
 * 3. The scheduler of an idle pCPU is not entered before something raises its
 * softirq. Credit has its idle pCPUs tickled, or finds them at a tick of a
 * busy one: at most a time slice later. Credit2 does so within a run queue,
 * and moves units between run queues by their load averaged over seconds.
 */
static bool excused(const struct sched_resource *sr,
                    const struct sched_unit *unit, s_time_t idle)
{
    if ( sim_base(sr->scheduler->sched_id) == XEN_SCHEDULER_CREDIT2 )
        return idle < MILLISECS(500) && check_known("credit2-idle");

    /*
     * An idle pCPU under credit looks for work when it is tickled, and only
     * then. It may have found a lock taken at that time; or nobody tickles,
     * as what became work for it was queued before (affinity, pool; or the pCPU
     * itself did not count as one of the pool yet).
     */
    return credit_like(sr->scheduler) && unit->res != sr &&
           idle < MILLISECS(500) && check_known("credit-idle-not-told");
}

static s_time_t idle_grace(unsigned int cpu, const struct sched_unit *unit)
{
    const struct sched_resource *sr = get_sched_res(cpu);

    if ( unit->res == sr )
        return MILLISECS(1);
    if ( sim_base(sr->scheduler->sched_id) == XEN_SCHEDULER_CREDIT2 &&
         !peek_credit2_same_queue(cpu, unit) )
        return check_limits.balance_grace;

    return check_limits.idle_grace;
}

static void check_idle(unsigned int cpu)
{
    const struct sched_resource *sr = get_sched_res(cpu);
    unsigned int i;

    if ( is_idle_vcpu(get_cpu_current(cpu)) && sr->cpupool &&
         sr->scheduler->sched_id != XEN_SCHEDULER_NULL &&
         sr->scheduler->sched_id != XEN_SCHEDULER_ARINC653 )
        for ( i = 0; i < nr_waiting; i++ )
        {
            const struct sched_unit *unit = waiting[i];
            s_time_t grace = idle_grace(cpu, unit);

            if ( unit->domain->cpupool != sr->cpupool ||
                 !cpumask_test_cpu(cpu, sr->cpupool->cpu_valid) ||
                 !cpumask_test_cpu(cpu, unit->cpu_hard_affinity) )
                continue;

            if ( !idle_since[cpu] )
                idle_since[cpu] = sim_now;
            else if ( sim_now - idle_since[cpu] > grace &&
                      !excused(sr, unit, sim_now - idle_since[cpu]) )
                sim_fail("pCPU %u has been idle for %lu ms while d%dv%u waits "
                         "for pCPU %u", cpu,
                         (unsigned long)((sim_now - idle_since[cpu]) /
                                         MILLISECS(1)),
                         unit->domain->domain_id, unit->unit_id,
                         unit->res->master_cpu);
            return;
        }

    idle_since[cpu] = 0;
}

/* 4. */
static unsigned int weight_of(const struct domain *d, unsigned int *cap)
{
    *cap = 0;

    switch ( sim_base(d->cpupool->sched->sched_id) )
    {
    case XEN_SCHEDULER_CREDIT2:
        return peek_credit2_weight(d, cap);
    case XEN_SCHEDULER_RTDS:
    case XEN_SCHEDULER_NULL:
    case XEN_SCHEDULER_ARINC653:
        return 0;
    default:
        return peek_credit_weight(d, cap);
    }
}

static void check_wait(const struct sched_unit *unit)
{
    const struct vcpu *v = unit->vcpu_list;
    s_time_t waits = sim_now - v->runstate.state_entry_time, bound;
    unsigned int cap, mine = weight_of(unit->domain, &cap);
    const struct domain *d;

    if ( waits < check_limits.wait_slack || !mine || cap ||
         v->runstate.state != RUNSTATE_runnable )
        return;

    /*
     * Every unit of the pool may run for its share before this one has its
     * turn: w/mine slices, at least one; and that twice, as priorities are
     * worked out once a slice. All on one pCPU, in the worst case.
     */
    bound = check_limits.wait_slack;
    for_each_domain ( d )
        if ( d->cpupool == unit->domain->cpupool )
        {
            unsigned int unused, w = weight_of(d, &unused);

            bound += 2 * MILLISECS(30) * (1 + w / mine) * d->max_vcpus;
        }

    if ( waits > bound )
        sim_fail("d%dv%u has been runnable for %lu ms without running; the "
                 "bound is %lu ms", unit->domain->domain_id, unit->unit_id,
                 (unsigned long)(waits / MILLISECS(1)),
                 (unsigned long)(bound / MILLISECS(1)));
}

/*
 * 7.  What is refused is counted, so a boost that nobody looked for is one that
 * is wanted now, was not wanted when the machine was last at rest, and was not
 * refused in between.  Where a parameter made the difference nobody looks.
 */
static void check_unserved(const struct sched_unit *unit, bool waits)
{
    struct gvcpu *gv = guest_of(unit->vcpu_list);
    uint64_t refused = 0;
    unsigned int params = 0;
    bool wants = peek_tavs_wants(unit, &refused, &params) && waits;
    unsigned int cap;
    bool same;

    /* Credit2 parks who has used up a cap, and lets nobody know of the end. */
    weight_of(unit->domain, &cap);
    params |= !!cap << 24;
    if ( cap && !credit_like(unit->domain->cpupool->sched) )
        wants = false;

    same = gv->unserved.pool == unit->domain->cpupool &&
           gv->unserved.params == params;

    if ( wants && !same )
        gv->unserved.excused = true;
    else if ( !wants )
        gv->unserved.excused = false;

    if ( wants && !gv->unserved.excused && refused == gv->unserved.refused )
        sim_fail("d%dv%u waits with unserved I/O and is not boosted",
                 unit->domain->domain_id, unit->unit_id);

    if ( !wants || !same )
        gv->unserved.refused = refused;
    gv->unserved.params = params;
    gv->unserved.pool = unit->domain->cpupool;
}

/*
 * 7.  A boosted unit goes first in its queue, unless it yielded.  Where another
 * pCPU could take it, credit may have left it to that one.  Timers and locks
 * take a while.
 */
static void check_overtaken(const struct sched_unit *unit, bool waits)
{
    const struct vcpu *runs = get_cpu_current(sched_unit_master(unit));
    struct gvcpu *gv = guest_of(unit->vcpu_list);
    bool boosted = false, other = false;
    s_time_t waits_since = unit->vcpu_list->runstate.state_entry_time;
    unsigned int unused;
    cpumask_t mask;

    cpumask_and(&mask, unit->cpu_hard_affinity,
                unit->domain->cpupool->cpu_valid);
    if ( !waits || cpumask_weight(&mask) != 1 || gv->yielded + MICROSECS(100) > waits_since ||
         unit->domain->cpupool->sched->sched_id != tavs_sched_id ||
         !peek_tavs_account(unit, &boosted, &unused) || !boosted ||
         peek_tavs_account(runs->sched_unit, &other, &unused) == NULL || other )
        gv->unserved.overtaken = 0;
    else if ( !gv->unserved.overtaken )
        gv->unserved.overtaken = sim_now;
    else if ( sim_now - gv->unserved.overtaken > MICROSECS(200) )
        sim_fail("d%dv%u is boosted and waits while d%dv%d runs unboosted",
                 unit->domain->domain_id, unit->unit_id,
                 runs->domain->domain_id, runs->vcpu_id);
}

void check_all(void)
{
    const struct domain *d;
    const struct sched_unit *unit;
    unsigned int cpu, i;

    if ( !at_rest() )
        return;

    stamp++;
    nr_waiting = 0;

    for ( cpu = 0; cpu < sim_opt.pcpus; cpu++ )
        if ( pcpus[cpu].state == PCPU_PARKED )
        {
            check_running(cpu);
            if ( get_sched_res(cpu)->cpupool )
                walk_queue(cpu);
        }

    for_each_domain ( d )
        for_each_sched_unit ( d, unit )
        {
            bool waits;

            check_unit(unit);
            waits = guest_of(unit->vcpu_list)->check.queued == stamp &&
                    unit_runnable(unit);
            check_unserved(unit, waits);
            check_overtaken(unit, waits);
        }

    for ( cpu = 0; cpu < sim_opt.pcpus; cpu++ )
        if ( pcpus[cpu].state == PCPU_PARKED )
            check_idle(cpu);

    for ( i = 0; i < nr_waiting; i++ )
        check_wait(waiting[i]);

    /* Timers change slowly and are many. */
    if ( !(stamp % 16) )
        for ( cpu = 0; cpu < sim_opt.pcpus; cpu++ )
            if ( pcpus[cpu].state == PCPU_PARKED )
                peek_timers(cpu);
}

/* 1. and 2. as far as they concern one pCPU. */
static void check_one(unsigned int cpu)
{
    const struct sched_unit *unit = get_cpu_current(cpu)->sched_unit;

    stamp++;
    check_running(cpu);
    if ( !get_sched_res(cpu)->cpupool )
        return;
    walk_queue(cpu);
    if ( !is_idle_unit(unit) &&
         guest_of(unit->vcpu_list)->check.queued == stamp )
        sim_fail("d%dv%u runs and is on a queue", unit->domain->domain_id,
                 unit->unit_id);
}

/* Checking everything costs as much as there are units: share it out. */
static unsigned int full_every(void)
{
    return guest_vcpus <= 128 ? 1 : guest_vcpus / 8;
}

/* ---- 8. ---------------------------------------------------------------- */

/*
 * A boost ends by a timer that is late: by Xen's timer slop, by what the
 * machine adds, by the lock that the pCPU waited for. A unit pays for that
 * before its next boost, so it counts once.
 */
#define BUDGET_SLOP (MICROSECS(50) + MICROSECS(20) + sim_opt.jitter_ns)

uint64_t check_boosted_ns;

/* What each pCPU was seen to run when its last step ended. */
static struct {
    struct vcpu *v;
    const void *account;        /* NULL: no budget */
    bool boosted;
    unsigned int permille;
    s_time_t since;
} seen[NR_CPUS];

static void check_budget(unsigned int cpu)
{
    const struct vcpu *v = seen[cpu].v;
    struct gvcpu *gv = guest_of(v);
    s_time_t ran = sim_now - seen[cpu].since;

    if ( gv->budget.account != seen[cpu].account )
    {
        memset(&gv->budget, 0, sizeof(gv->budget));
        gv->budget.account = seen[cpu].account;
    }

    seen[cpu].since = sim_now;
    gv->budget.ran += ran;
    gv->budget.earned += ran * seen[cpu].permille;
    if ( !seen[cpu].boosted )
        return;

    check_boosted_ns += ran;
    gv->budget.boosted += ran;
    if ( gv->budget.boosted > gv->budget.earned / 1000 + peek_tavs_cap() +
                              BUDGET_SLOP )
        sim_fail("d%dv%d was boosted for %lu us of %lu us that it ran; it had "
                 "earned %lu us, and %lu us are to begin with",
                 v->domain->domain_id, v->vcpu_id,
                 (unsigned long)gv->budget.boosted / 1000,
                 (unsigned long)gv->budget.ran / 1000,
                 (unsigned long)gv->budget.earned / 1000000,
                 (unsigned long)peek_tavs_cap() / 1000);
}

/* c is about to make a step: time has passed since its last. */
void check_before(const struct pcpu *c)
{
    if ( seen[c->id].account && sim_now > seen[c->id].since )
        check_budget(c->id);
}

static void look(unsigned int cpu)
{
    seen[cpu].v = get_cpu_current(cpu);
    seen[cpu].account = peek_tavs_account(seen[cpu].v->sched_unit,
                                          &seen[cpu].boosted,
                                          &seen[cpu].permille);
    seen[cpu].since = sim_now;
}

void check_step(const struct pcpu *c)
{
    steps++;
    if ( !sim_opt.check_every || system_state != SYS_STATE_active )
        return;

    if ( c->state == PCPU_OFF )
        seen[c->id].account = NULL;
    else
        look(c->id);

    if ( steps % sim_opt.check_every )
        return;

    if ( !(steps % full_every()) )
        check_all();
    else if ( c->state == PCPU_PARKED && at_rest() )
        check_one(c->id);
}
