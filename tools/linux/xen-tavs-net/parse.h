/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protocol and destination port of a packet.
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

/*
 * Nothing but an acknowledgement: the kernel of the guest deals with it.  If
 * it was recorded, every reply would be followed by a packet for the same port
 * that wakes up nobody, and the portmap would never come to a conclusion.
 * `end` is where the data ends.
 */
static inline bool tavs_only_acks(const struct sk_buff *skb, int offset,
				  int end)
{
	unsigned char buffer[TAVS_TCP_LEN];
	const unsigned char *p;

	p = skb_header_pointer(skb, offset, sizeof(buffer), buffer);

	return p && !(p[13] & TAVS_TCP_EVENT) && offset + (p[12] >> 4) * 4 >= end;
}

/* Ports are at the same place in TCP and UDP. */
static inline bool tavs_parse_ports(const struct sk_buff *skb, int offset,
				    int end, unsigned int next,
				    unsigned char *protocol,
				    unsigned short *port)
{
	unsigned char buffer[4];
	const unsigned char *p;

	if (next != TAVS_NEXT_TCP && next != TAVS_NEXT_UDP)
		return false;

	p = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (!p)
		return false;

	if (next == TAVS_NEXT_TCP && tavs_only_acks(skb, offset, end))
		return false;

	*protocol = next;
	*port = tavs_be16(p + 2);

	return true;
}

static inline bool tavs_parse_ip(const struct sk_buff *skb, int offset,
				 unsigned char *protocol, unsigned short *port)
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
				p[9], protocol, port);
}

static inline bool tavs_parse_ipv6(const struct sk_buff *skb, int offset,
				   unsigned char *protocol,
				   unsigned short *port)
{
	unsigned char buffer[40];
	const unsigned char *p;
	unsigned int next, i;
	int end;

	p = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (!p || p[0] >> 4 != 6)
		return false;

	next = p[6];
	offset += 40;
	/* Too long for the field: full of data. */
	end = tavs_be16(p + 4) ? offset + (int)tavs_be16(p + 4) : INT_MAX;

	for (i = 0; i < TAVS_MAX_EXTENSIONS; i++) {
		switch (next) {
		default:
			return tavs_parse_ports(skb, offset, end, next,
						protocol, port);

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
 * nor UDP, no port can be told, or it does nothing but acknowledge.
 */
static inline bool tavs_parse(const struct sk_buff *skb,
			      unsigned char *protocol, unsigned short *port)
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
			return tavs_parse_ip(skb, offset, protocol, port);
		case TAVS_PROTO_IPV6:
			return tavs_parse_ipv6(skb, offset, protocol, port);
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

#endif
