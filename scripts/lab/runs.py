# SPDX-License-Identifier: GPL-2.0-only
"""Finding runs on disk: what `compare` and `report` are given."""

from dataclasses import dataclass
from pathlib import Path

from . import raw, results
from .errors import LabError
from .paths import shown
from .workers import RESULTS, rundir


@dataclass(frozen=True)
class Found:
    """A run and where its raw files are; None if there are only results."""

    run: dict
    directory: Path | None

    def samples(self) -> dict[str, list[tuple[int, int | None]]]:
        """Latencies in order: probe -> [(request number, ns or None if lost)]."""
        if self.directory is None or self.run["window"] is None:
            return {}
        window = self.run["window"]["start_ns"], self.run["window"]["end_ns"]
        out: dict[str, list] = {}
        wire = raw.read_wire(self.directory / "raw" / "wire.tsv")
        for client in self.run["clients"]:
            out[client["name"]] = [
                (number, None if s.lost else s.latency_ns)
                for number, s in enumerate(wire.samples.get(client["name"], []), 1)
            ]
        for disk in self.run["disks"]:
            name = f"{disk['guest']}.{disk['workload']}"
            rows = raw.read_log(self.directory / "raw" / f"{name}.tsv", 3).rows
            done = results.reads_in(rows, window)
            out[name] = [(number, row[1] - row[0]) for number, row in enumerate(done, 1)]
        for player in self.run.get("players", []):
            name = f"{player['guest']}.{player['workload']}"
            rows = raw.read_log(self.directory / "raw" / f"{name}.tsv", 3).rows
            frames = results.frames_in(rows, window)
            out[name] = [(number, row[2] - row[0]) for number, row in enumerate(frames, 1)]
        return out


def find(place: Path) -> list[Found]:
    """The runs of a directory: its results.json, else whatever run directories are below it."""
    place = Path(place)
    if place.is_file():
        return [_locate(run, place.parent) for run in results.load(place)]
    if not place.is_dir():
        raise LabError(f"{shown(place)}: no such directory")
    if (place / RESULTS).exists():
        return find(place / RESULTS)
    found = [
        one for path in sorted(place.rglob(RESULTS)) for one in find(path) if one.directory == path.parent
    ]
    if not found:
        raise LabError(f"{shown(place)}: there are no results in it")
    return found


def _locate(run: dict, base: Path) -> Found:
    below = rundir(base, run["scenario"]["name"], run["policy"]["name"], run["seed"])
    for directory in (base, below):
        if (directory / "raw").is_dir():
            return Found(run, directory)
    return Found(run, None)
