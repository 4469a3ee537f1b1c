/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guests and driver domains let Xen know, where the tree has task
 * awareness, and as much of it as the tree has.
 */
#ifndef SIM_TAVS_HOOKS_H
#define SIM_TAVS_HOOKS_H

#if __has_include(<xen/tavs.h>)

#include <xen/tavs.h>

#else

static inline void tavs_domain_init(struct domain *d) {}
static inline void tavs_task_switch(struct vcpu *v, unsigned long id,
                                    bool was_kernel) {}
static inline void tavs_task_born(struct vcpu *v, unsigned long id) {}
static inline void tavs_task_gone(struct domain *d, unsigned long id) {}
static inline void tavs_user_mode(struct vcpu *v) {}
#define tavs_is_boosted(v) ((void)(v), false)

#endif

/* Packets: what a driver domain tells of them. */
#if __has_include("tavs/net.c")

#include <public/tavs.h>

#else

struct xen_tavs_ring { int unused; };
struct xen_tavs_ring_op;

static inline void tavs_domain_teardown(struct domain *d) {}
static inline void tavs_domain_destroy(struct domain *d) {}

#endif

/* Blocks: what is seen of grants. */
#if !__has_include("tavs/block.c")

static inline void tavs_event_send(struct domain *d, struct evtchn *chn) {}
static inline bool tavs_grant_map(const struct domain *mapper,
                                  struct domain *d, bool pte)
{
    return false;
}
static inline void tavs_grant_unmap(const struct domain *mapper,
                                    struct domain *d, bool readonly,
                                    bool wanted) {}
static inline void tavs_grant_copy(struct domain *from, struct domain *to) {}

#endif

#endif /* SIM_TAVS_HOOKS_H */
