// SPDX-License-Identifier: GPL-2.0-only
/*
 * bar: the guest's end of QEMU's ivshmem-plain, the way out for results.
 *
 * The laboratory's machine has no disk and no network, because both would make
 * its runs differ. What it has is a piece of memory shared with the host,
 * which the guest sees as a PCI device (1af4:1110, BAR 2). `bar put` copies its
 * standard input there; `bar get` copies what is there to its standard output.
 *
 * Layout: 8 bytes of magic, the length as 8 bytes little-endian, the data.
 * The magic is cleared first and written last, after the length: what carries
 * the magic is complete.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"

#define MAGIC		"LABOUT01"
#define HEADER		16
#define SYSFS_DEVICES	"/sys/bus/pci/devices"
#define IVSHMEM_VENDOR	0x1af4
#define IVSHMEM_DEVICE	0x1110

static const char *file;

static struct opt options[] = {
	{ .name = "file", .placeholder = "PATH", .type = OPT_TEXT, .value = &file,
	  .help = "use this file instead of looking for the PCI device" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "bar put|get",
	.summary = "Copies standard input into the memory shared with the host (put), or what is\n"
		   "there to standard output (get).",
	.opts = options,
};

struct window {
	char path[512];
	uint8_t *base;
	size_t size;
};

static unsigned int sysfs_number(const char *device, const char *attribute)
{
	char path[512];
	unsigned int value = 0;
	FILE *f;

	snprintf(path, sizeof(path), SYSFS_DEVICES "/%s/%s", device, attribute);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%x", &value) != 1)
			value = 0;
		fclose(f);
	}
	return value;
}

/* Firmware may have left the memory of the device switched off. */
static void enable_device(const char *device)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), SYSFS_DEVICES "/%s/enable", device);
	f = fopen(path, "we");
	if (!f || fputs("1", f) < 0 || fclose(f))
		fail("%s: %s", path, strerror(errno));
}

static void find_device(struct window *w)
{
	struct dirent *entry;
	DIR *dir = opendir(SYSFS_DEVICES);

	if (!dir)
		fail("%s: %s", SYSFS_DEVICES, strerror(errno));
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    sysfs_number(entry->d_name, "vendor") != IVSHMEM_VENDOR ||
		    sysfs_number(entry->d_name, "device") != IVSHMEM_DEVICE)
			continue;
		enable_device(entry->d_name);
		snprintf(w->path, sizeof(w->path), SYSFS_DEVICES "/%s/resource2",
			 entry->d_name);
		closedir(dir);
		return;
	}
	fail("no PCI device %04x:%04x (QEMU's ivshmem-plain) here",
	     IVSHMEM_VENDOR, IVSHMEM_DEVICE);
}

static void map_window(struct window *w)
{
	struct stat st;
	int fd;

	if (file)
		snprintf(w->path, sizeof(w->path), "%s", file);
	else
		find_device(w);

	fd = open(w->path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		fail("%s: %s", w->path, strerror(errno));
	w->size = st.st_size;
	if (w->size < HEADER)
		fail("%s: only %zu bytes, too small", w->path, w->size);
	w->base = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w->base == MAP_FAILED)
		fail("%s: cannot map: %s", w->path, strerror(errno));
	close(fd);
}

/* Everything written before is in the window before anything after. */
static void order_writes(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Fills the buffer unless standard input ends first. */
static size_t read_input(uint8_t *buffer, size_t room)
{
	size_t have = 0;

	while (have < room) {
		ssize_t got = read(STDIN_FILENO, buffer + have, room - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			fail("standard input: %s", strerror(errno));
		if (!got)
			break;
		have += got;
	}
	return have;
}

static void put(const struct window *w)
{
	static uint8_t buffer[65536];
	uint64_t length = 0;
	size_t got;
	int i;

	memset(w->base, 0, HEADER);
	order_writes();

	while ((got = read_input(buffer, sizeof(buffer)))) {
		if (got > w->size - HEADER - length)
			fail("the input does not fit: the window holds %zu bytes",
			     w->size - HEADER);
		memcpy(w->base + HEADER + length, buffer, got);
		length += got;
	}

	order_writes();
	for (i = 0; i < 8; i++)
		w->base[8 + i] = length >> (8 * i);
	order_writes();
	memcpy(w->base, MAGIC, 8);
	order_writes();
}

static void get(const struct window *w)
{
	const uint8_t *data = w->base + HEADER;
	uint64_t length = 0;
	int i;

	if (memcmp(w->base, MAGIC, 8))
		fail("%s: nothing was put here", w->path);
	for (i = 7; i >= 0; i--)
		length = length << 8 | w->base[8 + i];
	if (length > w->size - HEADER)
		fail("%s: says %llu bytes but holds at most %zu", w->path,
		     (unsigned long long)length, w->size - HEADER);

	while (length) {
		ssize_t put = write(STDOUT_FILENO, data, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			fail("standard output: %s", strerror(errno));
		data += put;
		length -= put;
	}
}

int main(int argc, char **argv)
{
	struct window w;
	bool putting = argc > 1 && !strcmp(argv[1], "put");
	bool getting = argc > 1 && !strcmp(argv[1], "get");

	/* The verb takes the place of the program's name. */
	if (putting || getting)
		parse_args(&program, argc - 1, argv + 1);
	else
		parse_args(&program, argc, argv);
	program_name = "bar";
	if (!putting && !getting)
		usage_error("says neither put nor get (see --help)");

	map_window(&w);
	if (putting)
		put(&w);
	else
		get(&w);
	return EXIT_SUCCESS;
}
