# SPDX-License-Identifier: GPL-2.0-only
"""Running programs: quietly into a log, with the log's tail when they fail."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from . import paths
from .errors import ForgeError

TAIL_LINES = 25


def say(text: str) -> None:
    """Progress for people; standard output stays free for results."""
    print(f"forge: {text}", file=sys.stderr, flush=True)


def jobs() -> int:
    wanted = os.environ.get("JOBS", "")
    if wanted:
        if not wanted.isdigit() or int(wanted) == 0:
            raise ForgeError(f"JOBS={wanted}: a number above 0 is wanted", status=2)
        return int(wanted)
    return len(os.sched_getaffinity(0))


def clean_env(**extra: str) -> dict[str, str]:
    """The user's environment without what would change the bytes of a build."""
    keep = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "TMPDIR", "USER", "LOGNAME") or name.lower().endswith("_proxy")
    }
    keep.update(LC_ALL="C", TZ="UTC")
    keep.update(extra)
    return keep


def capture(argv: list, **kwargs) -> str:
    """Standard output of a program; its standard error is the detail of a failure."""
    try:
        done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, **kwargs)
    except FileNotFoundError as missing:
        raise ForgeError(f"{argv[0]} is not installed", "`make deps` names what is missing") from missing
    if done.returncode:
        raise ForgeError(f"{shlex.join(str(a) for a in argv)} failed", done.stderr.strip())
    return done.stdout


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def logged(what: str, argv: list, *, cwd=None, env=None) -> None:
    """Run a step that takes long: a line now, a line when it is done, all else in build/log."""
    paths.LOGS.mkdir(parents=True, exist_ok=True)
    log = paths.LOGS / (what.replace(" ", "-") + ".log")
    say(f"{what} ... ({paths.shown(log)})")
    began = time.monotonic()
    with open(log, "w") as out:
        print("$ " + shlex.join(str(a) for a in argv), file=out, flush=True)
        try:
            done = subprocess.run(
                [str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd, env=env
            )
        except FileNotFoundError as missing:
            raise ForgeError(f"{what}: {argv[0]} is not installed", "`make deps` names what is missing") from missing
    if done.returncode:
        raise ForgeError(f"{what} failed (status {done.returncode}); the end of {paths.shown(log)}:", tail(log))
    say(f"{what}: {time.monotonic() - began:.0f} s")
