# SPDX-License-Identifier: GPL-2.0-only
"""Statistics on whole nanoseconds.  Integers only, so that every host gets the same bytes."""

PERMILLES = {"p50": 500, "p90": 900, "p99": 990, "p99_9": 999}


def percentile(ordered: list[int], permille: int) -> int:
    """Nearest rank: the smallest sample such that at least permille/1000 of all are no larger.

    It is always a sample that was seen, never a value between two.  Of ten samples, p99 is the
    largest: a percentile asks for at least 1000/(1000-permille) samples before it says more than max.
    """
    if not ordered:
        raise ValueError("no samples, no percentile")
    if not 0 < permille <= 1000:
        raise ValueError(f"{permille} permille is not in 1..1000")
    return ordered[-(-permille * len(ordered) // 1000) - 1]


def mean(samples: list[int]) -> int:
    """The arithmetic mean, rounded to a whole number, halves up."""
    return (2 * sum(samples) + len(samples)) // (2 * len(samples))


def summary(samples: list[int], lost: int = 0) -> dict:
    """What results.json says about a set of latencies; without samples the figures are null."""
    ordered = sorted(samples)
    out = {"n": len(ordered), "lost": lost, "mean_ns": None}
    for name in PERMILLES:
        out[f"{name}_ns"] = None
    out["max_ns"] = None
    if ordered:
        out["mean_ns"] = mean(ordered)
        for name, permille in PERMILLES.items():
            out[f"{name}_ns"] = percentile(ordered, permille)
        out["max_ns"] = ordered[-1]
    return out


def per_second(count: int, duration_ns: int) -> float:
    """A rate with three decimals."""
    return round(count * 1_000_000_000 / duration_ns, 3)


def interpolate(points: list[tuple[int, int]], at: int) -> int | None:
    """The value of a cumulative log at a time between two of its points; None outside the log."""
    if not points or at < points[0][0] or at > points[-1][0]:
        return None
    low, high = 0, len(points) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if points[middle][0] <= at:
            low = middle
        else:
            high = middle
    (t0, v0), (t1, v1) = points[low], points[high]
    if t1 == t0:
        return v1
    return v0 + (v1 - v0) * (at - t0) // (t1 - t0)
