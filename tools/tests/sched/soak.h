/* SPDX-License-Identifier: GPL-2.0-only */
/* Many seeds: see soak.c. */
#ifndef SIM_SOAK_H
#define SIM_SOAK_H

struct soak_options {
    uint64_t from, seeds;
    unsigned int jobs;
    unsigned int max_failures;  /* Stop after so many. */
    const char *boot;
    const char *against;        /* Compare with these boot options. */
    const char *hashes;         /* A file for the hash of each seed. */
    unsigned int seconds;       /* A seed that takes longer hangs. */
    uint64_t failed[4];
    int status[4];
};

extern struct soak_options soak_opt;

/* `command` is what replays one seed, less its --seed. */
int soak(const char *command);

#endif /* SIM_SOAK_H */
