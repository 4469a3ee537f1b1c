/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looking into the schedulers.
 *
 * Their queues and accounts are private to their files, so each of them is
 * compiled as part of a peek-*.c, which includes it unmodified and adds
 * functions that read, and never write, its state.
 */
#ifndef SIM_PEEK_H
#define SIM_PEEK_H

#include <xen/sched.h>

/*
 * Call fn for each unit in the queue that belongs to a pCPU. A queue that
 * several pCPUs share is walked for the first of them only. Fails the run if
 * the queue is not in order.
 */
typedef void peek_fn(const struct sched_unit *unit);

void peek_credit_queue(unsigned int cpu, peek_fn *fn);
void peek_credit2_queue(unsigned int cpu, peek_fn *fn);
void peek_rt_queue(unsigned int cpu, peek_fn *fn);
void peek_null_queue(unsigned int cpu, peek_fn *fn);

bool peek_credit2_same_queue(unsigned int cpu, const struct sched_unit *unit);

/* Credit: what a unit was charged against what it ran. */
void peek_credit_account(const struct sched_unit *unit);
/* Credit: what all units were given against what there was to give. */
void peek_credit_given(unsigned int cpu);

/* All timers of a pCPU: in order, due in time, of something alive. */
void peek_timers(unsigned int cpu);

/* A unit's weight and cap, where the scheduler has them. */
unsigned int peek_credit_weight(const struct domain *d, unsigned int *cap);
unsigned int peek_credit2_weight(const struct domain *d, unsigned int *cap);
/* Waiting for the next period, not for a pCPU. */
bool peek_rt_depleted(const struct sched_unit *unit);
/* Out of its budget (cap), not waiting for a pCPU. */
bool peek_credit_parked(const struct sched_unit *unit);
bool peek_credit2_parked(const struct sched_unit *unit);

/*
 * Tavs: what identifies a unit's budget, NULL if it has none; whether it is
 * boosted now, and how much of its time may be.
 */
const void *peek_tavs_account(const struct sched_unit *unit, bool *boosted,
                              unsigned int *permille);
s_time_t peek_tavs_cap(void);
/*
 * Has the unit unserved I/O that it could be boosted for, and is not?  And how
 * often it was refused a boost; what that goes by and is changed by others.
 */
bool peek_tavs_wants(const struct sched_unit *unit, uint64_t *refused,
                     unsigned int *params);

#endif /* SIM_PEEK_H */
