/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the linked objects of Xen call and the simulator has to answer: the
 * rest of the hypervisor, as far as scheduling sees it. Each answer is as
 * short as it can be; what it leaves out is listed in README.md.
 */

#include <xen/cpu.h>
#include <xen/domain.h>
#include <xen/err.h>
#include <xen/keyhandler.h>
#include <xen/numa.h>
#include <xen/param.h>
#include <xen/rcupdate.h>
#include <xen/sections.h>
#include <xen/tasklet.h>
#include <xen/warning.h>

#include "sim.h"
#include "guest.h"

/* ---- the machine ------------------------------------------------------- */

extern char __per_cpu_start[], __per_cpu_data_end[];
unsigned long __per_cpu_offset[NR_CPUS];

cpumask_t cpu_online_map, cpu_present_map;
nodemask_t node_online_map;
nodeid_t cpu_to_node[NR_CPUS];
cpumask_t node_to_cpumask[MAX_NUMNODES];
DEFINE_PER_CPU_READ_MOSTLY(cpumask_var_t, cpu_sibling_mask);
DEFINE_PER_CPU_READ_MOSTLY(cpumask_var_t, cpu_core_mask);
struct cpuinfo_x86 cpu_data[NR_CPUS];
enum system_state system_state = SYS_STATE_early_boot;
bool park_offline_cpus;

bool opt_dom0_vcpus_pin, dom0_affinity_relaxed = true;
cpumask_t dom0_cpus;

static void topology(void)
{
    unsigned int n = sim_opt.pcpus, tpc = sim_opt.threads_per_core,
                 cps = sim_opt.cores_per_socket, i, j;

    nr_cpu_ids = n;
    nodes_clear(node_online_map);

    for ( i = 0; i < n; i++ )
    {
        unsigned int node = i * sim_opt.nodes / n;

        cpu_data[i].x86_num_siblings = tpc;
        cpu_data[i].cpu_core_id = i / tpc;
        cpu_data[i].phys_proc_id = i / tpc / cps;
        cpu_to_node[i] = node;
        cpumask_set_cpu(i, &node_to_cpumask[node]);
        node_set(node, node_online_map);
        cpumask_set_cpu(i, &cpu_present_map);
        cpumask_set_cpu(i, &dom0_cpus);
        BUG_ON(!zalloc_cpumask_var(&per_cpu(cpu_sibling_mask, i)) ||
               !zalloc_cpumask_var(&per_cpu(cpu_core_mask, i)));

        for ( j = 0; j < n; j++ )
        {
            if ( j / tpc == i / tpc )
                cpumask_set_cpu(j, per_cpu(cpu_sibling_mask, i));
            if ( j / tpc / cps == i / tpc / cps )
                cpumask_set_cpu(j, per_cpu(cpu_core_mask, i));
        }
    }
}

void glue_init(void)
{
    unsigned long size = PAGE_ALIGN(__per_cpu_data_end - __per_cpu_start);
    char *areas = host_arena(0x400000000000UL, size * sim_opt.pcpus);
    unsigned int i;

    for ( i = 0; i < sim_opt.pcpus; i++ )
        __per_cpu_offset[i] = (unsigned long)(areas + i * size) -
                              (unsigned long)__per_cpu_start;
}

/* The part of __start_xen() that matters here, on pCPU 0. */
extern const initcall_t __initcall_start[], __presmp_initcall_end[],
    __initcall_end[];

void glue_boot(void)
{
    const initcall_t *call;
    unsigned int cpu;

    topology();
    cpumask_set_cpu(0, &cpu_online_map);
    local_irq_enable();

    tasklet_subsys_init();
    timer_init();
    rcu_init();
    open_softirq(VCPU_KICK_SOFTIRQ, guest_kicked);
    scheduler_init();
    set_current(idle_vcpu[0]);
    guest_init();

    for ( call = __initcall_start; call < __presmp_initcall_end; call++ )
        (*call)();

    system_state = SYS_STATE_smp_boot;
    for ( cpu = 1; cpu < sim_opt.pcpus; cpu++ )
        BUG_ON(cpu_up(cpu));

    for ( ; call < __initcall_end; call++ )
        (*call)();

    system_state = SYS_STATE_active;
}

int __cpu_up(unsigned int cpu)
{
    sim_cpu_start(cpu);
    while ( !cpu_online(cpu) )
        cpu_relax();

    return 0;
}

void __cpu_disable(void)
{
    cpumask_clear_cpu(smp_processor_id(), &cpu_online_map);
}

void __cpu_die(unsigned int cpu)
{
    while ( pcpus[cpu].state != PCPU_OFF )
        cpu_relax();
}

void on_selected_cpus(const cpumask_t *selected, void (*func)(void *info),
                      void *info, int wait)
{
    sim_fail("on_selected_cpus() is not modelled");
}

void smp_send_event_check_mask(const cpumask_t *mask)
{
    unsigned int cpu;

    for_each_cpu ( cpu, mask )
        pcpus[cpu].ipi = true;
}

/* ---- time -------------------------------------------------------------- */

s_time_t get_s_time(void)
{
    return sim_now;
}

int reprogram_timer(s_time_t timeout)
{
    struct pcpu *c = sim_cpu();

    c->timer_at = 0;
    if ( !timeout )
        return 1;
    if ( timeout <= sim_now )
        return 0;
    /* Never at the exact time: timer.c does not see it as due then. */
    c->timer_at = timeout + 1 + sim_below(sim_opt.jitter_ns + 1);

    return 1;
}

unsigned int get_random(void)
{
    return sim_random();
}

/*
 * One callback more is some chances to overtake more, so with
 * sim_opt.same_chances what task awareness would free stays.
 */
typedef void rcu_callback(struct rcu_head *head);
void __real_call_rcu(struct rcu_head *head, rcu_callback *callback);
void __wrap_call_rcu(struct rcu_head *head, rcu_callback *callback);

void __wrap_call_rcu(struct rcu_head *head, rcu_callback *callback)
{
    unsigned long caller = (unsigned long)__builtin_return_address(0);

    if ( !sim_opt.same_chances || strncmp(host_symbol(caller), "tavs_", 5) )
        __real_call_rcu(head, callback);
}

/* ---- context switches -------------------------------------------------- */

/*
 * Not reset_stack_and_jump() into the guest, as on x86, but a return, as on
 * Arm: core.c supports both.
 */
void context_switch(struct vcpu *prev, struct vcpu *next)
{
    ASSERT(prev != next);
    ASSERT(local_irq_is_enabled());

    set_current(next);
    sched_context_switched(prev, next);
}

void continue_running(struct vcpu *same)
{
}

void sync_local_execstate(void)
{
}

void sync_vcpu_execstate(struct vcpu *v)
{
}

/* ---- hypercalls on another pCPU ---------------------------------------- */

struct elsewhere {
    struct tasklet tasklet;
    long (*func)(void *data);
    void *data;
};

long glue_elsewhere_result;

static void cf_check run_elsewhere(void *arg)
{
    struct elsewhere *e = arg;

    glue_elsewhere_result = e->func(e->data);
    e->func = NULL;
}

/*
 * The simulator's management operations run on idle vCPUs, so there is no
 * caller to be paused until the result is there.
 */
int continue_hypercall_on_cpu(unsigned int cpu, long (*func)(void *data),
                              void *data)
{
    static struct elsewhere slots[8];
    unsigned int i;

    if ( cpu >= nr_cpu_ids || !cpu_online(cpu) )
        return -EINVAL;

    for ( i = 0; i < ARRAY_SIZE(slots); i++ )
        if ( !slots[i].func )
        {
            glue_elsewhere_result = 1;
            slots[i].func = func;
            slots[i].data = data;
            tasklet_init(&slots[i].tasklet, run_elsewhere, &slots[i]);
            tasklet_schedule_on_cpu(&slots[i].tasklet, cpu);
            return 0;
        }

    return -EBUSY;
}

/* ---- atomicity --------------------------------------------------------- */

DEFINE_PER_CPU(unsigned int, __preempt_count);

bool in_atomic(void)
{
    return preempt_count() || in_irq() || !local_irq_is_enabled();
}

void ASSERT_NOT_IN_ATOMIC(void)
{
    ASSERT(!preempt_count());
    ASSERT(!in_irq());
    ASSERT(local_irq_is_enabled());
}

/* ---- console, parameters ----------------------------------------------- */

void printk(const char *fmt, ...)
{
    va_list ap;
    char line[512];

    if ( !sim_opt.verbose )
        return;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    host_out("(XEN) %s", line);
}

void panic(const char *fmt, ...)
{
    va_list ap;
    char line[512];

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    sim_fail("panic: %s", line);
}

void __init warning_add(const char *warning)
{
    printk("%s", warning);
}

void register_keyhandler(unsigned char key, keyhandler_fn_t *fn,
                         const char *desc, bool diagnostic)
{
}

/* NAME, no-NAME, NAME=<bool>; -1: another name, -2: no <bool>. */
int parse_boolean(const char *name, const char *s, const char *e)
{
    static const char *const words[2][5] = {
        { "0", "no", "off", "false", "disable" },
        { "1", "yes", "on", "true", "enable" },
    };
    bool no = !strncmp(s, "no-", 3);
    size_t len = strlen(name), left;
    unsigned int on, i;

    if ( no )
        s += 3;
    left = (e ?: s + strlen(s)) - s;

    if ( left < len || strncmp(s, name, len) )
        return -1;
    s += len;
    left -= len;
    if ( !left )
        return !no;
    if ( no || *s != '=' )
        return -1;
    for ( on = 0; on < 2; on++ )
        for ( i = 0; i < ARRAY_SIZE(words[on]); i++ )
            if ( left - 1 == strlen(words[on][i]) &&
                 !strncmp(s + 1, words[on][i], left - 1) )
                return on;

    return -2;
}

static bool parse_one(const char *key, const char *value)
{
    const struct kernel_param *p;
    bool on = true, found = false;

    if ( !strncmp(key, "no-", 3) )
    {
        key += 3;
        on = false;
    }

    for ( p = __setup_start; p < __setup_end; p++ )
    {
        uint64_t n;

        if ( strcmp(p->name, key) )
            continue;

        found = true;
        switch ( p->type )
        {
        case OPT_STR:
            strlcpy(p->par.var, value, p->len);
            break;
        case OPT_BOOL:
            if ( !strcmp(value, "0") || !strcmp(value, "false") ||
                 !strcmp(value, "no") || !strcmp(value, "off") )
                on = !on;
            *(bool *)p->par.var = on;
            break;
        case OPT_UINT:
            n = simple_strtoul(value, NULL, 0);
            memcpy(p->par.var, &n, p->len);
            break;
        case OPT_CUSTOM:
            if ( p->par.func(value) )
                return false;
            break;
        default:
            return false;
        }
    }

    return found;
}

/* Returns 0, or the position of the option that Xen does not know. */
int glue_parse_boot(const char *cmdline)
{
    const char *p = cmdline;

    while ( *p )
    {
        char opt[128];
        const char *start = p;
        char *value;
        unsigned int n = 0;

        while ( *p && *p != ' ' && n < sizeof(opt) - 1 )
            opt[n++] = *p++;
        opt[n] = '\0';
        while ( *p == ' ' )
            p++;

        for ( value = opt; *value && *value != '='; value++ )
            ;
        if ( *value )
            *value++ = '\0';

        if ( n && !parse_one(opt, value) )
            return start - cmdline + 1;
    }

    return 0;
}

/* ---- BUG(), ASSERT(), WARN() ------------------------------------------- */

extern const struct bug_frame __start_bug_frames_0[], __start_bug_frames_1[],
    __start_bug_frames_2[], __start_bug_frames_3[], __stop_bug_frames[];

/* What is known went wrong: what follows would be on memory that is freed. */
static void __attribute__((__noreturn__)) known_end(void)
{
    check_report_known();
    host_out("clean until then\n");
    record_close();
    host_exit(0);
}

static unsigned long on_trap(int sig, unsigned long pc, unsigned long fp,
                             unsigned long addr)
{
    static const struct bug_frame *const starts[] = {
        __start_bug_frames_0, __start_bug_frames_1, __start_bug_frames_2,
        __start_bug_frames_3, __stop_bug_frames,
    };
    unsigned int type;

    sim_fail_frame = fp;
    if ( sig == 14 /* SIGALRM */ )
        sim_fail("no end in sight, at %s", host_symbol(pc));

    for ( type = 0; type < BUGFRAME_NR; type++ )
    {
        const void *p = starts[type];
        size_t size = sizeof(struct bug_frame) +
                      (type == BUGFRAME_assert ? 2 * sizeof(int) : 0);

        for ( ; p < (const void *)starts[type + 1]; p += size )
        {
            const struct bug_frame *b = p;

            if ( bug_loc(b) != pc )
                continue;

            switch ( type )
            {
            case BUGFRAME_run_fn:
                return pc + 2;
            case BUGFRAME_warn:
                sim_fail("WARN at %s:%d in %s", (const char *)bug_ptr(b),
                         bug_line(b), host_symbol(pc));
            case BUGFRAME_bug:
                sim_fail("BUG at %s:%d in %s", (const char *)bug_ptr(b),
                         bug_line(b), host_symbol(pc));
            case BUGFRAME_assert:
                if ( (!strcmp(bug_msg(b), "!(svc->flags & CSFLAG_scheduled)") ||
                      !strncmp(host_symbol(pc), "csched2_context_saved+", 22)) &&
                     check_known("credit2-move-unsaved") )
                    known_end();
                sim_fail("Assertion '%s' failed at %s:%d in %s", bug_msg(b),
                         (const char *)bug_ptr(b), bug_line(b),
                         host_symbol(pc));
            }
        }
    }

    if ( !strncmp(host_symbol(pc), "unit_context_saved+", 19) &&
         check_known("credit2-move-unsaved") )
        known_end();
    if ( !strncmp(host_symbol(pc), "csched_tick+", 12) &&
         check_known("credit-tick-removed") )
        known_end();

    sim_fail("signal %d at %s, address %#lx", sig, host_symbol(pc), addr);
}

void glue_trap_init(void)
{
    host_trap(on_trap);
}

/* ---- not modelled: see README.md --------------------------------------- */

void evtchn_move_pirqs(struct vcpu *v)
{
}

void send_global_virq(uint32_t virq)
{
}

unsigned int copy_to_guest_pv(void __user *to, const void *from,
                              unsigned int len)
{
    memcpy((void __force *)to, from, len);

    return 0;
}

unsigned int copy_from_guest_pv(void *to, const void __user *from,
                                unsigned int len)
{
    memcpy(to, (const void __force *)from, len);

    return 0;
}

unsigned int copy_to_guest_ll(void __user *to, const void *from,
                              unsigned int len)
{
    return copy_to_guest_pv(to, from, len);
}

unsigned int copy_from_guest_ll(void *to, const void __user *from,
                                unsigned int len)
{
    return copy_from_guest_pv(to, from, len);
}

/* A guest physical address is an address here. */
int map_guest_area(struct vcpu *v, paddr_t gaddr, unsigned int size,
                   struct guest_area *area,
                   void (*populate)(void *dst, struct vcpu *v))
{
    area->map = ~gaddr ? (void *)gaddr : NULL;

    return 0;
}

void unmap_guest_area(struct vcpu *v, struct guest_area *area)
{
    area->map = NULL;
}

const char *symbols_lookup(unsigned long addr, unsigned long *size,
                           unsigned long *offset, char *namebuf)
{
    return NULL;
}
