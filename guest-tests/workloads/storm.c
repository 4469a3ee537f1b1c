// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm: one short-lived program after the other, as a compile has them.
 *
 * Each child is forked, executes this program anew, touches some memory,
 * computes for a random while, and ends.  So tasks come and go, none with a
 * history, each starting with exec and page faults.  A unit is a child that
 * came to its end.
 */
#include <sys/wait.h>

#include "args.h"
#include "prng.h"
#include "progress.h"
#include "stop.h"
#include "work.h"

#define TOUCH		(256 << 10)

static const char *log_path;
static uint64_t seed = 1, work_us = 20000, child_units;
static uint64_t units_per_ms;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path,
	  .help = "where to write time_ns, units and switches, at the end (required)" },
	{ .name = "work-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &work_us, .min = 1, .max = 60000000,
	  .help = "a child computes for up to so many microseconds (default: 20000)" },
	{ .name = "seed", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &seed, .min = 0, .max = UINT64_MAX,
	  .help = "of the lengths (default: 1)" },
	{ .name = "units-per-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &units_per_ms, .min = 1, .max = 100000000,
	  .help = "speed of this CPU (default: measured at the start)" },
	{ .name = "child", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &child_units, .min = 1, .max = UINT64_MAX,
	  .help = "be a child: compute N units and end" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "storm",
	.summary = "Forks and executes one short program after the other until SIGTERM or SIGINT,\n"
		   "and logs how many ended about every 100 ms.",
	.opts = options,
};

static int be_child(void)
{
	char *memory = malloc(TOUCH);

	if (!memory)
		fail("no memory");
	memset(memory, 1, TOUCH);
	work_burn(child_units);
	return *(volatile char *)memory == 1 ? EXIT_SUCCESS : EXIT_FAILED;
}

static void run_child(uint64_t units)
{
	char number[24];
	int status;
	pid_t pid;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)units);
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid) {
		execl("/proc/self/exe", "storm", "--child", number, NULL);
		_exit(EXIT_FAILED);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail("a child failed");
}

int main(int argc, char **argv)
{
	struct progress progress;
	struct prng prng;
	uint64_t units = 0;

	parse_args(&program, argc, argv);
	if (child_units)
		return be_child();
	if (!log_path)
		usage_error("--log is missing (see --help)");

	clock_init();
	if (!units_per_ms)
		units_per_ms = work_units_per_ms();
	prng = prng_init(seed, 0);
	stop_init();
	progress_open(&progress, log_path);

	while (!stop_requested) {
		run_child(work_units(prng_uniform(&prng, 1, work_us),
				     units_per_ms) ?: 1);
		progress_tell(&progress, ++units);
	}
	progress_close(&progress, units);
	return EXIT_SUCCESS;
}
