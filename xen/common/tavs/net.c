/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a packet for an I/O-bound task?  (TAVS paper, 3.3.2 and 4.3.2)
 *
 * 1. What is known of a packet
 *
 *   The driver domain puts protocol, destination port and receiver of each
 *   packet into a ring that it shares with Xen (public/tavs.h), and then
 *   notifies the receiver.  At that notification Xen takes all there is in the
 *   ring: what is for the receiver, the event announces; what is for others
 *   waits for their notifications.
 *
 *   A back end that was told that the guest has not looked at the ring since
 *   the last notification does not notify it again.  So a packet for an
 *   I/O-bound task, behind one that is for none, would never be heard of.
 *   When the driver domain gives up its pCPU, whatever is left over is taken
 *   for announced if its receiver was told of a packet and has not run since.
 *   Otherwise it waits until the driver domain gives up the pCPU once more:
 *   the driver domain may have been preempted between the ring and the
 *   notification.  Then it is dropped: the receiver found it by itself.
 *
 *   The paper looks at the ring only when the driver domain is descheduled;
 *   but then a reply to one guest waits for the work on all others.
 *
 * 2. The portmap
 *
 *   For each domain, protocol and destination port, a saturating counter of N
 *   bits predicts whether a packet is for an I/O-bound task: it is if the top
 *   bit is set.  The counter is incremented when a packet for that port came
 *   and the first task woken up was I/O-bound, and decremented when neither
 *   that one nor the task that ran was; task.c, 5., says which were.  Only if
 *   all packets since the last time were for one port: else nobody knows
 *   which of them woke up whom.
 *
 *   Departures from the paper:
 *
 *   - Counters begin in the middle, one below the value that boosts, instead
 *     of at 0, and are incremented while the belief in a task still grows
 *     (task.c, 5.).  So one request is enough for the counter, whatever its
 *     width, and it is one of the five that the belief takes.  A port that no
 *     I/O-bound task reads gets no boost, not even a first one.
 *   - Four bits are stored whatever N is, so that N can be changed at any
 *     time: 64 KiB a domain, instead of N times 16 KiB.  (The paper says
 *     N times 8 KiB: it does not tell the protocols apart.)
 *   - Packets that are neither TCP nor UDP, and segments that do nothing but
 *     acknowledge, are for the kernel of the guest.  They are not recorded, so
 *     their events boost nobody.  (Each reply over TCP is acknowledged: half of
 *     the packets for a server's port would wake up nobody.)  Those that stand
 *     behind them count as announced.
 *
 *   A packet for an I/O-bound task may stand behind one that is for none, of
 *   which the vCPU was told but for which it was not boosted.  Then the guest
 *   wakes up both tasks, and which of them runs first is the guest's choice
 *   (Linux' CFS tends to the one that was woken up first).  If it is the
 *   CPU-bound one, the boost ends at once, and was for nothing.  One more
 *   counter, of 2 bits and beginning with a boost, learns from such slices
 *   what becomes of them, whether they were boosted or not, and decides.
 *   (The guests of the paper had a scheduler that prefers who sleeps much.)
 *   It is one for the vCPU: packets that wake up nobody, however many there
 *   are, are not in the way, and do not make it seem so.
 *
 *   A guest with several vCPUs has one portmap.  It is the event's vCPU whose
 *   next task is looked at, and which is boosted.  A packet whose task runs on
 *   another vCPU teaches nothing and earns nothing.
 *
 *   Connections.  The segment that opens one is answered by the guest's kernel
 *   and wakes nobody, but the request waits for it: it counts where the port's
 *   packets do, teaches nothing, and is served when the kernel has answered.
 *   Of those that do nothing but acknowledge, the one that completes a handshake
 *   wakes up who accepts: the driver domain tells it like a packet with data.
 *
 * 3. Trust
 *
 *   The ring is written by a driver domain that may be mistaken or hostile.
 *   Each packet is read once, into a copy that is all that is looked at after;
 *   indices are masked; the number of packets looked at is bounded by the size
 *   of the ring, whatever the indices say.  Xen's own index is not read back
 *   from the page.  A packet counts only for a domain that the driver domain has
 *   notified: it has a channel to that one.  Nonsense in the ring turns it off for
 *   a second, and each event counts meanwhile.  What a hostile one achieves is
 *   that a guest is boosted for nothing, within that guest's budget; it can do
 *   that by sending packets.
 *
 * 4. Locking
 *
 *   tavs_net.lock is held while the ring is accessed, so that none is unmapped
 *   under our hands; see plane.h, 4.  The tavs_net of a domain lives as long as
 *   the domain; an interdomain event channel, whose lock is held, keeps both
 *   of its domains.
 */
#include <xen/bitops.h>
#include <xen/domain.h>
#include <xen/lib.h>
#include <xen/sched.h>
#include <xen/tasklet.h>
#include <xen/vmap.h>
#include <xen/xmalloc.h>
#include <xsm/xsm.h>

#include "plane.h"

/* Guests that can have blocks left over; others are not boosted for theirs. */
#define TAVS_BLOCK_GUESTS 16

/*
 * For how long a ring with nonsense in it counts as none.  Then each event of
 * its driver domain boosts who has an I/O-bound task, as where there is no
 * ring.  A driver that mends itself is believed again as soon as it is seen.
 */
#define TAVS_DISTRUST SECONDS(1)

struct tavs_net {
    spinlock_t lock;
    struct guest_area area;         /* .map: the ring; NULL: none */
    struct tavs_packets packets;
    struct tasklet flush;

    /*
     * Domains that it has sent an event: only what it tells of these counts.
     * An event channel is what makes somebody a receiver.
     */
    DECLARE_BITMAP(receivers, DOMID_FIRST_RESERVED);

    /* The ring was not well-formed of late; until then it tells nothing. */
    s_time_t distrusted;

    /* Since the driver domain last gave up its pCPU (block.c, 2.). */
    domid_t block_guest[TAVS_BLOCK_GUESTS];
    unsigned int block_guests;

    /* Statistics: packets that were notified of, or taken for notified. */
    unsigned long notified, left_over;
};

void tavs_net_block(const struct domain *driver, domid_t domid)
{
    struct tavs_net *net = driver->tavs.net;
    unsigned long flags;
    unsigned int i;

    if ( !net )
        return;

    spin_lock_irqsave(&net->lock, flags);
    for ( i = 0; i < net->block_guests; i++ )
        if ( net->block_guest[i] == domid )
            break;
    if ( i == net->block_guests && i < TAVS_BLOCK_GUESTS )
        net->block_guest[net->block_guests++] = domid;
    spin_unlock_irqrestore(&net->lock, flags);
}

/* Take what is new in the ring. */
static void drain(struct tavs_net *net)
{
    struct tavs_packets *p = &net->packets;
    unsigned long bad = p->nonsense + p->overrun;

    ASSERT(spin_is_locked(&net->lock));

    tavs_packets_drain(p, net->area.map, net->receivers);
    if ( unlikely(p->nonsense + p->overrun != bad) )
        net->distrusted = NOW() + TAVS_DISTRUST;
}

/* Remember packets for a vCPU.  Is one of them for an I/O-bound task? */
static enum tavs_net_verdict note(struct tavs_guest *g, struct tavs_vcpu *tv,
                                  const struct xen_tavs_packet *packets,
                                  unsigned int num)
{
    enum tavs_net_verdict verdict = TAVS_NET_NO;
    unsigned int i, bits = ACCESS_ONCE(tavs_portmap_bits);

    ASSERT(spin_is_locked(&g->lock));

    for ( i = 0; i < num; i++ )
    {
        if ( packets[i].flags & XEN_TAVS_PACKET_OPENS )
        {
            if ( verdict == TAVS_NET_NO &&
                 tavs_portmap_get(&g->beliefs->ports, bits, &packets[i]) >= 0 )
                verdict = TAVS_NET_OPENS;
        }
        else if ( tavs_slice_note(&tv->slice, &g->beliefs->ports, bits,
                                  &packets[i]) )
            verdict = TAVS_NET_YES;
    }

    return verdict;
}

enum tavs_net_verdict tavs_net_sent(struct domain *driver, struct vcpu *v)
{
    struct tavs_net *net = ACCESS_ONCE(driver->tavs.net);
    struct domain *d = v->domain;
    struct tavs_guest *g = tavs_guest(d);
    struct tavs_vcpu *tv = &g->vcpu[v->vcpu_id];
    struct xen_tavs_packet packets[XEN_TAVS_RING_SIZE];
    enum tavs_net_verdict verdict = TAVS_NET_NONE;
    bool incomplete, distrusted;
    unsigned int num;
    unsigned long flags;

    if ( !net || !driver->tavs.driver )
        return TAVS_NET_ABSENT;

    spin_lock_irqsave(&net->lock, flags);

    if ( unlikely(!net->area.map) )
    {
        spin_unlock_irqrestore(&net->lock, flags);
        return TAVS_NET_ABSENT;
    }

    if ( d->domain_id < DOMID_FIRST_RESERVED )
        __set_bit(d->domain_id, net->receivers);
    drain(net);
    num = tavs_packets_take(&net->packets, d->domain_id, packets);
    incomplete = net->packets.incomplete;
    net->notified += num;
    distrusted = net->distrusted && NOW() < net->distrusted;

    spin_unlock_irqrestore(&net->lock, flags);

    if ( !tavs_beliefs(d) )
        return num ? TAVS_NET_NO : TAVS_NET_NONE;

    spin_lock_irqsave(&g->lock, flags);
    if ( !tv->told )
        tavs_slice_served(&tv->slice);
    /* Without any: of a packet that is not recorded; others may be behind it. */
    tv->told = true;
    if ( num )
    {
        verdict = note(g, tv, packets, num);
        if ( incomplete )
            tv->slice.several = true;
    }
    spin_unlock_irqrestore(&g->lock, flags);

    if ( num )
        g->rx_vcpu = v->vcpu_id;

    return distrusted && verdict != TAVS_NET_YES ? TAVS_NET_ABSENT : verdict;
}

void tavs_net_learn(struct tavs_guest *g, struct tavs_vcpu *tv, s_time_t now)
{
    enum tavs_outcome outcome = tavs_segment_outcome(&tv->segment);

    ASSERT(spin_is_locked(&g->lock));

    if ( outcome == TAVS_OUTCOME_NONE )
        return;

    /* A timer alone woke up an I/O-bound task. */
    if ( tv->timed && !tv->slice.any && outcome == TAVS_OUTCOME_IO )
        g->timer_io = now;
    tv->timed = false;

    tavs_slice_learn(&tv->slice, &g->beliefs->ports,
                     ACCESS_ONCE(tavs_portmap_bits), outcome);
}

void tavs_net_flush(struct domain *d)
{
    struct tavs_net *net = d->tavs.net;
    const struct xen_tavs_ring *ring;

    ASSERT(!local_irq_is_enabled());

    if ( !d->tavs.driver )
        return;

    spin_lock(&net->lock);
    ring = net->area.map;
    if ( net->packets.num || net->block_guests ||
         (ring && ACCESS_ONCE(ring->prod) != net->packets.cons) )
        tasklet_schedule(&net->flush);
    spin_unlock(&net->lock);
}

/*
 * Nobody was told of this packet.  Boost who was told of another one and has
 * not run since.  Returns whether that was all there is to do.
 */
static bool leave_over(const struct xen_tavs_packet *packet)
{
    struct domain *d = rcu_lock_domain_by_id(packet->domid);
    enum tavs_net_verdict verdict = TAVS_NET_NO;
    struct tavs_guest *g;
    struct vcpu *v;
    bool told = true;

    if ( !d )
        return true;

    g = tavs_guest(d);
    v = g ? domain_vcpu(d, ACCESS_ONCE(g->rx_vcpu)) : NULL;

    if ( v && tavs_beliefs(d) )
    {
        struct tavs_vcpu *tv = &g->vcpu[v->vcpu_id];
        unsigned long flags;

        spin_lock_irqsave(&g->lock, flags);
        told = tv->told;
        if ( told )
            verdict = note(g, tv, packet, 1);
        spin_unlock_irqrestore(&g->lock, flags);

        /* Of whatever it was told, it may be nothing that anybody waits for. */
        if ( told )
            tavs_waits_since(v, NOW());
    }

    if ( verdict != TAVS_NET_NO && ACCESS_ONCE(tavs_correlate) &&
         tavs_has_believed(d) )
        tavs_raise(v, TAVS_REASON_NET, verdict == TAVS_NET_OPENS, NOW());

    rcu_unlock_domain(d);

    return told;
}

static void cf_check flush(void *data)
{
    struct tavs_net *net = data;
    struct xen_tavs_packet packets[XEN_TAVS_RING_SIZE];
    bool old[XEN_TAVS_RING_SIZE], done[XEN_TAVS_RING_SIZE];
    domid_t block_guest[TAVS_BLOCK_GUESTS];
    unsigned int i, num, block_guests;
    unsigned long flags;

    spin_lock_irqsave(&net->lock, flags);
    if ( net->area.map )
        drain(net);
    for ( num = 0; num < XEN_TAVS_RING_SIZE; num++ )
        if ( !tavs_packets_flush(&net->packets, &packets[num], &old[num]) )
            break;
    block_guests = net->block_guests;
    memcpy(block_guest, net->block_guest, sizeof(block_guest));
    net->block_guests = 0;
    spin_unlock_irqrestore(&net->lock, flags);

    for ( i = 0; i < block_guests; i++ )
        tavs_block_left_over(block_guest[i]);

    for ( i = 0; i < num; i++ )
        done[i] = leave_over(&packets[i]);

    spin_lock_irqsave(&net->lock, flags);
    for ( i = 0; i < num; i++ )
        if ( done[i] )
            net->left_over++;
        else if ( !old[i] )
            tavs_packets_keep(&net->packets, &packets[i]);
    spin_unlock_irqrestore(&net->lock, flags);
}

int tavs_ring_op(const struct xen_tavs_ring_op *op)
{
    struct domain *d = current->domain;
    struct tavs_net *net;
    struct guest_area area = {}, old;
    unsigned long flags;
    bool had;
    int rc;

    BUILD_BUG_ON(sizeof(*op) != 16);
    BUILD_BUG_ON(sizeof(struct xen_tavs_ring) != 256);

    if ( !d->tavs.driver )
        return -EPERM;

    rc = xsm_tavs_ring(XSM_HOOK, d);
    if ( rc )
        return rc;

    if ( op->version != XEN_TAVS_RING_VERSION || op->flags )
        return -EOPNOTSUPP;

    if ( !d->tavs.net )
    {
        net = xzalloc(struct tavs_net);
        if ( !net )
            return -ENOMEM;

        spin_lock_init(&net->lock);
        softirq_tasklet_init(&net->flush, flush, net);

        if ( cmpxchg(&d->tavs.net, NULL, net) )
            xfree(net);
    }
    net = d->tavs.net;

    /* Of the current vCPU, so that it need not be paused. */
    rc = map_guest_area(current, op->gaddr, sizeof(struct xen_tavs_ring),
                        &area, NULL);
    if ( rc )
        return rc;

    spin_lock_irqsave(&net->lock, flags);
    old = net->area;
    net->area = area;
    net->packets.num = 0;
    net->packets.cons = 0;
    net->packets.lost = 0;
    spin_unlock_irqrestore(&net->lock, flags);

    had = old.map;
    unmap_guest_area(current, &old);

    if ( had != !!area.map )
        printk(XENLOG_G_INFO "%pd tells %s packets for other domains\n", d,
               area.map ? "of" : "nothing more of");

    return 0;
}

/* The domain is dying or starts over: let go of its page. */
void tavs_domain_teardown(struct domain *d)
{
    struct tavs_net *net = d->tavs.net;
    struct guest_area old;
    unsigned long flags;

    if ( !net )
        return;

    spin_lock_irqsave(&net->lock, flags);
    old = net->area;
    net->area = (struct guest_area){};
    net->packets.num = 0;
    spin_unlock_irqrestore(&net->lock, flags);

    unmap_guest_area(d->vcpu[0], &old);
}

void tavs_domain_destroy(struct domain *d)
{
    if ( !d->tavs.net )
        return;

    ASSERT(!d->tavs.net->area.map);
    tasklet_kill(&d->tavs.net->flush);
    XFREE(d->tavs.net);
}

void tavs_net_stats(const struct domain *d, struct xen_domctl_tavs_stats *out)
{
    struct tavs_net *net = d->tavs.net;
    const struct tavs_packets *p;
    unsigned long flags;

    if ( !net )
        return;

    p = &net->packets;

    spin_lock_irqsave(&net->lock, flags);
    if ( net->area.map )
        out->flags |= XEN_DOMCTL_TAVS_STATS_ring;
    out->ring_taken = p->taken;
    out->ring_notified = net->notified;
    out->ring_left_over = net->left_over;
    out->ring_dropped = p->dropped;
    out->ring_lost = p->lost;
    out->ring_nonsense = p->nonsense;
    out->ring_overrun = p->overrun;
    spin_unlock_irqrestore(&net->lock, flags);
}

void tavs_net_dump(const struct domain *d)
{
    const struct tavs_net *net = d->tavs.net;
    const struct tavs_packets *p;

    if ( !net )
        return;

    p = &net->packets;
    printk("\t  packets: %s taken=%lu notified=%lu left over=%lu dropped=%lu lost=%u nonsense=%lu overrun=%lu\n",
           net->area.map ? "told" : "not told", p->taken, net->notified,
           net->left_over, p->dropped, p->lost, p->nonsense, p->overrun);
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
