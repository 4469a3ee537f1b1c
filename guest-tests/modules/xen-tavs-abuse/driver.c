// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver domain: maps what guests grant again and again, in all ways that
 * there are, and unmaps it whenever it likes or not at all; copies to and from
 * odd places; names grants, handles and domains that do not exist; and notifies
 * guests of nothing.
 *
 * Of guests that take no part it only reads, and only what they grant.  What it
 * maps or writes to are pages that were made for it: what becomes of a guest
 * whose rings are overwritten, or whose requests stay mapped, is no question to
 * Xen.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/notifier.h>

#include <xen/events.h>
#include <xen/grant_table.h>
#include <xen/interface/event_channel.h>
#include <xen/interface/grant_table.h>
#include <xen/page.h>
#include <xen/xenbus.h>
#include <asm/pgtable.h>
#include <asm/xen/hypercall.h>

#include "abuse.h"

#define PAGES		32	/* places for what is mapped */
#define MAPPINGS	320	/* at a time; more than Xen counts of one grant */
#define DOMAINS		10	/* domain IDs that it looks at */
#define WILD_REF	8192	/* no guest has that many grants */
#define OPS		8	/* at a time */
#define NOTIFICATIONS	16	/* likewise */
#define PERIOD_US	400

/* Flags that are refused are among them. */
static const unsigned int ways[] = {
	GNTMAP_host_map,
	GNTMAP_host_map | GNTMAP_readonly,
	GNTMAP_host_map | GNTMAP_contains_pte,
	GNTMAP_host_map | GNTMAP_contains_pte | GNTMAP_readonly,
	GNTMAP_host_map | GNTMAP_device_map,
	GNTMAP_host_map | GNTMAP_device_map | GNTMAP_readonly,
	GNTMAP_device_map,
	GNTMAP_device_map,
	GNTMAP_device_map | GNTMAP_readonly,
	GNTMAP_device_map | GNTMAP_readonly,
	GNTMAP_device_map | GNTMAP_contains_pte,
	GNTMAP_application_map,
	0,
};

/* Written once all guests are up. */
static bool active;
module_param(active, bool, 0644);

static struct page *place[PAGES];
static bool taken[PAGES];
static void *scratch;

static struct mapping {
	bool used;
	unsigned int flags;		/* of ways[], less what was unmapped already */
	unsigned int place;
	u64 host_addr, dev_bus_addr;
	u32 handle, ref;
	domid_t domid;
} mapping[MAPPINGS];

static struct target {
	bool known;
	u32 ref[BAITS];
	unsigned int channels;
	evtchn_port_t port[CHANNELS];
	int irq[CHANNELS];		/* 0: nobody listens */
} target[DOMAINS];

static unsigned long mapped, not_mapped, unmapped, wrong, copied, not_copied, sent;

/* Of whoever is asked to be a target; else of anybody, also of nobody. */
static domid_t any_domain(bool *bait)
{
	domid_t domid = any(DOMAINS);

	*bait = target[domid].known;
	if (*bait || any(2))
		return domid;

	return any(2) ? DOMID_SELF : 0x7fe0 + any(32);
}

/* The guest's answer to its own notifications. */
static irqreturn_t echo(int irq, void *data)
{
	notify_remote_via_evtchn(*(evtchn_port_t *)data);

	return IRQ_HANDLED;
}

static void look_at(domid_t domid)
{
	struct target *t = &target[domid];
	struct notice *notice = scratch;
	struct gnttab_copy copy = {
		.source.domid = domid, .dest.domid = DOMID_SELF, .dest.u.gmfn = virt_to_gfn(scratch),
		.len = sizeof(*notice), .flags = GNTCOPY_source_gref,
	};
	char path[32];
	unsigned int ref, i;

	snprintf(path, sizeof(path), "/local/domain/%u/" NODE_DIR, domid);
	if (xenbus_scanf(XBT_NIL, path, NODE, "%u", &ref) != 1)
		return;

	copy.source.u.ref = ref;
	if (HYPERVISOR_grant_table_op(GNTTABOP_copy, &copy, 1) || copy.status != GNTST_okay ||
	    memcmp(notice->magic, MAGIC, sizeof(notice->magic)))
		return;

	memcpy(t->ref, notice->ref, sizeof(t->ref));
	for (i = 0; i < CHANNELS; i++) {
		struct evtchn_bind_interdomain bind = { .remote_dom = domid, .remote_port = notice->port[i] };

		if (HYPERVISOR_event_channel_op(EVTCHNOP_bind_interdomain, &bind))
			break;

		t->port[i] = bind.local_port;
		if (i % 2) {
			int irq = bind_evtchn_to_irqhandler(bind.local_port, echo, 0, "tavs-abuse", &t->port[i]);

			t->irq[i] = irq > 0 ? irq : 0;
		}
	}
	t->channels = i;
	t->known = true;
	pr_alert("domain %u: %u grants, %u channels\n", domid, BAITS, t->channels);
}

static int free_place(void)
{
	unsigned int i, first = any(PAGES);

	for (i = 0; i < PAGES; i++)
		if (!taken[(first + i) % PAGES])
			return (first + i) % PAGES;

	return -1;
}

/* Where the page table has the address of a place. */
static u64 pte_of(unsigned int where)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)page_address(place[where]), &level);

	return pte && level == PG_LEVEL_4K ? arbitrary_virt_to_machine(pte).maddr : 0;
}

static void map_some(void)
{
	struct gnttab_map_grant_ref op[OPS] = {};
	struct mapping *m[OPS];
	unsigned int i, n = 0, from = any(MAPPINGS);

	for (i = 0; i < MAPPINGS && n < OPS; i++) {
		struct mapping *new = &mapping[(from + i) % MAPPINGS];
		int where = -1;
		bool bait;

		if (new->used)
			continue;

		*new = (struct mapping) { .flags = ways[any(ARRAY_SIZE(ways))], .domid = any_domain(&bait) };
		/* Mostly the same few. */
		new->ref = bait && any(8) ? target[new->domid].ref[any(4) ? any(2) : any(BAITS)] : WILD_REF + any(1 << 30);
		if (new->flags & GNTMAP_host_map) {
			where = free_place();
			if (where < 0)
				break;
			new->place = where;
			new->host_addr = new->flags & GNTMAP_contains_pte ? pte_of(where)
									  : (unsigned long)page_address(place[where]);
			if (!new->host_addr)
				break;
			taken[where] = true;
		}
		new->used = true;

		m[n] = new;
		op[n++] = (struct gnttab_map_grant_ref) {
			.host_addr = new->host_addr, .flags = new->flags, .ref = new->ref, .dom = new->domid,
		};
	}

	if (!n || HYPERVISOR_grant_table_op(GNTTABOP_map_grant_ref, op, n))
		return;

	for (i = 0; i < n; i++) {
		m[i]->handle = op[i].handle;
		m[i]->dev_bus_addr = op[i].dev_bus_addr;
		if (op[i].status == GNTST_okay) {
			mapped++;
			continue;
		}
		not_mapped++;
		m[i]->used = false;
		if (m[i]->flags & GNTMAP_host_map)
			taken[m[i]->place] = false;
	}
}

/* Both halves at once, or one and later the other. */
static void unmap(struct mapping *m, bool all)
{
	unsigned int half = m->flags & (GNTMAP_host_map | GNTMAP_device_map);
	struct gnttab_unmap_grant_ref op = { .handle = m->handle };

	if (!all && half == (GNTMAP_host_map | GNTMAP_device_map))
		half = any(2) ? GNTMAP_host_map : GNTMAP_device_map;
	if (half & GNTMAP_host_map)
		op.host_addr = m->host_addr;
	if (half & GNTMAP_device_map)
		op.dev_bus_addr = m->dev_bus_addr;

	if (HYPERVISOR_grant_table_op(GNTTABOP_unmap_grant_ref, &op, 1) || op.status != GNTST_okay) {
		pr_err("WARN: domain %u's grant %u cannot be unmapped: %d\n", m->domid, m->ref, op.status);
		return;
	}

	unmapped++;
	m->flags &= ~half;
	if (half & GNTMAP_host_map)
		taken[m->place] = false;
	m->used = m->flags & (GNTMAP_host_map | GNTMAP_device_map);
}

/* What is mapped elsewhere, what is not mapped any more, and what never was. */
static void unmap_wrong(void)
{
	const struct mapping *m = &mapping[any(MAPPINGS)];
	struct gnttab_unmap_grant_ref op = {
		.handle = any(2) ? m->handle : any(1u << 31),
		/* Aligned: else a debug Xen takes it for its own mistake (docs/findings.md). */
		.host_addr = (unsigned long)scratch + (any(PAGE_SIZE) & ~7),
		.dev_bus_addr = any(2) ? 0 : m->dev_bus_addr + 1 + any(PAGE_SIZE - 1),
	};

	/* That it may call success: where neither address is for this kind of mapping. */
	HYPERVISOR_grant_table_op(GNTTABOP_unmap_grant_ref, &op, 1);
	wrong++;
}

static void copy_some(void)
{
	struct gnttab_copy op[OPS] = {};
	unsigned int i, n = 1 + any(OPS);

	for (i = 0; i < n; i++) {
		bool bait;
		domid_t domid = any_domain(&bait);

		op[i].len = any(PAGE_SIZE + 16);
		op[i].source.offset = any(4) ? any(64) : any(PAGE_SIZE + 16);
		op[i].dest.offset = any(4) ? any(64) : any(PAGE_SIZE + 16);
		op[i].source.domid = domid;
		op[i].dest.domid = DOMID_SELF;
		op[i].dest.u.gmfn = virt_to_gfn(scratch);

		if (any(16)) {
			op[i].flags = GNTCOPY_source_gref;
			op[i].source.u.ref = bait && any(2) ? target[domid].ref[any(BAITS)] : any(WILD_REF);
		} else
			op[i].source.u.gmfn = any(1 << 20);

		if (!any(3)) {
			domid = any_domain(&bait);
			op[i].flags |= GNTCOPY_dest_gref;
			op[i].dest.domid = domid;
			op[i].dest.u.ref = bait ? target[domid].ref[any(BAITS)] : WILD_REF + any(1 << 30);
		}
	}

	if (HYPERVISOR_grant_table_op(GNTTABOP_copy, op, n))
		return;

	for (i = 0; i < n; i++)
		if (op[i].status == GNTST_okay)
			copied++;
		else
			not_copied++;
}

static void notify(void)
{
	unsigned int n;

	for (n = any(NOTIFICATIONS); n; n--) {
		const struct target *t = &target[any(DOMAINS)];

		if (!t->channels)
			continue;

		notify_remote_via_evtchn(t->port[any(t->channels)]);
		sent++;
	}
}

static bool xenstore_runs;

static int xenstore_is_up(struct notifier_block *block, unsigned long event, void *data)
{
	WRITE_ONCE(xenstore_runs, true);

	return NOTIFY_DONE;
}

static struct notifier_block xenstore_block = { .notifier_call = xenstore_is_up };

int driver_begin(void)
{
	int rc;

	scratch = (void *)get_zeroed_page(GFP_KERNEL);
	if (!scratch)
		return -ENOMEM;

	rc = gnttab_alloc_pages(PAGES, place);
	/* The module is loaded before anything of the toolstack runs. */
	if (!rc)
		register_xenstore_notifier(&xenstore_block);

	return rc;
}

int driver_abuse(void *unused)
{
	unsigned int round = 0;

	while (!kthread_should_stop() && !(READ_ONCE(xenstore_runs) && READ_ONCE(active)))
		msleep(100);

	while (!kthread_should_stop()) {
		struct mapping *m = &mapping[any(MAPPINGS)];

		if (round < DOMAINS)
			look_at(round);
		round++;

		switch (any(8)) {
		case 0:
		case 1:
			map_some();
			break;
		case 2:
		case 3:
		case 4:
			if (m->used)
				unmap(m, any(2));
			break;
		case 5:
			unmap_wrong();
			break;
		case 6:
			copy_some();
			break;
		case 7:
			notify();
			break;
		}

		/* Some at once, then it gives up the pCPU. */
		if (!any(4))
			usleep_range(PERIOD_US / 2, PERIOD_US);
	}

	return 0;
}

void driver_end(void)
{
	unsigned int i, j, left = 0, most = 0;

	unregister_xenstore_notifier(&xenstore_block);

	for (i = 0; i < MAPPINGS; i++) {
		unsigned int same = 0;

		for (j = 0; mapping[i].used && j < MAPPINGS; j++)
			same += mapping[j].used && mapping[j].domid == mapping[i].domid && mapping[j].ref == mapping[i].ref;
		most = max(most, same);
	}

	for (i = 0; i < MAPPINGS; i++) {
		if (mapping[i].used)
			unmap(&mapping[i], true);
		left += mapping[i].used;
	}

	for (i = 0; i < DOMAINS; i++)
		for (j = 0; j < target[i].channels; j++) {
			struct evtchn_close close = { .port = target[i].port[j] };

			if (target[i].irq[j])
				unbind_from_irqhandler(target[i].irq[j], &target[i].port[j]);
			else
				HYPERVISOR_event_channel_op(EVTCHNOP_close, &close);
		}

	pr_alert("ends: mapped=%lu (%lu refused, one grant %u times at the end) unmapped=%lu (and %lu wrong) copied=%lu (%lu refused) sent=%lu left=%u\n",
		 mapped, not_mapped, most, unmapped, wrong, copied, not_copied, sent, left);

	if (!left)
		gnttab_free_pages(PAGES, place);
	free_page((unsigned long)scratch);
}
