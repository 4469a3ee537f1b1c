# SPDX-License-Identifier: GPL-2.0-only
"""The plots of experiments, in the style of plots.py."""

from fnmatch import fnmatchcase

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import raw
from .errors import LabError
from .experiment import Plot, Results, figure, hit_ratio, unit_cost, work_rate
from .plots import INK, WIDTH, Look, Pictures, _log_ms
from .runs import Found


def draw(plot: Plot, measured: Results, look: Look) -> Figure | None:
    """The figure, or None if no run has anything for it.  Call it through plots.draw()."""
    policies = list(plot.policies) or list(dict.fromkeys(
        f.run["policy"]["name"] for f in measured.found if f.run["scenario"]["name"] == plot.scenario))
    some = {p: list(measured.of(plot.scenario, p).values()) for p in policies}
    some = {p: [f for f in found if f.run["complete"]] for p, found in some.items()}
    some = {p: found for p, found in some.items() if found}
    if not some:
        return None
    return _KINDS[plot.draw](plot, measured, look, some)


def _points(plot: Plot, measured: Results, found: Found) -> list[tuple[int, int | None]]:
    return [point for name, points in measured.samples(found).items() if fnmatchcase(name, plot.client)
            for point in points]


def _legend(figure_: Figure, look: Look, policies, extra=()) -> None:
    handles = [Line2D([], [], **{**look.line(p), "linewidth": 2.2}, label=p) for p in policies]
    figure_.legend(handles=[*handles, *extra], loc="outside upper left", ncols=6)


def _one(height: float = 3.6):
    figure_ = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure_, figure_.add_subplot()


def learning(plot, measured, look, some) -> Figure:
    """Latency against request number, the first 30: a line for each seed."""
    figure_, axes = _one()
    for name, found in some.items():
        for one in found:
            points = [(n, v / 1e6) for n, v in _points(plot, measured, one) if v is not None and n <= 30]
            axes.plot([n for n, _ in points], [v for _, v in points], marker="o", markersize=3,
                      **{**look.line(name), "linewidth": 1.2})
    _log_ms(axes, "y")
    axes.set_xlabel("request")
    axes.set_ylabel("latency, virtual ms (log)")
    _legend(figure_, look, some)
    return figure_


def timeline(plot, measured, look, some) -> Figure:
    """The latency of each request at the time at which it was sent; first seeds."""
    return _over_time("latency", look, {
        name: [(at, v) for at, (_, v) in zip(sent_times(found[0], plot.client), _points(plot, measured, found[0]))
               if v is not None]
        for name, found in some.items()
    })  # fmt: skip


def waits(plot, measured, look, some) -> Figure:
    """From event to run, of each request at the time at which it was sent; first seeds."""
    return _over_time("event to run", look, {
        name: [(at, ns) for _, at, ns in measured.waits(found[0], plot.client)] for name, found in some.items()
    })  # fmt: skip


def _over_time(what: str, look: Look, some: dict[str, list[tuple[int, int]]]) -> Figure:
    """A linear scale, as in the paper."""
    figure_ = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    grid = figure_.subplots(1, len(some), squeeze=False, sharey=True)[0]
    for axes, (name, found) in zip(grid, some.items()):
        points = [(at / 1e9, ns / 1e6) for at, ns in found]
        axes.vlines([t for t, _ in points], 0, [v for _, v in points], color=look.colour(name), linewidth=1)
        axes.plot([t for t, _ in points], [v for _, v in points], linestyle="none", marker="o",
                  markersize=3, color=look.colour(name))
        axes.set_title(name)
        axes.set_xlabel("time in the window, virtual s")
    grid[0].set_ylabel(f"{what}, virtual ms")
    grid[0].set_ylim(bottom=0)
    return figure_


def sent_times(found: Found, pattern: str) -> list[int]:
    """When each request of the clients was sent, ns since the window began."""
    wire = raw.read_wire(found.directory / "raw" / "wire.tsv")
    return [s.sent_ns - wire.window[0] for name, samples in wire.samples.items()
            if fnmatchcase(name, pattern) for s in samples]


def sweep(plot, measured, look, some) -> Figure:
    """Throughput and CPU shares, side by side, over the policies in their order."""
    figure_ = Figure(figsize=(WIDTH, 3.8), layout="constrained")
    left, right = figure_.subplots(1, 2, width_ratios=[1, 1.5])
    places = range(len(some))
    rates = [sum(work_rate(f, plot.client) for f in found) / len(found) for found in some.values()]
    left.plot(places, rates, marker="o", color=look.colour("tavs"), linewidth=2)
    for place, rate in zip(places, rates):
        left.annotate(f"{rate:,.0f}", (place, rate), xytext=(0, 6), textcoords="offset points", ha="center",
                      fontsize=8.5)
    left.set_ylim(0, max(rates) * 1.15)
    left.set_title("requests or reads a second")
    domains = [d["name"] for d in next(iter(some.values()))[0].run["domains"]]
    base = [0.0] * len(some)
    shades = ["#4C5A67", look.colour("tavs"), "#9CC5DE", "#B7D3E4", "#CFE1EC", "#9FB3C1", "#C9D6DE", "#E3EAEE"]
    for number, domain in enumerate(domains):
        shares = [
            sum(d["share_ppm"] for f in found for d in f.run["domains"] if d["name"] == domain)
            / len(found) / 1e4 for found in some.values()
        ]  # fmt: skip
        right.bar(places, shares, 0.72, bottom=base, color=shades[number % len(shades)], label=domain,
                  edgecolor="white", linewidth=0.6)
        for place, share in zip(places, shares):
            right.annotate(f"{share:.1f}", (place, base[place] + share / 2), ha="center", va="center",
                           fontsize=7.5, color="white" if number < 2 else INK)
        base = [b + s for b, s in zip(base, shares)]
    right.set_title("CPU share of each domain, %")
    right.grid(axis="x", visible=False)
    right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    for axes in (left, right):
        axes.set_xticks(list(places), [_short(name) for name in some], rotation=20)
    return figure_


def _mean_hit_ratio(found: list[Found], domain: str | None) -> float | None:
    """None: nobody boosts, or counts it."""
    try:
        return sum(hit_ratio(one, domain) for one in found) / len(found)
    except LabError:
        return None


def hits(plot, measured, look, some) -> Figure:
    """Figures 6 and 7 of the paper: boosts that hit, beside the latency of a client (or the reads of a reader)."""
    figure_ = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    left, right = figure_.subplots(1, 2)
    places = range(len(some))
    ratios = [_mean_hit_ratio(found, plot.domain) for found in some.values()]
    clients = any(fnmatchcase(c["name"], plot.client) for found in some.values() for c in found[0].run["clients"])
    if clients:
        values = [sum(figure(measured.latencies(f, plot.client, None), "mean") for f in found) / len(found)
                  for found in some.values()]
    else:
        values = [sum(work_rate(f, plot.client) for f in found) / len(found) for found in some.values()]
    for axes, heights, title, form in (
        (left, ratios, "boosts that hit (PBHR), %", "{:.1f}"),
        (right, values, "mean latency, virtual ms" if clients else "reads a second", "{:,.3g}"),
    ):
        axes.bar(places, [height or 0 for height in heights], 0.62, color=[look.colour(name) for name in some])
        for place, height in zip(places, heights):
            axes.annotate("no boosts" if height is None else form.format(height), (place, height or 0),
                          xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8.5)
        axes.set_title(title)
        axes.margins(y=0.15)
        axes.grid(axis="x", visible=False)
        axes.set_xticks(list(places), [_short(name) for name in some], rotation=20)
    return figure_


def cost(plot, measured, look, some) -> Figure:
    """What a unit of work costs more than under the first policy, in percent."""
    figure_, axes = _one(2.6)
    costs = {name: sum(unit_cost(f, plot.domain) for f in found) / len(found) for name, found in some.items()}
    base = next(iter(costs.values()))
    for row, (name, value) in enumerate(costs.items()):
        more = 100 * (value - base) / base
        axes.barh(row, more, 0.6, color=look.colour(name))
        axes.annotate(f"{value:,.0f} ns  {more:+.3f}%", (max(more, 0), row), xytext=(5, 0),
                      textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(range(len(costs)), list(costs))
    axes.invert_yaxis()
    axes.margins(x=0.35)
    axes.set_xlabel(f"% more CPU time than under {next(iter(costs))}")
    return figure_


def groups(plot, measured, look, some) -> Figure:
    """p50, p90 and p99 after learning of each client, pooled over the seeds."""
    figure_ = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    grid = figure_.subplots(1, 3, squeeze=False)[0]
    clients = [c["name"] for c in next(iter(some.values()))[0].run["clients"] if fnmatchcase(c["name"], plot.client)]
    width = 0.8 / len(some)
    for axes, rank in zip(grid, ("p50", "p90", "p99")):
        for number, (name, found) in enumerate(some.items()):
            for place, client in enumerate(clients):
                pooled = [v for f in found for v in measured.latencies(f, client, None)]
                value, where = figure(pooled, rank), place + (number - (len(some) - 1) / 2) * width
                if value == float("inf"):  # from the bottom to the top, whatever the others are
                    axes.axvspan(where - width * 0.45, where + width * 0.45, color=look.colour(name), linewidth=0)
                    axes.annotate("lost", (where, 0.5), xycoords=axes.get_xaxis_transform(), rotation=90,
                                  ha="center", va="center", fontsize=8.5)
                else:
                    axes.bar(where, value, width * 0.9, color=look.colour(name))
        if len(some) > 1:
            _log_ms(axes, "y")
        axes.set_xticks(range(len(clients)), [c.removeprefix("c-") for c in clients])
        axes.set_title(rank)
        axes.grid(axis="x", visible=False)
    grid[0].set_ylabel("latency, virtual ms" + (" (log)" if len(some) > 1 else ""))
    _legend(figure_, look, some)
    return figure_


def shares(plot, measured, look, some) -> Figure:
    return Pictures([f for found in some.values() for f in found[:1]], look).shares()


def cdf(plot, measured, look, some) -> Figure:
    return Pictures([f for found in some.values() for f in found[:1]], look).cdf()


def _short(name: str) -> str:
    """pb125 -> 0.125"""
    return f"{int(name[2:]) / 1000:g}" if name.startswith("pb") and name[2:].isdecimal() else name


_KINDS = {
    "learning": learning, "timeline": timeline, "sweep": sweep, "cost": cost, "groups": groups,
    "shares": shares, "cdf": cdf, "hits": hits, "waits": waits,
}  # fmt: skip
