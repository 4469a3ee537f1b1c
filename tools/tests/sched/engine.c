/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time and pCPUs.
 *
 * A pCPU is a coroutine on a stack laid out as Xen wants it: 32 KiB, aligned,
 * struct cpu_info at the top, so that current, smp_processor_id() and
 * this_cpu() work as in the hypervisor. It runs hypervisor code until it goes
 * back to its guest (it parks), spins, or reaches a point where another pCPU
 * may overtake it.
 *
 * The loop in sim_run() is the machine:
 *
 *   while there is a pCPU with something to do at this instant
 *       let one of them do it           (which one: lowest id, or the seed)
 *   advance time to the next deadline   (timers, guests' actions, devices)
 *
 * Entering Xen, a pCPU takes its interrupts first, all of them, then softirqs:
 * timer.c runs every timer that is due before SCHEDULE_SOFTIRQ is looked at.
 * Hypervisor code takes no virtual time; what a guest pays for a switch is
 * the guest model's business.
 *
 * Known gap: interrupts reach a pCPU inside Xen at preemption points only,
 * not between any two instructions.
 */

#include <xen/rcupdate.h>
#include <xen/tasklet.h>
#include <xen/cpu.h>

#include "sim.h"

struct pcpu pcpus[NR_CPUS];
void *stack_base[NR_CPUS];
s_time_t sim_now;
uint64_t sim_decisions;

struct sim_options sim_opt = {
    .pcpus = 1,
    .threads_per_core = 1,
    .cores_per_socket = NR_CPUS,
    .nodes = 1,
    .seed = 1,
    .jitter_ns = 1000,
    .check_every = 1,
};

/* Spinning this long without a break is a hang. */
#define SPIN_LIMIT MILLISECS(200)
/* What one turn of a spin loop costs. */
#define SPIN_TURN  200

struct pcpu *sim_running;

static void *engine_sp;
static void (*boot_fn)(void);
static bool booted;

/* ---- random numbers: splitmix64 ---------------------------------------- */

static uint64_t random_state;

void sim_seed(void)
{
    unsigned int i;

    random_state = sim_opt.seed;
    for ( i = 0; i < 8; i++ )
        sim_random();
}

uint64_t sim_random(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15ULL);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;

    return z ^ (z >> 31);
}

unsigned int sim_below(unsigned int n)
{
    return n ? (sim_random() >> 32) * n >> 32 : 0;
}

uint64_t sim_between(uint64_t lo, uint64_t hi)
{
    return lo + (hi > lo ? sim_random() % (hi - lo + 1) : 0);
}

/* ---- coroutines -------------------------------------------------------- */

void switch_stack(void **save, void *load);
asm ( ".text\n"
      "switch_stack:\n"
      "    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
      "    mov %rsp, (%rdi)\n"
      "    mov %rsi, %rsp\n"
      "    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
      "    ret\n" );

/* From a pCPU back to the engine. */
static void leave(enum pcpu_state state, s_time_t resume_at)
{
    struct pcpu *c = sim_running;

    c->state = state;
    c->resume_at = resume_at;
    sim_running = NULL;
    switch_stack(&c->sp, engine_sp);
}

/* From the engine to a pCPU, until it comes back. */
static void enter(struct pcpu *c)
{
    sim_running = c;
    c->state = PCPU_READY;
    switch_stack(&engine_sp, c->sp);
}

void sim_relax(void)
{
    struct pcpu *c = sim_running;

    if ( !c->spin_since )
        c->spin_since = sim_now;
    else if ( sim_now - c->spin_since > SPIN_LIMIT )
        sim_fail("pCPU %u spins for %lu ms", c->id,
                 (unsigned long)((sim_now - c->spin_since) / MILLISECS(1)));

    leave(PCPU_READY, sim_now + SPIN_TURN);
    sim_point();
}

void sim_wait_lock(const spinlock_t *lock)
{
    sim_running->wants = lock;
    leave(PCPU_LOCKED, 0);
}

void sim_lock_freed(const spinlock_t *lock)
{
    unsigned int i;

    for ( i = 0; i < sim_opt.pcpus; i++ )
        if ( pcpus[i].state == PCPU_LOCKED && pcpus[i].wants == lock )
        {
            pcpus[i].state = PCPU_READY;
            pcpus[i].resume_at = sim_now;
            pcpus[i].wants = NULL;
        }
}

/* ---- interrupts -------------------------------------------------------- */

static bool irq_waiting(const struct pcpu *c)
{
    return c->ipi || c->irqs || (c->timer_at && c->timer_at <= sim_now);
}

static void take_irqs(struct pcpu *c)
{
    bool were_on = c->irqs_on;

    c->irqs_on = false;
    irq_enter();

    c->ipi = false;

    if ( c->timer_at && c->timer_at <= sim_now )
    {
        c->timer_at = 0;
        raise_softirq(TIMER_SOFTIRQ);
    }

    while ( c->irqs )
    {
        struct sim_work *w = c->irqs;

        c->irqs = w->next;
        if ( !c->irqs )
            c->irqs_tail = &c->irqs;
        w->fn(w->arg);
        xfree(w);
    }

    irq_exit();
    c->irqs_on = were_on;
}

void sim_point(void)
{
    struct pcpu *c = sim_running;

    if ( !c )
        return;

    if ( c->irqs_on && !local_irq_count(c->id) && irq_waiting(c) &&
         (c->spin_since || (sim_opt.preempt && !sim_below(2))) )
        take_irqs(c);

    if ( sim_opt.preempt && !sim_below(sim_opt.preempt) )
        leave(PCPU_READY, sim_now + (sim_opt.stalls ? sim_below(5000) : 0));
}

void sim_barrier(void)
{
    unsigned long caller = (unsigned long)__builtin_return_address(0);

    barrier();
    /* As at the locks of task awareness: see lock.c. */
    if ( sim_opt.stalls &&
         !(sim_opt.same_chances && !strncmp(host_symbol(caller), "tavs_", 5)) )
        sim_point();
}

void sim_irq_disable(void)
{
    sim_running->irqs_on = false;
}

void sim_irq_enable(void)
{
    sim_running->irqs_on = true;
    if ( sim_opt.preempt )
        sim_point();
}

unsigned long sim_irq_flags(void)
{
    return sim_running->irqs_on ? X86_EFLAGS_IF : 0;
}

void sim_irq_restore(unsigned long flags)
{
    if ( flags & X86_EFLAGS_IF )
        sim_irq_enable();
    else
        sim_irq_disable();
}

/* Interrupts of devices, in the order of their times. */

struct event {
    s_time_t when;
    uint64_t seq;
    unsigned int cpu;
    void (*fn)(void *);
    void *arg;
};

static struct event *heap;
static unsigned int heap_size, heap_room;
static uint64_t heap_seq;

static bool before(const struct event *a, const struct event *b)
{
    return a->when < b->when || (a->when == b->when && a->seq < b->seq);
}

void sim_at(s_time_t when, unsigned int cpu, void (*fn)(void *), void *arg)
{
    struct event e = { when, heap_seq++, cpu, fn, arg };
    unsigned int i;

    if ( heap_size == heap_room )
    {
        struct event *bigger = xmalloc_array(struct event, heap_room * 2 + 64);

        if ( heap_size )
            memcpy(bigger, heap, heap_size * sizeof(*heap));
        xfree(heap);
        heap = bigger;
        heap_room = heap_room * 2 + 64;
    }

    for ( i = heap_size++; i && before(&e, &heap[(i - 1) / 2]);
          i = (i - 1) / 2 )
        heap[i] = heap[(i - 1) / 2];
    heap[i] = e;
}

static struct event heap_pop(void)
{
    struct event top = heap[0], last = heap[--heap_size];
    unsigned int i = 0, child;

    while ( (child = 2 * i + 1) < heap_size )
    {
        if ( child + 1 < heap_size && before(&heap[child + 1], &heap[child]) )
            child++;
        if ( before(&last, &heap[child]) )
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;

    return top;
}

static void deliver_due(void)
{
    while ( heap_size && heap[0].when <= sim_now )
    {
        struct event e = heap_pop();
        struct pcpu *c = &pcpus[e.cpu];
        struct sim_work *w = xmalloc(struct sim_work);

        /* The interrupt of an offline pCPU goes to the boot pCPU. */
        if ( c->state == PCPU_OFF )
            c = &pcpus[0];

        *w = (struct sim_work){ NULL, e.fn, e.arg };
        *c->irqs_tail = w;
        c->irqs_tail = &w->next;
    }
}

/* ---- what a pCPU does -------------------------------------------------- */

static void idle_work(unsigned int cpu)
{
    while ( is_idle_vcpu(current) && tasklet_work_to_do(cpu) )
    {
        do_tasklet();
        do_softirq();
    }
}

/* Wait in the guest, or in the idle loop. */
static void park(struct pcpu *c)
{
    struct vcpu *v = current;

    c->guest_from = sim_now;
    c->guest_at = STIME_MAX;

    if ( is_idle_vcpu(v) )
    {
        rcu_idle_enter(c->id);
        /* It may have set a timer: as in Xen's idle loops. */
        process_pending_softirqs();
        if ( !softirq_pending(c->id) && !tasklet_work_to_do(c->id) )
            leave(PCPU_PARKED, 0);
        rcu_idle_exit(c->id);
        return;
    }

    c->guest_at = sim_now + guest_enter(v);
    if ( !softirq_pending(c->id) )
        leave(PCPU_PARKED, 0);
    guest_leave(v, sim_now - c->guest_from);
}

static void pcpu_loop(struct pcpu *c)
{
    for ( ; ; )
    {
        lock_check_none_held("returning to the guest");
        park(c);
        c->entries++;
        c->spin_since = 0;

        if ( irq_waiting(c) )
            take_irqs(c);
        else if ( c->guest_at <= sim_now )
            guest_act(current);

        do_softirq();

        if ( cpu_is_offline(c->id) )
            leave(PCPU_OFF, 0);

        idle_work(c->id);
    }
}

static void pcpu_main(void)
{
    struct pcpu *c = sim_running;

    if ( boot_fn )
    {
        void (*boot)(void) = boot_fn;

        boot_fn = NULL;
        boot();
        booted = true;
    }
    else
    {
        notify_cpu_starting(c->id);
        cpumask_set_cpu(c->id, &cpu_online_map);
        c->irqs_on = true;
        do_softirq();
    }

    pcpu_loop(c);
}

static void prepare(unsigned int cpu)
{
    struct pcpu *c = &pcpus[cpu];
    char *stack = c->stack;
    struct cpu_info *info;
    void **sp;

    /* The stack's owner may be a pCPU that went offline: start afresh. */
    *c = (struct pcpu){ .id = cpu, .stack = stack };
    c->irqs_tail = &c->irqs;
    c->guest_at = STIME_MAX;

    stack_base[cpu] = c->stack;
    info = get_cpu_info_from_stack((unsigned long)c->stack);
    memset(info, 0, sizeof(*info));
    info->processor_id = cpu;
    info->per_cpu_offset = __per_cpu_offset[cpu];
    info->current_vcpu = idle_vcpu[cpu];

    sp = (void **)((unsigned long)info & ~15UL);
    *--sp = NULL;               /* pcpu_main() has nowhere to return to. */
    *--sp = pcpu_main;
    sp -= 6;                    /* What switch_stack() pops. */
    memset(sp, 0, 6 * sizeof(*sp));
    c->sp = sp;
    c->state = PCPU_READY;
    c->resume_at = sim_now;
}

void sim_cpu_start(unsigned int cpu)
{
    prepare(cpu);
}

/* ---- the machine ------------------------------------------------------- */

static bool has_work(const struct pcpu *c)
{
    switch ( c->state )
    {
    case PCPU_READY:
        return c->resume_at <= sim_now;
    case PCPU_PARKED:
        return c->guest_at <= sim_now || irq_waiting(c) ||
               softirq_pending(c->id);
    default:
        return false;
    }
}

static struct pcpu *pick(void)
{
    unsigned int i, n = 0;
    struct pcpu *found[NR_CPUS];

    for ( i = 0; i < sim_opt.pcpus; i++ )
        if ( has_work(&pcpus[i]) )
        {
            if ( !sim_opt.preempt )
                return &pcpus[i];
            found[n++] = &pcpus[i];
        }

    return n ? found[sim_below(n)] : NULL;
}

static s_time_t next_deadline(void)
{
    s_time_t next = heap_size ? heap[0].when : STIME_MAX;
    unsigned int i;

    for ( i = 0; i < sim_opt.pcpus; i++ )
    {
        const struct pcpu *c = &pcpus[i];

        if ( c->state == PCPU_PARKED )
        {
            if ( c->timer_at )
                next = min(next, c->timer_at);
            next = min(next, c->guest_at);
        }
        else if ( c->state == PCPU_READY )
        {
            next = min(next, c->resume_at);
            if ( c->timer_at > sim_now )
                next = min(next, c->timer_at);
        }
    }

    return next;
}

void sim_run(s_time_t until)
{
    for ( ; ; )
    {
        struct pcpu *c = pick();
        s_time_t next;

        if ( c )
        {
            check_before(c);
            enter(c);
            check_step(c);
            continue;
        }

        next = next_deadline();
        if ( next > until )
            break;

        ASSERT(next > sim_now);
        sim_now = next;
        deliver_due();
    }

    sim_now = until;
}

void sim_start(void (*boot)(void))
{
    unsigned int i;
    char *stacks = host_arena(0x300000000000UL, NR_CPUS * 2UL * STACK_SIZE);

    sim_seed();

    /* Every other stack stays unused: a guard that is never touched. */
    for ( i = 0; i < NR_CPUS; i++ )
        pcpus[i].stack = stacks + i * 2UL * STACK_SIZE;

    boot_fn = boot;
    prepare(0);
    /* Other pCPUs come up while this one spins, which takes time. */
    while ( !booted )
        sim_run(sim_now + MILLISECS(1));
}
