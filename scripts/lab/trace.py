# SPDX-License-Identifier: GPL-2.0-only
"""Xen's trace of a run: raw/trace.bin, in the format of xentrace(8), and what its records say.

The layout is that of xen/include/public/trace.h.  A file is a row of windows, each the records of one
pCPU behind a header that names it:

    word 0     event (28 bits), words that follow the time stamp (3 bits), has a time stamp (1 bit)
    word 1, 2  time stamp counter, if there is one
    then       up to seven words

Records of the same pCPU are in order.  raw/trace-clock.tsv relates the counter to the clock of wire's
samples; all times here are that clock's.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError, LabError
from .scenario import Scenario

TRACE, CLOCK = "trace.bin", "trace-clock.tsv"
BUFFER_MB = 16  # of each pCPU, unless asked for otherwise
MAX_MB = 48  # of all; leaves room for the other results in the memory shared with the host

LOST, WRAP, CPU_CHANGE = 0x1F001, 0x1F002, 0x1F003
RUNSTATE_MASK, RUNSTATE = 0xFFFFF00F, 0x21001  # the states are in between
TAVS = 0x22000 | 6 << 9  # scheduler classes are 9 bits apart

IDLE = 32767
NOBODY = 0xFFFF
STATES = ("running", "runnable", "blocked", "offline")
VERDICTS = ("not I/O-bound", "undecided", "I/O-bound")
ROLES = ("no event", "ran at the event", "resumed", "next", "behind")
CAUSES = ("positive", "negative", "ambiguous", "aged", "forgotten", "born")
REASONS = ("any", "block", "net", "driver", "timer")
REFUSALS = ("no task", "uncorrelated", "off", "budget", "ahead")
ENDS = ("revoked", "blocked", "capped")

Vcpu = tuple[int, int]  # domain, number


@dataclass(frozen=True, slots=True)
class Record:
    tsc: int
    cpu: int
    event: int
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Happened:
    at: int  # ns
    cpu: int
    vcpu: Vcpu


@dataclass(frozen=True, slots=True)
class Runstate(_Happened):
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Event(_Happened):
    """An I/O event became pending for the vCPU; `remote` is the domain that sent it, if one did."""

    port: int
    remote: int | None
    running: bool


@dataclass(frozen=True, slots=True)
class Task(_Happened):
    """The vCPU switches to a task, or resumes it with the pCPU."""

    task: int
    belief: int
    verdict: str
    role: str
    resumes: bool
    kernel: bool


@dataclass(frozen=True, slots=True)
class Evidence(_Happened):
    task: int
    cause: str
    before: int
    after: int
    used_ns: int


@dataclass(frozen=True, slots=True)
class Belief(_Happened):
    """The belief in a task crossed the threshold."""

    task: int
    before: int
    after: int
    cause: str


@dataclass(frozen=True, slots=True)
class Grant(_Happened):
    reason: str
    budget_us: int


@dataclass(frozen=True, slots=True)
class Refusal(_Happened):
    refusal: str
    reason: str


@dataclass(frozen=True, slots=True)
class Run(_Happened):
    """A boost gets the pCPU; used_ns is not 0 where it does so again."""

    reason: str
    used_ns: int


@dataclass(frozen=True, slots=True)
class End(_Happened):
    reason: str
    end: str
    hit: bool
    used_ns: int
    budget_us: int


Happened = Runstate | Event | Task | Evidence | Belief | Grant | Refusal | Run | End


@dataclass(frozen=True)
class Clock:
    """A straight line through two readings of both clocks."""

    tsc: int
    ns: int
    ns_per_tick: float

    @classmethod
    def between(cls, first: tuple[int, int], last: tuple[int, int]) -> "Clock":
        if last[0] <= first[0] or last[1] <= first[1]:
            raise LabError(f"{CLOCK}: the clocks do not advance")
        return cls(*first, (last[1] - first[1]) / (last[0] - first[0]))

    def at(self, tsc: int) -> int:
        return self.ns + round((tsc - self.tsc) * self.ns_per_tick)


@dataclass(frozen=True)
class Trace:
    happened: list[Happened]  # in the order of time
    records: int
    lost: int

    def of(self, kind: type) -> Iterator:
        return (h for h in self.happened if isinstance(h, kind))


def parse(data: bytes) -> Iterator[Record]:
    """Every record that has a time stamp, and those that say how many were lost."""
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            raise LabError(f"{TRACE}: cut off at byte {at}")
        header, cpu, size = struct.unpack_from("<3I", data, at)
        if header != CPU_CHANGE | 2 << 28:
            raise LabError(f"{TRACE}: no window begins at byte {at}, but {header:#x}")
        at += 12
        if size % 4 or size > len(data) - at:
            raise LabError(f"{TRACE}: the window at byte {at} is of {size} bytes, {len(data) - at} are left")
        yield from _window(data, at, at + size, cpu)
        at += size


def _window(data: bytes, at: int, end: int, cpu: int) -> Iterator[Record]:
    while at < end:
        (header,) = struct.unpack_from("<I", data, at)
        event, words, stamped = header & 0x0FFFFFFF, header >> 28 & 7, header >> 31
        size = 4 + 8 * stamped + 4 * words
        if at + size > end:
            raise LabError(f"{TRACE}: the record at byte {at} goes beyond its window")
        if stamped and event != WRAP:
            low, high, *rest = struct.unpack_from(f"<{2 + words}I", data, at + 4)
            yield Record(high << 32 | low, cpu, event, tuple(rest))
        at += size


def decode(record: Record, clock: Clock) -> Happened | None:
    """What a record says; None if nothing here asks for it.  LabError: it is not as trace.h has it."""
    event, words = record.event, record.words
    if event & RUNSTATE_MASK == RUNSTATE:
        make, length = _runstate, 1
    elif event in _TAVS:
        make, length = _TAVS[event]
    else:
        return None
    if len(words) != length:
        raise LabError(f"{TRACE}: a record of event {event:#x} has {len(words)} words instead of {length}")
    head = clock.at(record.tsc), record.cpu, (words[0] >> 16, words[0] & 0xFFFF)
    try:
        return make(head, event, words)
    except IndexError:
        raise LabError(
            f"{TRACE}: a record of event {event:#x} has a value that nothing knows: {words}"
        ) from None


def _runstate(head, event, w):
    return Runstate(*head, STATES[event >> 8 & 3], STATES[event >> 4 & 3])


def _signed(word: int, bits: int) -> int:
    word &= (1 << bits) - 1
    return word - (word >> bits - 1 << bits)


def _pair(word: int) -> tuple[int, int]:
    return _signed(word, 16), _signed(word >> 16, 16)


def _task(w) -> int:
    return w[2] << 32 | w[1]


_TAVS = {
    TAVS + 1: (lambda h, _, w: Event(*h, w[1], None if w[2] == NOBODY else w[2], bool(w[3])), 4),
    TAVS + 2: (
        lambda h, _, w: Task(
            *h,
            _task(w),
            _signed(w[3], 32),
            VERDICTS[w[4] & 0xFF],
            ROLES[w[4] >> 8 & 0xFF],
            bool(w[4] >> 16 & 1),
            bool(w[4] >> 16 & 2),
        ),
        5,
    ),
    TAVS + 3: (lambda h, _, w: Evidence(*h, _task(w), CAUSES[w[3]], *_pair(w[4]), w[5]), 6),
    TAVS + 4: (lambda h, _, w: Belief(*h, _task(w), *_pair(w[3]), CAUSES[w[4]]), 5),
    TAVS + 5: (lambda h, _, w: Grant(*h, REASONS[w[1]], w[2]), 3),
    TAVS + 6: (lambda h, _, w: Refusal(*h, REFUSALS[w[1]], REASONS[w[2]]), 3),
    TAVS + 7: (lambda h, _, w: Run(*h, REASONS[w[1]], w[2]), 3),
    TAVS + 8: (
        lambda h, _, w: End(*h, REASONS[w[1]], ENDS[w[2] & 0xFF], bool(w[2] >> 8), w[3], w[4]),
        5,
    ),
}


def read_clock(path: Path) -> Clock:
    try:
        readings = [tuple(int(f) for f in line.split()) for line in path.read_text().splitlines()]
    except FileNotFoundError:
        raise LabError(f"{path.name} is missing") from None
    except ValueError:
        readings = []
    if len(readings) != 2 or any(len(r) != 2 for r in readings):
        raise LabError(f"{path.name}: two lines of two numbers expected")
    return Clock.between(*readings)


def read(raw: Path) -> Trace:
    """The trace of a run, from its raw/."""
    clock = read_clock(raw / CLOCK)
    happened, records, lost = [], 0, 0
    for record in parse((raw / TRACE).read_bytes()):
        records += 1
        if record.event == LOST:
            lost += record.words[0]
        elif (one := decode(record, clock)) is not None:
            happened.append(one)
    happened.sort(key=lambda h: h.at)
    return Trace(happened, records, lost)


def lost(raw: Path) -> int:
    """How many records did not fit into the buffers."""
    return sum(r.words[0] for r in parse((raw / TRACE).read_bytes()) if r.event == LOST)


def traced(raw: Path) -> bool:
    return (raw / TRACE).exists()


def buffer_kb(scenario: Scenario, mb: int = BUFFER_MB) -> int:
    """The size of the buffer of each pCPU."""
    if mb * scenario.pcpus > MAX_MB:
        raise InputError(
            f"--trace-mb {mb}: {scenario.name} has {scenario.pcpus} pCPUs, and {MAX_MB} MB are all that a run hands over"
        )
    return mb * 1024
