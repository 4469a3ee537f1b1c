# SPDX-License-Identifier: GPL-2.0-only
"""`xl sched-tavs` on the real system: set, read back, effect seen; errors word for word.

Two machines: one for the command line (guests need not even be unpaused for that), and one on which
parameters are changed while a guest serves requests.
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
RATELIMIT_MS = 1        # credit's default
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
pin = "0"
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


def transcript(log: Path) -> list[tuple[str, list[str], int]]:
    """Each command, what it said, and its exit status; of libxl's messages not where it says them."""
    found = []
    for line in log.read_text().splitlines():
        if line.startswith("$ "):
            found.append((line[2:], [], None))
        elif found and (status := re.fullmatch(r"\[(\d+)\]", line)):
            found[-1] = (*found[-1][:2], int(status[1]))
        elif found and found[-1][2] is None:
            found[-1][1].append(re.sub(r"^libxl: (\w+): \w+\.c:\d+:\w+: ", r"libxl: \1: ", line))
    return found


HEADER = "Name                                ID Weight  Cap PBratio Flags"
D1 = "d1                                   1 {:>6} {:>4} {:>7} {}"
POOL = "Cpupool Pool-0: tslice=30ms ratelimit=1000us migration-delay=0us"
HOST = ("Host: pbratio=0.125 boost-cap=500us burst=10000us iothreshold=500us window=3 portmap-bits=2 "
        "correlate=on track=on")
BELIEF = "Belief: positive=5 negative=20 threshold=20 min=-100 max=300 age=120s forgive=1000ms"


def one(weight=256, cap=0, ratio="0.125", flags="tracked"):
    return [HEADER, D1.format(weight, cap, ratio, flags)]


def error(text):
    return [f"xl sched-tavs: {text}"]


def libxl(text):
    return [f"libxl: error: {text}"]


# What is typed, what it says, and whether it succeeds.
SETTING = (
    ("xl sched-tavs -d d1", one(), True),
    ("xl sched-tavs -d d1 -w 512 -c 50 -b 0.02", one(512, 50, "0.020"), True),
    ("xl sched-tavs -d d1 -b 0", one(512, 50, "0.000"), True),          # the rest is kept
    ("xl sched-tavs --domain=d1 --weight=256 --cap=0 --pb_ratio=0.125", one(), True),
    ("xl sched-tavs -d d1 -k off", one(flags="-"), True),
    ("xl sched-tavs -d d1 --driver=on", one(flags="driver"), True),
    ("xl sched-tavs -d d1 -D off -k on", one(), True),
    ("xl sched-tavs -s", [POOL, HOST, BELIEF], True),
    ("xl sched-tavs -s -t 10 -r 500 -M 200",
     ["Cpupool Pool-0: tslice=10ms ratelimit=500us migration-delay=200us", HOST, BELIEF], True),
    ("xl sched-tavs -s --tslice_ms=30 --ratelimit_us=1000 --migration_delay_us=0",
     [POOL, HOST, BELIEF], True),
    ("xl sched-tavs -s -i 300 -m 400 -P 8000 -b 0.2 -W 4 -n 4 --correlate=off -k off",
     [POOL, "Host: pbratio=0.200 boost-cap=400us burst=8000us iothreshold=300us window=4 portmap-bits=4 "
      "correlate=off track=off", BELIEF], True),
    ("xl sched-tavs -s --iothreshold_us=500 --burst_us=10000 --boost_cap_us=500 --pb_ratio=0.125 --window=3 "
     "--portmap_bits=2 --correlate=on --track=on", [POOL, HOST, BELIEF], True),
    ("xl sched-tavs -s --positive=7 --negative=15 --threshold=30 --min=-50 --max=200 --age_s=60 "
     "--forgive_ms=500",
     [POOL, HOST, "Belief: positive=7 negative=15 threshold=30 min=-50 max=200 age=60s forgive=500ms"], True),
    ("xl sched-tavs -s --positive=5 --negative=20 --threshold=20 --min=-100 --max=300 --age_s=120 "
     "--forgive_ms=1000", [POOL, HOST, BELIEF], True),
)

REFUSED = (
    ("xl sched-tavs -d d1 -b 1.5",
     error("--pb_ratio: '1.5' is not a decimal from 0 to 1 with up to three places")),
    ("xl sched-tavs -d d1 -b 0.0001",
     error("--pb_ratio: '0.0001' is not a decimal from 0 to 1 with up to three places")),
    ("xl sched-tavs -d d1 -w ten", error("--weight: 'ten' is not a whole number")),
    ("xl sched-tavs -d d1 -w -1", error("--weight: -1 is out of range")),
    ("xl sched-tavs -d d1 -w 0",
     libxl("Domain 1:Cpu weight out of range, valid values are within range from 1 to 65535")),
    ("xl sched-tavs -d d1 -c 101",
     libxl("Domain 1:Cpu cap out of range, valid range is from 0 to 100 for specified number of vcpus")),
    ("xl sched-tavs -d v1 -k on", libxl("Domain 2:Only tasks of PV domains can be tracked")),
    ("xl sched-tavs -d d1 -D on",
     libxl("Domain 1:A driver domain is not tracked: it can be one or the other")),
    ("xl sched-tavs -d nosuch", ["nosuch is an invalid domain identifier (rc=-6)"]),
    ("xl sched-tavs -d nosuch -b 0", ["nosuch is an invalid domain identifier (rc=-6)"]),
    ("xl sched-tavs --stats -d nosuch", ["nosuch is an invalid domain identifier (rc=-6)"]),
    ("xl sched-tavs -b 0.5", error("--pb_ratio and --track need --domain or --schedparam")),
    ("xl sched-tavs -w 5", error("parameters of a domain need --domain")),
    ("xl sched-tavs -t 5", error("parameters of a cpupool or the host need --schedparam")),
    ("xl sched-tavs -s -i 9", libxl("I/O threshold out of range, valid range is from 10 to 100000")),
    ("xl sched-tavs -s -m 10001", libxl("Boost cap out of range, valid range is from 50 to 10000")),
    ("xl sched-tavs -s -t 0", libxl("Time slice out of range, valid range is from 1 to 1000")),
    ("xl sched-tavs -s -r 50", libxl("Ratelimit out of range, valid range is from 100 to 500000")),
    ("xl sched-tavs -s -W 9", libxl("Inspection window out of range, valid range is from 1 to 8")),
    ("xl sched-tavs -s -n 3", libxl("Portmap bits can be 1, 2 or 4")),
    ("xl sched-tavs -s -P 400", libxl("Boost cap cannot be greater than burst")),
    ("xl sched-tavs -s --threshold=300", libxl("Belief threshold must be below highest belief")),
    ("xl sched-tavs -s -i 300 -t 5000", libxl("Time slice out of range, valid range is from 1 to 1000")),
    ("xl sched-tavs -s --correlate=maybe", error("--correlate: 'maybe' is neither on nor off")),
    ("xl sched-tavs -s -p nosuch", error("unknown cpupool 'nosuch'")),
    ("xl sched-tavs -s -d d1", error("a cpupool or --schedparam does not go with --domain")),
    ("xl sched-tavs --stats -s -t 5", error("what to show goes with --domain or --cpupool only")),
    ("xl sched-tavs --json", error("--json goes with --stats, --tasks, --portmap or --latency")),
    ("xl sched-tavs --count 3", error("--count goes with --top")),
    ("xl sched-tavs d1", error("'d1' is superfluous")),
)

ELSEWHERE = (
    ("xl sched-tavs -p other", error("cpupool 'other' is scheduled by credit, not by tavs")),
    ("xl sched-tavs -s -p other -t 5", error("cpupool 'other' is scheduled by credit, not by tavs")),
    ("xl sched-tavs -d d1", error("domain 'd1' is scheduled by credit, not by tavs")),
    ("xl sched-tavs -d d1 -b 0", error("domain 'd1' is scheduled by credit, not by tavs")),
    ("xl sched-tavs --latency -d d1", error("domain 'd1' is scheduled by credit, not by tavs")),
)

TO_CREDIT = ("xl cpupool-cpu-remove Pool-0 1",
             """xl cpupool-create 'name="other"' 'sched="credit"' 'cpus=["1"]'""",
             "xl cpupool-migrate d1 other")
BACK = ("xl cpupool-migrate d1 Pool-0", "xl cpupool-destroy other", "xl cpupool-cpu-add Pool-0 1")
SHOWING = ("xl sched-tavs --top 1 --count 2", "xl sched-tavs --prometheus", "xl help sched-tavs")


@pytest.fixture(scope="session")
def booted(tmp_path_factory):
    """Both machines, side by side: name -> (run, directory)."""
    directory = tmp_path_factory.mktemp("sched-tavs")
    typed = [command for command, *_ in (*SETTING, *REFUSED)]
    elsewhere = [command for command, _ in ELSEWHERE]
    cli = policy.Policy(
        "cli", "every option", "sched=tavs", expect="tavs", hypervisor="debug",
        commands=(*told(typed), *TO_CREDIT, *told(elsewhere)[1:], *BACK, *told(SHOWING)[1:],
                  "t fuzz --calls 100000"))
    show = "xl sched-tavs --{0} --json > /lab/out/{0}-{1}.json".format
    again = "sh /lab/measure; cp /lab/out/wire.tsv /lab/out/wire-{0}.tsv".format
    effects = policy.Policy(
        "effects", "parameters change while d1 serves", "sched=tavs", expect="tavs", hypervisor="debug",
        before=(show("latency", 0), show("stats", 0)),
        after=("cp /lab/out/wire.tsv /lab/out/wire-1.tsv",
               show("latency", 1), show("stats", 1), show("tasks", 1),
               "xl sched-tavs -d d1 -b 0", again(2), show("latency", 2), show("stats", 2),
               "xl sched-tavs -d d1 -b 0.125", "xl sched-tavs -s -i 20", again(3), show("tasks", 3),
               "xl sched-tavs -s -i 500",
               "xl sched-tavs -d d1 -k off", "sleep 0.2", "xl sched-tavs -d d1 -k on", "sleep 0.2",
               show("tasks", 4), "cp /lab/out/wire-1.tsv /lab/out/wire.tsv"))
    wanted = {"cli": machine("two-guests", TWO_GUESTS, cli, directory),
              "effects": machine("serving", SERVING, effects, directory)}
    return dict(zip(wanted, measure(wanted.values(), tmp_path_factory), strict=True))


@pytest.fixture(scope="session")
def said(booted):
    run, directory = booted["cli"]
    assert run["complete"], run["error"]
    return transcript(directory / "raw/policy.log")


def test_what_is_set_is_read_back(said):
    assert said[:len(SETTING)] == [(command, lines, 0 if good else 1) for command, lines, good in SETTING]


def test_what_is_refused_is_refused_in_one_line(said):
    wanted = [(command, lines, 1) for command, lines in REFUSED]
    assert said[len(SETTING):][:len(REFUSED)] == wanted


def test_nothing_that_was_refused_changed_anything(said):
    """The first and the last state are the same; test_what_is_set_is_read_back has the first."""
    assert [lines for command, lines, _ in said if command == "xl sched-tavs -s"][-1] == [POOL, HOST, BELIEF]


def test_on_another_scheduler_it_says_so(said):
    found = [entry for entry in said if entry[0] in dict(ELSEWHERE) and entry[2] != 0]
    assert found == [(command, lines, 1) for command, lines in ELSEWHERE]


def test_every_option_is_in_the_help(said):
    (lines,) = [lines for command, lines, _ in said if command == "xl help sched-tavs"]
    text = "\n".join(lines)
    for command, *_ in SETTING:
        for option in re.findall(r"--[a-z_]+", command):
            assert option in text


def test_metrics_can_be_parsed(said):
    (lines,) = [lines for command, lines, _ in said if command == "xl sched-tavs --prometheus"]
    families = {family.name: family for family in text_string_to_metric_families("\n".join(lines) + "\n")}
    assert all(name.startswith("xen_tavs_") for name in families)
    assert families["xen_tavs_boosts"].type == "counter"
    assert families["xen_tavs_latency_seconds"].type == "histogram"
    domains = {sample.labels["domain"] for sample in families["xen_tavs_domain_info"].samples}
    assert domains == {"Domain-0", "d1", "v1"}
    for family in families.values():
        assert family.documentation
        if family.type == "histogram":
            finite = [s for s in family.samples if s.name.endswith("_bucket")]
            assert {s.labels["le"] for s in finite} >= {"+Inf"}


def test_random_calls_leave_the_hypervisor_silent(said, booted):
    ((_, lines, status),) = [entry for entry in said if entry[0].startswith("fuzz")]
    assert status == 0, lines
    assert re.fullmatch(r"fuzz: 100000 calls on 3 domains: \d+ accepted, \d+ refused; \d+ changed something",
                        lines[0])
    log = (booted["cli"][1] / "serial.log").read_text(errors="replace")
    assert [line for line in log.splitlines() if COMPLAINT.search(line)] == []


def of(booted, what, number, name="d1"):
    """What xl said of a domain, from one of the JSON files.  What is 0 or false, libxl leaves out."""
    (entry,) = [e for e in json.loads((booted["effects"][1] / f"raw/{what}-{number}.json").read_text())
                if e["name"] == name]
    return entry[what.replace("portmap", "ports")]


def latencies_ms(booted, number):
    samples = [line.split("\t") for line in
               (booted["effects"][1] / f"raw/wire-{number}.tsv").read_text().splitlines()
               if line.startswith("sample\t")]
    assert len(samples) > 20
    return sorted((int(reply) - int(sent)) / 1e6 for *_, sent, reply in samples)


def test_changes_take_effect_on_a_running_guest(booted):
    run, _ = booted["effects"]
    assert run["complete"], run["error"]
    boosted, unboosted = latencies_ms(booted, 1), latencies_ms(booted, 2)
    assert boosted[len(boosted) // 2] < 1                      # five requests teach the task
    assert mean(unboosted) > 5                                 # PBratio 0: it waits as under credit
    before, after = of(booted, "stats", 1)["vcpus"][0], of(booted, "stats", 2)["vcpus"][0]
    granted, still = ([stats.get(reason, {}).get("boosts", 0) for reason in ("any", "block", "net")]
                      for stats in (before, after))
    assert sum(granted) > 10
    assert still == granted
    assert after["refused_off"] > before.get("refused_off", 0)


def test_a_changed_threshold_flips_a_known_task(booted):
    """The server's task: of those believed to be I/O-bound, the one that showed it last."""
    known = [task for task in of(booted, "tasks", 1)["vcpus"][0]["tasks"] if task.get("io_bound")]
    server = min(known, key=lambda task: task["last_io_ns"])["id"]
    later = {task["id"]: task for task in of(booted, "tasks", 3)["vcpus"][0]["tasks"]}
    assert not later[server].get("io_bound")


def test_tracking_begins_anew(booted):
    tasks = of(booted, "tasks", 4)["vcpus"][0].get("tasks", [])
    assert all(not task.get("io_bound") and task.get("segments", 0) < 50 for task in tasks)


def test_waiting_times_are_those_that_the_client_saw(booted):
    """Unboosted, a request waits for d1's turn: each wait that the client saw Xen counted, too, to 10%.

    Xen counts other events of d1 as well, so there may be more.  Of the client's, dom0 may have waited
    for the ratelimit of who runs, before it passed the request or the reply on.
    """
    seen = latencies_ms(booted, 2)
    floor = latencies_ms(booted, 1)[0]                         # of a request that waits for nobody
    waits = [latency - floor for latency in seen if latency - floor > 1]
    assert len(waits) > 5
    latency = of(booted, "latency", 2)
    counted = [now - before for before, now in zip(of(booted, "latency", 1)["event"]["buckets"],
                                                   latency["event"]["buckets"], strict=True)]
    bounds = [0, *(bound / 1e6 for bound in latency["bounds_ns"])]
    for wait in waits:
        fits = [i for i, number in enumerate(counted)
                if number and bounds[i] * 0.9 <= wait <= bounds[i + 1] * 1.1 + RATELIMIT_MS]
        assert fits, f"Xen counted no event that waited for {wait:.3f} ms"
        counted[fits[0]] -= 1
    assert mean(seen) > 5


def test_histograms_are_whole(booted):
    latency = of(booted, "latency", 2)
    for kind in ("wake", "wake_boosted", "event", "event_boosted"):
        histogram = latency[kind]
        assert sum(histogram["buckets"]) == histogram.get("count", 0)
        assert len(histogram["buckets"]) == len(latency["bounds_ns"])
    assert latency["bounds_ns"] == sorted(latency["bounds_ns"])
    untracked = of(booted, "latency", 2, "Domain-0")
    assert untracked["wake"]["count"] > 100
