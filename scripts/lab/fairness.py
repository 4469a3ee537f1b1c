# SPDX-License-Identifier: GPL-2.0-only
"""What each domain is entitled to: weighted max-min fair shares.

- dom0 is a domain with a weight, like any other.
- A domain *wants* what its programs would use if it were alone: all of a pCPU for a hog, the duty
  cycle of a hog that sleeps.  A domain without hogs wants what it used.  dom0 wants what it used for
  I/O even where a hog of it sleeps.
- No domain is entitled to more than it wants, than its cap, or than one pCPU for each of its vCPUs.
- What is left is given out in proportion to weight, until each domain has what it wants or the
  pCPUs that it may run on are full.  On one pCPU: always-busy domains get their weight's part of
  the time that the others leave.

Example: one pCPU, 30 s, equal weights; dom0 used 0.6 s, an echo guest 0.4 s, four hogs run.  dom0 is
entitled to 0.6 s, the echo guest to 0.4 s, each hog to (30 - 0.6 - 0.4) / 4 = 7.25 s.

A domain that used more than its fair share while others wanted more is entitled to the fair share
only, so what it took from others shows as its error and as theirs.  If dom0 used 15 s in the example,
it is entitled to (30 - 0.4) / 5 = 5.92 s, as each hog is.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations


@dataclass(frozen=True)
class Claim:
    name: str
    weight: int
    limit_ns: int  # what it wants, capped
    pcpus: frozenset[int]


def entitlements(claims: list[Claim], window_ns: int) -> dict[str, int]:
    """Nanoseconds of CPU for each claim, by progressive filling.

    All levels rise together, each at the speed of its weight.  A claim stops when it has what it
    wants, or when a set of pCPUs that holds everything it may run on is full.  Looking at every set
    of pCPUs makes this exact for overlapping pins.
    """
    cpus = sorted(frozenset().union(*(c.pcpus for c in claims))) if claims else []
    sets = [frozenset(s) for n in range(1, len(cpus) + 1) for s in combinations(cpus, n)]
    given: dict[str, Fraction] = {}
    rising = list(claims)

    while rising:
        level = min(Fraction(c.limit_ns, c.weight) for c in rising)
        full = []
        for group in sets:
            inside = [c for c in rising if c.pcpus <= group]
            if not inside:
                continue
            used = sum(given[c.name] for c in claims if c.name in given and c.pcpus <= group)
            left = max(Fraction(0), len(group) * window_ns - used)
            reach = left / sum(c.weight for c in inside)
            full.append((reach, inside))
            level = min(level, reach)
        stopped = {c.name for c in rising if Fraction(c.limit_ns, c.weight) <= level}
        for reach, inside in full:
            if reach <= level:
                stopped |= {c.name for c in inside}
        for claim in rising:
            if claim.name in stopped:
                given[claim.name] = level * claim.weight
        rising = [c for c in rising if c.name not in stopped]

    return {name: round(value) for name, value in given.items()}
