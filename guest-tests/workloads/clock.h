/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time for the workloads.
 *
 * All times in the logs are nanoseconds of CLOCK_REALTIME, because Xen's wall
 * clock is the one that all domains start from. (They drift apart while their
 * kernels boot, by a constant: README.md.) Sleeping wants CLOCK_MONOTONIC, which
 * never steps. So each program measures the distance between the two once, at
 * its start, and from then on reads one clock only: a read can cost a trap (Xen
 * may emulate the TSC for a PV guest).
 */
#ifndef WORKLOADS_CLOCK_H
#define WORKLOADS_CLOCK_H

#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#define NS_PER_SEC	1000000000ULL
#define NS_PER_MS	1000000ULL
#define NS_PER_US	1000ULL

/* CLOCK_REALTIME - CLOCK_MONOTONIC */
static uint64_t clock_offset;

static inline uint64_t clock_read(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* The time now, on the axis of the logs. */
static inline uint64_t now_ns(void)
{
	return clock_read(CLOCK_MONOTONIC) + clock_offset;
}

/* A time of the logs as an absolute CLOCK_MONOTONIC time to sleep until. */
static inline struct timespec monotonic_time(uint64_t ns)
{
	ns -= clock_offset;
	return (struct timespec){ .tv_sec = ns / NS_PER_SEC,
				  .tv_nsec = ns % NS_PER_SEC };
}

/*
 * Take the distance from the tightest of several brackets, so that being
 * preempted between the reads does not spoil it. Also ask for exact timers:
 * by default Linux may delay a sleep by 50 us in order to batch wake-ups.
 */
static inline void clock_init(void)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 16; i++) {
		uint64_t before = clock_read(CLOCK_MONOTONIC);
		uint64_t real = clock_read(CLOCK_REALTIME);
		uint64_t after = clock_read(CLOCK_MONOTONIC);

		if (after - before < best) {
			best = after - before;
			clock_offset = real - (before + best / 2);
		}
	}

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

#endif /* WORKLOADS_CLOCK_H */
