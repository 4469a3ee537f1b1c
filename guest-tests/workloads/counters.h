/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's own counters, read at both ends of the measured window.
 *
 * Built with WITH_XEN, these read through libxenctrl; without, they record
 * that there is nothing to read.
 */
#ifndef WORKLOADS_COUNTERS_H
#define WORKLOADS_COUNTERS_H

#include <stdio.h>

enum counters_when { COUNTERS_START, COUNTERS_END };

/*
 * Everything that can be done beforehand: opens the interface, allocates,
 * makes each call once so that its path is warm. Ends the program when Xen
 * does not answer.
 */
void counters_open(void);

/* Only the hypercalls: no allocation, no output. */
void counters_read(enum counters_when when);

/* Writes the records cpu, perfc and note. */
void counters_write(FILE *out);

#endif /* WORKLOADS_COUNTERS_H */
