// SPDX-License-Identifier: GPL-2.0-only
/*
 * player: has a frame ready at every tick of its own clock, as voice, video and
 * games have.
 *
 * It is interactive without any I/O: it sleeps until an absolute time, computes
 * for a moment, and sleeps again. A frame is late by the time from when it was
 * due until it is ready, the work included. One that is late does not move the
 * ones after it, and none is left out: a player that was kept from running has
 * to catch up.
 */
#include <time.h>

#include "args.h"
#include "clock.h"
#include "samples.h"
#include "stop.h"
#include "work.h"

static const char *log_path;
static uint64_t period_us = 20000, work_us = 200;
static uint64_t units_per_ms;
static uint64_t capacity = 1 << 17;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write due_ns, awake_ns and ready_ns, at the end" },
	{ .name = "period-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &period_us, .min = 100, .max = 3600000000ULL,
	  .help = "microseconds from frame to frame (default: 20000)" },
	{ .name = "work-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &work_us, .min = 0, .max = 3600000000ULL,
	  .help = "microseconds of CPU work for a frame (default: 200)" },
	{ .name = "units-per-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &units_per_ms, .min = 1, .max = 100000000,
	  .help = "speed of this CPU (default: measured at the start)" },
	{ .name = "samples", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &capacity, .min = 1, .max = SAMPLES_MAX,
	  .help = "room in the log (default: 131072)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "player",
	.summary = "Wakes at every multiple of a period, computes a frame, until SIGTERM or SIGINT,\n"
		   "and logs when each frame was due and when it was ready.",
	.opts = options,
};

/* False: a signal asked to stop. */
static bool sleep_until(uint64_t until)
{
	struct timespec ts = monotonic_time(until);

	while (!stop_requested)
		if (!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct samples samples;
	uint64_t work, due;

	parse_args(&program, argc, argv);
	if (work_us >= period_us)
		usage_error("--work-us is not shorter than --period-us");

	clock_init();
	samples_open(&samples, log_path, "due_ns\tawake_ns\tready_ns", capacity);
	if (!units_per_ms)
		units_per_ms = work_units_per_ms();
	work = work_units(work_us, units_per_ms);
	stop_init();

	for (due = now_ns() + period_us * NS_PER_US; sleep_until(due);
	     due += period_us * NS_PER_US) {
		uint64_t awake_ns = now_ns(), *row;

		work_burn(work);
		row = samples_row(&samples);
		if (row) {
			row[0] = due;
			row[1] = awake_ns;
			row[2] = now_ns();
		}
	}

	samples_write(&samples);
	samples_note(&samples, "units_per_ms", units_per_ms);
	samples_close(&samples);
	return EXIT_SUCCESS;
}
