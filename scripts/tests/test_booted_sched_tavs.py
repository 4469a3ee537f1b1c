# SPDX-License-Identifier: GPL-2.0-only
"""`xl sched-tavs` on the real system: set, read back, effect seen; errors word for word.

Three machines: one for the command line (guests need not even be unpaused for that), one on which
parameters are changed while a guest serves requests, and one on which other schedulers' commands are
compared with those on a hypervisor without our patches.
"""

import json
import os
import re
import sys
from pathlib import Path
from statistics import mean

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from lab import paths, policy, scenario, workers
from lab.cache import Cache
from lab.progress import Board

pytestmark = pytest.mark.booted

OUT = paths.OUT / "check-sched-tavs"
COMPLAINT = re.compile(r"BUG|Assertion|WARN|panic|Oops|general protection|Call Trace|soft lockup")

# Prints a command as it would be typed, what it says, and its exit status.
TELL = 't() { echo "\\$ $*"; "$@" 2>&1 && s=0 || s=$?; echo "[$s]"; }'

TWO_GUESTS = """
title = "A PV guest and a PVH guest that do nothing of interest"
limit_s = 300
settle_s = 1
duration_s = 1
pcpus = 2
[[guest]]
name = "d1"
memory_mb = 128
[[guest.workload]]
run = "hog"
[[guest]]
name = "v1"
type = "pvh"
memory_mb = 128
[[guest.workload]]
run = "hog"
"""

SERVING = """
title = "An echo server and a hog in one guest, two other hogs"
limit_s = 300
settle_s = 1
duration_s = 6
pcpus = 1
[dom0]
pin = "0"
[[guest]]
name = "d1"
vif = true
[[guest.workload]]
run = "echo"
[[guest.workload]]
run = "hog"
[[guest]]
name = "h{n}"
count = 2
[[guest.workload]]
run = "hog"
[[client]]
name = "c1"
guest = "d1"
think_ms = [20, 120]
arrival = "closed"
requests = 40
"""


def machine(name, text, chosen, directory):
    file = directory / f"{name}.toml"
    file.write_text(text)
    return scenario.load(file), chosen


def measure(wanted, tmp_path_factory):
    artifacts = paths.load_artifacts()
    jobs = [workers.Job(s, p, 1, artifacts, workers.rundir(OUT, s.name, p.name, 1), True) for s, p in wanted]
    with Board(Console(file=sys.stderr), len(jobs)) as board:
        outcomes = workers.run_all(jobs, os.cpu_count() or 1, board, Cache(tmp_path_factory.mktemp("cache")))
    return [(outcome.run, job.rundir) for outcome, job in zip(outcomes, jobs, strict=True)]


def told(commands):
    return (TELL, *(f"t {command}" for command in commands))


def transcript(log: Path) -> dict[str, tuple[str, ...]]:
    """What each command said, its exit status last; where libxl's source line was, `libxl` remains."""
    said = {}
    for block in log.read_text().split("\n$ ")[0:]:
        first, *lines = block.removeprefix("$ ").rstrip("\n").split("\n")
        said.setdefault(first, []).append(tuple(re.sub(r"^libxl: (\w+): \w+\.c:\d+:\w+: ", r"libxl: \1: ", line)
                                                for line in lines))
    return said
