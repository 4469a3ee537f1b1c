# SPDX-License-Identifier: GPL-2.0-only
"""git on the work tree's repository, free of the user's configuration, so that results are the same everywhere."""

import os
import subprocess
from pathlib import Path

from . import paths, proc
from .errors import ForgeError

NAME, EMAIL = "xen-tavs", "xen-tavs@localhost"


def env(date: int | None = None, index: Path | None = None, work_tree: Path | None = None) -> dict[str, str]:
    values = proc.clean_env(
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_NOSYSTEM="1",
        GIT_DIR=str(paths.TREE_GIT),
        GIT_WORK_TREE=str(work_tree or paths.TREE),
        GIT_AUTHOR_NAME=NAME,
        GIT_AUTHOR_EMAIL=EMAIL,
        GIT_COMMITTER_NAME=NAME,
        GIT_COMMITTER_EMAIL=EMAIL,
    )
    if date is not None:
        values["GIT_AUTHOR_DATE"] = values["GIT_COMMITTER_DATE"] = f"{date} +0000"
    if index:
        values["GIT_INDEX_FILE"] = str(index)
    return values


def attempt(*words, data: bytes | None = None, environ: dict | None = None) -> subprocess.CompletedProcess:
    """Run git; the caller looks at the status."""
    environ = environ or env()
    cwd = environ["GIT_WORK_TREE"] if Path(environ["GIT_WORK_TREE"]).is_dir() else paths.BUILD
    return subprocess.run(["git", *map(str, words)], input=data, capture_output=True, env=environ, cwd=cwd)


def raw(*words, data: bytes | None = None, environ: dict | None = None) -> bytes:
    done = attempt(*words, data=data, environ=environ)
    if done.returncode:
        raise ForgeError(f"git {words[0]} failed", done.stderr.decode(errors="replace").strip())
    return done.stdout


def run(*words, data: bytes | None = None, environ: dict | None = None) -> str:
    return raw(*words, data=data, environ=environ).decode(errors="surrogateescape")


def resolve(name: str) -> str | None:
    done = attempt("rev-parse", "--verify", "--quiet", f"{name}^{{}}")
    return done.stdout.decode().strip() if done.returncode == 0 else None


def tree_of(commit: str) -> str:
    return run("rev-parse", f"{commit}^{{tree}}").strip()


def files_of(treeish: str) -> set[str]:
    return set(filter(None, run("ls-tree", "-r", "-z", "--name-only", treeish).split("\0")))


def commits(base: str, head: str) -> list[str]:
    """From the oldest to the newest."""
    return run("rev-list", "--reverse", "--first-parent", f"{base}..{head}").split()


def put(treeish: str, directory: Path, index: Path) -> None:
    """Make a directory hold a tree. Only files that differ are written: builds there stay incremental."""
    directory.mkdir(parents=True, exist_ok=True)
    environ = env(index=index, work_tree=directory)
    if not index.exists():
        run("read-tree", "--empty", environ=environ)
    attempt("update-index", "-q", "--refresh", environ=environ)
    run("read-tree", "--reset", "-u", treeish, environ=environ)
