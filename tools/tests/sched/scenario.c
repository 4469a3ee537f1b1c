/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scenarios: a machine, its guests and their tasks, one item a line.
 *
 *   machine pcpus=1 threads=1 cores=8 nodes=1 jitter=1us
 *   boot sched=credit sched_ratelimit_us=0
 *   duration 60s
 *   warmup 3s
 *   domain d1 vcpus=1 weight=256 cap=0 pin=0 wake=cfs tick=4ms timer=30us
 *   link c1 dom0.0 d1.0
 *   ring r d1.0 dom0.0
 *   task d1.0 echo asid=1 start=0s : wait c1; run 20us; send c1
 *
 * Each message of a link is an event. A ring, from a front end to a back end,
 * saves notifications; `ring s d1 dom0 r` shares r's ring and event channel:
 * other requests to the same device. A link from a vCPU to itself is between
 * its tasks, without events.
 *
 * The domain named dom0 is domain 0; the others are numbered from 1. A task's
 * program is repeated for ever; its operations, with times as 5us, 1.5ms, 2s
 * and ranges as 100ms..500ms:
 *
 *   run T        use CPU time               sleep T      sleep
 *   every T      sleep until T after the last time this operation ended
 *   runto P X    run until time mod P = X   sleepto P X  sleep until then
 *   wait L       wait for a message         send L       send one
 *   request L    send, and start a clock    reply L      wait, and stop it
 *   map L        map a page of the front   mapro L      the same, to read from
 *                end's, to write to it     unmap L      unmap it
 *   copyto L     copy to a page of it      copyfrom L   copy from one
 *   packet L udp 7                         tell Xen of a packet for it (or tcp)
 *   notify L     an event, no message       clock L      start a clock only
 *   due L        a clock, as of when       stop L       stop it
 *                the last `every` was due
 *   fork L A     send, within a vCPU: who waits for it begins anew in an address
 *                space that this task makes, of those from A on
 *   yield        the hypercall              churn A N    load one of N address
 *   exit                                                 spaces from A on
 *   switch       let another task run       exec A N     the same, for good
 *
 * sim.py writes this format from the laboratory's TOML.
 */

#include <xen/domain.h>
#include <xen/err.h>
#include <public/domctl.h>

#include "sim.h"
#include "scenario.h"

#include "private.h"

char scenario_boot[256];
s_time_t scenario_duration = SECONDS(30), scenario_warmup;
struct scenario_domain *scenario_domains;
struct link *scenario_links[256];
unsigned int scenario_nr_links;

static struct scenario_domain **domains_tail = &scenario_domains;
static struct scenario_text *later, **later_tail = &later;
static const char *file_name;
static unsigned int line_nr;
static domid_t next_domid = 1;

/* ---- words ------------------------------------------------------------- */

static void __attribute__((__noreturn__, __format__(printf, 1, 2)))
bad(const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    host_err("error: %s:%u: %s\n", file_name, line_nr, text);
    host_exit(2);
}

static char *word(char **p)
{
    char *w;

    while ( **p == ' ' || **p == '\t' )
        (*p)++;
    w = *p;
    while ( **p && **p != ' ' && **p != '\t' )
        (*p)++;
    if ( **p )
        *(*p)++ = '\0';

    return *w ? w : NULL;
}

static char *need(char **p, const char *what)
{
    char *w = word(p);

    if ( !w )
        bad("%s is missing", what);

    return w;
}

/* key=value -> value */
static char *split(char *w)
{
    char *v = strchr(w, '=');

    if ( !v )
        bad("'%s' is not key=value", w);
    *v++ = '\0';

    return v;
}

static uint64_t number(const char *s, const char **end)
{
    uint64_t n = 0;

    if ( *s < '0' || *s > '9' )
        bad("'%s' is not a number", s);
    while ( *s >= '0' && *s <= '9' )
        n = n * 10 + *s++ - '0';
    *end = s;

    return n;
}

static unsigned int integer(const char *s)
{
    const char *end;
    uint64_t n = number(s, &end);

    if ( *end )
        bad("'%s' is not a number", s);

    return n;
}

static uint64_t time_of(const char *s, const char **end)
{
    const char *start = s;
    uint64_t n = number(s, &s), scale = 0, frac = 0, div = 1;

    if ( *s == '.' && s[1] != '.' )
        for ( s++; *s >= '0' && *s <= '9'; s++ )
        {
            frac = frac * 10 + *s - '0';
            div *= 10;
        }

    if ( !strncmp(s, "ns", 2) )
        scale = 1;
    else if ( !strncmp(s, "us", 2) )
        scale = 1000;
    else if ( !strncmp(s, "ms", 2) )
        scale = 1000000;
    s += 2;
    if ( !scale && s[-2] == 's' )
    {
        scale = 1000000000;
        s--;
    }
    if ( !scale )
        bad("'%s' is not a time (try 100us)", start);
    *end = s;

    return n * scale + frac * scale / div;
}

static uint64_t one_time(const char *s)
{
    const char *end;
    uint64_t t = time_of(s, &end);

    if ( *end )
        bad("'%s' is not a time", s);

    return t;
}

static void range(char *s, struct op *op)
{
    const char *end;

    op->a = op->b = time_of(s, &end);
    if ( end[0] == '.' && end[1] == '.' )
        op->b = time_of(end + 2, &end);
    if ( *end || op->b < op->a )
        bad("'%s' is not a time or a range of times", s);
}

/* ---- lines ------------------------------------------------------------- */

static void read_machine(char *p)
{
    char *w;

    while ( (w = word(&p)) )
    {
        char *v = split(w);

        if ( !strcmp(w, "pcpus") )
        {
            sim_opt.pcpus = integer(v);
            if ( !sim_opt.pcpus || sim_opt.pcpus > NR_CPUS )
                bad("pcpus is 1 to %u", NR_CPUS);
        }
        else if ( !strcmp(w, "threads") )
            sim_opt.threads_per_core = integer(v) ?: 1;
        else if ( !strcmp(w, "cores") )
            sim_opt.cores_per_socket = integer(v) ?: 1;
        else if ( !strcmp(w, "nodes") )
            sim_opt.nodes = integer(v) ?: 1;
        else if ( !strcmp(w, "jitter") )
            sim_opt.jitter_ns = one_time(v);
        else
            bad("a machine has no '%s'", w);
    }
}

static void read_domain(char *p)
{
    struct scenario_domain *s = xzalloc(struct scenario_domain);
    char *w = need(&p, "the domain's name");

    strlcpy(s->name, w, sizeof(s->name));
    s->domid = strcmp(w, "dom0") ? next_domid++ : 0;
    s->vcpus = 1;
    guest_default_costs(&s->costs);

    while ( (w = word(&p)) )
    {
        char *v = split(w);

        if ( !strcmp(w, "vcpus") )
            s->vcpus = integer(v);
        else if ( !strcmp(w, "weight") )
            s->weight = integer(v);
        else if ( !strcmp(w, "cap") )
            s->cap = integer(v);
        else if ( !strcmp(w, "period") )
            s->period = one_time(v);
        else if ( !strcmp(w, "budget") )
            s->budget = one_time(v);
        else if ( !strcmp(w, "pin") )
            strlcpy(s->pin, v, sizeof(s->pin));
        else if ( !strcmp(w, "tick") )
            s->costs.tick_ns = one_time(v);
        else if ( !strcmp(w, "timer") )
            s->costs.timer_ns = one_time(v);
        else if ( !strcmp(w, "irq") )
            s->costs.irq_ns = one_time(v);
        else if ( !strcmp(w, "switch") )
            s->costs.switch_ns = one_time(v);
        else if ( !strcmp(w, "wake") )
        {
            if ( strcmp(v, "cfs") && strcmp(v, "eevdf") && strcmp(v, "tick") )
                bad("wake is cfs, eevdf or tick");
            s->costs.wake_preempts = !strcmp(v, "cfs");
            s->costs.slice_by_tick = !strcmp(v, "tick");
        }
        else
            bad("a domain has no '%s'", w);
    }

    *domains_tail = s;
    domains_tail = &s->next;
}

static void keep_for_later(char *text)
{
    struct scenario_text *t = xzalloc(struct scenario_text);

    t->line = line_nr;
    t->text = text;
    *later_tail = t;
    later_tail = &t->next;
}

void scenario_read(const char *path)
{
    char *p = host_read_file(path), *next;

    file_name = path;
    if ( !p )
    {
        host_err("error: cannot read %s\n", path);
        host_exit(2);
    }

    for ( line_nr = 1; p; p = next, line_nr++ )
    {
        char *whole, *w, *hash;

        next = strchr(p, '\n');
        if ( next )
            *next++ = '\0';
        hash = strchr(p, '#');
        if ( hash )
            *hash = '\0';

        while ( *p == ' ' || *p == '\t' )
            p++;
        whole = p;
        if ( !strncmp(p, "link ", 5) || !strncmp(p, "ring ", 5) ||
             !strncmp(p, "task ", 5) )
        {
            keep_for_later(whole);
            continue;
        }

        w = word(&p);
        if ( !w )
            continue;
        if ( !strcmp(w, "machine") )
            read_machine(p);
        else if ( !strcmp(w, "boot") )
        {
            if ( !scenario_boot[0] )
                strlcpy(scenario_boot, p, sizeof(scenario_boot));
        }
        else if ( !strcmp(w, "duration") )
            scenario_duration = one_time(need(&p, "the duration"));
        else if ( !strcmp(w, "warmup") )
            scenario_warmup = one_time(need(&p, "the warm-up"));
        else if ( !strcmp(w, "domain") )
            read_domain(p);
        else
            bad("'%s' is none of machine, boot, duration, warmup, domain, "
                "link, ring, task", w);
    }
}

/* ---- creation ---------------------------------------------------------- */

static struct gvcpu *find_vcpu(char *name)
{
    struct scenario_domain *s;
    char *dot = strchr(name, '.');
    unsigned int id = dot ? integer(dot + 1) : 0;

    if ( dot )
        *dot = '\0';
    for ( s = scenario_domains; s; s = s->next )
        if ( !strcmp(s->name, name) && id < s->vcpus )
            return guest_of(s->d->vcpu[id]);

    bad("there is no vCPU %s.%u", name, id);
}

static struct link *read_link(char *p, char **rest)
{
    char *name = need(&p, "the link's name");
    struct gvcpu *a = find_vcpu(need(&p, "one end"));
    struct gvcpu *b = find_vcpu(need(&p, "the other end"));

    if ( scenario_nr_links == ARRAY_SIZE(scenario_links) )
        bad("too many links");
    *rest = p;

    return scenario_links[scenario_nr_links++] = guest_link(name, a, b);
}

static struct link *find_link(const char *name)
{
    unsigned int i;

    for ( i = 0; i < scenario_nr_links; i++ )
        if ( !strcmp(scenario_links[i]->name, name) )
            return scenario_links[i];

    bad("there is no link %s", name);
}

static void read_ring(char *p)
{
    struct link *l = read_link(p, &p), *of = NULL;
    const char *w = word(&p);

    if ( w )
    {
        of = find_link(w);
        if ( of->ring != of || of->end[0] != l->end[0] ||
             of->end[1] != l->end[1] )
            bad("%s is no ring between these two", w);
    }
    if ( l->end[0] == l->end[1] )
        bad("a ring has two ends");
    guest_ring(l, 0, of);
}

static void read_op(struct task *t, char *p)
{
    static const struct { const char *name; enum op_kind kind; } names[] = {
        { "run", OP_RUN }, { "sleep", OP_SLEEP }, { "every", OP_EVERY },
        { "runto", OP_RUN_TO }, { "sleepto", OP_SLEEP_TO },
        { "wait", OP_WAIT }, { "send", OP_SEND }, { "request", OP_REQUEST },
        { "clock", OP_CLOCK }, { "due", OP_DUE }, { "stop", OP_STOP },
        { "reply", OP_REPLY }, { "map", OP_MAP }, { "mapro", OP_MAP_RO },
        { "unmap", OP_UNMAP }, { "copyto", OP_COPY_TO },
        { "copyfrom", OP_COPY_FROM }, { "packet", OP_PACKET },
        { "notify", OP_NOTIFY }, { "switch", OP_SWITCH }, { "exec", OP_EXEC },
        { "fork", OP_FORK },
        { "yield", OP_YIELD }, { "churn", OP_ASID }, { "exit", OP_EXIT },
    };
    char *w = word(&p);
    struct op op;
    unsigned int i;

    if ( !w )
        return;

    for ( i = 0; i < ARRAY_SIZE(names); i++ )
        if ( !strcmp(names[i].name, w) )
            break;
    if ( i == ARRAY_SIZE(names) )
        bad("tasks cannot '%s'", w);

    op = (struct op){ .kind = names[i].kind };
    switch ( op.kind )
    {
    case OP_RUN: case OP_SLEEP: case OP_EVERY:
        range(need(&p, "a time"), &op);
        break;
    case OP_RUN_TO: case OP_SLEEP_TO:
        op.a = one_time(need(&p, "the period"));
        op.b = one_time(need(&p, "the phase"));
        if ( op.b >= op.a )
            bad("the phase is within the period");
        break;
    case OP_WAIT: case OP_SEND: case OP_REQUEST: case OP_REPLY: case OP_MAP:
    case OP_MAP_RO: case OP_UNMAP: case OP_COPY_TO: case OP_COPY_FROM:
    case OP_NOTIFY: case OP_CLOCK: case OP_DUE: case OP_STOP:
        op.a = find_link(need(&p, "a link"))->id;
        break;
    case OP_PACKET:
        op.a = find_link(need(&p, "a link"))->id;
        w = need(&p, "udp or tcp");
        if ( strcmp(w, "udp") && strcmp(w, "tcp") )
            bad("'%s' is neither udp nor tcp", w);
        op.b = (strcmp(w, "udp") ? 6 : 17) << 16;
        op.b |= (uint16_t)integer(need(&p, "the port"));
        break;
    case OP_FORK:
        op.a = find_link(need(&p, "a link"))->id;
        if ( scenario_links[op.a]->end[0] != scenario_links[op.a]->end[1] )
            bad("a child is of the same vCPU");
        op.b = integer(need(&p, "an address space"));
        break;
    case OP_ASID: case OP_EXEC:
        op.a = integer(need(&p, "an address space"));
        op.b = integer(need(&p, "how many"));
        break;
    default:
        break;
    }

    if ( (w = word(&p)) )
        bad("what is '%s' doing there?", w);
    if ( t->nr_ops == MAX_OPS )
        bad("a task has at most %u operations", MAX_OPS);
    t->ops[t->nr_ops++] = op;
}

static void read_task(char *p)
{
    char *program = strchr(p, ':'), *w, *name;
    struct gvcpu *gv;
    struct task *t;

    if ( !program )
        bad("a task has a program, after ':'");
    *program++ = '\0';

    gv = find_vcpu(need(&p, "the task's vCPU"));
    name = need(&p, "the task's name");
    t = guest_task(gv, name, 0);
    while ( (w = word(&p)) )
    {
        char *v = split(w);

        if ( !strcmp(w, "start") )
        {
            t->state = TASK_SLEEPS;
            t->wakes = one_time(v);
            continue;
        }
        if ( !strcmp(w, "weight") )
        {
            t->weight = integer(v);
            if ( !t->weight || t->weight > 88761 )
                bad("a task's weight is 1 to 88761");
            continue;
        }
        if ( strcmp(w, "asid") )
            bad("a task has no '%s'", w);
        t->asid = integer(v);
        if ( t->asid )
            t->asid += guest_of(gv->v)->v->domain->domain_id * 1000;
    }

    while ( program )
    {
        char *semicolon = strchr(program, ';');

        if ( semicolon )
            *semicolon++ = '\0';
        read_op(t, program);
        program = semicolon;
    }
    if ( !t->nr_ops )
        bad("task %s does nothing", t->name);
}

long scenario_weight(struct domain *d, unsigned int weight, unsigned int cap)
{
    struct xen_domctl_scheduler_op op = {
        .sched_id = d->cpupool->sched->sched_id,
        .cmd = XEN_DOMCTL_SCHEDOP_putinfo,
    };

    switch ( op.sched_id )
    {
    case XEN_SCHEDULER_CREDIT2:
        op.u.credit2.weight = weight;
        op.u.credit2.cap = cap;
        break;
    case XEN_SCHEDULER_RTDS:
    case XEN_SCHEDULER_NULL:
    case XEN_SCHEDULER_ARINC653:
        return -EOPNOTSUPP;
    default:                    /* credit, and what is layered on it */
        op.u.credit.weight = weight;
        op.u.credit.cap = cap;
#ifdef XEN_SCHEDULER_TAVS
        if ( op.sched_id == XEN_SCHEDULER_TAVS ||
             op.sched_id == XEN_SCHEDULER_TAVS2 )
            op.u.tavs.pbratio = ~0;
#endif
        break;
    }

    return sched_adjust(d, &op);
}

static void pin(struct scenario_domain *s)
{
    cpumask_t mask;
    const char *p = s->pin;
    struct vcpu *v;

    if ( !*p )
        return;

    cpumask_clear(&mask);
    while ( *p )
    {
        unsigned int lo = number(p, &p), hi = lo;

        if ( *p == '-' )
            hi = number(p + 1, &p);
        for ( ; lo <= hi; lo++ )
        {
            if ( lo >= sim_opt.pcpus )
                bad("there is no pCPU %u", lo);
            cpumask_set_cpu(lo, &mask);
        }
        if ( *p == ',' )
            p++;
    }

    for_each_vcpu ( s->d, v )
        if ( vcpu_set_hard_affinity(v, &mask) )
            bad("%s cannot be pinned to %s", s->name, s->pin);
}

void scenario_create(void)
{
    struct scenario_domain *s;
    struct scenario_text *t;
    struct vcpu *v;
    char *rest;

    for ( s = scenario_domains; s; s = s->next )
    {
        s->d = dom_create(s->domid, s->vcpus, 0);
        if ( IS_ERR(s->d) )
            bad("domain %s: %ld", s->name, PTR_ERR(s->d));
        for_each_vcpu ( s->d, v )
            guest_of(v)->costs = s->costs;
        if ( s->weight || s->cap )
            scenario_weight(s->d, s->weight ?: 256, s->cap);
        pin(s);
    }

    for ( t = later; t; t = t->next )
    {
        line_nr = t->line;
        if ( t->text[0] == 'l' )
            read_link(t->text + 5, &rest);
        else if ( t->text[0] == 'r' )
            read_ring(t->text + 5);
    }
    for ( t = later; t; t = t->next )
    {
        line_nr = t->line;
        if ( t->text[0] == 't' )
            read_task(t->text + 5);
    }

    for ( s = scenario_domains; s; s = s->next )
        for_each_vcpu ( s->d, v )
            dom_start_vcpu(v);
}

/* ---- report ------------------------------------------------------------ */

static s_time_t mark_at;
static uint64_t mark_cpu[512];

static uint64_t cpu_time(const struct scenario_domain *s)
{
    uint64_t sum = 0;
    struct vcpu *v;

    for_each_vcpu ( s->d, v )
    {
        struct vcpu_runstate_info info = v->runstate;

        if ( info.state == RUNSTATE_running )
            info.time[RUNSTATE_running] += sim_now - info.state_entry_time;
        sum += info.time[RUNSTATE_running];
    }

    return sum;
}

/* The measured window begins here. */
void scenario_mark(void)
{
    struct scenario_domain *s;
    unsigned int i;

    mark_at = sim_now;
    for ( s = scenario_domains; s; s = s->next )
        if ( s->domid < ARRAY_SIZE(mark_cpu) )
            mark_cpu[s->domid] = cpu_time(s);
    for ( i = 0; i < scenario_nr_links; i++ )
        scenario_links[i]->nr_samples = 0;
}

static void sort(uint64_t *a, unsigned int n)
{
    unsigned int gap, i, j;

    for ( gap = n / 2; gap; gap /= 2 )
        for ( i = gap; i < n; i++ )
        {
            uint64_t x = a[i];

            for ( j = i; j >= gap && a[j - gap] > x; j -= gap )
                a[j] = a[j - gap];
            a[j] = x;
        }
}

#define MS(ns) (unsigned long)((ns) / 1000000), \
               (unsigned long)((ns) / 1000 % 1000)

void scenario_report(const char *out)
{
    struct scenario_domain *s;
    uint64_t window = sim_now - mark_at;
    host_file *f = out ? host_create(out) : NULL;
    char line[256];
    unsigned int i, j;

    if ( out && !f )
    {
        host_err("error: cannot write %s\n", out);
        host_exit(2);
    }

    host_out("\n%-10s %6s %9s %9s %9s %9s %9s %9s  ms\n", "client", "n",
             "mean", "p50", "p90", "p99", "max", "open");
    for ( i = 0; i < scenario_nr_links; i++ )
    {
        struct link *l = scenario_links[i];
        uint64_t sum = 0, *a = l->samples;
        unsigned int n = l->nr_samples;

        if ( !l->nr_asked )
            continue;
        for ( j = 0; f && j < n; j++ )
        {
            int len = host_format(line, sizeof(line), "sample\t%s\t%u\t%lu\n",
                                  l->name, j, (unsigned long)a[j]);

            host_write(f, line, len);
        }
        if ( !n )
        {
            host_out("%-10s %6u\n", l->name, n);
            continue;
        }
        for ( j = 0; j < n; j++ )
            sum += a[j];
        sort(a, n);
        host_out("%-10s %6u %5lu.%03lu %5lu.%03lu %5lu.%03lu %5lu.%03lu "
                 "%5lu.%03lu %9u\n", l->name, n, MS(sum / n),
                 MS(a[(n - 1) * 50 / 100]), MS(a[(n - 1) * 90 / 100]),
                 MS(a[(n - 1) * 99 / 100]), MS(a[n - 1]),
                 l->nr_asked - l->asked_at);
    }

    host_out("\n%-10s %6s %9s %7s %9s %9s\n", "domain", "vcpus", "cpu s",
             "share", "upcalls", "cr3");
    for ( s = scenario_domains; s; s = s->next )
    {
        uint64_t ran = cpu_time(s) - mark_cpu[s->domid];
        uint64_t upcalls = 0, cr3 = 0;
        unsigned int permille = window ? ran / (window / 1000) : 0;
        struct vcpu *v;

        for_each_vcpu ( s->d, v )
        {
            upcalls += guest_of(v)->upcalls;
            cr3 += guest_of(v)->cr3_switches;
        }
        host_out("%-10s %6u %5lu.%03lu %4u.%u%% %9lu %9lu\n", s->name,
                 s->vcpus, (unsigned long)(ran / 1000000000),
                 (unsigned long)(ran / 1000000 % 1000), permille / 10,
                 permille % 10, (unsigned long)upcalls, (unsigned long)cr3);
        if ( f )
        {
            int len = host_format(line, sizeof(line), "cpu\t%s\t%lu\t%lu\n",
                                  s->name, (unsigned long)ran,
                                  (unsigned long)window);

            host_write(f, line, len);
        }
    }

    if ( f )
        host_close(f);
}
