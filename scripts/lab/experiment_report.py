# SPDX-License-Identifier: GPL-2.0-only
"""An experiment's verdicts on the terminal, and its page: verdicts and plots, then all that a report has."""

import statistics
from html import escape
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import experiment, experiment_plots, plots, report, results, runs, tables, xendump
from .errors import LabError
from .experiment import Experiment, Verdict

STYLES = {"ok": "green", "MISSED": "bold red", "NOT MEASURED": "bold red"}


def number(value: float | None) -> str:
    """Three decimals for small figures, fewer for large ones."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def show(console: Console, one: Experiment, verdicts: list[Verdict]) -> None:
    if not verdicts:
        console.print(f"{one.name} has no targets: it is there to look at", highlight=False)
        return
    table = Table(title=f"{one.name}: {one.title}", title_justify="left", title_style="bold",
                  caption="the worst seed decides", caption_justify="left")
    for title in ("target", "scenario", "policy"):
        table.add_column(title)
    for title in ("worst", "limit", "seeds"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for v in verdicts:
        table.add_row(v.target.says, v.target.scenario, v.target.policy, number(v.worst), v.target.limit,
                      str(len(v.values)), Text(v.word, STYLES[v.word]))
    tables.show(console, table)
    for v in verdicts:
        if v.problem:
            console.print(f"{v.target.says}: {v.problem}", style="red", markup=False, highlight=False, soft_wrap=True)
    missed = sum(not v.met for v in verdicts)
    console.print(f"{len(verdicts) - missed} of {len(verdicts)} targets met", style="bold red" if missed else "green",
                  highlight=False)


def write(one: Experiment, directory: Path) -> list[Verdict]:
    """report.html, targets.json and summary.md; returns the verdicts."""
    verdicts: list[Verdict] = []

    def lead(found, look, picture) -> str:
        verdicts.extend(experiment.conclude(one, found, directory))
        measured = experiment.Results(found)
        parts = [f'<h2 id="targets">{escape(one.title)}</h2><p>{escape(one.description)}</p>', _table(verdicts)]
        for position, plot in enumerate(one.plots, 1):
            try:
                drawn = plots.draw(experiment_plots.draw, plot, measured, look)
            except LabError as error:
                parts.append(f'<p class="bad">{escape(plot.title)}: {escape(error.message)}</p>')
                continue
            parts.append(picture(f"{position}-{plot.draw}-{plot.scenario}", drawn, plot.title, plot.caption))
        return "\n".join(parts)

    report.write([directory], directory / "report.html", lead)
    (directory / "summary.md").write_text(markdown(one, verdicts, runs.find(directory)), encoding="utf-8")
    return verdicts


def markdown(one: Experiment, verdicts: list[Verdict], found: list[runs.Found]) -> str:
    """The same figures as Markdown tables, for documents."""
    lines = [f"## {one.name}: {one.title}", "", f"    ./lab experiment {one.name}", "", one.description, ""]
    if verdicts:
        lines += _rows(("target", "scenario", "policy", "worst seed", "limit", "seeds", ""))
        for v in verdicts:
            lines.append("| " + " | ".join((
                v.target.says, v.target.scenario, v.target.policy, number(v.worst), v.target.limit,
                str(len(v.values)), v.word if v.met else f"**{v.word}** {v.problem}".strip(),
            )) + " |")  # fmt: skip
    measured = experiment.Results(found)
    groups = dict.fromkeys((f.run["scenario"]["name"], f.run["policy"]["name"]) for f in found if f.run["complete"])
    latencies, works, rounds, boosts = [], [], [], []
    for scenario_name, policy_name in groups:
        same = [f for f in measured.of(scenario_name, policy_name).values() if f.run["complete"]]
        seeds = str(len(same))
        errors = [e[0] for f in same if (e := results.worst_error(f.run))]
        worst = tables.percent(max(errors, key=abs)) if errors else "-"
        for name in dict.fromkeys(n for f in same for n in measured.samples(f)):
            pooled = [v for f in same for v in measured.latencies(f, name, None)]
            first = [measured.samples(f)[name][0][1] for f in same if measured.samples(f)[name]]
            cells = [_latency(pooled, k) for k in ("mean", "p50", "p90", "p99", "max")]
            slowest = max((v for v in first if v is not None), default=None)
            latencies.append((scenario_name, policy_name, name, seeds, str(len(pooled)), *cells, tables.ms(slowest), worst))
        if len(same[0].run["domains"]) == 2 and same[0].run["hogs"]:
            works.append((scenario_name, policy_name, _cost(same, same[0].run["domains"][1]["name"])))
        if same[0].run["hogs"] and same[0].run["hogs"][0]["workload"] == "crowd":
            rounds.append((scenario_name, policy_name, seeds, *_rounds(same)))
        boosts += [(scenario_name, policy_name, str(f.run["seed"]), *row) for f in same for row in _boosts(f)]
    if latencies:
        lines += ["", "Latency after learning in virtual ms, all seeds together:", ""]
        lines += _rows(("scenario", "policy", "client", "seeds", "n", "mean", "p50", "p90", "p99", "max",
                        "slowest first request", "worst share error"))  # fmt: skip
        lines += ["| " + " | ".join(row) + " |" for row in latencies]
    if works:
        lines += ["", "CPU time of the guest for a unit of work:", ""]
        lines += _rows(("scenario", "policy", "ns a unit"))
        lines += ["| " + " | ".join(row) + " |" for row in works]
    if rounds:
        lines += ["", "Rounds of a crowd; the median of a seed's, and over the seeds:", ""]
        lines += _rows(("scenario", "policy", "seeds", "rounds", "ns a unit", "standard deviation", "lowest", "highest",
                        "spread of a seed's rounds", "switches in 1000 units"))  # fmt: skip
        lines += ["| " + " | ".join(row) + " |" for row in rounds]
    if boosts:
        lines += ["", "Boosts in the window, of each domain that had or was refused some:", ""]
        lines += _rows(("scenario", "policy", "seed", "domain", "boosted, of its CPU time", "boosts", "hits", "capped",
                        "refused: budget"))  # fmt: skip
        lines += ["| " + " | ".join(row) + " |" for row in boosts]
    return "\n".join(lines) + "\n"


def _cost(same: list[runs.Found], domain: str) -> str:
    try:
        return f"{sum(experiment.unit_cost(f, domain) for f in same) / len(same):,.1f}"
    except LabError:
        return "-"


def _rounds(same: list[runs.Found]) -> tuple[str, ...]:
    """What a unit took in the rounds of these seeds, and how much that differs."""
    try:
        costs = [experiment.round_costs(f) for f in same]
        rates = [experiment.switches(f) for f in same]
    except LabError:
        return ("-",) * 7
    medians = [statistics.median(c) for c in costs]
    mean = statistics.mean(medians)
    deviation = f"{100 * statistics.stdev(medians) / mean:.4f}%" if len(medians) > 1 else "-"
    within = max((max(c) - min(c)) / statistics.median(c) for c in costs)
    return (str(sum(map(len, costs))), f"{mean:,.2f}", deviation, f"{min(medians):,.2f}", f"{max(medians):,.2f}",
            f"{100 * within:.4f}%", f"{1000 * statistics.mean(s / u for s, u in rates):.2f}")  # fmt: skip


def _boosts(found: runs.Found) -> list[tuple[str, ...]]:
    """What the scheduler counted; nothing where it does not count."""
    try:
        counted = xendump.spent(found)
    except LabError:
        return []
    rows = []
    for domain in found.run["domains"]:
        spent = counted.get(domain["domid"])
        if spent and (spent.boosts or spent.refused_budget):
            share = 100 * spent.boosted_us / max(spent.run_us, 1)
            counts = (spent.boosts, spent.hits, spent.capped, spent.refused_budget)
            rows.append((domain["name"], f"{share:.2f}%", *(f"{count:,}" for count in counts)))
    return rows


def _latency(values: list[int | None], figure: str) -> str:
    if all(v is None for v in values):
        return "-"
    value = experiment.figure(values, figure)
    return "lost" if value == float("inf") else tables.ms(round(value * 1e6))


def _rows(titles: tuple[str, ...]) -> list[str]:
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]


def _table(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return ""
    rows = "".join(
        f'<tr><td class="name">{escape(v.target.says)}</td><td class="name">{escape(v.target.scenario)}</td>'
        f'<td class="name">{escape(v.target.policy)}</td><td>{number(v.worst)}</td>'
        f"<td>{escape(v.target.limit)}</td><td>{len(v.values)}</td>"
        f'<td class="name {"good" if v.met else "bad"}">{escape(v.word)} {escape(v.problem)}</td></tr>'
        for v in verdicts
    )
    return (
        '<div class="wide"><table><caption>the worst seed decides</caption><tr><th class="name">target</th>'
        '<th class="name">scenario</th><th class="name">policy</th><th>worst</th><th>limit</th><th>seeds</th>'
        f"<th></th></tr>{rows}</table></div>"
    )
