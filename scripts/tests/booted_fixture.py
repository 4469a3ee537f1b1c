# SPDX-License-Identifier: GPL-2.0-only
"""Booting machines from a test, and what was typed in their dom0."""

import os
import re
import sys
from pathlib import Path

from rich.console import Console

from lab import paths, scenario, workers
from lab.cache import Cache
from lab.progress import Board

# What no log of Xen or dom0 may have.
COMPLAINT = re.compile(r"BUG|Assertion|WARN|panic|Oops|general protection|Call Trace|soft lockup")

# An instruction more or less in Xen, and guests boot otherwise: what holds with seed 1 only, holds by chance.
SEED = int(os.environ.get("SEED") or 1)

# Prints a command as it would be typed, what it says, and its exit status.
TELL = 't() { echo "\\$ $*"; "$@" 2>&1 && s=0 || s=$?; echo "[$s]"; }'


def measure(wanted, out, tmp_path_factory, artifacts=None):
    """Runs (scenario, policy[, KiB of trace]) side by side, JOBS at a time; outcomes in their order."""
    artifacts = artifacts or paths.load_artifacts()
    jobs = [workers.Job(s, p, SEED, artifacts, rundir(out, s.name, p.name), True, *trace_kb)
            for s, p, *trace_kb in wanted]
    cache = Cache(tmp_path_factory.mktemp("cache"))
    parallel = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    with Board(Console(file=sys.stderr), len(jobs)) as board:
        return workers.run_all(jobs, parallel, board, cache)


def complaints(*logs: Path) -> list[str]:
    """The lines that no log of Xen or of a Linux may have."""
    return [line for log in logs for line in log.read_text(errors="replace").splitlines() if COMPLAINT.search(line)]


def rundir(out, scenario_name, policy_name):
    """Where measure() puts a run."""
    return workers.rundir(out, scenario_name, policy_name, SEED)


def written(name, text, directory):
    """A scenario that a test spells out."""
    file = directory / f"{name}.toml"
    file.write_text(text)
    return scenario.load(file)


def told(commands):
    return (TELL, *(f"t {command}" for command in commands))


def transcript(log: Path, where=False) -> list[tuple[str, list[str], int]]:
    """Each command, what it said, and its exit status; where in libxl a message comes from, if asked."""
    found = []
    for line in log.read_text().splitlines():
        if line.startswith("$ "):
            found.append((line[2:], [], None))
        elif found and (status := re.fullmatch(r"\[(\d+)\]", line)):
            found[-1] = (*found[-1][:2], int(status[1]))
        elif found and found[-1][2] is None:
            shown = line if where else re.sub(r"^libxl: (\w+): \w+\.c:\d+:\w+: ", r"libxl: \1: ", line)
            found[-1][1].append(shown)
    return found
