# SPDX-License-Identifier: GPL-2.0-only
"""Where things are. FORGE_ROOT moves the whole (the tests use that)."""

import os
from pathlib import Path

ROOT = Path(os.environ.get("FORGE_ROOT") or Path(__file__).resolve().parents[2])
BUILD = ROOT / "build"
OUT = ROOT / "out"

DOWNLOAD = BUILD / "download"
LOGS = BUILD / "log"
STAMPS = BUILD / "stamps"
SOURCE = BUILD / "source"            # Xen as published, unpacked
TREE = BUILD / "tree"                # work tree: source + overlay + patches
TREE_GIT = BUILD / "tree.git"        # its repository, beside it: Xen's build then sees no .git directory
PRISTINE = BUILD / "pristine-tree"   # source only
OBJ = BUILD / "obj"                  # Xen's O= directories
HYPERVISORS = BUILD / "xen"          # what the builds produced
TOOLS_SRC = BUILD / "tools-src"      # the toolstack builds in its source: a copy keeps the work tree clean
TOOLS = BUILD / "tools"              # DESTDIR of the toolstack
TOOLS_SRC_PRISTINE = BUILD / "tools-src-pristine"
TOOLS_PRISTINE = BUILD / "tools-pristine"  # the toolstack without our patches, for comparison
MODULES = BUILD / "modules"
QEMU = BUILD / "qemu"                # the emulator and its firmware

PATCHES = ROOT / "patches" / "xen-4.20"
SERIES = PATCHES / "series"
CONFIGS = Path(__file__).resolve().parent / "config"
OVERLAY_DIRS = ("xen", "tools", "docs/features")


def shown(path: Path) -> str:
    """A path as messages show it: relative to the repository when it is inside."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)
