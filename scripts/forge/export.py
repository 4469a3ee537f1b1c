# SPDX-License-Identifier: GPL-2.0-only
"""The series as it goes to the mailing list, and the check that each of its commits builds."""

import os
import shutil
import time
from pathlib import Path

from . import git, paths, proc, source, toolstack, tree, xen
from .errors import ForgeError

COVER = paths.PATCHES / "cover-letter"   # first line: subject; the rest: text


def _identity() -> tuple[str, str]:
    """Who sends: git's configuration, as the user has it."""
    found = []
    for key in ("user.name", "user.email"):
        done = git.attempt("config", "--get", key, environ=dict(os.environ, GIT_WORK_TREE=str(paths.ROOT)))
        found.append(done.stdout.decode().strip())
    if not all(found):
        proc.say(f"note: git has no user.name and user.email; the series is from {git.NAME} <{git.EMAIL}>")
        return git.NAME, git.EMAIL
    return found[0], found[1]


def _chain() -> tuple[str, str]:
    """(base, last commit) of the series as it is in patches/ and overlay."""
    work = tree.get()
    head, unnamed = tree.assemble(work.base, work.date)
    if unnamed:
        raise ForgeError("the series has to say with which patch these overlay files enter:", "\n".join(unnamed))
    if head == work.base:
        raise ForgeError("the series is empty")
    if tree.edits():
        proc.say("note: edits in build/tree that are not refreshed are not in the series")
    return work.base, head


def run(out: str | None = None) -> Path:
    target = Path(out) if out else paths.OUT / "series"
    base, head = _chain()
    name, email = _identity()
    environ = git.env(int(time.time()))
    for role in ("AUTHOR", "COMMITTER"):
        environ[f"GIT_{role}_NAME"], environ[f"GIT_{role}_EMAIL"] = name, email
    parent = base
    for commit in git.commits(base, head):
        message = git.raw("log", "-1", "--format=%B", commit)
        content = git.tree_of(commit)
        parent = git.run("commit-tree", content, "-p", parent, "-F", "-", data=message, environ=environ).strip()
    if target.exists():
        strangers = [p.name for p in target.iterdir() if p.suffix != ".patch"]
        if strangers:
            raise ForgeError(f"{target} holds other things than patches: {', '.join(strangers[:5])}", status=2)
        shutil.rmtree(target)
    git.run("format-patch", "-q", "--signoff", "--cover-letter", "--base", base, "-o", target.resolve(),
            f"{base}..{parent}", environ=environ)
    if COVER.exists():
        subject, _, text = COVER.read_text().partition("\n")
        letter = target / "0000-cover-letter.patch"
        filled = letter.read_text().replace("*** SUBJECT HERE ***", subject).replace("*** BLURB HERE ***", text.strip("\n"))
        letter.write_text(filled)
    return target


def check() -> None:
    """Build the hypervisor after each commit, and the toolstack after each that touches what it is made from."""
    base, head = _chain()
    date = source.get().date
    src, obj = paths.BUILD / "check-series", paths.OBJ / "check-series"
    commits = git.commits(base, head)
    tools = ""
    for number, commit in enumerate(commits, 1):
        content = git.tree_of(commit)
        subject = git.run("log", "-1", "--format=%s", commit).strip()
        proc.say(f"{number}/{len(commits)}: {subject}")
        tree.checkout(content, src)
        config = xen.wanted_options("release", git.run("show", f"{content}:xen/common/sched/Kconfig"))
        xen.compile_at("series hypervisor", src, obj, config, tree.subtree(content, "xen"), date)
        made_from = "\n".join(toolstack.inputs(content))
        if made_from != tools:
            tree.checkout(content, paths.BUILD / "check-series-tools")
            toolstack.compile_at(paths.BUILD / "check-series-tools", paths.BUILD / "check-series-install", date)
            tools = made_from
    print(f"{len(commits)} commits, each builds")
