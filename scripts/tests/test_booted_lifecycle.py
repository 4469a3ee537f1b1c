# SPDX-License-Identifier: GPL-2.0-only
"""What happens to guests in their lives, under tavs and while their servers are asked.

One machine with the debug hypervisor: a guest is paused, capped, loses and gets a vCPU, is migrated to the same host,
saved and restored, sees its cpupool lose a pCPU, moves to cpupools of other schedulers and back; another one reboots and
crashes.  After each, the server answers; and a server that was restored is learned again.
"""

import re
import shlex

import pytest

from booted_fixture import complaints, measure, rundir, told, transcript, written
from lab import paths, policy

pytestmark = [pytest.mark.booted, pytest.mark.slow]

OUT = paths.OUT / "check-lifecycle"

MACHINE = """
title = "Guests that are paused, moved, saved, migrated, rebooted"
limit_s = 300
settle_s = 1
duration_s = 1
learning_requests = 2
pcpus = 2
[dom0]
pin = "0"
memory_mb = 832
[[guest]]
name = "d1"
vcpus = 2
vif = true
[[guest.workload]]
run = "echo"
[[guest.workload]]
run = "hog"
duty_on_us = 8000
duty_off_us = 2000
[[guest]]
name = "r1"
vif = true
[[guest.workload]]
run = "echo"
[[client]]
name = "c1"
guest = "d1"
think_ms = [20, 40]
arrival = "closed"
requests = 0
[[client]]
name = "c2"
guest = "r1"
think_ms = [20, 40]
arrival = "closed"
requests = 0
"""
ADDRESS = {"d1": "10.0.0.11", "r1": "10.0.0.12"}
POOLS = ("credit", "credit2", "null", "tavs")

# r1 comes again when it reboots or crashes, and does crash when it is asked to.
CREATE = (
    "xl destroy r1",
    "sed -i -e s/preserve/restart/ -e 's/ quiet/ sysrq_always_enabled&/' /lab/guests/r1.cfg",
    ". /lab/guests/r1.env; cat /lab/guests/r1.cpio /lab/guest-$KERNEL.cpio > /run/r1.img",
    "xl create -q -p /lab/guests/r1.cfg",
    r'sed -i "s/^.*\tr1$/$(xl domid r1)\tr1/" /lab/out/domains.tsv',
    "xenstore-read /local/domain/$(xl domid r1)/console/tty > /run/r1.tty",
)
FUNCTIONS = f"""
client() {{ echo name=$1,addr=$2:7,think-us=10000-30000,arrival=closed,timeout-ms=500; }}
address() {{ case $1 in d1) echo {ADDRESS["d1"]} ;; r1) echo {ADDRESS["r1"]} ;; esac; }}
# Asks a server for a second: how many requests were answered, how many were not.
ask() {{
    wire --duration-ms 1000 --out /run/ask.tsv --client "$(client $1 $(address $1))" || return
    awk -F '\\t' '$1 == "sample" {{ n++; lost += $6 == 0 }}
                  END {{ print n - lost, "answered,", lost + 0, "lost"; exit (n - lost < 5) }}' /run/ask.tsv
}}
# Runs a command while d1's server is asked.
asking() {{
    wire --duration-ms 60000 --out /run/asking.tsv --client "$(client d1 $(address d1))" > /dev/null 2>&1 &
    asker=$!
    sleep 0.2
    "$@"
    ended=$?
    sleep 0.2
    kill $asker
    wait $asker
    grep -q ^sample /run/asking.tsv || return
    return $ended
}}
paused() {{ xl pause d1; sleep 0.3; xl unpause d1; }}
terminal() {{ xenstore-read /local/domain/$(xl domid $1)/console/tty > /run/$1.tty; }}
# Waits until r1 has come up for the time that is named, and starts its server.
again() {{
    tries=0
    until [ "$(grep -c ^@ready /var/log/xen/console/guest-r1.log)" -ge $1 ]; do
        tries=$((tries + 1))
        [ $tries -lt 150 ] || return
        sleep 0.2
    done
    terminal r1
    echo go > "$(cat /run/r1.tty)"
    until [ "$(grep -c ^@started /var/log/xen/console/guest-r1.log)" -ge $1 ]; do sleep 0.2; done
}}
"""
TASKS = "xl sched-tavs --tasks -d d1"


def pool(scheduler):
    """A cpupool of the scheduler comes, d1 moves there and back while it is asked, the cpupool goes."""
    return (f"""xl cpupool-create 'name="{scheduler}"' 'sched="{scheduler}"' 'cpus=["1"]'""",
            f"asking xl cpupool-migrate d1 {scheduler}", "ask d1",
            "asking xl cpupool-migrate d1 Pool-0", f"xl cpupool-destroy {scheduler}")


TYPED = (
    "xl mem-set 0 640",                                 # room for another guest
    "ask d1", TASKS,
    "asking paused", "ask d1",
    "asking xl sched-tavs -d d1 -c 30", "ask d1", "asking xl sched-tavs -d d1 -c 0", "ask d1",
    "asking xl vcpu-set d1 1", "ask d1", "asking xl vcpu-set d1 2", "ask d1",
    "asking xl migrate -s '' d1 'xl migrate-receive'", "ask d1", TASKS,
    "xl save d1 /run/d1.save", "xl restore /run/d1.save", "terminal d1", TASKS, "ask d1", TASKS,
    "xl sysrq r1 b", "again 2", "ask r1", "xl sysrq r1 c", "again 3", "ask r1",
    "asking xl cpupool-cpu-remove Pool-0 1", "ask d1",
    "xl vcpu-set d1 1",                                 # null has a pCPU for each vCPU
    *(command for scheduler in POOLS for command in pool(scheduler)),
    "asking xl cpupool-cpu-add Pool-0 1", "ask d1",
    "xl list", "xl cpupool-list",
)


def traced(commands):
    """With each command on the serial line as well: what was under way if Xen stops."""
    return tuple(line for command in commands
                 for line in (f"echo {shlex.quote(command)} > /dev/console", command))


LIFE = policy.Policy("life", "guests in their lives", "sched=tavs", expect="tavs", hypervisor="debug",
                     modules=("xen-tavs-net",), commands=CREATE, after=(FUNCTIONS, *traced(told(TYPED))))


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """Each command that was typed, what it said and its exit status; the run's directory."""
    machine = written("lives", MACHINE, tmp_path_factory.mktemp("lives"))
    (outcome,) = measure([(machine, LIFE)], OUT, tmp_path_factory)
    assert outcome.run["complete"], outcome.run["error"]
    directory = rundir(OUT, machine.name, LIFE.name)
    return transcript(directory / "raw/after.log"), directory


def test_whatever_is_typed_succeeds(lived):
    said, _ = lived
    assert [command for command, *_ in said] == [" ".join(shlex.split(command)) for command in TYPED]
    assert [(command, lines) for command, lines, status in said if status != 0] == []


def test_the_server_answers_after_each_of_them(lived):
    answers = [(command, lines) for command, lines, _ in lived[0] if command.startswith("ask ")]
    print(answers)
    assert len(answers) == sum(command.startswith("ask ") for command in TYPED)
    for _, lines in answers:
        answered, lost = map(int, re.fullmatch(r"(\d+) answered, (\d+) lost", lines[-1]).groups())
        assert answered >= 5 and lost <= 1              # ARP may come first


def known(lines):
    """Address spaces that are I/O-bound."""
    return [line.split()[0] for line in lines if "yes" in line.split()]


def test_a_server_that_was_restored_is_learned_again(lived):
    first, migrated, restored, again = (lines for command, lines, _ in lived[0] if command == TASKS)
    assert len(known(first)) == 1
    assert len(known(migrated)) == 1
    assert known(restored) == []                        # another domain: nobody asked it yet
    assert len(known(again)) == 1


def test_one_guest_crashed_as_it_was_told(lived):
    assert "sysrq: Trigger a crash" in (lived[1] / "raw/console/r1.log").read_text(errors="replace")


def test_nobody_complains(lived):
    assert complaints(lived[1] / "serial.log", lived[1] / "raw/console/d1.log") == []
