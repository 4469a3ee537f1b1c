/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest kernel, as far as a hypervisor can tell.
 *
 * Each vCPU has tasks; a task repeats a short program of operations (guest.h).
 * The kernel around them behaves as Linux does under Xen:
 *
 * - An upcall costs some kernel time, then wakes whom it concerns.
 * - Ready tasks share the vCPU as under CFS: see "the guest's scheduler" below.
 *   A switch to another address space loads CR3, a switch to a kernel thread
 *   does not.
 * - With nothing to run, the kernel programs its one-shot timer and blocks.
 *
 * All of it goes through Xen's real entry points: do_sched_op(), vcpu_yield(),
 * do_set_timer_op(), evtchn_port_set_pending(). What the guest does between
 * two of them is time, and nothing else.
 */

#include <xen/event.h>
#include <xen/guest_access.h>
#include <xen/hypercall.h>
#include <public/sched.h>

#include "sim.h"
#include "guest.h"
#include "tavs-hooks.h"

static struct link *links[1024];
static unsigned int nr_links;
unsigned int guest_vcpus;

void guest_default_costs(struct guest_costs *costs)
{
    *costs = (struct guest_costs){
        .irq_ns = MICROSECS(15),
        .switch_ns = MICROSECS(5),
        .send_ns = MICROSECS(5),
        .block_ns = MICROSECS(3),
        .wake_preempts = true,
    };
}

/* ---- event channels ---------------------------------------------------- */

static void cf_check port_set_pending(struct vcpu *v, struct evtchn *chn)
{
    guest_of(v)->ports |= 1UL << chn->port;
    vcpu_mark_events_pending(v);
}

static void cf_check port_clear_pending(struct domain *d, struct evtchn *chn)
{
    guest_of(d->vcpu[chn->notify_vcpu_id])->ports &= ~(1UL << chn->port);
}

static void cf_check port_unmask(struct domain *d, struct evtchn *chn)
{
}

static bool cf_check port_is_pending(const struct domain *d,
                                     const struct evtchn *chn)
{
    return guest_of(d->vcpu[chn->notify_vcpu_id])->ports & (1UL << chn->port);
}

static bool cf_check port_is_masked(const struct domain *d,
                                    const struct evtchn *chn)
{
    return false;
}

static const struct evtchn_port_ops port_ops = {
    .set_pending = port_set_pending,
    .clear_pending = port_clear_pending,
    .unmask = port_unmask,
    .is_pending = port_is_pending,
    .is_masked = port_is_masked,
    .is_busy = port_is_masked,
};

static unsigned int new_port(struct domain *d, unsigned int state,
                             const struct vcpu *v)
{
    unsigned int port = d->valid_evtchns++;
    struct evtchn *chn = &d->evtchn[port];

    if ( port >= GUEST_PORTS )
        sim_fail("d%d has too many event channels", d->domain_id);

    rwlock_init(&chn->lock);
    chn->port = port;
    chn->state = state;
    chn->notify_vcpu_id = v->vcpu_id;

    return port;
}

/* VIRQ_TIMER, from core.c's timers. As send_guest_vcpu_virq(). */
void send_timer_event(struct vcpu *v)
{
    struct domain *d = v->domain;
    struct evtchn *chn = &d->evtchn[guest_of(v)->timer_port];

    if ( evtchn_read_trylock(chn) )
    {
        evtchn_port_set_pending(d, v->vcpu_id, chn);
        evtchn_read_unlock(chn);
    }
}

void guest_message(struct link *l, unsigned int to)
{
    struct gvcpu *gv = l->end[to];
    struct domain *d;
    struct evtchn *chn;

    if ( !gv )
        return;

    l->waiting[to]++;
    d = gv->v->domain;
    chn = &d->evtchn[l->port[to]];
    if ( evtchn_read_trylock(chn) )
    {
        evtchn_port_set_pending(d, chn->notify_vcpu_id, chn);
        evtchn_read_unlock(chn);
    }
}

static unsigned int my_end(const struct task *t, const struct link *l)
{
    return l->end[1] == t->gv && !(l->end[0] == t->gv);
}

/* Between tasks of one vCPU: no event channel, and all at end 0. */
static bool is_local(const struct link *l)
{
    return l->end[0] == l->end[1];
}

/* ---- grants and packets ------------------------------------------------ */

/* What a back end does with a page of the front end's. */
static void use_grant(struct link *l, unsigned int mine, enum op_kind kind)
{
    struct domain *d = l->end[mine]->v->domain, *peer;

    if ( !l->end[!mine] )
        return;
    peer = l->end[!mine]->v->domain;

    /* In Xen, those of the grant table and of its entry. */
    spin_lock(&l->grant_lock);
    lock_leaves_only(true);

    switch ( kind )
    {
    case OP_MAP:
    case OP_MAP_RO:
        if ( l->mapped )
            sim_fail("link %s: mapped twice", l->name);
        l->mapped = true;
        l->readonly = kind == OP_MAP_RO;
        if ( !l->readonly )
            l->wanted = tavs_grant_map(d, peer, false);
        break;

    case OP_UNMAP:
        if ( !l->mapped )
            sim_fail("link %s: not mapped", l->name);
        l->mapped = false;
        tavs_grant_unmap(d, peer, l->readonly, l->wanted);
        break;

    case OP_COPY_TO:
        tavs_grant_copy(NULL, peer);
        break;

    default:
        tavs_grant_copy(peer, NULL);
        break;
    }

    lock_leaves_only(false);
    spin_unlock(&l->grant_lock);
}

/*
 * A driver domain tells Xen of a packet, as our module for Linux does. The
 * first time it registers the ring.
 */
static void tell_of_packet(const struct link *l, unsigned int mine,
                           unsigned int protocol, unsigned int port)
{
#if __has_include("tavs/net.c")
    struct gvcpu *gv = guest_of(l->end[mine]->v->domain->vcpu[0]);
    struct xen_tavs_ring *ring = gv->ring;

    if ( !l->end[!mine] || !gv->v->domain->tavs.driver )
        return;

    if ( !ring )
    {
        struct xen_tavs_ring_op op = { .version = XEN_TAVS_RING_VERSION };
        int rc;

        ring = gv->ring = xzalloc(struct xen_tavs_ring);
        op.gaddr = (unsigned long)ring;
        rc = tavs_ring_op(&op);
        if ( rc )
            sim_fail("d%d cannot share its ring: %d",
                     gv->v->domain->domain_id, rc);
    }

    if ( ring->prod - ring->cons >= XEN_TAVS_RING_SIZE )
        ring->lost++;
    else
    {
        ring->packet[ring->prod % XEN_TAVS_RING_SIZE] =
            (struct xen_tavs_packet){
                .domid = l->end[!mine]->v->domain->domain_id,
                .protocol = protocol,
                .port = port,
            };
        ring->prod++;
    }
#endif
}

struct link *guest_link(const char *name, struct gvcpu *a, struct gvcpu *b)
{
    struct link *l = xzalloc(struct link);
    unsigned int i;

    if ( nr_links == ARRAY_SIZE(links) )
        sim_fail("too many links");
    l->id = nr_links++;
    links[l->id] = l;
    strlcpy(l->name, name, sizeof(l->name));
    l->end[0] = a;
    l->end[1] = b;
    for ( i = 0; i < 2 && a != b; i++ )
        l->port[i] = new_port(l->end[i]->v->domain, ECS_INTERDOMAIN,
                              l->end[i]->v);
    for ( i = 0; i < 2 && a != b; i++ )
    {
        struct evtchn *chn =
            &l->end[i]->v->domain->evtchn[l->port[i]];

        chn->u.interdomain.remote_dom = l->end[!i]->v->domain;
        chn->u.interdomain.remote_port = l->port[!i];
    }
    spin_lock_init(&l->grant_lock);
    l->room = 1024;
    l->asked = xmalloc_array(s_time_t, l->room);
    l->samples = xmalloc_array(uint64_t, l->room);

    return l;
}

void guest_ring(struct link *l, unsigned int front, struct link *ring)
{
    unsigned int i;

    l->ring = ring ?: l;
    l->front = front;
    for ( i = 0; i < 2; i++ )
        l->end[i]->rings[l->port[i]] = l;
}

static void link_asked(struct link *l, s_time_t when)
{
    if ( l->nr_asked == l->room )
    {
        s_time_t *asked = xmalloc_array(s_time_t, l->room * 2);
        uint64_t *samples = xmalloc_array(uint64_t, l->room * 2);

        memcpy(asked, l->asked, l->nr_asked * sizeof(*asked));
        memcpy(samples, l->samples, l->nr_samples * sizeof(*samples));
        xfree(l->asked);
        xfree(l->samples);
        l->asked = asked;
        l->samples = samples;
        l->room *= 2;
    }
    l->asked[l->nr_asked++] = when;
}

static void link_answered(struct link *l)
{
    if ( l->asked_at < l->nr_asked )
        l->samples[l->nr_samples++] = sim_now - l->asked[l->asked_at++];
}

/* ---- domains, vCPUs, tasks --------------------------------------------- */

void guest_init(void)
{
}

void guest_kicked(void)
{
}

void guest_domain_init(struct domain *d)
{
    d->evtchn = xzalloc_array(struct evtchn, GUEST_PORTS);
    d->evtchn_port_ops = &port_ops;
    d->valid_evtchns = 1;       /* Port 0 is nobody's. */
}

/* Its peers do not reach it any more. */
void guest_domain_unlink(struct domain *d)
{
    unsigned int i, end;

    for ( i = 0; i < nr_links; i++ )
        for ( end = 0; end < 2; end++ )
        {
            struct link *l = links[i];
            struct gvcpu *peer = l->end[!end];

            if ( !l->end[end] || l->end[end]->v->domain != d )
                continue;
            l->end[end] = NULL;
            if ( peer )
                peer->v->domain->evtchn[l->port[!end]].state = ECS_UNBOUND;
        }
}

void guest_domain_destroy(struct domain *d)
{
    xfree(d->evtchn);
    d->evtchn = NULL;
    d->valid_evtchns = 0;
}

void guest_vcpu_init(struct vcpu *v)
{
    struct gvcpu *gv = xzalloc(struct gvcpu);

    guest_vcpus++;
    gv->v = v;
    gv->tasks_tail = &gv->tasks;
    guest_default_costs(&gv->costs);
    v->vcpu_info_area.map = &gv->info;
    gv->timer_port = new_port(v->domain, ECS_VIRQ, v);
    v->domain->evtchn[gv->timer_port].u.virq = VIRQ_TIMER;
}

void guest_vcpu_destroy(struct vcpu *v)
{
    struct gvcpu *gv = guest_of(v);

    while ( gv->tasks )
    {
        struct task *t = gv->tasks;

        gv->tasks = t->next;
        xfree(t);
    }
    guest_vcpus--;
    xfree(gv->ring);
    xfree(gv);
    v->vcpu_info_area.map = NULL;
}

struct task *guest_task(struct gvcpu *gv, const char *name,
                        unsigned long asid)
{
    struct task *t = xzalloc(struct task);

    strlcpy(t->name, name, sizeof(t->name));
    t->gv = gv;
    t->asid = asid;
    t->weight = NICE_0_WEIGHT;
    t->vruntime = gv->min_vruntime;
    *gv->tasks_tail = t;
    gv->tasks_tail = &t->next;

    return t;
}

/* ---- the guest's scheduler --------------------------------------------- */

/*
 * Linux' CFS, with the constants of 6.1 for one CPU (kernel/sched/fair.c); for
 * 2, 4 and 8 CPUs they are 2, 3 and 4 times as large.
 *
 * A task's vruntime is the time for which it was current, by its weight. That
 * goes on while its vCPU is queued: Debian's kernels are built without
 * CONFIG_PARAVIRT_TIME_ACCOUNTING.
 */
#define SCHED_LATENCY       MILLISECS(6)    /* each ready task runs once in it */
#define MIN_GRANULARITY     MICROSECS(750)  /* but not for less than this */
#define WAKEUP_GRANULARITY  MILLISECS(1)    /* behind by this, it preempts */

static s_time_t scaled(const struct gvcpu *gv, s_time_t time)
{
    return time * fls(min(gv->v->domain->max_vcpus, 8U));
}

/* Time that a task uses, as its vruntime counts it. */
static s_time_t weighed(const struct task *t, s_time_t time)
{
    return time * NICE_0_WEIGHT / t->weight;
}

/* The ready task that ran least, but for `without`. */
static struct task *leftmost(const struct gvcpu *gv,
                             const struct task *without)
{
    struct task *t, *best = NULL;

    for ( t = gv->tasks; t; t = t->next )
        if ( t != without && t->state == TASK_READY &&
             (!best || t->vruntime < best->vruntime) )
            best = t;

    return best;
}

static bool others_ready(const struct gvcpu *gv)
{
    return leftmost(gv, gv->cur);
}

/* How long the current task may go on beside others, since it was chosen. */
static s_time_t slice(const struct gvcpu *gv)
{
    s_time_t sum = gv->cur->weight;
    const struct task *t;

    for ( t = gv->tasks; t; t = t->next )
        if ( t != gv->cur && t->state == TASK_READY )
            sum += t->weight;

    return max(scaled(gv, SCHED_LATENCY) * gv->cur->weight / sum,
               scaled(gv, MIN_GRANULARITY));
}

/* Charge the current task up to now. */
static void charge(struct gvcpu *gv)
{
    const struct task *next = leftmost(gv, gv->cur);
    s_time_t least = gv->min_vruntime;

    if ( gv->cur )
    {
        gv->cur->vruntime += weighed(gv->cur, sim_now - gv->charged);
        least = gv->cur->vruntime;
    }
    gv->charged = sim_now;

    if ( next && (!gv->cur || next->vruntime < least) )
        least = next->vruntime;
    gv->min_vruntime = max(gv->min_vruntime, least);
}

static void choose(struct gvcpu *gv, struct task *t)
{
    gv->cur = t;
    gv->chosen = sim_now;
}

static void wake(struct task *t)
{
    struct gvcpu *gv = t->gv;
    const struct task *cur = gv->cur;

    charge(gv);
    t->state = TASK_READY;
    if ( t == cur )
        return;                 /* It had not got as far as to leave. */

    /* Who slept is owed something, but not all of it: GENTLE_FAIR_SLEEPERS. */
    t->vruntime = max(t->vruntime,
                      gv->min_vruntime - scaled(gv, SCHED_LATENCY) / 2);

    if ( !cur || cur->state != TASK_READY ||
         (gv->costs.wake_preempts &&
          cur->vruntime - t->vruntime >
          weighed(t, scaled(gv, WAKEUP_GRANULARITY))) )
        gv->resched = true;
}

static bool is_due(const struct task *t)
{
    const struct link *l;

    if ( t->state == TASK_SLEEPS )
        return t->wakes <= sim_now;
    if ( t->state != TASK_WAITS )
        return false;
    l = links[t->ops[t->pc].a];

    return l->waiting[my_end(t, l)];
}

static void wake_due(struct gvcpu *gv)
{
    struct task *t;

    for ( t = gv->tasks; t; t = t->next )
        if ( is_due(t) )
            wake(t);
}

/* A back end goes to sleep: it looks at its rings once more. */
static void final_check(struct gvcpu *gv)
{
    struct task *t;

    for ( t = gv->tasks; t; t = t->next )
        if ( t->state == TASK_WAITS && is_due(t) )
        {
            const struct link *l = links[t->ops[t->pc].a];

            if ( l->ring && my_end(t, l) != l->front )
                wake(t);
        }
}

/* ---- messages ----------------------------------------------------------- */

/* The link whose messages a task takes, if it takes any. */
static struct link *served(const struct task *t)
{
    unsigned int i;

    for ( i = 0; i < t->nr_ops; i++ )
        if ( t->ops[i].kind == OP_WAIT || t->ops[i].kind == OP_REPLY )
            return links[t->ops[i].a];

    return NULL;
}

/*
 * Does an end of a ring ask to be notified of the next message? As req_event
 * and rsp_event do (xen/include/public/io/ring.h): the front end asks in the
 * handler of its interrupt, having looked at the ring. The back end asks when
 * it has found the ring empty and goes to sleep: all its tasks together are one
 * thread.
 */
static bool asks(const struct link *ring, unsigned int end)
{
    const struct task *t;

    if ( ring->told[end] )
        return false;
    if ( end == ring->front )
        return true;

    for ( t = ring->end[end]->tasks; t; t = t->next )
        if ( t->state == TASK_READY )
        {
            const struct link *l = served(t);

            if ( l && l->ring == ring )
                return false;
        }

    return true;
}

/* The vCPU takes the interrupts of these channels. */
static void look_at_rings(struct gvcpu *gv, unsigned long ports)
{
    unsigned int port;

    for ( port = 0; ports; port++, ports >>= 1 )
    {
        struct link *ring = gv->rings[port];

        if ( (ports & 1) && ring )
            ring->told[ring->end[1] == gv] = false;
    }
}

/* A guest notifies the other end of its link: as evtchn_send(). */
static void send(struct link *l, unsigned int to, bool message)
{
    struct domain *d = l->end[!to]->v->domain, *peer;
    unsigned int port = (l->ring ?: l)->port[!to];
    struct evtchn *chn = &d->evtchn[port];

    if ( is_local(l) )
    {
        l->waiting[0]++;
        wake_due(l->end[0]);
        return;
    }

    /* The guest need not make the hypercall. */
    if ( l->ring && message && l->end[to] && !asks(l->ring, to) )
    {
        l->waiting[to]++;
        return;
    }

    evtchn_read_lock(chn);
    if ( chn->state == ECS_INTERDOMAIN )
    {
        peer = chn->u.interdomain.remote_dom;
        l->waiting[to] += message;
        if ( l->ring )
            l->ring->told[to] = true;
        tavs_event_send(d, chn);
        chn = &peer->evtchn[chn->u.interdomain.remote_port];
        evtchn_port_set_pending(peer, chn->notify_vcpu_id, chn);
        chn = &d->evtchn[port];
    }
    evtchn_read_unlock(chn);
}

/* ---- time passes ------------------------------------------------------- */

/* Where the current vCPU is when the hypervisor is entered next. */
static void set_mode(struct vcpu *v, bool kernel)
{
    guest_cpu_user_regs()->cs = 3;
    if ( kernel )
        v->arch.flags |= TF_kernel_mode;
    else
        v->arch.flags &= ~TF_kernel_mode;
}

s_time_t guest_enter(struct vcpu *v)
{
    struct gvcpu *gv = guest_of(v);
    struct task *t;
    s_time_t next;

    if ( gv->info.evtchn_upcall_pending && !gv->info.evtchn_upcall_mask )
    {
        gv->info.evtchn_upcall_pending = 0;
        if ( gv->ports & (1UL << gv->timer_port) )
        {
            gv->timer = 0;
            gv->ticked = true;
            gv->kernel_ns += gv->costs.timer_ns;
        }
        look_at_rings(gv, gv->ports);
        gv->ports = 0;
        gv->upcalls++;
        gv->kernel_ns += gv->costs.irq_ns;
        wake_due(gv);
    }

    set_mode(v, gv->kernel_ns > 0 || !gv->cur || !gv->cur->asid);
    if ( gv->kernel_ns > 0 )
        return gv->kernel_ns;

    t = gv->cur;
    if ( !t || gv->resched || !t->started )
        return 0;

    if ( t->ops[t->pc].kind == OP_RUN_TO )
        t->left = t->wakes - sim_now;
    else if ( t->ops[t->pc].kind != OP_RUN )
        return 0;

    next = max(t->left, (int64_t)0);
    if ( others_ready(gv) && !gv->costs.slice_by_tick )
        next = min(next, max(gv->chosen + slice(gv) - sim_now, (s_time_t)0));

    return next;
}

void guest_leave(struct vcpu *v, s_time_t ran)
{
    struct gvcpu *gv = guest_of(v);
    s_time_t kernel = min(ran, (s_time_t)gv->kernel_ns);
    struct task *t = gv->cur;

    gv->kernel_ns -= kernel;
    ran -= kernel;

    if ( t && t->started )
        t->left -= ran;
}

/* ---- the guest acts ---------------------------------------------------- */

/* No task has it. */
#define KERNEL_ASID 1000000

static void load_cr3(struct gvcpu *gv, unsigned long asid)
{
    if ( !asid || asid == gv->asid )
        return;

    tavs_task_switch(gv->v, asid, gv->asid == KERNEL_ASID);
    gv->asid = asid;
    gv->cr3_switches++;
}

static void program_timer(struct gvcpu *gv)
{
    s_time_t next = STIME_MAX;
    const struct task *t;

    /* Its interrupt is still to come. */
    if ( gv->timer && gv->timer <= sim_now )
        return;

    for ( t = gv->tasks; t; t = t->next )
        if ( t->state == TASK_SLEEPS )
            next = min(next, t->wakes);

    if ( gv->costs.tick_ns && gv->cur )
    {
        /* As Linux' tick_sched_timer: late or not, it stays on its grid. */
        if ( gv->next_tick <= sim_now )
            gv->next_tick = sim_now + gv->costs.tick_ns -
                            (gv->costs.tick_drifts ? 0 :
                             sim_now % gv->costs.tick_ns);
        next = min(next, gv->next_tick);
    }

    if ( next == STIME_MAX )
        next = 0;
    if ( next != gv->timer )
    {
        gv->timer = next;
        do_set_timer_op(next ? max(next, sim_now + 1) : 0);
    }
}

static void next_op(struct task *t)
{
    t->started = false;
    t->pc++;
    if ( t->pc >= t->nr_ops )
    {
        t->pc = 0;
        t->rounds++;
    }
}

static void put_to_sleep(struct task *t, s_time_t until)
{
    t->wakes = until;
    t->state = TASK_SLEEPS;
    t->gv->resched = true;
}

static s_time_t next_phase(uint64_t period, uint64_t phase)
{
    s_time_t t = sim_now - sim_now % period + phase;

    return t > sim_now ? t : t + period;
}

/* One operation of the running task; returns false when time must pass. */
static bool do_op(struct gvcpu *gv, struct task *t)
{
    const struct op *op = &t->ops[t->pc];
    struct link *l;

    switch ( op->kind )
    {
    case OP_RUN:
    case OP_RUN_TO:
        if ( !t->started )
        {
            t->started = true;
            if ( op->kind == OP_RUN )
                t->left = sim_between(op->a, op->b);
            else
            {
                t->wakes = next_phase(op->a, op->b);
                t->left = t->wakes - sim_now;
            }
        }
        else if ( op->kind == OP_RUN_TO )
            t->left = t->wakes - sim_now;
        if ( t->left > 0 )
            return false;
        next_op(t);
        return true;

    case OP_SLEEP:
    case OP_EVERY:
    case OP_SLEEP_TO:
        if ( t->started )
        {
            next_op(t);
            return true;
        }
        t->started = true;
        if ( op->kind == OP_SLEEP )
            put_to_sleep(t, sim_now + sim_between(op->a, op->b));
        else if ( op->kind == OP_SLEEP_TO )
            put_to_sleep(t, next_phase(op->a, op->b));
        else
        {
            if ( !t->every )
                t->every = sim_now;
            t->every += sim_between(op->a, op->b);
            if ( t->every <= sim_now )
                return true;
            put_to_sleep(t, t->every);
        }
        return true;

    case OP_WAIT:
    case OP_REPLY:
        l = links[op->a];
        if ( !l->waiting[my_end(t, l)] )
        {
            t->state = TASK_WAITS;
            gv->resched = true;
            return true;
        }
        l->waiting[my_end(t, l)]--;
        if ( op->kind == OP_REPLY )
            link_answered(l);
        next_op(t);
        return true;

    case OP_SEND:
    case OP_REQUEST:
        if ( !t->started )
        {
            t->started = true;
            gv->kernel_ns += gv->costs.send_ns;
            if ( op->kind == OP_REQUEST )
                link_asked(links[op->a], sim_now);
            return true;
        }
        l = links[op->a];
        next_op(t);
        send(l, !my_end(t, l), true);
        return true;

    case OP_CLOCK:
    case OP_DUE:
        link_asked(links[op->a], op->kind == OP_DUE ? t->every : sim_now);
        next_op(t);
        return true;

    case OP_STOP:
        link_answered(links[op->a]);
        next_op(t);
        return true;

    case OP_NOTIFY:
        l = links[op->a];
        next_op(t);
        send(l, !my_end(t, l), false);
        return true;

    case OP_MAP:
    case OP_MAP_RO:
    case OP_UNMAP:
    case OP_COPY_TO:
    case OP_COPY_FROM:
        l = links[op->a];
        next_op(t);
        use_grant(l, my_end(t, l), op->kind);
        return true;

    case OP_PACKET:
        l = links[op->a];
        next_op(t);
        tell_of_packet(l, my_end(t, l), op->b >> 16, (uint16_t)op->b);
        return true;

    case OP_YIELD:
        next_op(t);
        gv->yielded = sim_now;
        vcpu_yield();
        return true;

    case OP_SWITCH:
        next_op(t);
        gv->skip = gv->resched = true;
        return true;

    case OP_ASID:
        load_cr3(gv, op->a + gv->churn++ % max(op->b, (uint64_t)1));
        next_op(t);
        return true;

    case OP_EXEC:
    {
        unsigned long old = t->asid;

        t->asid = op->a + gv->churn++ % max(op->b, (uint64_t)1);
        tavs_task_born(gv->v, t->asid);
        load_cr3(gv, t->asid);
        if ( old && old != t->asid )
            tavs_task_gone(gv->v->domain, old);
        next_op(t);
        return true;
    }

    case OP_FORK:
    {
        struct task *child;

        l = links[op->a];
        next_op(t);
        for ( child = gv->tasks; child; child = child->next )
            if ( child->state == TASK_WAITS && served(child) == l )
            {
                /* Its former one was torn down as the last child ended. */
                if ( child->asid )
                    tavs_task_gone(gv->v->domain, child->asid);
                child->asid = op->b + gv->churn++ % 4096;
                tavs_task_born(gv->v, child->asid);
                break;
            }
        send(l, 0, true);
        return true;
    }

    case OP_EXIT:
        t->state = TASK_GONE;
        if ( t->asid )
            tavs_task_gone(gv->v->domain, t->asid);
        gv->resched = true;
        return true;
    }

    return false;
}

void guest_act(struct vcpu *v)
{
    struct gvcpu *gv = guest_of(v);
    unsigned int turns = 0;

    /* A kernel boots on a page table of its own, before there are tasks. */
    set_mode(v, true);
    if ( !gv->asid )
        load_cr3(gv, KERNEL_ASID);

    while ( !softirq_pending(smp_processor_id()) &&
            !gv->info.evtchn_upcall_pending && gv->kernel_ns <= 0 )
    {
        struct task *t = gv->cur;

        if ( turns++ == 1000 )
            sim_fail("d%dv%d: task %s uses no time", v->domain->domain_id,
                     v->vcpu_id, t ? t->name : "(idle)");

        if ( t && t->state == TASK_READY && others_ready(gv) &&
             (gv->ticked || !gv->costs.slice_by_tick) &&
             sim_now - gv->chosen >= slice(gv) )
            gv->resched = true;
        gv->ticked = false;

        if ( !t || gv->resched )
        {
            if ( t && t->state != TASK_READY )
                final_check(gv);
            charge(gv);
            t = leftmost(gv, gv->skip ? gv->cur : NULL) ?: leftmost(gv, NULL);
            gv->resched = gv->skip = false;

            if ( t != gv->cur )
            {
                choose(gv, t);
                program_timer(gv);
                if ( !t )
                {
                    gv->kernel_ns += gv->costs.block_ns;
                    continue;
                }
                gv->switches++;
                gv->kernel_ns += gv->costs.switch_ns;
                load_cr3(gv, t->asid);
                continue;
            }

            if ( !t )
            {
                program_timer(gv);
                do_sched_op(SCHEDOP_block, guest_handle_from_ptr(NULL, void));
                return;
            }
            choose(gv, t);
        }

        if ( gv->costs.tick_ns && !gv->timer )
            program_timer(gv);

        if ( !do_op(gv, t) )
        {
            set_mode(v, !t->asid);

            /* A kernel thread has no user mode; others return to theirs. */
            if ( t->asid && gv->asid != KERNEL_ASID && tavs_is_boosted(v) &&
                 !gv->info.evtchn_upcall_pending )
                tavs_user_mode(v);
            return;
        }
    }
}
