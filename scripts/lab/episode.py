# SPDX-License-Identifier: GPL-2.0-only
"""One request of a traced run, from end to end: who ran, what was decided, where the time went.

A request's time is cut where something becomes different for it:

    sent ---> event      the driver domain carries it to the guest's back end
    event --> dispatch   the guest waits for a pCPU
    dispatch -> task     the guest's kernel takes the interrupt and the packet
    task ---> notify     the task works and answers
    notify -> driver     the driver domain waits for a pCPU, the guest finishes
    driver -> reply      the driver domain carries the answer to the client

Where the guest did not switch to a task (it resumed the one that it had), or the reply was taken
along without an event of its own, the stages on both sides are one.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import raw, runs, stats, trace
from .errors import InputError, LabError
from .paths import shown

DRIVER = 0  # the domain with the back ends
MARGIN_NS = 60_000
MAX_LINES = 60
THRESHOLD = 20  # of belief, unless tavs= says otherwise
_THRESHOLD = re.compile(r"\bthreshold=(\d+)")


@dataclass(frozen=True)
class Span:
    """A vCPU has a pCPU."""

    start: int
    end: int
    cpu: int
    vcpu: trace.Vcpu


@dataclass(frozen=True)
class Stage:
    name: str
    start: int
    end: int
    records: int  # within it; each costs time
    ran: dict[int, int]  # domain -> ns

    @property
    def ns(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Traced:
    """A run with its trace."""

    label: str
    directory: Path
    names: dict[int, str]
    guests: dict[str, int]  # client -> domain that it asks
    samples: dict[str, list[raw.Sample]]
    window: tuple[int, int]
    trace: trace.Trace
    threshold: int  # of belief, as Xen was booted

    def name(self, domid: int) -> str:
        return "idle" if domid == trace.IDLE else self.names.get(domid, f"domain {domid}")


@dataclass(frozen=True)
class Episode:
    run: Traced
    client: str
    number: int  # of the request, from 1
    sample: raw.Sample
    guest: int
    stages: list[Stage]
    happened: list[trace.Happened]  # with a margin
    spans: list[Span]

    @property
    def latency_ns(self) -> int:
        return self.sample.latency_ns


def load(place: Path) -> Traced:
    """The one traced run in `place`."""
    found = [f for f in runs.find(place) if f.directory is not None and trace.traced(f.directory / "raw")]
    if not found:
        raise LabError(
            f"{shown(place)}: no run in it was traced", ["trace one with: lab run SCENARIO --trace"]
        )
    if len(found) > 1:
        raise InputError(
            f"{shown(place)} holds {len(found)} traced runs: name one", [shown(f.directory) for f in found]
        )
    run, directory = found[0].run, found[0].directory
    domids = raw.read_domains(directory / "raw/domains.tsv")
    wire = raw.read_wire(directory / "raw/wire.tsv")
    if wire.window is None:
        raise LabError(f"{shown(directory)}: nothing was measured")
    label = f"{run['scenario']['name']} under {run['policy']['name']}, seed {run['seed']}"
    return Traced(
        label,
        directory,
        {d: n for n, d in domids.items()},
        {c["name"]: domids[c["guest"]] for c in run["clients"] if c["guest"] in domids},
        wire.samples,
        wire.window,
        trace.read(directory / "raw"),
        int(asked[-1]) if (asked := _THRESHOLD.findall(run["policy"]["xen"])) else THRESHOLD,
    )


def choose(run: Traced, client: str | None, which: str | int) -> tuple[str, int]:
    """The client and the number of the request that is meant: "median", "worst" or a number from 1."""
    if client is None:
        if not run.guests:
            raise InputError(f"{run.label} has no clients, so no requests")
        client = next(iter(run.guests))
    if client not in run.guests:
        raise InputError(
            f"there is no client '{client}' in {run.label}", [f"there are: {', '.join(run.guests)}"]
        )
    samples = run.samples.get(client, [])
    answered = sorted((s.latency_ns, n) for n, s in enumerate(samples, 1) if not s.lost)
    if not answered:
        raise LabError(f"no request of {client} was answered")
    if which == "worst":
        return client, answered[-1][1]
    if which == "median":
        middle = stats.percentile([latency for latency, _ in answered], 500)
        return client, next(n for latency, n in answered if latency == middle)
    if not 1 <= which <= len(samples):
        raise InputError(f"{client} sent requests 1 to {len(samples)}; there is no {which}")
    if samples[which - 1].lost:
        raise LabError(f"request {which} of {client} got no reply: there is no episode to show")
    return client, which


def cut(run: Traced, client: str, number: int) -> Episode:
    sample, guest = run.samples[client][number - 1], run.guests[client]
    everything = run.trace.happened
    times = [h.at for h in everything]
    if not times or sample.sent_ns < times[0] - MARGIN_NS or sample.reply_ns > times[-1] + MARGIN_NS:
        raise LabError(
            f"request {number} of {client} is not within the trace", ["was it too large for --trace-mb?"]
        )
    inside = everything[bisect_left(times, sample.sent_ns) : bisect_right(times, sample.reply_ns)]
    first, last = sample.sent_ns - MARGIN_NS, sample.reply_ns + max(MARGIN_NS, sample.latency_ns // 10)
    around = everything[bisect_left(times, first) : bisect_right(times, last)]
    spans = [s for s in spans_of(everything) if s.end > first and s.start < last]
    marks = _marks(inside, sample, guest)
    stages = [
        Stage(f"{a} -> {b}", start, end, sum(start <= h.at < end for h in inside), _ran(spans, start, end))
        for (a, start), (b, end) in zip(marks, marks[1:])
    ]
    return Episode(run, client, number, sample, guest, stages, around, spans)


def spans_of(happened: list[trace.Happened]) -> list[Span]:
    """Who had which pCPU, in the order of time; without what began or ended beyond the trace."""
    running: dict[int, tuple[trace.Vcpu, int]] = {}
    spans = []
    for h in happened:
        if not isinstance(h, trace.Runstate):
            continue
        if h.old == "running" and running.get(h.cpu, (None, 0))[0] == h.vcpu:
            spans.append(Span(running.pop(h.cpu)[1], h.at, h.cpu, h.vcpu))
        if h.new == "running":
            running[h.cpu] = h.vcpu, h.at
    return spans


def _marks(inside, sample: raw.Sample, guest: int) -> list[tuple[str, int]]:
    """The points at which a request is cut, by name; those that can be told."""
    marks = [("sent", sample.sent_ns)]
    event = next(
        (h for h in inside if isinstance(h, trace.Event) and h.vcpu[0] == guest and h.remote == DRIVER), None
    )
    if event is None:
        return [*marks, ("reply", sample.reply_ns)]
    marks.append(("event", event.at))
    after = [h for h in inside if h.at >= event.at]
    dispatch = event.at if event.running else _gets_pcpu(after, lambda v: v == event.vcpu)
    if dispatch is not None:
        marks.append(("dispatch", dispatch))
        after = [h for h in after if h.at >= dispatch]
        notify = next(
            (
                h
                for h in reversed(after)
                if isinstance(h, trace.Event) and h.vcpu[0] == DRIVER and h.remote == guest
            ),
            None,
        )
        until = notify.at if notify else sample.reply_ns
        task = next(
            (
                h
                for h in after
                if isinstance(h, trace.Task)
                and h.vcpu == event.vcpu
                and not h.resumes
                and not h.kernel
                and h.at <= until
            ),
            None,
        )
        if task:
            marks.append(("task", task.at))
        if notify:
            marks.append(("notify", notify.at))
            driver = (
                None
                if notify.running
                else _gets_pcpu([h for h in after if h.at >= notify.at], lambda v: v == notify.vcpu)
            )
            if driver is not None:
                marks.append(("driver", driver))
    return [*marks, ("reply", sample.reply_ns)]


def _gets_pcpu(happened, wanted) -> int | None:
    return next(
        (h.at for h in happened if isinstance(h, trace.Runstate) and h.new == "running" and wanted(h.vcpu)),
        None,
    )


def _ran(spans: list[Span], start: int, end: int) -> dict[int, int]:
    ran: Counter[int] = Counter()
    for s in spans:
        if s.start < end and s.end > start:
            ran[s.vcpu[0]] += min(s.end, end) - max(s.start, start)
    return dict(ran)


def us(ns: int) -> str:
    return f"{ns / 1000:.1f} us" if abs(ns) < 10_000_000 else f"{ns / 1_000_000:.1f} ms"


def waits(run: Traced, client: str) -> list[tuple[int, int, int]]:
    """Number of the request, ns from the window's begin to its send, ns from its event to the guest's run.

    Without those that got no reply, or no event of their own: the guest had been told of something before.
    """
    times = [h.at for h in run.trace.happened]
    found = []
    for number, sample in enumerate(run.samples[client], 1):
        if sample.lost:
            continue
        inside = run.trace.happened[bisect_left(times, sample.sent_ns) : bisect_right(times, sample.reply_ns)]
        marks = dict(_marks(inside, sample, run.guests[client]))
        if "dispatch" in marks:
            found.append((number, sample.sent_ns - run.window[0], marks["dispatch"] - marks["event"]))
    return found


def line(episode: Episode) -> str:
    return ", ".join(f"{s.name} {us(s.ns)}" for s in episode.stages)


def story(episode: Episode) -> list[tuple[str, str]]:
    """What happened, in words: time from the send in us, and a sentence.  Long ones lose their middle."""
    name, sent = episode.run.name, episode.sample.sent_ns
    told = [
        (sent, f"{episode.client} sends request {episode.number}"),
        (episode.sample.reply_ns, f"{episode.client} has the reply"),
    ]
    for h in episode.happened:
        if (text := _sentence(h, name, episode.guest)) is not None:
            told.append((h.at, text))
    told.sort(key=lambda t: t[0])
    rows = [(f"{(at - sent) / 1000:.2f}", text) for at, text in told]
    if len(rows) > MAX_LINES:
        half = MAX_LINES // 2
        rows[half:-half] = [("", f"... {len(rows) - 2 * half} more ...")]
    return rows


def task_name(task: int) -> str:
    return f"task {task:x}"


def _sentence(h: trace.Happened, name, guest: int) -> str | None:
    who = name(h.vcpu[0]) + (f".{h.vcpu[1]}" if h.vcpu[1] else "")
    mine = h.vcpu[0] in (guest, DRIVER)
    match h:
        case trace.Runstate(new="running"):
            return f"{who} runs"
        case trace.Runstate(old="running") if mine:
            return f"{who} {'blocks' if h.new == 'blocked' else 'is preempted'}"
        case trace.Runstate(old="blocked") if mine:
            return f"{who} wakes up"
        case trace.Event() if mine:
            return f"event for {who}, port {h.port}" + ("" if h.remote is None else f" from {name(h.remote)}")
        case trace.Task() if mine:
            what = (
                "the kernel's address space"
                if h.kernel
                else f"{task_name(h.task)}, {h.verdict}, belief {h.belief}"
            )
            return f"{who} {'goes on with' if h.resumes else 'switches to'} {what}"
        case trace.Evidence() if mine:
            learned = f"{h.cause} evidence, ran {us(h.used_ns)}, belief {h.before} -> {h.after}"
            return f"{task_name(h.task)}: {learned}"
        case trace.Belief() if mine:
            now = "now" if h.after > h.before else "no longer"
            return f"{task_name(h.task)} is {now} believed to be I/O-bound ({h.cause})"
        case trace.Grant():
            return f"boost granted to {who} ({h.reason}), budget {us(h.budget_us * 1000)}"
        case trace.Refusal() if mine:
            return f"no boost for {who} ({h.reason}): {h.refusal}"
        case trace.Run():
            return f"the boost of {who} begins to run"
        case trace.End():
            return f"the boost of {who} ends: {h.end} after {us(h.used_ns)}{', hit' if h.hit else ''}"
    return None


def compare(one: Episode, floor: Episode) -> list[tuple[str, int, int]]:
    """Name, ns here, ns there of each stage; those that only one has are joined until both have them."""
    here, there = ({name: at for name, at in cuts(e)} for e in (one, floor))
    common = [name for name in here if name in there]
    return [(f"{a} -> {b}", here[b] - here[a], there[b] - there[a]) for a, b in zip(common, common[1:])]


def cuts(episode: Episode) -> list[tuple[str, int]]:
    """The points that cut the request, and when."""
    return [(s.name.partition(" -> ")[0], s.start) for s in episode.stages] + [
        ("reply", episode.sample.reply_ns)
    ]
