/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xenalyze: the records of the task-aware scheduler.
 */
#ifndef XENALYZE_TAVS_H
#define XENALYZE_TAVS_H

#include <stdint.h>

#define TAVS_REASONS   5
#define TAVS_ENDS      3
#define TAVS_REFUSALS  5
#define TAVS_CAUSES    6

/* Times, in cycles or in nanoseconds. */
struct tavs_times {
    unsigned long long count, sum, min, max;
};

/* What was seen of one vCPU. */
struct tavs_summary {
    unsigned long long events, switches, resumes;
    unsigned long long evidence[TAVS_CAUSES];
    unsigned long long rose, fell;

    unsigned long long grants[TAVS_REASONS];
    unsigned long long ends[TAVS_REASONS][TAVS_ENDS];
    unsigned long long hits[TAVS_REASONS];
    unsigned long long refused[TAVS_REFUSALS];
    struct tavs_times lasted[TAVS_REASONS];     /* ns */
    struct tavs_times waited;                   /* cycles */
    unsigned long long granted_at;              /* cycles; 0: no boost waits */

    unsigned long long bad;
};

/* How many words a record has, 0 if it is none of ours. */
unsigned int tavs_record_words(unsigned int event);

/* Count a record and, unless `header` is NULL, print it. */
void tavs_record(struct tavs_summary *s, unsigned int event,
                 const uint32_t *word, unsigned long long tsc,
                 const char *header);

/* Nothing is printed of a vCPU that has no records. */
void tavs_print_summary(const struct tavs_summary *s,
                        unsigned long long cpu_hz);

#endif /* XENALYZE_TAVS_H */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
