# SPDX-License-Identifier: GPL-2.0-only
"""An experiment's verdicts on the terminal, and its page: verdicts and plots, then all that a report has."""

from html import escape
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import experiment, experiment_plots, plots, report, tables
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
    """report.html and targets.json; returns the verdicts."""
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
    return verdicts


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
