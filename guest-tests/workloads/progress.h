/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of a workload that counts: when, how many units of its work were
 * done by then, how often the guest's kernel had switched tasks.  A row about
 * every 100 ms, as hog has them.
 */
#ifndef WORKLOADS_PROGRESS_H
#define WORKLOADS_PROGRESS_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "samples.h"

#define PROGRESS_NS	(100 * NS_PER_MS)
#define PROGRESS_ROWS	36000		/* an hour */

struct progress {
	struct samples samples;
	int stat;		/* /proc/stat */
	uint64_t next;
};

/* Switches of tasks since the kernel booted, of this host or guest. */
static inline uint64_t progress_switches(const struct progress *p)
{
	static char text[32768];
	ssize_t got = pread(p->stat, text, sizeof(text) - 1, 0);
	char *line;

	if (got <= 0)
		return 0;
	text[got] = '\0';
	line = strstr(text, "\nctxt ");
	return line ? strtoull(line + 6, NULL, 10) : 0;
}

static inline void progress_add(struct progress *p, uint64_t now,
				uint64_t units)
{
	uint64_t *row = samples_row(&p->samples);

	p->next = now + PROGRESS_NS;
	if (row) {
		row[0] = now;
		row[1] = units;
		row[2] = progress_switches(p);
	}
}

static inline void progress_open(struct progress *p, const char *path)
{
	samples_open(&p->samples, path, "time_ns\tunits\tswitches",
		     PROGRESS_ROWS);
	p->stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (p->stat < 0)
		fail("/proc/stat: %s", strerror(errno));
	progress_add(p, now_ns(), 0);
}

/* To be called often. */
static inline void progress_tell(struct progress *p, uint64_t units)
{
	uint64_t now = now_ns();

	if (now >= p->next)
		progress_add(p, now, units);
}

static inline void progress_close(struct progress *p, uint64_t units)
{
	progress_add(p, now_ns(), units);
	samples_write(&p->samples);
	samples_close(&p->samples);
	close(p->stat);
}

#endif /* WORKLOADS_PROGRESS_H */
