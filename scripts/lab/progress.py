# SPDX-License-Identifier: GPL-2.0-only
"""What is being done: bars on a terminal, plain lines in a pipe.

Nothing here starts a thread: the caller draws when something happened or a moment passed.
"""

import time

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


class Board:
    """One line for each job that runs, and one for all of them."""

    def __init__(self, console: Console, total: int):
        self.console = console
        self.total, self.finished = total, 0
        self.started = time.monotonic()
        self.lines: dict[str, object] = {}
        self.phases: dict[str, str] = {}
        self.progress = None
        if console.is_terminal:
            self.progress = Progress(
                SpinnerColumn(finished_text="●"),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                console=console,
                auto_refresh=False,
                transient=True,
            )
            self.all = self.progress.add_task("runs", total=total, note=f"0 of {total}")

    def __enter__(self):
        if self.progress:
            self.progress.start()
        return self

    def __exit__(self, *_):
        if self.progress:
            self.progress.stop()

    def phase(self, job: str, phase: str, virtual_s: float, part: float | None = None) -> None:
        """A job is in a phase at a virtual time; `part` of the phase is over, if that is known."""
        if self.progress is None:
            kind = phase.split()[0]  # "create d1", "create h1": one line
            if self.phases.get(job) != kind:
                self._say(f"{job}: {kind} ({virtual_s:.0f} virtual s)")
            self.phases[job] = kind
            return
        note = f"{phase} · {virtual_s:.0f} virtual s"
        if job not in self.lines:
            self.lines[job] = self.progress.add_task(job, total=None, note=note)
        self.progress.update(
            self.lines[job], note=note, total=None if part is None else 1.0, completed=part or 0.0
        )

    def finish(self, job: str, how: str) -> None:
        self.finished += 1
        self.phases.pop(job, None)
        if self.progress is None:
            self._say(f"{job}: {how} ({self.finished} of {self.total})")
            return
        if job in self.lines:
            self.progress.remove_task(self.lines.pop(job))
        self.progress.update(self.all, completed=self.finished, note=f"{self.finished} of {self.total}")
        self.progress.console.print(f"  {job}: {how}", highlight=False)

    def refresh(self) -> None:
        if self.progress:
            self.progress.refresh()

    def _say(self, text: str) -> None:
        self.console.print(
            f"[{time.monotonic() - self.started:5.0f} s] {text}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
