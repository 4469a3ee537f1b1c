// SPDX-License-Identifier: GPL-2.0-only
/*
 * beacon: sends a datagram at regular times, and expects no answer.
 *
 * What a guest can do to the driver domain by itself: each datagram is an event
 * for the back end of its interface, whether or not anybody reads the datagram.
 * Send times are a fixed grid; those that pass while the guest waits for a CPU
 * are left out, so the rate never exceeds what was asked for.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "args.h"
#include "progress.h"
#include "stop.h"

static const char *log_path, *to;
static uint64_t every_us = 1000;

static struct opt options[] = {
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write time_ns, units and switches, at the end" },
	{ .name = "to", .placeholder = "A.B.C.D:PORT", .type = OPT_TEXT,
	  .value = &to, .required = true,
	  .help = "where the datagrams go" },
	{ .name = "every-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &every_us, .min = 10, .max = 3600000000ULL,
	  .help = "microseconds from one to the next (default: 1000)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "beacon",
	.summary = "Sends an empty UDP datagram at regular times until SIGTERM or SIGINT, and logs\n"
		   "how many about every 100 ms.",
	.opts = options,
};

static struct sockaddr_in address(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	char *host = strdup(to), *colon, *end;
	unsigned long port = 0;

	if (!host)
		fail("no memory");
	colon = strchr(host, ':');
	if (colon) {
		*colon = '\0';
		port = strtoul(colon + 1, &end, 10);
		if (*end || port > 65535)
			port = 0;
	}
	if (!port || inet_pton(AF_INET, host, &addr.sin_addr) != 1)
		usage_error("--to: '%s' is not an IPv4 address and a port", to);
	addr.sin_port = htons(port);
	free(host);
	return addr;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr;
	struct progress progress;
	uint64_t units = 0, failed = 0, period, next, now;
	int fd;

	parse_args(&program, argc, argv);
	addr = address();
	clock_init();
	/* Not connected: a port that nobody reads is no error here. */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("socket: %s", strerror(errno));
	stop_init();
	progress_open(&progress, log_path);

	period = every_us * NS_PER_US;
	next = now_ns();
	while (!stop_requested) {
		struct timespec ts;

		if (sendto(fd, NULL, 0, MSG_DONTWAIT, (struct sockaddr *)&addr,
			   sizeof(addr)))
			failed++;
		else
			units++;
		progress_tell(&progress, units);
		now = now_ns();
		next += period * (1 + (now - next) / period);
		ts = monotonic_time(next);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
	/* The log says so after the rows: progress_close() would end it. */
	progress_add(&progress, now_ns(), units);
	samples_write(&progress.samples);
	samples_note(&progress.samples, "failed_sends", failed);
	samples_close(&progress.samples);
	return EXIT_SUCCESS;
}
