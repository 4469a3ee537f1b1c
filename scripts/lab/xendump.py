# SPDX-License-Identifier: GPL-2.0-only
"""What the scheduler tavs prints about itself at Xen's debug key r, out of a serial log.

The conductor presses the key right before and right after the window (scripts/lab/image.py).
"""

import re
from dataclasses import dataclass, fields, replace

from .errors import LabError

_NOW = re.compile(r"\bNOW=(\d+)")
_START = "task awareness:"
_DOMAIN = re.compile(r"\bdomain (\d+): .*pbratio=(\d+)")
_RUN = re.compile(r"\brun=(\d+)us boosted=(\d+)us events=(\d+)\b.* budget=(\d+)\b")
_BOOSTS = re.compile(r"\bboosts for (\w+): (\d+) \(hit=(\d+) revoked=(\d+) blocked=(\d+) capped=(\d+)\)")
_TASKS = re.compile(r"\btasks: believed=(\d+) pos=(\d+) neg=(\d+)\b")
_VCPU = re.compile(r"\bswitches=(\d+) cur=\S+ no boost: no task=(\d+) uncorrelated=(\d+) off=(\d+)")


@dataclass(frozen=True)
class Domain:
    """Counters of a domain since it was created, those of its vCPUs summed."""

    pbratio: int = 0  # permille
    run_us: int = 0
    boosted_us: int = 0
    events: int = 0
    refused_budget: int = 0
    boosts: int = 0
    hits: int = 0
    revoked: int = 0
    blocked: int = 0
    capped: int = 0
    switches: int = 0
    refused_no_task: int = 0
    refused_uncorrelated: int = 0
    refused_off: int = 0
    positives: int = 0
    negatives: int = 0

    def __sub__(self, before: "Domain") -> "Domain":
        counts = {
            f.name: getattr(self, f.name) - getattr(before, f.name)
            for f in fields(self) if f.name != "pbratio"
        }
        return Domain(pbratio=self.pbratio, **counts)


@dataclass(frozen=True)
class Dump:
    now_ns: int
    domains: dict[int, Domain]


def read(path) -> list[Dump]:
    """All dumps of a serial log, oldest first."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        raise LabError(f"{path.name} is missing") from None
    dumps, now, domid, domains = [], 0, None, None
    for line in lines:
        if match := _NOW.search(line):
            now = int(match[1])
        elif _START in line:
            domid, domains = None, {}
            dumps.append(Dump(now, domains))
        elif domains is None:
            continue
        elif match := _DOMAIN.search(line):
            domid = int(match[1])
            domains[domid] = Domain(pbratio=int(match[2]))
        elif domid is not None:
            domains[domid] = _with(domains[domid], line)
    return dumps


def _with(d: Domain, line: str) -> Domain:
    """The domain with what one more line says of it."""
    add: dict = {}
    if match := _RUN.search(line):
        for name, value in zip(("run_us", "boosted_us", "events", "refused_budget"), match.groups()):
            add[name] = getattr(d, name) + int(value)
    elif match := _BOOSTS.search(line):
        for name, value in zip(("boosts", "hits", "revoked", "blocked", "capped"), match.groups()[1:]):
            add[name] = getattr(d, name) + int(value)
    elif match := _VCPU.search(line):
        for name, value in zip(("switches", "refused_no_task", "refused_uncorrelated", "refused_off"), match.groups()):
            add[name] = getattr(d, name) + int(value)
    elif match := _TASKS.search(line):
        add["positives"], add["negatives"] = int(match[2]), int(match[3])
    return replace(d, **add)


def window(found) -> tuple[Dump, Dump]:
    """The dumps right before and right after the window of a run."""
    if found.directory is None:
        raise LabError("there is no serial log")
    dumps = read(found.directory / "serial.log")
    if len(dumps) < 2:
        raise LabError("the scheduler printed no statistics around the window")
    return dumps[0], dumps[-1]


def spent(found) -> dict[int, Domain]:
    """What the scheduler counted in the window, of each domain that it knew before and after."""
    before, after = window(found)
    return {n: after.domains[n] - before.domains[n] for n in after.domains if n in before.domains}
