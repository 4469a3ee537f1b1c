/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Domains and vCPUs, as far as scheduling goes: what xen/common/domain.c does
 * around sched_init_vcpu() and friends, without memory, grants and devices.
 */

#include <xen/domain.h>
#include <xen/err.h>
#include <xen/rcupdate.h>

#include "sim.h"
#include "guest.h"
#include "tavs-hooks.h"

struct domain *domain_list, *hardware_domain;
struct vcpu *idle_vcpu[NR_CPUS];
DEFINE_SPINLOCK(domlist_update_lock);
DEFINE_RCU_READ_LOCK(domlist_read_lock);
unsigned int dom_count;

static void init_domain(struct domain *d, domid_t domid)
{
    d->domain_id = domid;
    atomic_set(&d->refcnt, 1);
    rspin_lock_init(&d->domain_lock);
    spin_lock_init(&d->shutdown_lock);
    spin_lock_init(&d->node_affinity_lock);
    rwlock_init(&d->event_lock);
    d->node_affinity = NODE_MASK_ALL;
    d->auto_node_affinity = 1;
    d->shutdown_code = SHUTDOWN_CODE_INVALID;
}

/* Called by core.c for the idle domain only. */
struct domain *domain_create(domid_t domid,
                             struct xen_domctl_createdomain *config,
                             unsigned int flags)
{
    struct domain *d = xzalloc(struct domain);

    init_domain(d, domid);
    d->is_privileged = flags & CDF_privileged;

    return d;
}

struct domain *dom_create(domid_t domid, unsigned int nr_vcpus,
                          unsigned int poolid)
{
    struct domain *d = xzalloc(struct domain);
    unsigned int i;
    int rc;

    init_domain(d, domid);
    d->max_vcpus = nr_vcpus;
    d->vcpu = xzalloc_array(struct vcpu *, nr_vcpus);
    d->poll_mask = xzalloc_array(unsigned long, BITS_TO_LONGS(nr_vcpus));
    if ( domid == 0 && !sim_opt.no_driver )
    {
        hardware_domain = d;
        d->is_privileged = true;
    }

    tavs_domain_init(d);
    rc = sched_init_domain(d, poolid);
    if ( rc )
    {
        xfree(d->poll_mask);
        xfree(d->vcpu);
        xfree(d);
        return ERR_PTR(rc);
    }

    spin_lock(&domlist_update_lock);
    {
        struct domain **pd = &domain_list;

        while ( *pd && (*pd)->domain_id < domid )
            pd = &(*pd)->next_in_list;
        d->next_in_list = *pd;
        rcu_assign_pointer(*pd, d);
    }
    spin_unlock(&domlist_update_lock);
    dom_count++;

    guest_domain_init(d);

    for ( i = 0; i < nr_vcpus; i++ )
        if ( !vcpu_create(d, i) )
            sim_fail("no vCPU for d%dv%u", domid, i);

    domain_update_node_affinity(d);

    return d;
}

struct vcpu *vcpu_create(struct domain *d, unsigned int vcpu_id)
{
    struct vcpu *v = xzalloc(struct vcpu);

    v->domain = d;
    v->vcpu_id = vcpu_id;
    v->dirty_cpu = VCPU_CPU_CLEAN;
    tasklet_init(&v->continue_hypercall_tasklet, NULL, NULL);

    if ( is_idle_domain(d) )
    {
        v->runstate.state = RUNSTATE_running;
        v->new_state = RUNSTATE_running;
    }
    else
    {
        v->runstate.state = RUNSTATE_offline;
        v->runstate.state_entry_time = NOW();
        set_bit(_VPF_down, &v->pause_flags);
        guest_vcpu_init(v);
    }

    if ( sched_init_vcpu(v) )
    {
        xfree(v);
        return NULL;
    }

    d->vcpu[vcpu_id] = v;
    if ( vcpu_id )
    {
        int prev = vcpu_id - 1;

        while ( prev >= 0 && !d->vcpu[prev] )
            prev--;
        BUG_ON(prev < 0);
        v->next_in_list = d->vcpu[prev]->next_in_list;
        d->vcpu[prev]->next_in_list = v;
    }

    return v;
}

void dom_start_vcpu(struct vcpu *v)
{
    if ( test_and_clear_bit(_VPF_down, &v->pause_flags) )
        vcpu_wake(v);
}

/* As complete_domain_destroy(). */
static void cf_check complete_destroy(struct rcu_head *head)
{
    struct domain *d = container_of(head, struct domain, rcu);
    unsigned int i;

    for ( i = d->max_vcpus; i-- > 0; )
        sched_destroy_vcpu(d->vcpu[i]);
    sched_destroy_domain(d);

    tavs_domain_destroy(d);
    for ( i = d->max_vcpus; i-- > 0; )
    {
        guest_vcpu_destroy(d->vcpu[i]);
        xfree(d->vcpu[i]);
    }
    guest_domain_destroy(d);
    xfree(d->poll_mask);
    xfree(d->vcpu);
    xfree(d);
    dom_count--;
}

/* As domain_kill() and domain_destroy(). Not to be called by the domain. */
void dom_destroy(struct domain *d)
{
    struct domain **pd = &domain_list;

    ASSERT(current->domain != d);

    d->is_dying = DOMDYING_dying;
    domain_pause(d);
    tavs_domain_teardown(d);
    guest_domain_unlink(d);
    d->is_dying = DOMDYING_dead;

    spin_lock(&domlist_update_lock);
    while ( *pd != d )
        pd = &(*pd)->next_in_list;
    rcu_assign_pointer(*pd, d->next_in_list);
    spin_unlock(&domlist_update_lock);

    call_rcu(&d->rcu, complete_destroy);
}

struct domain *rcu_lock_domain_by_id(domid_t dom)
{
    struct domain *d;

    rcu_read_lock(&domlist_read_lock);
    for ( d = domain_list; d; d = d->next_in_list )
        if ( d->domain_id == dom )
        {
            rcu_lock_domain(d);
            break;
        }
    rcu_read_unlock(&domlist_read_lock);

    return d;
}

int rcu_lock_remote_domain_by_id(domid_t dom, struct domain **d)
{
    *d = rcu_lock_domain_by_id(dom);

    return *d ? 0 : -ESRCH;
}

void vcpu_pause(struct vcpu *v)
{
    ASSERT(v != current);
    atomic_inc(&v->pause_count);
    vcpu_sleep_sync(v);
}

void vcpu_pause_nosync(struct vcpu *v)
{
    atomic_inc(&v->pause_count);
    vcpu_sleep_nosync(v);
}

void vcpu_unpause(struct vcpu *v)
{
    if ( atomic_dec_and_test(&v->pause_count) )
        vcpu_wake(v);
}

void domain_pause(struct domain *d)
{
    struct vcpu *v;

    ASSERT(d != current->domain);
    atomic_inc(&d->pause_count);
    for_each_vcpu ( d, v )
        vcpu_sleep_sync(v);
}

void domain_unpause(struct domain *d)
{
    struct vcpu *v;

    if ( atomic_dec_and_test(&d->pause_count) )
        for_each_vcpu ( d, v )
            vcpu_wake(v);
}

int domain_shutdown(struct domain *d, u8 reason)
{
    sim_fail("d%d shuts down", d->domain_id);
}

/* As in xen/arch/x86/domain.c. */
void vcpu_kick(struct vcpu *v)
{
    bool was_running = v->is_running;

    vcpu_unblock(v);
    if ( was_running && (in_irq() || v != current) )
        cpu_raise_softirq(v->processor, VCPU_KICK_SOFTIRQ);
}

void vcpu_mark_events_pending(struct vcpu *v)
{
    if ( vcpu_info(v, evtchn_upcall_pending) )
        return;

    vcpu_info(v, evtchn_upcall_pending) = 1;
    vcpu_kick(v);
}
