/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory.
 *
 * Lock order in Xen goes by address, so addresses have to be the same in every
 * run: blocks come from an arena at a fixed place, by size class, last freed
 * first used. A freed block is filled with a pattern and rests in a queue
 * before it is used again; when it leaves the queue the pattern has to be
 * intact. What was freed twice, or written after it was freed, fails the run.
 */

#include <xen/vmap.h>

#include "sim.h"
#include "mem.h"

#define ARENA      0x200000000000UL
#define ARENA_SIZE 0x1000000000UL
#define MAGIC_USED 0x5d1ab1e0u
#define MAGIC_FREE 0xf4eeb10cu
#define POISON     0xdb
#define CLASSES    24
#define REST       32           /* Blocks that rest, per size class. */

static char *next_block, *arena_end;
static struct block *rest[CLASSES][REST];
static unsigned int rest_at[CLASSES];
unsigned long mem_used;

void mem_init(void)
{
    next_block = host_arena(ARENA, ARENA_SIZE);
    arena_end = next_block + ARENA_SIZE;
}

static unsigned int class_of(size_t size)
{
    unsigned int c = 5;

    while ( (256UL << (c - 5)) < size + sizeof(struct block) )
        c++;

    return c - 5;
}

/* Blocks of this size are used once: to fill them costs too much. */
#define LARGE 16384

static void check_poison(const struct block *b)
{
    const unsigned char *p = (const unsigned char *)(b + 1);
    size_t i;

    for ( i = 0; i < b->size; i++ )
        if ( p[i] != POISON )
            sim_fail("memory was written after it was freed: byte %zu of a "
                     "block of %u allocated at %s", i, b->size,
                     host_symbol(b->site));
}

/*
 * As xmalloc()'s ASSERT_ALLOC_CONTEXT(): the heap may have to flush TLBs, so
 * whoever allocates has interrupts on. Holding a schedule lock that is taken
 * with interrupts off therefore rules it out, in every hook of a scheduler.
 */
static void check_context(unsigned long site)
{
    if ( sim_cpu() && system_state == SYS_STATE_active &&
         (in_irq() || !local_irq_is_enabled()) && num_online_cpus() > 1 )
        sim_fail("memory is allocated with interrupts off, at %s",
                 host_symbol(site));
}

static void *allocate(size_t size, unsigned long align, unsigned long site)
{
    unsigned int class = class_of(size);
    struct block **slot, *b;

    check_context(site);
    BUG_ON(align > sizeof(struct block));
    if ( class >= CLASSES )
        return NULL;

    slot = &rest[class][rest_at[class]];
    b = *slot;
    if ( b )
    {
        check_poison(b);
        *slot = NULL;
        rest_at[class] = (rest_at[class] + 1) % REST;
    }
    else
    {
        b = (struct block *)next_block;
        next_block += 256UL << class;
        if ( next_block > arena_end )
            sim_fail("out of memory");
    }

    *b = (struct block){ .magic = MAGIC_USED, .class = class, .size = size,
                         .site = site, .check = BLOCK_CHECK };
    mem_used += size;

    return b + 1;
}

void *_xmalloc(unsigned long size, unsigned long align)
{
    void *p = allocate(size, align,
                       (unsigned long)__builtin_return_address(0));

    /* Not zero: nobody may rely on that. */
    if ( p )
        memset(p, 0xa5, size);

    return p;
}

void *_xzalloc(unsigned long size, unsigned long align)
{
    void *p = allocate(size, align,
                       (unsigned long)__builtin_return_address(0));

    /* The arena is zero where it was not used before. */
    if ( p && size < LARGE )
        memset(p, 0, size);

    return p;
}

void xfree(void *p)
{
    struct block *b = (struct block *)p - 1;
    unsigned int i;

    if ( !p || p == ZERO_BLOCK_PTR )
        return;

    if ( b->magic != MAGIC_USED )
        sim_fail(b->magic == MAGIC_FREE ? "memory was freed twice: %p"
                                        : "not memory to be freed: %p", p);

    b->magic = MAGIC_FREE;
    mem_used -= b->size;
    if ( b->size >= LARGE )
        return;
    memset(p, POISON, b->size);

    /*
     * schedule_cpu_rm() writes to the unit that its idle unit switched to
     * last, which may be gone. Let no one else have that memory.
     */
    if ( b->size == sizeof(struct sched_unit) &&
         check_known("cpupool-writes-freed-unit") )
        return;

    for ( i = 0; i < REST; i++ )
    {
        struct block **slot =
            &rest[b->class][(rest_at[b->class] + i) % REST];

        if ( !*slot )
        {
            *slot = b;
            return;
        }
    }
    /* The queue is full: this block is never used again. */
}

/* Who calls it is where the memory comes from: so _xzalloc() is not called. */
void *vzalloc(size_t size)
{
    void *p = allocate(size, sizeof(void *),
                       (unsigned long)__builtin_return_address(0));

    if ( p && size < LARGE )
        memset(p, 0, size);

    return p;
}

void vfree(void *p)
{
    xfree(p);
}

/*
 * The block that an address lies in. Blocks are of powers of two, but not
 * aligned to them, so look for the header below the address.
 */
const struct block *mem_block(const void *p)
{
    unsigned long a = (unsigned long)p & ~(sizeof(struct block) - 1);

    if ( (char *)p < (char *)ARENA || (char *)p >= next_block )
        return NULL;

    for ( ; a >= ARENA; a -= sizeof(struct block) )
    {
        const struct block *b = (const struct block *)a;

        if ( (b->magic == MAGIC_USED || b->magic == MAGIC_FREE) &&
             b->check == BLOCK_CHECK )
            return (char *)p < (char *)(b + 1) + b->size ? b : NULL;
    }

    return NULL;
}

void mem_check_pointer(const void *p, const char *what)
{
    const struct block *b = sim_opt.check_memory ? mem_block(p) : NULL;

    if ( b && b->magic == MAGIC_FREE )
        sim_fail("%s is in memory that was freed (allocated at %s)", what,
                 host_symbol(b->site));
}

bool mem_is_free(const void *p)
{
    const struct block *b = mem_block(p);

    return b && b->magic == MAGIC_FREE;
}
