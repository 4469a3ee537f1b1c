// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants and event channels, used as no driver would.  For tests.
 *
 * In the initial domain (driver.c) it is a hostile driver domain; in a guest
 * whose name begins with "bad" (guest.c) it offers that pages and channels, and
 * misuses them itself.  Elsewhere it does nothing.  What they do follows from a
 * seed.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <xen/xen.h>
#include <xen/xenbus.h>

#include "abuse.h"

struct rnd_state abuse_rnd;

static unsigned long seed = 1;
module_param(seed, ulong, 0444);

static struct task_struct *thread;

static bool is_bad(void)
{
	char *name = xenbus_read(XBT_NIL, "name", "", NULL);
	bool bad;

	if (IS_ERR(name))
		return false;

	bad = !strncmp(name, "bad", 3);
	kfree(name);

	return bad;
}

static int __init abuse_init(void)
{
	int rc;

	if (!xen_domain())
		return -ENODEV;

	prandom_seed_state(&abuse_rnd, seed);

	if (!xen_initial_domain() && !is_bad())
		return 0;

	rc = xen_initial_domain() ? driver_begin() : guest_begin();
	if (rc)
		return rc;

	thread = kthread_run(xen_initial_domain() ? driver_abuse : guest_abuse, NULL, "tavs-abuse");

	return PTR_ERR_OR_ZERO(thread);
}

/* Only the driver domain's can be unloaded: others would take back what is mapped. */
static void __exit abuse_exit(void)
{
	if (!xen_initial_domain())
		return;

	kthread_stop(thread);
	driver_end();
}

module_init(abuse_init);
module_exit(abuse_exit);

MODULE_DESCRIPTION("Abuses grants and event channels");
MODULE_LICENSE("GPL");
