#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Front end of sched-sim: the laboratory's scenarios, tables, traces to look at.

    sim.py run SCENARIO [--policy P ...]    scenarios and policies side by side
    sim.py convert SCENARIO.toml            the same scenario in the simulator's own words
    sim.py perfetto RECORD OUT.json         a record (sched-sim run --record) for ui.perfetto.dev
    sim.py picture RECORD OUT.png           who ran when; --from and --for in milliseconds
    sim.py explain RECORD                   what happened how often, by domain
    sim.py booted RESULTS.json ...          what was booted beside the same simulated
    sim.py bench                            decisions a second

A scenario is a file, or the name of one in scenarios/ here or in the laboratory's
guest-tests/scenarios. A policy is a name in guest-tests/policies.toml, or NAME=boot options.
Only `picture` needs anything but Python: matplotlib.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
LAB = REPOSITORY / "guest-tests"
POLICIES = ["credit", "credit-1ms", "credit2", "credit2-rl0", "tavs"]

# What a message costs: an interrupt in the guest up to the task being woken and the task itself were
# seen to take 70 to 150 us and 80 us in booted guests; with these an I/O-only guest answers in the
# 0.23 ms that were booted.
IRQ_US, DOM0_IRQ_US, ECHO_US, SEND_US = 70, 60, 80, 30


class Bad(Exception):
    """Something the user can put right."""


# ---- programs and names --------------------------------------------------------------------------


def program():
    for candidate in (os.environ.get("SCHED_SIM"), REPOSITORY / "build/sim/sched-sim", HERE / "obj/sched-sim"):
        if candidate and Path(candidate).exists():
            return str(candidate)
    raise Bad("sched-sim is not built: make sim")


def call(*args):
    ran = subprocess.run([program(), *args], capture_output=True, text=True)
    if ran.returncode:
        raise Bad(ran.stderr.strip() or f"sched-sim ended with status {ran.returncode}")
    return ran


def find_scenario(name):
    for path in (Path(name), HERE / f"scenarios/{name}.sim", LAB / f"scenarios/{name}.toml", LAB / f"scenarios/{name}"):
        if path.is_file():
            return path
    raise Bad(f"there is no scenario {name}")


def find_policy(name):
    """-> (name, boot options)"""
    if "=" in name and not name.startswith("sched="):
        label, boot = name.split("=", 1)
        return label, boot.split(";")[0].strip()
    if name.startswith("sched="):
        return name, name
    known = tomllib.loads((LAB / "policies.toml").read_text()) if (LAB / "policies.toml").exists() else {}
    if name in known:
        return name, known[name]["xen"]
    return name, f"sched={name}"


# ---- the laboratory's TOML -----------------------------------------------------------------------


def convert(scenario, origin):
    """The lines of a .sim file for a scenario of the laboratory."""
    lines = [f"# {scenario['title']}: made from {origin}"]
    begin = 1000 * scenario.get("settle_s", 3)      # clients start with the window
    lines.append(f"machine pcpus={scenario.get('pcpus', 1)}")
    lines.append(f"warmup {scenario.get('settle_s', 3)}s")
    lines.append(f"duration {scenario.get('duration_s', 35)}s")
    domains, links, tasks, servers = [], [], [], {}
    rings = {}

    def ring(name, vcpu, device):
        """What goes to one device of a guest goes through one ring."""
        first = rings.setdefault((vcpu, device), name)
        links.append(f"ring {name} {vcpu} dom0" + (f" {first}" if first != name else ""))

    def domain(name, table):
        options = [f"{key}={table[key]}" for key in ("vcpus", "weight", "cap", "pin") if table.get(key)]
        irq = DOM0_IRQ_US if name == "dom0" else IRQ_US
        wake = "eevdf" if table.get("kernel", "").startswith("6.12") else "cfs"
        domains.append(" ".join(["domain", name, "tick=4ms", f"irq={irq}us", f"wake={wake}", *options]))

    def hog(work):
        """What a hog does, all the time or with its duty cycle."""
        busy, off = work.get("duty_on_us", 0), work.get("duty_off_us", 0)
        return f"run {busy}us; sleep {off}us" if off else "run 100ms"

    def late(work):
        return f" start={work['start_s']}s" if work.get("start_s") else ""

    domain("dom0", scenario.get("dom0", {}))
    for i, work in enumerate(scenario.get("dom0", {}).get("workload", [])):
        tasks.append(f"task dom0 {work.get('name', work['run'])} asid={100 + i}{late(work)} : {hog(work)}")
    for guest in scenario["guest"]:
        persistent = any(disk.get("persistent") for disk in guest.get("disk", []))
        for n in range(1, guest.get("count", 1) + 1):
            name = guest["name"].replace("{n}", str(n))
            domain(name, guest)
            for i, work in enumerate(guest.get("workload", []), 1):
                label = work.get("name", work["run"])
                start = late(work)
                on = f"task {name}.{(i - 1) % guest.get('vcpus', 1)} {label}"
                task = f"{on} asid={i}{start} :"
                match work["run"]:
                    case "hog":
                        tasks.append(f"{task} {hog(work)}")
                    case "beacon":
                        link = f"{name}-{label}"
                        ring(link, f"{name}.0", "vif")
                        tasks.append(f"{task} every {work.get('every_us', 1000)}us; run {SEND_US}us; send {link}")
                        tasks.append(f"task dom0 {link} asid=1 : wait {link}; copyfrom {link}; notify {link}; "
                                     f"run {SEND_US}us")
                    case "echo":
                        servers[name, label] = (f"{task} wait %s; run {ECHO_US + work.get('work_us', 0)}us; send %s",
                                                f"{work.get('proto', 'udp')} {work.get('port', 7)}")
                    case "blkread":
                        # A kernel thread of nice -20 sends the request, in the address space of the reader.
                        link, own = f"{name}-{label}", f"{name}.{(i - 1) % guest.get('vcpus', 1)}"
                        ring(link, own, work.get("dev", "disk"))
                        links.append(f"link {link}-q {own} {own}")
                        tasks.append(f"{task} clock {link}; send {link}-q; reply {link}; "
                                     f"run {20 + work.get('work_us', 0)}us")
                        tasks.append(f"task {own} kblockd weight=88761 : wait {link}-q; send {link}")
                        wait = max((disk.get("latency_us", 0) for disk in guest.get("disk", [])), default=0)
                        read = "run 60us" + (f"; sleep {wait}us" if wait else "")
                        if not persistent:
                            read = f"map {link}; {read}; unmap {link}"
                        tasks.append(f"task dom0 {link} : wait {link}; {read}; send {link}")
                    case "evader":
                        tasks.append(f"{task} runto 10ms 9.6ms; sleepto 10ms 0.6ms")
                    case "storm":
                        tasks.append(f"{task} exec {1000 * i} 500; run 1us..{work.get('work_us', 20000)}us")
                    case "pingpong":
                        tasks += [f"{on}{k} asid={10 * i + k}{start} : run 10us; switch" for k in range(2)]
                    case "crowd":
                        tasks += [f"{on}{k} asid={100 * i + k}{start} : run 10us; switch"
                                  for k in range(40 * work.get("groups", 10))]
                    case other:
                        raise Bad(f"{origin}: the simulator has no workload {other}")

    for client in scenario.get("client", []):
        name, key = client["name"], (client["guest"], client.get("workload", "echo"))
        if key not in servers:
            raise Bad(f"{origin}: client {name} has no echo server {key[1]} in {key[0]}")
        server, port = servers[key]
        ring(name, f"{key[0]}.0", "vif")
        tasks.append(server.replace("%s", name))
        low, high = client.get("think_ms", [100, 500])
        think = f"{low}ms..{high}ms"
        start = f" start={begin + client.get('start_ms', 0)}ms"
        # What netback does for a packet to the guest, and for one from it.
        ask = f"run {SEND_US}us; copyto {name}; packet {name} {port}; request {name}"
        hear = f"reply {name}; copyfrom {name}; notify {name}; run {SEND_US}us"
        if client.get("arrival", "open") == "open":
            tasks.append(f"task dom0 {name}-ask asid=1{start} : every {think}; {ask}")
            tasks.append(f"task dom0 {name}-hear asid=1 : {hear}")
        else:
            tasks.append(f"task dom0 {name} asid=1{start} : sleep {think}; {ask}; {hear}")
    return "\n".join(lines + domains + links + tasks) + "\n"


# ---- running -------------------------------------------------------------------------------------


def quantile(values, q):
    return values[int((len(values) - 1) * q)] if values else None


def read_toml(path):
    return tomllib.loads(path.read_text())


def simulate(scenario, boot, seed=1, duration=None, check=1):
    """A file, or what a file of the laboratory's says: {'clients': {name: latencies in ms, as they came},
    'cpu': {domain: (seconds, share)}, 'speed': text}"""
    with tempfile.TemporaryDirectory() as scratch:
        path = scenario
        if isinstance(scenario, dict) or path.suffix == ".toml":
            name = scenario["name"] if isinstance(scenario, dict) else path.name
            definition = scenario if isinstance(scenario, dict) else read_toml(path)
            path = Path(scratch, "made.sim")
            path.write_text(convert(definition, name))
        out = Path(scratch, "out")
        extra = ["--duration", str(duration)] if duration else []
        ran = call("run", str(path), "--boot", boot, "--seed", str(seed), "--check", str(check), "--out", str(out), *extra)
        clients, cpu = defaultdict(list), {}
        for line in out.read_text().splitlines():
            kind, name, *rest = line.split("\t")
            if kind == "sample":
                clients[name].append(int(rest[1]) / 1e6)
            else:
                cpu[name] = (int(rest[0]) / 1e9, int(rest[0]) / int(rest[1]))
    return {"clients": dict(clients), "cpu": cpu,
            "speed": ran.stderr.strip(), "known": re.findall(r"known: .*", ran.stdout)}


def table(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def cmd_run(args):
    path = find_scenario(args.scenario)
    results = {}
    for policy in args.policy or POLICIES:
        name, boot = find_policy(policy)
        try:
            results[name] = simulate(path, boot, args.seed, args.duration)
        except Bad as error:
            if args.policy:
                raise
            print(f"{name}: left out: {str(error).splitlines()[0]}", file=sys.stderr)
    rows = [("client, ms", "policy", "n", "mean", "p50", "p90", "p99", "max")]
    for name, result in results.items():
        for client, values in result["clients"].items():
            if values:
                values = sorted(values)
                figures = [sum(values) / len(values), *(quantile(values, q) for q in (0.5, 0.9, 0.99)), values[-1]]
                rows.append((client, name, len(values), *(f"{x:.3f}" for x in figures)))
    if len(rows) > 1:
        table(rows)
        print()
    if results:
        domains = list(next(iter(results.values()))["cpu"])
        table([("CPU, s", *results)] +
              [(d, *(f"{r['cpu'][d][0]:.2f} ({r['cpu'][d][1]:.1%})" for r in results.values())) for d in domains])


def cmd_convert(args):
    path = find_scenario(args.scenario)
    sys.stdout.write(convert(read_toml(path), path.name))


def as_written(definition):
    """A scenario as in a file, from what results.json makes of it: every default filled in, one table a guest."""
    guests = [{**g, "workload": g["workloads"], "disk": g["disks"]} for g in definition["guests"]]
    dom0 = {**definition["dom0"], "workload": definition["dom0"].get("workloads", [])}
    return {**definition, "dom0": dom0, "guest": guests, "client": definition["clients"]}


def compare(runs):
    """Runs of one scenario and policy, each with its seed: rows for clients and readers, and the largest difference
    of a share."""
    first = runs[0]
    definition, policy = as_written(first["scenario"]["definition"]), first["policy"]
    skip = definition.get("learning_requests", 0)
    booted, simulated, shares = defaultdict(list), defaultdict(list), []
    for run in runs:
        mine = simulate(definition, policy["xen"], run["seed"])
        latencies = [(c["name"], c["learned"] or c["whole"], skip if c["learned"] else 0) for c in run["clients"]]
        latencies += [(f"{d['guest']}-{d['workload']}", d["latency"], 0) for d in run["disks"]]
        for name, theirs, late in latencies:
            values = sorted(mine["clients"].get(name, [])[late:])
            if values and theirs["n"]:
                booted[name].append([theirs[f"{what}_ns"] / 1e6 for what in ("mean", "p50", "p99")])
                simulated[name].append([sum(values) / len(values), quantile(values, 0.5), quantile(values, 0.99)])
        for domain in run["domains"]:
            seconds = run["window"]["duration_ns"] / 1e9
            theirs = domain["cpu_ns"] / 1e9 / seconds
            shares.append((mine["cpu"][domain["name"]][1] - theirs, domain["name"], theirs))

    def middle(rows):
        return " / ".join(f"{sum(column) / len(column):.3g}" for column in zip(*rows))

    where = (definition["name"], policy["name"], len(runs))
    rows = [(*where, name, middle(booted[name]), middle(simulated[name])) for name in booted]
    off, name, theirs = max(shares, key=lambda s: abs(s[0]))
    return [*rows, (*where, f"CPU of {name}", f"{theirs:.2%}", f"{theirs + off:.2%}")]


def cmd_booted(args):
    groups = defaultdict(list)
    for file in args.results:
        for run in json.loads(Path(file).read_text())["runs"]:
            if run["complete"]:
                groups[run["scenario"]["name"], run["policy"]["name"]].append(run)
    rows = [("scenario", "policy", "seeds", "of", "booted: mean / p50 / p99, ms", "simulated")]
    for (scenario, policy), runs in groups.items():
        try:
            rows += compare(runs)
        except Bad as error:
            print(f"{scenario}, {policy}: left out: {str(error).splitlines()[0]}", file=sys.stderr)
    table(rows)


def cmd_bench(args):
    rows = [("policy", "6 vCPUs on 1 pCPU: x real time", "decisions/s", "1,024 on 64: x real time", "decisions/s")]
    for scheduler in ("credit", "credit2", "rtds", "null", "tavs"):
        row = [scheduler]
        for scenario, duration in (("mixed", "2000"), ("large", "3")):
            try:
                ran = call("run", str(HERE / f"scenarios/{scenario}.sim"), "--boot", f"sched={scheduler}",
                           "--duration", duration)
            except Bad as error:
                row += ["-", str(error).splitlines()[0][:40]]
                continue
            ms, each = re.search(r"took (\d+) ms.*, (\d+) decisions/s", ran.stderr).groups()
            simulated = int(re.search(r": (\d+) s,", ran.stdout)[1])
            row += [f"{simulated * 1000 / max(int(ms), 1):,.1f}", f"{int(each):,}"]
        rows.append(row)
    table(rows)


# ---- records -------------------------------------------------------------------------------------

RUNSTATE, SWITCH, WAKE, BLOCK, YIELD = 0x21000, 0x2800a, 0x28004, 0x28009, 0x28005
NAMES = {
    0x22002: "account start", 0x22003: "account stop", 0x22004: "stolen", 0x22005: "picked pCPU", 0x22007: "boost",
    0x22008: "boost end", 0x2200a: "ratelimited", WAKE: "wake", BLOCK: "block", YIELD: "yield", 0x28003: "sleep",
}
IDLE = 0x7fff
# Of task awareness: what it says, the word that tells the kind, the kinds.
REASONS = ("any", "block", "net", "driver", "timer")
TAVS = {
    0x22c05: ("boosted for {}", 1, REASONS),
    0x22c06: ("refused: {}", 1, ("no task", "uncorrelated", "off", "budget", "ahead")),
    0x22c08: ("ended: {}", 2, ("revoked", "blocked", "capped")),
}


def records(path):
    """(time in ns, pCPU, event, words)"""
    with open(path) as file:
        for line in file:
            when, cpu, event, *words = line.split()
            yield int(when), int(cpu), int(event, 16), [int(word, 16) for word in words]


def slices(path):
    """(start, end, pCPU, domain, vCPU) of everything that ran but idle"""
    running, last = {}, 0
    for when, cpu, event, words in records(path):
        last = when
        if event == SWITCH:
            if cpu in running:
                start, who = running.pop(cpu)
                yield start, when, cpu, *who
            if words[2] != IDLE:
                running[cpu] = (when, (words[2], words[3]))
    for cpu, (start, who) in running.items():
        yield start, last, cpu, *who


def cmd_perfetto(args):
    events = []
    for start, end, cpu, domain, vcpu in slices(args.record):
        events.append({"ph": "X", "pid": 0, "tid": cpu, "ts": start / 1000, "dur": (end - start) / 1000,
                       "name": f"d{domain}v{vcpu}", "cat": "runs"})
        events.append({"ph": "X", "pid": domain + 1, "tid": vcpu, "ts": start / 1000, "dur": (end - start) / 1000,
                       "name": f"pCPU {cpu}", "cat": "runs"})
    seen = {(e["pid"], e["tid"]) for e in events}
    for when, cpu, event, words in records(args.record):
        if event in NAMES and len(words) >= 2 and event not in (0x2200a, 0x22004, 0x22005):
            events.append({"ph": "i", "s": "t", "pid": words[0] + 1, "tid": words[1], "ts": when / 1000,
                           "name": NAMES[event]})
    for pid, tid in sorted(seen):
        events.append({"ph": "M", "pid": pid, "tid": tid, "name": "process_name",
                       "args": {"name": f"d{pid - 1}" if pid else "pCPUs"}})
        events.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name",
                       "args": {"name": f"vCPU {tid}" if pid else f"pCPU {tid}"}})
    Path(args.out).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
    print(f"{args.out}: {len(events)} events; open it at https://ui.perfetto.dev")


def cmd_picture(args):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    low, high = args.start * 1e6, (args.start + args.length) * 1e6
    rows = defaultdict(list)
    for start, end, cpu, domain, vcpu in slices(args.record):
        if end > low and start < high:
            rows[domain, vcpu].append((max(start, low) / 1e6, (min(end, high) - max(start, low)) / 1e6, cpu))
    if not rows:
        raise Bad("nothing ran in that time")
    names = sorted(rows)
    colours = pyplot.get_cmap("tab10")
    figure, axes = pyplot.subplots(figsize=(11, 1.2 + 0.35 * len(names)))
    for y, name in enumerate(names):
        for cpu in sorted({piece[2] for piece in rows[name]}):
            axes.broken_barh([(x, width) for x, width, c in rows[name] if c == cpu], (y - 0.4, 0.8),
                             color=colours(cpu % 10))
    for when, cpu, event, words in records(args.record):
        if event == 0x22007 and low <= when < high and (words[0], words[1]) in names:
            axes.plot(when / 1e6, names.index((words[0], words[1])) + 0.45, "v", color="black", markersize=4)
    axes.set_yticks(range(len(names)), [f"d{d}v{v}" for d, v in names])
    axes.invert_yaxis()
    axes.set_xlim(low / 1e6, high / 1e6)
    axes.set_xlabel("virtual time, ms; a colour is a pCPU, a triangle a BOOST at wake")
    figure.tight_layout()
    figure.savefig(args.out, dpi=110)
    print(args.out)


def cmd_explain(args):
    counts, ran = defaultdict(Counter), Counter()
    last = 0
    for start, end, cpu, domain, vcpu in slices(args.record):
        ran[domain] += end - start
        counts[domain]["runs"] += 1
    for when, cpu, event, words in records(args.record):
        last = when
        if event in NAMES and words:
            domain = words[0] & 0xffff if event == 0x2200a else words[1] if event == 0x22004 else words[0]
            if event == 0x2200a:
                domain = words[0] >> 16
            counts[domain][NAMES[event]] += 1
        elif event in TAVS:
            text, word, kinds = TAVS[event]
            counts[words[0] >> 16][text.format(kinds[words[word] & 0xff])] += 1
    said = [text.format(kind) for text, _, kinds in TAVS.values() for kind in kinds]
    columns = [c for c in ["runs", *NAMES.values(), *said] if any(counts[d][c] for d in counts)]
    print(f"{last / 1e9:.1f} s")
    table([("domain", "CPU, s", *columns)] +
          [(f"d{d}", f"{ran[d] / 1e9:.2f}", *(counts[d][c] for c in columns)) for d in sorted(counts) if d != IDLE])


# ---- command line --------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run")
    run.add_argument("scenario")
    run.add_argument("--policy", action="append")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--duration", type=int, help="seconds; the scenario's own otherwise")
    verbs.add_parser("convert").add_argument("scenario")
    for name in ("perfetto", "picture"):
        verb = verbs.add_parser(name)
        verb.add_argument("record")
        verb.add_argument("out")
    verb.add_argument("--from", dest="start", type=float, default=0)
    verb.add_argument("--for", dest="length", type=float, default=300)
    verbs.add_parser("explain").add_argument("record")
    verbs.add_parser("booted").add_argument("results", nargs="+")
    verbs.add_parser("bench")
    args = parser.parse_args()
    try:
        globals()[f"cmd_{args.verb}"](args)
    except Bad as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
