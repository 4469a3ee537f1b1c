# SPDX-License-Identifier: GPL-2.0-only
"""xl and libxl under credit and credit2 say what they say without our patches, word for word.

neighbours/*.txt is what a toolstack without our patches printed on Xen without our patches.  The slow test
boots those and compares (UPDATE=1 in the environment: it writes the files first); the quick one boots ours.
"""

import os
import re
from pathlib import Path

import pytest

from booted_fixture import complaints, measure, rundir, told, transcript, written
from forge import toolstack
from lab import paths, policy

pytestmark = pytest.mark.booted

OUT = paths.OUT / "check-neighbours"
RECORDED = Path(__file__).parent / "neighbours"
SCHEDULERS = ("credit", "credit2")
# Of `xl info`: what does not depend on who built it, where, and on the size of Xen itself.
INFO = ("nr_cpus", "max_cpu_id", "nr_nodes", "cores_per_socket", "threads_per_core", "virt_caps",
        "total_memory", "sharing_freed_memory", "sharing_used_memory", "outstanding_claims", "xen_major",
        "xen_minor", "xen_caps", "xen_scheduler", "xen_pagesize", "platform_params", "xen_commandline",
        "xend_config_format")

MACHINE = """
title = "A guest that does nothing of interest"
limit_s = 300
settle_s = 0
duration_s = 1
pcpus = 2
[[guest]]
name = "d1"
memory_mb = 128
[[guest.workload]]
run = "hog"
"""


def of_scheduler(name):
    """Everything that xl can be asked about one of them: set, read back, refused."""
    xl = f"xl sched-{name}"
    slices = (f"{xl} -s -t 10 -r 500",
              f"{xl} -s --tslice_ms=20 --ratelimit_us=900 --migration_delay_us=300", f"{xl} -s",
              f"{xl} -s -t 5000", f"{xl} -s -t 10 -r 50000", f"{xl} -s -t 30 -r 1000 -m 0")
    return (
        xl, f"{xl} -d d1 -w 512 -c 50", f"{xl} -d d1",
        f"{xl} --domain=d1 --weight=256 --cap=0", f"{xl} -d d1",
        f"{xl} -d Domain-0 -w 300", f"{xl} -d 0", f"{xl} -d Domain-0 -w 256",
        *(slices if name == "credit" else ()), f"{xl} -s -r 2000", f"{xl} -s", f"{xl} -s -r 1000",
        f"{xl} -p Pool-0", f"{xl} -s -p Pool-0",
        f"{xl} -p other", f"{xl} -s -p other -r 700", f"{xl} -s -p other",
        f"{xl} -d nosuch", f"{xl} -d nosuch -w 5", f"{xl} -d d1 -w 0", f"{xl} -d d1 -c 101",
        f"{xl} -w 5", f"{xl} -s -d d1", f"{xl} -s -p nosuch", f"{xl} -r 5",
        f"{xl} -s -r 50", f"{xl} -s -r 600000", f"{xl} -d d1 -r 5", f"{xl} -z", f"xl help sched-{name}",
    )


LISTED = ("xl list", "xl cpupool-list", "xl cpupool-list -c", "xl list -l d1")
ASKED = ("xl info", *LISTED, *of_scheduler("credit"), *of_scheduler("credit2"),
         "xl sched-rtds", "xl sched-rtds -d d1", "xl sched-rtds -d d1 -p 10000 -b 4000",
         "xl sched-rtds -d d1 -v all",
         """xl cpupool-create 'name="x"' 'sched="nosuch"' 'cpus=["1"]'""")
# d1 is in the other cpupool then.
MOVED = (*LISTED, "xl sched-credit", "xl sched-credit -d d1", "xl sched-credit -d d1 -w 512 -c 50",
         "xl sched-credit2", "xl sched-credit2 -d d1", "xl sched-credit2 -d d1 -w 512 -c 50", "xl list -l d1")
LAST = ("xl cpupool-migrate d1 Pool-0", "xl cpupool-destroy other", "xl cpupool-cpu-add Pool-0 1",
        "xl cpupool-list", "xl sched-credit", "xl sched-credit2")

# Only ours: a guest whose configuration has what another scheduler does not know.
OURS = ("xl create -p /run/pb.cfg", "xl list pb", "xl destroy pb")
CONFIGURE = ("""(grep -v -e ^name -e ^ramdisk /lab/guests/d1.cfg; echo 'name="pb"'; echo 'pb_ratio="0.05"')"""
             " > /run/pb.cfg",)


def neighbour(name, hypervisor, more):
    """Pool-0 under it; under the other one a second cpupool, which d1 moves to."""
    (other,) = {*SCHEDULERS} - {name}
    typed = ("xl cpupool-cpu-remove Pool-0 1",
             f"""xl cpupool-create 'name="other"' 'sched="{other}"' 'cpus=["1"]'""",
             *ASKED, "xl cpupool-migrate d1 other", *MOVED, *LAST)
    return policy.Policy(f"{name}-{hypervisor}", "what xl says", f"sched={name}", expect=name,
                         hypervisor=hypervisor, commands=(*told(typed), *more))


def boot(names, hypervisor, tmp_path_factory, artifacts=None, more=()):
    machine = written("neighbours", MACHINE, tmp_path_factory.mktemp("neighbours"))
    outcomes = measure([(machine, neighbour(name, hypervisor, more)) for name in names], OUT,
                       tmp_path_factory, artifacts=artifacts)
    found = {}
    for name, outcome in zip(names, outcomes, strict=True):
        assert outcome.run["complete"], outcome.run["error"]
        directory = rundir(OUT, "neighbours", f"{name}-{hypervisor}")
        assert complaints(directory / "serial.log") == []
        found[name] = transcript(directory / "raw/policy.log")
    return found


def shown(entries):
    """As text, without what no two boots have in common."""
    lines = []
    for command, said, status in entries:
        if command == "xl info":
            said = [line for line in said if line.split(":")[0].strip() in INFO]
        elif command.startswith("xl list -l"):
            said = [re.sub('("uuid"): .*', r"\1", line) for line in said]
        elif command.startswith("xl list"):
            said = [re.sub(r" +\d+\.\d$", " TIME", line) for line in said]
        lines += [f"$ {command}", *(line.rstrip() for line in said), f"[{status}]"]
    return "\n".join(lines) + "\n"


def recorded(name):
    return (RECORDED / f"{name}.txt").read_text().splitlines()


@pytest.fixture(scope="session")
def ours(tmp_path_factory):
    """Of our hypervisor and toolstack, under Xen's default, with a cpupool under credit."""
    return boot(["credit2"], "release", tmp_path_factory,
                more=(*CONFIGURE, *(f"t {command}" for command in OURS)))["credit2"]


def test_neighbours_say_what_they_said_without_us(ours):
    assert shown(ours[:-len(OURS)]).splitlines() == recorded("credit2")


def test_a_guest_with_our_keys_is_created_with_a_warning(ours):
    said = {command: (lines, status) for command, lines, status in ours[-len(OURS):]}
    lines, status = said["xl create -p /run/pb.cfg"]
    assert status == 0
    warnings = [line for line in lines if line.startswith("libxl: warning: ")]
    assert warnings == ["libxl: warning: Domain 2:pb_ratio is ignored: the scheduler is credit2, not tavs"]
    lines, status = said["xl list pb"]
    assert status == 0 and lines[1].split()[0] == "pb"


@pytest.mark.slow
def test_what_was_recorded_is_what_pristine_xen_says(tmp_path_factory):
    artifacts = paths.load_artifacts() | {"tools": str(toolstack.build(pristine=True))}
    for name, entries in boot(SCHEDULERS, "pristine", tmp_path_factory, artifacts).items():
        if os.environ.get("UPDATE"):
            (RECORDED / f"{name}.txt").write_text(shown(entries))
        assert shown(entries).splitlines() == recorded(name)


@pytest.mark.slow
def test_neighbours_say_the_same_with_credit_as_the_default(tmp_path_factory):
    (entries,) = boot(["credit"], "release", tmp_path_factory).values()
    assert shown(entries).splitlines() == recorded("credit")
