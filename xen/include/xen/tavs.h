/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task awareness: what the rest of Xen tells about the tasks of guests and
 * about the events that they wait for.
 *
 * This is the only header of it that code outside xen/common/tavs/ and
 * xen/common/sched/ includes.  Without CONFIG_SCHED_TAVS all of it is empty.
 */
#ifndef __XEN_TAVS_H__
#define __XEN_TAVS_H__

#include <xen/errno.h>
#include <xen/tavs-channel.h>
#include <xen/types.h>
#include <public/xen.h>

struct domain;
struct evtchn;
struct vcpu;
struct xen_domctl_tavs_info;
struct xen_tavs_ring_op;

#ifdef CONFIG_SCHED_TAVS

struct tavs_guest;
struct tavs_vcpu;

/* Per domain, in struct domain. */
struct tavs_domain {
    uint16_t pbratio;       /* permille of CPU time that may be boosted */
    bool track;             /* its tasks are tracked */
    bool driver;            /* backends for other domains run here */

    /*
     * What is known of its vCPUs and tasks.  NULL outside the cpupools of a
     * task-aware scheduler.  Freed by RCU.
     */
    struct tavs_guest *guest;

    /*
     * What a driver domain says of packets.  Set once, by cmpxchg, when it
     * first registers a ring; stays until the domain is destroyed.
     */
    struct tavs_net *net;
};

void tavs_domain_init(struct domain *d);
void tavs_domain_teardown(struct domain *d);
void tavs_domain_destroy(struct domain *d);

/* SCHEDOP_tavs_ring of the current domain */
int tavs_ring_op(const struct xen_tavs_ring_op *op);

/*
 * v, which is current, has a new address space.  `was_kernel`: user mode has
 * none in the one that it leaves.
 */
void tavs_task_switch(struct vcpu *v, unsigned long id, bool was_kernel);

/* v, which is current, makes an address space for a task to come. */
void tavs_task_born(struct vcpu *v, unsigned long id);

/* The address space is torn down. */
void tavs_task_gone(struct domain *d, unsigned long id);

/* Does v, which is current, run by virtue of a boost? */
#define tavs_is_boosted(v) ((v)->tavs_boosted)

/* ... and goes on in user mode, with no upcall pending. */
void tavs_user_mode(struct vcpu *v);

/*
 * An event is about to become pending.  Before that, as a vCPU that wakes up
 * for it may run at once.
 */
void tavs_event(struct vcpu *v, struct evtchn *chn);

/* The domain is about to send an event through its interdomain channel. */
void tavs_event_send(struct domain *d, struct evtchn *chn);

/* An unbound channel of d has been allocated by the current domain. */
void tavs_evtchn_alloc(const struct domain *d, struct evtchn *chn);

/* The channel is bound no more: it is unbound, or free. */
void tavs_evtchn_reset(struct evtchn *chn);

/*
 * `mapper` maps a page of d for writing.  Returns whether a task waits for
 * what is written to it, which is to be passed on when it is unmapped.  `pte`:
 * the mapping is not meant for data, but stays.  Both may be called with locks
 * of the grant table held.
 */
bool tavs_grant_map(const struct domain *mapper, struct domain *d, bool pte);
void tavs_grant_unmap(const struct domain *mapper, struct domain *d,
                      bool readonly, bool wanted);

/* The current domain has copied from one domain's grant to another's. */
void tavs_grant_copy(struct domain *from, struct domain *to);

/* XEN_DOMCTL_tavs_info */
int tavs_domctl(const struct domain *d, struct xen_domctl_tavs_info *info);

#else /* !CONFIG_SCHED_TAVS */

static inline void tavs_domain_init(struct domain *d) {}
static inline void tavs_domain_teardown(struct domain *d) {}
static inline void tavs_domain_destroy(struct domain *d) {}
static inline int tavs_ring_op(const struct xen_tavs_ring_op *op)
{
    return -ENOSYS;
}
static inline void tavs_task_switch(struct vcpu *v, unsigned long id,
                                    bool was_kernel) {}
static inline void tavs_task_born(struct vcpu *v, unsigned long id) {}
static inline void tavs_task_gone(struct domain *d, unsigned long id) {}
#define tavs_is_boosted(v) ((void)(v), false)
static inline void tavs_user_mode(struct vcpu *v) {}
static inline void tavs_event(struct vcpu *v, struct evtchn *chn) {}
static inline void tavs_event_send(struct domain *d, struct evtchn *chn) {}
static inline void tavs_evtchn_alloc(const struct domain *d,
                                     struct evtchn *chn) {}
static inline void tavs_evtchn_reset(struct evtchn *chn) {}
static inline bool tavs_grant_map(const struct domain *mapper,
                                  struct domain *d, bool pte)
{
    return false;
}
static inline void tavs_grant_unmap(const struct domain *mapper,
                                    struct domain *d, bool readonly,
                                    bool wanted) {}
static inline void tavs_grant_copy(struct domain *from, struct domain *to) {}

#endif /* CONFIG_SCHED_TAVS */

#endif /* __XEN_TAVS_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
