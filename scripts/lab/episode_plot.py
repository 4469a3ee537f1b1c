# SPDX-License-Identifier: GPL-2.0-only
"""The picture of an episode, and that of beliefs over time."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import trace
from .beliefs import Course
from .episode import DRIVER, MARGIN_NS, Episode, Traced, cuts, task_name
from .plots import INK, WIDTH

GUEST, DRIVES = "#009E73", "#0072B2"
OTHERS = ["#f2d9b8", "#e8c594", "#d9dfe6", "#c5cdd8", "#e6cfe0", "#d3e3c8"]
TASKS = {"I/O-bound": GUEST, "undecided": "#56B4E9", "not I/O-bound": "#D55E00", "kernel": "#999999"}
DARK = {GUEST, DRIVES, "#D55E00"}  # white on these
GRANTED, BOOSTED = "#f7d774", "#d4a500"


def episode(e: Episode) -> Figure:
    """Lanes over one axis of time: the stages, the boost, the guest's tasks, each pCPU."""
    sent = e.sample.sent_ns
    unit, scale = ("us", 1000) if e.latency_ns < 10_000_000 else ("ms", 1_000_000)
    left, right = -MARGIN_NS / 2, e.latency_ns * 1.04 + MARGIN_NS / 2

    def x(at: int) -> float:
        return min(max(at - sent, left), right) / scale

    cpus = sorted({s.cpu for s in e.spans})
    lanes = ["stages", "boost", f"tasks of {e.run.name(e.guest)}", *(f"pCPU {cpu}" for cpu in cpus)]
    figure = Figure(figsize=(WIDTH, 1.55 + 0.62 * len(lanes)), layout="constrained")
    axes = figure.add_subplot()
    y = {lane: -n for n, lane in enumerate(lanes)}

    def bar(lane: str, start: int, end: int, colour: str, text: str = "", height: float = 0.56) -> None:
        a, b = x(start), x(end)
        if b <= a:
            return
        axes.barh(y[lane], b - a, left=a, height=height, color=colour, edgecolor="white", linewidth=0.5)
        if text and (b - a) * scale > 0.012 * len(text) * (right - left):
            axes.text(
                (a + b) / 2,
                y[lane],
                text,
                ha="center",
                va="center",
                fontsize=7.5,
                color="white" if colour in DARK else INK,
            )

    seen: dict[str, str] = {}
    other = iter(OTHERS * 20)
    for s in e.spans:
        if s.vcpu[0] == trace.IDLE:
            continue
        name = e.run.name(s.vcpu[0])
        if name not in seen:
            seen[name] = GUEST if s.vcpu[0] == e.guest else DRIVES if s.vcpu[0] == DRIVER else next(other)
        bar(f"pCPU {s.cpu}", s.start, s.end, seen[name], name)

    verdicts = _tasks(e, lambda *a: bar(lanes[2], *a))
    _boosts(e, lambda *a: bar("boost", *a))
    for number, s in enumerate(e.stages):
        bar("stages", s.start, s.end, ("#dfe5ec", "#c9d2dd")[number % 2])
        if s.ns > 0.02 * (right - left):
            axes.text(
                (x(s.start) + x(s.end)) / 2,
                0.36,
                f"{s.ns / scale:.1f}",
                ha="center",
                va="bottom",
                fontsize=8,
                fontweight="bold",
            )
    for at, name in _labels(e, 0.02 * (right - left)):
        axes.axvline(x(at), color=INK, linewidth=0.5, linestyle=":", zorder=0)
        axes.text(x(at), 0.78, name, fontsize=8, rotation=38, ha="left", va="bottom")

    axes.set_xlim(left / scale, right / scale)
    axes.set_ylim(-len(lanes) + 0.5, 1.5)
    axes.set_yticks([y[lane] for lane in lanes], lanes)
    axes.grid(False, axis="y")
    axes.set_xlabel(f"virtual {unit} since request {e.number} of {e.client} was sent; {e.run.label}")
    axes.spines["left"].set_visible(False)
    handles = [Patch(color=TASKS[v], label=f"task: {v}") for v in TASKS if v in verdicts]
    handles += [Patch(color=GRANTED, label="boost granted"), Patch(color=BOOSTED, label="boosted")]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)
    return figure


def _labels(e: Episode, room: float) -> list[tuple[int, str]]:
    """The points that cut the request; those that would be drawn over each other share a label."""
    labels: list[tuple[int, list[str]]] = []
    for name, at in cuts(e):
        if labels and at - labels[-1][0] < room:
            labels[-1][1].append(name)
        else:
            labels.append((at, [name]))
    return [(at, ", ".join(names)) for at, names in labels]


def _tasks(e: Episode, bar) -> set[str]:
    """The guest's tasks while it has a pCPU; returns the verdicts that are seen."""
    seen = set()
    for s in sorted((s for s in e.spans if s.vcpu[0] == e.guest), key=lambda s: s.start):
        at, task = s.start, None
        for h in e.happened:
            if not isinstance(h, trace.Task) or h.vcpu != s.vcpu or h.at >= s.end:
                continue
            if task is not None and h.at > at:
                seen.add(task[0])
                bar(at, h.at, TASKS[task[0]], task[1])
            # The scheduler says what goes on just before the vCPU has the pCPU.
            at = max(at, h.at)
            task = ("kernel", "kernel") if h.kernel else (h.verdict, task_name(h.task).removeprefix("task "))
        if task is not None and at < s.end:
            seen.add(task[0])
            bar(at, s.end, TASKS[task[0]], task[1])
    return seen


def _boosts(e: Episode, bar) -> None:
    """From its grant to its end: it waits for a pCPU, and has one, perhaps more than once."""
    since = None
    for h in e.happened:
        if h.vcpu[0] != e.guest:
            continue
        if isinstance(h, trace.Grant) or (isinstance(h, trace.Run) and since is None):
            since = h.at
        elif isinstance(h, trace.End) and since is not None:
            _boost(e, since, h.at, bar, h.end)
            since = None
    if since is not None:
        _boost(e, since, e.happened[-1].at, bar)


def _boost(e: Episode, start: int, end: int, bar, how: str = "") -> None:
    at, pieces = start, []
    for s in sorted(e.spans, key=lambda s: s.start):
        if s.vcpu[0] == e.guest and s.start < end and s.end > start:
            pieces += [(at, max(at, s.start), GRANTED), (max(at, s.start), min(s.end, end), BOOSTED)]
            at = min(s.end, end)
    pieces = [p for p in (*pieces, (at, end, GRANTED)) if p[0] < p[1]]
    for number, piece in enumerate(pieces, 1):
        bar(*piece, *([how] if number == len(pieces) else []))


def beliefs(courses: list[Course], run: Traced) -> Figure:
    """Degree of belief over time, a line for each task."""
    window = run.window
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    axes = figure.add_subplot()
    spare = iter([DRIVES, "#CC79A7", "#E69F00", "#8E6BBF", "#56B4E9", "#999999"] * len(courses))
    kinds = {"believed to be I/O-bound": GUEST, "CPU-bound": "#D55E00"}
    for course in courses:
        colour = kinds.pop(course.kind, None) or next(spare)
        seconds = [(at - window[0]) / 1e9 for at, _ in course.points]
        axes.step(
            [*seconds, max(seconds[-1], (window[1] - window[0]) / 1e9)],
            [*(b for _, b in course.points), course.points[-1][1]],
            where="post",
            color=colour,
            linewidth=1.8,
            label=f"{course.name}: {course.kind}",
        )
        for at, belief, up in course.crossings:
            axes.plot((at - window[0]) / 1e9, belief, marker="^" if up else "v", color=colour, markersize=7)
    axes.set_xlabel(f"virtual s in the window; {run.label}")
    axes.axhline(
        run.threshold, color=INK, linewidth=0.8, linestyle=":", label=f"believed above {run.threshold}"
    )
    axes.set_ylabel("degree of belief")
    handles, labels = axes.get_legend_handles_labels()
    if any(c.crossings for c in courses):
        handles.append(Line2D([], [], color=INK, marker="^", linestyle="none"))
        labels.append("crosses the threshold")
    figure.legend(handles, labels, loc="outside upper left", ncols=3)
    return figure
