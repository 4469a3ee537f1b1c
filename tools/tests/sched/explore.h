/* SPDX-License-Identifier: GPL-2.0-only */
/* Exploration of random machines and operations: see explore.c. */
#ifndef SIM_EXPLORE_H
#define SIM_EXPLORE_H

struct explore_options {
    unsigned int changes;       /* Operations a seed. */
    bool no_preempt;            /* No overtaking within hypervisor code. */
    bool io;                    /* Guests answer packets, read blocks. */
    bool pools;                 /* Moves between pools, mostly. */
    bool left_out[128];         /* Operations that are not to happen. */
};

extern struct explore_options explore_opt;

/* Machine and list of operations, from sim_opt.seed. */
void explore_machine(void);
void explore_run(void);
unsigned int explore_nr_changes(void);
const char *explore_kind(unsigned int i);

#endif /* SIM_EXPLORE_H */
