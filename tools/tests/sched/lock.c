/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spinlocks, and what they have to obey.
 *
 * A lock remembers nothing but that it is held; who holds it, and since
 * where, is in the list of held locks of each pCPU. Locks of one kind form a
 * class: the static variable, the per-CPU variable, or the field of the
 * structures that one place in Xen allocates. Three rules are checked at every
 * acquisition:
 *
 * - Order. Taking B while holding A draws an edge A -> B between the classes.
 *   A cycle would be a deadlock waiting for its day, even if no run ever
 *   deadlocks; it fails the run with the places of all its edges. Two locks of
 *   one class may nest in ascending order of address: the convention of
 *   sched_spin_lock_double() and of migrate_timer(). A trylock waits for
 *   nobody, so it draws no edge to the lock that it takes.
 *
 * - Interrupts. A class is taken with interrupts either always on or always
 *   off (what Xen's own check_lock() wants of each lock).
 *
 * - Balance. Nothing is held on the way back to a guest, and no pCPU releases
 *   what it does not hold.
 *
 * A pCPU that finds a lock taken waits until it is released; if the owner in
 * turn waits for something that the pCPU holds, that is a deadlock, and said
 * at once.
 */

#include <xen/spinlock.h>
#include <xen/rwlock.h>

#include "sim.h"
#include "mem.h"
#include "guest.h"

#define MAX_HELD    16
#define MAX_CLASSES 128

extern char __per_cpu_start[], __per_cpu_data_end[];

struct held {
    const void *lock;
    unsigned int class;
    unsigned long site;
};

static struct held held[NR_CPUS][MAX_HELD];
static unsigned int nr_held[NR_CPUS];

static struct class {
    unsigned long key;          /* Address, or allocation site. */
    unsigned long offset;       /* Within the allocation. */
    const char *kind;
    bool seen, irqs_off;
    bool quiet;                 /* Task awareness brings it. */
    unsigned long site;         /* Where it was first taken. */
} classes[MAX_CLASSES];
static unsigned int nr_classes;

/*
 * With sim_opt.same_chances, a lock that task awareness brings is not a point
 * where another pCPU may overtake: a run with it then takes the same random
 * numbers as one without.
 */
static bool is_quiet(const union lock_debug *debug);

static struct edge {
    unsigned long from, to;     /* Places that took them; 0: no edge. */
} edges[MAX_CLASSES][MAX_CLASSES];

/* ---- classes ----------------------------------------------------------- */

static unsigned int find_class(const void *lock)
{
    struct class c = { .key = (unsigned long)lock, .kind = "static" };
    const struct block *b;
    unsigned int i;

    if ( (b = mem_block(lock)) )
    {
        c.key = b->site;
        c.offset = (char *)lock - (char *)(b + 1);
        /* A domain's event channels are one array. */
        if ( b->size == GUEST_PORTS * sizeof(struct evtchn) )
            c.offset %= sizeof(struct evtchn);
        c.kind = "heap";
    }
    else
    {
        for ( i = 0; i < sim_opt.pcpus; i++ )
        {
            unsigned long a = (unsigned long)lock - __per_cpu_offset[i];

            if ( a >= (unsigned long)__per_cpu_start &&
                 a < (unsigned long)__per_cpu_data_end )
            {
                c.key = a;
                c.kind = "per-CPU";
                break;
            }
        }
    }

    for ( i = 0; i < nr_classes; i++ )
        if ( classes[i].key == c.key && classes[i].offset == c.offset )
            return i;

    if ( nr_classes == MAX_CLASSES )
        sim_fail("too many classes of locks");

    if ( sim_opt.same_chances )
        c.quiet = !strncmp(host_symbol(c.key), "tavs_", 5) ||
                  !strncmp(host_symbol(c.key), "knob_lock", 9) ||
                  !strncmp(host_symbol(c.key), "param_lock", 10);
    classes[nr_classes] = c;

    return nr_classes++;
}

/*
 * Looking a class up is slow, so the lock remembers it where Xen's lock
 * debugging has its state. All of it is by the address of that state.
 */
#define CLASS_KNOWN 0x40000000u
#define CLASS_MASK  (0x80000000u | CLASS_KNOWN)

static unsigned int class_of(const union lock_debug *debug)
{
    if ( (debug->val & CLASS_MASK) != CLASS_KNOWN )
        ((union lock_debug *)debug)->val = find_class(debug) | CLASS_KNOWN;

    return debug->val & ~CLASS_KNOWN;
}

static bool is_quiet(const union lock_debug *debug)
{
    return sim_opt.same_chances && classes[class_of(debug)].quiet;
}

static void class_name(unsigned int class, char *buf, unsigned int size)
{
    const struct class *c = &classes[class];

    if ( c->offset || !strcmp(c->kind, "heap") )
        host_format(buf, size, "lock at +%lu of what %s allocates",
                    c->offset, host_symbol(c->key));
    else
        host_format(buf, size, "%s lock %s", c->kind, host_symbol(c->key));
}

void lock_describe(const spinlock_t *lock, char *buf, unsigned int size)
{
    class_name(class_of(&lock->debug), buf, size);
}

/* ---- order ------------------------------------------------------------- */

/* Is there a way from one class to another? Print it backwards if so. */
static bool path(unsigned int from, unsigned int to, bool *visited, bool print)
{
    unsigned int i;

    if ( from == to )
        return true;

    visited[from] = true;
    for ( i = 0; i < nr_classes; i++ )
        if ( edges[from][i].from && !visited[i] &&
             path(i, to, visited, print) )
        {
            if ( print )
            {
                char a[160], b[160];

                class_name(from, a, sizeof(a));
                class_name(i, b, sizeof(b));
                host_err("  %s, taken at %s,\n    then %s, taken at %s\n",
                         a, host_symbol(edges[from][i].from),
                         b, host_symbol(edges[from][i].to));
            }
            return true;
        }

    return false;
}

static void __attribute__((__noinline__))
check_new_order(const struct held *outer, const void *lock,
                        unsigned int class, unsigned long site)
{
    struct edge *e = &edges[outer->class][class];
    bool visited[MAX_CLASSES] = { false };

    if ( outer->class == class )
    {
        if ( (unsigned long)lock <= (unsigned long)outer->lock )
        {
            char name[160];

            class_name(class, name, sizeof(name));
            sim_fail("two locks of a class nest in descending order: %s, "
                     "at %s inside %s", name, host_symbol(site),
                     host_symbol(outer->site));
        }
        return;
    }

    if ( path(class, outer->class, visited, false) )
    {
        char a[160], b[160];

        /* A unit of a dying domain, on a pCPU that was removed. */
        if ( !strncmp(host_symbol(classes[class].key), "sched_free_cpu_lock+",
                      20) && check_known("credit-dying-unit") )
            return;

        class_name(outer->class, a, sizeof(a));
        class_name(class, b, sizeof(b));
        host_err("lock order: here\n  %s, taken at %s,\n    then %s, taken at "
                 "%s\nbut elsewhere\n",
                 a, host_symbol(outer->site), b, host_symbol(site));
        memset(visited, 0, sizeof(visited));
        path(class, outer->class, visited, true);
        sim_fail("lock order is a cycle");
    }

    e->from = outer->site;
    e->to = site;
}

/* Most edges are known. */
static inline void check_order(const struct held *outer, const void *lock,
                               unsigned int class, unsigned long site)
{
    if ( !edges[outer->class][class].from )
        check_new_order(outer, lock, class, site);
}

static unsigned int irq_rule_off;

static void __attribute__((__noinline__))
check_other_irqs(unsigned int class, unsigned long site, bool try, bool off)
{
    struct class *c = &classes[class];

    if ( irq_rule_off )
        return;

    if ( !c->seen )
    {
        /* A trylock with interrupts off says nothing about the others. */
        if ( try && off )
            return;
        c->seen = true;
        c->irqs_off = off;
        c->site = site;
    }
    else if ( c->irqs_off != off && !(try && off) )
    {
        char name[160];

        class_name(class, name, sizeof(name));
        sim_fail("%s is taken with interrupts %s at %s, but %s at %s", name,
                 off ? "off" : "on", host_symbol(site),
                 c->irqs_off ? "off" : "on", host_symbol(c->site));
    }
}

static inline void check_irqs(unsigned int class, unsigned long site, bool try)
{
    bool off = !sim_cpu()->irqs_on;

    if ( !classes[class].seen || classes[class].irqs_off != off )
        check_other_irqs(class, site, try, off);
}

static bool leaves_only[NR_CPUS];

void lock_leaves_only(bool only)
{
    leaves_only[smp_processor_id()] = only;
}

static void __attribute__((__noinline__))
check_leaf(unsigned int class, unsigned long site)
{
    char name[160];

    if ( !strncmp(host_symbol(classes[class].key), "tavs_", 5) )
        return;

    class_name(class, name, sizeof(name));
    sim_fail("the %s is taken at %s, under a lock of the grant table", name,
             host_symbol(site));
}

static void take(const union lock_debug *lock, unsigned long site, bool try)
{
    unsigned int cpu = smp_processor_id(), i, class = class_of(lock);

    check_irqs(class, site, try);
    if ( leaves_only[cpu] )
        check_leaf(class, site);

    if ( !try )
        for ( i = 0; i < nr_held[cpu]; i++ )
            check_order(&held[cpu][i], lock, class, site);

    if ( nr_held[cpu] == MAX_HELD )
        sim_fail("pCPU %u holds %u locks", cpu, MAX_HELD);

    held[cpu][nr_held[cpu]++] = (struct held){ lock, class, site };
}

static void drop(const union lock_debug *lock, unsigned long site)
{
    unsigned int cpu = smp_processor_id(), i;

    for ( i = nr_held[cpu]; i-- > 0; )
        if ( held[cpu][i].lock == lock )
        {
            nr_held[cpu]--;
            for ( ; i < nr_held[cpu]; i++ )
                held[cpu][i] = held[cpu][i + 1];
            return;
        }

    sim_fail("pCPU %u releases a lock that it does not hold, at %s", cpu,
             host_symbol(site));
}

void lock_check_none_held(const char *where)
{
    unsigned int cpu = smp_processor_id();

    if ( nr_held[cpu] )
    {
        char name[160];

        class_name(held[cpu][0].class, name, sizeof(name));
        sim_fail("%s, pCPU %u holds the %s, taken at %s", where, cpu, name,
                 host_symbol(held[cpu][0].site));
    }
}

/* ---- waiting ----------------------------------------------------------- */

static int owner_of(const void *lock, unsigned long *site)
{
    unsigned int cpu, i;

    for ( cpu = 0; cpu < sim_opt.pcpus; cpu++ )
        for ( i = 0; i < nr_held[cpu]; i++ )
            if ( held[cpu][i].lock == lock )
            {
                *site = held[cpu][i].site;
                return cpu;
            }

    return -1;
}

static void wait_for(const spinlock_t *lock, unsigned long site)
{
    const spinlock_t *wanted = lock;
    unsigned int me = smp_processor_id(), hops;
    unsigned long there;

    for ( hops = 0; hops <= sim_opt.pcpus; hops++ )
    {
        int owner = owner_of(&wanted->debug, &there);

        if ( owner < 0 )
            break;
        if ( owner == (int)me )
        {
            char name[160];

            lock_describe(lock, name, sizeof(name));
            sim_fail("deadlock: pCPU %u waits for the %s at %s", me, name,
                     host_symbol(site));
        }
        if ( pcpus[owner].state != PCPU_LOCKED )
            break;
        wanted = pcpus[owner].wants;
    }

    sim_wait_lock(lock);
}

/* ---- Xen's interface --------------------------------------------------- */

#define SITE ((unsigned long)__builtin_return_address(0))

static bool is_taken(const spinlock_t *lock)
{
    return lock->tickets.head_tail;
}

static void do_lock(spinlock_t *lock, unsigned long site)
{
    mem_check_pointer(lock, "a lock");
    preempt_disable();
    if ( !is_quiet(&lock->debug) )
        sim_point();
    while ( is_taken(lock) )
        wait_for(lock, site);
    lock->tickets.head_tail = 1;
    take(&lock->debug, site, false);
}

static void do_unlock(spinlock_t *lock, unsigned long site)
{
    drop(&lock->debug, site);
    lock->tickets.head_tail = 0;
    sim_lock_freed(lock);
    preempt_enable();
}

void _spin_lock(spinlock_t *lock)
{
    do_lock(lock, SITE);
}

void _spin_lock_irq(spinlock_t *lock)
{
    ASSERT(local_irq_is_enabled());
    local_irq_disable();
    do_lock(lock, SITE);
}

unsigned long _spin_lock_irqsave(spinlock_t *lock)
{
    unsigned long flags;

    local_irq_save(flags);
    do_lock(lock, SITE);

    return flags;
}

void _spin_unlock(spinlock_t *lock)
{
    do_unlock(lock, SITE);
    if ( !is_quiet(&lock->debug) )
        sim_point();
}

void _spin_unlock_irq(spinlock_t *lock)
{
    do_unlock(lock, SITE);
    local_irq_enable();
}

void _spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags)
{
    do_unlock(lock, SITE);
    if ( !is_quiet(&lock->debug) )
        local_irq_restore(flags);
    else if ( flags & X86_EFLAGS_IF )
        sim_cpu()->irqs_on = true;
}

bool _spin_is_locked(const spinlock_t *lock)
{
    return is_taken(lock);
}

bool _spin_trylock(spinlock_t *lock)
{
    mem_check_pointer(lock, "a lock");
    sim_point();
    if ( is_taken(lock) ||
         (sim_opt.trylock_fail && !sim_opt.no_trylock_fail &&
          !sim_below(sim_opt.trylock_fail)) )
        return false;

    preempt_disable();
    lock->tickets.head_tail = 1;
    take(&lock->debug, SITE, true);

    return true;
}

void _spin_barrier(spinlock_t *lock)
{
    while ( is_taken(lock) )
        cpu_relax();
}

/*
 * Read-write locks are Xen's own code; they tell us about themselves: first
 * whether it is a trylock (their slow path is a spinlock), then that they are
 * taken.
 */
static bool rw_try[NR_CPUS];

void check_lock(union lock_debug *debug, bool try)
{
    rw_try[smp_processor_id()] = try;
    check_irqs(class_of(debug), SITE, try);
}

void lock_enter(const union lock_debug *debug)
{
    unsigned int cpu = smp_processor_id(), i;
    bool try = rw_try[cpu];

    rw_try[cpu] = false;

    /* A reader may enter again. */
    for ( i = 0; i < nr_held[cpu]; i++ )
        if ( held[cpu][i].lock == debug )
        {
            held[cpu][nr_held[cpu]++] = held[cpu][i];
            return;
        }

    take(debug, SITE, try);
}

void lock_exit(const union lock_debug *debug)
{
    drop(debug, SITE);
}

/* stop_machine() takes ordinary locks with interrupts off, and says so. */

void spin_debug_enable(void)
{
    irq_rule_off--;
}

void spin_debug_disable(void)
{
    irq_rule_off++;
}
