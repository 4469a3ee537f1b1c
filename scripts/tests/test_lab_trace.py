# SPDX-License-Identifier: GPL-2.0-only
"""Traces: every record as its words say, and nothing that is malformed taken for one."""

import pytest
from trace_fixture import (
    BELIEF,
    END,
    EVENT,
    EVIDENCE,
    GRANT,
    REFUSED,
    RUN,
    TASK,
    pair,
    record,
    runstate,
    task,
    vcpu,
    window,
)

from lab import image, policy, scenario, trace
from lab.errors import LabError

CLOCK = trace.Clock.between((1000, 5_000), (2000, 6_000))  # 1 ns a tick, 4000 ns ahead


def decoded(data):
    return [h for r in trace.parse(data) if (h := trace.decode(r, CLOCK)) is not None]


def test_every_kind_of_record_is_read():
    data = window(
        3,
        runstate(1000, 7, "runnable", "running"),
        record(EVENT, vcpu(7, 2), 12, 0, 1, tsc=1001),
        record(EVENT, vcpu(0), 13, 0xFFFF, 0, tsc=1002),
        task(1003, 7, 0x1_0000_0002, belief=-15, verdict=1, role=3),
        task(1004, 7, 0x55, belief=300, verdict=2, role=2, resumes=True, kernel=True),
        record(EVIDENCE, vcpu(7), 5, 1, 1, pair(20, -100), 0xFFFFFFFF, tsc=1005),
        record(BELIEF, vcpu(7), 5, 0, pair(20, 25), 0, tsc=1006),
        record(GRANT, vcpu(7), 2, 500, tsc=1007),
        record(REFUSED, vcpu(7), 3, 1, tsc=1008),
        record(EVIDENCE, vcpu(7, 1), 6, 0, 5, pair(0, 25), 0, tsc=1008),
        record(GRANT, vcpu(7, 1), 4, 500, tsc=1008),
        record(RUN, vcpu(7), 2, 0, tsc=1009),
        record(END, vcpu(7), 2, 1 | 1 << 8, 91_000, 409, tsc=1010),
    )
    assert decoded(data) == [
        trace.Runstate(5000, 3, (7, 0), "runnable", "running"),
        trace.Event(5001, 3, (7, 2), 12, 0, True),
        trace.Event(5002, 3, (0, 0), 13, None, False),
        trace.Task(5003, 3, (7, 0), 0x1_0000_0002, -15, "undecided", "next", False, False),
        trace.Task(5004, 3, (7, 0), 0x55, 300, "I/O-bound", "resumed", True, True),
        trace.Evidence(5005, 3, (7, 0), 0x1_0000_0005, "negative", 20, -100, 0xFFFFFFFF),
        trace.Belief(5006, 3, (7, 0), 5, 20, 25, "positive"),
        trace.Grant(5007, 3, (7, 0), "net", 500),
        trace.Refusal(5008, 3, (7, 0), "budget", "block"),
        trace.Evidence(5008, 3, (7, 1), 6, "born", 0, 25, 0),
        trace.Grant(5008, 3, (7, 1), "timer", 500),
        trace.Run(5009, 3, (7, 0), "net", 0),
        trace.End(5010, 3, (7, 0), "net", "blocked", True, 91_000, 409),
    ]


def test_what_is_of_no_use_here_is_passed_over():
    data = (
        window(0, record(0x28006, 1, 2, tsc=1001), record(0x22003, 5, tsc=1002), record(0x21002, 0, tsc=1003))
        + window(1, record(0x1F002, 0, 0), record(0x1F002, *[0] * 7, tsc=1004), record(0x81001))
        + window(0)
    )
    assert decoded(data) == []
    assert [(r.cpu, r.event) for r in trace.parse(data)] == [(0, 0x28006), (0, 0x22003), (0, 0x21002)]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"\1\2\3", "cut off at byte 0"),
        (record(GRANT, vcpu(1), 0, 5, tsc=1), "no window begins at byte 0"),
        (
            window(0, runstate(1000, 1, "blocked", "runnable"))[:-4],
            "the window at byte 12 is of 16 bytes, 12 are left",
        ),
        (window(0, record(GRANT, vcpu(1), 0, 5, tsc=1)[:-4]), "the record at byte 12 goes beyond its window"),
        (window(0, record(GRANT, vcpu(1), 0, tsc=1)), "event 0x22c05 has 2 words instead of 3"),
        (window(0, record(GRANT, vcpu(1), 5, 0, tsc=1)), "a value that nothing knows"),
        (window(0, record(TASK, vcpu(1), 1, 0, 0, 3, tsc=1)), "a value that nothing knows"),
    ],
)
def test_a_malformed_trace_is_refused(data, message):
    with pytest.raises(LabError, match=message):
        decoded(data)


def write(raw, data, clock="1000\t5000\n2000\t6000\n"):
    (raw / trace.TRACE).write_bytes(data)
    (raw / trace.CLOCK).write_text(clock)


def test_pcpus_are_merged_and_losses_counted(tmp_path):
    write(
        tmp_path,
        window(0, runstate(1010, 1, "running", "blocked"), runstate(1030, 2, "runnable", "running"))
        + window(1, runstate(1020, 3, "running", "blocked"), record(0x1F001, 41, 3 << 16, 1000, 0, tsc=1025))
        + window(0, record(0x1F001, 1, 3 << 16, 1000, 0, tsc=1040)),
    )
    found = trace.read(tmp_path)
    assert [h.vcpu[0] for h in found.happened] == [1, 3, 2]
    assert [h.at for h in found.happened] == [5010, 5020, 5030]
    assert found.records == 5 and found.lost == 42 == trace.lost(tmp_path)


@pytest.mark.parametrize("clock", ["", "1 2\n", "1 2\n3 4\n5 6\n", "1 2\n3 x\n", "5 2\n3 4\n"])
def test_a_clock_that_says_nothing_is_refused(tmp_path, clock):
    write(tmp_path, b"", clock)
    with pytest.raises(LabError, match="trace-clock.tsv"):
        trace.read(tmp_path)


def test_the_tracer_runs_around_the_traffic_source_and_only_if_asked_for():
    one, tavs = scenario.find("mixed"), policy.load()["tavs"]
    plain, traced = (image._measure_script(one, tavs, 1, "measure", mb).splitlines() for mb in (0, 24))
    wire = next(n for n, line in enumerate(traced) if line.startswith("wire "))
    assert traced[wire - 1] == "tracer start --kb 24 --clock /lab/out/trace-clock.tsv"
    assert traced[wire + 1] == "tracer save --out /lab/out/trace.bin --clock /lab/out/trace-clock.tsv"
    assert traced[: wire - 1] + traced[wire : wire + 1] + traced[wire + 2 :] == plain
