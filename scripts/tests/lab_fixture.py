# SPDX-License-Identifier: GPL-2.0-only
"""A made-up run directory: the shape of what the machine hands over, with figures that a test can
recompute.  Never a result."""

import json
import random
from pathlib import Path

from lab.scenario import COUNTING

START = 1_767_225_700_000_000_000
MS = 1_000_000


def write_raw(rundir: Path, scenario, policy, *, seed=1, latency_ms=1.0, scheduler=None,
              shares=None, lost=(), drop=()):
    """Fills rundir/raw for a scenario; `shares` maps a domain to its part of one pCPU."""
    raw = rundir / "raw"
    (raw / "console").mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed * 1000 + round(latency_ms * 1000))
    window = scenario.duration_s * 1000 * MS
    end = START + window

    names = ["dom0", *(g.name for g in scenario.guests)]
    if shares is None:
        busy = [g.name for g in scenario.guests if g.wants is not None]
        shares = {n: 0.02 for n in names}
        shares.update({n: (1 - 0.02 * (len(names) - len(busy))) / len(busy) for n in busy})
    records = [f"window\t{START}\t{end}"]
    for domid, name in enumerate(names):
        records.append(f"cpu\tstart\t{domid}\t{7_000_000_000 + domid}\tr")
    records += ["perfc\tstart\tsched_ctx\t1000", "perfc\tstart\tsched_run\t5000"]
    for client in scenario.clients:
        at = START + client.start_ms * MS
        for seq in range(client.requests or 200):
            at += int(rng.uniform(*client.think_ms) * MS)
            if at > end:
                break
            latency = int(rng.lognormvariate(0, 0.8) * latency_ms * MS)
            reply = 0 if seq in lost else at + 2_000 + latency
            records.append(f"sample\t{client.name}\t{seq}\t{at}\t{at + 2_000}\t{reply}")
    for domid, name in enumerate(names):
        records.append(f"cpu\tend\t{domid}\t{7_000_000_000 + domid + int(shares[name] * window)}\tr")
    records += ["perfc\tend\tsched_ctx\t3500", "perfc\tend\tsched_run\t9000"]
    (raw / "wire.tsv").write_text("\n".join(records) + "\n")

    (raw / "domains.tsv").write_text("".join(f"{i}\t{n}\n" for i, n in enumerate(names)))
    (raw / "meta.json").write_text(json.dumps({
        "scheduler": scheduler or policy.expect, "kernel": "6.1.0-test", "xen": "4.20.3",
        "phases": [["boot", 1.5], ["guests", 20.0], ["window", 60.0]]}))
    (raw / "xl-info.txt").write_text(f"xen_scheduler : {policy.expect}\n")
    (rundir / "serial.log").write_text("Xen 4.20.3\n")

    for guest in (*scenario.guests, scenario.dom0):
        if guest is not scenario.dom0:
            (raw / "console" / f"{guest.name}.log").write_text("up\n")
        for workload in guest.workloads:
            if f"{guest.name}.{workload.name}" in drop:
                continue
            lines = []
            match workload.run:
                case run if run in COUNTING:
                    lines.append("# time_ns\tunits")
                    rate = round(shares[guest.name] * 1000)    # units in 100 ms
                    for i in range(-20, scenario.duration_s * 10 + 20):
                        units = (i + 20) * rate
                        switches = "" if run == "hog" else f"\t{2 * units}"
                        lines.append(f"{START + i * 100 * MS}\t{units}{switches}")
                case "blkread":
                    lines.append("# submit_ns\tdone_ns\toffset")
                    at = START - 50 * MS
                    while at < end + 50 * MS:
                        took = int(rng.lognormvariate(0, 0.5) * latency_ms * MS)
                        lines.append(f"{at}\t{at + took}\t{4096 * rng.randrange(64)}")
                        at += took + 20 * MS
                case "httpd":
                    continue
                case "player":
                    lines.append("# due_ns\tawake_ns\tready_ns")
                    for i in range(-50, scenario.duration_s * 50 + 50):
                        due = START + i * 20 * MS
                        took = int(rng.lognormvariate(0, 0.5) * latency_ms * MS)
                        lines.append(f"{due}\t{due + took}\t{due + took + MS // 5}")
                case "echo" | "page":
                    lines.append("# recv_ns\treply_ns\tbytes")
                    for i in range(20):
                        lines.append(f"{START + i * 100 * MS}\t{START + i * 100 * MS + 5_000 + i}\t40")
            lines += ["# missed\t0", "# memory_locked\t1"]
            (raw / f"{guest.name}.{workload.name}.tsv").write_text("\n".join(lines) + "\n")
