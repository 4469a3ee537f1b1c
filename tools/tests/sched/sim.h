/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator's own interfaces, for files that see Xen's headers.
 *
 * Time is virtual: it stands still while hypervisor code runs, and jumps to
 * the next thing that is due when every pCPU is in a guest or idle. One host
 * thread runs everything, so a seed determines a run to the last byte.
 *
 *   engine.c    virtual time, pCPUs as coroutines, interrupts
 *   lock.c      spinlocks: owner, interrupt state, order
 *   mem.c       memory at reproducible addresses, poisoned when freed
 *   xenglue.c   what Xen's objects call that is not linked: see README.md
 *   domain.c    domains and vCPUs without their memory
 *   guest.c     a model of a guest kernel and its tasks
 *   scenario.c  a machine, its guests and their tasks, read from a file
 */
#ifndef SIM_H
#define SIM_H

#include <xen/sched.h>
#include <xen/event.h>
#include <xen/lib.h>
#include <xen/time.h>
#include <xen/softirq.h>

#include <public/domctl.h>

#include "host.h"

/* The scheduler that this one is, or is built on: XEN_SCHEDULER_*. */
static inline unsigned int sim_base(unsigned int sched_id)
{
    switch ( sched_id )
    {
#ifdef XEN_SCHEDULER_TAVS
    case XEN_SCHEDULER_TAVS:
        return XEN_SCHEDULER_CREDIT;
    case XEN_SCHEDULER_TAVS2:
        return XEN_SCHEDULER_CREDIT2;
#endif
    default:
        return sched_id;
    }
}

/* ---- engine.c ---------------------------------------------------------- */

enum pcpu_state {
    PCPU_OFF,       /* Not started yet, or offlined. */
    PCPU_PARKED,    /* In a guest, or idle. */
    PCPU_READY,     /* In the middle of hypervisor code. */
    PCPU_LOCKED,    /* Spinning for a lock that somebody else holds. */
};

struct sim_work {
    struct sim_work *next;
    void (*fn)(void *arg);
    void *arg;
};

struct pcpu {
    unsigned int id;
    enum pcpu_state state;
    void *sp;                   /* Where the coroutine stopped. */
    char *stack;                /* Aligned: struct cpu_info lives at its top. */
    bool irqs_on;
    bool ipi;
    s_time_t timer_at;          /* Local timer deadline, 0: none. */
    s_time_t resume_at;         /* PCPU_READY: not before this time. */
    s_time_t spin_since;        /* Spinning without a break since, 0: not. */
    const spinlock_t *wants;    /* PCPU_LOCKED: the lock. */
    struct sim_work *irqs, **irqs_tail; /* Device interrupts to take. */
    s_time_t guest_from;        /* The guest runs since. */
    s_time_t guest_at;          /* The guest's next action. */
    unsigned int locks_held;
    uint64_t entries;           /* Times that this pCPU entered Xen. */
};

extern struct pcpu pcpus[NR_CPUS];
extern s_time_t sim_now;
/* Of a scheduler: who runs next, for how long. */
extern uint64_t sim_decisions;

struct sim_options {
    unsigned int pcpus;
    unsigned int threads_per_core, cores_per_socket, nodes;
    uint64_t seed;
    unsigned int jitter_ns;     /* A timer interrupt is late by up to this. */
    unsigned int preempt;       /* 1 in N lock operations lets others run. */
    bool stalls;                /* ... for up to 5 us: as an SMI takes. */
    unsigned int trylock_fail;  /* 1 in N trylocks fails for no reason. */
    unsigned int check_every;   /* Check invariants every Nth step, 0: no. */
    bool check_memory;          /* Locks and timers are in live memory. */
    bool verbose;               /* Show Xen's console. */
    bool no_driver;             /* dom0 is a domain like any other. */
    bool same_chances;          /* With and without task awareness: lock.c. */
    bool no_trylock_fail;       /* For now. */
};

extern struct sim_options sim_opt;

/* The pCPU that is executing hypervisor code; NULL in the engine itself. */
extern struct pcpu *sim_running;
static inline struct pcpu *sim_cpu(void)
{
    return sim_running;
}

/* Start the machine: run boot() on pCPU 0. */
void sim_start(void (*boot)(void));
void sim_cpu_start(unsigned int cpu);

/* Let everything happen up to a point in virtual time. */
void sim_run(s_time_t until);

/* Call fn(arg) at a time: as an interrupt of a pCPU. */
void sim_at(s_time_t when, unsigned int cpu, void (*fn)(void *), void *arg);

/* Here another pCPU may overtake, or an interrupt arrive. */
void sim_point(void);
void sim_wait_lock(const spinlock_t *lock);
void sim_lock_freed(const spinlock_t *lock);

/* Seeded random numbers: below(n) is in [0, n), between() has both ends. */
void sim_seed(void);
uint64_t sim_random(void);
unsigned int sim_below(unsigned int n);
uint64_t sim_between(uint64_t lo, uint64_t hi);

/* A run that found something wrong ends here. Exit status 3. The second is the
 * frame where it did, if that is not the caller's. */
void sim_fail(const char *fmt, ...)
    __attribute__((__noreturn__, __format__(printf, 1, 2)));
extern unsigned long sim_fail_frame;

/* ---- lock.c ------------------------------------------------------------ */

void lock_describe(const spinlock_t *lock, char *buf, unsigned int size);
void lock_check_none_held(const char *where);
/* From here on this pCPU may take locks of task awareness only. */
void lock_leaves_only(bool only);

/* ---- mem.c ------------------------------------------------------------- */

void mem_init(void);
void mem_check_pointer(const void *p, const char *what);
bool mem_is_free(const void *p);

/* ---- xenglue.c --------------------------------------------------------- */

void glue_init(void);
void glue_boot(void);
int glue_parse_boot(const char *cmdline);
void glue_trap_init(void);
/* Of the last continue_hypercall_on_cpu(): 1 while it has not run. */
extern long glue_elsewhere_result;

/* ---- domain.c ---------------------------------------------------------- */

struct domain *dom_create(domid_t domid, unsigned int nr_vcpus,
                          unsigned int poolid);
void dom_start_vcpu(struct vcpu *v);
void dom_destroy(struct domain *d);
extern unsigned int dom_count;

/* ---- guest.c ----------------------------------------------------------- */

s_time_t guest_enter(struct vcpu *v);           /* -> time until it acts */
void guest_leave(struct vcpu *v, s_time_t ran);
void guest_act(struct vcpu *v);

/* ---- check.c ----------------------------------------------------------- */

void check_before(const struct pcpu *c);
void check_step(const struct pcpu *c);
extern uint64_t check_boosted_ns;   /* Time that units ran boosted by tavs. */
void check_all(void);

extern struct check_limits {
    s_time_t idle_grace;    /* A pCPU may idle while others have work. */
    s_time_t balance_grace; /* The same, between credit2's run queues. */
    s_time_t wait_slack;    /* Added to every bound on waiting. */
} check_limits;

/*
 * A bug of Xen's that is known, by its name in docs/findings.md: count it, and
 * go on. With --strict=NAME it is a failure: returns false.
 */
bool check_known(const char *name);
void check_strict(const char *name);
void check_report_known(void);

/* ---- record.c ---------------------------------------------------------- */

uint64_t record_hash(void);      /* Of everything that was recorded so far. */
void record_open(const char *path);
void record_close(void);

#endif /* SIM_H */
