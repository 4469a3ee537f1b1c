/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched-sim: Xen's schedulers in virtual time.
 *
 * This file is the command line; sim.h says what is where.
 */

#include "sim.h"
#include "scenario.h"
#include "explore.h"
#include "soak.h"

#include "private.h"

int sim_main(int argc, char **argv);

static const char usage[] =
"usage: sched-sim run FILE      simulate a scenario\n"
"       sched-sim explore       a random machine and random operations\n"
"       sched-sim soak          many of them\n"
"options of all:\n"
"  --boot 'sched=credit ...'   Xen's boot options\n"
"  --seed N                    (1)\n"
"  --check N                   check the invariants every Nth step; 0: never\n"
"  --strict NAME|all           fail on a known finding (docs/findings.md)\n"
"  --record FILE               write Xen's trace records\n"
"  --verbose                   show Xen's console\n"
"options of run:\n"
"  --duration SECONDS --out FILE\n"
"options of explore:\n"
"  --only N,N,...              these operations only\n"
"  --no-driver                 dom0 is not a driver domain\n"
"  --io                        guests have I/O: packets, block reads\n"
"  --pools                     domains mostly move between pools\n"
"  --stalls                    a pCPU that is overtaken stays behind for a while\n"
"  --same-chances              no overtaking at the locks of task awareness, to\n"
"                              compare with a scheduler that has none\n"
"  --no-preempt                pCPUs do not overtake each other inside Xen\n"
"  --changes N                 operations a seed (60)\n"
"options of soak:\n"
"  --seeds N --from N --jobs N --max-failures N\n"
"  --against 'sched=...'       every seed leaves the same trace with these\n"
"                              boot options (the same: determinism)\n"
"  --hashes FILE               write a hash of the trace of each seed\n";

static char command[1024];
static const char *record, *out, *only, *file, *strict;
static unsigned long duration;

unsigned long sim_fail_frame;

/* Who called whom: Xen's code keeps frame pointers. */
static void print_calls(unsigned long fp)
{
    unsigned int depth;
    unsigned long stack = fp & ~(STACK_SIZE - 1);

    for ( depth = 0; depth < 24; depth++ )
    {
        const unsigned long *frame = (const unsigned long *)fp;

        if ( fp < stack || fp + 16 > stack + STACK_SIZE || fp & 7 || !frame[1] )
            break;
        host_err("  %s\n", host_symbol(frame[1]));
        if ( frame[0] <= fp )
            break;
        fp = frame[0];
    }
}

void sim_fail(const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);

    host_err("FAILURE at %lu.%09lu s, pCPU %d: %s\nreplay: %s\n",
             (unsigned long)(sim_now / SECONDS(1)),
             (unsigned long)(sim_now % SECONDS(1)),
             sim_cpu() ? (int)sim_cpu()->id : -1, text, command);
    if ( sim_cpu() )
        print_calls(sim_fail_frame ?:
                    (unsigned long)__builtin_frame_address(0));
    record_close();
    host_exit(3);
}

static void boot_scenario(void)
{
    glue_boot();
    scenario_create();
}

static int run(void)
{
    unsigned long long start, took;

    start = host_cpu_ns();
    glue_init();
    sim_start(boot_scenario);
    sim_run(sim_now + scenario_warmup);
    scenario_mark();
    sim_run(sim_now + scenario_duration);
    took = host_cpu_ns() - start;

    host_out("%s, %s, seed %lu: %lu s, %lu decisions\n", file,
             scheduler_get_default()->opt_name, (unsigned long)sim_opt.seed,
             (unsigned long)(sim_now / SECONDS(1)),
             (unsigned long)sim_decisions);
    host_err("took %lu ms of CPU time: %lu times real time, %lu decisions/s\n",
             (unsigned long)(took / 1000000),
             (unsigned long)(sim_now / max(took, 1ULL)),
             (unsigned long)(sim_decisions * 1000000 / max(took / 1000,
                                                           1ULL)));
    scenario_report(out);
    check_report_known();
    host_out("\ntrace hash %016lx\n", (unsigned long)record_hash());
    record_close();

    return 0;
}

/* --only 1,5,7 */
static void leave_out(const char *list)
{
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(explore_opt.left_out); i++ )
        explore_opt.left_out[i] = true;
    while ( *list )
    {
        i = simple_strtoul(list, &list, 10);
        if ( i < ARRAY_SIZE(explore_opt.left_out) )
            explore_opt.left_out[i] = false;
        if ( *list )
            list++;
    }
}

static int explore(void)
{
    if ( only )
        leave_out(only);
    explore_machine();
    host_out("seed %lu: %u pCPUs, %u threads a core, %u nodes, %u operations, "
             "preemption 1/%u, trylock fails 1/%u\n",
             (unsigned long)sim_opt.seed, sim_opt.pcpus,
             sim_opt.threads_per_core, sim_opt.nodes, explore_nr_changes(),
             sim_opt.preempt, sim_opt.trylock_fail);
    host_alarm(soak_opt.seconds);
    explore_run();
    check_report_known();
    if ( check_boosted_ns )
        host_out("%lu us boosted\n", (unsigned long)check_boosted_ns / 1000);
    host_out("clean; trace hash %016lx\n", (unsigned long)record_hash());
    record_close();

    return 0;
}

static bool parse(int argc, char **argv)
{
    int i;

    for ( i = 0; i < argc; i++ )
    {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;

        if ( !strcmp(a, "--verbose") )
        {
            sim_opt.verbose = true;
            continue;
        }
        if ( !strcmp(a, "--no-driver") )
        {
            sim_opt.no_driver = true;
            continue;
        }
        if ( !strcmp(a, "--same-chances") )
        {
            sim_opt.same_chances = true;
            continue;
        }
        if ( !strcmp(a, "--io") )
        {
            explore_opt.io = true;
            continue;
        }
        if ( !strcmp(a, "--pools") )
        {
            explore_opt.pools = true;
            continue;
        }
        if ( !strcmp(a, "--stalls") )
        {
            sim_opt.stalls = true;
            continue;
        }
        if ( !strcmp(a, "--no-preempt") )
        {
            explore_opt.no_preempt = true;
            continue;
        }
        if ( a[0] != '-' && !file )
        {
            file = a;
            continue;
        }
        if ( !v )
            return false;
        i++;

        if ( !strcmp(a, "--boot") )
            strlcpy(scenario_boot, v, sizeof(scenario_boot));
        else if ( !strcmp(a, "--against") )
            soak_opt.against = v;
        else if ( !strcmp(a, "--hashes") )
            soak_opt.hashes = v;
        else if ( !strcmp(a, "--record") )
            record = v;
        else if ( !strcmp(a, "--out") )
            out = v;
        else if ( !strcmp(a, "--only") )
            only = v;
        else if ( !strcmp(a, "--strict") )
        {
            check_strict(v);
            strict = v;
        }
        else
        {
            const char *end;
            unsigned long n = simple_strtoul(v, &end, 0);

            if ( *end || end == v )
                return false;
            if ( !strcmp(a, "--seed") )
                sim_opt.seed = n;
            else if ( !strcmp(a, "--check") )
                sim_opt.check_every = n;
            else if ( !strcmp(a, "--duration") )
                duration = n;
            else if ( !strcmp(a, "--changes") )
                explore_opt.changes = n;
            else if ( !strcmp(a, "--seeds") )
                soak_opt.seeds = n;
            else if ( !strcmp(a, "--from") )
                soak_opt.from = n;
            else if ( !strcmp(a, "--jobs") )
                soak_opt.jobs = min(n, 32UL);
            else if ( !strcmp(a, "--max-failures") )
                soak_opt.max_failures = n;
            else
                return false;
        }
    }

    return true;
}

static void remember_command(int argc, char **argv, bool replays)
{
    unsigned int n = 0;
    int i;

    for ( i = 0; i < argc && n < sizeof(command) - 2; i++ )
        n += host_format(command + n, sizeof(command) - n,
                         strchr(argv[i], ' ') ? "'%s' " : "%s ", argv[i]);
    if ( replays )
        host_format(command, sizeof(command), "%s explore%s%s%s%s%s%s%s%s%s%s%s",
                    argv[0], explore_opt.io ? " --io" : "",
                    sim_opt.stalls ? " --stalls" : "",
                    explore_opt.pools ? " --pools" : "",
                    sim_opt.same_chances ? " --same-chances" : "",
                    sim_opt.no_driver ? " --no-driver" : "",
                    explore_opt.no_preempt ? " --no-preempt" : "",
                    scenario_boot[0] ? " --boot '" : "", scenario_boot,
                    scenario_boot[0] ? "'" : "", strict ? " --strict " : "",
                    strict ?: "");
}

int sim_main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    int at;

    mem_init();
    glue_trap_init();
    soak_opt.max_failures = 4;

    if ( !parse(argc - min(argc, 2), argv + min(argc, 2)) ||
         (!strcmp(verb, "run") ? !file
                               : file || (strcmp(verb, "explore") &&
                                          strcmp(verb, "soak"))) )
    {
        host_err("%s", usage);
        return 2;
    }
    remember_command(argc, argv, !strcmp(verb, "soak"));

    if ( file )
        scenario_read(file);
    if ( duration )
        scenario_duration = SECONDS(duration);
    at = glue_parse_boot(scenario_boot);
    if ( at )
    {
        host_err("error: Xen does not know '%s'\n", scenario_boot + at - 1);
        return 2;
    }
    if ( record )
        record_open(record);

    if ( file )
        return run();
    soak_opt.boot = scenario_boot;
    if ( !strcmp(verb, "soak") )
        return soak(command);

    return explore();
}
