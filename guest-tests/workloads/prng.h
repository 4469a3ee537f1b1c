/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repeatable random numbers.
 *
 * The generator is SplitMix64 (Steele, Lea, Flood: "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014): a counter that advances by an
 * odd constant, followed by a mixing function. It passes BigCrush, holds eight
 * bytes of state, and any two seeds give unrelated streams after mixing.
 *
 * Everything here is integer arithmetic: the same seed gives the same numbers
 * on any host, whatever its C library thinks of log().
 */
#ifndef WORKLOADS_PRNG_H
#define WORKLOADS_PRNG_H

#include <stdint.h>

struct prng {
	uint64_t state;
};

static inline uint64_t prng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline uint64_t prng_next(struct prng *p)
{
	p->state += 0x9e3779b97f4a7c15ULL;
	return prng_mix(p->state);
}

/* One independent stream for each (seed, stream). */
static inline struct prng prng_init(uint64_t seed, uint64_t stream)
{
	return (struct prng){
		.state = prng_mix(prng_mix(seed + 1) + stream),
	};
}

/*
 * Uniform in [0, n), n > 0. The multiplication favours some results by at most
 * n / 2^64, which nothing here could notice.
 */
static inline uint64_t prng_below(struct prng *p, uint64_t n)
{
	return ((unsigned __int128)prng_next(p) * n) >> 64;
}

/* Uniform in [lo, hi]. */
static inline uint64_t prng_uniform(struct prng *p, uint64_t lo, uint64_t hi)
{
	return lo + prng_below(p, hi - lo + 1);
}

/*
 * -log2(x / 2^64) in units of 2^-32, for x > 0. The whole part is the number of
 * leading zeros; each squaring of the rest, scaled to [1, 2), shifts one more
 * binary digit of the logarithm into view.
 */
static inline uint64_t prng_neg_log2(uint64_t x)
{
	unsigned int zeros = __builtin_clzll(x);
	uint64_t frac = 0;
	int i;

	x <<= zeros;
	for (i = 0; i < 32; i++) {
		unsigned __int128 square = (unsigned __int128)x * x;

		frac <<= 1;
		if (square >> 127) {
			frac |= 1;
			x = square >> 64;
		} else {
			x = square >> 63;
		}
	}
	return ((uint64_t)(zeros + 1) << 32) - frac;
}

/* Exponential with the given mean (below 2^32): -ln(u) * mean. */
static inline uint64_t prng_exponential(struct prng *p, uint64_t mean)
{
	const uint64_t ln2 = 2977044472ULL;	/* ln(2) * 2^32 */
	uint64_t x = prng_next(p) | 1;

	return ((unsigned __int128)prng_neg_log2(x) * ln2 >> 32) *
	       (unsigned __int128)mean >> 32;
}

#endif /* WORKLOADS_PRNG_H */
