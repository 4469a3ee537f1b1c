# SPDX-License-Identifier: GPL-2.0-only
"""Removing what was generated, without losing edits that exist nowhere else."""

import shutil

from . import paths, stamp, tree
from .errors import ForgeError


def distclean(force: bool) -> None:
    if stamp.read("tree") and paths.TREE.is_dir():
        pending = tree.edits()
        if pending and not force:
            raise ForgeError(
                f"{paths.shown(paths.TREE)} holds edits that are in no patch:",
                "\n".join(pending[:20]) + "\n`make refresh` turns them into patches; FORCE=1 deletes them.",
            )
    for directory in (paths.BUILD, paths.OUT):
        shutil.rmtree(directory, ignore_errors=True)
