/*
 * This program is free software; you can redistribute it and/or modify
 * it under the terms of the GNU Lesser General Public License as published
 * by the Free Software Foundation; version 2.1 only. with the special
 * exception on linking described in file LICENSE.
 *
 * This program is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
 * GNU Lesser General Public License for more details.
 */

#ifndef XL_TAVS_H
#define XL_TAVS_H

#include <stdbool.h>
#include <stdint.h>

#include <libxl.h>

/* What is shown of domains; xl_tavs_show.c. */
enum tavs_show {
    TAVS_SHOW_STATS,
    TAVS_SHOW_TASKS,
    TAVS_SHOW_PORTMAP,
    TAVS_SHOW_LATENCY,
    TAVS_SHOW_PROMETHEUS,
};

/* A domain in a tavs cpupool. */
struct tavs_domain {
    uint32_t domid;
    char *name, *pool;
};

/* Show it of `nr` domains; returns an exit status, having said what failed. */
int tavs_show(enum tavs_show what, bool json, const struct tavs_domain *doms,
              unsigned int nr);

/*
 * How each domain fared in every `seconds`, `count` times or (0) for ever.
 * `list` lists the domains, which come and go; false: it said what failed.
 */
int tavs_top(unsigned int seconds, unsigned int count,
             bool (*list)(void *arg, struct tavs_domain **doms,
                          unsigned int *nr),
             void *arg);

void tavs_domains_free(struct tavs_domain *doms, unsigned int nr);

/* PBratio in permille as a decimal: "0.125". */
const char *tavs_ratio(int permille, char buf[8]);

#endif

/*
 * Local variables:
 * mode: C
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
