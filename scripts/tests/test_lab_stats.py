# SPDX-License-Identifier: GPL-2.0-only
"""Percentiles, interpolation and entitlements, against definitions and against brute force."""

import random
from fractions import Fraction

import pytest

from lab import stats
from lab.fairness import Claim, entitlements

SECOND = 1_000_000_000
ONE = frozenset({0})


class TestPercentile:
    @pytest.mark.parametrize("n, permille, rank", [(1, 500, 1), (2, 500, 1), (3, 500, 2), (10, 990, 10), (100, 990, 99),
                                                   (100, 999, 100), (1000, 999, 999), (1001, 999, 1000), (7, 1000, 7), (5, 1, 1)])
    def test_nearest_rank(self, n, permille, rank):
        assert stats.percentile(list(range(1, n + 1)), permille) == rank

    def test_properties_on_random_samples(self):
        rng = random.Random(7)
        for _ in range(500):
            samples = sorted(rng.randrange(50) for _ in range(rng.randrange(1, 60)))
            before = samples[0]
            for permille in sorted(rng.sample(range(1, 1001), 6)):
                value = stats.percentile(samples, permille)
                assert value in samples
                assert value >= before
                assert sum(s <= value for s in samples) * 1000 >= permille * len(samples)
                assert sum(s < value for s in samples) * 1000 < permille * len(samples)
                before = value

    @pytest.mark.parametrize("permille", [0, -1, 1001])
    def test_bad_ranks(self, permille):
        with pytest.raises(ValueError):
            stats.percentile([1], permille)

    def test_no_samples(self):
        with pytest.raises(ValueError):
            stats.percentile([], 500)


def test_mean_rounds_halves_up():
    assert [stats.mean(s) for s in ([1], [1, 2], [1, 1, 2], [1, 2, 2], [0, 1, 0, 1])] == [1, 2, 1, 2, 1]


def test_mean_is_exact_beyond_floats():
    assert stats.mean([2**62, 2**62 + 2]) == 2**62 + 1


def test_summary():
    assert stats.summary([5, 1, 9], lost=2) == {"n": 3, "lost": 2, "mean_ns": 5, "p50_ns": 5, "p90_ns": 9, "p99_ns": 9,
                                                "p99_9_ns": 9, "max_ns": 9}
    assert stats.summary([], lost=4) == {"n": 0, "lost": 4, "mean_ns": None, "p50_ns": None, "p90_ns": None, "p99_ns": None,
                                         "p99_9_ns": None, "max_ns": None}


@pytest.mark.parametrize("at, value", [(10, 0), (20, 100), (15, 50), (25, 100), (30, 100), (9, None), (31, None)])
def test_interpolation(at, value):
    assert stats.interpolate([(10, 0), (20, 100), (30, 100)], at) == value


def test_interpolation_of_nothing():
    assert stats.interpolate([], 5) is None


class TestEntitlement:
    def busy(self, name, weight=256, limit=30 * SECOND, pcpus=ONE):
        return Claim(name, weight, limit, pcpus)

    def dom0(self, used, pcpus=ONE):
        return Claim("dom0", 256, used, pcpus)

    def test_dom0_is_entitled_to_no_more_than_its_share(self):
        """It took 16.5 s of 30, beside six hogs: a share is a seventh."""
        given = entitlements([self.dom0(16_500_000_000), *(self.busy(f"h{i}") for i in range(6))], 30 * SECOND)
        assert set(given.values()) == {round(Fraction(30 * SECOND, 7))}

    def test_dom0_has_a_weight(self):
        heavy = Claim("dom0", 512, 16 * SECOND, ONE)
        given = entitlements([heavy, *(self.busy(f"h{i}") for i in range(6))], 32 * SECOND)
        assert given["dom0"] == 8 * SECOND and given["h0"] == 4 * SECOND

    def test_equal_hogs_share_what_dom0_leaves(self):
        given = entitlements([self.dom0(6 * SECOND // 10), *(self.busy(f"h{i}") for i in range(6))], 30 * SECOND)
        assert given["dom0"] == 600_000_000
        assert all(given[f"h{i}"] == 4_900_000_000 for i in range(6))

    def test_the_example_of_the_documentation(self):
        claims = [self.dom0(600_000_000), self.busy("echo", limit=400_000_000), *(self.busy(f"h{i}") for i in range(4))]
        given = entitlements(claims, 30 * SECOND)
        assert given["echo"] == 400_000_000 and given["h0"] == 7_250_000_000

    def test_weights(self):
        given = entitlements([self.busy("a", 512), self.busy("b", 256), self.busy("c", 256)], 8 * SECOND)
        assert (given["a"], given["b"], given["c"]) == (4 * SECOND, 2 * SECOND, 2 * SECOND)

    def test_what_a_cap_leaves_goes_to_the_others(self):
        given = entitlements([self.busy("capped", limit=2 * SECOND), self.busy("a"), self.busy("b")], 10 * SECOND)
        assert given == {"capped": 2 * SECOND, "a": 4 * SECOND, "b": 4 * SECOND}

    def test_a_sleeper_that_takes_too_much_is_entitled_to_the_fair_share(self):
        given = entitlements([self.busy("s", limit=27 * SECOND), *(self.busy(f"h{i}") for i in range(5))], 30 * SECOND)
        assert given["s"] == 5 * SECOND

    def test_more_cpu_than_anyone_wants(self):
        given = entitlements([self.busy("a", limit=SECOND), self.busy("b", limit=2 * SECOND)], 30 * SECOND)
        assert given == {"a": SECOND, "b": 2 * SECOND}

    def test_pinned_guests_share_their_pcpu_only(self):
        claims = [self.dom0(SECOND, frozenset({1})), *(self.busy(f"h{i}", pcpus=ONE) for i in range(6))]
        given = entitlements(claims, 30 * SECOND)
        assert all(given[f"h{i}"] == 5 * SECOND for i in range(6))

    def test_a_free_domain_goes_where_the_pinned_ones_are_not(self):
        both = frozenset({0, 1})
        claims = [self.busy("p1", pcpus=ONE), self.busy("p2", pcpus=ONE), self.busy("free", pcpus=both)]
        assert entitlements(claims, 30 * SECOND) == {"p1": 15 * SECOND, "p2": 15 * SECOND, "free": 30 * SECOND}

    def test_nobody(self):
        assert entitlements([], SECOND) == {}

    def test_dom0_alone(self):
        assert entitlements([self.dom0(5)], SECOND) == {"dom0": 5}

    def test_against_a_slow_filling_on_one_pcpu(self):
        """Random cases against the textbook: sort by limit/weight, give each its part of what is left."""
        rng = random.Random(11)
        for _ in range(200):
            window = 1_000_000
            claims = [Claim(f"g{i}", rng.randrange(1, 9), rng.randrange(1, window), ONE) for i in range(rng.randrange(1, 8))]
            left, weights, expected = Fraction(window), sum(c.weight for c in claims), {}
            for claim in sorted(claims, key=lambda c: Fraction(c.limit_ns, c.weight)):
                expected[claim.name] = min(Fraction(claim.limit_ns), left * claim.weight / weights)
                left -= expected[claim.name]
                weights -= claim.weight
            given = entitlements(claims, window)
            assert {n: given[n] for n in expected} == {n: round(v) for n, v in expected.items()}

    def test_never_more_than_there_is(self):
        rng = random.Random(5)
        for _ in range(200):
            sets = [frozenset({0}), frozenset({1}), frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 1, 2})]
            claims = [Claim(f"g{i}", rng.randrange(1, 500), rng.randrange(1, 1000), rng.choice(sets)) for i in range(8)]
            given = entitlements(claims, 1000)
            for group in sets:
                assert sum(given[c.name] for c in claims if c.pcpus <= group) <= 1000 * len(group) + len(claims)
            for claim in claims:
                assert 0 <= given[claim.name] <= claim.limit_ns
