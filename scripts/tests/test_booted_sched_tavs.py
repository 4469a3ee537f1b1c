# SPDX-License-Identifier: GPL-2.0-only
"""`xl sched-tavs` on the real system: set, read back, effect seen; errors word for word.

Two machines: one for the command line (guests need not even be unpaused for that), and one that measures
mixed, boosted and not.  What parameters change is seen in test_booted_walk.py as well.
"""

import dataclasses
import json
import re
from statistics import mean, median, quantiles

import pytest
from prometheus_client.parser import text_string_to_metric_families

from booted_fixture import complaints, measure, rundir, told, transcript, written
from lab import paths, policy, raw, scenario

pytestmark = pytest.mark.booted

OUT = paths.OUT / "check-sched-tavs"

WINDOW_S = 12
RATELIMIT_MS = 1        # credit's default
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
duty_on_us = 1000
duty_off_us = 99000
"""

HEADER = "Name                                ID Weight  Cap PBratio Flags"
D1 = "d1                                   1 {:>6} {:>4} {:>7} {}"
DOM0 = "Domain-0                             0    256    0   1.000 tracked,driver"
POOL = "Cpupool Pool-0: tslice=30ms ratelimit=1000us migration-delay=0us"
HOST = ("Host: pbratio=0.125 boost-cap=1000us iothreshold=500us window=3 portmap-bits=2 "
        "correlate=on track=on")


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
    ("xl sched-tavs -d d1 -k on", one(flags="tracked,driver"), True),
    ("xl sched-tavs -d d1 -D off", one(), True),
    ("xl sched-tavs -d Domain-0", [HEADER, DOM0], True),
    ("xl sched-tavs -s", [POOL, HOST], True),
    ("xl sched-tavs -s -t 10 -r 500 -M 200",
     ["Cpupool Pool-0: tslice=10ms ratelimit=500us migration-delay=200us", HOST], True),
    ("xl sched-tavs -s --tslice_ms=30 --ratelimit_us=1000 --migration_delay_us=0", [POOL, HOST], True),
    ("xl sched-tavs -s -i 300 -m 400 -b 0.2 -W 4 -n 4 --correlate=off -k off",
     [POOL, "Host: pbratio=0.200 boost-cap=400us iothreshold=300us window=4 portmap-bits=4 "
      "correlate=off track=off"], True),
    ("xl sched-tavs -s --iothreshold_us=500 --boost_cap_us=1000 --pb_ratio=0.125 --window=3 "
     "--portmap_bits=2 --correlate=on --track=on", [POOL, HOST], True),
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


def serving():
    """What is asked for before and after a window, and PBratio set to 0 for another window."""
    show = "xl sched-tavs --{0} --json > /lab/out/{0}-{1}.json".format
    again = "sh /lab/measure; cp /lab/out/wire.tsv /lab/out/wire-{0}.tsv".format
    return policy.Policy(
        "effects", "PBratio changes while d1 serves", "sched=tavs", expect="tavs",
        modules=("xen-tavs-net",), before=(show("latency", 0),),
        after=("cp /lab/out/wire.tsv /lab/out/wire-1.tsv",
               show("latency", 1), show("stats", 1), show("tasks", 1),
               "xl sched-tavs -d d1 -b 0", again(2), show("latency", 2), show("stats", 2),
               "xl sched-tavs -d d1 -k off", "sleep 0.2", "xl sched-tavs -d d1 -k on", "sleep 0.2",
               show("tasks", 3), "cp /lab/out/wire-1.tsv /lab/out/wire.tsv"))


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
    mixed = dataclasses.replace(scenario.find("mixed"), duration_s=WINDOW_S)
    wanted = {"cli": (written("two-guests", TWO_GUESTS, directory), cli), "effects": (mixed, serving())}
    outcomes = measure(wanted.values(), OUT, tmp_path_factory)
    return {name: (outcome.run, rundir(OUT, *(part.name for part in wanted[name])))
            for name, outcome in zip(wanted, outcomes, strict=True)}


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
    assert [lines for command, lines, _ in said if command == "xl sched-tavs -s"][-1] == [POOL, HOST]


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
    assert complaints(booted["cli"][1] / "serial.log") == []


def of(booted, what, number, name="d1"):
    """What xl said of a domain, from one of the JSON files.  What is 0 or false, libxl leaves out."""
    (entry,) = [e for e in json.loads((booted["effects"][1] / f"raw/{what}-{number}.json").read_text())
                if e["name"] == name]
    return entry[what]


def samples(booted, number):
    wire = raw.read_wire(booted["effects"][1] / f"raw/wire-{number}.tsv")
    found = [sample for sample in wire.samples["c1"] if sample.reply_ns]
    assert len(found) > 20
    return found


def counted_ms(booted, kind, number):
    """What Xen counted in a window, each as the middle of its bucket."""
    earlier, later = (of(booted, "latency", n) for n in (number - 1, number))
    bounds = [0, *later["bounds_ns"]]
    return [(bounds[i] + bounds[i + 1]) / 2e6
            for i, (before, now) in enumerate(zip(earlier[kind]["buckets"], later[kind]["buckets"],
                                                  strict=True))
            for _ in range(now - before)]


def path_ms(booted, kinds):
    """What a request takes beside d1's wait for a pCPU: dom0, the bridge, the server."""
    waits = [wait for kind in kinds for wait in counted_ms(booted, kind, 1)]
    return median(sample.latency_ns for sample in samples(booted, 1)) / 1e6 - median(waits)


def figures(values):
    nine = quantiles(values, n=10, method="inclusive")
    return [mean(values), nine[4], nine[8]]


def agree_boosted(booted, path):
    """As many boosted events as requests that did not wait, and as long on average; to 10%."""
    seen = [ms for ms in (sample.latency_ns / 1e6 for sample in samples(booted, 1)) if ms < 1]
    waits = counted_ms(booted, "event_boosted", 1)
    counted = [path + wait for wait in waits]
    print(f"boosted, ms: the client saw {len(seen)}: {figures(seen)}; "
          f"Xen {len(counted)}: {figures(waits)}, with the path {figures(counted)}")
    assert len(counted) == pytest.approx(len(seen), rel=0.1)
    assert figures(counted)[:2] == pytest.approx(figures(seen)[:2], rel=0.1)


def agree_unboosted(booted, path):
    """PBratio 0: each wait of the client's Xen counted, too; mean, median, 90th percentile agree to 10%.

    A request that comes while another one waits adds no wait of its own.  Of what the client saw, dom0 may
    have waited for the ratelimit of who ran, before it passed the reply on.  Xen counts other events of d1's
    interface as well: of what it has sent, and of what is not for the server (ARP).  Where one of those came
    first, Xen counts from then, once for both.
    """
    seen, until = [], 0
    for sample in samples(booted, 2):
        wait = sample.latency_ns / 1e6 - path
        if sample.sent_ns > until and wait > RATELIMIT_MS:
            seen.append(wait)
        until = max(until, sample.reply_ns)
    counted = sorted(counted_ms(booted, "event", 2))
    same, behind = [], []
    for wait in sorted(seen):
        fits = [ms for ms in counted if ms * 0.9 <= wait <= ms * 1.1 + RATELIMIT_MS]
        if fits:
            same.append((wait, fits[0]))               # the longer ones are left to longer waits
            counted.remove(same[-1][1])
        else:
            behind.append(wait)
    for wait in reversed(behind):
        longer = [ms for ms in counted if ms > wait]
        assert longer, f"Xen counted no event that waited for {wait:.3f} ms, or longer"
        counted.remove(longer[0])
    more = [ms for ms in counted if ms > RATELIMIT_MS]
    waits, matched = zip(*same, strict=True)
    print(f"unboosted, ms: the client saw {len(seen)} waits: {figures(waits)}; "
          f"Xen the same: {figures(matched)}; {len(behind)} longer; and {len(more)} more: {more}")
    assert len(seen) >= 20 and len(more) < len(seen) and len(behind) <= len(seen) / 10
    assert figures(matched) == pytest.approx(figures(waits), rel=0.1)


def test_latency_is_what_the_client_saw_where_requests_boost(booted):
    agree_boosted(booted, path_ms(booted, ["event_boosted"]))


def test_latency_is_what_the_client_saw_where_requests_wait(booted):
    agree_unboosted(booted, path_ms(booted, ["event_boosted"]))


@pytest.mark.slow
def test_latency_is_what_the_client_saw_on_all_of_mixed(tmp_path, tmp_path_factory):
    """The path is that of the same requests to a guest without a hog."""
    wanted = [(scenario.find(name), serving()) for name in ("io", "mixed")]
    outcomes = measure(wanted, tmp_path, tmp_path_factory)
    assert all(outcome.run["complete"] for outcome in outcomes)
    alone, mixed = ({"effects": (outcome.run, rundir(tmp_path, name.name, serves.name))}
                    for outcome, (name, serves) in zip(outcomes, wanted, strict=True))
    path = path_ms(alone, ["event", "event_boosted"])
    print(f"the path takes {path} ms")
    agree_boosted(mixed, path)
    agree_unboosted(mixed, path)


def test_changes_take_effect_on_a_running_guest(booted):
    run, _ = booted["effects"]
    assert run["complete"], run["error"]
    boosted, unboosted = ([s.latency_ns / 1e6 for s in samples(booted, number)] for number in (1, 2))
    assert median(boosted) < 1                                # few requests teach the task
    assert median(unboosted) > 10 * median(boosted)            # PBratio 0: it waits for its turn
    before, after = of(booted, "stats", 1)["vcpus"][0], of(booted, "stats", 2)["vcpus"][0]
    granted, still = ([stats.get(reason, {}).get("boosts", 0) for reason in ("any", "block", "net", "timer")]
                      for stats in (before, after))
    assert sum(granted) > 12
    assert still == granted
    assert after["refused_off"] > before.get("refused_off", 0)


def test_tracking_begins_anew(booted):
    known, anew = (of(booted, "tasks", number).get("tasks", []) for number in (1, 3))
    assert any(task.get("io_bound") for task in known)
    assert all(not task.get("io_bound") and task.get("positives", 0) < 50 for task in anew)


def test_histograms_are_whole(booted):
    latency = of(booted, "latency", 2)
    for kind in ("wake", "wake_boosted", "event", "event_boosted"):
        histogram = latency[kind]
        assert sum(histogram["buckets"]) == histogram.get("count", 0)
        assert len(histogram["buckets"]) == len(latency["bounds_ns"])
    assert latency["bounds_ns"] == sorted(latency["bounds_ns"])
    driver = of(booted, "latency", 2, "Domain-0")
    assert driver["wake_boosted"]["count"] > 100
