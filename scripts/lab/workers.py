# SPDX-License-Identifier: GPL-2.0-only
"""Runs side by side: one process, hence one QEMU, a core.

Each worker is a process group of its own, so that Ctrl-C reaches only us; we pass it on once, as
SIGTERM, which a worker takes as its own Ctrl-C.  If we die in any other way the kernel sends it.
"""

import contextlib
import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from . import results
from .cache import KEPT, Cache
from .errors import LabError
from .paths import BUILD
from .policy import Policy
from .progress import Board
from .scenario import Scenario

RESULTS, LOG = "results.json", "run.log"
GRACE_S = 20
MEASURING = "measure"  # the phase whose length is known
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Job:
    scenario: Scenario
    policy: Policy
    seed: int
    artifacts: dict
    rundir: Path
    fresh: bool = False
    trace_kb: int = 0  # of Xen's trace buffers; 0: no trace

    @property
    def label(self) -> str:
        return f"{self.scenario.name}/{self.policy.name}/{self.seed}"


@dataclass(frozen=True)
class Outcome:
    run: dict
    cached: bool = False
    wall_s: float = 0.0
    differs: tuple[str, ...] = ()  # files that a cached run of the same inputs had otherwise


def rundir(out: Path, scenario: str, policy: str, seed: int) -> Path:
    return out / scenario / policy / f"seed-{seed}"


def run_job(job: Job, cache: Cache, tell) -> Outcome:
    """One run, start to end; never raises LabError: a failed run is an incomplete result."""
    from . import run as machine_run  # imported late: listing scenarios needs no machine

    started, spent = time.monotonic(), _cpu_of_children()
    job.rundir.mkdir(parents=True, exist_ok=True)
    _clear(job.rundir)
    log = [f"{job.label}: started {time.strftime('%Y-%m-%d %H:%M:%S')}"]
    known = {"versions": job.artifacts.get("versions", {})}
    cached, error, differs = False, None, []
    try:
        BUILD.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=BUILD) as workdir:
            tell("preparing", 0.0)
            prepared = machine_run.prepare(job.scenario, job.policy, job.seed, job.artifacts, Path(workdir),
                                            trace_kb=job.trace_kb)
            known |= {"fingerprint": prepared.fingerprint, "inputs": prepared.inputs}
            log.append(f"fingerprint {prepared.fingerprint}, prepared in {time.monotonic() - started:.1f} s")
            cached = not job.fresh and cache.restore(prepared.fingerprint, job.rundir)
            if not cached:
                machine_run.execute(prepared, job.rundir, tell)
            run = results.collect(job.rundir, job.scenario, job.policy, job.seed, **known)
            if not cached:
                differs = cache.store(prepared.fingerprint, job.rundir)
    except LabError as problem:
        error = problem
    except KeyboardInterrupt:
        error = LabError("interrupted")
    except Exception as problem:
        log += traceback.format_exc().splitlines()
        error = LabError(f"internal error: {type(problem).__name__}: {problem}", traceback.format_exc())
    if error is not None:
        cached = False
        run = results.collect(job.rundir, job.scenario, job.policy, job.seed, error=error, **known)
        log += [f"error: {error.message}", *error.details]
    results.save(job.rundir / RESULTS, [run])
    wall = time.monotonic() - started
    log += [f"not repeatable: {name} differs from the cached run of the same inputs" for name in differs]
    how = "from the cache" if cached else f"measured, {_cpu_of_children() - spent:.1f} s of CPU time"
    log.append(f"{how}, {wall:.1f} s of wall time")
    (job.rundir / LOG).write_text("\n".join(log) + "\n")
    return Outcome(run, cached, wall, tuple(differs))


def _cpu_of_children() -> float:
    """Seconds that the processes which ended so far have used: with a run in between, the emulator's."""
    times = os.times()
    return times.children_user + times.children_system


def kept(job: Job) -> Outcome | None:
    """The complete run that the job's directory holds already, whatever went into it."""
    if not (job.rundir / RESULTS).exists() or not (job.rundir / "raw").is_dir():
        return None
    (run,) = results.load(job.rundir / RESULTS)
    return Outcome(run, cached=True) if run["complete"] else None


def run_all(jobs: list[Job], parallel: int, board: Board, cache: Cache | None = None) -> list[Outcome]:
    """All jobs, `parallel` at a time, in the order given.  KeyboardInterrupt ends the workers first."""
    cache = cache or Cache()
    context = multiprocessing.get_context("fork")
    waiting = list(enumerate(jobs))[::-1]
    running: dict = {}
    outcomes: dict[int, Outcome] = {}
    windows: dict[int, float] = {}  # when each measured window began
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                number, job = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(
                    target=_worker, args=(job, cache, theirs, os.getpid()), name=job.label
                )
                process.start()
                theirs.close()
                running[ours] = (number, job, process)
            for pipe in wait(list(running), timeout=0.2):
                number, job, process = running[pipe]
                try:
                    kind, *what = pipe.recv()
                except (EOFError, OSError):
                    kind, what = "done", [_vanished(job, process)]
                if kind == "phase":
                    phase, virtual_s = what
                    part = None
                    if phase == MEASURING:
                        began = windows.setdefault(number, virtual_s)
                        part = min(1.0, (virtual_s - began) / job.scenario.duration_s)
                    board.phase(job.label, phase, virtual_s, part)
                    continue
                outcomes[number] = outcome = what[0]
                process.join()
                pipe.close()
                del running[pipe]
                board.finish(job.label, describe(outcome))
            board.refresh()
    finally:
        _end([process for _, _, process in running.values()])
        signal.signal(signal.SIGTERM, previous)
    return [outcomes[number] for number in sorted(outcomes)]


def describe(outcome: Outcome) -> str:
    if not outcome.run["complete"]:
        return f"FAILED: {outcome.run['error']['message']}"
    return "cached" if outcome.cached else f"measured in {outcome.wall_s:.0f} s"


def _worker(job: Job, cache: Cache, pipe, parent: int) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    sys.stdout = sys.stderr = open(os.devnull, "w")

    def send(*what) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more; SIGTERM is on its way
            pipe.send(what)

    try:
        try:
            outcome = run_job(job, cache, lambda phase, virtual_s: send("phase", phase, virtual_s))
        except Exception as problem:
            outcome = _lost(job, LabError(f"internal error: {problem!r}", traceback.format_exc()))
        send("done", outcome)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)  # nothing that we started outlives us


def _vanished(job: Job, process) -> Outcome:
    """A worker that died without a word: killed, or out of memory."""
    process.join()
    return _lost(job, LabError(f"the worker process died (exit code {process.exitcode})"))


def _lost(job: Job, error: LabError) -> Outcome:
    """A run that did not even come to write its results."""
    run = results.collect(job.rundir, job.scenario, job.policy, job.seed, error=error)
    with contextlib.suppress(OSError):  # perhaps the very reason; all results are saved once more
        results.save(job.rundir / RESULTS, [run])
    return Outcome(run)


def _end(processes: list) -> None:
    """Ends workers and whatever they started."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + GRACE_S
    for process in processes:
        process.join(max(0.1, deadline - time.monotonic()))
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        process.join()


def _clear(directory: Path) -> None:
    """Removes what an earlier run left: these names only."""
    for name in (*KEPT, RESULTS, LOG):
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
