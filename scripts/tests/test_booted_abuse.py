# SPDX-License-Identifier: GPL-2.0-only
"""Grants and event channels used as no driver would use them, while other guests do their work.

In dom0 and in guests whose names begin with "bad" runs guest-tests/modules/xen-tavs-abuse: dom0 maps what
they grant in all ways and orders, copies to and from odd places, names what does not exist; they change and
end grants that are mapped, and mark event channels by notifying at a high rate.  bad1 is tracked, bad2 is
not, bad3 dies while its pages are mapped, d1 takes no part.
"""

import re

import pytest

from booted_fixture import complaints, measure, rundir, written
from lab import paths, policy, xendump

# Some minutes of CPU: a debug hypervisor takes one to boot.
pytestmark = [pytest.mark.booted, pytest.mark.slow]

OUT = paths.OUT / "check-abuse"
MODULE = "xen-tavs-abuse"
D1, BAD1, BAD2 = 1, 2, 3
CAP_US = 1000           # of a boost
BURST_US = 10_000       # what can be saved before the window
SLOP_US = 100           # timers are late

MACHINE = """
title = "Grants are abused beside a guest that does I/O"
limit_s = 300
settle_s = 1
duration_s = 2
learning_requests = 5
pcpus = 1
[dom0]
pin = "0"
[[guest]]
name = "d1"
vif = true
[[guest.disk]]
name = "xvda"
size_mb = 8
backend = "null"
latency_us = 2000
[[guest.workload]]
run = "echo"
[[guest.workload]]
run = "blkread"
[[guest.workload]]
run = "hog"
[[guest]]
name = "bad1"
[[guest.disk]]
name = "xvda"
size_mb = 8
backend = "null"
latency_us = 2000
[[guest.workload]]
run = "blkread"
[[guest.workload]]
run = "hog"
[[guest]]
name = "bad2"
type = "pvh"
[[guest.workload]]
run = "hog"
[[client]]
name = "c1"
guest = "d1"
think_ms = [40, 100]
arrival = "open"
requests = 20
"""

# As bad2, but PV.  It offers its pages before the others are unpaused.
CREATE = (
    "(grep -v -e ^name -e ^type /lab/guests/bad2.cfg; echo 'name=\"bad3\"'; echo 'type=\"pv\"') > /run/bad3.cfg",
    ". /lab/guests/bad2.env; cat /lab/guests/bad2.cpio /lab/guest-$KERNEL.cpio > /run/bad2.img",
    "xl create -q /run/bad3.cfg; rm /run/bad2.img",
    "until xenstore-read /local/domain/$(xl domid bad3)/data/bait; do sleep 0.2; done",
)
ABUSE = policy.Policy(
    # Xen says of each request what is wrong with it, if asked to.
    "abuse", "dom0 and guests abuse grants", "sched=tavs guest_loglvl=none", expect="tavs", hypervisor="debug",
    modules=("xen-tavs-net", MODULE), guest_modules=(MODULE,), commands=CREATE,
    before=("echo 1 > /sys/module/xen_tavs_abuse/parameters/active; sleep 1", "xl destroy bad3", "xl list"),
    after=("xl list", f"rmmod {MODULE.replace('-', '_')}", "sleep 2", "xl list"))


@pytest.fixture(scope="module")
def abused(tmp_path_factory):
    machine = written("abuse", MACHINE, tmp_path_factory.mktemp("abuse"))
    (outcome,) = measure([(machine, ABUSE)], OUT, tmp_path_factory)
    assert outcome.run["complete"], outcome.run["error"]
    return outcome.run, rundir(OUT, machine.name, ABUSE.name)


def test_the_hypervisor_stays_silent(abused):
    _, directory = abused
    logs = [directory / "serial.log", *(directory / "raw/console").glob("*.log")]
    assert complaints(*logs) == []


def test_all_kinds_of_abuse_were_tried(abused):
    _, directory = abused
    log = (directory / "serial.log").read_text(errors="replace")
    for domid in (2, 3, 4):
        assert f"xen_tavs_abuse: domain {domid}: 16 grants, 8 channels" in log
    counts = re.search(r"mapped=(\d+) \((\d+) refused, one grant (\d+) times.* unmapped=(\d+) \(and (\d+) wrong\) "
                       r"copied=(\d+) \((\d+) refused\) sent=(\d+) left=(\d+)$", log, re.M)
    mapped, refused, same, unmapped, wrong, copied, not_copied, sent, left = map(int, counts.groups())
    assert mapped > 1000 and refused > 1000 and same > 5 and wrong > 1000
    assert unmapped >= mapped and left == 0         # who is mapped in two ways can be unmapped in two steps
    assert copied > 300 and not_copied > 1000 and sent > 1000


def test_who_dies_while_mapped_goes_when_unmapped(abused):
    _, directory = abused
    before, after = ((directory / f"raw/{name}.log").read_text() for name in ("before", "after"))
    assert re.search(r"^\(null\) +4 .*d ", before, re.M)
    meanwhile, last = after.split("Name")[1:]
    assert re.search(r"^\(null\) +4 ", meanwhile, re.M) and "null" not in last
    assert "bad1" in last and "bad2" in last


def test_nobody_is_boosted_beyond_the_budget(abused):
    _, directory = abused
    first, *_, last = xendump.read(directory / "serial.log")
    for domid in D1, BAD1:
        whole, window = last.domains[domid], last.domains[domid] - first.domains[domid]
        print(domid, whole, window)
        ratio = whole.pbratio / 1000
        assert whole.boosted_us <= whole.run_us * ratio + CAP_US + SLOP_US
        assert window.boosted_us <= window.run_us * ratio + BURST_US + SLOP_US
        assert window.boosts > 50 and window.boosted_us > window.run_us * ratio / 2
    # It binds: there was more to be had.
    assert last.domains[BAD1].refused_budget > 100
    assert last.domains[BAD2].boosts == 0           # nothing is known of its tasks


def test_the_others_do_their_work(abused):
    run, _ = abused
    (client,) = run["clients"]
    assert client["whole"]["n"] == 20 and client["whole"]["lost"] == 0
    assert all(disk["latency"]["n"] > 100 for disk in run["disks"]) and len(run["disks"]) == 2
    shares = {d["name"]: d["error_ppm"] for d in run["domains"]}
    print(shares)
    # A slice of 30 ms at each end of a share of half a second.
    assert all(abs(error) < 130_000 for error in shares.values())
