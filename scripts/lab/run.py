# SPDX-License-Identifier: GPL-2.0-only
"""One run: a scenario under a policy with a seed, from RAM disk to raw results.

    prepare   makes the files that the machine boots, and their fingerprint
    execute   boots them, waits for the end, unpacks what dom0 handed over
    boot      the same machine with a shell on the terminal

The raw results are described in docs/results.md.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import image, machine
from .artifacts import Artifacts
from .errors import LabError
from .policy import Policy
from .scenario import Scenario

# Xen itself, and what creating a guest takes beside the guest's own memory.
_XEN_MB = 192
_PER_GUEST_MB = 24
_MAX_CONSOLE_LINES = 25

_DOM0_ARGS = "console=hvc0 quiet loglevel=4 panic=1 cryptomgr.notests rodata=off"


@dataclass(frozen=True)
class Prepared:
    """A run that could start: its files, its command, and what identifies it."""

    scenario: Scenario
    directory: Path
    command: list[str]
    fingerprint: str
    inputs: dict[str, str]


def prepare(
    scenario: Scenario,
    policy: Policy,
    seed: int,
    artifacts: dict,
    workdir: Path,
    mode: str = "measure",
    trace_kb: int = 0,
) -> Prepared:
    """Makes what QEMU needs in `workdir`.

    Two runs with the same fingerprint give the same bytes: it covers every
    byte that the machine boots, QEMU's command line, QEMU and its firmware.  With
    `trace_kb`, Xen's trace buffers have that size for each pCPU, and are kept.
    """
    built = Artifacts.of(artifacts)
    workdir.mkdir(parents=True, exist_ok=True)
    ramdisk = workdir / "dom0.cpio"
    contents = image.dom0_image(scenario, policy, seed, built, mode, trace_kb)
    ramdisk.write_bytes(contents)
    boot = machine.Boot(
        emulator=built.qemu,
        xen=built.hypervisor(policy.hypervisor),
        xen_args=_xen_args(scenario, policy),
        kernel=built.vmlinux,
        kernel_args=_DOM0_ARGS,
        ramdisk=ramdisk,
    )
    trace_mb = -(-trace_kb * scenario.pcpus // 1024)
    hardware = machine.Hardware(scenario.pcpus, _memory_mb(scenario) + trace_mb, scenario.quantum_us)
    command = machine.arguments(hardware, boot, interactive=mode == "shell")
    machine.stage(boot, workdir / "machine")
    inputs = {
        "xen": _sha256(boot.xen.read_bytes()),
        "vmlinux": _sha256(boot.kernel.read_bytes()),
        "ramdisk": _sha256(contents),
        "command": _sha256("\0".join(command).encode()),
        "qemu": _sha256(b"".join(p.read_bytes() for p in sorted(boot.emulator.iterdir()))),
    }
    fingerprint = _sha256(json.dumps(inputs, sort_keys=True).encode())
    return Prepared(scenario, workdir / "machine", command, fingerprint, inputs)


def execute(
    prepared: Prepared, outdir: Path, progress: Callable[[str, float], None]
) -> None:
    """Boots the machine and leaves the serial log and raw/ in `outdir`.

    `progress` gets (phase, virtual seconds) about twice a second.  LabError if
    anything did not go as the scenario says; what there is stays in `outdir`.
    """
    outdir.mkdir(parents=True, exist_ok=True)
    raw = outdir / "raw"
    log = prepared.directory / "serial.log"
    try:
        results = machine.run(prepared.command, prepared.directory,
                              prepared.scenario.limit_s, progress)
    finally:
        if log.exists():
            (outdir / "serial.log").write_bytes(log.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(results)) as archive:
        archive.extractall(raw, filter="data")
    _name_consoles(raw / "console")
    _split_workload_logs(prepared.scenario, raw)
    (raw / "meta.json").write_text(json.dumps(_meta(raw), indent=2, sort_keys=True) + "\n")
    if (raw / "failed").exists():
        reason = (raw / "failed").read_text().strip()
        raise LabError(reason, _consoles(raw, reason) + _run_queues(outdir / "serial.log"))


def boot(scenario: Scenario, policy: Policy, artifacts: dict, workdir: Path) -> int:
    """The scenario's machine with dom0's shell on this terminal; returns QEMU's status."""
    prepared = prepare(scenario, policy, scenario.seeds[0], artifacts, workdir, mode="shell")
    return machine.interact(prepared.command, prepared.directory)


def _xen_args(scenario: Scenario, policy: Policy) -> str:
    dom0 = scenario.dom0
    return (f"console=com1 com1=115200,8n1 loglvl=all guest_loglvl=all bootscrub=0 "
            f"dom0_mem={dom0.memory_mb}M,max:{dom0.memory_mb}M dom0_max_vcpus={dom0.vcpus} "
            f"{policy.xen}")


def _memory_mb(scenario: Scenario) -> int:
    guests = sum(guest.memory_mb + _PER_GUEST_MB for guest in scenario.guests)
    return scenario.dom0.memory_mb + guests + _XEN_MB


def _name_consoles(console: Path) -> None:
    """guest-NAME.log, as xenconsoled calls them, becomes NAME.log."""
    for log in console.glob("guest-*.log"):
        log.rename(console / log.name.removeprefix("guest-"))


def _split_workload_logs(scenario: Scenario, raw: Path) -> None:
    """Writes the lines "@NAME TEXT" of each guest's console to raw/GUEST.NAME.tsv."""
    for guest in scenario.guests:
        console = raw / "console" / f"{guest.name}.log"
        if not console.exists():
            continue
        lines = console.read_text(errors="replace").splitlines()
        for workload in guest.workloads:
            mark = f"@{workload.name} "
            log = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
            if log:
                (raw / f"{guest.name}.{workload.name}.tsv").write_text("\n".join(log) + "\n")


def _meta(raw: Path) -> dict:
    """What ran, by its own word, and when each phase began (dom0's uptime in seconds)."""
    info = dict(
        (key.strip(), value.strip())
        for key, _, value in (line.partition(":") for line in _lines(raw / "xl-info.txt"))
    )
    phases = [line.rsplit(" ", 1) for line in _lines(raw / "phases")]
    return {
        "scheduler": info.get("xen_scheduler"),
        "kernel": info.get("release"),
        "xen": info.get("xen_version"),
        "phases": [[name, float(time)] for name, time in phases],
    }


def _lines(file: Path) -> list[str]:
    return file.read_text(errors="replace").splitlines() if file.exists() else []


def _consoles(raw: Path, reason: str) -> list[str]:
    """The end of the console that the reason names, or of all."""
    logs = sorted((raw / "console").glob("*.log"))
    named = [log for log in logs if log.stem in reason.split()] or \
        [log for log in logs if f"{log.stem}:" in reason.split()] or logs
    tails: list[str] = []
    for log in named:
        tails += [f"--- console of {log.stem}", *_lines(log)[-_MAX_CONSOLE_LINES:]]
    return tails


def _run_queues(serial: Path) -> list[str]:
    """Xen's last dump of its run queues (debug key r, dump_runq() in core.c), if there is one."""
    lines = _lines(serial)
    starts = [number for number, line in enumerate(lines) if "sched_smt_power_savings:" in line]
    if not starts:
        return []
    dump = lines[starts[-1]:]
    ends = [number for number, line in enumerate(dump) if "'q' pressed" in line]
    return ["--- Xen's run queues", *dump[:ends[0] if ends else None]]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
