"""Who calls whom: the direction of calls that plane.h draws, read from the objects' symbols.

The objects are the simulator's: Xen's own files, as they are.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREE = Path(os.environ.get("SIM_TREE", ROOT / "build/tree"))
OUT = Path(os.environ.get("SIM_OUT", ROOT / "build/sim")).resolve()
# What C needs of a library: the compiler may ask for these too; and the simulator's barriers.
PLAIN = {"memset", "memcpy", "memmove", "memcmp", "sim_barrier"}


@pytest.fixture(scope="module")
def objects():
    """Undefined and defined global symbols of each object."""
    made = subprocess.run(["make", "-s", "-C", ROOT / "tools/tests/sched", f"TREE={TREE}", f"OUT={OUT}"],
                          capture_output=True, text=True)
    assert made.returncode == 0, (made.stdout + made.stderr)[-4000:]
    found = {}
    for path in [*OUT.glob("common/tavs/*.o"), *OUT.glob("common/sched/*.o"), *OUT.glob("sim/peek-*.o")]:
        if not (TREE / "xen" / path.relative_to(OUT)).with_suffix(".c").exists() and path.parent.name != "sim":
            continue        # of a file that was there once
        text = subprocess.run(["nm", "-g", path], capture_output=True, text=True, check=True).stdout
        used = set(re.findall(r"^ +U (\S+)$", text, re.M))
        made = set(re.findall(r"^[0-9a-f]+ [A-TV-Z] (\S+)$", text, re.M))
        found[str(path.relative_to(OUT))] = (used, made)
    assert len(found) > 15
    return found


def defined(objects, prefix):
    return set().union(*(made for name, (_, made) in objects.items() if name.startswith(prefix)))


def test_the_plane_knows_no_scheduler(objects):
    """It reaches one by struct tavs_host only."""
    schedulers = defined(objects, "common/sched/") | defined(objects, "sim/peek-")
    assert {"schedule", "vcpu_wake"} & schedulers
    wrong = {name: used & schedulers for name, (used, _) in objects.items()
             if name.startswith("common/tavs/") and used & schedulers}
    assert not wrong


def test_the_plane_includes_no_scheduler():
    files = [*(ROOT / "xen/common/tavs").glob("*.[ch]")]
    assert len(files) > 15
    for path in files:
        assert not re.search(r'#\s*include.*(sched/|private\.h|"credit)', path.read_text()), path.name


@pytest.mark.parametrize("name", ["task", "net-map", "channel"])
def test_what_is_plain_calls_nothing(objects, name):
    used, _ = objects[f"common/tavs/{name}.o"]
    assert used <= PLAIN


def test_plain_headers_know_nothing_of_xen():
    for name in ("ledger.h", "unserved.h", "task.h", "net-map.h", "channel.h", "latency.h"):
        includes = set(re.findall(r'#\s*include\s+[<"]([^>"]+)', (ROOT / "xen/common/tavs" / name).read_text()))
        assert includes <= {"xen/types.h", "stdbool.h", "stdint.h", "task.h", "public/tavs.h", "public/domctl.h",
                            "../../include/xen/tavs-channel.h", "xen/tavs-channel.h"}, name


@pytest.mark.parametrize("name", ["credit", "credit2"])
def test_credit_knows_no_task_awareness(objects, name):
    """It asks a policy: credit-ops.h, credit2-ops.h."""
    used, _ = objects[f"sim/peek-{name}.o"]
    assert not {symbol for symbol in used if "tavs" in symbol}


def test_the_ledger_and_the_hosts_are_used_from_below_only(objects):
    """Nobody but the schedulers' core calls what a host of the plane defines."""
    hosts = {name: made for name, (_, made) in objects.items()
             if re.search(r"sched/tavs-|sched/sched_tavs|peek-tavs", name)}
    mine = {symbol for made in hosts.values() for symbol in made if not symbol.startswith(("peek_", "sched_"))}
    for name, (used, _) in objects.items():
        if name not in hosts:
            assert not used & mine, name
