// SPDX-License-Identifier: GPL-2.0-only
/*
 * loopback: sends events to itself.
 *
 * An event channel of the guest with itself, bound at both ends through
 * /dev/xen/evtchn.  Each notification is a hypercall, an event that becomes
 * pending, an upcall and an interrupt of the guest's kernel: the path that
 * events take through Xen, without any other domain.  A unit is an event that
 * was sent and came back.
 */
#include <sys/ioctl.h>

#include "args.h"
#include "progress.h"
#include "stop.h"

#define DEVICE		"/dev/xen/evtchn"
#define DOMID_SELF	0x7ff0
#define CHECK		50

/* Of Linux's include/uapi/xen/evtchn.h, which is not installed everywhere. */
struct bind_interdomain { uint32_t remote_domain, remote_port; };
struct bind_unbound { uint32_t remote_domain; };
struct notify { uint32_t port; };
#define BIND_INTERDOMAIN _IOC(_IOC_NONE, 'E', 1, sizeof(struct bind_interdomain))
#define BIND_UNBOUND	 _IOC(_IOC_NONE, 'E', 2, sizeof(struct bind_unbound))
#define NOTIFY		 _IOC(_IOC_NONE, 'E', 4, sizeof(struct notify))

static const char *log_path;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write time_ns, units and switches, at the end" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "loopback",
	.summary = "Sends itself events through Xen until SIGTERM or SIGINT, and logs how many about\n"
		   "every 100 ms.",
	.opts = options,
};

int main(int argc, char **argv)
{
	struct bind_interdomain interdomain = { .remote_domain = DOMID_SELF };
	struct bind_unbound unbound = { .remote_domain = DOMID_SELF };
	struct notify notify;
	struct progress progress;
	uint64_t units = 0;
	uint32_t port;
	int fd;

	parse_args(&program, argc, argv);
	clock_init();
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fail("%s: %s", DEVICE, strerror(errno));
	interdomain.remote_port = ioctl(fd, BIND_UNBOUND, &unbound);
	if ((int)interdomain.remote_port <= 0)
		fail("cannot allocate an event channel: %s", strerror(errno));
	notify.port = ioctl(fd, BIND_INTERDOMAIN, &interdomain);
	if ((int)notify.port <= 0)
		fail("cannot bind an event channel: %s", strerror(errno));
	stop_init();
	progress_open(&progress, log_path);

	while (!stop_requested) {
		if (ioctl(fd, NOTIFY, &notify))
			fail("cannot send: %s", strerror(errno));
		if (read(fd, &port, sizeof(port)) != sizeof(port)) {
			if (errno == EINTR)
				continue;
			fail("%s: %s", DEVICE, strerror(errno));
		}
		/* Written back, the port is unmasked. */
		if (write(fd, &port, sizeof(port)) != sizeof(port))
			fail("%s: %s", DEVICE, strerror(errno));
		if (++units % CHECK == 0)
			progress_tell(&progress, units);
	}
	progress_close(&progress, units);
	return EXIT_SUCCESS;
}
