# SPDX-License-Identifier: GPL-2.0-only
"""Four pCPUs in parallel virtual time (docs/lab.md): they serve, all of them work, and the run repeats itself."""

import pytest

from booted_fixture import SEED, complaints, measure, rundir, written
from lab import paths, policy
from lab.cache import digests

pytestmark = pytest.mark.booted

OUT = paths.OUT / "check" / "parallel"
# A guest with a vCPU for each pCPU: interrupts between pCPUs from dom0 to the guest and inside the guest.
FOUR = """
title = "four pCPUs"
pcpus = 4
limit_s = 60
settle_s = 1
duration_s = 1
learning_requests = 0
[dom0]
vcpus = 4
[[guest]]
name = "s1"
vcpus = 4
memory_mb = 96
vif = true
[[guest.workload]]
run = "echo"
[[guest.workload]]
run = "hog"
[[guest.workload]]
run = "hog"
name = "hog2"
[[guest.workload]]
run = "hog"
name = "hog3"
[[guest.workload]]
run = "hog"
name = "hog4"
[[client]]
name = "c1"
guest = "s1"
think_ms = [10, 50]
requests = 20
"""


@pytest.fixture(scope="session")
def twice(tmp_path_factory):
    """The same run twice, one after the other, so that the host is another each time."""
    four, tavs = written("four", FOUR, tmp_path_factory.mktemp("four")), policy.load()["tavs"]
    outs = (OUT / "once", OUT / "again")
    outcomes = [measure([(four, tavs)], out, tmp_path_factory)[0] for out in outs]
    return [(outcome.run, rundir(out, "four", "tavs")) for outcome, out in zip(outcomes, outs, strict=True)]


def test_two_runs_on_four_pcpus_are_the_same_to_the_byte(twice):
    (first, one), (_, two) = twice
    assert first["complete"], first["error"]
    assert digests(one) == digests(two)
    assert (one / "results.json").read_bytes() == (two / "results.json").read_bytes()
    assert first["ran"]["quantum_ns"] == 10_000 and first["seed"] == SEED


def test_four_pcpus_do_the_work_of_four(twice):
    """A hog for each pCPU: each has one, but for what dom0 needs."""
    run, directory = twice[0]
    window = run["window"]["duration_ns"]
    used = next(domain["cpu_ns"] for domain in run["domains"] if domain["name"] == "s1")
    assert 3.8 * window < used <= 4.01 * window
    units = [hog["units_per_s"] for hog in run["hogs"]]
    assert min(units) > 0.8 * 500e6 / 100     # a unit is a hundred instructions
    assert complaints(directory / "serial.log", *(directory / "raw/console").glob("*.log")) == []


def test_a_request_crosses_pcpus_in_a_fraction_of_a_millisecond(twice):
    """Where each pCPU ran on to its next timer it took milliseconds."""
    (client,) = twice[0][0]["clients"]
    assert client["whole"]["n"] == 20 and client["whole"]["lost"] == 0
    assert client["whole"]["p50_ns"] < 500_000
