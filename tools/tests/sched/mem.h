/* SPDX-License-Identifier: GPL-2.0-only */
/* What memory knows about itself; see mem.c. */
#ifndef SIM_MEM_H
#define SIM_MEM_H

#define BLOCK_CHECK 0x9d5c3e1f7b2a6480UL

struct block {
    unsigned int magic;
    unsigned int class;
    unsigned int size;
    unsigned long site;         /* Who allocated it. */
    unsigned long check;
} __attribute__((aligned(128)));

const struct block *mem_block(const void *p);
extern unsigned long mem_used;

#endif /* SIM_MEM_H */
