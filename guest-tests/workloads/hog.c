// SPDX-License-Identifier: GPL-2.0-only
/*
 * hog: takes all the CPU it can get and says how much that was.
 *
 * It measures throughput: a guest's share as the guest feels it, in units of
 * work that do not depend on any clock (work.h). With a duty cycle it is the
 * kind of guest that schedulers get wrong: one that sleeps now and then and
 * is rewarded for it.
 *
 * Built so that it disturbs nothing but by its appetite. The clock is read
 * every 5 ms of work, a row is logged about every 100 ms, nothing else leaves
 * user space. With a duty cycle a burst is an amount of work, not a stretch of
 * wall time, so the demand is the same under every scheduler; the sleep is
 * until an absolute time, so a late wake-up does not lengthen it further.
 */
#include <time.h>

#include "args.h"
#include "clock.h"
#include "samples.h"
#include "stop.h"
#include "work.h"

#define CHUNK_US	5000
#define SAMPLE_NS	(100 * NS_PER_MS)

static const char *log_path;
static uint64_t duty_on_us, duty_off_us;
static uint64_t units_per_ms;
static uint64_t capacity = 36000;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write time_ns and units, at the end" },
	{ .name = "duty-on-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &duty_on_us, .min = 1, .max = 3600000000ULL,
	  .help = "microseconds of CPU work in each burst (default: no pause)" },
	{ .name = "duty-off-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &duty_off_us, .min = 1, .max = 3600000000ULL,
	  .help = "microseconds of sleep after each burst" },
	{ .name = "units-per-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &units_per_ms, .min = 1, .max = 100000000,
	  .help = "speed of this CPU (default: measured at the start)" },
	{ .name = "samples", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &capacity, .min = 1, .max = SAMPLES_MAX,
	  .help = "room in the log (default: 36000, an hour)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "hog",
	.summary = "Burns CPU in fixed units of 100 instructions until SIGTERM or SIGINT, and\n"
		   "logs how many units were done, about every 100 ms.",
	.opts = options,
};

static struct samples samples;
static uint64_t units;		/* done since the start */

static void sample(uint64_t now)
{
	uint64_t *row = samples_row(&samples);

	if (row) {
		row[0] = now;
		row[1] = units;
	}
}

/* Sleeps until `until`; a signal that asks to stop ends it early. */
static void sleep_until(uint64_t until)
{
	struct timespec ts = monotonic_time(until);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void run(void)
{
	const uint64_t chunk = work_units(CHUNK_US, units_per_ms) ?: 1;
	const uint64_t burst = duty_on_us ?
		work_units(duty_on_us, units_per_ms) ?: 1 : UINT64_MAX;
	uint64_t now = now_ns(), next_sample = now + SAMPLE_NS;
	uint64_t left = burst;

	sample(now);
	while (!stop_requested) {
		uint64_t step = left < chunk ? left : chunk;

		work_burn(step);
		units += step;
		now = now_ns();
		if (now >= next_sample) {
			sample(now);
			next_sample = now + SAMPLE_NS;
		}

		if (burst == UINT64_MAX)
			continue;
		left -= step;
		if (!left) {
			sleep_until(now + duty_off_us * NS_PER_US);
			left = burst;
		}
	}
	sample(now_ns());
}

int main(int argc, char **argv)
{
	parse_args(&program, argc, argv);
	if (!duty_on_us != !duty_off_us)
		usage_error("--duty-on-us and --duty-off-us go together");

	clock_init();
	samples_open(&samples, log_path, "time_ns\tunits", capacity);
	if (!units_per_ms)
		units_per_ms = work_units_per_ms();
	stop_init();

	run();

	samples_write(&samples);
	samples_note(&samples, "units_per_ms", units_per_ms);
	samples_close(&samples);
	return EXIT_SUCCESS;
}
