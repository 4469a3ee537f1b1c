/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory: what the plane keeps of a domain while that is in a cpupool whose
 * scheduler asks for it, and nothing otherwise.
 *
 * Events come at any time, from other domains too, and their hooks take no
 * lock to look at what is kept.  So it is freed by RCU; a hook runs no softirq.
 */
#include <xen/sched.h>
#include <xen/vmap.h>
#include <xen/xmalloc.h>

#include "plane.h"

void tavs_domain_init(struct domain *d)
{
    d->tavs.driver = is_hardware_domain(d);

    /* What it does for others is all its work: its share bounds it. */
    d->tavs.pbratio = d->tavs.driver && tavs_pbratio
                      ? XEN_DOMCTL_SCHED_TAVS_PBRATIO_MAX : tavs_pbratio;
    d->tavs.track = tavs_track && tavs_can_track(d);
}

static int make_beliefs(struct tavs_guest *g)
{
    struct tavs_beliefs *b;
    unsigned int i;

    if ( g->beliefs )
        return 0;

    b = vzalloc(sizeof(*b));
    if ( !b )
        return -ENOMEM;

    tavs_tasks_init(&b->tasks);

    if ( cmpxchg(&g->beliefs, NULL, b) )
        vfree(b);
    else
        for ( i = 0; i < g->nr_vcpus; i++ )
            g->vcpu[i].restart = true;

    return 0;
}

static void cf_check free_guest(struct rcu_head *rcu)
{
    struct tavs_guest *g = container_of(rcu, struct tavs_guest, rcu);

    vfree(g->beliefs);
    vfree(g);
}

int tavs_domain_join(struct domain *d, const struct tavs_host *host)
{
    struct tavs_guest *g = d->tavs.guest;

    if ( g )
    {
        g->joined++;
        g->host = host;
        return 0;
    }

    g = vzalloc(sizeof(*g) + d->max_vcpus * sizeof(g->vcpu[0]));
    if ( !g )
        return -ENOMEM;

    spin_lock_init(&g->lock);
    g->host = host;
    g->joined = 1;
    g->nr_vcpus = d->max_vcpus;

    if ( d->tavs.track && make_beliefs(g) )
    {
        vfree(g);
        return -ENOMEM;
    }

    smp_wmb();
    d->tavs.guest = g;

    return 0;
}

void tavs_domain_leave(struct domain *d)
{
    struct tavs_guest *g = d->tavs.guest;
    struct vcpu *v;

    if ( !g || --g->joined )
        return;

    d->tavs.guest = NULL;
    for_each_vcpu ( d, v )
        v->tavs_boosted = false;

    call_rcu(&g->rcu, free_guest);
}

int tavs_domain_track(struct domain *d, bool track)
{
    struct tavs_guest *g = d->tavs.guest;
    unsigned long flags;
    unsigned int i;

    if ( d->tavs.track == track )
        return 0;

    if ( track && g )
    {
        int rc = make_beliefs(g);

        if ( rc )
            return rc;

        /* Of tasks that ended meanwhile nothing was heard. */
        spin_lock_irqsave(&g->lock, flags);
        tavs_tasks_restart(&g->beliefs->tasks);
        for ( i = 0; i < g->nr_vcpus; i++ )
            g->vcpu[i].restart = true;
        spin_unlock_irqrestore(&g->lock, flags);
    }

    write_atomic(&d->tavs.track, track);

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
