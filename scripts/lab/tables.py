# SPDX-License-Identifier: GPL-2.0-only
"""Results as tables on the terminal, and figures as people read them."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from .results import worst_error

LATENCIES = ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns")
TITLES = {
    "mean_ns": "mean",
    "p50_ns": "p50",
    "p90_ns": "p90",
    "p99_ns": "p99",
    "p99_9_ns": "p99.9",
    "max_ns": "max",
}


def ms(nanoseconds: int | None) -> str:
    """Milliseconds with three significant digits: 0.231, 63.9, 229."""
    if nanoseconds is None:
        return "-"
    value = nanoseconds / 1_000_000
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}" if value >= 0.9995 else f"{value:.3f}"


def percent(ppm: int | None) -> str:
    return (
        "-" if ppm is None else f"{ppm / 10_000:+.2f}%".replace("-0.00%", "0.00%").replace("+0.00%", "0.00%")
    )


def share_error(run: dict) -> str:
    worst = worst_error(run)
    return "-" if worst is None else f"{percent(worst[0])} {worst[1]}"


def probes(run: dict) -> list[tuple[str, dict, dict | None]]:
    """Everything in a run that has a latency: (name, whole, learned)."""
    rows = [(c["name"], c["whole"], c["learned"]) for c in run["clients"]]
    rows += [(f"{d['guest']}.{d['workload']}", d["latency"], None) for d in run["disks"]]
    return rows + [(f"{p['guest']}.{p['workload']}", p["lateness"], None) for p in run.get("players", [])]


def by_scenario(runs: list[dict]) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for run in runs:
        found.setdefault(run["scenario"]["name"], []).append(run)
    return found


def show_runs(console: Console, runs: list[dict], cached: set[tuple] = frozenset()) -> None:
    """One table a scenario: a row for each policy and client."""
    for name, some in by_scenario(runs).items():
        seeds = {run["seed"] for run in some}
        table = Table(
            title=f"{name}: {some[0]['scenario']['title']}",
            title_justify="left",
            title_style="bold",
            caption="latency in virtual ms; worst CPU share error",
            caption_justify="left",
        )
        table.add_column("policy", no_wrap=True)
        if len(seeds) > 1:
            table.add_column("seed", justify="right")
        table.add_column("client", no_wrap=True)
        for title in ("n", "lost", *TITLES.values(), "share error"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for run in some:
            mark = (
                Text("incomplete", "red")
                if not run["complete"]
                else Text("cached", "dim")
                if key(run) in cached
                else Text("")
            )
            if "trace" in run["ran"]:
                mark = Text(", ").join([mark, Text("traced", "dim")]) if mark else Text("traced", "dim")
            rows = probes(run) or [("-", None, None)]
            for number, (probe, whole, _) in enumerate(rows):
                first = number == 0
                cells = [run["policy"]["name"] if first else ""]
                if len(seeds) > 1:
                    cells.append(str(run["seed"]) if first else "")
                cells += [probe, *figures(whole), share_error(run) if first else "", mark if first else ""]
                table.add_row(*cells, end_section=number == len(rows) - 1 and len(rows) > 1)
        show(console, table)
        for run in some:
            if not run["complete"]:
                console.print(
                    f"{run['policy']['name']}, seed {run['seed']}: {run['error']['message']}",
                    style="red",
                    markup=False,
                    highlight=False,
                )
                for line in run["error"]["details"]:
                    console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
            for warning in run["warnings"]:
                console.print(
                    f"{run['policy']['name']}, seed {run['seed']}: note: {warning}",
                    style="yellow",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
        console.print()


def plain(
    titles: tuple[str, ...], right: tuple[str, ...] = (), wraps: str | None = None, title: str | None = None
) -> Table:
    """A table without lines: some columns stand on the right, one may wrap."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in titles:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name != wraps)
    return table


def show(console: Console, table: Table) -> None:
    """Prints a table whole: on a narrow terminal lines wrap, figures are never cut off."""
    wanted = Measurement.get(console, console.options.update(max_width=400), table).maximum
    console.print(table, width=max(wanted, 1), crop=False, no_wrap=True, overflow="ignore")


def figures(summary: dict | None) -> list[str]:
    if summary is None:
        return ["-"] * (2 + len(LATENCIES))
    return [str(summary["n"]), str(summary["lost"]), *(ms(summary[k]) for k in LATENCIES)]


def key(run: dict) -> tuple:
    return run["scenario"]["name"], run["policy"]["name"], run["seed"]


def show_episode(console: Console, one, floor=None) -> None:
    """An episode in words; with another one, both stage by stage."""
    from . import episode

    console.print(f"{one.run.label}: request {one.number} of {one.client}, {episode.us(one.latency_ns)}",
                  style="bold", highlight=False, soft_wrap=True)
    console.print(episode.line(one), highlight=False, soft_wrap=True)
    table = plain(("us", ""), right=("us",), wraps="")
    for at, text in episode.story(one):
        table.add_row(at, Text(text))
    show(console, table)
    console.print()
    table = plain(("stage", "us", "records", "who ran, us"), right=("us", "records"))
    for s in one.stages:
        ran = ", ".join(f"{one.run.name(d)} {ns / 1000:.1f}" for d, ns in sorted(s.ran.items(), key=lambda r: -r[1]))
        table.add_row(s.name, f"{s.ns / 1000:.1f}", str(s.records), ran)
    show(console, table)
    if floor is None:
        return
    console.print(f"\nbeside {floor.run.label}: request {floor.number} of {floor.client}, "
                  f"{episode.us(floor.latency_ns)}", style="bold", highlight=False, soft_wrap=True)
    table = plain(("stage", "here", "there", "more"), right=("here", "there", "more"))
    for name, here, there in [*episode.compare(one, floor), ("all", one.latency_ns, floor.latency_ns)]:
        table.add_row(name, f"{here / 1000:.1f}", f"{there / 1000:.1f}", f"{(here - there) / 1000:+.1f}")
    show(console, table)


def show_beliefs(console: Console, courses, run) -> None:
    evidence = ("positive", "negative", "ambiguous", "born")
    table = plain(("task", "belief", "is", *evidence, "CPU ms", "crossed the threshold at, s"),
                  right=("belief", *evidence, "CPU ms"))
    for c in courses:
        crossed = ", ".join(f"{(at - run.window[0]) / 1e9:.2f} {'up' if up else 'down'}" for at, _, up in c.crossings)
        table.add_row(c.name, str(c.points[-1][1]), c.kind,
                      *(str(c.counts[k]) for k in evidence),
                      f"{c.cpu_ns / 1e6:.1f}", crossed)
    show(console, table)
