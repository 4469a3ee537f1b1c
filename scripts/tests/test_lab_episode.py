# SPDX-License-Identifier: GPL-2.0-only
"""Episodes and beliefs from a made-up trace whose every time is known."""

import json
import re
from dataclasses import replace

import pytest
from lab_fixture import write_raw
from matplotlib.colors import to_rgba
from trace_fixture import (
    BELIEF,
    END,
    EVENT,
    EVIDENCE,
    GRANT,
    REFUSED,
    RUN,
    pair,
    record,
    runstate,
    task,
    vcpu,
    window,
)

from lab import beliefs, cli, episode, episode_plot, experiment, experiment_plots, plots, policy, results, runs
from lab import scenario, trace
from lab.errors import InputError, LabError

US = 1000
BASE = 1_767_225_700_000_000_000  # of the clock of wire; the counter starts at 1000 there
SERVER, HOG = 0x1_0000_00AA, 0xBB


def request(sent_us, wait_us=30):
    """A boosted request of d1 (domain 1) beside h1 (domain 2); microseconds after `sent_us`."""

    def at(us):
        return 1000 + int((sent_us + us) * US)

    w = wait_us
    return [
        runstate(at(-20), 2, "running", "runnable"),
        runstate(at(-19), 0, "runnable", "running"),
        record(EVENT, vcpu(1), 9, 0, 0, tsc=at(20)),
        record(GRANT, vcpu(1), 2, 700, tsc=at(21)),
        task(at(w - 2), 1, HOG, -100, 0, 1, resumes=True),
        record(RUN, vcpu(1), 2, 0, tsc=at(w - 1)),
        runstate(at(w - 1), 0, "running", "blocked"),
        runstate(at(w), 1, "runnable", "running"),
        record(EVIDENCE, vcpu(1), HOG, 0, 1, pair(-90, -100), 60_000, tsc=at(w + 48)),
        task(at(w + 50), 1, SERVER, 25, 2, 3),
        record(EVENT, vcpu(0), 28, 1, 0, tsc=at(w + 120)),
        record(REFUSED, vcpu(0), 4, 3, tsc=at(w + 121)),
        record(EVIDENCE, vcpu(1), SERVER & 0xFFFFFFFF, 1, 0, pair(20, 25), 90_000, tsc=at(w + 130)),
        record(BELIEF, vcpu(1), SERVER & 0xFFFFFFFF, 1, pair(20, 25), 0, tsc=at(w + 131)),
        task(at(w + 135), 1, HOG, -100, 0, 4),
        record(END, vcpu(1), 2, 0 | 1 << 8, 139_000, 561, tsc=at(w + 139)),
        runstate(at(w + 140), 1, "running", "runnable"),
        runstate(at(w + 141), 0, "blocked", "running"),
        runstate(at(w + 200), 0, "running", "blocked"),
        runstate(at(w + 201), 2, "runnable", "running"),
    ]


SENT = {1: 1_000, 2: 5_000, 3: 9_000}  # microseconds
WAIT = {1: 400, 2: 30, 3: 60}


@pytest.fixture
def rundir(tmp_path):
    """A run of mixed with three requests; the second is the fastest, the first the slowest."""
    one, tavs = scenario.find("mixed"), policy.load()["tavs"]
    write_raw(tmp_path, one, tavs)
    raw = tmp_path / "raw"
    lines = [line for line in (raw / "wire.tsv").read_text().splitlines() if not line.startswith("sample")]
    for n, sent in SENT.items():
        start = BASE + sent * US
        lines.append(f"sample\tc1\t{n - 1}\t{start}\t{start}\t{start + (WAIT[n] + 180) * US}")
    lines.append(f"sample\tc1\t3\t{BASE}\t{BASE}\t0")
    text = "\n".join(lines) + "\n"
    (raw / "wire.tsv").write_text(re.sub(r"(?m)^window\t.*$", f"window\t{BASE}\t{BASE + 10**10}", text))
    (raw / "domains.tsv").write_text("0\tdom0\n1\td1\n" + "".join(f"{n + 1}\th{n}\n" for n in range(1, 6)))
    records = [r for n, sent in SENT.items() for r in request(sent, WAIT[n])]
    (raw / trace.TRACE).write_bytes(window(0, *records))
    (raw / trace.CLOCK).write_text(f"1000\t{BASE}\n{10**9 + 1000}\t{BASE + 10**9}\n")
    results.save(tmp_path / "results.json", [results.collect(tmp_path, one, tavs, 1)])
    return tmp_path


def cut(rundir, which, client=None):
    run = episode.load(rundir)
    return episode.cut(run, *episode.choose(run, client, which))


def test_every_microsecond_belongs_to_one_stage(rundir):
    one = cut(rundir, 2)
    assert [(s.name, s.ns) for s in one.stages] == [
        ("sent -> event", 20_000),
        ("event -> dispatch", 10_000),
        ("dispatch -> task", 50_000),
        ("task -> notify", 70_000),
        ("notify -> driver", 21_000),
        ("driver -> reply", 39_000),
    ]
    assert sum(s.ns for s in one.stages) == one.latency_ns == 210_000
    assert one.stages[1].ran == {0: 9_000} and one.stages[2].ran == {1: 50_000}
    assert [s.records for s in one.stages] == [0, 5, 2, 1, 7, 1]


def test_the_request_is_chosen_by_rank_or_number(rundir):
    assert cut(rundir, "worst").number == 1
    assert cut(rundir, "median").number == 3
    assert cut(rundir, 2, "c1").number == 2
    run = episode.load(rundir)
    for which, message in ((5, "requests 1 to 4"), (4, "got no reply")):
        with pytest.raises(LabError, match=message):
            episode.choose(run, None, which)
    with pytest.raises(InputError, match="no client 'c9'"):
        episode.choose(run, "c9", "median")


def test_stages_that_only_one_has_are_joined(rundir):
    one, other = cut(rundir, 3), cut(rundir, 2)
    inside = [h for h in other.happened if not isinstance(h, trace.Task)]
    marks = episode._marks(inside, other.sample, 1)
    assert [name for name, _ in marks] == ["sent", "event", "dispatch", "notify", "driver", "reply"]
    without = episode.Episode(
        other.run,
        "c1",
        2,
        other.sample,
        1,
        [episode.Stage(f"{a} -> {b}", start, end, 0, {}) for (a, start), (b, end) in zip(marks, marks[1:])],
        [],
        [],
    )
    assert episode.compare(one, without) == [
        ("sent -> event", 20_000, 20_000),
        ("event -> dispatch", 40_000, 10_000),
        ("dispatch -> notify", 120_000, 120_000),
        ("notify -> driver", 21_000, 21_000),
        ("driver -> reply", 39_000, 39_000),
    ]


def test_a_request_without_any_event_is_one_stage(rundir):
    sample = cut(rundir, 2).sample
    assert episode._marks([], sample, 1) == [("sent", sample.sent_ns), ("reply", sample.reply_ns)]


def test_a_wait_is_from_event_to_run(rundir):
    assert episode.waits(episode.load(rundir), "c1") == [
        (n, SENT[n] * US, (WAIT[n] - 20) * US) for n in SENT
    ]  # the fourth request got no reply


def test_an_experiment_has_the_waits_of_its_traced_runs(rundir):
    measured = experiment.Results(runs.find(rundir))
    goal = experiment.Target("t", "wait", "mixed", "tavs", client="c1", skip=1, figure="p50", at_most=0.04)
    verdict = experiment.judge(goal, measured)
    assert (verdict.values, verdict.met) == ({1: 0.04}, True)
    assert experiment.judge(replace(goal, skip=0, figure="mean"), measured).values == {1: 0.143333}
    assert experiment.judge(replace(goal, figure="max"), measured).values == {1: float("inf")}  # one was lost
    plot = experiment.Plot("waits", "mixed", "t", policies=("tavs",))
    (axes,) = plots.draw(experiment_plots.draw, plot, measured, plots.Look(["tavs"])).axes
    assert axes.get_lines()[0].get_ydata() == pytest.approx([0.38, 0.01, 0.04])


def test_a_request_whose_event_is_not_in_the_trace_is_not_passed_over(rundir):
    raw = rundir / "raw" / trace.TRACE
    raw.write_bytes(window(0, *request(SENT[2], WAIT[2])))
    goal = experiment.Target("t", "wait", "mixed", "tavs", client="c1", skip=0, figure="mean", at_most=1)
    verdict = experiment.judge(goal, experiment.Results(runs.find(rundir)))
    assert verdict.problem == "seed 1: of 3 requests that were answered, 1 have an event in the trace"
    assert not verdict.met


def test_the_story_says_what_happened_in_order(rundir):
    said = episode.story(cut(rundir, 2))
    times = [float(at) for at, _ in said]
    assert times == sorted(times)
    text = [text for _, text in said]
    for expected in (
        "c1 sends request 2",
        "event for d1, port 9 from dom0",
        "boost granted to d1 (net), budget 700.0 us",
        "d1 goes on with task bb, not I/O-bound, belief -100",
        "the boost of d1 begins to run",
        "d1 runs",
        "d1 switches to task 1000000aa, I/O-bound, belief 25",
        "no boost for dom0 (driver): ahead",
        "task 1000000aa is now believed to be I/O-bound (positive)",
        "the boost of d1 ends: revoked after 139.0 us, hit",
        "c1 has the reply",
    ):
        assert text.count(expected) == 1, expected


def test_beliefs_follow_the_evidence(rundir):
    run = episode.load(rundir)
    hog, server = sorted(beliefs.courses(run, None), key=lambda c: c.task)
    assert (hog.task, hog.kind, hog.counts["negative"]) == (HOG, "CPU-bound", 3)
    assert (server.task, server.kind, server.cpu_ns) == (SERVER, "believed to be I/O-bound", 270_000)
    assert server.points[0] == (BASE, 20) and [b for _, b in server.points] == [20, 25, 25, 25]
    assert [(b, up) for _, b, up in server.crossings] == [(25, True)] * 3
    assert run.threshold == 20
    with pytest.raises(LabError, match="no evidence"):
        beliefs.courses(run, "h1")
    with pytest.raises(InputError, match="no domain 'x'"):
        beliefs.courses(run, "x")


def test_who_is_believed_all_along_is_believed(rundir):
    evidence = [record(EVIDENCE, vcpu(1), n, 0, 0, pair(belief, belief + 1), 10, tsc=2000 + n)
                for n, belief in ((1, 20), (2, 21), (3, 19))]
    (rundir / "raw" / trace.TRACE).write_bytes(window(0, *evidence))
    kinds = {c.task: c.kind for c in beliefs.courses(episode.load(rundir), None)}
    assert kinds == {1: "believed to be I/O-bound", 2: "believed to be I/O-bound", 3: "undecided"}


@pytest.mark.parametrize("suffix, magic", [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_commands_print_and_draw(rundir, tmp_path, capsys, suffix, magic):
    picture = tmp_path / f"one.{suffix}"
    assert cli.main(["episode", str(rundir), "--worst", "--against", str(rundir), "-o", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "request 1 of c1, 580.0 us" in out and "event -> dispatch 380.0 us" in out
    assert re.search(r"all +580\.0 +240\.0 +\+340\.0", out)
    first = picture.read_bytes()
    assert first.startswith(magic)
    if suffix == "svg":
        for text in (">380.0<", ">dispatch<", ">dom0<", ">revoked<", "tasks of d1"):
            assert text in first.decode(), text
    assert cli.main(["episode", str(rundir), "--worst", "-o", str(picture)]) == 0
    assert picture.read_bytes() == first  # the same run, the same bytes
    assert cli.main(["beliefs", str(rundir), "-o", str(picture)]) == 0
    assert picture.read_bytes().startswith(magic) and "CPU-bound" in capsys.readouterr().out


def test_a_domain_keeps_its_colour_however_often_it_runs(rundir):
    one = cut(rundir, 2)
    at = one.sample.sent_ns
    often = [episode.Span(at + n * US, at + (n + 1) * US, 0, (2 + n % 2, 0)) for n in range(150)]
    axes = episode_plot.episode(replace(one, spans=often)).axes[0]
    colours = [bar.get_facecolor() for bar in axes.patches if bar.get_width() == pytest.approx(1)]
    assert len(colours) == 150
    first, second = (to_rgba(episode_plot.OTHERS[n]) for n in range(2))
    assert colours == [first, second] * 75


def test_a_vcpu_does_not_go_on_with_the_task_of_another(rundir):
    one = cut(rundir, 2)
    at = one.sample.sent_ns
    spans = [episode.Span(at, at + 10 * US, 0, (1, 0)), episode.Span(at + 10 * US, at + 20 * US, 1, (1, 1))]
    switch = trace.Task(at, 0, (1, 0), SERVER, 25, "I/O-bound", "next", True, False)
    bars = []
    seen = episode_plot._tasks(replace(one, spans=spans, happened=[switch]), lambda *what: bars.append(what))
    assert seen == {"I/O-bound"} and [(start, end) for start, end, *_ in bars] == [(at, at + 10 * US)]


def test_the_picture_lies_beside_the_results_by_default(rundir):
    assert cli.main(["episode", str(rundir)]) == 0 and cli.main(["beliefs", str(rundir)]) == 0
    assert (rundir / "episode-c1-3.svg").exists() and (rundir / "beliefs.svg").exists()


def test_runs_without_a_trace_are_refused(rundir, tmp_path, capsys):
    assert cli.main(["episode", str(rundir), "-o", str(tmp_path / "x.jpg")]) == 2
    assert "x.jpg: a picture is an .svg or a .png file" in capsys.readouterr().err
    (rundir / "raw" / trace.TRACE).unlink()
    assert cli.main(["episode", str(rundir)]) == 1
    assert "no run in it was traced" in capsys.readouterr().err


def test_a_request_beyond_the_trace_is_refused(rundir):
    found = json.loads((rundir / "results.json").read_text())
    assert found["runs"][0]["ran"]["trace"] == {"lost": 0}
    (rundir / "raw" / trace.TRACE).write_bytes(window(0, *request(SENT[1], WAIT[1])))
    with pytest.raises(LabError, match="request 3 of c1 is not within the trace"):
        cut(rundir, 3)
