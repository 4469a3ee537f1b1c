/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tools are told: XEN_DOMCTL_tavs_info.
 *
 * Called with the lock of domctls held.  Nothing is copied out under another
 * lock, and no lock is held for more than one element.
 */
#include <xen/guest_access.h>
#include <xen/sched.h>
#include <xen/xmalloc.h>

#include <public/domctl.h>

#include "latency.h"
#include "plane.h"

/* The elements that fit are all there; how many there would be is told. */
static bool fits(const struct xen_domctl_tavs_info *info, unsigned int i)
{
    return i < info->nr;
}

static int info_stats(const struct vcpu *v, struct xen_domctl_tavs_info *info)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_beliefs *b = tavs_beliefs(v->domain);
    struct xen_domctl_tavs_stats out = {};
    struct tavs_stats stats;
    s_time_t budget;
    unsigned int i;
    int rc;

    BUILD_BUG_ON(TAVS_REASON_ANY    != XEN_DOMCTL_TAVS_REASON_any ||
                 TAVS_REASON_BLOCK  != XEN_DOMCTL_TAVS_REASON_block ||
                 TAVS_REASON_NET    != XEN_DOMCTL_TAVS_REASON_net ||
                 TAVS_REASON_DRIVER != XEN_DOMCTL_TAVS_REASON_driver ||
                 TAVS_REASON_TIMER  != XEN_DOMCTL_TAVS_REASON_timer ||
                 TAVS_REASONS       != XEN_DOMCTL_TAVS_REASONS);
    BUILD_BUG_ON(TAVS_END_REVOKED != XEN_DOMCTL_TAVS_END_revoked ||
                 TAVS_END_BLOCKED != XEN_DOMCTL_TAVS_END_blocked ||
                 TAVS_END_CAPPED  != XEN_DOMCTL_TAVS_END_capped ||
                 TAVS_ENDS        != XEN_DOMCTL_TAVS_ENDS);
    BUILD_BUG_ON(TAVS_REFUSED_NO_TASK != XEN_DOMCTL_TAVS_REFUSED_no_task ||
                 TAVS_REFUSED_UNCORRELATED !=
                     XEN_DOMCTL_TAVS_REFUSED_uncorrelated ||
                 TAVS_REFUSED_OFF     != XEN_DOMCTL_TAVS_REFUSED_off ||
                 TAVS_REFUSED_BUDGET  != XEN_DOMCTL_TAVS_REFUSED_budget ||
                 TAVS_REFUSED_AHEAD   != XEN_DOMCTL_TAVS_REFUSED_ahead ||
                 TAVS_REFUSALS        != XEN_DOMCTL_TAVS_REFUSALS);
    BUILD_BUG_ON(sizeof(out.boosts) != sizeof(stats.boosts) ||
                 sizeof(out.hits) != sizeof(stats.hits) ||
                 sizeof(out.ends) != sizeof(stats.ends) ||
                 sizeof(out.refused) != sizeof(stats.refused));

    rc = g ? g->host->stats(v, &stats, &budget) : -EINVAL;
    if ( rc )
        return rc;

    out.run_ns = stats.run_time;
    out.boost_ns = stats.boost_time;
    out.budget_ns = budget;
    out.events = stats.events;
    memcpy(out.boosts, stats.boosts, sizeof(out.boosts));
    memcpy(out.hits, stats.hits, sizeof(out.hits));
    memcpy(out.ends, stats.ends, sizeof(out.ends));
    memcpy(out.refused, stats.refused, sizeof(out.refused));

    /* The scheduler does not hear of these. */
    for ( i = 0; i < ARRAY_SIZE(g->vcpu[0].refused); i++ )
        out.refused[i] +=
            (uint32_t)atomic_read(&g->vcpu[v->vcpu_id].refused[i]);

    if ( b )
    {
        unsigned long flags;

        spin_lock_irqsave(&g->lock, flags);
        out.switches = g->vcpu[v->vcpu_id].segment.switches;
        out.positives = b->tasks.positives;
        out.negatives = b->tasks.negatives;
        out.untracked = b->tasks.lost;
        out.believed = b->tasks.believed;
        spin_unlock_irqrestore(&g->lock, flags);
    }

    tavs_net_stats(v->domain, &out);

    if ( fits(info, 0) && copy_to_guest(info->u.stats, &out, 1) )
        return -EFAULT;

    info->nr = 1;

    return 0;
}

static uint64_t age(s_time_t when, s_time_t now)
{
    return when ? max(now - when, (s_time_t)0) : ~0UL;
}

static int info_tasks(const struct vcpu *v, struct xen_domctl_tavs_info *info)
{
    struct tavs_guest *g = tavs_guest(v->domain);
    struct tavs_beliefs *b = tavs_beliefs(v->domain);
    unsigned int i, j, nr = 0;

    for ( i = 0; b && i < TAVS_TASK_SETS; i++ )
    {
        struct tavs_task set[TAVS_TASK_WAYS];
        s_time_t now = NOW();
        unsigned long flags, cur;
        int threshold;

        spin_lock_irqsave(&g->lock, flags);
        memcpy(set, b->tasks.task[i], sizeof(set));
        cur = g->vcpu[v->vcpu_id].segment.cur;
        threshold = b->tasks.threshold;
        spin_unlock_irqrestore(&g->lock, flags);

        for ( j = 0; j < TAVS_TASK_WAYS; j++ )
        {
            const struct xen_domctl_tavs_task out = {
                .id          = set[j].id,
                .last_io_ns  = age(set[j].last_io, now),
                .last_cpu_ns = age(set[j].last_cpu, now),
                .positives   = set[j].positives,
                .negatives   = set[j].negatives,
                .belief      = set[j].belief,
                .flags       =
                    (set[j].belief > threshold ? XEN_DOMCTL_TAVS_TASK_io_bound
                                               : 0) |
                    (set[j].id == cur ? XEN_DOMCTL_TAVS_TASK_current : 0),
            };

            if ( !set[j].id )
                continue;

            if ( fits(info, nr) &&
                 copy_to_guest_offset(info->u.tasks, nr, &out, 1) )
                return -EFAULT;

            nr++;
        }
    }

    info->nr = nr;

    return 0;
}

static int info_ports(const struct vcpu *v, struct xen_domctl_tavs_info *info)
{
    const struct tavs_beliefs *b = tavs_beliefs(v->domain);
    const struct tavs_portmap *map = b ? &b->ports : NULL;
    unsigned int udp, port, nr = 0, bits = ACCESS_ONCE(tavs_portmap_bits);

    /* Read without the lock: a counter that changes is seen a little later. */
    for ( udp = 0; map && udp < ARRAY_SIZE(map->counter); udp++ )
        for ( port = 0; port < TAVS_PORTS; port++ )
        {
            const struct xen_tavs_packet packet = {
                .protocol = udp ? TAVS_UDP : TAVS_TCP,
                .port = port,
            };
            struct xen_domctl_tavs_port out = {
                .port = port,
                .protocol = packet.protocol,
            };

            /* Two ports a byte, 0 where nothing is known of either. */
            if ( !map->counter[udp][port / 2] ||
                 !tavs_portmap_known(map, &packet) )
                continue;

            out.value = tavs_portmap_get(map, bits, &packet);

            if ( fits(info, nr) &&
                 copy_to_guest_offset(info->u.ports, nr, &out, 1) )
                return -EFAULT;

            nr++;
        }

    info->nr = nr;

    return 0;
}

static int info_latency(const struct vcpu *v,
                        struct xen_domctl_tavs_info *info)
{
    const struct tavs_guest *g = tavs_guest(v->domain);
    struct xen_domctl_tavs_latency *out;
    unsigned int i;
    int rc = 0;

    BUILD_BUG_ON(TAVS_LATENCY_UNIT_SHIFT != XEN_DOMCTL_TAVS_LATENCY_UNIT_SHIFT);
    BUILD_BUG_ON(TAVS_LATENCY_SUB_SHIFT != XEN_DOMCTL_TAVS_LATENCY_SUB_SHIFT);
    BUILD_BUG_ON(TAVS_LATENCY_BUCKETS != XEN_DOMCTL_TAVS_LATENCY_BUCKETS);

    if ( !g )
        return -EINVAL;

    out = xmalloc(struct xen_domctl_tavs_latency);
    if ( !out )
        return -ENOMEM;

    for ( i = 0; !rc && i < XEN_DOMCTL_TAVS_LATENCIES; i++ )
    {
        rc = g->host->latency(v, i, out);

        if ( !rc && fits(info, i) &&
             copy_to_guest_offset(info->u.latency, i, out, 1) )
            rc = -EFAULT;
    }

    xfree(out);

    if ( !rc )
        info->nr = XEN_DOMCTL_TAVS_LATENCIES;

    return rc;
}

int tavs_domctl(const struct domain *d, struct xen_domctl_tavs_info *info)
{
    const struct vcpu *v;

    if ( info->pad )
        return -EINVAL;

    v = domain_vcpu(d, info->vcpu);
    if ( !v )
        return -ESRCH;

    switch ( info->op )
    {
    case XEN_DOMCTL_TAVS_INFO_stats:
        return info_stats(v, info);

    case XEN_DOMCTL_TAVS_INFO_tasks:
        return info_tasks(v, info);

    case XEN_DOMCTL_TAVS_INFO_ports:
        return info_ports(v, info);

    case XEN_DOMCTL_TAVS_INFO_latency:
        return info_latency(v, info);

    default:
        return -EINVAL;
    }
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
