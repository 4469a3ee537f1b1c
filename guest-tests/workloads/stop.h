/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SIGTERM and SIGINT ask a workload to write its log and end.
 *
 * The signal may arrive after the program looked at `stop_requested` but
 * before it sleeps in the kernel. The handler therefore arms an alarm which
 * interrupts the sleep a second later, and again after that: nothing has to be
 * polled while the workload runs, and no system call is added to its loop.
 */
#ifndef WORKLOADS_STOP_H
#define WORKLOADS_STOP_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_requested;

static inline void stop_handler(int sig)
{
	(void)sig;
	stop_requested = 1;
	alarm(1);
}

static inline void stop_init(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGALRM };
	struct sigaction sa;
	unsigned int i;

	/* No SA_RESTART: a blocked system call has to return. */
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = stop_handler;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
}

#endif /* WORKLOADS_STOP_H */
