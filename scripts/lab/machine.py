# SPDX-License-Identifier: GPL-2.0-only
"""One QEMU machine in virtual time, watched until it has handed over its results.

The machine's clock counts instructions (`-icount`), so that a run depends on
its inputs only; see docs/lab.md for what that does and does not model.  This
module starts QEMU, follows the serial line, reads the virtual clock, presses
Xen's debug keys when the machine is stuck, and leaves no process behind.
"""

from __future__ import annotations

import calendar
import contextlib
import itertools
import json
import re
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError

INSTRUCTION_NS_SHIFT = 1  # an instruction takes 2^1 ns: a machine of 500 MIPS
RTC_BASE = "2026-01-01"
SHARED_MEMORY_MB = 64  # for the results; the file is sparse

_SERIAL_LOG = "serial.log"
_COMPLAINTS = "qemu.log"  # what QEMU says; no part of the results
_RESULTS = "shared-memory"
# Seconds of host time without any virtual time passing: QEMU itself is stuck.
_STUCK_S = 180
# The same once dom0 has handed over its results and reboots.  QEMU then ends by
# itself, but for a time in some hundred runs on a busy host, when its threads
# wait for each other.
_STUCK_AT_END_S = 15
# Seconds of host time that QEMU has to answer a question.
_ANSWER_S = 20
# Virtual seconds that dom0 gets beyond its own limit before it counts as dead.
_GRACE_S = 60
# Escape to Xen's console, then the keys: run queues, domain states, event channels.
_XEN_KEYS = (b"\x01\x01\x01", b"r", b"q", b"e")


@dataclass(frozen=True)
class Hardware:
    pcpus: int
    memory_mb: int
    quantum_us: int | None = None  # how far apart pCPUs may be in virtual time; None: there is one


@dataclass(frozen=True)
class Boot:
    """The emulator, and what the boot loader hands over: files and their command lines."""

    emulator: Path  # a directory: QEMU and its firmware
    xen: Path
    xen_args: str
    kernel: Path
    kernel_args: str
    ramdisk: Path


def arguments(hardware: Hardware, boot: Boot, interactive: bool = False) -> list[str]:
    """QEMU's command line; file names are relative to the run's directory.

    Interactive machines sleep while idle, so that their clock follows the wall's.
    """
    sleep = "on" if interactive else "off"
    quantum = "" if hardware.quantum_us is None else f",quantum={hardware.quantum_us * 1000}"
    serial = ["-serial", "mon:stdio"] if interactive else [
        "-chardev", f"socket,id=serial,path=serial.sock,server=on,wait=off,logfile={_SERIAL_LOG}",
        "-serial", "chardev:serial",
        "-qmp", "unix:qmp.sock,server=on,wait=off",
        "-monitor", "none",
    ]
    modules = (f"{boot.kernel.name} {boot.kernel_args}".replace(",", ",,"), boot.ramdisk.name)
    return [
        f"./{boot.emulator.name}/qemu-system-x86_64",
        "-L", boot.emulator.name,
        "-accel", "tcg,thread=single",
        "-cpu", "qemu64,+svm,+npt",
        "-smp", str(hardware.pcpus),
        "-m", str(hardware.memory_mb),
        "-nodefaults", "-no-user-config", "-no-reboot", "-nographic", "-vga", "none",
        "-icount", f"shift={INSTRUCTION_NS_SHIFT},sleep={sleep}{quantum}",
        "-rtc", f"base={RTC_BASE},clock=vm",
        "-object", f"memory-backend-file,id=results,share=on,mem-path={_RESULTS},"
                   f"size={SHARED_MEMORY_MB}M",
        "-device", "ivshmem-plain,memdev=results",
        *serial,
        "-kernel", boot.xen.name, "-append", boot.xen_args,
        "-initrd", ",".join(modules),
    ]


def stage(boot: Boot, directory: Path) -> None:
    """Links the boot files into the run's directory under their own names."""
    directory.mkdir(parents=True, exist_ok=True)
    for file in (boot.emulator, boot.xen, boot.kernel, boot.ramdisk):
        link = directory / file.name
        link.unlink(missing_ok=True)
        link.symlink_to(file.resolve())


def interact(command: list[str], directory: Path) -> int:
    """Runs the machine on this terminal until its user leaves it."""
    return subprocess.run(command, cwd=directory, check=False).returncode


def run(
    command: list[str],
    directory: Path,
    limit_s: float,
    progress: Callable[[str, float], None],
) -> bytes:
    """Runs the machine to its end and returns what dom0 handed over.

    `progress` gets the current phase and the virtual time in seconds, about
    twice a second of host time.  LabError if the machine did not come to its
    end; the serial log then has Xen's run queues.
    """
    machine = _Machine(command, directory)
    try:
        return machine.watch(limit_s, progress)
    finally:
        machine.close()


class _Machine:
    def __init__(self, command: list[str], directory: Path) -> None:
        self._directory = directory
        for name in (_SERIAL_LOG, _RESULTS, "serial.sock", "qmp.sock"):
            (directory / name).unlink(missing_ok=True)
        # Killed with its parent, whatever ends that one; a session of its own,
        # so that the terminal's Ctrl-C reaches us alone.
        with (directory / _COMPLAINTS).open("wb") as complaints:
            self._qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command],
                cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=complaints, start_new_session=True)
        self._qmp: _Monitor | None = None

    def watch(self, limit_s: float, progress: Callable[[str, float], None]) -> bytes:
        phase, virtual, moved = "start", 0.0, time.monotonic()
        while self._qemu.poll() is None:
            time.sleep(0.5)
            phase = self._phase() or phase
            now = self._virtual_time()
            if now is not None and now != virtual:
                virtual, moved = now, time.monotonic()
            progress(phase, virtual)
            if virtual > limit_s + _GRACE_S:
                self._press_debug_keys()
                raise LabError(f"dom0 is stuck in phase '{phase}' after {virtual:.0f} virtual s "
                               f"(limit {limit_s:g} s)", self.tail())
            stands_still = time.monotonic() - moved
            if phase == "end" and stands_still > _STUCK_AT_END_S:
                break
            if stands_still > _STUCK_S:
                self._press_debug_keys()
                raise LabError(f"the machine's clock stands still in phase '{phase}'", self.tail())
        results = self._results()
        if results is None:
            raise LabError(f"the machine ended in phase '{phase}' without results", self.tail())
        return results

    def close(self) -> None:
        if self._qmp:
            self._qmp.close()
        if self._qemu.poll() is None:
            self._qemu.kill()
        self._qemu.wait()
        (self._directory / _RESULTS).unlink(missing_ok=True)
        for name in ("serial.sock", "qmp.sock"):
            (self._directory / name).unlink(missing_ok=True)

    def tail(self, lines: int = 30) -> str:
        """The end of what the machine printed, and of what QEMU said."""
        texts = (self._log(), self._log(_COMPLAINTS))
        return "\n".join(line for text in texts for line in text.splitlines()[-lines:])

    def _log(self, name: str = _SERIAL_LOG) -> str:
        log = self._directory / name
        return log.read_text(errors="replace") if log.exists() else ""

    def _phase(self) -> str | None:
        phases = re.findall(r"LAB: phase (.*?)\r?$", self._log(), re.MULTILINE)
        return phases[-1] if phases else None

    def _virtual_time(self) -> float | None:
        """Seconds on the machine's own clock; None while QEMU does not answer."""
        try:
            if self._qmp is None:
                self._qmp = _Monitor(self._directory / "qmp.sock")
            now = self._qmp.ask("qom-get", path="/machine", property="rtc-time")
            date = (now["tm_year"] + 1900, now["tm_mon"] + 1, now["tm_mday"],
                    now["tm_hour"], now["tm_min"], now["tm_sec"])
        except (OSError, ValueError, KeyError):
            if self._qmp:
                self._qmp.close()
            self._qmp = None
            return None
        base = tuple(int(part) for part in RTC_BASE.split("-")) + (0, 0, 0)
        return float(calendar.timegm(date) - calendar.timegm(base))

    def _press_debug_keys(self) -> None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as serial:
            serial.connect(str(self._directory / "serial.sock"))
            for key in _XEN_KEYS:
                serial.sendall(key)
                time.sleep(2)

    def _results(self) -> bytes | None:
        """What dom0's `bar put` left: magic, length, data."""
        file = self._directory / _RESULTS
        if not file.exists():
            return None
        with file.open("rb") as shared:
            if shared.read(8) != b"LABOUT01":
                return None
            length = int.from_bytes(shared.read(8), "little")
            return shared.read(min(length, SHARED_MEMORY_MB << 20))


class _Monitor:
    """QEMU's machine protocol, as far as it is needed: ask and be answered.

    On a busy host QEMU may answer when we have given up and connected anew: each question has a
    number, which its answer repeats.
    """

    _numbers = itertools.count(1)

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_ANSWER_S)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("r")
        self.ask("qmp_capabilities")  # what comes before its answer is the greeting

    def ask(self, command: str, **arguments: str) -> dict:
        request = {"execute": command, "arguments": arguments, "id": next(self._numbers)}
        self._socket.sendall(json.dumps(request).encode())
        while True:
            answer = json.loads(self._lines.readline())
            if answer.get("id") != request["id"]:
                continue
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise KeyError(answer["error"].get("desc"))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()
