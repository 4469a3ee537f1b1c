/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of a workload: rows of integers, kept in memory until the end.
 *
 * The file is opened first (a wrong path shows at once), the memory is
 * allocated, written and locked before the workload starts, and nothing is
 * printed while it runs. Rows that do not fit are counted.
 *
 * File: a line `# column<TAB>column...`, the rows in the order in which they
 * were added, then lines `# key<TAB>value` about the whole run.
 */
#ifndef WORKLOADS_SAMPLES_H
#define WORKLOADS_SAMPLES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "args.h"

#define SAMPLES_MAX	(1ULL << 24)

struct samples {
	const char *path;
	FILE *file;
	unsigned int columns;
	size_t count, capacity;
	uint64_t missed;
	bool locked;
	uint64_t *rows;
};

/* `header` names the columns, separated by tabs. */
static inline void samples_open(struct samples *s, const char *path,
				const char *header, size_t capacity)
{
	size_t bytes;

	memset(s, 0, sizeof(*s));
	s->path = path;
	s->capacity = capacity;
	s->columns = 1;
	for (const char *c = header; *c; c++)
		s->columns += *c == '\t';

	s->file = fopen(path, "we");
	if (!s->file)
		fail("%s: %s", path, strerror(errno));
	fprintf(s->file, "# %s\n", header);

	bytes = capacity * s->columns * sizeof(*s->rows);
	s->rows = malloc(bytes);
	if (!s->rows)
		fail("no memory for %zu samples", capacity);
	memset(s->rows, 0xff, bytes);
	s->locked = !mlockall(MCL_CURRENT | MCL_FUTURE);
}

/* The next row to fill in, or NULL when there is no room for it. */
static inline uint64_t *samples_row(struct samples *s)
{
	if (s->count == s->capacity) {
		s->missed++;
		return NULL;
	}
	return s->rows + s->count++ * s->columns;
}

static inline void samples_note(struct samples *s, const char *key,
				uint64_t value)
{
	fprintf(s->file, "# %s\t%" PRIu64 "\n", key, value);
}

static inline void samples_write(struct samples *s)
{
	const uint64_t *row = s->rows;
	size_t i;
	unsigned int c;

	for (i = 0; i < s->count; i++, row += s->columns)
		for (c = 0; c < s->columns; c++)
			fprintf(s->file, "%" PRIu64 "%c", row[c],
				c + 1 < s->columns ? '\t' : '\n');
	samples_note(s, "missed", s->missed);
	samples_note(s, "memory_locked", s->locked);
}

static inline void samples_close(struct samples *s)
{
	bool bad = ferror(s->file);

	if (fclose(s->file) || bad)
		fail("%s: cannot write: %s", s->path, strerror(errno));
	free(s->rows);
}

#endif /* WORKLOADS_SAMPLES_H */
