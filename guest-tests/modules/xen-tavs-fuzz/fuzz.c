// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile driver domain: shares rings of packets with Xen, and writes to them
 * whatever comes to its mind, before, while and after Xen looks.
 *
 * In the place of xen-tavs-net, for tests.  What it does follows from `seed`.
 * About every `period_us` it writes; between, the machine does what it does
 * anyway, and Xen looks at the ring whenever this domain notifies a guest or
 * gives up its pCPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <xen/page.h>
#include <xen/xen.h>
#include <asm/pgtable.h>
#include <asm/xen/hypercall.h>

#include "tavs.h"

static unsigned long seed = 1;
module_param(seed, ulong, 0444);

static unsigned int period_us = 500;
module_param(period_us, uint, 0444);

static struct rnd_state rnd;
static struct task_struct *thread;
static struct xen_tavs_ring *pages[2];
static unsigned long registered, refused, wrong, written;

static u32 any(void)
{
	return prandom_u32_state(&rnd);
}

static int op(u64 gaddr, u32 version, u32 flags)
{
	struct xen_tavs_ring_op ring = {
		.gaddr = gaddr, .version = version, .flags = flags,
	};

	return HYPERVISOR_sched_op(SCHEDOP_tavs_ring, &ring);
}

static u64 address(void *p)
{
	return ((u64)virt_to_gfn(p) << XEN_PAGE_SHIFT) + offset_in_page(p);
}

static void expect_refusal(const char *what, int rc)
{
	refused++;
	if (rc < 0)
		return;

	wrong++;
	pr_err("WARN: Xen took %s\n", what);
}

static void hostile_op(void)
{
	struct xen_tavs_ring *page = pages[0];

	switch (any() % 9) {
	case 0:
		expect_refusal("another version", op(address(page), any() | 2, 0));
		break;
	case 1:
		expect_refusal("flags", op(address(page), XEN_TAVS_RING_VERSION, any() | 1));
		break;
	case 2:
		expect_refusal("an address that is not aligned",
			       op(address(page) + (any() & 0x7f8) + 1 + any() % 7, XEN_TAVS_RING_VERSION, 0));
		break;
	case 3:
		expect_refusal("a ring across pages",
			       op(address(page) + PAGE_SIZE - 8 * (1 + any() % 31), XEN_TAVS_RING_VERSION, 0));
		break;
	case 4:
		expect_refusal("an address beyond memory",
			       op((u64)any() << 32 | (any() & ~7u) | 1ULL << 50, XEN_TAVS_RING_VERSION, 0));
		break;
	case 5:
		/* Xen's own: its first MiB belongs to nobody else. */
		expect_refusal("a page of Xen's", op((any() % 0xa0) << XEN_PAGE_SHIFT, XEN_TAVS_RING_VERSION, 0));
		break;
	case 6:
		/*
		 * Nothing may be written to a page table but by Xen.  That in use is
		 * one; that of current->active_mm is not yet, or no more, while a
		 * program begins or ends.
		 */
		expect_refusal("a page table", op(address(__va(read_cr3_pa())), XEN_TAVS_RING_VERSION, 0));
		break;
	case 7:
		if (op(~0ULL, XEN_TAVS_RING_VERSION, 0))
			wrong++;
		break;
	default:
		if (HYPERVISOR_sched_op(SCHEDOP_tavs_ring, NULL) >= 0)
			wrong++;
		break;
	}
}

static void write_ring(struct xen_tavs_ring *ring)
{
	unsigned int i;

	written++;
	switch (any() % 6) {
	case 0:	/* anything, indices as well */
		for (i = 0; i < sizeof(*ring) / 4; i++)
			WRITE_ONCE(((u32 *)ring)[i], any());
		break;
	case 1:	/* one bit */
		((u8 *)ring)[any() % sizeof(*ring)] ^= 1 << any() % 8;
		break;
	case 2:	/* an index that is, or just is not, within bounds */
		WRITE_ONCE(ring->prod, READ_ONCE(ring->cons) + any() % (XEN_TAVS_RING_SIZE + 2));
		break;
	case 3:
		WRITE_ONCE(ring->lost, any());
		break;
	default: /* packets that look right, for domains that there are, were, or never will be */
		for (i = any() % (XEN_TAVS_RING_SIZE + 1); i; i--) {
			ring->packet[ring->prod % XEN_TAVS_RING_SIZE] = (struct xen_tavs_packet) {
				.domid = any() % 4 ? any() % 5 : 0x7ff0 + any() % 20,
				.protocol = any() % 2 ? 17 : 6,
				.port = any() % 2 ? 7 : any(),
			};
			WRITE_ONCE(ring->prod, ring->prod + 1);
		}
		break;
	}
}

static int fuzz(void *unused)
{
	while (!kthread_should_stop()) {
		u32 what = any() % 64;

		if (what == 0) {
			hostile_op();
		} else if (what < 4) {
			/* Another one in its place; or the same again. */
			struct xen_tavs_ring *page = pages[any() % 2];

			if (op(address(page) + (any() % 2 ? PAGE_SIZE - sizeof(*page) : 0), XEN_TAVS_RING_VERSION, 0))
				wrong++;
			registered++;
		}
		/* At either end of a page, which may be the one that is shared or not. */
		write_ring((void *)pages[any() % 2] + (any() % 2 ? PAGE_SIZE - sizeof(struct xen_tavs_ring) : 0));

		/* Give up the pCPU; now and then go on. */
		if (any() % 4)
			usleep_range(period_us / 2, period_us);
		if (registered % 1000 == 0 && what == 1)
			pr_alert("%lu writes, %lu registered, %lu refused, %lu wrong\n", written, registered, refused, wrong);
	}

	return 0;
}

static int __init fuzz_init(void)
{
	int rc;

	if (!xen_domain())
		return -ENODEV;

	prandom_seed_state(&rnd, seed);
	pages[0] = (void *)get_zeroed_page(GFP_KERNEL);
	pages[1] = (void *)get_zeroed_page(GFP_KERNEL);
	if (!pages[0] || !pages[1])
		return -ENOMEM;

	rc = op(address(pages[0]), XEN_TAVS_RING_VERSION, 0);
	pr_alert("begins; Xen says %d\n", rc);

	thread = kthread_run(fuzz, NULL, "tavs-fuzz");

	return PTR_ERR_OR_ZERO(thread);
}

static void __exit fuzz_exit(void)
{
	kthread_stop(thread);
	if (op(~0ULL, XEN_TAVS_RING_VERSION, 0))
		wrong++;
	pr_alert("ends: %lu writes, %lu registered, %lu refused, %lu wrong\n", written, registered, refused, wrong);
	free_page((unsigned long)pages[0]);
	free_page((unsigned long)pages[1]);
}

module_init(fuzz_init);
module_exit(fuzz_exit);

MODULE_DESCRIPTION("Writes nonsense to rings shared with Xen");
MODULE_LICENSE("GPL");
