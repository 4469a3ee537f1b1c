# SPDX-License-Identifier: GPL-2.0-only
"""The raw files of a run: what the programs in dom0 and in the guests logged."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from .errors import LabError


@dataclass(frozen=True)
class Sample:
    """One request of a client.  reply_ns is 0 if no reply came in time."""

    seq: int
    due_ns: int
    sent_ns: int
    reply_ns: int

    @property
    def lost(self) -> bool:
        return self.reply_ns == 0

    @property
    def latency_ns(self) -> int:
        return self.reply_ns - self.sent_ns


@dataclass
class Wire:
    """raw/wire.tsv: the window, the counters at both ends of it, the samples of every client."""

    window: tuple[int, int] | None = None
    cpu: dict[str, dict[int, int]] = field(default_factory=lambda: {"start": {}, "end": {}})
    perfc: dict[str, dict[str, int]] = field(default_factory=lambda: {"start": {}, "end": {}})
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_wire(path: Path) -> Wire:
    wire = Wire()
    for number, fields in _records(path):
        try:
            match fields:
                case ["window", start, end, *_]:
                    wire.window = int(start), int(end)
                case ["cpu", ("start" | "end") as when, domid, time_ns, *_]:
                    wire.cpu[when][int(domid)] = int(time_ns)
                case ["perfc", ("start" | "end") as when, name, value, *_]:
                    wire.perfc[when][name] = wire.perfc[when].get(name, 0) + int(value)
                case ["sample", client, seq, due, sent, reply, *_]:
                    wire.samples.setdefault(client, []).append(
                        Sample(int(seq), int(due), int(sent), int(reply))
                    )
                case ["note", *text]:
                    wire.notes.append(" ".join(text))
                case _:
                    raise ValueError("unknown record")
        except ValueError as error:
            raise LabError(f"{path.name}, line {number}: {error}", ["\t".join(fields)]) from None
    for samples in wire.samples.values():
        samples.sort(key=lambda s: s.seq)
    if wire.window and wire.window[1] <= wire.window[0]:
        raise LabError(f"{path.name}: the window ends before it starts")
    return wire


@dataclass
class Log:
    """raw/<guest>.<workload>.tsv: rows of whole numbers, and remarks in further comment lines."""

    rows: list[tuple[int, ...]]
    remarks: list[str]


def read_log(path: Path, columns: int) -> Log:
    rows, remarks = [], []
    for number, fields in _records(path):
        if fields[0].startswith("#"):
            if number > 1:
                remarks.append(" ".join(fields).lstrip("# "))
            continue
        try:
            row = tuple(int(f) for f in fields)
            if len(row) < columns:
                raise ValueError(f"{columns} columns expected")
        except ValueError as error:
            raise LabError(f"{path.name}, line {number}: {error}", ["\t".join(fields)]) from None
        rows.append(row)
    return Log(rows, remarks)


def read_domains(path: Path) -> dict[str, int]:
    """raw/domains.tsv: name -> domid.  dom0 need not be listed."""
    found = {}
    for number, fields in _records(path):
        if fields[0].startswith("#"):
            continue
        try:
            domid, name = fields[:2]
            found[name] = int(domid)
        except ValueError:
            what = f"{path.name}, line {number}: a number and a name expected"
            raise LabError(what, ["\t".join(fields)]) from None
    return {**{name: domid for name, domid in found.items() if domid}, "dom0": 0}


def read_meta(path: Path) -> dict:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise LabError(f"{path.name} is missing") from None
    except ValueError as error:
        raise LabError(f"{path.name}: not JSON: {error}") from None


def _records(path: Path):
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise LabError(f"{path.name} is missing") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line.split("\t") if "\t" in line else line.split()
