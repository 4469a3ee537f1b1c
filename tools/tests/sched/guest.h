/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest model: see guest.c.
 */
#ifndef SIM_GUEST_H
#define SIM_GUEST_H

#include <xen/sched.h>

/* What a task does, in order, for ever. */
enum op_kind {
    OP_RUN,         /* Use between a and b ns of CPU. */
    OP_SLEEP,       /* Sleep between a and b ns. */
    OP_EVERY,       /* Sleep until the last such time plus between a and b. */
    OP_RUN_TO,      /* Run until time modulo a is b. */
    OP_SLEEP_TO,    /* Sleep until time modulo a is b. */
    OP_WAIT,        /* For a message from link a. */
    OP_SEND,        /* Send one to link a. */
    OP_REQUEST,     /* As OP_SEND, and note the time: a request. */
    OP_CLOCK,       /* Note the time: of a request that another task sends. */
    OP_DUE,         /* Note when the last OP_EVERY was due. */
    OP_STOP,        /* What was noted first has happened: a sample. */
    OP_REPLY,       /* As OP_WAIT; the request is answered: a sample. */
    OP_NOTIFY,      /* An event by link a, and no message. */
    OP_MAP,         /* A back end maps a page of link a's front end, */
    OP_MAP_RO,      /* or does so to read from it, */
    OP_UNMAP,       /* and unmaps it. */
    OP_COPY_TO,     /* It copies to a page of it, */
    OP_COPY_FROM,   /* or from one. */
    OP_PACKET,      /* It tells Xen of a packet: protocol << 16 | port is b. */
    OP_YIELD,
    OP_SWITCH,      /* Another task's turn. */
    OP_ASID,        /* Switch to address space a and on: churn over b. */
    OP_EXEC,        /* The same, and that of the task is no more. */
    OP_FORK,        /* Send to link a: who waits for it has a new address
                       space, that this task has made, from b on. */
    OP_EXIT,        /* Stop here. */
};

struct op {
    enum op_kind kind;
    uint64_t a, b;
};

#define MAX_OPS 48

enum task_state { TASK_READY, TASK_SLEEPS, TASK_WAITS, TASK_GONE };

/* Linux' weights: that of nice 0. That of nice -20 is 88761. */
#define NICE_0_WEIGHT 1024

struct task {
    struct task *next;
    char name[24];
    struct gvcpu *gv;
    unsigned long asid;         /* 0: a kernel thread. */
    unsigned int nr_ops, pc;
    struct op ops[MAX_OPS];
    enum task_state state;
    bool started;               /* ops[pc] is under way. */
    int64_t left;               /* OP_RUN: CPU time still to use. */
    s_time_t wakes;
    s_time_t every;             /* OP_EVERY: when it was last. */
    uint64_t ran;               /* All CPU time used. */
    uint64_t rounds;
    unsigned int weight;        /* NICE_0_WEIGHT, or by scenario. */
    s_time_t vruntime;          /* The ready task with the least runs next. */
};

/* Messages from one guest to another, with an event channel below them. */
struct link {
    unsigned int id;
    char name[24];
    struct gvcpu *end[2];
    unsigned int port[2];
    unsigned int waiting[2];    /* Messages for end 0 and 1. */
    /*
     * Messages go through a ring that saves notifications, this one's or that
     * of another link with the same ends; NULL: each message is an event.
     */
    struct link *ring;
    unsigned int front;         /* The end that is the front end. */
    bool told[2];               /* It was notified and has not looked since. */
    /* What one end, the driver domain, has mapped of the other. */
    spinlock_t grant_lock;
    bool mapped, readonly, wanted;
    /* Times of requests under way, oldest first; latencies of the others. */
    s_time_t *asked;
    unsigned int asked_at, nr_asked;
    uint64_t *samples;          /* Latencies in ns. */
    unsigned int nr_samples, room;
};

/* What Linux does and what it costs. */
struct guest_costs {
    unsigned int irq_ns;        /* An upcall, up to the task being woken. */
    unsigned int switch_ns;     /* A switch of tasks. */
    unsigned int send_ns;
    unsigned int block_ns;      /* From the last task to the block hypercall. */
    unsigned int tick_ns;       /* Periodic tick while not idle; 0: none. */
    bool tick_drifts;           /* A late one delays those behind it. */
    unsigned int timer_ns;      /* What an upcall for a timer costs besides. */
    bool wake_preempts;         /* CFS; false: not before a slice is over. */
    bool slice_by_tick;         /* Its end is seen by the tick only. */
};

#define GUEST_PORTS 64

struct gvcpu {
    struct vcpu *v;
    vcpu_info_t info;
    struct guest_costs costs;
    struct task *tasks, **tasks_tail;
    struct task *cur;
    unsigned long asid;         /* The loaded address space. */
    int64_t kernel_ns;          /* Kernel work to do before anything else. */
    bool resched, blocking;
    s_time_t timer, next_tick;
    s_time_t min_vruntime;      /* Of all who are ready; never goes back. */
    s_time_t charged;           /* cur's vruntime is as of then. */
    s_time_t chosen;            /* When cur was. */
    bool ticked;                /* Slices have not been looked at since. */
    bool skip;                  /* Whoever is next, not cur. */
    s_time_t yielded;           /* When it last did so. */
    unsigned long ports;        /* Pending event channels. */
    struct link *rings[GUEST_PORTS]; /* Whose a port is. */
    unsigned int timer_port;
    struct xen_tavs_ring *ring; /* Of a driver domain, in its vCPU 0. */
    uint64_t switches, upcalls, cr3_switches;
    uint64_t churn;
    struct {
        uint64_t running, queued;   /* Seen by the check with this number. */
    } check;
    struct {
        const void *svc, *pool;     /* Credit's account: see peek-credit.c. */
        uint64_t ran, burned;
    } account;
    struct {
        const void *pool;           /* Its unserved I/O: see check_unserved(). */
        uint64_t refused;
        unsigned int params;
        bool excused;
        s_time_t overtaken;         /* Boosted, and another runs, since then. */
    } unserved;
    struct {
        const void *account;        /* Tavs' budget: see check_budget(). */
        uint64_t ran, boosted;      /* In ns. */
        uint64_t earned;            /* The same times permille. */
    } budget;
};

static inline struct gvcpu *guest_of(const struct vcpu *v)
{
    return container_of((vcpu_info_t *)v->vcpu_info_area.map, struct gvcpu,
                        info);
}

extern unsigned int guest_vcpus;    /* How many there are. */

void guest_init(void);
void guest_domain_init(struct domain *d);
void guest_domain_unlink(struct domain *d);
void guest_domain_destroy(struct domain *d);
void guest_vcpu_init(struct vcpu *v);
void guest_vcpu_destroy(struct vcpu *v);
void guest_kicked(void);
void guest_default_costs(struct guest_costs *costs);

struct task *guest_task(struct gvcpu *gv, const char *name,
                        unsigned long asid);
struct link *guest_link(const char *name, struct gvcpu *a, struct gvcpu *b);
/* Its messages go through a ring, if it has none of its own that of another. */
void guest_ring(struct link *l, unsigned int front, struct link *ring);
/* An interrupt: a message to an end of a link comes from nowhere. */
void guest_message(struct link *l, unsigned int to);

#endif /* SIM_GUEST_H */
