# SPDX-License-Identifier: GPL-2.0-only
"""The RAM disks of a run: dom0's and, inside it, those of the guests.

Everything that dom0 needs (toolstack, kernel of the guests, their RAM disks,
the orders for this run) travels in one uncompressed cpio archive that the boot
loader hands to dom0's kernel.  A disk image would do as well, but an emulated
drive makes runs unrepeatable (docs/lab.md).
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import kmodules
from .artifacts import Artifacts
from .cpio import Archive
from .errors import LabError
from .paths import ROOT
from .policy import Policy
from .scenario import Disk, Dom0, Guest, Scenario, Workload, mixed_seed

# Toolstack programs that dom0 runs, as installed below the toolstack's prefix.
_TOOLSTACK = ("sbin/xl", "sbin/xenstored", "sbin/xenconsoled", "lib/xen/bin/xen-init-dom0",
              "bin/xenstore-read", "bin/xenstore-write", "bin/xenstore-ls", "sbin/xenperf",
              "lib/xen/bin/xenconsole", "sbin/xentrace")
_SHELL_TOOLS = ("bin/xenalyze",)  # only for somebody who sits there
_REQUIRED = _TOOLSTACK[:6]
# What else a run needs whose policy types one of these: libxl saves guests by a program of its own.
_NEEDED_BY = {
    "lib/xen/bin/libxl-save-helper": ("xl save", "xl restore", "xl migrate"),
}
_PREFIX = "usr"
BOOT_DELAY_MS = 200
# How a domain's weight is set under each scheduler that knows weights.
_WEIGHT_VERBS = {"credit": "sched-credit", "credit2": "sched-credit2", "tavs": "sched-tavs", "tavs2": "sched-tavs"}


def dom0_image(
    scenario: Scenario, policy: Policy, seed: int, artifacts: Artifacts, mode: str,
    trace_kb: int = 0,
) -> bytes:
    """The archive for one run; `mode` is "measure" or "shell"."""
    archive = Archive()
    _add_system(archive, artifacts, _more_tools(policy, mode))
    backends = {disk.backend for guest in scenario.guests for disk in guest.disks}
    _add_modules(archive, kmodules.ModuleTree(artifacts.kernel),
                 (*kmodules.DOM0, *(["null_blk"] if "null" in backends else [])),
                 [artifacts.our_module(name) for name in policy.modules])
    archive.add_file("init", ROOT / "guest-tests/dom0/init", 0o755)
    for script in sorted((ROOT / "guest-tests/dom0/hotplug").iterdir()):
        archive.add_file(f"etc/xen/scripts/{script.name}", script, 0o755)
    programs = ["wire", "bar", *(["tracer"] if trace_kb else [])]
    if "fuzz" in _typed(policy).split():
        programs.append("fuzz")
    programs += sorted({workload.run for workload in scenario.dom0.workloads})
    for workload in programs:
        archive.add_file(f"lab/bin/{workload}", artifacts.workload(workload), 0o755)

    archive.add_text("lab/env", _environment(scenario, policy, mode))
    archive.add_text("lab/workloads", _workload_lines(scenario.dom0, seed))
    archive.add_text("lab/policy", _policy_commands(scenario, policy))
    archive.add_text("lab/measure", _measure_script(scenario, policy, seed, mode, trace_kb))
    archive.add_text("lab/before", "".join(f"{line}\n" for line in policy.before))
    archive.add_text("lab/after", "".join(f"{line}\n" for line in policy.after))
    archive.add_text("lab/banner", _banner(scenario, policy))
    for kernel in sorted({guest.kernel for guest in scenario.guests}):
        archive.add_file(f"lab/vmlinux-{kernel}", artifacts.guest_vmlinux(kernel), 0o644)
        archive.add_bytes(f"lab/guest-{kernel}.cpio", _guest_base(artifacts, kernel, scenario, policy))
    for guest in scenario.guests:
        archive.add_text(f"lab/guests/{guest.name}.cfg", guest_config(guest))
        archive.add_text(f"lab/guests/{guest.name}.env",
                         f"KERNEL={guest.kernel}\nDELAY={boot_delay_ms(guest, seed) / 1000:.3f}\n")
        archive.add_bytes(f"lab/guests/{guest.name}.cpio", _guest_layer(guest, seed))
        if guest.disks:
            archive.add_text(f"lab/guests/{guest.name}.prepare", _prepare_disks(guest), 0o755)
    return archive.pack()


def guest_config(guest: Guest) -> str:
    """The guest's xl configuration file (xl.cfg(5))."""
    lines = [
        f'name = "{guest.name}"',
        f'type = "{guest.type}"',
        f'kernel = "/lab/vmlinux-{guest.kernel}"',
        f'ramdisk = "/run/{guest.name}.img"',
        'extra = "console=hvc0 quiet loglevel=4 panic=1 cryptomgr.notests rodata=off"',
        f"memory = {guest.memory_mb}",
        f"maxmem = {guest.memory_mb}",
        f"vcpus = {guest.vcpus}",
        f"cpu_weight = {guest.weight}",
        f"cap = {guest.cap}",
        'on_crash = "preserve"',
        'on_reboot = "preserve"',
    ]
    if guest.pin is not None:
        lines.append(f'cpus = "{guest.pin}"')
    if guest.vif:
        lines.append(f"vif = ['mac={guest.mac},bridge=br0,script=/etc/xen/scripts/vif']")
    if guest.disks:
        disks = ", ".join(
            f"'format=raw, vdev={disk.name}, access=rw, "
            f"script=/etc/xen/scripts/block, target=/run/disks/{guest.name}-{disk.name}'"
            for disk in guest.disks
        )
        lines.append(f"disk = [{disks}]")
    return "\n".join(lines) + "\n"


def boot_delay_ms(guest: Guest, seed: int) -> int:
    """How long dom0 waits before it unpauses the guest: what makes boots of two seeds differ."""
    return mixed_seed(seed, f"{guest.name}/boot") % BOOT_DELAY_MS


def wire_command(scenario: Scenario, seed: int) -> list[str]:
    """The traffic source's command line (guest-tests/workloads/README.md)."""
    command = ["wire", "--duration-ms", str(round(scenario.duration_s * 1000)),
               "--out", "/lab/out/wire.tsv"]
    for client in scenario.clients:
        command += ["--client", client.option(seed)]
    return command


def _measure_script(scenario: Scenario, policy: Policy, seed: int, mode: str, trace_kb: int) -> str:
    """The traffic source; around it tavs prints what it counted (xendump.py)."""
    wire = shlex.join(wire_command(scenario, seed))
    if trace_kb:
        clock = "--clock /lab/out/trace-clock.tsv"
        wire = (f"tracer start --kb {trace_kb} {clock}\n{wire}\n"
                f"tracer save --out /lab/out/trace.bin {clock}")
    if policy.expect not in ("tavs", "tavs2") or mode != "measure":
        return wire + "\n"
    dump = "xl debug-keys r"
    return "\n".join([dump, "sleep 1", wire, dump, "sleep 1"]) + "\n"


def workload_command(workload: Workload, seed: int) -> str:
    """The command that a guest, or dom0, runs, without its log."""
    return shlex.join([f"/lab/bin/{workload.run}", *workload.arguments(seed)])


def _environment(scenario: Scenario, policy: Policy, mode: str) -> str:
    values = {
        "MODE": mode,
        "EXPECT": policy.expect,
        "GUESTS": " ".join(guest.name for guest in scenario.guests),
        "SETTLE": f"{scenario.settle_s:g}",
        "LIMIT": f"{scenario.limit_s:g}",
    }
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in values.items())


def _policy_commands(scenario: Scenario, policy: Policy) -> str:
    lines = []
    dom0 = scenario.dom0
    if scenario.pcpus > 1 and dom0.pin is not None:
        lines.append(f"xl vcpu-pin Domain-0 all {shlex.quote(dom0.pin)}")
    if dom0.weight != Dom0.weight:
        verb = _WEIGHT_VERBS.get(policy.expect)
        if verb is None:
            raise LabError(f"{scenario.name}: dom0 has weight {dom0.weight}, but the scheduler "
                           f"{policy.expect} knows no weights")
        lines.append(f"xl {verb} -d Domain-0 -w {dom0.weight}")
    lines += policy.commands
    return "\n".join(lines) + "\n"


def _banner(scenario: Scenario, policy: Policy) -> str:
    guests = "".join(f"  dom0          computes too: {workload_command(w, 1).removeprefix('/lab/bin/')}\n"
                     for w in scenario.dom0.workloads)
    guests += "\n".join(
        f"  {guest.name:8} {guest.type:4} {guest.ip if guest.vif else '-':12} "
        + ", ".join(workload_command(workload, 1).removeprefix("/lab/bin/")
                    for workload in guest.workloads)
        for guest in scenario.guests
    )
    return (
        f"\n{scenario.title} under {policy.name}\n{guests}\n"
        "\nThis is dom0.  Try: xl list; xl info; xl console NAME (leave with Ctrl-]);\n"
        "sh /lab/measure measures the scenario (results in /lab/out/wire.tsv).\n"
        "Power off with: poweroff -f.  Leave the machine at once with: Ctrl-A x\n\n"
    )


def _prepare_disks(guest: Guest) -> str:
    """A script that makes the loop devices behind the guest's disks."""
    lines = ["#!/bin/sh", "set -e", "mkdir -p /run/disks"]
    for disk in guest.disks:
        link = f"/run/disks/{guest.name}-{disk.name}"
        if disk.backend == "null":
            lines += _prepare_null(disk, link)
            continue
        image = f"{link}.img"
        # Written, not sparse: a hole would be read without touching the file's pages.
        lines += [
            f"dd if=/dev/zero of={image} bs=1M count={disk.size_mb} 2>/dev/null",
            "loop=$(losetup -f)",
            f"losetup $loop {image}",
            f"ln -s $loop {link}",
        ]
    return "\n".join(lines) + "\n"


def _prepare_null(disk: Disk, link: str) -> list[str]:
    """A disk that holds what is written, and answers one request after the other, each late."""
    attributes = {
        "size": disk.size_mb, "memory_backed": 1, "submit_queues": 1, "hw_queue_depth": 1,
        "irqmode": 2, "completion_nsec": disk.latency_us * 1000, "power": 1,
    }
    return [
        "config=/sys/kernel/config",
        "[ -d $config/nullb ] || mount -t configfs none $config",
        f"null=$config/nullb/{Path(link).name}",
        "mkdir $null",
        *(f"echo {value} > $null/{name}" for name, value in attributes.items()),
        # Since Linux 5.19 the device has the name of the directory.
        "device=/dev/${null##*/}",
        "[ -b $device ] || device=/dev/nullb$(cat $null/index)",
        f"dd if=/dev/zero of=$device bs=1M count={disk.size_mb} oflag=direct",
        *_prepare_queue(disk),
        f"ln -s $device {link}",
    ]


def _prepare_queue(disk: Disk) -> list[str]:
    """As before a real disk: a scheduler that keeps the requests which the disk does not take yet."""
    if not disk.queue:
        return []
    queue = "/sys/block/${device##*/}/queue"
    return [f"echo mq-deadline > {queue}/scheduler", f"echo {disk.queue} > {queue}/nr_requests"]


def _guest_base(artifacts: Artifacts, kernel: str, scenario: Scenario, policy: Policy) -> bytes:
    """What all guests of a kernel have.  Only programs that run: a new one changes no other run."""
    archive = Archive()
    _add_busybox(archive)
    programs = {workload.run for guest in scenario.guests for workload in guest.workloads}
    extra = [module for name, module in kmodules.OF_WORKLOADS.items() if name in programs]
    _add_modules(archive, kmodules.ModuleTree(artifacts.guest_kernel(kernel)),
                 (*kmodules.GUEST, *extra),
                 [artifacts.our_module(name) for name in policy.guest_modules])
    archive.add_file("init", ROOT / "guest-tests/guest/init", 0o755)
    for program in sorted(programs):
        script = ROOT / "guest-tests/guest" / program
        archive.add_file(f"lab/bin/{program}", script if script.exists() else artifacts.workload(program), 0o755)
    return archive.pack()


def _guest_layer(guest: Guest, seed: int) -> bytes:
    """What is particular to one guest; stands before the common archive."""
    archive = Archive()
    persistent = all(disk.persistent for disk in guest.disks)
    conf = {
        "NAME": guest.name,
        "ADDRESS": guest.ip if guest.vif else "",
        "DISKS": " ".join(disk.name for disk in guest.disks),
        "BLKFRONT": "" if persistent else "feature_persistent=0",
    }
    archive.add_text("lab/conf", "".join(f"{k}={shlex.quote(v)}\n" for k, v in conf.items()))
    archive.add_text("lab/workloads", _workload_lines(guest, seed))
    return archive.pack()


def _workload_lines(domain: Guest | Dom0, seed: int) -> str:
    """What the first process of a domain reads: name, seconds that it starts late, command."""
    return "".join(f"{workload.name} {workload.start_s:g} {workload_command(workload, seed)}\n"
                   for workload in domain.workloads)


def _typed(policy: Policy) -> str:
    """All commands that a policy has dom0 run."""
    return "\n".join((*policy.commands, *policy.before, *policy.after))


def _more_tools(policy: Policy, mode: str) -> list[str]:
    """Programs of the toolstack that not every run needs: one more changes the run."""
    if mode == "shell":
        return [*_SHELL_TOOLS, *_NEEDED_BY]
    return [program for program, commands in _NEEDED_BY.items() if any(c in _typed(policy) for c in commands)]


def _add_busybox(archive: Archive) -> None:
    busybox = Path("/bin/busybox")
    if not busybox.exists():
        raise LabError("busybox is missing; `make deps` says what to install")
    archive.add_file("bin/busybox", busybox, 0o755)
    archive.add_char_device("dev/console", 5, 1)
    archive.add_char_device("dev/null", 1, 3, 0o666)
    for directory in ("proc", "sys", "run", "tmp", "sbin", "usr/bin", "usr/sbin"):
        archive.add_dir(directory)


def _add_modules(
    archive: Archive, tree: kmodules.ModuleTree, wanted: tuple[str, ...],
    own: Sequence[Path] = (),
) -> None:
    files = [*tree.in_load_order(wanted), *own]
    for file in files:
        archive.add_file(f"lab/modules/{file.name}", file, 0o644)
    archive.add_text("lab/modules/order", "".join(f"{file.name}\n" for file in files))


def _add_system(archive: Archive, artifacts: Artifacts, more: Sequence[str]) -> None:
    """busybox, the toolstack and the shared libraries that it needs."""
    _add_busybox(archive)
    prefix = artifacts.tools / _PREFIX
    programs = [prefix / program for program in (*_TOOLSTACK, *more) if (prefix / program).exists()]
    for program in _REQUIRED:
        if not (prefix / program).exists():
            raise LabError(f"the toolstack lacks {program}; build it again with `make toolstack`")
    for program in programs:
        archive.add_file(f"{_PREFIX}/{program.relative_to(prefix)}", program, 0o755)
    own_libraries = prefix / "lib"
    for name, file in sorted(_libraries([*programs, artifacts.workload("wire")],
                                        own_libraries).items()):
        where = f"usr/lib/{name}" if file.is_relative_to(own_libraries) else f"lib64/{name}"
        archive.add_file(where, file, 0o755)
    archive.add_link("lib", "lib64")
    archive.add_text("etc/xen/xl.conf", "")
    archive.add_text("etc/passwd", "root:x:0:0:root:/:/bin/sh\n")


def _libraries(programs: list[Path], own: Path) -> dict[str, Path]:
    """Name -> file of every shared library that the programs load, by ldd(1)."""
    found: dict[str, Path] = {}
    for program in programs:
        listing = subprocess.run(
            ["ldd", program], env={"LD_LIBRARY_PATH": str(own), "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=False)
        for line in listing.stdout.splitlines():
            name, arrow, rest = line.strip().partition(" => ")
            if arrow and rest.startswith("not found"):
                raise LabError(f"{program.name} needs the library {name}, which is missing")
            if arrow:
                found[name] = Path(rest.split(" (")[0])
            elif name.startswith("/"):
                loader = Path(name.split(" (")[0])
                found[loader.name] = loader
    # glibc loads it by itself at the first pthread_cancel().
    libgcc = subprocess.run(["gcc", "-print-file-name=libgcc_s.so.1"], capture_output=True,
                            text=True, check=True).stdout.strip()
    found["libgcc_s.so.1"] = Path(libgcc)
    return found
