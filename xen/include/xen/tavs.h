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
#include <xen/types.h>

struct domain;
struct evtchn;
struct vcpu;
struct xen_tavs_ring_op;

#ifdef CONFIG_SCHED_TAVS

/* Per domain, in struct domain. */
struct tavs_domain {
    /*
     * The kernel's own page table: that of the first address space switch of
     * the domain.  0 until then.  Not a task.
     */
    unsigned long kernel;
    uint16_t pbratio;       /* permille of CPU time that may be boosted */
    bool track;             /* tasks are tracked when in a tavs pool */
    bool driver;            /* backends for other domains run here */
    uint16_t rx_vcpu;       /* the vCPU last told of a packet */

    /*
     * What a driver domain says of packets.  Set under the domain lock when it
     * first registers a ring, stays until the domain is destroyed.
     */
    struct tavs_net *net;
};

struct tavs_vcpu;

void tavs_domain_init(struct domain *d);
void tavs_domain_teardown(struct domain *d);
void tavs_domain_destroy(struct domain *d);
int tavs_vcpu_create(struct vcpu *v);
void tavs_vcpu_destroy(struct vcpu *v);

/* SCHEDOP_tavs_ring of the current domain */
int tavs_ring_op(const struct xen_tavs_ring_op *op);

/* v, which is current, has a new address space. */
void tavs_task_switch(struct vcpu *v, unsigned long id);

/* The address space is torn down. */
void tavs_task_exit(struct domain *d, unsigned long id);

/* An event has become pending. */
void tavs_event(struct vcpu *v, const struct evtchn *chn);

#else /* !CONFIG_SCHED_TAVS */

static inline void tavs_domain_init(struct domain *d) {}
static inline void tavs_domain_teardown(struct domain *d) {}
static inline void tavs_domain_destroy(struct domain *d) {}
static inline int tavs_vcpu_create(struct vcpu *v) { return 0; }
static inline void tavs_vcpu_destroy(struct vcpu *v) {}
static inline int tavs_ring_op(const struct xen_tavs_ring_op *op)
{
    return -ENOSYS;
}
static inline void tavs_task_switch(struct vcpu *v, unsigned long id) {}
static inline void tavs_task_exit(struct domain *d, unsigned long id) {}
static inline void tavs_event(struct vcpu *v, const struct evtchn *chn) {}

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
