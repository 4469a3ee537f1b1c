/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ABUSE_H
#define ABUSE_H

#include <linux/prandom.h>
#include <linux/types.h>

#define BAITS		16
#define CHANNELS	8

/* What a guest tells the driver domain, in the page of its first bait. */
struct notice {
	char magic[8];
	u32 ref[BAITS];			/* odd ones are read-only */
	u32 port[CHANNELS];
};

#define MAGIC "TAVSbait"

/* Where a guest writes the reference of its notice, below its home in xenstore. */
#define NODE_DIR	"data"
#define NODE		"bait"

extern struct rnd_state abuse_rnd;

static inline u32 any(u32 below)
{
	return prandom_u32_state(&abuse_rnd) % below;
}

int guest_begin(void);
int guest_abuse(void *unused);

int driver_begin(void);
int driver_abuse(void *unused);
void driver_end(void);

#endif
