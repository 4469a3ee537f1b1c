/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of timers. This is timer.c, unmodified. */

#include "timer.c"

#include "sim.h"
#include "mem.h"
#include "peek.h"

/* Late by more than this, a timer was forgotten. */
#define LATE MILLISECS(2)

static void check_timer(const struct timer *t, unsigned int cpu)
{
    mem_check_pointer(t, "a timer");
    if ( t->cpu != cpu )
        sim_fail("a timer of pCPU %u is with pCPU %u: %s", t->cpu, cpu,
                 host_symbol((unsigned long)t->function));
}

void peek_timers(unsigned int cpu)
{
    const struct timers *ts = &per_cpu(timers, cpu);
    const struct timer *t;
    unsigned int i, n;

    n = ts->heap ? heap_metadata(ts->heap)->size : 0;
    for ( i = 1; i <= n; i++ )
    {
        t = ts->heap[i];
        check_timer(t, cpu);
        if ( t->status != TIMER_STATUS_in_heap || t->heap_offset != i )
            sim_fail("a timer is not where it says it is: %s",
                     host_symbol((unsigned long)t->function));
        if ( i > 1 && ts->heap[i / 2]->expires > t->expires )
            sim_fail("timers of pCPU %u are out of order", cpu);
    }

    if ( n && ts->heap[1]->expires + LATE < sim_now )
        sim_fail("a timer of pCPU %u is late by %ld us: %s", cpu,
                 (long)((sim_now - ts->heap[1]->expires) / 1000),
                 host_symbol((unsigned long)ts->heap[1]->function));

    for ( t = ts->list; t; t = t->list_next )
        check_timer(t, cpu);

    if ( ts->inactive.next )
        list_for_each_entry ( t, &ts->inactive, inactive )
            check_timer(t, cpu);
}
