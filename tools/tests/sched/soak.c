/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Many seeds, each in a process of its own; and making a failure small.
 *
 * With `against`, each seed runs a second time with other boot options, or
 * the same, and has to leave the same trace: a hash of every record. With
 * `hashes`, the hash of each seed goes into a file, to compare what was built
 * from different sources.
 */

#include "sim.h"
#include "explore.h"
#include "soak.h"

struct soak_options soak_opt = {
    .seeds = 100, .jobs = 1, .max_failures = 4, .seconds = 10,
};

#define MAX_JOBS 64

/* What a child leaves behind. */
struct result {
    uint64_t hash;                  /* of its trace */
    uint64_t decisions, boosted_ns;
};

static struct result *result;

static int one_seed(void *unused)
{
    host_alarm(soak_opt.seconds);
    explore_machine();
    explore_run();
    *result = (struct result){
        record_hash(), sim_decisions, check_boosted_ns,
    };

    return 0;
}

static int other_seed(void *unused)
{
    int at = glue_parse_boot(soak_opt.against);

    if ( at )
    {
        host_err("error: Xen does not know '%s'\n", soak_opt.against + at - 1);
        return 2;
    }

    return one_seed(NULL);
}

static int run_seed(uint64_t seed, bool quiet)
{
    int status;

    sim_opt.seed = seed;
    host_fork(one_seed, NULL, quiet);
    host_reap(&status);

    return status;
}

/* Both in turn, in a process of their own. */
static int compare_seed(void *unused)
{
    uint64_t first;
    int status;

    status = run_seed(sim_opt.seed, false);
    if ( status )
        return status;
    first = result->hash;
    host_fork(other_seed, NULL, false);
    host_reap(&status);
    if ( !status && result->hash != first )
    {
        host_err("seed %lu: traces differ: %016lx with %s, %016lx with %s\n",
                 (unsigned long)sim_opt.seed, (unsigned long)first,
                 soak_opt.boot, (unsigned long)result->hash,
                 soak_opt.against);
        return 4;
    }

    return status;
}

/* How many operations are left in. */
static unsigned int left_in(void)
{
    unsigned int i, n = 0;

    for ( i = 0; i < explore_nr_changes(); i++ )
        n += !explore_opt.left_out[i];

    return n;
}

/*
 * Leave out ever smaller groups of operations, as long as the run still ends
 * with the same status. Each try is a process.
 */
static void shrink(uint64_t seed, int status)
{
    unsigned int n, size, i, from;

    sim_opt.seed = seed;
    explore_machine();          /* To know how many there are. */
    n = explore_nr_changes();

    explore_opt.no_preempt = true;
    if ( run_seed(seed, true) != status )
        explore_opt.no_preempt = false;

    for ( size = n / 2; size; size /= 2 )
        for ( from = 0; from < n; from += size )
        {
            bool saved[ARRAY_SIZE(explore_opt.left_out)];
            bool any = false;

            memcpy(saved, explore_opt.left_out, sizeof(saved));
            for ( i = from; i < from + size && i < n; i++ )
            {
                any |= !explore_opt.left_out[i];
                explore_opt.left_out[i] = true;
            }
            if ( any && run_seed(seed, true) != status )
                memcpy(explore_opt.left_out, saved, sizeof(saved));
        }
}

static void print_left(void)
{
    unsigned int i;
    const char *comma = "";

    host_err("--only ");
    for ( i = 0; i < explore_nr_changes(); i++ )
        if ( !explore_opt.left_out[i] )
        {
            host_err("%s%u", comma, i);
            comma = ",";
        }
    host_err("%s\n  that is:", explore_opt.no_preempt ? " --no-preempt" : "");
    for ( i = 0; i < explore_nr_changes(); i++ )
        if ( !explore_opt.left_out[i] )
            host_err(" %s", explore_kind(i));
    host_err("\n");
}

static void report(uint64_t seed, int status, const char *command)
{
    host_err("seed %lu fails (status %d)\n", (unsigned long)seed, status);
    if ( soak_opt.against )
    {
        int again;

        sim_opt.seed = seed;
        host_fork(compare_seed, NULL, false);
        host_reap(&again);
        return;
    }
    shrink(seed, status);
    run_seed(seed, false);
    host_err("%u of %u operations are enough: %s --seed %lu ", left_in(),
             explore_nr_changes(), command, (unsigned long)seed);
    print_left();
    memset(explore_opt.left_out, 0, sizeof(explore_opt.left_out));
    explore_opt.no_preempt = false;
}

int soak(const char *command)
{
    static struct { int pid; uint64_t seed; } busy[MAX_JOBS];
    struct result *results = host_shared((MAX_JOBS + 1) * sizeof(*results));
    uint64_t decisions = 0, boosted_ns = 0;
    host_file *file = NULL;
    unsigned long long start = host_clock_ns(), told = start, now;
    uint64_t next = soak_opt.from, end = next + soak_opt.seeds;
    unsigned int running = 0, failures = 0, i;
    uint64_t done = 0;

    if ( soak_opt.hashes && !(file = host_create(soak_opt.hashes)) )
    {
        host_err("error: cannot write %s\n", soak_opt.hashes);
        return 2;
    }

    while ( running || (next < end && failures < soak_opt.max_failures) )
    {
        int status, pid;
        uint64_t seed = 0;

        while ( running < soak_opt.jobs && next < end &&
                failures < soak_opt.max_failures )
        {
            for ( i = 0; busy[i].pid; i++ )
                ;
            result = &results[i];
            sim_opt.seed = next;
            pid = host_fork(soak_opt.against ? compare_seed : one_seed, NULL,
                            true);
            busy[i].pid = pid;
            busy[i].seed = next++;
            running++;
        }

        pid = host_reap(&status);
        for ( i = 0; i < ARRAY_SIZE(busy); i++ )
            if ( busy[i].pid == pid )
            {
                seed = busy[i].seed;
                busy[i].pid = 0;
                if ( !status )
                {
                    decisions += results[i].decisions;
                    boosted_ns += results[i].boosted_ns;
                }
                if ( file && !status )
                {
                    char line[64];

                    host_write(file, line,
                               host_format(line, sizeof(line),
                                           "%lu\t%016lx\n",
                                           (unsigned long)seed,
                                           (unsigned long)results[i].hash));
                }
            }
        running--;
        done++;

        if ( status )
        {
            soak_opt.failed[failures % ARRAY_SIZE(soak_opt.failed)] = seed;
            soak_opt.status[failures % ARRAY_SIZE(soak_opt.failed)] = status;
            failures++;
        }

        now = host_clock_ns();
        if ( now - told > 10000000000ULL )
        {
            told = now;
            host_err("%lu of %lu seeds, %u failures\n", (unsigned long)done,
                     (unsigned long)soak_opt.seeds, failures);
        }
    }

    result = &results[MAX_JOBS];
    if ( file )
        host_close(file);

    now = host_clock_ns();
    host_out("%lu seeds in %lu.%lu s, %u failures\n", (unsigned long)done,
             (unsigned long)((now - start) / 1000000000),
             (unsigned long)((now - start) / 100000000 % 10), failures);
    host_out("%lu decisions, %lu ms boosted\n", (unsigned long)decisions,
             (unsigned long)(boosted_ns / 1000000));

    for ( i = 0; i < failures && i < ARRAY_SIZE(soak_opt.failed); i++ )
        report(soak_opt.failed[i], soak_opt.status[i], command);

    return failures ? 3 : 0;
}
