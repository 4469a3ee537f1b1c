// SPDX-License-Identifier: GPL-2.0-only
/*
 * evader: computes, but sleeps whenever the hypervisor looks.
 *
 * Xen's credit scheduler finds out who is busy at its tick, every 10 ms of
 * each pCPU.  A guest that sleeps across each tick is never found, keeps its
 * priority and is boosted at every wake-up.
 *
 * The program does not know when the tick is, and the tick wanders.  So it
 * sleeps for --gap-us in every --period-us and watches what it gets: while it
 * gets most of the rest, its sleep lies right.  Where it does not, a tick has
 * found it: it rests until it has credit and is forgotten again, and moves the
 * sleep on by half a gap.  Xen's tick wanders to later times, hence the
 * direction.  A unit is the same as hog's.
 */
#include <time.h>

#include "args.h"
#include "progress.h"
#include "stop.h"
#include "work.h"

#define EPOCH		10		/* periods between two looks at the yield */
#define REST_NS		(300 * NS_PER_MS)	/* ten accounting periods of credit */
#define STEP_US		100		/* work between two looks at the clock */

static const char *log_path;
static uint64_t period_us = 10000, gap_us = 1000;
static uint64_t units_per_ms;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write time_ns, units and switches, at the end" },
	{ .name = "period-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &period_us, .min = 1000, .max = 1000000,
	  .help = "of the tick, microseconds (default: 10000)" },
	{ .name = "gap-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &gap_us, .min = 100, .max = 100000,
	  .help = "sleep in each period, microseconds (default: 1000)" },
	{ .name = "units-per-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &units_per_ms, .min = 1, .max = 100000000,
	  .help = "speed of this CPU (default: measured at the start)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "evader",
	.summary = "Burns CPU, sleeping for a moment in each period at the place where that yields\n"
		   "most, until SIGTERM or SIGINT; logs the work done about every 100 ms.",
	.opts = options,
};

/* Computes until `until`; returns the units done. */
static uint64_t compute(uint64_t until, uint64_t step)
{
	uint64_t done = 0;

	while (now_ns() < until && !stop_requested) {
		work_burn(step);
		done += step;
	}
	return done;
}

static void sleep_until(uint64_t until)
{
	struct timespec ts = monotonic_time(until);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

int main(int argc, char **argv)
{
	uint64_t units = 0, moves = 0, start, step, fair;
	struct progress progress;

	parse_args(&program, argc, argv);
	if (gap_us >= period_us)
		usage_error("--gap-us is not shorter than --period-us");
	clock_init();
	if (!units_per_ms)
		units_per_ms = work_units_per_ms();
	step = work_units(STEP_US, units_per_ms) ?: 1;
	/* Most of what an epoch could yield. */
	fair = EPOCH * work_units(period_us - gap_us, units_per_ms) * 3 / 4;
	stop_init();
	progress_open(&progress, log_path);

	start = now_ns();	/* of the sleep of a period */
	while (!stop_requested) {
		uint64_t yield = 0;
		unsigned int i;

		for (i = 0; i < EPOCH && !stop_requested; i++) {
			sleep_until(start + gap_us * NS_PER_US);
			start += period_us * NS_PER_US;
			yield += compute(start, step);
			/* Whole periods went by while another guest ran. */
			while (start + period_us * NS_PER_US < now_ns())
				start += period_us * NS_PER_US;
			progress_tell(&progress, units + yield);
		}
		units += yield;
		if (yield < fair) {
			sleep_until(now_ns() + REST_NS);
			start += gap_us * NS_PER_US / 2;
			while (start < now_ns())
				start += period_us * NS_PER_US;
			moves++;
		}
	}
	progress_add(&progress, now_ns(), units);
	samples_write(&progress.samples);
	samples_note(&progress.samples, "moves", moves);
	samples_close(&progress.samples);
	return EXIT_SUCCESS;
}
