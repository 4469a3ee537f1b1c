// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire: sends requests to the guests and stamps the replies.
 *
 * It measures the latency of network I/O from outside of the guest. On a
 * machine with one CPU there is no place for a client host, so a process in
 * dom0 stands for the wire: it must come close to costing nothing and must not
 * depend on how it is scheduled.
 *
 * - Send times are absolute and drawn from a seeded generator, one stream for
 *   each client. With open arrival they are all known before the window opens,
 *   and a slow reply does not slow the load down. With closed arrival the
 *   think time starts when the reply is there, as with a human.
 * - One thread, one epoll, one absolute timer (no slack, unlike the timeouts
 *   of epoll), connected sockets: a request is a timer, a send, a wake-up and
 *   a receive. The clock is read right before the send and right after the
 *   receive, so waiting for dom0's vCPU before the send is not in the latency
 *   (due_ns and sent_ns show it) and waiting for it after the reply is.
 * - All memory is allocated, touched and locked beforehand; nothing is
 *   printed before the end.
 *
 * An http client opens a connection for each request, as browsers without
 * keep-alive and most scripts do: connect, GET, read to the end, close. Its
 * latency is from before the connect to the end of the answer.
 *
 * The window is the time between two readings of Xen's counters (counters.h).
 * Clients send within it only; replies are awaited beyond it, for as long as
 * their timeout says. A reply after the timeout counts as lost.
 *
 * Message: "WIRE", the client's index (4 bytes little-endian), the sequence
 * number (8 bytes little-endian), zeros.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "counters.h"
#include "prng.h"
#include "stop.h"

#define MAX_CLIENTS	64
#define MAX_MESSAGE	65507		/* UDP's limit */
#define MAX_VISITS	64		/* connections of an http client at once */
#define MAX_REQUESTS	(1U << 19)	/* 12 MiB of samples for a client */
#define MIN_ROUND_US	20		/* no reply comes sooner */
#define CONNECT_MS	10000

#define NEVER		UINT64_MAX
#define TIMER		UINT32_MAX	/* the timer among the epoll events */

#define GET		"GET / HTTP/1.0\r\n\r\n"
#define GOOD		"HTTP/1.? 200"	/* '?': any version */

enum { UDP, TCP, HTTP };
enum { OPEN, CLOSED };
enum { UNIFORM, EXPONENTIAL };

struct message {
	char magic[4];
	uint32_t client;
	uint64_t seq;
};

struct sample {
	uint64_t due, sent, reply;
};

/* A request of an http client on its way, with a connection of its own. */
struct visit {
	int fd;			/* -1: free */
	bool asked;		/* the GET is sent */
	size_t seq;
	size_t have;		/* bytes of the answer */
	char status[sizeof(GOOD) - 1];
};

struct client {
	/* What was asked for. */
	char name[32];
	struct sockaddr_in addr;
	unsigned int proto, arrival, think_dist;
	uint64_t bytes, think_lo_us, think_hi_us, requests, timeout_ms, seed,
		 start_ms;

	int fd;
	uint32_t index;
	struct prng prng;
	struct sample *samples;
	size_t capacity;
	size_t planned;		/* open: requests with a time */
	size_t begun;		/* requests that came due */
	uint64_t next_due;	/* of request `begun`, or NEVER */
	uint64_t give_up;	/* closed: when to stop waiting, or NEVER */

	/* Messages wait here for TCP's window: the first tx_seq are sent. */
	size_t tx_seq, tx_sent;
	bool tx_blocked;
	uint8_t *tx, *rx;
	size_t rx_have;

	struct visit visits[MAX_VISITS];	/* http */

	uint64_t late, duplicate, alien, unsent, refused;
	const char *broken;	/* why the connection is gone */
};

static uint64_t duration_ms;
static const char *out_path;
static struct client clients[MAX_CLIENTS];
static unsigned int nr_clients;
static uint64_t window_start, window_end;
static int epoll, timer;
static uint64_t timer_set = NEVER;

static void add_client(const char *text);

static struct opt options[] = {
	{ .name = "duration-ms", .placeholder = "N", .type = OPT_NUMBER,
	  .value = &duration_ms, .min = 1, .max = 86400000, .required = true,
	  .help = "length of the measured window" },
	{ .name = "out", .placeholder = "FILE", .type = OPT_TEXT,
	  .value = &out_path, .required = true,
	  .help = "where to write what was measured, at the end" },
	{ .name = "client", .placeholder = "KEY=VALUE,...", .type = OPT_CALL,
	  .call = add_client,
	  .help = "one source of requests (see below)" },
	{ .name = NULL },
};

static const struct program program = {
	.name = "wire",
	.summary = "Sends requests to echo and web servers at seeded times for the length of a\n"
		   "window, and records each request's latency and, under Xen, each domain's CPU\n"
		   "time.",
	.opts = options,
	.epilogue =
"A client is a list of\n"
"  name=TEXT             in the output; letters, digits, '.', '_', '-'\n"
"  addr=A.B.C.D:PORT     the server\n"
"  proto=udp|tcp|http    one datagram, a message on one connection for all, or a\n"
"                        connection with a GET for each request (default udp)\n"
"  bytes=N               size of a message, 16 or more (default 40); of http: an\n"
"                        answer that is shorter is none\n"
"  think-us=LO-HI        pause between requests, microseconds (default 100000-500000)\n"
"  think-dist=uniform|exp  uniform in [LO, HI], or LO plus an exponential of\n"
"                        mean (HI-LO)/2: the same mean (default uniform)\n"
"  arrival=open|closed   the pause starts at the previous request's send time, or\n"
"                        at its reply (default open)\n"
"  requests=N            stop after N (default 0: until the window ends)\n"
"  timeout-ms=N          a request without a reply by then is lost (default 3000)\n"
"  seed=N                of the pauses (default 1)\n"
"  start-ms=N            the first pause starts N ms into the window (default 0)\n",
};

/* Command line. */

static void client_number(const char *key, const char *value, uint64_t min,
			  uint64_t max, uint64_t *number)
{
	if (!parse_number(value, number) || *number < min || *number > max)
		usage_error("--client: %s: '%s' is not a number from %" PRIu64
			    " to %" PRIu64, key, value, min, max);
}

static void client_word(const char *key, const char *value, const char *zero,
			const char *one, unsigned int *word)
{
	if (strcmp(value, zero) && strcmp(value, one))
		usage_error("--client: %s: '%s' is neither %s nor %s", key,
			    value, zero, one);
	*word = !strcmp(value, one);
}

static void client_proto(const char *value, struct client *c)
{
	static const char *const names[] = { "udp", "tcp", "http", NULL };

	for (c->proto = UDP; names[c->proto]; c->proto++)
		if (!strcmp(value, names[c->proto]))
			return;
	usage_error("--client: proto: '%s' is not one of udp, tcp, http", value);
}

static void client_address(char *value, struct sockaddr_in *addr)
{
	char *colon = strchr(value, ':');
	uint64_t port;

	if (!colon)
		usage_error("--client: addr: '%s' lacks a port", value);
	*colon = '\0';
	addr->sin_family = AF_INET;
	if (inet_pton(AF_INET, value, &addr->sin_addr) != 1)
		usage_error("--client: addr: '%s' is not an IPv4 address", value);
	client_number("addr's port", colon + 1, 1, 65535, &port);
	addr->sin_port = htons(port);
}

static void client_think(char *value, struct client *c)
{
	char *dash = strchr(value, '-');

	if (!dash)
		usage_error("--client: think-us: '%s' is not LO-HI", value);
	*dash = '\0';
	client_number("think-us", value, 0, 3600000000ULL, &c->think_lo_us);
	client_number("think-us", dash + 1, 0, 3600000000ULL, &c->think_hi_us);
	if (c->think_lo_us > c->think_hi_us)
		usage_error("--client: think-us: %" PRIu64 " is more than %"
			    PRIu64, c->think_lo_us, c->think_hi_us);
}

static void client_name(const char *value, struct client *c)
{
	static const char valid[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	unsigned int i;

	if (!*value || strlen(value) >= sizeof(c->name) ||
	    value[strspn(value, valid)])
		usage_error("--client: name: '%s' is not 1 to %zu letters, digits, '.', '_', '-'",
			    value, sizeof(c->name) - 1);
	for (i = 0; i < nr_clients; i++)
		if (!strcmp(clients[i].name, value))
			usage_error("--client: name: there is a '%s' already",
				    value);
	strcpy(c->name, value);
}

static void client_set(struct client *c, const char *key, char *value)
{
	if (!strcmp(key, "name"))
		client_name(value, c);
	else if (!strcmp(key, "addr"))
		client_address(value, &c->addr);
	else if (!strcmp(key, "proto"))
		client_proto(value, c);
	else if (!strcmp(key, "bytes"))
		client_number(key, value, sizeof(struct message), MAX_MESSAGE,
			      &c->bytes);
	else if (!strcmp(key, "think-us"))
		client_think(value, c);
	else if (!strcmp(key, "think-dist"))
		client_word(key, value, "uniform", "exp", &c->think_dist);
	else if (!strcmp(key, "arrival"))
		client_word(key, value, "open", "closed", &c->arrival);
	else if (!strcmp(key, "requests"))
		client_number(key, value, 0, MAX_REQUESTS, &c->requests);
	else if (!strcmp(key, "timeout-ms"))
		client_number(key, value, 1, 3600000, &c->timeout_ms);
	else if (!strcmp(key, "seed"))
		client_number(key, value, 0, UINT64_MAX, &c->seed);
	else if (!strcmp(key, "start-ms"))
		client_number(key, value, 0, 86400000, &c->start_ms);
	else
		usage_error("--client: unknown key '%s' (see --help)", key);
}

static void add_client(const char *text)
{
	struct client *c = &clients[nr_clients];
	char *copy = strdup(text), *rest = copy, *item;

	if (!copy)
		fail("no memory");
	if (nr_clients == MAX_CLIENTS)
		usage_error("--client: more than %d clients", MAX_CLIENTS);

	*c = (struct client){
		.index = nr_clients, .fd = -1, .bytes = 40, .timeout_ms = 3000,
		.seed = 1, .think_lo_us = 100000, .think_hi_us = 500000,
	};
	while ((item = strsep(&rest, ","))) {
		char *equals = strchr(item, '=');

		if (!equals)
			usage_error("--client: '%s' is not KEY=VALUE", item);
		*equals = '\0';
		client_set(c, item, equals + 1);
	}
	if (!*c->name)
		usage_error("--client: name is missing");
	if (!c->addr.sin_port)
		usage_error("--client: %s: addr is missing", c->name);
	free(copy);
	nr_clients++;
}

/* Before the window. */

static uint64_t think_ns(struct client *c)
{
	uint64_t us;

	if (c->think_dist == EXPONENTIAL)
		us = c->think_lo_us +
			prng_exponential(&c->prng,
					 (c->think_hi_us - c->think_lo_us) / 2);
	else
		us = prng_uniform(&c->prng, c->think_lo_us, c->think_hi_us);
	return us * NS_PER_US;
}

/*
 * How many requests can come due. Open arrival: those whose time falls into
 * the window, found by drawing all times with a copy of the generator. Closed:
 * as many as the shortest pauses and round trips allow.
 */
static size_t count_requests(const struct client *c)
{
	uint64_t limit = c->requests ?: MAX_REQUESTS;
	uint64_t most, due;
	struct client draw = *c;

	if (c->arrival == CLOSED) {
		most = duration_ms * 1000 / (c->think_lo_us + MIN_ROUND_US) + 1;
		return most < limit ? most : limit;
	}

	due = c->start_ms * NS_PER_MS + think_ns(&draw);
	for (most = 0; most < limit && due < duration_ms * NS_PER_MS; most++)
		due += think_ns(&draw);
	return most;
}

static void prepare_client(struct client *c)
{
	struct message head = { .magic = "WIRE", .client = htole32(c->index) };
	uint64_t due;
	size_t i;

	for (i = 0; i < MAX_VISITS; i++)
		c->visits[i].fd = -1;
	c->prng = prng_init(c->seed, c->index);
	c->capacity = count_requests(c);
	c->samples = calloc(c->capacity + 1, sizeof(*c->samples));
	c->tx = calloc(1, c->bytes);
	c->rx = calloc(1, MAX_MESSAGE);
	if (!c->samples || !c->tx || !c->rx)
		fail("no memory for %zu requests", c->capacity);
	memcpy(c->tx, &head, sizeof(head));

	/* Relative to the window's start, which is not known yet. */
	due = c->start_ms * NS_PER_MS + think_ns(c);
	c->give_up = NEVER;
	c->next_due = due;
	if (c->arrival == CLOSED)
		return;
	for (i = 0; i < c->capacity; i++) {
		c->samples[i].due = due;
		due += think_ns(c);
	}
	c->planned = c->capacity;
}

/*
 * A server that is still starting gets CONNECT_MS to do so. That is all that an
 * http client wants to know: its requests connect by themselves.
 */
static void connect_client(struct client *c)
{
	uint64_t deadline = now_ns() + CONNECT_MS * NS_PER_MS;
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = c->index };
	int type = c->proto == UDP ? SOCK_DGRAM : SOCK_STREAM, on = 1, error;

	for (;;) {
		c->fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
		if (c->fd < 0)
			fail("socket: %s", strerror(errno));
		if (!connect(c->fd, (struct sockaddr *)&c->addr,
			     sizeof(c->addr)))
			break;
		error = errno;
		close(c->fd);
		if (stop_requested || now_ns() >= deadline)
			fail("%s: cannot connect: %s", c->name, strerror(error));
		poll(NULL, 0, 100);
	}

	if (c->proto == HTTP) {
		close(c->fd);
		c->fd = -1;
		return;
	}
	if (c->proto == TCP)
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev))
		fail("epoll_ctl: %s", strerror(errno));
}

static void prepare(void)
{
	/*
	 * Edge-triggered: setting the timer anew forgets the expirations, so
	 * nobody has to read them.
	 */
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET,
				  .data.u32 = TIMER };
	unsigned int i;

	epoll = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (epoll < 0 || timer < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &ev))
		fail("epoll: %s", strerror(errno));

	for (i = 0; i < nr_clients; i++) {
		prepare_client(&clients[i]);
		connect_client(&clients[i]);
	}
	counters_open();
}

/* Within the window. */

static void break_client(struct client *c, const char *why)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	c->fd = -1;
	c->broken = why;
	c->next_due = NEVER;
	c->give_up = NEVER;
}

static void want_writable(struct client *c, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN | (on ? EPOLLOUT : 0),
				  .data.u32 = c->index };

	if (c->tx_blocked == on)
		return;
	c->tx_blocked = on;
	epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &ev);
}

/* Sends what is due and not sent yet, as far as the socket takes it. */
static void transmit(struct client *c)
{
	struct message *head = (struct message *)c->tx;

	while (c->tx_seq < c->begun) {
		struct sample *s = &c->samples[c->tx_seq];
		ssize_t put;

		head->seq = htole64(c->tx_seq);
		if (!c->tx_sent)
			s->sent = now_ns();
		put = send(c->fd, c->tx + c->tx_sent, c->bytes - c->tx_sent,
			   MSG_DONTWAIT | MSG_NOSIGNAL);

		/*
		 * An ICMP error for an earlier datagram is reported in place of
		 * sending this one: try once more.
		 */
		if (put < 0 && errno == ECONNREFUSED && c->proto == UDP)
			put = send(c->fd, c->tx, c->bytes,
				   MSG_DONTWAIT | MSG_NOSIGNAL);

		if (c->proto == UDP) {
			c->unsent += put != (ssize_t)c->bytes;
			c->tx_seq++;
			continue;
		}
		if (put < 0 && errno == EAGAIN) {
			if (!c->tx_sent)
				s->sent = 0;
			want_writable(c, true);
			return;
		}
		if (put < 0) {
			break_client(c, "the connection broke while sending");
			return;
		}
		c->tx_sent += put;
		if (c->tx_sent == c->bytes) {
			c->tx_sent = 0;
			c->tx_seq++;
		}
	}
	want_writable(c, false);
}

/* Connects for one request; the rest is done as the connection gets there. */
static void begin_visit(struct client *c, struct visit *v)
{
	struct sample *s = &c->samples[c->tx_seq];
	struct epoll_event ev = {
		/* Edge-triggered: one registration does for the whole visit. */
		.events = EPOLLIN | EPOLLOUT | EPOLLET,
		.data.u32 = c->index + (v - c->visits) * MAX_CLIENTS,
	};

	*v = (struct visit){ .seq = c->tx_seq++ };
	v->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (v->fd < 0) {
		c->unsent++;
		return;
	}
	s->sent = now_ns();
	if ((connect(v->fd, (struct sockaddr *)&c->addr, sizeof(c->addr)) &&
	     errno != EINPROGRESS) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, v->fd, &ev)) {
		c->refused++;
		close(v->fd);
		v->fd = -1;
	}
}

/* Begins the visits that are due, as far as there is room for them. */
static void begin_visits(struct client *c)
{
	struct visit *v;

	for (v = c->visits; v < c->visits + MAX_VISITS; v++) {
		if (c->tx_seq == c->begun)
			return;
		if (v->fd < 0)
			begin_visit(c, v);
	}
}

/* Begins every request whose time has come. */
static void send_due(struct client *c, uint64_t now)
{
	while (c->next_due <= now) {
		struct sample *s = &c->samples[c->begun++];

		s->due = c->next_due;
		if (c->arrival == CLOSED || c->begun == c->planned)
			c->next_due = NEVER;
		else
			c->next_due = c->samples[c->begun].due;
		if (c->proto == HTTP)
			begin_visits(c);
		else
			transmit(c);
		if (c->arrival == CLOSED && !c->broken)
			c->give_up = s->sent + c->timeout_ms * NS_PER_MS;
	}
}

/* Closed arrival: the last request is answered or lost, think. */
static void think(struct client *c, uint64_t from)
{
	c->give_up = NEVER;
	if (c->begun < c->capacity)
		c->next_due = from + think_ns(c);
}

/* Request `seq`, which was sent, is answered. */
static void answered(struct client *c, size_t seq, uint64_t now)
{
	struct sample *s = &c->samples[seq];

	if (now - s->sent > c->timeout_ms * NS_PER_MS)
		c->late++;
	else
		s->reply = now;
	if (c->give_up != NEVER && seq == c->begun - 1)
		think(c, now);
}

static void take_reply(struct client *c, const struct message *m, uint64_t now)
{
	uint64_t seq = le64toh(m->seq);

	if (memcmp(m->magic, "WIRE", 4) || le32toh(m->client) != c->index ||
	    seq >= c->begun || !c->samples[seq].sent) {
		c->alien++;
		return;
	}

	if (c->samples[seq].reply)
		c->duplicate++;
	else
		answered(c, seq, now);
}

static void receive(struct client *c)
{
	size_t want = c->proto == TCP ? c->bytes - c->rx_have : MAX_MESSAGE;
	ssize_t got = recv(c->fd, c->rx + c->rx_have, want, MSG_DONTWAIT);
	uint64_t now = now_ns();

	if (c->proto == UDP) {
		if (got == (ssize_t)c->bytes)
			take_reply(c, (struct message *)c->rx, now);
		else if (got >= 0)
			c->alien++;
		return;
	}

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		break_client(c, got ? "the connection broke" :
				      "the server closed the connection");
		return;
	}
	c->rx_have += got;
	if (c->rx_have == c->bytes) {
		c->rx_have = 0;
		take_reply(c, (struct message *)c->rx, now);
	}
}

/* Frees the place, perhaps for a request that waits for one. */
static void end_visit(struct client *c, struct visit *v)
{
	close(v->fd);
	v->fd = -1;
	begin_visits(c);
}

static bool is_page(const struct client *c, const struct visit *v)
{
	size_t i;

	for (i = 0; i < sizeof(v->status); i++)
		if (GOOD[i] != '?' && v->status[i] != GOOD[i])
			return false;
	return v->have >= c->bytes;
}

/* The connection is there, or there is something to read. */
static void attend_visit(struct client *c, struct visit *v, uint32_t events)
{
	uint64_t now;
	ssize_t got;

	if (!v->asked && (events & EPOLLOUT) && !(events & EPOLLERR)) {
		/* The first bytes of a connection always fit. */
		send(v->fd, GET, sizeof(GET) - 1, MSG_NOSIGNAL);
		v->asked = true;
	}
	if (!(events & ~EPOLLOUT))
		return;

	do {
		got = recv(v->fd, c->rx, MAX_MESSAGE, 0);
		now = now_ns();
		if (got > 0 && v->have < sizeof(v->status)) {
			size_t left = sizeof(v->status) - v->have;

			memcpy(v->status + v->have, c->rx,
			       (size_t)got < left ? (size_t)got : left);
		}
		if (got > 0)
			v->have += got;
	} while (got > 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;

	if (got < 0)
		c->refused++;
	else if (is_page(c, v))
		answered(c, v->seq, now);
	else
		c->alien++;
	end_visit(c, v);
}

/* Gives up what took too long; returns when the next one will have. */
static uint64_t expire_visits(struct client *c, uint64_t now)
{
	uint64_t next = NEVER;
	struct visit *v;

	if (c->proto != HTTP)
		return NEVER;
	for (v = c->visits; v < c->visits + MAX_VISITS; v++) {
		uint64_t deadline;

		if (v->fd < 0)
			continue;
		deadline = c->samples[v->seq].sent + c->timeout_ms * NS_PER_MS;
		if (deadline <= now)
			end_visit(c, v);
		else if (deadline < next)
			next = deadline;
	}
	return next;
}

static void set_timer(uint64_t when)
{
	struct itimerspec its = { .it_value = monotonic_time(when) };

	if (when == timer_set)
		return;
	timer_set = when;
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &its, NULL);
}

/* Sleeps until a packet comes or `until`, and takes what came. */
static void wait_events(uint64_t until)
{
	struct epoll_event events[MAX_CLIENTS + 1];
	int n, i;

	set_timer(until);
	n = epoll_wait(epoll, events, MAX_CLIENTS + 1, -1);
	for (i = 0; i < n; i++) {
		struct client *c;

		if (events[i].data.u32 == TIMER) {
			timer_set = NEVER;
			continue;
		}
		c = &clients[events[i].data.u32 % MAX_CLIENTS];
		if (c->proto == HTTP) {
			struct visit *v = c->visits +
					  events[i].data.u32 / MAX_CLIENTS;

			if (v->fd >= 0)
				attend_visit(c, v, events[i].events);
			continue;
		}
		if (c->fd >= 0 && events[i].events & ~EPOLLOUT)
			receive(c);
		if (c->fd >= 0 && events[i].events & EPOLLOUT)
			transmit(c);
	}
}

static void run_window(void)
{
	unsigned int i;
	size_t r;

	window_start = now_ns();
	counters_read(COUNTERS_START);
	window_end = window_start + duration_ms * NS_PER_MS;
	for (i = 0; i < nr_clients; i++) {
		struct client *c = &clients[i];

		for (r = 0; r < c->planned; r++)
			c->samples[r].due += window_start;
		c->next_due = c->capacity ? c->next_due + window_start : NEVER;
	}

	while (!stop_requested) {
		uint64_t now = now_ns(), next = window_end;

		if (now >= window_end)
			break;
		for (i = 0; i < nr_clients; i++) {
			struct client *c = &clients[i];
			uint64_t expiry = expire_visits(c, now);

			if (c->give_up <= now)
				think(c, now);
			send_due(c, now);
			if (expiry < next)
				next = expiry;
			if (c->give_up < next)
				next = c->give_up;
			if (c->next_due < next)
				next = c->next_due;
		}
		wait_events(next);
	}

	/* The window ends where the counters are read. */
	window_end = now_ns();
	counters_read(COUNTERS_END);
}

/* After the window. */

/* When the last reply that is still missing may come at the latest. */
static uint64_t last_deadline(const struct client *c, uint64_t now)
{
	size_t i = c->begun;

	if (c->broken)
		return 0;
	while (i--) {
		const struct sample *s = &c->samples[i];
		uint64_t deadline = (s->sent ?: s->due) +
				    c->timeout_ms * NS_PER_MS;

		if (deadline <= now)
			return 0;
		if (!s->reply)
			return deadline;
	}
	return 0;
}

static void await_replies(void)
{
	unsigned int i;

	/* Nobody thinks or begins any more. */
	for (i = 0; i < nr_clients; i++) {
		clients[i].give_up = NEVER;
		clients[i].next_due = NEVER;
	}

	while (!stop_requested) {
		uint64_t now = now_ns(), latest = 0;

		for (i = 0; i < nr_clients; i++) {
			uint64_t deadline = last_deadline(&clients[i], now);

			if (deadline > latest)
				latest = deadline;
		}
		if (!latest)
			return;
		wait_events(latest);
	}
}

static void write_client(FILE *out, const struct client *c)
{
	size_t i;

	for (i = 0; i < c->begun; i++)
		fprintf(out, "sample\t%s\t%zu\t%" PRIu64 "\t%" PRIu64 "\t%"
			PRIu64 "\n", c->name, i, c->samples[i].due,
			c->samples[i].sent, c->samples[i].reply);

	if (c->late)
		fprintf(out, "note\t%s: %" PRIu64 " replies came after the timeout\n",
			c->name, c->late);
	if (c->duplicate)
		fprintf(out, "note\t%s: %" PRIu64 " replies came twice\n",
			c->name, c->duplicate);
	if (c->alien)
		fprintf(out, "note\t%s: %" PRIu64 " messages were no replies\n",
			c->name, c->alien);
	if (c->unsent)
		fprintf(out, "note\t%s: %" PRIu64 " %s could not be sent\n",
			c->name, c->unsent,
			c->proto == HTTP ? "requests" : "datagrams");
	if (c->refused)
		fprintf(out, "note\t%s: %" PRIu64 " connections were refused or broke\n",
			c->name, c->refused);
	if (c->begun == MAX_REQUESTS)
		fprintf(out, "note\t%s: stopped after %u requests, no more fit\n",
			c->name, MAX_REQUESTS);
	if (c->broken)
		fprintf(out, "note\t%s: %s\n", c->name, c->broken);
}

static void write_output(FILE *out)
{
	unsigned int i;

	fprintf(out, "window\t%" PRIu64 "\t%" PRIu64 "\n", window_start,
		window_end);
	counters_write(out);
	for (i = 0; i < nr_clients; i++)
		write_client(out, &clients[i]);
	if (stop_requested)
		fprintf(out, "note\tstopped by a signal\n");
}

int main(int argc, char **argv)
{
	unsigned int i;
	FILE *out;

	parse_args(&program, argc, argv);

	out = fopen(out_path, "we");
	if (!out)
		fail("%s: %s", out_path, strerror(errno));
	clock_init();
	stop_init();
	prepare();
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fprintf(out, "note\tmemory is not locked: %s\n",
			strerror(errno));

	run_window();
	await_replies();

	write_output(out);
	if (fclose(out))
		fail("%s: %s", out_path, strerror(errno));

	for (i = 0; i < nr_clients; i++)
		if (clients[i].broken)
			fail("%s: %s", clients[i].name, clients[i].broken);
	if (stop_requested)
		fail("stopped by a signal");
	return EXIT_SUCCESS;
}
