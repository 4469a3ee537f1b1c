// SPDX-License-Identifier: GPL-2.0-only
/*
 * pingpong: two processes that wake each other through two pipes.
 *
 * The least that a context switch costs: each byte makes one task sleep and
 * the other one run.  A unit is a round trip, hence two switches.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "args.h"
#include "progress.h"
#include "stop.h"

#define CHECK	50		/* round trips between two looks at the clock */

static const char *log_path;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write time_ns, units and switches, at the end" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "pingpong",
	.summary = "Passes a byte to another process and back until SIGTERM or SIGINT, and logs\n"
		   "the number of round trips about every 100 ms.",
	.opts = options,
};

static void pong(int in, int out)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	_exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	struct progress progress;
	int there[2], back[2];
	uint64_t units = 0;
	char byte = 0;
	pid_t child;

	parse_args(&program, argc, argv);
	clock_init();
	if (pipe(there) || pipe(back))
		fail("pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		fail("fork: %s", strerror(errno));
	if (!child) {
		close(there[1]);
		pong(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	stop_init();
	progress_open(&progress, log_path);

	while (!stop_requested) {
		if (write(there[1], &byte, 1) != 1 ||
		    read(back[0], &byte, 1) != 1)
			break;
		if (++units % CHECK == 0)
			progress_tell(&progress, units);
	}
	if (!stop_requested)
		fail("the other process is gone");
	close(there[1]);
	waitpid(child, NULL, 0);
	progress_close(&progress, units);
	return EXIT_SUCCESS;
}
