# SPDX-License-Identifier: GPL-2.0-only
"""A made-up trace, word by word as xen/include/public/trace.h has it.  Never a result."""

import struct

TAVS = 0x22C00
EVENT, TASK, EVIDENCE, BELIEF, GRANT, REFUSED, RUN, END = (TAVS + n for n in range(1, 9))
STATES = ("running", "runnable", "blocked", "offline")


def record(event, *words, tsc=None):
    stamp = [] if tsc is None else [tsc & 0xFFFFFFFF, tsc >> 32]
    header = event | len(words) << 28 | (tsc is not None) << 31
    return struct.pack(f"<{1 + len(stamp) + len(words)}I", header, *stamp, *words)


def window(cpu, *records):
    body = b"".join(records)
    return struct.pack("<3I", 0x1F003 | 2 << 28, cpu, len(body)) + body


def vcpu(domain, number=0):
    return domain << 16 | number


def pair(before, after):
    return before & 0xFFFF | (after & 0xFFFF) << 16


def runstate(tsc, domain, old, new):
    return record(0x21001 | STATES.index(old) << 8 | STATES.index(new) << 4, vcpu(domain), tsc=tsc)


def task(tsc, domain, task, belief=0, verdict=0, role=0, resumes=False, kernel=False):
    return record(
        TASK,
        vcpu(domain),
        task & 0xFFFFFFFF,
        task >> 32,
        belief & 0xFFFFFFFF,
        verdict | role << 8 | resumes << 16 | kernel << 17,
        tsc=tsc,
    )
