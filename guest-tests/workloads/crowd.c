// SPDX-License-Identifier: GPL-2.0-only
/*
 * crowd: hundreds of processes that send each other messages, in rounds.
 *
 * In the spirit of hackbench: a group is 20 senders and 20 receivers, each
 * sender writes 100 bytes to each receiver of its group in turn, through a
 * pipe for each receiver.  Ten groups are 400 tasks.  A unit is a message that
 * was received.
 *
 * A round is a fixed amount of work: the first process logs, lets the senders
 * go, waits until the receivers have everything, logs again, and pauses.  With
 * --order fifo the tasks are SCHED_FIFO, all of one priority: who runs next
 * follows from who wrote and read what, not from how long anything took, so
 * that all rounds are alike, however dear a switch is.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "args.h"
#include "progress.h"
#include "stop.h"

#define SIDE		20		/* senders, and receivers, of a group */
#define MAX_GROUPS	50
#define MESSAGE		100
#define PAGE		4096

enum order { ORDER_FAIR, ORDER_FIFO };

static const char *const orders[] = { "fair", "fifo", NULL };

static const char *log_path;
static uint64_t groups = 10, loops = 10, pages = 16;
static unsigned int order = ORDER_FAIR;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write time_ns, units and switches, at the end" },
	{ .name = "groups", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &groups, .min = 1, .max = MAX_GROUPS,
	  .help = "of 40 processes each (default: 10)" },
	{ .name = "loops", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &loops, .min = 1, .max = 1000000,
	  .help = "messages from each sender to each receiver in a round (default: 10)" },
	{ .name = "pages", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &pages, .min = 1, .max = 256,
	  .help = "that a pipe holds (default: 16, as Linux has it)" },
	{ .name = "order", .placeholder = "fair|fifo", .type = OPT_WORD,
	  .value = &order, .words = orders,
	  .help = "who runs next: what the kernel finds fair (default), or SCHED_FIFO" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "crowd",
	.summary = "Runs rounds of messages between groups of 20 senders and 20 receivers until\n"
		   "SIGTERM or SIGINT, and logs the messages received before and after each.",
	.opts = options,
};

/*
 * A byte for each sender: a round begins.  Rounds take them in turn, so that
 * who is done with one cannot take a byte that is for another sender.
 */
static int gates[2][2];
static int done[2];		/* a byte from each receiver: it has everything */
static pid_t children[2 * SIDE * MAX_GROUPS];
static unsigned int nr_children;

static void set_order(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (order == ORDER_FIFO && sched_setscheduler(0, SCHED_FIFO, &param))
		fail("SCHED_FIFO: %s", strerror(errno));
}

/* In the child: true.  It dies with the parent. */
static bool start(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_order(1);
		return true;
	}
	children[nr_children++] = pid;
	return false;
}

static void receive(int in)
{
	char message[MESSAGE];
	size_t have;
	uint64_t left;

	for (;;) {
		for (left = SIDE * loops; left; left--)
			for (have = 0; have < sizeof(message);) {
				ssize_t got = read(in, message + have,
						   sizeof(message) - have);

				if (got <= 0)
					_exit(EXIT_SUCCESS);
				have += got;
			}
		if (write(done[1], "", 1) != 1)
			_exit(EXIT_SUCCESS);
	}
}

static void send_all(const int *out)
{
	static const char message[MESSAGE];
	uint64_t left;
	unsigned int round, i;
	char go;

	for (round = 0; read(gates[round % 2][0], &go, 1) == 1; round++)
		for (left = loops; left; left--)
			for (i = 0; i < SIDE; i++)
				if (write(out[i], message, sizeof(message)) !=
				    sizeof(message))
					_exit(EXIT_SUCCESS);
	_exit(EXIT_SUCCESS);
}

static void start_group(void)
{
	int in[SIDE], out[SIDE];
	unsigned int i;

	for (i = 0; i < SIDE; i++) {
		int fds[2];

		if (pipe(fds))
			fail("pipe: %s", strerror(errno));
		if (fcntl(fds[1], F_SETPIPE_SZ, (int)pages * PAGE) < 0)
			fail("a pipe of %d pages: %s", (int)pages, strerror(errno));
		in[i] = fds[0];
		out[i] = fds[1];
	}
	for (i = 0; i < SIDE; i++) {
		if (start())
			receive(in[i]);
		if (start())
			send_all(out);
	}
	for (i = 0; i < SIDE; i++) {
		close(in[i]);
		close(out[i]);
	}
}

/* True once all receivers have everything; false: to be stopped. */
static bool one_round(unsigned int round)
{
	char bytes[SIDE * MAX_GROUPS] = { 0 };
	ssize_t left = groups * SIDE, some;

	if (write(gates[round % 2][1], bytes, left) != left)
		return false;
	while (left > 0) {
		some = read(done[0], bytes, left);
		if (some < 0 && errno == EINTR && !stop_requested)
			continue;
		if (some <= 0)
			return false;
		left -= some;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct progress progress;
	uint64_t units = 0;
	unsigned int round, i;

	parse_args(&program, argc, argv);
	clock_init();
	set_order(2);
	if (pipe(gates[0]) || pipe(gates[1]) || pipe(done))
		fail("pipe: %s", strerror(errno));
	for (i = 0; i < groups; i++)
		start_group();
	stop_init();
	progress_open(&progress, log_path);

	for (round = 0; !stop_requested; round++) {
		uint64_t begin = now_ns(), pause;
		struct timespec ts;

		progress_add(&progress, begin, units);
		if (!one_round(round))
			break;
		units += groups * SIDE * SIDE * loops;
		progress_add(&progress, now_ns(), units);
		/*
		 * A ninth of the time for all else in the guest, which SCHED_FIFO
		 * keeps from running, and so that Linux need not stop it (at 95%).
		 */
		pause = (now_ns() - begin) / 8;
		ts = (struct timespec){ .tv_sec = pause / NS_PER_SEC,
					.tv_nsec = pause % NS_PER_SEC };
		nanosleep(&ts, NULL);
	}

	progress_close(&progress, units);
	for (i = 0; i < nr_children; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return EXIT_SUCCESS;
}
