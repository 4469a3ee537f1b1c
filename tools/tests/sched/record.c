/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happened, in order.
 *
 * The source is Xen's own trace points: core.c and the schedulers already
 * describe what they do, to trace(). Every record of a scheduler goes into a
 * hash, so that two runs can be compared without keeping either, and each
 * record into a file if one is open: one line each,
 *
 *   time_ns  pcpu  event(hex)  word...(hex)
 *
 * sim.py turns it into Perfetto's format.
 */

#include <xen/trace.h>

#include "sim.h"

bool tb_init_done = true;
uint64_t record_hash = 0xcbf29ce484222325ULL;
static host_file *file;

static void mix(uint64_t value)
{
    record_hash = (record_hash ^ value) * 0x100000001b3ULL;
    record_hash ^= record_hash >> 29;
}

/*
 * What task awareness says of itself, whichever scheduler decides.  It is no
 * part of the hash: that is compared between schedulers, and with those of a
 * source without it.
 */
static bool is_commentary(uint32_t event)
{
#ifdef TRC_SCHED_TAVS
    uint32_t e = event & ~TRC_HD_CYCLE_FLAG;

    return (e & ~((1U << TRC_SCHED_ID_SHIFT) - 1)) ==
           TRC_SCHED_CLASS_EVT(TAVS, 0);
#else
    return false;
#endif
}

void trace(uint32_t event, unsigned int extra, const void *extra_data)
{
    const uint32_t *word = extra_data;
    struct pcpu *c = sim_cpu();
    unsigned int i, n = extra / sizeof(*word), cpu = c ? c->id : 0;

    /* The last thing that a scheduling decision says. */
    if ( (event & ~TRC_HD_CYCLE_FLAG) == TRC_SCHED_SWITCH ||
         (event & ~TRC_HD_CYCLE_FLAG) == TRC_SCHED_SWITCH_INFCONT )
        sim_decisions++;

    if ( !is_commentary(event) )
    {
        mix(sim_now);
        mix(((uint64_t)cpu << 32) | event);
        for ( i = 0; i < n; i++ )
            mix(word[i]);
    }

    if ( file )
    {
        char line[256];
        int len = host_format(line, sizeof(line), "%lu\t%u\t%x",
                              (unsigned long)sim_now, cpu,
                              (unsigned int)(event & ~TRC_HD_CYCLE_FLAG));

        for ( i = 0; i < n && len < (int)sizeof(line) - 12; i++ )
            len += host_format(line + len, sizeof(line) - len, "\t%x",
                               word[i]);
        line[len++] = '\n';
        host_write(file, line, len);
    }
}

void record_open(const char *path)
{
    file = host_create(path);
    if ( !file )
    {
        host_err("error: cannot write %s\n", path);
        host_exit(2);
    }
}

void record_close(void)
{
    if ( file )
        host_close(file);
    file = NULL;
}
