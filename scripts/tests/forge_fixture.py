# SPDX-License-Identifier: GPL-2.0-only
"""A repository in a temporary directory, with a Xen of three files: forge runs on it as it does on the real one."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]

CREDIT = "".join(f"credit line {n}\n" for n in range(1, 61))
CORE = "".join(f"core line {n}\n" for n in range(1, 41))

FIRST = """\
Subject: xen/sched: change credit

Why it is changed.
---
diff --git a/xen/common/sched/credit.c b/xen/common/sched/credit.c
--- a/xen/common/sched/credit.c
+++ b/xen/common/sched/credit.c
@@ -2,7 +2,8 @@ credit line 1
 credit line 2
 credit line 3
 credit line 4
-credit line 5
+credit line five
+credit line five and a half
 credit line 6
 credit line 7
 credit line 8
"""

SECOND = """\
Subject: xen/sched: add tavs
---
diff --git a/xen/common/sched/core.c b/xen/common/sched/core.c
--- a/xen/common/sched/core.c
+++ b/xen/common/sched/core.c
@@ -1,3 +1,4 @@
+core line 0
 core line 1
 core line 2
 core line 3
diff --git a/xen/common/sched/credit.c b/xen/common/sched/credit.c
--- a/xen/common/sched/credit.c
+++ b/xen/common/sched/credit.c
@@ -38,7 +38,6 @@ credit line 36
 credit line 37
 credit line 38
 credit line 39
-credit line 40
 credit line 41
 credit line 42
 credit line 43
"""

SERIES = """\
# The hooks.
0001-credit.patch
+ xen/common/sched/credit-ops.h

0002-tavs.patch
+ xen/common/sched/tavs/
"""


class Repository:
    def __init__(self, root: Path):
        self.root = root
        self.xen = root / "own-xen"
        self.tree = root / "build/tree"
        self.patches = root / "patches/xen-4.20"
        self.write("own-xen/xen/common/sched/credit.c", CREDIT)
        self.write("own-xen/xen/common/sched/core.c", CORE)
        self.write("own-xen/README", "a small Xen\n")
        self.write("patches/xen-4.20/series", SERIES)
        self.write("patches/xen-4.20/0001-credit.patch", FIRST)
        self.write("patches/xen-4.20/0002-tavs.patch", SECOND)
        self.write("xen/common/sched/credit-ops.h", "operations\n")
        self.write("xen/common/sched/tavs/a.c", "a\n")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def forge(self, *words: str, status: int = 0, **env: str) -> str:
        """Run forge; both outputs as one text."""
        done = subprocess.run(
            [sys.executable, "-m", "forge", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.root,
            env=dict(os.environ, FORGE_ROOT=str(self.root), XEN_SRC=str(self.xen), PYTHONPATH=str(SCRIPTS), FORCE="", **env),
        )
        assert done.returncode == status, done.stdout
        assert "Traceback" not in done.stdout
        return done.stdout

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=A Developer", "-c", "user.email=a@example.org"]
        done = subprocess.run(["git", "-C", self.tree, *identity, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def files(self) -> dict[str, bytes]:
        """Patches, series and overlay: what a refresh may write."""
        found = {}
        for top in ("patches", "xen", "tools"):
            for path in (self.root / top).rglob("*"):
                if path.is_file():
                    found[str(path.relative_to(self.root))] = path.read_bytes()
        return found

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.tree / name
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
