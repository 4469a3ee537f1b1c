# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory on the real system: Xen boots, guests run, figures come out.

Every run is in virtual time and repeats exactly, so nothing here is retried.
A failure leaves the run's directory in out/check; `lab run smoke --policy P`
replays it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from booted_fixture import complaints, measure, rundir
from lab import paths, policy, scenario
from lab.cache import digests

pytestmark = pytest.mark.booted

OUT = paths.OUT / "check"
POLICIES = ("credit", "credit-1ms", "credit2", "credit2-rl0", "rtds", "tavs", "tavs-debug",
            "credit-pristine", "credit2-pristine")
EXPECTED = "WARNING: This is experimental software in development."    # what rtds says of itself


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """The smoke scenario under every policy, and once more under tavs: name -> (run, directory)."""
    shutil.rmtree(OUT, ignore_errors=True)
    known, chosen = policy.load(), scenario.find("smoke")
    outcomes = measure([(chosen, known[name]) for name in POLICIES], OUT, tmp_path_factory)
    (again,) = measure([(chosen, known["tavs"])], OUT / "again", tmp_path_factory)
    runs = {name: (outcome.run, rundir(OUT, "smoke", name))
            for name, outcome in zip(POLICIES, outcomes, strict=True)}
    return runs | {"again": (again.run, rundir(OUT / "again", "smoke", "tavs"))}


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_boots_and_serves(smoke, name):
    run, directory = smoke[name]
    assert run["complete"], run["error"]
    meta = json.loads((directory / "raw/meta.json").read_text())
    assert meta["scheduler"] == policy.load()[name].expect
    clients = {client["name"]: client for client in run["clients"]}
    assert set(clients) == {"c1", "c2"}                      # one into the PV guest, one into the PVH one
    for client in clients.values():
        assert client["whole"]["n"] == 10 and client["whole"]["lost"] == 0
    disks = {disk["guest"]: disk for disk in run["disks"]}
    assert disks["pv1"]["latency"]["n"] > 20 and disks["pvh1"]["latency"]["n"] > 20


@pytest.mark.parametrize("name", POLICIES)
def test_nobody_complains(smoke, name):
    _, directory = smoke[name]
    logs = [directory / "serial.log", *(directory / "raw/console").glob("*.log")]
    assert len(logs) == 3
    assert [line for line in complaints(*logs) if EXPECTED not in line] == []


def test_the_same_inputs_give_the_same_bytes(smoke):
    (first, one), (second, two) = smoke["tavs"], smoke["again"]
    assert digests(one) == digests(two)
    assert (one / "results.json").read_bytes() == (two / "results.json").read_bytes()
    assert first["ran"]["fingerprint"] == second["ran"]["fingerprint"]


@pytest.mark.parametrize("scheduler, allowed_ns", [("credit", 150_000_000), ("credit2", 4_000_000)])
def test_our_hooks_do_not_change_what_others_do(smoke, scheduler, allowed_ns):
    """A hook costs others some instructions; the shares that they give must stay the same.

    But for where the window cuts a time slice, at each of its ends: some instructions earlier
    or later, another guest has it.  credit2 charges by time, so that two slices of 2 ms are
    all.  credit charges whole ticks to whoever they hit: each that hits another guest moves
    a turn of 30 ms, and the three seconds have room for five (5%).  For the same reason ten
    latencies say nothing; test_latencies_match_upstream has more, and the simulator finds
    the very same decisions (test_sim.py).
    """
    ours, theirs = smoke[scheduler][0], smoke[f"{scheduler}-pristine"][0]
    for mine, upstream in zip(ours["domains"], theirs["domains"], strict=True):
        assert mine["cpu_ns"] == pytest.approx(upstream["cpu_ns"], rel=0, abs=allowed_ns)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["credit", "credit2"])
def test_latencies_match_upstream(scheduler, tmp_path, tmp_path_factory):
    """A hundred requests: the undisturbed guest's median to 2%, the mixed one's mean to 25%."""
    known = policy.load()
    wanted = [(scenario.find(name), known[scheduler + suffix])
              for name in ("io", "mixed") for suffix in ("", "-pristine")]
    io, io_upstream, mixed, mixed_upstream = (
        outcome.run["clients"][0]["whole"]
        for outcome in measure(wanted, tmp_path, tmp_path_factory))
    assert io["p50_ns"] == pytest.approx(io_upstream["p50_ns"], rel=0.02)
    assert mixed["mean_ns"] == pytest.approx(mixed_upstream["mean_ns"], rel=0.25)


@pytest.fixture(scope="session")
def moved(tmp_path_factory):
    known, chosen = policy.load(), scenario.find("moves")
    names = ("tavs", "tavs-debug")
    outcomes = measure([(chosen, known[name]) for name in names], OUT, tmp_path_factory)
    return {name: (outcome.run, rundir(OUT, "moves", name)) for name, outcome in zip(names, outcomes, strict=True)}


@pytest.mark.parametrize("name", ["tavs", "tavs-debug"])
def test_guests_survive_being_moved(moved, name):
    """Without patches/qemu the emulator delivers interrupts to a PVH guest twice, and Linux panics: now and then."""
    run, directory = moved[name]
    assert run["complete"], run["error"]
    assert all(client["whole"]["n"] == 20 and client["whole"]["lost"] == 0 for client in run["clients"])
    assert {hog["guest"] for hog in run["hogs"]} == {"pv1", "pvh1"}
    assert complaints(directory / "serial.log") == []


MINIMAL = """
title = "one guest"
limit_s = {limit}
settle_s = 1
duration_s = 1
pcpus = {pcpus}
[[guest]]
name = "d1"
memory_mb = {memory}
[[guest.disk]]
name = "xvda"
size_mb = 32
[[guest.workload]]
{workload}
"""
# More than blkread reads at once, which only blkread knows.
REFUSED = 'run = "blkread"\nsize = 33554432'


def minimal(directory, limit=60, pcpus=1, memory=128, workload='run = "hog"'):
    file = directory / "minimal.toml"
    file.write_text(MINIMAL.format(limit=limit, pcpus=pcpus, memory=memory, workload=workload))
    return scenario.load(file)


@pytest.fixture(scope="session")
def odd(tmp_path_factory):
    """Runs that should fail, each in its own way, and one that needs a second pCPU."""
    directory = tmp_path_factory.mktemp("odd")
    known = policy.load()
    pool = policy.parse("pool=sched=credit2; xl cpupool-cpu-remove Pool-0 1; "
                        "xl cpupool-create 'name=\"t\"' 'sched=\"tavs\"' 'cpus=[\"1\"]'; xl cpupool-list; "
                        "xl cpupool-migrate d1 t; xl cpupool-list; xl cpupool-migrate d1 Pool-0; "
                        "xl cpupool-destroy t; xl cpupool-cpu-add Pool-0 1; xl cpupool-list", known)
    wanted = {
        "fallback": (minimal(directory), policy.Policy("fallback", "", "sched=nosuch", expect="tavs")),
        "limit": (minimal(directory, limit=9), policy.parse("limit=sched=tavs", known)),
        "starved": (minimal(directory, memory=64), policy.parse("starved=sched=tavs", known)),
        "died": (minimal(directory, workload=REFUSED), policy.parse("died=sched=tavs", known)),
        "command": (minimal(directory), policy.parse("command=sched=tavs; xl sched-credit2 -s -r 1", known)),
        "pool": (minimal(directory, pcpus=2), pool),
    }
    outcomes = measure(wanted.values(), OUT / "odd", tmp_path_factory)
    return {name: (outcome.run, rundir(OUT / "odd", "minimal", wanted[name][1].name))
            for name, outcome in zip(wanted, outcomes, strict=True)}


VIF = MINIMAL.replace("memory_mb", "vif = true\nmemory_mb")


@pytest.fixture(scope="session")
def told(tmp_path_factory):
    """The ring of packets: written to by a hostile dom0, asked for by guests; our module comes and goes."""
    directory = tmp_path_factory.mktemp("told")
    known = policy.load()
    file = directory / "churn.toml"
    file.write_text(VIF.format(limit=90, pcpus=1, memory=128, workload='run = "hog"'))
    wanted = {
        "fuzz": (scenario.find("smoke"), policy.parse(
            "fuzz=sched=tavs; hypervisor=debug; modules=xen-tavs-fuzz; guest-modules=xen-tavs-net", known)),
        "churn": (scenario.load(file), policy.parse(
            "churn=sched=tavs; hypervisor=debug; "
            "xl network-attach d1 bridge=br0 script=/etc/xen/scripts/vif; "
            "xl network-detach d1 1; "
            "xl list && rmmod xen_tavs_net; "
            "xl list && insmod /lab/modules/xen-tavs-net.ko; "
            "xl list && rmmod xen_tavs_net; "
            "xl list && insmod /lab/modules/xen-tavs-net.ko; "
            "xl list && dmesg | grep tavs", known)),
        "other": (scenario.load(file), policy.parse(
            "other=sched=credit; hypervisor=pristine; modules=xen-tavs-net; xl list && dmesg | grep tavs", known)),
    }
    outcomes = measure(wanted.values(), OUT / "told", tmp_path_factory)
    return {name: (outcome.run, rundir(OUT / "told", wanted[name][0].name, wanted[name][1].name))
            for name, outcome in zip(wanted, outcomes, strict=True)}


def test_a_hostile_driver_domain_hurts_nobody(told):
    run, directory = told["fuzz"]
    assert run["complete"], run["error"]
    assert all(c["whole"]["n"] == 10 and c["whole"]["lost"] == 0 for c in run["clients"])
    log = (directory / "serial.log").read_text(errors="replace")
    assert complaints(directory / "serial.log") == []
    assert "xen_tavs_fuzz: begins; Xen says 0" in log
    # Xen looked at it, and saw all kinds of nonsense.
    counts = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in log.splitlines() if "  packets: " in line]
    assert int(counts[-1]["taken"]) > 1000 and int(counts[-1]["nonsense"]) > 100 and int(counts[-1]["overrun"]) > 10


def test_a_guest_may_not_tell_of_packets(told):
    _, directory = told["fuzz"]
    for guest in ("pv1", "pvh1"):
        console = (directory / f"raw/console/{guest}.log").read_text(errors="replace")
        assert "xen_tavs_net: Xen does not take the ring: -1" in console
        assert "@warning cannot load xen-tavs-net.ko" in console


def test_interfaces_and_our_module_come_and_go(told):
    run, directory = told["churn"]
    assert run["complete"], run["error"]
    log = (directory / "raw/policy.log").read_text()
    for vif in ("vif1.0", "vif1.1"):
        assert re.search(rf"{vif}: xen_tavs_net: tells of packets for domain 1$", log, re.M)
        assert re.search(rf"{vif}( \(unregistering\))?: xen_tavs_net: tells nothing more of it$", log, re.M)
    assert log.count("xen_tavs_net: Xen is told of packets for guests") == 3
    assert log.count("xen_tavs_net: told Xen of ") == 2
    serial = (directory / "serial.log").read_text(errors="replace")
    assert serial.count("d0 tells of packets for other domains") == 3
    assert serial.count("d0 tells nothing more of packets for other domains") >= 2
    assert complaints(directory / "serial.log") == []


def test_our_module_does_nothing_where_xen_is_not_ours(told):
    run, directory = told["other"]
    assert run["complete"], run["error"]
    log = (directory / "raw/policy.log").read_text()
    assert "xen_tavs_net: this Xen has no task-aware scheduler: nothing to do" in log
    assert "tells of packets" not in log


def test_a_scheduler_that_is_not_the_one_asked_for_is_refused(odd):
    run, _ = odd["fallback"]
    assert run["error"]["message"] == "the scheduler 'credit2' runs, not 'tavs' that the policy asks for"


def test_a_run_beyond_its_limit_shows_consoles_and_run_queues(odd):
    run, _ = odd["limit"]
    assert not run["complete"]
    assert run["error"]["message"] == "the run took longer than its limit of 9 s"
    details = run["error"]["details"]
    assert details[0] == "--- console of d1"
    assert any(line.endswith("(tavs)") for line in details[details.index("--- Xen's run queues"):])


def test_a_guest_that_cannot_be_created_is_named_with_the_reason(odd):
    run, _ = odd["starved"]
    assert not run["complete"]
    assert re.fullmatch("xl create d1: .*Out of memory", run["error"]["message"])


def test_a_workload_that_dies_is_named_with_what_it_said(odd):
    run, _ = odd["died"]
    assert not run["complete"]
    assert run["error"]["message"] == ("guest d1: died blkread: blkread: --size: '33554432' "
                                       "is not a number from 512 to 16777216")


def test_a_command_of_the_policy_that_fails_is_named(odd):
    run, _ = odd["command"]
    assert not run["complete"] and run["error"]["message"].startswith("policy: ")


def test_a_cpupool_under_tavs_lives_and_dies(odd):
    run, directory = odd["pool"]
    assert run["complete"], run["error"]
    lists = [line.split() for line in (directory / "raw/policy.log").read_text().splitlines()]
    pools = [(line[0], line[2], line[4]) for line in lists if len(line) == 5 and line[0] in ("Pool-0", "t")]
    assert pools == [("Pool-0", "credit2", "2"), ("t", "tavs", "0"),
                     ("Pool-0", "credit2", "1"), ("t", "tavs", "1"),
                     ("Pool-0", "credit2", "2")]


def test_an_interrupted_run_leaves_no_machine_behind(tmp_path):
    out = tmp_path / "interrupted"
    lab = subprocess.Popen(
        [sys.executable, "-m", "lab", "run", "smoke", "--policy", "tavs", "--fresh", "--out", str(out)],
        env=os.environ | {"PYTHONPATH": str(paths.ROOT / "scripts")}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
        # A background job of a shell has it ignored, and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        machine = await_machine(lab.pid)
        os.killpg(lab.pid, signal.SIGINT)                    # what Ctrl-C does
        assert lab.wait(timeout=60) == 130
        deadline = time.monotonic() + 20
        while Path(f"/proc/{machine}").exists():
            assert time.monotonic() < deadline, "QEMU is still there"
            time.sleep(0.1)
    finally:
        lab.kill()
    (run,) = json.loads((out / "smoke/tavs/seed-1/results.json").read_text())["runs"]
    assert not run["complete"] and run["error"]["message"] == "interrupted"


def await_machine(ancestor: int) -> int:
    """The process id of the QEMU below `ancestor`, once there is one."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = stat.read_text().partition(") ")
            except OSError:
                continue
            parents[int(stat.parent.name)] = (int(rest.split()[1]), name.partition("(")[2])
        for pid, (_, name) in parents.items():
            above = pid
            while name.startswith("qemu-system") and above in parents:
                above = parents[above][0]
                if above == ancestor:
                    return pid
        time.sleep(0.2)
    raise AssertionError("no QEMU was started")
