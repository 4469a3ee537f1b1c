/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine, its guests and their tasks: see scenario.c. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "guest.h"

struct scenario_domain {
    struct scenario_domain *next;
    char name[24];
    domid_t domid;
    unsigned int vcpus, weight, cap, pool;
    uint64_t period, budget;    /* RTDS, ns; 0: its defaults. */
    char pin[64];
    struct guest_costs costs;
    struct domain *d;
};

struct scenario_text {
    struct scenario_text *next;
    unsigned int line;
    char *text;
};

extern char scenario_boot[256];
extern s_time_t scenario_duration, scenario_warmup;
extern struct scenario_domain *scenario_domains;
extern struct link *scenario_links[];
extern unsigned int scenario_nr_links;

/* Read the file: machine and boot options are known after this. */
void scenario_read(const char *path);
/* Create what it describes: on pCPU 0, after glue_boot(). */
void scenario_create(void);
/* Say what happened. */
void scenario_report(const char *out);
void scenario_mark(void);

/* Set a domain's weight and cap (0: leave). Returns Xen's answer. */
long scenario_weight(struct domain *d, unsigned int weight, unsigned int cap);

#endif /* SIM_SCENARIO_H */
