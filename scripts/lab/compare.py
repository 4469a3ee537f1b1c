# SPDX-License-Identifier: GPL-2.0-only
"""Sets of runs side by side: the first is the base, the others are given with their ratio to it."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import runs, tables
from .errors import InputError
from .paths import shown

FIGURES = ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")


def show(console: Console, places: list[Path]) -> None:
    if len(places) < 2:
        raise InputError("compare takes at least two directories of runs")
    sets = [{tables.key(f.run): f.run for f in runs.find(place)} for place in places]
    everything = list(dict.fromkeys(key for some in sets for key in some))
    common = [key for key in everything if sum(key in some for some in sets) > 1]

    for position, place in enumerate(places, 1):
        console.print(f"{position}: {shown(place)}", highlight=False, soft_wrap=True)
    if common:
        tables.show(console, _table(sets, common))
    for key in everything:
        _remark(console, sets, key)


def _table(sets: list[dict], keys: list[tuple]) -> Table:
    table = Table(
        title="latency in virtual ms, and its ratio to the first set",
        title_justify="left",
        title_style="bold",
    )
    for title in ("scenario/policy/seed", "client"):
        table.add_column(title, no_wrap=True)
    for title in ("set", "n", "lost", *(tables.TITLES[f] for f in FIGURES), "share error"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for key in keys:
        here = [(position, some[key]) for position, some in enumerate(sets, 1) if key in some]
        base = here[0][1]
        name = "/".join(map(str, key))
        for number, probe in enumerate(dict.fromkeys(p for _, run in here for p in _probes(run))):
            for position, run in here:
                summary, reference = _probes(run).get(probe), _probes(base).get(probe)
                row = [name, probe if run is base else "", str(position)]
                name = ""
                row += ["-"] * 2 if summary is None else [str(summary["n"]), str(summary["lost"])]
                row += [_beside(summary, None if run is base else reference, figure) for figure in FIGURES]
                row += [tables.share_error(run), _verdict(run, base)] if number == 0 else ["", ""]
                table.add_row(*row)
        table.add_section()
    return table


def _remark(console: Console, sets: list[dict], key: tuple) -> None:
    """What a reader has to know about one run beside its figures."""
    name = "/".join(map(str, key))
    here = [position for position, some in enumerate(sets, 1) if key in some]
    if len(here) == 1:
        console.print(f"{name}: only in {here[0]}", highlight=False, soft_wrap=True)
    for position in here[1:]:
        changed = differing_inputs(sets[here[0] - 1][key], sets[position - 1][key])
        if changed:
            console.print(
                f"{name}: {', '.join(changed)} went in otherwise in {position} than in {here[0]}",
                highlight=False,
                soft_wrap=True,
            )


def differing_inputs(a: dict, b: dict) -> list[str]:
    """Which of the things that went in are not the same."""
    before, after = a["ran"]["inputs"], b["ran"]["inputs"]
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _probes(run: dict) -> dict[str, dict | None]:
    return {name: whole for name, whole, _ in tables.probes(run)} or {"-": None}


def _beside(summary: dict | None, reference: dict | None, figure: str) -> str:
    value = summary and summary[figure]
    base = reference and reference[figure]
    return f"{tables.ms(value)} ×{value / base:.2f}" if value and base else tables.ms(value)


def _verdict(run: dict, base: dict) -> str:
    if not run["complete"]:
        return "incomplete"
    return "" if run is base else "identical" if run == base else "differs"
