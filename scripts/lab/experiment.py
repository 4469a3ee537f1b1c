# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: what is to be measured, what it is to show, and whether it does.

An experiment is a TOML file in guest-tests/experiments (schema/experiment.schema.json): runs
(scenario, policies, seeds), targets and plots.  The runs are those of `lab run`, with its workers and
its cache.  A target is one figure with a limit; the worst seed decides.
"""

import json
import math
import statistics
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from . import episode, policy, raw, results, runs, scenario, stats, toml_input, trace, workers, xendump
from .errors import InputError, LabError
from .paths import ROOT
from .policy import Policy
from .scenario import Scenario
from .toml_input import Source

EXPERIMENTS = ROOT / "guest-tests" / "experiments"
FIGURES = {"p50": 500, "p90": 900, "p99": 990, "max": 1000}


@dataclass(frozen=True)
class Target:
    says: str
    measure: str
    scenario: str
    policy: str
    client: str = "*"
    other: str | None = None
    base: str | None = None
    domain: str | None = None
    via: str | None = None
    figure: str = "mean"
    skip: int | None = None
    slow_ms: float = 1.0
    at_most: float | None = None
    at_least: float | None = None

    @property
    def base_scenario(self) -> str:
        return self.via or self.scenario

    @property
    def limit(self) -> str:
        return f"<= {self.at_most:g}" if self.at_most is not None else f">= {self.at_least:g}"


@dataclass(frozen=True)
class Plot:
    draw: str
    scenario: str
    title: str
    policies: tuple[str, ...] = ()
    client: str = "*"
    domain: str | None = None
    caption: str = ""


@dataclass(frozen=True)
class Measurement:
    scenario: Scenario
    policies: tuple[Policy, ...]
    seeds: tuple[int, ...]
    trace: bool = False


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    description: str
    measurements: tuple[Measurement, ...]
    targets: tuple[Target, ...]
    plots: tuple[Plot, ...]

    def jobs(self, out: Path, artifacts: dict, seeds=None, fresh=False) -> list[workers.Job]:
        """One for each run, however often it is planned; `seeds` replaces those of the file."""
        jobs = [
            workers.Job(m.scenario, p, seed, artifacts,
                        workers.rundir(out, m.scenario.name, p.name, seed), fresh,
                        trace.buffer_kb(m.scenario) if m.trace else 0)
            for m in self.measurements
            for seed in dict.fromkeys(seeds or m.seeds)
            for p in m.policies
        ]
        return list({job.rundir: job for job in jobs}.values())


@dataclass(frozen=True)
class Verdict:
    target: Target
    values: dict[int, float]  # seed -> figure
    problem: str = ""  # why there is none

    @property
    def worst(self) -> float | None:
        if not self.values:
            return None
        return (max if self.target.at_most is not None else min)(self.values.values())

    @property
    def met(self) -> bool:
        if self.problem or self.worst is None:
            return False
        if self.target.at_most is not None:
            return self.worst <= self.target.at_most
        return self.worst >= self.target.at_least

    @property
    def word(self) -> str:
        return "ok" if self.met else "MISSED" if self.values and not self.problem else "NOT MEASURED"

    def definition(self) -> dict:
        return {
            "says": self.target.says, "scenario": self.target.scenario, "policy": self.target.policy,
            "measure": self.target.measure, "limit": self.target.limit, "worst": _plain(self.worst),
            "seeds": {str(seed): _plain(value) for seed, value in self.values.items()},
            "verdict": self.word, "problem": self.problem or None,
        }  # fmt: skip


def names() -> list[str]:
    return sorted(path.stem for path in EXPERIMENTS.glob("*.toml"))


def find(word: str) -> Experiment:
    """An experiment by its name, or by the path of its file."""
    return load(toml_input.find(word, EXPERIMENTS, "experiment"))


def load(path: Path) -> Experiment:
    source = Source(path)
    source.check("experiment.schema.json")
    data, known = source.data, policy.load()

    measurements, named, planned = [], {}, {}
    for number, entry in enumerate(data["run"]):
        try:
            one = scenario.find(entry["scenario"])
            chosen = tuple(policy.find(word, known) for word in entry["policies"])
        except InputError as problem:
            raise source.error(("run", number), problem.message) from None
        for what in (one, *chosen):
            if named.setdefault((type(what), what.name), what) != what:
                raise source.error(("run", number), f"'{what.name}' is not what has this name above")
        seeds = entry.get("seeds") or data.get("seeds") or one.seeds
        traced = entry.get("trace", False)
        for what in chosen:
            if planned.setdefault((one.name, what.name), traced) != traced:
                raise source.error(("run", number), f"{one.name} under {what.name} is both traced and not")
        measurements.append(Measurement(one, chosen, tuple(seeds), traced))

    targets = [Target(**entry) for entry in data.get("target", [])]
    for number, target in enumerate(targets):
        needed = [(target.scenario, target.policy)]
        needed += [(target.base_scenario, target.base)] if target.base else []
        for which, chosen in needed:
            if (which, chosen) not in planned:
                raise source.error(("target", number), f"no run of {which} under {chosen} is planned")
        if (target.at_most is None) == (target.at_least is None):
            raise source.error(("target", number), "needs either at_most or at_least")
        if target.measure in ("ratio", "slowdown", "cost", "hooks", "rounds") and target.base is None:
            raise source.error(("target", number), f"{target.measure} needs a base")
        if target.measure == "hooks" and (target.via, target.policy) not in planned:
            raise source.error(("target", number), "hooks needs via: a scenario that is run under the policy")
        if target.measure == "against" and target.other is None:
            raise source.error(("target", number), "against needs the other clients")
        if target.measure == "wait" and not planned[target.scenario, target.policy]:
            raise source.error(("target", number), "wait needs a run with trace = true")
    plots = [Plot(**{**entry, "policies": tuple(entry.get("policies", []))})
             for entry in data.get("plot", [])]
    for number, plot in enumerate(plots):
        if plot.scenario not in {name for name, _ in planned}:
            raise source.error(("plot", number), f"no run of {plot.scenario} is planned")
        for chosen in plot.policies:
            if (plot.scenario, chosen) not in planned:
                raise source.error(("plot", number), f"no run of {plot.scenario} under {chosen} is planned")
            if plot.draw == "waits" and not planned[plot.scenario, chosen]:
                raise source.error(("plot", number), "waits needs runs with trace = true")
        if plot.draw == "waits" and not plot.policies:
            raise source.error(("plot", number), "waits needs the policies whose runs are traced")
    return Experiment(source.path.stem, data["title"], data.get("description", "").strip(),
                      tuple(measurements), tuple(targets), tuple(plots))


# Figures


class Results:
    """The runs of an experiment, by scenario, policy and seed."""

    def __init__(self, found: list[runs.Found]):
        self.found = found
        self._by_key = {(f.run["scenario"]["name"], f.run["policy"]["name"], f.run["seed"]): f for f in found}
        self._samples: dict[int, dict] = {}
        self._traced: dict[int, episode.Traced] = {}

    def of(self, scenario_name: str, policy_name: str) -> dict[int, runs.Found]:
        return {key[2]: f for key, f in sorted(self._by_key.items()) if key[:2] == (scenario_name, policy_name)}

    def samples(self, found: runs.Found) -> dict[str, list[tuple[int, int | None]]]:
        if id(found) not in self._samples:
            self._samples[id(found)] = found.samples()
        return self._samples[id(found)]

    def waits(self, found: runs.Found, pattern: str) -> list[tuple[int, int, int]]:
        """Those of episode.waits(), of all clients that fit."""
        if id(found) not in self._traced:
            self._traced[id(found)] = episode.load(found.directory)
        run = self._traced[id(found)]
        return [wait for name in run.guests if fnmatchcase(name, pattern) for wait in episode.waits(run, name)]

    def latencies(self, found: runs.Found, pattern: str, skip: int | None) -> list[int | None]:
        """Those of all clients, readers and players that fit, without the first `skip` of each client."""
        skip = _learning_requests(found) if skip is None else skip
        clients = {c["name"] for c in found.run["clients"]}
        return [
            value
            for name, points in self.samples(found).items() if fnmatchcase(name, pattern)
            for number, value in points if number > (skip if name in clients else 0)
        ]


def _learning_requests(found: runs.Found) -> int:
    return found.run["scenario"]["definition"]["learning_requests"]


def figure(values: list[int | None], name: str) -> float:
    """Milliseconds.  A lost request is slower than all others; the mean does not know it."""
    answered = sorted(v for v in values if v is not None)
    if not answered:
        raise LabError("no request was answered")
    if name == "mean":
        return stats.mean(answered) / 1e6
    ranked = [*answered, *[float("inf")] * (len(values) - len(answered))]
    return stats.percentile(ranked, FIGURES[name]) / 1e6


def _plain(value: float | None) -> float | str | None:
    """As JSON can say it, which knows no infinity."""
    return value if value is None or math.isfinite(value) else str(value)


def judge(target: Target, measured: Results) -> Verdict:
    """The figure of each seed; what cannot be measured is said, and counts as missed."""
    values, problem = {}, ""
    mine = measured.of(target.scenario, target.policy)
    if not mine:
        return Verdict(target, {}, "no run")
    for seed, found in mine.items():
        if not found.run["complete"] and target.measure != "complete":
            problem = f"seed {seed} failed: {found.run['error']['message']}"
            continue
        if target.base is not None and seed not in measured.of(target.base_scenario, target.base):
            continue  # the base was measured with fewer seeds
        try:
            value = _MEASURES[target.measure](target, measured, found)
            if math.isnan(value):
                raise LabError("requests were lost on both sides")
            values[seed] = value
        except LabError as error:
            problem = f"seed {seed}: {error.message}"
    if not values and not problem:
        problem = f"no seed in common with {target.base}"
    return Verdict(target, values, problem)


def _base(target: Target, measured: Results, found: runs.Found) -> runs.Found:
    base = measured.of(target.base_scenario, target.base)[found.run["seed"]]
    if not base.run["complete"]:
        raise LabError(f"{target.base} failed")
    return base


def _latency(target, measured, found) -> float:
    return figure(measured.latencies(found, target.client, target.skip), target.figure)


def _wait(target, measured, found) -> float:
    """From the driver domain's event until the guest runs: what the scheduler has to answer for.

    A request that was lost counts as in a latency.  One that was answered has to have an event, or the figure
    would be that of those which had.
    """
    skip = _learning_requests(found) if target.skip is None else target.skip
    waits = [ns for number, _, ns in measured.waits(found, target.client) if number > skip]
    asked = measured.latencies(found, target.client, skip)
    lost = asked.count(None)
    if len(waits) != len(asked) - lost:
        raise LabError(f"of {len(asked) - lost} requests that were answered, {len(waits)} have an event in the trace")
    return figure([*waits, *[None] * lost], target.figure)


def _ratio(target, measured, found) -> float:
    """How many times the base's latency is this one's."""
    return _latency(target, measured, _base(target, measured, found)) / _latency(target, measured, found)


def _slowdown(target, measured, found) -> float:
    """The latency of the client that fares worst over that of the base's clients."""
    names = [name for name in measured.samples(found) if fnmatchcase(name, target.client)]
    if not names:
        raise LabError(f"no client fits '{target.client}'")
    worst = max(figure(measured.latencies(found, name, target.skip), target.figure) for name in names)
    base = _base(target, measured, found)
    return worst / figure(measured.latencies(base, target.other or target.client, target.skip), target.figure)


def _against(target, measured, found) -> float:
    """These clients' latency over that of the others in the same run."""
    others = figure(measured.latencies(found, target.other, target.skip), target.figure)
    return _latency(target, measured, found) / others


def _late(target, measured, found) -> float:
    """How many took longer than `slow_ms`; one that was lost did."""
    values = measured.latencies(found, target.client, target.skip)
    if not values:
        raise LabError("there was no request, read or frame")
    return float(sum(v is None or v > target.slow_ms * 1e6 for v in values))


def _learning(target, measured, found) -> float:
    """The number of the last slow request among the first twenty of a client; the worst client."""
    last = 0
    for name, points in measured.samples(found).items():
        if fnmatchcase(name, target.client):
            last = max([last, *(n for n, v in points[:20] if v is None or v > target.slow_ms * 1e6)])
    return float(last)


def _share(target, measured, found) -> float:
    """Percent: how far the share of a domain that wants CPU is from its entitlement, at worst."""
    worst = results.worst_error(found.run)
    if worst is None:
        raise LabError("no domain wants CPU")
    return abs(worst[0]) / 1e4


def _complete(target, measured, found) -> float:
    return float(found.run["complete"])


def work_rate(found: runs.Found, pattern: str) -> float:
    """What the readers and servers that fit did in a second; without any, the programs that compute."""
    run = found.run
    rates = [d["reads_per_s"] for d in run["disks"] if fnmatchcase(f"{d['guest']}.{d['workload']}", pattern)]
    window_s = run["window"]["duration_ns"] / 1e9
    rates += [c["whole"]["n"] / window_s for c in run["clients"] if fnmatchcase(c["name"], pattern)]
    if not rates:
        rates = [h["units_per_s"] for h in run["hogs"] if fnmatchcase(f"{h['guest']}.{h['workload']}", pattern)]
    if not rates or None in rates:
        raise LabError("the work that was done is not known")
    return sum(rates)


def _work(target, measured, found) -> float:
    mine = work_rate(found, target.client)
    if target.base is None:
        return mine
    base = work_rate(_base(target, measured, found), target.client)
    if not base:
        raise LabError(f"no work was done under {target.base}")
    return mine / base


def _domid(found: runs.Found, name: str | None) -> int:
    rows = [d for d in found.run["domains"] if d["name"] == name or (name is None and d["domid"])]
    if not rows:
        raise LabError(f"there is no domain {name}")
    return rows[0]["domid"]


def _spent(found: runs.Found, name: str | None) -> xendump.Domain:
    """What the scheduler counted of a domain in the window."""
    domid = _domid(found, name)
    counted = xendump.spent(found)
    if domid not in counted:
        raise LabError(f"the scheduler said nothing of domain {domid}")
    return counted[domid]


def _boosted(target, measured, found) -> float:
    """Percent of the domain's CPU time that was boosted."""
    spent = _spent(found, target.domain)
    return 100 * spent.boosted_us / max(spent.run_us, 1)


def _refused(target, measured, found) -> float:
    """Boosts refused because the budget was used up."""
    return float(_spent(found, target.domain).refused_budget)


def hit_ratio(found: runs.Found, name: str | None) -> float:
    """Percent of a domain's boosts in the window during which an I/O-bound task ran: the paper's PBHR."""
    spent = _spent(found, name)
    if not spent.boosts:
        raise LabError("there was no boost")
    return 100 * spent.hits / spent.boosts


def _hit(target, measured, found) -> float:
    return hit_ratio(found, target.domain)


def _boosts(target, measured, found) -> float:
    """Boosts of the domain in the window."""
    return float(_spent(found, target.domain).boosts)


def unit_cost(found: runs.Found, domain: str | None) -> float:
    """CPU time, in ns, of a domain (or, for None, of all) for a unit of its work or a request."""
    run = found.run
    cpu = sum(d["cpu_ns"] for d in run["domains"] if domain in (None, d["name"]))
    if run["hogs"]:
        units = [h["units"] for h in run["hogs"] if domain in (None, h["guest"])]
    else:
        units = [c["whole"]["n"] for c in run["clients"] if domain in (None, c["guest"])]
    if not units or None in units or not sum(units):
        raise LabError("the work that was done is not known")
    if not cpu:
        raise LabError("the CPU time that it took is not known")
    return cpu / sum(units)


def _cost(target, measured, found) -> float:
    """Percent that a unit costs more than under the base."""
    base = unit_cost(_base(target, measured, found), target.domain)
    return 100 * (unit_cost(found, target.domain) - base) / base


def _computed(found: runs.Found) -> list[tuple[int, ...]]:
    """What the first program that computes logged: time, units, task switches."""
    if not found.run["hogs"]:
        raise LabError("there is no program that computes")
    if found.directory is None:
        raise LabError("the raw files are missing")
    name = f"{found.run['hogs'][0]['guest']}.{found.run['hogs'][0]['workload']}.tsv"
    rows = raw.read_log(found.directory / "raw" / name, 3).rows
    if len(rows) < 2 or rows[-1][0] <= rows[0][0]:
        raise LabError(f"{name} says too little")
    return rows


def switches(found: runs.Found) -> tuple[float, float]:
    """Task switches, and units of work, a second, as the first program that computes logged them."""
    rows = _computed(found)
    seconds = (rows[-1][0] - rows[0][0]) / 1e9
    return (rows[-1][2] - rows[0][2]) / seconds, (rows[-1][1] - rows[0][1]) / seconds


def switch_cost(found: runs.Found, base: runs.Found) -> float:
    """ns that a task switch costs more than under the base, in a scenario that does nothing else."""
    rate, units = switches(found)
    if not rate:
        raise LabError("no task was switched")
    domain = found.run["hogs"][0]["guest"]
    return (unit_cost(found, domain) - unit_cost(base, domain)) * units / rate


def round_costs(found: runs.Found) -> list[float]:
    """ns that a unit took in each round of a crowd that lies in the window, by the guest's clock."""
    rows = _computed(found)
    inside = results.placed(tuple(found.run["window"][k] for k in ("start_ns", "end_ns")), rows[-1][0])
    costs = [
        (after[0] - before[0]) / (after[1] - before[1])
        for before, after in pairwise(rows)
        if after[1] > before[1] and inside[0] <= before[0] and after[0] <= inside[1]
    ]
    if not costs:
        raise LabError("no round lies in the window")
    return costs


def _rounds(target, measured, found) -> float:
    """Percent that a unit takes longer than under the base, in the median round."""
    mine, base = (statistics.median(round_costs(f)) for f in (found, _base(target, measured, found)))
    return 100 * (mine - base) / base


def _hooks(target, measured, found) -> float:
    """Percent of CPU time: the cost of a switch, from the scenario `via`, times the switches here."""
    seed = found.run["seed"]
    pair = [measured.of(target.via, p).get(seed) for p in (target.policy, target.base)]
    if None in pair or not all(f.run["complete"] for f in pair):
        raise LabError(f"{target.via} was not measured under {target.policy} and {target.base}")
    return 100 * switches(found)[0] * switch_cost(*pair) / 1e9


_MEASURES = {
    "latency": _latency, "ratio": _ratio, "slowdown": _slowdown, "against": _against, "late": _late,
    "learning": _learning, "share": _share, "complete": _complete, "work": _work, "boosted": _boosted,
    "refused": _refused, "cost": _cost,
    "hooks": _hooks, "rounds": _rounds, "hit": _hit, "boosts": _boosts, "wait": _wait,
}  # fmt: skip


def conclude(one: Experiment, found: list[runs.Found], out: Path) -> list[Verdict]:
    """Judges all targets and leaves targets.json beside the results."""
    measured = Results(found)
    verdicts = [judge(target, measured) for target in one.targets]
    data = {"experiment": one.name, "title": one.title, "targets": [v.definition() for v in verdicts]}
    (out / "targets.json").write_text(json.dumps(data, indent=1, allow_nan=False) + "\n")
    return verdicts
