/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * xc_tavs.c
 *
 * Control of the task-aware scheduler, and what task awareness knows.
 */

#include "xc_private.h"

static int
domain_op(
    xc_interface *xch,
    uint32_t domid,
    uint32_t sched_id,
    uint32_t cmd,
    struct xen_domctl *domctl)
{
    domctl->cmd = XEN_DOMCTL_scheduler_op;
    domctl->domain = domid;
    domctl->u.scheduler_op.sched_id = sched_id;
    domctl->u.scheduler_op.cmd = cmd;

    return do_domctl(xch, domctl) ? -1 : 0;
}

int
xc_sched_tavs_domain_set(
    xc_interface *xch,
    uint32_t domid,
    uint32_t sched_id,
    const struct xen_domctl_sched_tavs *sdom)
{
    struct xen_domctl domctl = { .u.scheduler_op.u.tavs = *sdom };

    return domain_op(xch, domid, sched_id, XEN_DOMCTL_SCHEDOP_putinfo, &domctl);
}

int
xc_sched_tavs_domain_get(
    xc_interface *xch,
    uint32_t domid,
    uint32_t sched_id,
    struct xen_domctl_sched_tavs *sdom)
{
    struct xen_domctl domctl = {};

    if ( domain_op(xch, domid, sched_id, XEN_DOMCTL_SCHEDOP_getinfo, &domctl) )
        return -1;

    *sdom = domctl.u.scheduler_op.u.tavs;

    return 0;
}

/* What holds after it is in *schedule, whether it was set or asked for. */
static int
params_op(
    xc_interface *xch,
    uint32_t cpupool_id,
    uint32_t sched_id,
    uint32_t cmd,
    struct xen_sysctl *sysctl,
    struct xen_sysctl_tavs_schedule *schedule)
{
    sysctl->cmd = XEN_SYSCTL_scheduler_op;
    sysctl->u.scheduler_op.cpupool_id = cpupool_id;
    sysctl->u.scheduler_op.sched_id = sched_id;
    sysctl->u.scheduler_op.cmd = cmd;

    if ( do_sysctl(xch, sysctl) )
        return -1;

    *schedule = sysctl->u.scheduler_op.u.sched_tavs;

    return 0;
}

int
xc_sched_tavs_params_set(
    xc_interface *xch,
    uint32_t cpupool_id,
    uint32_t sched_id,
    struct xen_sysctl_tavs_schedule *schedule)
{
    struct xen_sysctl sysctl = { .u.scheduler_op.u.sched_tavs = *schedule };

    return params_op(xch, cpupool_id, sched_id, XEN_SYSCTL_SCHEDOP_putinfo, &sysctl,
                     schedule);
}

int
xc_sched_tavs_params_get(
    xc_interface *xch,
    uint32_t cpupool_id,
    uint32_t sched_id,
    struct xen_sysctl_tavs_schedule *schedule)
{
    struct xen_sysctl sysctl = {};

    return params_op(xch, cpupool_id, sched_id, XEN_SYSCTL_SCHEDOP_getinfo, &sysctl,
                     schedule);
}

/* *nr elements of `size` fit into `array`; *nr becomes how many there are. */
static int
tavs_info(
    xc_interface *xch,
    uint32_t domid,
    uint32_t vcpu,
    uint32_t op,
    void *array,
    size_t size,
    uint32_t *nr)
{
    struct xen_domctl domctl = {};
    DECLARE_HYPERCALL_BOUNCE(array, *nr * size, XC_HYPERCALL_BUFFER_BOUNCE_OUT);
    int rc;

    if ( xc_hypercall_bounce_pre(xch, array) )
        return -1;

    domctl.cmd = XEN_DOMCTL_tavs_info;
    domctl.domain = domid;
    domctl.u.tavs_info.op = op;
    domctl.u.tavs_info.vcpu = vcpu;
    domctl.u.tavs_info.nr = *nr;
    /* All members of the union are handles. */
    set_xen_guest_handle(domctl.u.tavs_info.u.stats, array);

    rc = do_domctl(xch, &domctl);

    xc_hypercall_bounce_post(xch, array);

    if ( rc )
        return -1;

    *nr = domctl.u.tavs_info.nr;

    return 0;
}

int
xc_tavs_stats(
    xc_interface *xch,
    uint32_t domid,
    uint32_t vcpu,
    xen_domctl_tavs_stats_t *stats)
{
    uint32_t nr = 1;

    return tavs_info(xch, domid, vcpu, XEN_DOMCTL_TAVS_INFO_stats, stats,
                     sizeof(*stats), &nr);
}

int
xc_tavs_tasks(
    xc_interface *xch,
    uint32_t domid,
    uint32_t vcpu,
    xen_domctl_tavs_task_t *tasks,
    uint32_t *nr)
{
    return tavs_info(xch, domid, vcpu, XEN_DOMCTL_TAVS_INFO_tasks, tasks,
                     sizeof(*tasks), nr);
}

int
xc_tavs_ports(
    xc_interface *xch,
    uint32_t domid,
    uint32_t vcpu,
    xen_domctl_tavs_port_t *ports,
    uint32_t *nr)
{
    return tavs_info(xch, domid, vcpu, XEN_DOMCTL_TAVS_INFO_ports, ports,
                     sizeof(*ports), nr);
}

int
xc_tavs_latency(
    xc_interface *xch,
    uint32_t domid,
    uint32_t vcpu,
    xen_domctl_tavs_latency_t *latency)
{
    uint32_t nr = XEN_DOMCTL_TAVS_LATENCIES;

    return tavs_info(xch, domid, vcpu, XEN_DOMCTL_TAVS_INFO_latency, latency,
                     sizeof(*latency), &nr);
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
