// SPDX-License-Identifier: GPL-2.0-only
/*
 * echo: sends every message back, after a given amount of CPU work.
 *
 * It is the I/O-bound task of a guest: blocked nearly always, woken by a
 * packet, expected to answer at once. The latency that counts is measured
 * outside, by wire; the log of echo adds the moment at which the task saw the
 * message, which tells the work from the way (and the way in from the way out, up
 * to the constant by which two domains' clocks differ).
 *
 * UDP is one socket and two system calls a message. TCP serves up to
 * MAX_CONNECTIONS connections by epoll; messages have a fixed size, may arrive
 * in pieces, and are answered when complete. A connection whose peer does not
 * read its replies is dropped rather than waited for.
 *
 * Two more shapes of server. With --serve fork a new process answers each UDP
 * message: the task that answers was never seen before. With --hogs threads of
 * the same process compute meanwhile: the thread that answers cannot be told
 * from them by its address space.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "samples.h"
#include "stop.h"
#include "work.h"

#define MAX_MESSAGE	65536
#define MAX_CONNECTIONS	64
#define MAX_HOGS	64
#define HOG_STACK	65536
#define HOG_CHUNK	25000		/* units: 5 ms in the laboratory */

enum { UDP, TCP };
enum { ITSELF, FORK };

static const char *const protocols[] = { "udp", "tcp", NULL };
static const char *const servants[] = { "itself", "fork", NULL };

static unsigned int proto = UDP, serve = ITSELF;
static const char *log_path;
static uint64_t port, work_us, message_bytes = 40, hogs;
static uint64_t units_per_ms;
static uint64_t capacity = 1 << 17;

static struct opt options[] = {
	{ .name = "port", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &port, .min = 1, .max = 65535, .required = true,
	  .help = "UDP or TCP port to serve" },
	{ .name = "log", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &log_path, .required = true,
	  .help = "where to write recv_ns, reply_ns and bytes, at the end" },
	{ .name = "proto", .placeholder = "udp|tcp", .type = OPT_WORD,
	  .value = &proto, .words = protocols,
	  .help = "protocol (default: udp)" },
	{ .name = "bytes", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &message_bytes, .min = 1, .max = MAX_MESSAGE,
	  .help = "size of a message in TCP's stream (default: 40)" },
	{ .name = "work-us", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &work_us, .min = 0, .max = 3600000000ULL,
	  .help = "microseconds of CPU work before each reply (default: 0)" },
	{ .name = "serve", .placeholder = "itself|fork", .type = OPT_WORD,
	  .value = &serve, .words = servants,
	  .help = "who answers: this process, or a new one each message (default: itself)" },
	{ .name = "hogs", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &hogs, .min = 0, .max = MAX_HOGS,
	  .help = "threads of this process that compute meanwhile (default: 0)" },
	{ .name = "units-per-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &units_per_ms, .min = 1, .max = 100000000,
	  .help = "speed of this CPU (default: measured at the start)" },
	{ .name = "samples", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &capacity, .min = 1, .max = SAMPLES_MAX,
	  .help = "room in the log (default: 131072)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "echo",
	.summary = "Returns every UDP or TCP message to its sender until SIGTERM or SIGINT, and\n"
		   "logs when each one was received and answered.",
	.opts = options,
};

struct connection {
	int fd;			/* -1: free */
	size_t have;		/* bytes of the current message */
	char *message;
};

static struct samples samples;
static uint64_t work;		/* units for each message */
static uint64_t failed_sends;
static uint64_t dropped;	/* connections */

/* What the children say of each message, in memory that they share with us. */
struct answer {
	uint64_t reply_ns;
	bool sent;
};
static struct answer *answers;

static void sample(uint64_t recv_ns, uint64_t reply_ns, uint64_t bytes)
{
	uint64_t *row = samples_row(&samples);

	if (row) {
		row[0] = recv_ns;
		row[1] = reply_ns;
		row[2] = bytes;
	}
}

static int listening_socket(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_ANY),
	};
	int type = (proto == UDP ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC;
	int fd = socket(AF_INET, type, 0), on = 1;

	if (fd < 0)
		fail("socket: %s", strerror(errno));
	/* UDP would let a second server steal the port's packets. */
	if (proto == TCP)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    (proto == TCP && listen(fd, MAX_CONNECTIONS)))
		fail("port %" PRIu64 ": %s", port, strerror(errno));
	return fd;
}

static void share_answers(void)
{
	size_t size = capacity * sizeof(*answers);

	/* Nobody waits for a child. */
	signal(SIGCHLD, SIG_IGN);
	answers = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (answers == MAP_FAILED)
		fail("no memory for %" PRIu64 " answers", capacity);
	memset(answers, 0, size);
}

/* A child answers. The time at which it did gets into the row at the end. */
static void answer_by_fork(int fd, const char *message, size_t size,
			   const struct sockaddr_in *peer, uint64_t recv_ns)
{
	struct answer *a = samples.count < capacity ?
			   &answers[samples.count] : NULL;
	pid_t child = fork();

	if (!child) {
		uint64_t reply_ns;
		bool sent;

		work_burn(work);
		reply_ns = now_ns();
		sent = sendto(fd, message, size, 0,
			      (const struct sockaddr *)peer,
			      sizeof(*peer)) == (ssize_t)size;
		if (a) {
			a->reply_ns = reply_ns;
			a->sent = sent;
		}
		_exit(EXIT_SUCCESS);
	}
	sample(recv_ns, recv_ns, size);
}

/* Puts the times of the children into the log. */
static void gather_answers(void)
{
	uint64_t *row = samples.rows;
	size_t i;

	for (i = 0; i < samples.count; i++, row += samples.columns) {
		if (answers[i].sent)
			row[1] = answers[i].reply_ns;
		else
			failed_sends++;
	}
}

static void serve_udp(int fd)
{
	static char message[MAX_MESSAGE];

	while (!stop_requested) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		uint64_t recv_ns, reply_ns;
		ssize_t got;

		got = recvfrom(fd, message, sizeof(message), 0,
			       (struct sockaddr *)&peer, &len);
		if (got < 0) {
			if (errno == EINTR)
				continue;
			fail("recvfrom: %s", strerror(errno));
		}
		recv_ns = now_ns();
		if (serve == FORK) {
			answer_by_fork(fd, message, got, &peer, recv_ns);
			continue;
		}
		reply_ns = recv_ns;
		if (work) {
			work_burn(work);
			reply_ns = now_ns();
		}
		if (sendto(fd, message, got, 0, (struct sockaddr *)&peer,
			   len) != got)
			failed_sends++;
		sample(recv_ns, reply_ns, got);
	}
}

static void hang_up(struct connection *c)
{
	close(c->fd);
	c->fd = -1;
}

static void receive(struct connection *c)
{
	uint64_t recv_ns, reply_ns;
	ssize_t got;

	got = recv(c->fd, c->message + c->have, message_bytes - c->have,
		   MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		hang_up(c);
		return;
	}
	c->have += got;
	if (c->have < message_bytes)
		return;

	recv_ns = now_ns();
	reply_ns = recv_ns;
	if (work) {
		work_burn(work);
		reply_ns = now_ns();
	}
	c->have = 0;
	got = send(c->fd, c->message, message_bytes,
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	if (got != (ssize_t)message_bytes) {
		failed_sends++;
		dropped++;
		hang_up(c);
	}
	sample(recv_ns, reply_ns, message_bytes);
}

static void accept_connection(int epoll, int listener,
			      struct connection *connections)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), on = 1, i;

	if (fd < 0)
		return;
	for (i = 0; i < MAX_CONNECTIONS; i++)
		if (connections[i].fd < 0)
			break;
	if (i == MAX_CONNECTIONS) {
		dropped++;
		close(fd);
		return;
	}

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	connections[i].fd = fd;
	connections[i].have = 0;
	ev.data.u32 = i;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev))
		fail("epoll_ctl: %s", strerror(errno));
}

static void serve_tcp(int listener)
{
	static struct connection connections[MAX_CONNECTIONS];
	struct epoll_event ev = { .events = EPOLLIN,
				  .data.u32 = MAX_CONNECTIONS };
	struct epoll_event events[MAX_CONNECTIONS + 1];
	char *messages = calloc(MAX_CONNECTIONS, message_bytes);
	int epoll = epoll_create1(EPOLL_CLOEXEC), n, i;

	if (!messages)
		fail("no memory for messages");
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &ev))
		fail("epoll: %s", strerror(errno));
	for (i = 0; i < MAX_CONNECTIONS; i++) {
		connections[i].fd = -1;
		connections[i].message = messages + i * message_bytes;
	}

	while (!stop_requested) {
		n = epoll_wait(epoll, events, MAX_CONNECTIONS + 1, -1);
		if (n < 0 && errno != EINTR)
			fail("epoll_wait: %s", strerror(errno));
		for (i = 0; i < n; i++) {
			unsigned int who = events[i].data.u32;

			if (who == MAX_CONNECTIONS)
				accept_connection(epoll, listener, connections);
			else if (connections[who].fd >= 0)
				receive(&connections[who]);
		}
	}
	free(messages);
}

static void *compute(void *unused)
{
	while (!stop_requested)
		work_burn(HOG_CHUNK);
	return unused;
}

/* The threads compute until the end; signals are for the one that serves. */
static void start_hogs(pthread_t *threads)
{
	pthread_attr_t attr;
	sigset_t all, before;
	uint64_t i;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, HOG_STACK);
	for (i = 0; i < hogs; i++) {
		errno = pthread_create(&threads[i], &attr, compute, NULL);
		if (errno)
			fail("no thread: %s", strerror(errno));
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_HOGS];
	uint64_t i;
	int fd;

	parse_args(&program, argc, argv);
	if (serve == FORK && proto == TCP)
		usage_error("--serve fork is for UDP");

	/* Whoever can reach the port can also ask for the end. */
	stop_init();
	clock_init();
	fd = listening_socket();
	samples_open(&samples, log_path, "recv_ns\treply_ns\tbytes", capacity);
	if (work_us) {
		if (!units_per_ms)
			units_per_ms = work_units_per_ms();
		work = work_units(work_us, units_per_ms);
	}
	if (serve == FORK)
		share_answers();
	start_hogs(threads);

	if (proto == UDP)
		serve_udp(fd);
	else
		serve_tcp(fd);

	for (i = 0; i < hogs; i++)
		pthread_join(threads[i], NULL);
	if (serve == FORK)
		gather_answers();
	samples_write(&samples);
	samples_note(&samples, "failed_sends", failed_sends);
	samples_note(&samples, "dropped_connections", dropped);
	if (work_us)
		samples_note(&samples, "units_per_ms", units_per_ms);
	samples_close(&samples);
	return EXIT_SUCCESS;
}
