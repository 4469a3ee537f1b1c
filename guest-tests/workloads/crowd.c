// SPDX-License-Identifier: GPL-2.0-only
/*
 * crowd: hundreds of processes that send each other messages.
 *
 * In the spirit of hackbench: a group is 20 senders and 20 receivers, each
 * sender writes 100 bytes to each receiver of its group in turn, through a
 * pipe for each receiver.  Ten groups are 400 tasks.  A unit is a message that
 * was received.  Receivers count in shared memory; the first process adds up
 * about every 100 ms and does nothing else.
 */
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "args.h"
#include "progress.h"
#include "stop.h"

#define SIDE		20		/* senders, and receivers, of a group */
#define MAX_GROUPS	50
#define MESSAGE		100
#define PER_LINE	8		/* counters of a receiver, one cache line */

static const char *log_path;
static uint64_t groups = 10;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write time_ns, units and switches, at the end" },
	{ .name = "groups", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &groups, .min = 1, .max = MAX_GROUPS,
	  .help = "of 40 processes each (default: 10)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "crowd",
	.summary = "Runs groups of 20 senders and 20 receivers until SIGTERM or SIGINT, and logs\n"
		   "the number of messages received about every 100 ms.",
	.opts = options,
};

static int gate[2];		/* closed at the far end, all begin */
static pid_t children[2 * SIDE * MAX_GROUPS];
static unsigned int nr_children;

/* In the child, once all children are there: true.  It dies with the parent. */
static bool start(void)
{
	pid_t pid = fork();
	char none;

	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(gate[1]);
		if (read(gate[0], &none, 1))
			_exit(EXIT_FAILED);
		return true;
	}
	children[nr_children++] = pid;
	return false;
}

static void receive(int in, volatile uint64_t *count)
{
	char message[MESSAGE];
	size_t have = 0;

	for (;;) {
		ssize_t got = read(in, message, sizeof(message) - have);

		if (got <= 0)
			_exit(EXIT_SUCCESS);
		have += got;
		if (have == sizeof(message)) {
			have = 0;
			++*count;
		}
	}
}

static void send_all(const int *out)
{
	static const char message[MESSAGE];
	unsigned int i;

	for (;;)
		for (i = 0; i < SIDE; i++)
			if (write(out[i], message, sizeof(message)) !=
			    sizeof(message))
				_exit(EXIT_SUCCESS);
}

static void start_group(volatile uint64_t *counts)
{
	int in[SIDE], out[SIDE];
	unsigned int i;

	for (i = 0; i < SIDE; i++) {
		int fds[2];

		if (pipe(fds))
			fail("pipe: %s", strerror(errno));
		in[i] = fds[0];
		out[i] = fds[1];
	}
	for (i = 0; i < SIDE; i++) {
		if (start())
			receive(in[i], counts + i * PER_LINE);
		if (start())
			send_all(out);
	}
	for (i = 0; i < SIDE; i++) {
		close(in[i]);
		close(out[i]);
	}
}

static uint64_t sum(const volatile uint64_t *counts)
{
	uint64_t total = 0, i;

	for (i = 0; i < groups * SIDE; i++)
		total += counts[i * PER_LINE];
	return total;
}

int main(int argc, char **argv)
{
	struct progress progress;
	volatile uint64_t *counts;
	unsigned int i;

	parse_args(&program, argc, argv);
	clock_init();
	counts = mmap(NULL, groups * SIDE * PER_LINE * sizeof(*counts),
		      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		fail("no memory for counters");
	if (pipe(gate))
		fail("pipe: %s", strerror(errno));
	for (i = 0; i < groups; i++)
		start_group(counts + i * SIDE * PER_LINE);
	stop_init();
	progress_open(&progress, log_path);
	close(gate[0]);
	close(gate[1]);

	while (!stop_requested) {
		poll(NULL, 0, PROGRESS_NS / NS_PER_MS);
		progress_tell(&progress, sum(counts));
	}

	progress_close(&progress, sum(counts));
	for (i = 0; i < nr_children; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return EXIT_SUCCESS;
}
