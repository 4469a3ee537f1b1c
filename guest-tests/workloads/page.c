// SPDX-License-Identifier: GPL-2.0-only
/*
 * page: a web server of one process that serves one page, a connection for
 * each request.
 *
 * It stands between echo, whose client is connected for good, and a server that
 * forks for each connection: the handshake is on the way of each request, but
 * the process that answers is the one that answered before.
 *
 * Connections are served one after the other: accept, read the request to its
 * empty line, write the page, close. A client that connects and says nothing
 * holds the others up for a second at most.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "samples.h"
#include "stop.h"
#include "work.h"

#define BACKLOG		64
#define PATIENCE_S	1
#define MAX_REQUEST	8192
#define MAX_HEAD	128

static const char *log_path;
static uint64_t port, page_bytes = 2048, work_us;
static uint64_t units_per_ms;
static uint64_t capacity = 1 << 17;

static struct opt options[] = {
	{ .name = "port", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &port, .min = 1, .max = 65535, .required = true,
	  .help = "TCP port to serve" },
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write recv_ns, reply_ns and bytes, at the end" },
	{ .name = "bytes", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &page_bytes, .min = 1, .max = 1 << 20,
	  .help = "size of the page (default: 2048)" },
	{ .name = "work-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &work_us, .min = 0, .max = 3600000000ULL,
	  .help = "microseconds of CPU work for each page (default: 0)" },
	{ .name = "units-per-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &units_per_ms, .min = 1, .max = 100000000,
	  .help = "speed of this CPU (default: measured at the start)" },
	{ .name = "samples", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &capacity, .min = 1, .max = SAMPLES_MAX,
	  .help = "room in the log (default: 131072)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "page",
	.summary = "Answers each HTTP request by the same page and closes its connection, until\n"
		   "SIGTERM or SIGINT, and logs when each request was received and answered.",
	.opts = options,
};

static struct samples samples;
static uint64_t work;		/* units for each page */
static uint64_t failed_sends;
static uint64_t dropped;	/* connections without a request */

static int listening_socket(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_ANY),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		fail("socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(fd, BACKLOG))
		fail("port %" PRIu64 ": %s", port, strerror(errno));
	return fd;
}

/* The whole answer, head and page. */
static char *make_answer(size_t *size)
{
	char *answer = malloc(MAX_HEAD + page_bytes);
	int head;

	if (!answer)
		fail("no memory for a page of %" PRIu64 " bytes", page_bytes);
	head = snprintf(answer, MAX_HEAD,
			"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n"
			"Content-Length: %" PRIu64 "\r\n\r\n", page_bytes);
	memset(answer + head, 'x', page_bytes);
	*size = head + page_bytes;
	return answer;
}

/* Reads to the empty line that ends a request; false: none came. */
static bool read_request(int fd)
{
	static char request[MAX_REQUEST + 1];
	size_t have = 0;
	ssize_t got;

	do {
		got = recv(fd, request + have, MAX_REQUEST - have, 0);
		if (got <= 0)
			return false;
		have += got;
		request[have] = '\0';
		if (strstr(request, "\r\n\r\n"))
			return true;
	} while (have < MAX_REQUEST);
	return false;
}

static void serve(int fd, const char *answer, size_t size)
{
	struct timeval patience = { .tv_sec = PATIENCE_S };
	uint64_t recv_ns, reply_ns, *row;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!read_request(fd)) {
		dropped++;
		return;
	}
	recv_ns = now_ns();
	reply_ns = recv_ns;
	if (work) {
		work_burn(work);
		reply_ns = now_ns();
	}
	if (send(fd, answer, size, MSG_NOSIGNAL) != (ssize_t)size)
		failed_sends++;

	row = samples_row(&samples);
	if (row) {
		row[0] = recv_ns;
		row[1] = reply_ns;
		row[2] = page_bytes;
	}
}

int main(int argc, char **argv)
{
	int listener, fd;
	size_t size;
	char *answer;

	parse_args(&program, argc, argv);

	stop_init();
	clock_init();
	listener = listening_socket();
	answer = make_answer(&size);
	samples_open(&samples, log_path, "recv_ns\treply_ns\tbytes", capacity);
	if (work_us) {
		if (!units_per_ms)
			units_per_ms = work_units_per_ms();
		work = work_units(work_us, units_per_ms);
	}

	while (!stop_requested) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			fail("accept: %s", strerror(errno));
		}
		serve(fd, answer, size);
		close(fd);
	}

	samples_write(&samples);
	samples_note(&samples, "failed_sends", failed_sends);
	samples_note(&samples, "empty_connections", dropped);
	if (work_us)
		samples_note(&samples, "units_per_ms", units_per_ms);
	samples_close(&samples);
	free(answer);
	return EXIT_SUCCESS;
}
