// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest: pages for the driver domain, whose grants change or end while they
 * are mapped, and channels to it, through which it notifies more than anybody
 * needs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>

#include <xen/events.h>
#include <xen/grant_table.h>
#include <xen/interface/event_channel.h>
#include <xen/page.h>
#include <xen/xenbus.h>
#include <asm/xen/hypercall.h>

#include "abuse.h"

#define BURST		32	/* notifications at a time */
#define PERIOD_US	300

static struct notice *notice;
static void *bait[BAITS];

static irqreturn_t nothing(int irq, void *data)
{
	return IRQ_HANDLED;
}

int guest_begin(void)
{
	struct evtchn_alloc_unbound unbound = { .dom = DOMID_SELF, .remote_dom = 0 };
	unsigned int i;
	int rc;

	for (i = 0; i < BAITS; i++) {
		bait[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!bait[i])
			return -ENOMEM;
	}

	notice = bait[0];
	for (i = 0; i < BAITS; i++) {
		rc = gnttab_grant_foreign_access(0, virt_to_gfn(bait[i]), i % 2);
		if (rc < 0)
			return rc;
		notice->ref[i] = rc;
	}

	for (i = 0; i < CHANNELS; i++) {
		rc = HYPERVISOR_event_channel_op(EVTCHNOP_alloc_unbound, &unbound);
		if (rc)
			return rc;
		notice->port[i] = unbound.port;
		rc = bind_evtchn_to_irqhandler(unbound.port, nothing, 0, "tavs-abuse", &bait[i]);
		if (rc < 0)
			return rc;
	}

	memcpy(notice->magic, MAGIC, sizeof(notice->magic));

	return xenbus_printf(XBT_NIL, NODE_DIR, NODE, "%u", notice->ref[0]);
}

int guest_abuse(void *unused)
{
	/* The driver domain may write to the pages, that of the notice too. */
	struct notice mine = *notice;
	unsigned int i, n;

	while (!kthread_should_stop()) {
		for (i = any(BURST); i; i--)
			notify_remote_via_evtchn(mine.port[any(CHANNELS)]);

		n = 1 + any(BAITS - 1);
		switch (any(8)) {
		case 0:		/* taken back, if it is not mapped */
			if (gnttab_end_foreign_access_ref(mine.ref[n]))
				gnttab_grant_foreign_access_ref(mine.ref[n], 0, virt_to_gfn(bait[n]), n % 2);
			break;
		case 1:		/* another page, or what is none of its own, while it may be mapped */
			gnttab_grant_foreign_access_ref(mine.ref[n], 0,
							any(4) ? virt_to_gfn(bait[1 + any(BAITS - 1)]) :
							any(2) ? any(16) : (1 << 22) + any(1 << 20), any(2));
			break;
		case 2:		/* for another domain */
			gnttab_grant_foreign_access_ref(mine.ref[n], any(8), virt_to_gfn(bait[n]), any(2));
			break;
		default:	/* as it was */
			gnttab_grant_foreign_access_ref(mine.ref[n], 0, virt_to_gfn(bait[n]), n % 2);
			break;
		}

		usleep_range(PERIOD_US / 2, PERIOD_US);
	}

	return 0;
}
