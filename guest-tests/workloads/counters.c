// SPDX-License-Identifier: GPL-2.0-only
/*
 * Xen's own counters: per-domain CPU time (nanoseconds in which its vCPUs ran)
 * and the performance counters that tell how often the scheduler was called
 * and switched. A hypervisor built without CONFIG_PERF_COUNTERS has only the
 * former.
 */
#include "counters.h"

#ifdef WITH_XEN

#include <inttypes.h>

#include <xenctrl.h>

#include "args.h"

/* Domains that may appear during the window, beyond those at its start. */
#define SPARE_DOMAINS	8
#define MAX_DOMAINS	1024

static const struct {
	const char *name;		/* in the output */
	const char *description;	/* in Xen's perfc_defn.h */
} wanted[] = {
	{ "sched_run", "sched: runs through scheduler" },
	{ "sched_ctx", "sched: context switches" },
};

#define NR_WANTED	(sizeof(wanted) / sizeof(wanted[0]))

static xc_interface *xch;
static int max_domains;
static bool have_perfc;

static struct {
	xc_domaininfo_t *domains;
	int nr_domains;
	bool perfc_ok;
	uint64_t perfc[NR_WANTED];
} readings[2];

/* The values of wanted[i] are perfc_values[first .. first + count). */
static struct {
	int first, count;
} places[NR_WANTED];

DECLARE_HYPERCALL_BUFFER(xc_perfc_desc_t, perfc_descs);
DECLARE_HYPERCALL_BUFFER(xc_perfc_val_t, perfc_values);

static bool perfc_read(void)
{
	return !xc_perfc_query(xch, HYPERCALL_BUFFER(perfc_descs),
			       HYPERCALL_BUFFER(perfc_values));
}

static void perfc_open(void)
{
	int nr_descs, nr_values, next = 0, i;
	unsigned int w;

	/* The call fails where the counters are not built in. */
	if (xc_perfc_query_number(xch, &nr_descs, &nr_values))
		return;

	perfc_descs = xc_hypercall_buffer_alloc(xch, perfc_descs,
						nr_descs * sizeof(*perfc_descs));
	perfc_values = xc_hypercall_buffer_alloc(xch, perfc_values,
						 nr_values * sizeof(*perfc_values));
	if (!perfc_descs || !perfc_values || !perfc_read())
		fail("cannot read Xen's performance counters: %s",
		     strerror(errno));

	for (i = 0; i < nr_descs; i++) {
		for (w = 0; w < NR_WANTED; w++) {
			if (strncmp(perfc_descs[i].name, wanted[w].description,
				    sizeof(perfc_descs[i].name)))
				continue;
			places[w].first = next;
			places[w].count = perfc_descs[i].nr_vals;
		}
		next += perfc_descs[i].nr_vals;
	}
	have_perfc = true;
}

void counters_open(void)
{
	xc_domaininfo_t *all;
	int i;

	xch = xc_interface_open(NULL, NULL, 0);
	if (!xch)
		fail("cannot talk to Xen: %s", strerror(errno));

	all = calloc(MAX_DOMAINS, sizeof(*all));
	if (!all)
		fail("no memory for the domains");
	max_domains = xc_domain_getinfolist(xch, 0, MAX_DOMAINS, all);
	free(all);
	if (max_domains < 1)
		fail("cannot list Xen's domains: %s", strerror(errno));
	max_domains += SPARE_DOMAINS;

	for (i = 0; i < 2; i++) {
		readings[i].domains = calloc(max_domains,
					     sizeof(*readings[i].domains));
		if (!readings[i].domains)
			fail("no memory for the domains");
		memset(readings[i].domains, 0xff,
		       max_domains * sizeof(*readings[i].domains));
	}

	perfc_open();
	counters_read(COUNTERS_START);
}

void counters_read(enum counters_when when)
{
	unsigned int w;
	int i;

	readings[when].nr_domains =
		xc_domain_getinfolist(xch, 0, max_domains,
				      readings[when].domains);

	readings[when].perfc_ok = have_perfc && perfc_read();
	if (!readings[when].perfc_ok)
		return;
	for (w = 0; w < NR_WANTED; w++) {
		readings[when].perfc[w] = 0;
		for (i = 0; i < places[w].count; i++)
			readings[when].perfc[w] +=
				perfc_values[places[w].first + i];
	}
}

static const char *domain_state(const xc_domaininfo_t *info)
{
	if (dominfo_shutdown_with(info, SHUTDOWN_crash))
		return "crashed";
	if (info->flags & XEN_DOMINF_shutdown)
		return "shutdown";
	if (info->flags & XEN_DOMINF_dying)
		return "dying";
	if (info->flags & XEN_DOMINF_paused)
		return "paused";
	if (info->flags & XEN_DOMINF_blocked)
		return "blocked";
	if (info->flags & XEN_DOMINF_running)
		return "running";
	return "runnable";
}

void counters_write(FILE *out)
{
	static const char *const names[] = { "start", "end" };
	unsigned int w;
	int i, d;

	for (i = 0; i < 2; i++) {
		if (readings[i].nr_domains < 0)
			fail("Xen did not list its domains at the %s", names[i]);
		for (d = 0; d < readings[i].nr_domains; d++)
			fprintf(out, "cpu\t%s\t%u\t%" PRIu64 "\t%s\n", names[i],
				readings[i].domains[d].domain,
				(uint64_t)readings[i].domains[d].cpu_time,
				domain_state(&readings[i].domains[d]));
		if (readings[i].nr_domains == max_domains)
			fprintf(out, "note\tat the %s there were more domains than can be listed\n",
				names[i]);
	}

	for (w = 0; w < NR_WANTED; w++) {
		if (!readings[0].perfc_ok || !readings[1].perfc_ok ||
		    !places[w].count) {
			fprintf(out, "note\tXen does not count %s (CONFIG_PERF_COUNTERS)\n",
				wanted[w].name);
			continue;
		}
		for (i = 0; i < 2; i++)
			fprintf(out, "perfc\t%s\t%s\t%" PRIu64 "\n", names[i],
				wanted[w].name, readings[i].perfc[w]);
	}
}

#else /* !WITH_XEN */

void counters_open(void)
{
}

void counters_read(enum counters_when when)
{
	(void)when;
}

void counters_write(FILE *out)
{
	fputs("note\tbuilt without Xen's libraries: no CPU times, no counters\n",
	      out);
}

#endif /* WITH_XEN */
