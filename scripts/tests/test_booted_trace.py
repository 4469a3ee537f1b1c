# SPDX-License-Identifier: GPL-2.0-only
"""Traces of the real system: the records are there, say one consistent story, and losses are counted."""

import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from booted_fixture import measure, rundir, written
from lab import beliefs, episode, paths, policy, scenario, trace

pytestmark = pytest.mark.booted

OUT = paths.OUT / "check" / "trace"
CAP_NS = 1_000_000
THRESHOLD_NS = 500_000  # the I/O threshold: longer, only what runs an I/O-bound task is boosted
SLOP_NS = 100_000  # timers fire up to 50 us late; the records themselves take time
THRESHOLD = 20

SHORT = """
title = "one busy guest"
limit_s = 60
settle_s = 1
duration_s = 1
pcpus = 1
[[guest]]
name = "d1"
[[guest.workload]]
run = "hog"
"""


@pytest.fixture(scope="session")
def traced(tmp_path_factory):
    """Smoke under the debug hypervisor, and a guest whose trace does not fit: name -> (run, directory)."""
    known, short = policy.load(), written("short", SHORT, tmp_path_factory.mktemp("short"))
    wanted = [(scenario.find("smoke"), known["tavs-debug"], 16384), (short, known["tavs"], 4)]
    outcomes = measure(wanted, OUT, tmp_path_factory)
    for outcome in outcomes:
        assert outcome.run["complete"], outcome.run["error"]
    return {
        one.name: (outcome.run, rundir(OUT, one.name, under.name))
        for (one, under, _), outcome in zip(wanted, outcomes, strict=True)
    }


@pytest.fixture(scope="session")
def smoke(traced):
    run, directory = traced["smoke"]
    assert run["ran"]["trace"] == {"lost": 0}
    return episode.load(directory)


def by_vcpu(run, *kinds):
    found = defaultdict(list)
    for h in run.trace.happened:
        if isinstance(h, kinds):
            found[h.vcpu].append(h)
    return found


def test_records_of_every_kind_cover_the_window(smoke):
    kinds = Counter(type(h).__name__ for h in smoke.trace.happened)
    print(dict(kinds))
    for kind in ("Runstate", "Event", "Task", "Evidence", "Grant", "Refusal", "Run", "End"):
        assert kinds[kind] >= 3, kind
    assert kinds["Belief"] > 0 and kinds["Task"] > 100
    times = [h.at for h in smoke.trace.happened]
    assert times[0] < smoke.window[0] and times[-1] > smoke.window[1]
    assert max(b - a for a, b in zip(times, times[1:])) < 100_000_000


def test_each_boost_that_is_granted_runs_and_ends_once(smoke):
    boosts = by_vcpu(smoke, trace.Grant, trace.Run, trace.End)
    ended = 0
    for vcpu, records in boosts.items():
        granted, ran = None, []
        for h in records:
            match h:
                case trace.Grant():
                    assert granted is None, f"{vcpu}: granted again at {h.at}"
                    granted, ran = h, []
                case trace.Run():
                    ran.append(h)
                    assert granted is None or h.reason == granted.reason
                case trace.End() if granted is not None:  # else it began before the trace
                    ended += 1
                    assert h.reason == granted.reason
                    assert h.used_ns <= CAP_NS + SLOP_NS
                    if ran:
                        assert h.used_ns <= h.at - ran[0].at + SLOP_NS
                    if h.end == "capped":
                        assert h.used_ns >= THRESHOLD_NS - SLOP_NS
                    granted = None
    print(f"{ended} boosts")
    assert ended >= 3


def test_beliefs_have_no_gaps_and_cross_where_it_is_said(smoke):
    for vcpu, records in by_vcpu(smoke, trace.Evidence, trace.Belief).items():
        last = {}
        for number, h in enumerate(records):
            if isinstance(h, trace.Belief):
                before = records[number - 1]
                assert (h.task, h.before, h.after) == (before.task, before.before, before.after)
                continue
            # A task that is not believed can lose its place, and begins again at 0.
            assert h.before in (last.get(h.task, h.before), 0), (vcpu, h)
            crosses = (h.before > THRESHOLD) != (h.after > THRESHOLD)
            follows = number + 1 < len(records) and isinstance(records[number + 1], trace.Belief)
            assert crosses == follows
            last[h.task] = 0 if h.cause == "forgotten" else h.after


def test_vcpus_run_one_at_a_time_and_only_they_switch_tasks(smoke):
    spans = episode.spans_of(smoke.trace.happened)
    for a, b in zip(spans, spans[1:]):
        assert a.end <= b.start  # one pCPU
    ran = Counter()
    for s in spans:
        ran[s.vcpu[0]] += s.end - s.start
    assert sum(ran.values()) > 0.99 * (smoke.window[1] - smoke.window[0])
    starts = sorted((s.start, s.end, s.vcpu) for s in spans)
    switches = [h for h in smoke.trace.of(trace.Task) if not h.resumes]
    for h in switches:
        holder = next((v for start, end, v in reversed(starts) if start <= h.at <= end), h.vcpu)
        assert holder == h.vcpu


def test_episodes_and_beliefs_are_told(smoke):
    for which in ("median", "worst"):
        one = episode.cut(smoke, *episode.choose(smoke, "c1", which))
        assert sum(s.ns for s in one.stages) == one.latency_ns
        assert len(one.stages) >= 4, one.stages
    kinds = {c.kind for c in beliefs.courses(smoke, "pv1")}
    assert {"CPU-bound", "believed to be I/O-bound"} <= kinds


def xenalyze(directory: Path, *words) -> str:
    program = Path(paths.load_artifacts()["tools"]) / "usr/bin/xenalyze"
    done = subprocess.run(
        [program, "--cpu-hz", "1G", *words, directory / "raw" / trace.TRACE], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "ERROR" not in done.stderr
    return done.stdout


def test_xenalyze_counts_and_prints_the_same(smoke):
    summary = xenalyze(smoke.directory, "--summary")
    domains = {
        int(number): text
        for number, text in re.findall(
            r"^\|-- Domain (\d+) --\|\n(.*?)(?=^\|-- Domain|\Z)", summary, re.M | re.S
        )
    }
    assert {0, 1, 2} <= domains.keys()
    for domid, text in domains.items():
        granted = Counter(h.reason for h in smoke.trace.of(trace.Grant) if h.vcpu[0] == domid)
        assert {r: int(n) for r, n in re.findall(r"boosts for (\w+): (\d+)", text)} == granted
        ends = Counter(h.end for h in smoke.trace.of(trace.End) if h.vcpu[0] == domid)
        said = Counter()
        for line in re.findall(r"^    ended: (.*)$", text, re.M):
            said.update({what: int(n) for n, what in re.findall(r"(\d+) (\w+)", line)})
        assert said == ends
    dump = xenalyze(smoke.directory, "--dump-all")
    for kind, word in (
        (trace.Task, "task"),
        (trace.Evidence, "evidence"),
        (trace.Event, "event"),
        (trace.Belief, "belief"),
        (trace.Run, "boost_run"),
        (trace.Refusal, "boost_refused"),
    ):
        assert dump.count(f" tavs:{word} ") == sum(1 for _ in smoke.trace.of(kind)), word


def test_what_does_not_fit_is_counted(traced):
    run, directory = traced["short"]
    lost = run["ran"]["trace"]["lost"]
    assert lost > 50 and f"trace: {lost} records did not fit" in run["warnings"][-1]
    found = trace.read(directory / "raw")
    assert found.lost == lost and found.happened and found.records * 4 < 4096
