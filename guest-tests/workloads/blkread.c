// SPDX-License-Identifier: GPL-2.0-only
/*
 * blkread: reads a block device one block at a time, with CPU work between.
 *
 * It measures the latency of block reads as the reader sees it: from before
 * the system call to after it. O_DIRECT keeps the page cache and read-ahead
 * out, so that every read is one request to the back end and one event back;
 * and with one read outstanding the next one tells how promptly the last one's
 * completion got the guest onto the CPU.
 *
 * The work after each read (--work-us) makes the task anything between purely
 * I/O-bound and mostly CPU-bound. It is outside the measured interval.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "prng.h"
#include "samples.h"
#include "stop.h"
#include "work.h"

#define ALIGNMENT	4096

enum { RANDOM, SEQUENTIAL };

static const char *const patterns[] = { "random", "sequential", NULL };

static const char *dev_path, *log_path;
static unsigned int pattern = RANDOM;
static uint64_t size = 4096, work_us, seed = 1, span, count;
static uint64_t units_per_ms;
static uint64_t capacity = 1 << 18;

static struct opt options[] = {
	{ .name = "dev", .placeholder = "PATH", .type = OPT_TEXT,
	  .value = &dev_path, .required = true,
	  .help = "block device (or file) to read" },
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write submit_ns, done_ns and offset, at the end" },
	{ .name = "pattern", .placeholder = "random|sequential",
	  .type = OPT_WORD, .value = &pattern, .words = patterns,
	  .help = "order of the blocks (default: random)" },
	{ .name = "size", .placeholder = "BYTES", .type = OPT_NUMBER,
	  .value = &size, .min = 512, .max = 16 << 20,
	  .help = "bytes in each read, a multiple of 512 (default: 4096)" },
	{ .name = "span", .placeholder = "BYTES", .type = OPT_NUMBER,
	  .value = &span, .min = 512, .max = INT64_MAX,
	  .help = "read only the first BYTES (default: all)" },
	{ .name = "work-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &work_us, .min = 0, .max = 3600000000ULL,
	  .help = "microseconds of CPU work after each read (default: 0)" },
	{ .name = "seed", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &seed, .min = 0, .max = UINT64_MAX,
	  .help = "of the random order (default: 1)" },
	{ .name = "count", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &count, .min = 0, .max = UINT64_MAX,
	  .help = "end after N reads (default: 0, until stopped)" },
	{ .name = "units-per-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &units_per_ms, .min = 1, .max = 100000000,
	  .help = "speed of this CPU (default: measured at the start)" },
	{ .name = "samples", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &capacity, .min = 1, .max = SAMPLES_MAX,
	  .help = "room in the log (default: 262144)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "blkread",
	.summary = "Reads blocks with O_DIRECT, one after the other, until SIGTERM or SIGINT, and\n"
		   "logs when each read was submitted and done.",
	.opts = options,
};

static uint64_t device_size(int fd)
{
	struct stat st;
	uint64_t bytes = 0;

	if (fstat(fd, &st))
		fail("%s: %s", dev_path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return st.st_size;
	if (ioctl(fd, BLKGETSIZE64, &bytes))
		fail("%s: cannot get its size: %s", dev_path, strerror(errno));
	return bytes;
}

/* Reads until told to stop; false after an error, with errno and *offset set. */
static bool run(int fd, char *buffer, uint64_t blocks, struct samples *samples,
		uint64_t *offset)
{
	const uint64_t units = work_units(work_us, units_per_ms);
	struct prng prng = prng_init(seed, 0);
	uint64_t done = 0, next = 0;

	while (!stop_requested && (!count || done < count)) {
		uint64_t block, submit_ns, done_ns, *row;
		ssize_t got;

		if (pattern == RANDOM) {
			block = prng_below(&prng, blocks);
		} else {
			block = next;
			next = next + 1 < blocks ? next + 1 : 0;
		}
		*offset = block * size;

		submit_ns = now_ns();
		got = pread(fd, buffer, size, *offset);
		done_ns = now_ns();

		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)size) {
			if (got >= 0)
				errno = ENODATA;
			return false;
		}

		row = samples_row(samples);
		if (row) {
			row[0] = submit_ns;
			row[1] = done_ns;
			row[2] = *offset;
		}
		done++;
		work_burn(units);
	}
	return true;
}

int main(int argc, char **argv)
{
	struct samples samples;
	uint64_t bytes, blocks, offset = 0;
	char *buffer;
	bool ok;
	int fd, error;

	parse_args(&program, argc, argv);
	if (size % 512)
		usage_error("--size: %" PRIu64 " is not a multiple of 512", size);

	fd = open(dev_path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		fail("%s: cannot open with O_DIRECT: %s", dev_path,
		     strerror(errno));
	bytes = device_size(fd);
	if (span > bytes)
		usage_error("--span: %s has only %" PRIu64 " bytes", dev_path, bytes);
	blocks = (span ?: bytes) / size;
	if (!blocks)
		usage_error("--size: no block of %" PRIu64 " bytes fits into %" PRIu64,
			    size, span ?: bytes);

	clock_init();
	samples_open(&samples, log_path, "submit_ns\tdone_ns\toffset", capacity);
	if (posix_memalign((void **)&buffer, ALIGNMENT, size))
		fail("no memory for a block of %" PRIu64 " bytes", size);
	memset(buffer, 0, size);
	if (work_us && !units_per_ms)
		units_per_ms = work_units_per_ms();
	stop_init();

	ok = run(fd, buffer, blocks, &samples, &offset);
	error = errno;

	samples_write(&samples);
	if (work_us)
		samples_note(&samples, "units_per_ms", units_per_ms);
	samples_close(&samples);
	if (!ok)
		fail("%s: read at %" PRIu64 ": %s", dev_path, offset,
		     strerror(error));
	return EXIT_SUCCESS;
}
