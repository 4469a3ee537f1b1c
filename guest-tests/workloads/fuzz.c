// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz: random calls of the interfaces by which tools tune and question the
 * scheduler tavs, from dom0, straight to the hypervisor.
 *
 * Values, operations, sizes and pointers are drawn from what is allowed, what
 * is just beyond it, and anything. Each attempt to set something is judged by
 * what can be read before and after: one that failed must have changed
 * nothing, one that succeeded exactly what it named. The hypervisor's own
 * ASSERTs judge the rest.
 *
 * Credit's parameters of the cpupool and the knobs are as they were in the
 * end, and so is dom0. Other domains keep what they got.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define __XEN_TOOLS__
#include <xen/xen.h>
#include <xen/domctl.h>
#include <xen/sysctl.h>
#include <xen/sys/privcmd.h>

#include "args.h"
#include "prng.h"

#define MAX_DOMAINS	16
#define ARRAY_BYTES	(64 * 1024)

static uint64_t calls = 100000, seed = 1;
static struct prng rng;
static int privcmd;

/* What hypercalls point to must not be paged out. */
static struct {
	struct xen_domctl domctl;
	struct xen_sysctl sysctl;
	char array[ARRAY_BYTES];
} *mem;

static uint64_t accepted, refused, changed;
static domid_t domains[MAX_DOMAINS];
static unsigned int nr_domains;

static struct opt options[] = {
	{ .name = "calls", .placeholder = "N", .type = OPT_NUMBER, .value = &calls,
	  .min = 1, .max = 1000000000, .help = "how many" },
	{ .name = "seed", .placeholder = "N", .type = OPT_NUMBER, .value = &seed,
	  .min = 0, .max = UINT64_MAX, .help = "of the random numbers" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "fuzz",
	.summary = "Random calls of the control interfaces of the scheduler tavs, from dom0.",
	.opts = options,
};

/* 0, or a negative error number. */
static long hypercall(unsigned long op, void *arg)
{
	privcmd_hypercall_t call = { .op = op, .arg = { (unsigned long)arg } };
	long rc = ioctl(privcmd, IOCTL_PRIVCMD_HYPERCALL, &call);

	return rc < 0 ? -errno : rc;
}

static long domctl(void)
{
	mem->domctl.interface_version = XEN_DOMCTL_INTERFACE_VERSION;
	return hypercall(__HYPERVISOR_domctl, &mem->domctl);
}

static long sysctl(void)
{
	mem->sysctl.interface_version = XEN_SYSCTL_INTERFACE_VERSION;
	return hypercall(__HYPERVISOR_sysctl, &mem->sysctl);
}

static bool one_in(unsigned int n)
{
	return !prng_below(&rng, n);
}

/* A number that is interesting to whoever takes lo to hi. */
static int64_t number(int64_t lo, int64_t hi)
{
	switch (prng_below(&rng, 8)) {
	case 0:
		return lo;
	case 1:
		return hi;
	case 2:
		return lo - 1;
	case 3:
		return hi + 1;
	case 4:
		return (int64_t)prng_next(&rng);
	case 5:
		return one_in(2) ? 0 : -1;
	default:
		return lo + (int64_t)prng_below(&rng, hi - lo + 1);
	}
}

static domid_t some_domain(void)
{
	return one_in(8) ? prng_next(&rng) : domains[prng_below(&rng, nr_domains)];
}

static uint32_t some_scheduler(void)
{
	return one_in(16) ? number(0, 12) : XEN_SCHEDULER_TAVS;
}

static bool get_domain(domid_t domid, struct xen_domctl_sched_tavs *p)
{
	memset(&mem->domctl, 0, sizeof(mem->domctl));
	mem->domctl.cmd = XEN_DOMCTL_scheduler_op;
	mem->domctl.domain = domid;
	mem->domctl.u.scheduler_op.sched_id = XEN_SCHEDULER_TAVS;
	mem->domctl.u.scheduler_op.cmd = XEN_DOMCTL_SCHEDOP_getinfo;
	if (domctl())
		return false;
	*p = mem->domctl.u.scheduler_op.u.tavs;
	return true;
}

static void count(long rc)
{
	if (rc)
		refused++;
	else
		accepted++;
}

static void fuzz_domain(void)
{
	struct xen_domctl_sched_tavs before, after, set;
	domid_t domid = some_domain();
	bool known = get_domain(domid, &before), putting;
	struct xen_domctl_scheduler_op *op = &mem->domctl.u.scheduler_op;
	long rc;

	memset(&mem->domctl, 0, sizeof(mem->domctl));
	mem->domctl.cmd = XEN_DOMCTL_scheduler_op;
	mem->domctl.domain = domid;
	op->sched_id = some_scheduler();
	op->cmd = one_in(8) ? number(0, 4) : XEN_DOMCTL_SCHEDOP_putinfo;
	set.weight = one_in(2) ? 0 : number(1, 65535);
	/* dom0 would be a long time about it. */
	set.cap = one_in(2) || !domid ? 0xffff : number(0, 100);
	set.pbratio = one_in(2) ? 0xffff : number(0, 1000);
	set.flags = one_in(4) ? prng_next(&rng) : prng_below(&rng, 4);
	set.set_flags = one_in(4) ? prng_next(&rng) : prng_below(&rng, 4);
	op->u.tavs = set;
	putting = op->cmd == XEN_DOMCTL_SCHEDOP_putinfo;

	rc = domctl();
	count(rc);

	if (!known) {
		if (!rc)
			fail("domain %u: set, but cannot be read", domid);
		return;
	}
	if (!get_domain(domid, &after))
		fail("domain %u: cannot be read any more", domid);

	if (!rc && putting) {
		changed++;
		if (set.weight)
			before.weight = set.weight;
		if (set.cap != 0xffff)
			before.cap = set.cap;
		if (set.pbratio != 0xffff)
			before.pbratio = set.pbratio;
		before.flags = (before.flags & ~set.set_flags) |
			       (set.flags & set.set_flags);
	}
	if (memcmp(&before, &after, sizeof(before)))
		fail("domain %u: weight %u cap %u pbratio %u flags %u/%u: %ld, but then %u %u %u %u",
		     domid, set.weight, set.cap, set.pbratio, set.flags,
		     set.set_flags, rc, after.weight, after.cap, after.pbratio,
		     after.flags);
}

static bool get_pool(uint32_t pool, struct xen_sysctl_tavs_schedule *p)
{
	memset(&mem->sysctl, 0, sizeof(mem->sysctl));
	mem->sysctl.cmd = XEN_SYSCTL_scheduler_op;
	mem->sysctl.u.scheduler_op.cpupool_id = pool;
	mem->sysctl.u.scheduler_op.sched_id = XEN_SCHEDULER_TAVS;
	mem->sysctl.u.scheduler_op.cmd = XEN_SYSCTL_SCHEDOP_getinfo;
	if (sysctl())
		return false;
	*p = mem->sysctl.u.scheduler_op.u.sched_tavs;
	return true;
}

static long put_pool(uint32_t pool, const struct xen_sysctl_tavs_schedule *p)
{
	memset(&mem->sysctl, 0, sizeof(mem->sysctl));
	mem->sysctl.cmd = XEN_SYSCTL_scheduler_op;
	mem->sysctl.u.scheduler_op.cpupool_id = pool;
	mem->sysctl.u.scheduler_op.sched_id = XEN_SCHEDULER_TAVS;
	mem->sysctl.u.scheduler_op.cmd = XEN_SYSCTL_SCHEDOP_putinfo;
	mem->sysctl.u.scheduler_op.u.sched_tavs = *p;
	return sysctl();
}

static const struct {
	int32_t min, max;
} ranges[XEN_SYSCTL_TAVS_KNOBS] = {
#define RANGE(id) \
	[XEN_SYSCTL_TAVS_ ## id] = \
		{ XEN_SYSCTL_TAVS_ ## id ## _MIN, XEN_SYSCTL_TAVS_ ## id ## _MAX }
	RANGE(PBRATIO), RANGE(BOOST_CAP_US), RANGE(IO_THRESHOLD_US),
	RANGE(WINDOW), RANGE(PORTMAP_BITS), RANGE(CORRELATE), RANGE(TRACK),
};

static void fuzz_pool(void)
{
	struct xen_sysctl_tavs_schedule before, after, set = { };
	struct xen_sysctl_scheduler_op *op = &mem->sysctl.u.scheduler_op;
	uint32_t pool = one_in(8) ? number(0, 2) : 0;
	bool known = get_pool(pool, &before), putting;
	unsigned int i;
	long rc;

	set.credit.tslice_ms = number(XEN_SYSCTL_CSCHED_TSLICE_MIN,
				      XEN_SYSCTL_CSCHED_TSLICE_MAX);
	set.credit.ratelimit_us = one_in(2) ? 0 : number(100, 1000);
	set.credit.vcpu_migr_delay_us = number(0, 100000);
	if (one_in(2))
		set.valid = XEN_SYSCTL_TAVS_VALID_credit;
	for (i = 0; i < XEN_SYSCTL_TAVS_KNOBS; i++) {
		if (one_in(4))
			set.valid |= known && !one_in(32) ? before.valid & 1u << i
							  : 1u << i;
		/* Mostly allowed, or hardly a call would be. */
		set.knob[i] = one_in(8) ? number(ranges[i].min, ranges[i].max)
			: ranges[i].min + (int64_t)prng_below(&rng,
				(uint64_t)ranges[i].max - ranges[i].min + 1);
	}

	memset(&mem->sysctl, 0, sizeof(mem->sysctl));
	mem->sysctl.cmd = XEN_SYSCTL_scheduler_op;
	op->cpupool_id = pool;
	op->sched_id = some_scheduler();
	op->cmd = one_in(8) ? number(0, 2) : XEN_SYSCTL_SCHEDOP_putinfo;
	op->u.sched_tavs = set;
	putting = op->cmd == XEN_SYSCTL_SCHEDOP_putinfo;

	rc = sysctl();
	count(rc);

	if (!known) {
		if (!rc)
			fail("pool %u: set, but cannot be read", pool);
		return;
	}
	if (!get_pool(pool, &after))
		fail("pool %u: cannot be read any more", pool);

	if (!rc && putting) {
		changed++;
		if (set.valid & XEN_SYSCTL_TAVS_VALID_credit)
			before.credit = set.credit;
		for (i = 0; i < XEN_SYSCTL_TAVS_KNOBS; i++)
			if (set.valid & 1u << i)
				before.knob[i] = set.knob[i];
	}
	for (i = 0; i < XEN_SYSCTL_TAVS_KNOBS; i++) {
		if (before.knob[i] != after.knob[i])
			fail("knob %u: %d of %#x: %ld, but then %d", i, set.knob[i],
			     set.valid, rc, after.knob[i]);
		if ((after.valid & 1u << i) && (after.knob[i] < ranges[i].min ||
						after.knob[i] > ranges[i].max))
			fail("knob %u is %d", i, after.knob[i]);
	}
	if (memcmp(&before, &after, sizeof(before)))
		fail("pool %u: %u %u %u of %#x: %ld, but then %u %u %u", pool,
		     set.credit.tslice_ms, set.credit.ratelimit_us,
		     set.credit.vcpu_migr_delay_us, set.valid, rc,
		     after.credit.tslice_ms, after.credit.ratelimit_us,
		     after.credit.vcpu_migr_delay_us);
}

static void fuzz_info(void)
{
	static const uint64_t nowhere[] = {
		0, 0xffff830000000000, 0x8000000000000000,
	};
	struct xen_domctl_tavs_info *info = &mem->domctl.u.tavs_info;
	void *array = mem->array;
	long rc;

	memset(&mem->domctl, 0, sizeof(mem->domctl));
	mem->domctl.cmd = XEN_DOMCTL_tavs_info;
	mem->domctl.domain = some_domain();
	info->op = one_in(8) ? number(0, 4) : (int64_t)prng_below(&rng, 4);
	info->vcpu = one_in(4) ? number(0, 1) : 0;
	/* The largest element has less than 2 KiB. */
	info->nr = one_in(4) ? number(0, 16)
			     : (int64_t)prng_below(&rng, ARRAY_BYTES / 2048);
	info->pad = one_in(16) ? prng_next(&rng) : 0;
	/* Else: nothing there, Xen's own memory, not an address. */
	if (info->nr > ARRAY_BYTES / 2048 || one_in(8))
		array = (void *)nowhere[prng_below(&rng, 3)];
	set_xen_guest_handle_raw(info->u.stats, array);

	rc = domctl();
	count(rc);
	if (!rc && info->op > XEN_DOMCTL_TAVS_INFO_ports)
		fail("operation %u succeeded", info->op);
	if (!rc && info->nr > 128 * 1024)
		fail("operation %u: %u elements", info->op, info->nr);
}

static void find_domains(void)
{
	struct xen_domctl_sched_tavs p;
	unsigned int id;

	for (id = 0; id < 64 && nr_domains < MAX_DOMAINS; id++)
		if (get_domain(id, &p))
			domains[nr_domains++] = id;
	if (!nr_domains)
		fail("no domain is scheduled by tavs");
}

int main(int argc, char **argv)
{
	struct xen_sysctl_tavs_schedule pool;
	struct xen_domctl_sched_tavs dom0;
	uint64_t i;

	parse_args(&program, argc, argv);
	rng = prng_init(seed, 0);

	privcmd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
	if (privcmd < 0)
		fail("/dev/xen/privcmd: %s", strerror(errno));
	mem = mmap(NULL, sizeof(*mem), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		fail("no memory: %s", strerror(errno));

	find_domains();
	if (!get_domain(0, &dom0) || !get_pool(0, &pool))
		fail("dom0 is not scheduled by tavs");

	for (i = 0; i < calls; i++)
		switch (prng_below(&rng, 3)) {
		case 0:
			fuzz_domain();
			break;
		case 1:
			fuzz_pool();
			break;
		default:
			fuzz_info();
			break;
		}

	if (put_pool(0, &pool))
		fail("cannot restore the parameters");
	dom0.set_flags = XEN_DOMCTL_SCHED_TAVS_tracked | XEN_DOMCTL_SCHED_TAVS_driver;
	memset(&mem->domctl, 0, sizeof(mem->domctl));
	mem->domctl.cmd = XEN_DOMCTL_scheduler_op;
	mem->domctl.u.scheduler_op.sched_id = XEN_SCHEDULER_TAVS;
	mem->domctl.u.scheduler_op.cmd = XEN_DOMCTL_SCHEDOP_putinfo;
	mem->domctl.u.scheduler_op.u.tavs = dom0;
	if (domctl())
		fail("cannot restore dom0");

	printf("fuzz: %" PRIu64 " calls on %u domains: %" PRIu64 " accepted, %" PRIu64
	       " refused; %" PRIu64 " changed something\n", calls, nr_domains, accepted,
	       refused, changed);
	return EXIT_SUCCESS;
}
