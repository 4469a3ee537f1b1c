/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which bucket of a histogram of latencies a time falls into.  The layout is
 * part of the ABI (public/domctl.h); this is all that knows it by arithmetic.
 */
#ifndef __TAVS_LATENCY_H__
#define __TAVS_LATENCY_H__

#ifdef __XEN__
# include <xen/types.h>
#else
# include <stdint.h>
#endif

#define TAVS_LATENCY_UNIT_SHIFT 7
#define TAVS_LATENCY_SUB_SHIFT  3
#define TAVS_LATENCY_BUCKETS    200

static inline unsigned int tavs_latency_bucket(uint64_t ns)
{
    uint64_t units = ns >> TAVS_LATENCY_UNIT_SHIFT;
    unsigned int octave, bucket;

    if ( units < (1U << TAVS_LATENCY_SUB_SHIFT) )
        return units;

    octave = 63 - __builtin_clzll(units) - TAVS_LATENCY_SUB_SHIFT;
    bucket = (octave << TAVS_LATENCY_SUB_SHIFT) + (units >> octave);

    return bucket < TAVS_LATENCY_BUCKETS ? bucket : TAVS_LATENCY_BUCKETS - 1;
}

#endif /* __TAVS_LATENCY_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
