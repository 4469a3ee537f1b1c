/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU work in units that are the same everywhere.
 *
 * One unit is 100 instructions: 98 additions that depend on each other, a
 * decrement and a branch.  The loop is written in assembly so that no compiler
 * changes the count.  No memory is touched, no system call made.  In the
 * laboratory an instruction takes 2 ns of virtual time, so a unit is 200 ns and
 * a millisecond is 5000 units; on real hardware the dependency chain makes a
 * unit about 100 cycles.  The loop is long, and lea leaves the flags alone,
 * because an emulator pays for each branch and each flag: a shorter loop makes
 * a busy virtual second several times slower to simulate.
 */
#ifndef WORKLOADS_WORK_H
#define WORKLOADS_WORK_H

#include <stdint.h>

#include "clock.h"

#ifndef __x86_64__
#error "the unit of work is defined in x86-64 instructions"
#endif

static inline void work_burn(uint64_t units)
{
	uint64_t x = units;

	if (!units)
		return;

	asm volatile("1:\n\t"
		     ".rept 98\n\t"
		     "leaq 1(%[x]), %[x]\n\t"
		     ".endr\n\t"
		     "decq %[units]\n\t"
		     "jnz 1b"
		     : [x] "+r" (x), [units] "+r" (units)
		     :
		     : "cc");
}

/*
 * How many units fit into a millisecond of undisturbed CPU time.
 *
 * The minimum of many short runs counts: a run during which the guest (or the
 * task) was preempted looks longer and is thereby ignored. A thread clock
 * would not help, since a guest's includes the time that other guests stole.
 */
static inline uint64_t work_units_per_ms(void)
{
	const uint64_t units = 500;
	uint64_t best = UINT64_MAX, read_cost = UINT64_MAX;
	int i;

	for (i = 0; i < 32; i++) {
		uint64_t t0 = now_ns();
		uint64_t t1 = now_ns();
		uint64_t t2;

		work_burn(units);
		t2 = now_ns();
		if (t1 - t0 < read_cost)
			read_cost = t1 - t0;
		if (t2 - t1 < best)
			best = t2 - t1;
	}

	best = best > read_cost ? best - read_cost : 1;
	return (units * NS_PER_MS + best / 2) / best;
}

/* Units for `us` microseconds. */
static inline uint64_t work_units(uint64_t us, uint64_t units_per_ms)
{
	return (us * units_per_ms + 500) / 1000;
}

#endif /* WORKLOADS_WORK_H */
