# SPDX-License-Identifier: GPL-2.0-only
"""results.json: what a run measured, from its raw files.  docs/results.md describes every field.

Nothing about the host goes in: no wall time, no path, no name.  The same inputs give the same bytes.
"""

import json
from fractions import Fraction
from pathlib import Path

import jsonschema

from . import raw, stats, trace
from .errors import LabError
from .fairness import Claim, entitlements
from .paths import ROOT, SCHEMAS, shown
from .policy import Policy
from .scenario import COUNTING, Dom0, Guest, Scenario, pcpu_set

FORMAT = "xen-tavs lab results"
VERSION = 1
CLOCKS_DIFFER_NS = 1_000_000_000  # at most, between dom0 and a guest
TROUBLES = {
    "missed": "samples did not fit its log",
    "failed_sends": "replies could not be sent",
    "dropped_connections": "connections were dropped",
}


def collect(
    rundir: Path,
    scenario: Scenario,
    policy: Policy,
    seed: int,
    *,
    fingerprint: str | None = None,
    inputs: dict[str, str] | None = None,
    versions: dict[str, str] | None = None,
    error: LabError | None = None,
) -> dict:
    """One run.  With an error it is incomplete, and holds whatever can still be read."""
    directory = rundir / "raw"
    run = {
        "scenario": {
            "name": scenario.name,
            "title": scenario.title,
            "sha256": scenario.digest,
            "definition": scenario.definition(),
        },
        "policy": policy.definition(),
        "seed": seed,
        "complete": error is None,
        "error": None
        if error is None
        else {
            "message": _neutral(error.message, rundir),
            "details": [_neutral(d, rundir) for d in error.details],
        },
        "ran": {
            "fingerprint": fingerprint,
            "inputs": dict(sorted((inputs or {}).items())),
            "scheduler": None,
            "versions": {},
            "phases": [],
        },
        "window": None,
        "clients": [],
        "domains": [],
        "hogs": [],
        "disks": [],
        "players": [],
        "servers": [],
        "context_switches": {},
        "warnings": [],
    }
    if scenario.quantum_us is not None:
        run["ran"]["quantum_ns"] = scenario.quantum_us * 1000
    read = _Reader(run, tolerant=error is not None)

    meta = read(raw.read_meta, directory / "meta.json") or {}
    run["ran"]["scheduler"] = meta.get("scheduler")
    run["ran"]["versions"] = {
        k: v
        for k, v in sorted({**(versions or {}), "xen": meta.get("xen"), "kernel": meta.get("kernel")}.items())
        if v
    }
    run["ran"]["phases"] = meta.get("phases", [])
    if error is None and run["ran"]["scheduler"] != policy.expect:
        raise LabError(
            f"the scheduler that ran is {run['ran']['scheduler']}, not {policy.expect}, which '{policy.name}' asks for"
        )

    if trace.traced(directory):
        lost = read(trace.lost, directory)
        run["ran"]["trace"] = {"lost": lost}
        if lost:
            run["warnings"].append(f"trace: {lost} records did not fit into its buffer (--trace-mb)")
    wire = read(raw.read_wire, directory / "wire.tsv") or raw.Wire()
    domids = read(raw.read_domains, directory / "domains.tsv") or {}
    run["warnings"] += [f"wire: {note}" for note in wire.notes]
    if wire.window:
        start, end = wire.window
        run["window"] = {"start_ns": start, "end_ns": end, "duration_ns": end - start}
    elif error is None:
        raise LabError("wire.tsv has no window: nothing was measured")

    run["clients"] = [
        _client(c, wire.samples.get(c.name, []), scenario.learning_requests) for c in scenario.clients
    ]
    if error is None:
        for client in run["clients"]:
            if client["whole"]["n"] + client["whole"]["lost"] == 0:
                raise LabError(f"client '{client['name']}' has no samples: it sent nothing")
    if wire.window:
        run["domains"] = _domains(scenario, wire, domids, run["warnings"])
        for domain in (*scenario.guests, scenario.dom0):
            for workload in domain.workloads:
                _workload(run, read, directory, domain, workload, wire.window)
    for name in ("sched_run", "sched_ctx"):
        if name in wire.perfc["start"] and name in wire.perfc["end"]:
            run["context_switches"][name] = wire.perfc["end"][name] - wire.perfc["start"][name]
    return run


class _Reader:
    """Reads raw files; in an incomplete run a file that is missing or cut off is a warning."""

    def __init__(self, run: dict, tolerant: bool):
        self.run, self.tolerant = run, tolerant

    def __call__(self, function, *arguments):
        try:
            return function(*arguments)
        except LabError as error:
            if not self.tolerant:
                raise
            self.run["warnings"].append(error.message)
            return None


def _client(client, samples: list[raw.Sample], learning: int) -> dict:
    def summary(some):
        return stats.summary([s.latency_ns for s in some if not s.lost], sum(s.lost for s in some))

    return {
        "name": client.name,
        "guest": client.guest,
        "workload": client.workload,
        "proto": client.proto,
        "whole": summary(samples),
        "learned": {"after_requests": learning, **summary(samples[learning:])},
        "sent_late_max_ns": max((s.sent_ns - s.due_ns for s in samples), default=None),
    }


def _domains(scenario: Scenario, wire: raw.Wire, domids: dict[str, int], warnings: list[str]) -> list[dict]:
    window = wire.window[1] - wire.window[0]
    everything = frozenset(range(scenario.pcpus))
    used: dict[str, int] = {}
    for name in ["dom0", *(g.name for g in scenario.guests)]:
        domid = domids.get(name)
        if domid in wire.cpu["start"] and domid in wire.cpu["end"]:
            used[name] = wire.cpu["end"][domid] - wire.cpu["start"][domid]
        else:
            warnings.append(f"no CPU time of {name}: it was not there at both ends of the window")

    domains = {name: scenario.dom0 if name == "dom0" else scenario.guest(name) for name in used}
    claims = [
        Claim(name, one.weight, _limit(one, used[name], window), pcpu_set(one.pin, scenario.pcpus))
        for name, one in domains.items()
    ]
    entitled = entitlements(claims, window)

    rows = []
    for name, cpu in used.items():
        one = domains[name]
        rows.append(
            {
                "name": name,
                "domid": domids[name],
                "type": one.type,
                "vcpus": one.vcpus,
                "weight": one.weight,
                "cap": one.cap,
                "wants_ppm": None if one.wants is None else round(one.wants * 1_000_000),
                "cpu_ns": cpu,
                "share_ppm": _ppm(cpu, window * len(everything)),
                "entitled_ns": entitled[name],
                "entitled_ppm": _ppm(entitled[name], window * len(everything)),
                "error_ppm": _ppm(cpu - entitled[name], entitled[name]) if entitled[name] else None,
            }
        )
    return rows


def _limit(domain: Guest | Dom0, used: int, window: int) -> int:
    """The most that a domain is entitled to, in nanoseconds."""
    limit = used if domain.wants is None else int(Fraction(str(domain.wants)) * window)
    if isinstance(domain, Dom0):
        limit = max(limit, used)  # a driver domain's I/O comes on top of what it computes
    limit = min(limit, domain.vcpus * window)
    return min(limit, domain.cap * window // 100) if domain.cap else limit


def _ppm(part: int, whole: int) -> int:
    return round(Fraction(part * 1_000_000, whole))


def _workload(
    run: dict, read: _Reader, directory: Path, domain: Guest | Dom0, workload, window: tuple[int, int]
) -> None:
    """Adds what one program of a guest, or of dom0, logged to the run."""
    if workload.run == "httpd":
        return  # it has no log
    name = f"{domain.name}.{workload.name}"
    start, end = window
    log = read(raw.read_log, directory / f"{name}.tsv", 2 if workload.run in COUNTING else 3)
    if log is None:
        return
    for remark in log.remarks:
        key, _, value = remark.partition(" ")
        if (key, value.strip()) == ("memory_locked", "0"):
            run["warnings"].append(f"{name}: its memory was not locked")
        elif key in TROUBLES and value.strip() != "0":
            run["warnings"].append(f"{name}: {value.strip()} {TROUBLES[key]}")
    who = {"guest": domain.name, "workload": workload.name}
    match workload.run:
        case kind if kind in COUNTING:
            units = _units([row[:2] for row in log.rows], window)
            if units is None:
                run["warnings"].append(f"{name}: its log does not cover the window")
            run["hogs"].append(
                {
                    **who,
                    "units": units,
                    "units_per_s": None if units is None else stats.per_second(units, end - start),
                }
            )
        case "blkread":
            done = reads_in(log.rows, window)
            run["disks"].append(
                {
                    **who,
                    "dev": workload.dev,
                    "bytes": workload.size,
                    "reads_per_s": stats.per_second(len(done), end - start),
                    "latency": stats.summary([row[1] - row[0] for row in done]),
                }
            )
        case "player":
            frames = frames_in(log.rows, window)
            late = [ready - due for due, _, ready in frames]
            run["players"].append(
                {
                    **who,
                    "period_us": workload.period_us,
                    "late": sum(ns > workload.period_us * 1000 for ns in late),
                    "lateness": stats.summary(late),
                }
            )
        case "echo" | "page":
            # Only clients talk to a server, and only in the window: all of the log counts.
            run["servers"].append(
                {
                    **who,
                    "served_per_s": stats.per_second(len(log.rows), end - start),
                    "service": stats.summary([row[1] - row[0] for row in log.rows]),
                }
            )


def placed(window: tuple[int, int], last: int | None) -> tuple[int, int]:
    """The window by the clock of a guest whose log ends at `last`.

    A guest's clock differs from dom0's by a constant, some tenths of a second.  So a log may end a
    little before the window does: then an interval as long, as late as the log allows, is taken.
    """
    late = 0 if last is None else window[1] - last
    if not 0 < late <= CLOCKS_DIFFER_NS:
        return window
    return window[0] - late, window[1] - late


def _units(points: list[tuple[int, int]], window: tuple[int, int]) -> int | None:
    """Work between both ends of the window; None if the log does not cover it."""
    start, end = placed(window, points[-1][0] if points else None)
    low, high = stats.interpolate(points, start), stats.interpolate(points, end)
    return None if low is None or high is None else high - low


def reads_in(rows: list[tuple[int, ...]], window: tuple[int, int]) -> list[tuple[int, ...]]:
    """A reader's rows that begin and end in the window."""
    start, end = placed(window, rows[-1][1] if rows else None)
    return [row for row in rows if row[0] >= start and row[1] <= end]


def frames_in(rows: list[tuple[int, ...]], window: tuple[int, int]) -> list[tuple[int, ...]]:
    """A player's rows that are due in the window, however late they were ready.

    By a guest's clock, which is behind, the window ends earlier.  Right after it Xen may print what it counted, for
    tens of milliseconds in which no guest runs: such a frame must not count, so those of the last second do not.
    """
    start, end = window
    return [row for row in rows if start <= row[0] < end - CLOCKS_DIFFER_NS]


def _neutral(text: str, rundir: Path) -> str:
    """Without the paths of this machine."""
    for path in (rundir, rundir.resolve(), ROOT):
        text = text.replace(f"{path}/", "").replace(str(path), ".")
    return text


def worst_error(run: dict) -> tuple[int, str] | None:
    """The largest share error, in ppm of the entitlement, with the domain.

    A domain whose wants are not known has an error only if it took more than its share.
    """
    errors = [
        (d["error_ppm"], d["name"])
        for d in run["domains"]
        if d["error_ppm"] is not None and (d["wants_ppm"] is not None or d["error_ppm"])
    ]
    return max(errors, key=lambda e: abs(e[0]), default=None)


def label(run: dict) -> str:
    return f"{run['scenario']['name']}/{run['policy']['name']}/seed-{run['seed']}"


def document(runs: list[dict]) -> dict:
    return {"format": FORMAT, "version": VERSION, "runs": runs}


def encode(runs: list[dict]) -> bytes:
    data = document(runs)
    validate(data)
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def save(path: Path, runs: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(encode(runs))
    part.replace(path)


def validate(data: dict, name: str = "results.json") -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise LabError(f"{name}: these are no results of the laboratory")
    if data.get("version") != VERSION:
        raise LabError(f"{name}: has version {data.get('version')}; this program reads version {VERSION}")
    schema = json.loads((SCHEMAS / "results.schema.json").read_text())
    for error in jsonschema.Draft202012Validator(schema).iter_errors(data):
        where = ".".join(str(p) for p in error.absolute_path)
        raise LabError(f"{name}: {where}: {error.message[:200]}")


def load(path: Path) -> list[dict]:
    """The runs of a results.json."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"not JSON: {error}"
        raise LabError(f"{shown(path)}: {reason}") from None
    validate(data, shown(path))
    return data["runs"]
