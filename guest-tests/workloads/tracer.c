// SPDX-License-Identifier: GPL-2.0-only
/*
 * tracer: Xen's trace buffers around a measurement, with nothing running in it.
 *
 * xentrace wakes up to empty the buffers while it traces, which would be seen
 * in the latencies. Here the buffers are large enough for all of it: `start`
 * allocates them, chooses the events and lets Xen record; `save` copies what
 * there is, in xentrace's format. Between the two no process is needed.
 *
 * A buffer that is full loses records, and Xen says how many only once there is
 * room again. So `save` empties the buffers, lets Xen record a little more, and
 * empties them again.
 *
 * Both append a line to --clock: the time stamp counter, by which Xen stamps
 * records, and the time of the logs (clock.h) at the same moment.
 */
#include <sys/mman.h>
#include <unistd.h>

#define XC_WANT_COMPAT_MAP_FOREIGN_API
#include <xenctrl.h>
#include <xen/trace.h>

#include "args.h"
#include "clock.h"

#define ENOUGH_FOR_A_RECORD_US	50000
#define CPU_CHANGE	(TRC_TRACE_CPU_CHANGE | 2U << TRACE_EXTRA_SHIFT)

static uint64_t kilobytes = 16384, mask = TRC_SCHED_MIN | TRC_SCHED_CLASS;
static const char *out_path, *clock_path;

static struct opt options[] = {
	{ .name = "kb", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &kilobytes, .min = 4, .max = 261120,
	  .help = "start: size of the buffer of each pCPU (default 16384)" },
	{ .name = "mask", .placeholder = "N", .type = OPT_NUMBER, .value = &mask,
	  .min = 1, .max = TRC_ALL,
	  .help = "start: which events (default 143360: runstates and schedulers)" },
	{ .name = "out", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &out_path, .help = "save: where the records go" },
	{ .name = "clock", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &clock_path, .required = true,
	  .help = "where to append what both clocks say" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "tracer start|save",
	.summary = "Lets Xen record events in its trace buffers (start), or ends that and writes\n"
		   "what they hold (save).",
	.opts = options,
};

static xc_interface *xch;

static uint64_t rdtsc(void)
{
	uint32_t low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return (uint64_t)high << 32 | low;
}

/* Both clocks, from the tightest of several brackets. */
static void append_clock(void)
{
	uint64_t best = UINT64_MAX, tsc = 0, ns = 0;
	FILE *out = fopen(clock_path, "ae");
	int i;

	if (!out)
		fail("%s: %s", clock_path, strerror(errno));
	for (i = 0; i < 64; i++) {
		uint64_t before = rdtsc(), now = now_ns(), after = rdtsc();

		if (after - before < best) {
			best = after - before;
			tsc = before + best / 2;
			ns = now;
		}
	}
	fprintf(out, "%llu\t%llu\n", (unsigned long long)tsc,
		(unsigned long long)ns);
	if (fclose(out))
		fail("%s: %s", clock_path, strerror(errno));
}

static void start(void)
{
	unsigned long pages = kilobytes >> (XC_PAGE_SHIFT - 10), mfn, size;

	if (xc_tbuf_set_evt_mask(xch, mask))
		fail("cannot choose the events to trace: %s", strerror(errno));
	append_clock();
	if (xc_tbuf_enable(xch, pages, &mfn, &size))
		fail("Xen gives no trace buffers of %llu KB: %s",
		     (unsigned long long)kilobytes, strerror(errno));
}

static void put(const void *data, size_t size, FILE *out)
{
	if (fwrite(data, 1, size, out) != size)
		fail("%s: %s", out_path, strerror(errno));
}

/* All that a pCPU has recorded since the last time. */
static void drain(uint32_t cpu, struct t_buf *buf, uint32_t room, FILE *out)
{
	const uint8_t *data = (const uint8_t *)(buf + 1);
	uint32_t prod = __atomic_load_n(&buf->prod, __ATOMIC_ACQUIRE);
	uint32_t cons = buf->cons, have, at, piece;

	have = prod >= cons ? prod - cons : prod + 2 * room - cons;
	if (prod >= 2 * room || cons >= 2 * room || have > room)
		fail("the trace buffer of pCPU %u makes no sense", cpu);
	if (!have)
		return;

	put(&(uint32_t[]){ CPU_CHANGE, cpu, have }, 12, out);
	at = cons % room;
	piece = have < room - at ? have : room - at;
	put(data + at, piece, out);
	put(data, have - piece, out);

	__atomic_store_n(&buf->cons, prod, __ATOMIC_RELEASE);
}

static void save(void)
{
	unsigned long mfn, size;
	struct t_info *info;
	struct t_buf **bufs;
	uint32_t room;
	int cpus = xc_get_max_cpus(xch), cpu, round;
	FILE *out;

	if (!out_path)
		usage_error("save needs --out");
	out = fopen(out_path, "we");
	if (!out)
		fail("%s: %s", out_path, strerror(errno));
	append_clock();

	/* The buffers are there, so this tells where. */
	if (cpus < 1 || xc_tbuf_enable(xch, 1, &mfn, &size))
		fail("there is no trace: %s", strerror(errno));
	info = xc_map_foreign_range(xch, DOMID_XEN, size, PROT_READ, mfn);
	bufs = calloc(cpus, sizeof(*bufs));
	if (!info || !bufs)
		fail("cannot map the trace buffers: %s", strerror(errno));
	room = info->tbuf_size * XC_PAGE_SIZE - sizeof(struct t_buf);

	for (cpu = 0; cpu < cpus; cpu++) {
		const uint32_t *list = (const uint32_t *)info +
				       info->mfn_offset[cpu];
		xen_pfn_t *frames = calloc(info->tbuf_size, sizeof(*frames));
		int i;

		if (!frames)
			fail("no memory for a list of frames");
		for (i = 0; i < info->tbuf_size; i++)
			frames[i] = list[i];
		/* A pCPU that came later than the buffers has none. */
		if (info->mfn_offset[cpu]) {
			bufs[cpu] = xc_map_foreign_pages(xch, DOMID_XEN,
							 PROT_READ | PROT_WRITE,
							 frames, info->tbuf_size);
			if (!bufs[cpu])
				fail("cannot map the trace buffer of pCPU %d: %s",
				     cpu, strerror(errno));
		}
		free(frames);
	}

	for (round = 0; round < 2; round++) {
		for (cpu = 0; cpu < cpus; cpu++)
			if (bufs[cpu])
				drain(cpu, bufs[cpu], room, out);
		usleep(ENOUGH_FOR_A_RECORD_US);
	}
	if (xc_tbuf_disable(xch))
		fail("cannot end the trace: %s", strerror(errno));
	if (fclose(out))
		fail("%s: %s", out_path, strerror(errno));
}

int main(int argc, char **argv)
{
	bool starts = argc > 1 && !strcmp(argv[1], "start");
	bool saves = argc > 1 && !strcmp(argv[1], "save");

	/* The verb takes the place of the program's name. */
	if (starts || saves)
		parse_args(&program, argc - 1, argv + 1);
	else
		parse_args(&program, argc, argv);
	program_name = "tracer";
	if (!starts && !saves)
		usage_error("says neither start nor save (see --help)");

	clock_init();
	xch = xc_interface_open(NULL, NULL, 0);
	if (!xch)
		fail("cannot talk to Xen: %s", strerror(errno));
	if (starts)
		start();
	else
		save();
	return EXIT_SUCCESS;
}
