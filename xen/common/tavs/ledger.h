/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a unit owns of boosted time: budget, charge, cap, renewal.
 *
 * Plain: it knows no scheduler, no lock and no clock.  Whoever hosts task
 * awareness keeps one for each unit, under the schedule lock, and tells it
 * what the unit ran.
 *
 * With r = PBratio (TAVS paper, 3.2), a unit that ran for t earns r * t, and
 * pays for boosted time one to one.  It saves `burst` at most, starts with one
 * `cap`, and a boost is granted only if it owns a whole cap.  So for each T
 *
 *     boosted(0..T) <= r * run(0..T) + cap + (timer slop per boost)
 *
 * since what it owns falls below zero only by the slop of the last boost, for
 * which the next one waits.  It renews continuously, as the unit runs.
 *
 * Times in nanoseconds.  ran <= 2^34 (17 s) times 1000 stays far from 2^63.
 */
#ifndef __TAVS_LEDGER_H__
#define __TAVS_LEDGER_H__

#ifdef __XEN__
# include <xen/types.h>
#else
# include <stdbool.h>
# include <stdint.h>
#endif

struct tavs_ledger {
    int64_t budget;         /* boosted time that it owns */
    int64_t boosted;        /* length of the present boost until now */
};

static inline void tavs_ledger_init(struct tavs_ledger *l, int64_t cap)
{
    l->budget = cap;
    l->boosted = 0;
}

/* Does it own a boost? */
static inline bool tavs_ledger_grants(const struct tavs_ledger *l, int64_t cap)
{
    return l->budget >= cap;
}

/* A boost begins, which was granted. */
static inline void tavs_ledger_begin(struct tavs_ledger *l)
{
    l->boosted = 0;
}

/* The unit ran for `ran`, boosted or not: that renews the budget. */
static inline void tavs_ledger_charge(struct tavs_ledger *l, int64_t ran,
                                      bool boosted, unsigned int permille,
                                      int64_t burst)
{
    l->budget += ran * permille / 1000;

    if ( boosted )
    {
        l->boosted += ran;
        l->budget -= ran;
    }

    if ( l->budget > burst )
        l->budget = burst;
}

/* How much longer may the boost last?  Not positive: it is over. */
static inline int64_t tavs_ledger_left(const struct tavs_ledger *l,
                                       int64_t limit)
{
    return limit - l->boosted;
}

#endif /* __TAVS_LEDGER_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
