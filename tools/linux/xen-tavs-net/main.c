// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells Xen's task-aware scheduler for which ports packets are delivered to
 * guests: an egress hook on each virtual interface (vif) of xen-netback.
 *
 * docs/net-module.md is the manual.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/list.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/reboot.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include <xen/xen.h>
#include <xen/xenbus.h>

#include "tavs.h"
#include "parse.h"
#include "ring.h"

struct vif {
	struct list_head list;
	struct nf_hook_ops hook;
	struct rcu_head rcu;
	domid_t domid;

	/*
	 * The latest SYNs, each where its tag says.  No lock: what a race loses,
	 * or another SYN displaces, costs the one boost for who accepts.
	 */
	u32 syns[TAVS_SYNS];
};

/* Under RTNL. */
static LIST_HEAD(vifs);

static unsigned int deliver(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	struct vif *vif = priv;
	struct tavs_parsed parsed;
	u32 *syn, was, is;

	if (!tavs_parse_packet(skb, &parsed))
		return NF_ACCEPT;

	syn = &vif->syns[parsed.tag % TAVS_SYNS];
	was = is = READ_ONCE(*syn);

	if (tavs_is_told(&parsed, &is))
		tavs_ring_record(vif->domid, parsed.protocol, parsed.port,
				 parsed.opens ? XEN_TAVS_PACKET_OPENS : 0);

	if (is != was)
		WRITE_ONCE(*syn, is);

	return NF_ACCEPT;
}

/* The xenbus device of a vif; NULL: it is something else. */
static const struct xenbus_device *vif_device(const struct net_device *dev)
{
	const struct device *parent = dev->dev.parent;
	const struct xenbus_device *xbdev;

	if (!parent || !parent->bus || strcmp(parent->bus->name, "xen-backend"))
		return NULL;

	xbdev = container_of(parent, struct xenbus_device, dev);

	return strcmp(xbdev->devicetype, "vif") ? NULL : xbdev;
}

static struct vif *find_vif(const struct net_device *dev)
{
	struct vif *vif;

	list_for_each_entry(vif, &vifs, list)
		if (vif->hook.dev == dev)
			return vif;

	return NULL;
}

static void add_vif(struct net_device *dev)
{
	const struct xenbus_device *xbdev = vif_device(dev);
	struct vif *vif;
	int rc;

	if (!xbdev || find_vif(dev))
		return;

	vif = kzalloc(sizeof(*vif), GFP_KERNEL);
	if (!vif)
		return;

	vif->domid = xbdev->otherend_id;
	vif->hook.hook = deliver;
	vif->hook.priv = vif;
	vif->hook.dev = dev;
	vif->hook.pf = NFPROTO_NETDEV;
	vif->hook.hooknum = NF_NETDEV_EGRESS;
	vif->hook.priority = INT_MAX;	/* what others drop is not delivered */

	rc = nf_register_net_hook(dev_net(dev), &vif->hook);
	if (rc) {
		netdev_warn(dev, "%s: cannot see its packets: %d\n",
			    KBUILD_MODNAME, rc);
		kfree(vif);
		return;
	}

	list_add(&vif->list, &vifs);
	netdev_info(dev, "%s: tells of packets for domain %u\n",
		    KBUILD_MODNAME, vif->domid);
}

static void remove_vif(struct net_device *dev)
{
	struct vif *vif = find_vif(dev);

	if (!vif)
		return;

	nf_unregister_net_hook(dev_net(dev), &vif->hook);
	list_del(&vif->list);
	netdev_info(dev, "%s: tells nothing more of it\n", KBUILD_MODNAME);
	kfree_rcu(vif, rcu);
}

/* Interfaces that there are already are announced when this is registered. */
static int on_netdev(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);

	switch (event) {
	case NETDEV_REGISTER:
		add_vif(dev);
		break;
	case NETDEV_UNREGISTER:
		remove_vif(dev);
		break;
	}

	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = { .notifier_call = on_netdev };

/* What boots next (kexec) must not find Xen writing to its memory. */
static int on_reboot(struct notifier_block *nb, unsigned long event, void *ptr)
{
	tavs_ring_withdraw();

	return NOTIFY_DONE;
}

static struct notifier_block reboot_notifier = { .notifier_call = on_reboot };

static bool active;

static int __init tavs_net_init(void)
{
	int rc;

	if (!xen_domain()) {
		pr_info("this is no Xen domain\n");
		return -ENODEV;
	}

	rc = tavs_ring_open();
	if (rc == -ENOSYS) {
		pr_info("this Xen has no task-aware scheduler: nothing to do\n");
		return 0;
	}
	if (rc) {
		pr_err("Xen does not take the ring: %d\n", rc);
		return rc;
	}

	rc = register_netdevice_notifier(&netdev_notifier);
	if (rc) {
		tavs_ring_close();
		return rc;
	}

	register_reboot_notifier(&reboot_notifier);
	active = true;
	pr_info("Xen is told of packets for guests\n");

	return 0;
}

static void __exit tavs_net_exit(void)
{
	if (!active)
		return;

	unregister_reboot_notifier(&reboot_notifier);
	/* Announces all interfaces as gone. */
	unregister_netdevice_notifier(&netdev_notifier);
	/* Nobody is in deliver() any more, nor will be. */
	synchronize_net();
	rcu_barrier();
	pr_info("told Xen of %u packets, %u found the ring full\n",
		tavs_ring_recorded(), tavs_ring_lost());
	tavs_ring_close();
}

module_init(tavs_net_init);
module_exit(tavs_net_exit);

MODULE_DESCRIPTION("Tells Xen's task-aware scheduler of packets for guests");
MODULE_LICENSE("GPL");
MODULE_ALIAS("xen-backend:vif");
