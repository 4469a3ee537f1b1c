// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring of packets that is shared with Xen (tavs.h).
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/spinlock.h>

#include <xen/page.h>
#include <xen/interface/xen.h>
#include <asm/xen/hypercall.h>

#include "tavs.h"
#include "ring.h"

/*
 * Protects the ring, and what is in it, against ourselves on other CPUs and in
 * interrupts.
 */
static DEFINE_SPINLOCK(lock);
static struct xen_tavs_ring *ring;

static int share(u64 gaddr)
{
	struct xen_tavs_ring_op op = {
		.gaddr = gaddr,
		.version = XEN_TAVS_RING_VERSION,
	};

	return HYPERVISOR_sched_op(SCHEDOP_tavs_ring, &op);
}

int tavs_ring_open(void)
{
	int rc;

	/* A page: nothing else may be in what is shared. */
	ring = (void *)get_zeroed_page(GFP_KERNEL);
	if (!ring)
		return -ENOMEM;

	rc = share((u64)virt_to_gfn(ring) << XEN_PAGE_SHIFT);
	if (rc) {
		free_page((unsigned long)ring);
		ring = NULL;
	}

	return rc;
}

void tavs_ring_withdraw(void)
{
	if (ring)
		WARN_ON(share(~0ULL));
}

void tavs_ring_close(void)
{
	tavs_ring_withdraw();
	free_page((unsigned long)ring);
	ring = NULL;
}

static bool same(const struct xen_tavs_packet *a,
		 const struct xen_tavs_packet *b)
{
	return a->domid == b->domid && a->protocol == b->protocol &&
	       a->flags == b->flags && a->port == b->port;
}

void tavs_ring_record(u16 domid, u8 protocol, u16 port, u8 flags)
{
	const struct xen_tavs_packet packet = {
		.domid = domid,
		.protocol = protocol,
		.flags = flags,
		.port = port,
	};
	unsigned long irq;
	u32 i, cons;

	spin_lock_irqsave(&lock, irq);

	cons = READ_ONCE(ring->cons);

	/*
	 * Once is enough: Xen asks for whom there is something, not how much.
	 * (It may take the other one just now, for a notification that does
	 * not announce this packet.  Then the guest waits its turn for it.)
	 */
	if (ring->prod - cons > XEN_TAVS_RING_SIZE)
		goto full;
	for (i = cons; i != ring->prod; i++)
		if (same(&ring->packet[i % XEN_TAVS_RING_SIZE], &packet))
			goto out;

	if (ring->prod - cons == XEN_TAVS_RING_SIZE) {
full:
		WRITE_ONCE(ring->lost, ring->lost + 1);
		goto out;
	}

	ring->packet[ring->prod % XEN_TAVS_RING_SIZE] = packet;
	virt_wmb();
	WRITE_ONCE(ring->prod, ring->prod + 1);

out:
	spin_unlock_irqrestore(&lock, irq);
}

u32 tavs_ring_recorded(void)
{
	return ring->prod;
}

u32 tavs_ring_lost(void)
{
	return ring->lost;
}
