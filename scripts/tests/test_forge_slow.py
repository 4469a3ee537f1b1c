# SPDX-License-Identifier: GPL-2.0-only
"""Real builds: the same bytes from different places, and a series that builds commit by commit. An hour or so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forge import paths, stamp, toolstack, tree, xen
from forge_fixture import SCRIPTS

pytestmark = pytest.mark.slow


def digest(directory: Path) -> dict[str, str]:
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = stamp.file_hash(path)
    return found


def copy_of_the_tree(directory: Path) -> tree.Tree:
    work = tree.get()
    tree.checkout(work.id, directory)
    return work


def test_hypervisor_has_the_same_bytes_from_another_directory(tmp_path):
    booted = xen.build("release")
    src = tmp_path / "one" / "src"
    work = copy_of_the_tree(src)
    config = xen.wanted_options("release", (src / "xen/common/sched/Kconfig").read_text())
    obj = tmp_path / "elsewhere/obj"
    xen.compile_at("xen-again", src, obj, config, tree.subtree(work.id, "xen"), work.date)
    for product in ("xen", "xen-syms"):
        assert stamp.file_hash(obj / product) == stamp.file_hash(booted.with_name(product)), product
    for needle in (str(paths.ROOT), str(tmp_path)):
        assert needle.encode() not in booted.with_name("xen-syms").read_bytes()
    tree.remove(src)


def test_toolstack_has_the_same_bytes_from_another_directory(tmp_path):
    installed = toolstack.build()
    src = tmp_path / "tools-again"
    work = copy_of_the_tree(src)
    toolstack.compile_at(src, tmp_path / "dest", work.date)
    again, first = digest(tmp_path / "dest"), digest(installed)
    different = sorted(name for name in again.keys() | first.keys() if again.get(name) != first.get(name))
    tree.remove(src)
    shutil.rmtree(tmp_path / "dest")
    assert different == []


def test_each_commit_of_the_series_builds():
    done = subprocess.run([sys.executable, "-m", "forge", "check-series"], cwd=paths.ROOT, text=True,
                          capture_output=True, env=dict(os.environ, PYTHONPATH=str(SCRIPTS)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("each builds")
