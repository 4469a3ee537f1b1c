# SPDX-License-Identifier: GPL-2.0-only
"""What the scheduler believed of each task of a traced run, over time."""

from dataclasses import dataclass, field

from . import trace
from .episode import Traced, task_name
from .errors import InputError, LabError

MOST = 12  # tasks that are shown of one domain


@dataclass
class Course:
    """The belief in one task of a domain, on whichever vCPU it runs, as the evidence changed it."""

    domid: int
    task: int
    name: str
    points: list[tuple[int, int]] = field(default_factory=list)  # time, belief from then on
    crossings: list[tuple[int, int, bool]] = field(default_factory=list)  # time, belief, up
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(trace.CAUSES, 0))
    cpu_ns: int = 0
    believed: bool = False  # at the end

    @property
    def kind(self) -> str:
        if self.believed:
            return "believed to be I/O-bound"
        return "CPU-bound" if self.counts["negative"] > self.counts["positive"] else "undecided"


def courses(run: Traced, domain: str | None) -> list[Course]:
    """The tasks of a domain with any evidence, those with most of it first."""
    domids = {name: domid for domid, name in run.names.items()}
    if domain is not None and domain not in domids:
        raise InputError(f"there is no domain '{domain}' in {run.label}", [f"there are: {', '.join(domids)}"])
    wanted = set(run.guests.values()) if domain is None else {domids[domain]}
    found: dict[tuple, Course] = {}
    for h in run.trace.happened:
        if isinstance(h, trace.Evidence) and h.vcpu[0] in wanted:
            key = h.vcpu[0], h.task
            if key not in found:
                found[key] = Course(*key, f"{run.name(h.vcpu[0])} {task_name(h.task)}")
                found[key].points.append((run.window[0], h.before))
            found[key].points.append((h.at, h.after))
            found[key].counts[h.cause] += 1
            found[key].cpu_ns += h.used_ns
        elif isinstance(h, trace.Belief) and (h.vcpu[0], h.task) in found:
            found[h.vcpu[0], h.task].crossings.append((h.at, h.after, h.after > h.before))
    for c in found.values():
        c.believed = c.points[-1][1] > run.threshold
    if not found:
        raise LabError(f"{run.label}: there was no evidence of any task in the trace")
    return sorted(found.values(), key=lambda c: (-c.counts["positive"] - c.counts["negative"], c.name))[:MOST]
