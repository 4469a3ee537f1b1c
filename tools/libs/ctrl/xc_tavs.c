/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * xc_tavs.c
 *
 * Control of the task-aware scheduler.  It is built on the credit scheduler:
 * what concerns shares has credit's parameters, under its own scheduler id.
 */

#include "xc_private.h"

int
xc_sched_tavs_domain_set(
    xc_interface *xch,
    uint32_t domid,
    const struct xen_domctl_sched_credit *sdom)
{
    struct xen_domctl domctl = {};

    domctl.cmd = XEN_DOMCTL_scheduler_op;
    domctl.domain = domid;
    domctl.u.scheduler_op.sched_id = XEN_SCHEDULER_TAVS;
    domctl.u.scheduler_op.cmd = XEN_DOMCTL_SCHEDOP_putinfo;
    domctl.u.scheduler_op.u.credit = *sdom;

    if ( do_domctl(xch, &domctl) )
        return -1;

    return 0;
}

int
xc_sched_tavs_domain_get(
    xc_interface *xch,
    uint32_t domid,
    struct xen_domctl_sched_credit *sdom)
{
    struct xen_domctl domctl = {};

    domctl.cmd = XEN_DOMCTL_scheduler_op;
    domctl.domain = domid;
    domctl.u.scheduler_op.sched_id = XEN_SCHEDULER_TAVS;
    domctl.u.scheduler_op.cmd = XEN_DOMCTL_SCHEDOP_getinfo;

    if ( do_domctl(xch, &domctl) )
        return -1;

    *sdom = domctl.u.scheduler_op.u.credit;

    return 0;
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
