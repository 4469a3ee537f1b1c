/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Searching bitmaps, in place of Xen's for x86: those are written with string
 * instructions, and a sixteenth of all time went there.
 */

#include <xen/bitops.h>
#include <xen/lib.h>

static unsigned int find(const unsigned long *addr, unsigned int size,
                         unsigned int from, unsigned long flip)
{
    unsigned int i = from / BITS_PER_LONG;
    unsigned long word;

    ASSERT(from <= size);
    if ( from == size )
        return size;

    word = (addr[i] ^ flip) & (~0UL << (from % BITS_PER_LONG));
    while ( !word )
    {
        if ( ++i * BITS_PER_LONG >= size )
            return size;
        word = addr[i] ^ flip;
    }

    return min(size, i * BITS_PER_LONG + __builtin_ctzl(word));
}

unsigned int __find_first_bit(const unsigned long *addr, unsigned int size)
{
    return find(addr, size, 0, 0);
}

unsigned int __find_next_bit(const unsigned long *addr, unsigned int size,
                             unsigned int offset)
{
    return find(addr, size, offset, 0);
}

unsigned int __find_first_zero_bit(const unsigned long *addr,
                                   unsigned int size)
{
    return find(addr, size, 0, ~0UL);
}

unsigned int __find_next_zero_bit(const unsigned long *addr, unsigned int size,
                                  unsigned int offset)
{
    return find(addr, size, offset, ~0UL);
}
