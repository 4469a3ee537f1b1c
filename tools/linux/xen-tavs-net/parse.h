/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protocol and destination port of a packet, and whether Xen is told of it.
 *
 * Whoever includes this has struct sk_buff and skb_header_pointer(): the
 * kernel, or tools/tests/tavs.
 */
#ifndef XEN_TAVS_PARSE_H
#define XEN_TAVS_PARSE_H

#define TAVS_MAX_TAGS		2	/* VLANs in VLANs */
#define TAVS_MAX_EXTENSIONS	8	/* headers of IPv6 */

#define TAVS_ETH_LEN		14
#define TAVS_VLAN_LEN		4
#define TAVS_PROTO_IP		0x0800
#define TAVS_PROTO_IPV6		0x86dd
#define TAVS_PROTO_8021Q	0x8100
#define TAVS_PROTO_8021AD	0x88a8

#define TAVS_TCP_LEN		20
#define TAVS_TCP_EVENT		0x07	/* FIN, SYN or RST */
#define TAVS_TCP_SYN		0x02
#define TAVS_TCP_ACK		0x10

#define TAVS_NEXT_HOP		0
#define TAVS_NEXT_TCP		6
#define TAVS_NEXT_UDP		17
#define TAVS_NEXT_ROUTING	43
#define TAVS_NEXT_FRAGMENT	44
#define TAVS_NEXT_AUTH		51
#define TAVS_NEXT_DEST		60

static inline unsigned int tavs_be16(const unsigned char *p)
{
	return p[0] << 8 | p[1];
}

/* What is to be known of a packet. */
struct tavs_parsed {
	unsigned char protocol;		/* as in the IP header */
	unsigned short port;		/* destination */
	unsigned int tag;		/* of a TCP connection; 0: it is none */
	bool opens;			/* TCP: SYN without ACK */
	bool only_acks;			/* TCP: and nothing else */
};

/* How many handshakes are remembered; 32-bit tags, 0: none. */
#define TAVS_SYNS		256

static inline unsigned int tavs_mix(unsigned int hash, const unsigned char *p,
				    unsigned int words)
{
	for (; words; words--, p += 4) {
		hash ^= (unsigned int)tavs_be16(p) << 16 | tavs_be16(p + 2);
		hash *= 0x9e3779b1;
		hash ^= hash >> 16;
	}

	return hash;
}

/* `end` is where the data ends. */
static inline void tavs_parse_tcp(const struct sk_buff *skb, int offset,
				  int end, struct tavs_parsed *parsed)
{
	unsigned char buffer[TAVS_TCP_LEN];
	const unsigned char *p;

	p = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (!p)
		return;

	parsed->opens = (p[13] & (TAVS_TCP_SYN | TAVS_TCP_ACK)) == TAVS_TCP_SYN;
	parsed->only_acks = !(p[13] & TAVS_TCP_EVENT) &&
			    offset + (p[12] >> 4) * 4 >= end;
}

/* Ports are at the same place in TCP and UDP.  `tag` is that of the addresses. */
static inline bool tavs_parse_ports(const struct sk_buff *skb, int offset,
				    int end, unsigned int next,
				    unsigned int tag,
				    struct tavs_parsed *parsed)
{
	unsigned char buffer[4];
	const unsigned char *p;

	if (next != TAVS_NEXT_TCP && next != TAVS_NEXT_UDP)
		return false;

	p = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (!p)
		return false;

	parsed->protocol = next;
	parsed->port = tavs_be16(p + 2);
	parsed->tag = 0;
	parsed->opens = parsed->only_acks = false;

	if (next == TAVS_NEXT_TCP) {
		parsed->tag = tavs_mix(tag, p, 1);
		if (!parsed->tag)
			parsed->tag = 1;
		tavs_parse_tcp(skb, offset, end, parsed);
	}

	return true;
}

static inline bool tavs_parse_ip(const struct sk_buff *skb, int offset,
				 struct tavs_parsed *parsed)
{
	unsigned char buffer[20];
	const unsigned char *p;
	int len;

	p = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (!p || p[0] >> 4 != 4)
		return false;

	len = (p[0] & 0xf) * 4;
	if (len < 20)
		return false;

	/* Only the first fragment has the ports. */
	if (tavs_be16(p + 6) & 0x1fff)
		return false;

	return tavs_parse_ports(skb, offset + len, offset + tavs_be16(p + 2),
				p[9], tavs_mix(0, p + 12, 2), parsed);
}

static inline bool tavs_parse_ipv6(const struct sk_buff *skb, int offset,
				   struct tavs_parsed *parsed)
{
	unsigned char buffer[40];
	const unsigned char *p;
	unsigned int next, tag, i;
	int end;

	p = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (!p || p[0] >> 4 != 6)
		return false;

	next = p[6];
	tag = tavs_mix(0, p + 8, 8);
	offset += 40;
	/* Too long for the field: full of data. */
	end = tavs_be16(p + 4) ? offset + (int)tavs_be16(p + 4) : INT_MAX;

	for (i = 0; i < TAVS_MAX_EXTENSIONS; i++) {
		switch (next) {
		default:
			return tavs_parse_ports(skb, offset, end, next, tag,
						parsed);

		case TAVS_NEXT_HOP:
		case TAVS_NEXT_ROUTING:
		case TAVS_NEXT_DEST:
		case TAVS_NEXT_AUTH:
		case TAVS_NEXT_FRAGMENT:
			p = skb_header_pointer(skb, offset, 8, buffer);
			if (!p)
				return false;
			break;
		}

		if (next == TAVS_NEXT_FRAGMENT) {
			if (tavs_be16(p + 2) & 0xfff8)
				return false;
			offset += 8;
		} else if (next == TAVS_NEXT_AUTH) {
			offset += (p[1] + 2) * 4;
		} else {
			offset += (p[1] + 1) * 8;
		}
		next = p[0];
	}

	return false;
}

/*
 * Of a packet that begins with its Ethernet header.  False: it is neither TCP
 * nor UDP, or no port can be told.
 */
static inline bool tavs_parse_packet(const struct sk_buff *skb,
				     struct tavs_parsed *parsed)
{
	unsigned char buffer[2];
	const unsigned char *p;
	int offset = TAVS_ETH_LEN;
	unsigned int i;

	for (i = 0; i <= TAVS_MAX_TAGS; i++) {
		p = skb_header_pointer(skb, offset - 2, sizeof(buffer), buffer);
		if (!p)
			return false;

		switch (tavs_be16(p)) {
		case TAVS_PROTO_IP:
			return tavs_parse_ip(skb, offset, parsed);
		case TAVS_PROTO_IPV6:
			return tavs_parse_ipv6(skb, offset, parsed);
		case TAVS_PROTO_8021Q:
		case TAVS_PROTO_8021AD:
			offset += TAVS_VLAN_LEN;
			break;
		default:
			return false;
		}
	}

	return false;
}

/*
 * Is Xen told of it?  *syn is the entry of a table of TAVS_SYNS for its tag, and
 * what becomes of that.
 *
 * With a segment that does nothing but acknowledge the kernel of the guest
 * deals.  If it was recorded, every reply would be followed by a packet for the
 * same port that wakes up nobody, and the portmap would never come to a
 * conclusion.  Only the one that completes a handshake wakes up somebody: who
 * accepts.  It is the first segment of its connection behind the SYN.
 */
static inline bool tavs_is_told(const struct tavs_parsed *parsed,
				unsigned int *syn)
{
	bool completes = parsed->tag && *syn == parsed->tag;

	if (parsed->opens)
		*syn = parsed->tag;
	else if (completes)
		*syn = 0;

	return !parsed->only_acks || completes;
}

/* The same for who remembers no handshakes. */
static inline bool tavs_parse(const struct sk_buff *skb,
			      unsigned char *protocol, unsigned short *port)
{
	struct tavs_parsed parsed;
	unsigned int syn = 0;

	if (!tavs_parse_packet(skb, &parsed) || !tavs_is_told(&parsed, &syn))
		return false;

	*protocol = parsed.protocol;
	*port = parsed.port;

	return true;
}

#endif
