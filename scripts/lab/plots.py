# SPDX-License-Identifier: GPL-2.0-only
"""Plots of runs: latency, CPU shares, throughput.

Colours are Okabe and Ito's, which colour-blind readers can tell apart; policies differ in line style
as well.  The same runs give the same bytes: no dates, fixed ids, the fonts that matplotlib brings.
"""

import io
import math
import re
import textwrap

import matplotlib

matplotlib.use("Agg")

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from .results import worst_error
from .runs import Found
from .tables import ms, probes

INK, GRID, PAPER = "#22272e", "#c9ced6", "#ffffff"
STYLE = {
    "svg.hashsalt": "xen-tavs",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "grid.alpha": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "figure.dpi": 100,
}
KNOWN = {
    "credit": ("#D55E00", "-"),
    "credit-1ms": ("#E69F00", "--"),
    "credit2": ("#0072B2", "-"),
    "credit2-rl0": ("#56B4E9", "--"),
    "rtds": ("#999999", "-."),
    "tavs": ("#009E73", "-"),
    "tavs-debug": ("#009E73", ":"),
    "tavs2": ("#CC79A7", "-"),
    "tavs2-rl0": ("#CC79A7", "--"),
    "credit-pristine": ("#D55E00", ":"),
    "credit2-pristine": ("#0072B2", ":"),
    "credit-1ms-pristine": ("#E69F00", ":"),
    "credit2-rl0-pristine": ("#56B4E9", ":"),
}
OTHERS = [
    ("#CC79A7", "-"),
    ("#B8A800", "-"),
    ("#CC79A7", "--"),
    ("#B8A800", "--"),
    ("#8E6BBF", "-"),
    ("#8E6BBF", "--"),
]
RASTER_ABOVE = 1500  # points; more are drawn as pixels inside the SVG
WIDTH = 9.4


class Look:
    """A colour and a line style for each policy, the same in every plot."""

    def __init__(self, policies: list[str]):
        fresh = [p for p in dict.fromkeys(policies) if p not in KNOWN]
        self.styles = {**KNOWN, **{p: OTHERS[i % len(OTHERS)] for i, p in enumerate(fresh)}}

    def colour(self, policy: str) -> str:
        return self.styles[policy][0]

    def line(self, policy: str) -> dict:
        """tavs is drawn thick and below: where curves are the same, the others stay visible on it."""
        colour, style = self.styles[policy]
        ours = policy.startswith("tavs")
        return {
            "color": colour,
            "linestyle": style,
            "linewidth": 3.4 if ours else 1.6,
            "zorder": 2 if ours else 3,
        }

    def dots(self, policy: str, many: bool) -> dict:
        ours = policy.startswith("tavs")
        return {
            "color": self.colour(policy),
            "linestyle": "none",
            "marker": "o",
            "markeredgewidth": 0,
            "markersize": (4.6 if ours else 3.0) * (0.5 if many else 1),
            "zorder": 2 if ours else 3,
        }


class Pictures:
    """The plots of one scenario; each method returns a Figure, or None if there is nothing to draw."""

    def __init__(self, found: list[Found], look: Look):
        self.found = found
        self.look = look
        self.samples = [(f, f.samples()) for f in found]
        self.names = list(
            dict.fromkeys(name for _, some in self.samples for name, points in some.items() if points)
        )
        self.policies = list(dict.fromkeys(f.run["policy"]["name"] for f in found))

    def cdf(self) -> Figure | None:
        if not self.names:
            return None
        figure, panels = _panels(len(self.names), 3.5)
        for axes, name in zip(panels, self.names):
            for found, some in self.samples:
                points = some.get(name) or []
                if points:
                    _cdf(
                        axes,
                        points,
                        label=_named(found, self.found, name),
                        **self.look.line(found.run["policy"]["name"]),
                    )
            _log_ms(axes, "x")
            axes.set_title(name)
        figure.supxlabel("latency, virtual ms (log)", fontsize=9.5)
        figure.supylabel("requests answered within", fontsize=9.5)
        _legend(figure, panels, single=len(self.names) == 1)
        return figure

    def sequence(self) -> Figure | None:
        if not self.names:
            return None
        figure, panels = _panels(len(self.names), 3.3, sharex=False)
        learning = self.found[0].run["scenario"]["definition"]["learning_requests"]
        clients = {c["name"] for f in self.found for c in f.run["clients"]}
        for axes, name in zip(panels, self.names):
            for found, some in self.samples:
                points = some.get(name) or []
                answered = [(n, v / 1e6) for n, v in points if v is not None]
                if not points:
                    continue
                policy = found.run["policy"]["name"]
                axes.plot(
                    [n for n, _ in answered],
                    [v for _, v in answered],
                    rasterized=len(points) > RASTER_ABOVE,
                    **self.look.dots(policy, many=len(points) > 300),
                )
                lost = [n for n, v in points if v is None]
                if lost:
                    axes.plot(
                        lost,
                        [0.98] * len(lost),
                        linestyle="none",
                        marker="x",
                        color=self.look.colour(policy),
                        transform=axes.get_xaxis_transform(),
                    )
            if name in clients and learning:
                axes.axvline(learning + 0.5, color=INK, linewidth=0.8, linestyle=":")
                label = axes.annotate(
                    f"after {learning} requests",
                    (learning + 0.5, 0),
                    xycoords=("data", "axes fraction"),
                    xytext=(3, 3),
                    textcoords="offset points",
                    fontsize=7.5,
                )
                label.set_in_layout(False)
            _log_ms(axes, "y")
            axes.set_title(name)
        figure.supxlabel("request", fontsize=9.5)
        figure.supylabel("latency, virtual ms (log)", fontsize=9.5)
        _policy_legend(figure, self.policies, self.look)
        return figure

    def shares(self) -> Figure | None:
        runs = [f for f in self.found if f.run["domains"]]
        if not runs:
            return None
        domains = list(dict.fromkeys(d["name"] for f in runs for d in f.run["domains"]))
        figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for position, offset, width, found in _slots(domains, runs):
            domain = next((d for d in found.run["domains"] if d["name"] == domains[position]), None)
            if domain is None:
                continue
            x = position + offset
            axes.bar(
                x,
                domain["share_ppm"] / 1e4,
                width * 0.88,
                color=self.look.colour(found.run["policy"]["name"]),
            )
            entitled = domain["entitled_ppm"] / 1e4
            axes.plot(
                [x - width / 2, x + width / 2],
                [entitled, entitled],
                color=INK,
                linewidth=1.6,
                solid_capstyle="butt",
            )
        _domain_axis(axes, domains)
        axes.set_ylabel("CPU share, % of the machine")
        _policy_legend(
            figure,
            self.policies,
            self.look,
            extra=[Line2D([], [], color=INK, linewidth=1.6, label="entitled")],
        )
        return figure

    def throughput(self) -> Figure | None:
        runs = self.found
        hogs = list(dict.fromkeys(_who(h) for f in runs for h in f.run["hogs"]))
        disks = list(dict.fromkeys(_who(d) for f in runs for d in f.run["disks"]))
        kinds = [k for k in (("hogs", hogs), ("disks", disks)) if k[1]]
        if not kinds:
            return None
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        widths = [max(1.6, len(names) ** 0.75) for _, names in kinds]
        for axes, (kind, names) in zip(
            figure.subplots(1, len(kinds), squeeze=False, width_ratios=widths)[0], kinds
        ):
            rate = "units_per_s" if kind == "hogs" else "reads_per_s"
            for position, offset, width, found in _slots(names, runs):
                entry = next((e for e in found.run[kind] if _who(e) == names[position]), None)
                if entry is not None and entry[rate] is not None:
                    axes.bar(
                        position + offset,
                        entry[rate],
                        width * 0.88,
                        color=self.look.colour(found.run["policy"]["name"]),
                    )
            _domain_axis(axes, names)
            axes.set_title(
                "work of CPU-bound programs, units a second" if kind == "hogs" else "disk reads a second"
            )
            if kind == "disks" and _spread([e[rate] for f in runs for e in f.run[kind]]) > 20:
                axes.set_yscale("log")
                axes.set_title("disk reads a second (log)")
            axes.yaxis.set_major_formatter(FuncFormatter(_short))
        _policy_legend(figure, self.policies, self.look)
        return figure


def overview(pictures: dict[str, Pictures]) -> Figure | None:
    """The README's picture: latency of the first client in two scenarios, and what it cost in fairness."""
    chosen = [(name, p) for name, p in pictures.items() if p.names][:2]
    if not chosen:
        return None
    look = chosen[0][1].look
    figure = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    grid = figure.subplots(1, len(chosen) + 1, squeeze=False, width_ratios=[1] * len(chosen) + [0.75])[0]
    for axes, (name, picture) in zip(grid, chosen):
        probe = picture.names[0]
        for found, some in picture.samples:
            _cdf(axes, some.get(probe) or [], **look.line(found.run["policy"]["name"]))
        axes.sharex(grid[0])
        title = picture.found[0].run["scenario"]["title"]
        axes.set_title(f"{name}\n" + textwrap.fill(title, 100 // (len(chosen) + 1)), fontsize=9)
        axes.set_xlabel("latency, virtual ms (log)")
    _log_ms(grid[0], "x")
    grid[0].set_ylabel("requests answered within")
    _worst_shares(grid[-1], chosen[0][0], chosen[0][1].found, look)
    _policy_legend(figure, list(dict.fromkeys(p for _, picture in chosen for p in picture.policies)), look)
    return figure


def _worst_shares(axes, name: str, found: list[Found], look: Look) -> None:
    """A bar for each run: the largest share error, with the domain that has it."""
    errors = [(f.run["policy"]["name"], worst_error(f.run) or (0, "-")) for f in found]
    reach = max(2.0, *(abs(error) / 1e4 for _, (error, _) in errors))
    for row, (policy, (error, domain)) in enumerate(errors):
        value = error / 1e4
        axes.barh(row, value, 0.6, color=look.colour(policy))
        axes.annotate(
            f"{domain} {value:+.1f}%",
            (value, row),
            xytext=(4 if value >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if value >= 0 else "right",
            va="center",
            fontsize=8.5,
        )
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlim(-reach * 1.9, reach * 1.9)
    axes.set_ylim(len(errors) - 0.4, -0.6)
    axes.set_yticks([])
    axes.grid(axis="y", visible=False)
    axes.set_title(f"{name}\nlargest CPU share error", fontsize=9)
    axes.set_xlabel("% of what the guest is entitled to")


def _cdf(axes, points: list, **line) -> None:
    """The part of all requests, lost ones included, that was answered within a time."""
    values = sorted(v for _, v in points if v is not None)
    if not values:
        return
    axes.step(
        [v / 1e6 for v in [values[0], *values]],
        [0, *(i / len(points) for i in range(1, len(values) + 1))],
        where="post",
        **line,
    )
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.0f}%"))


def draw(function, *arguments) -> Figure | None:
    """Calls a plotting function under the style of all plots."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "backend": "Agg"}):
        figure = function(*arguments)
        if figure is not None:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # laid out once, saved twice
        return figure


def svg(figure: Figure) -> str:
    with matplotlib.rc_context(STYLE):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def png(figure: Figure, dpi: int = 160) -> bytes:
    with matplotlib.rc_context(STYLE):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    return buffer.getvalue()


def inline(text: str, prefix: str, label: str) -> str:
    """An SVG to put into a page: ids of its own, ink, grid and paper in the colours of the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    text = re.sub(r'(\bid="|url\(#|href="#)', lambda m: m[1] + prefix + "-", text)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--grid)").replace(PAPER, "none")
    text = re.sub(r'<svg ([^>]*?)\s*width="[^"]*"', lambda m: f"<svg {m[1]}", text, count=1, flags=re.S)
    text = re.sub(r'<svg ([^>]*?)\s*height="[^"]*"', lambda m: f"<svg {m[1]}", text, count=1, flags=re.S)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _panels(count: int, height: float, sharex: bool = True) -> tuple[Figure, list]:
    columns = 2 if count == 4 else min(count, 3 if count <= 6 else 4)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(WIDTH, height if rows == 1 else 2.5 * rows + 0.6), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=True).flat)
    for number, spare in enumerate(axes[count:], count):
        spare.remove()
        axes[number - columns].tick_params(labelbottom=True)
    return figure, axes[:count]


def _slots(names: list[str], runs: list[Found]):
    """Where the bars go: a group for each name, in it one bar for each run."""
    width = min(0.82 / len(runs), 0.3)
    for position in range(len(names)):
        for number, found in enumerate(runs):
            yield position, (number - (len(runs) - 1) / 2) * width, width, found


def _domain_axis(axes, names: list[str]) -> None:
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.grid(axis="x", visible=False)


def _who(entry: dict) -> str:
    return (
        entry["guest"]
        if entry["workload"] in ("hog", "blkread")
        else f"{entry['guest']}\n{entry['workload']}"
    )


def _spread(values: list[float]) -> float:
    low = min((v for v in values if v > 0), default=1)
    return max(values, default=1) / low


def _named(found: Found, everyone: list[Found], probe: str) -> str:
    run = found.run
    name = run["policy"]["name"]
    if sum(f.run["policy"]["name"] == name for f in everyone) > 1:
        name += f", seed {run['seed']}"
    whole = next(w for n, w, _ in probes(run) if n == probe)
    return f"{name}:  p50 {ms(whole['p50_ns'])}  p99 {ms(whole['p99_ns'])}"


def _legend(figure: Figure, panels: list, single: bool) -> None:
    """Beside a single panel with its figures; else above all, names only."""
    handles, labels = panels[0].get_legend_handles_labels()
    if single:
        figure.legend(handles, labels, loc="outside right center")
        return
    seen = {}
    for handle, label in zip(handles, labels):
        seen.setdefault(label.partition(":  ")[0], handle)
    figure.legend(list(seen.values()), list(seen), loc="outside upper left", ncols=6)


def _policy_legend(figure: Figure, policies: list[str], look: Look, extra=()) -> None:
    handles = [
        Line2D([], [], linestyle="none", marker="s", markersize=7, color=look.colour(p), label=p)
        for p in policies
    ]
    figure.legend(handles=[*handles, *extra], loc="outside upper left", ncols=7, handletextpad=0.4)


def _short(value: float, _position=None) -> str:
    """1200000 -> 1.2 M"""
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _log_ms(axes, which: str) -> None:
    """A logarithmic axis, "x" or "y", with plain numbers."""
    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if high < 200 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())
