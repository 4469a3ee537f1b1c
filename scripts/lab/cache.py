# SPDX-License-Identifier: GPL-2.0-only
"""Raw results that were measured before, under the hash of everything that went into them.

An entry holds raw/, serial.log and a manifest with a hash of each file.  results.json is not kept:
it is computed again from the raw files, so a better statistic needs no new run.  Entries appear
whole, by a rename; one that was damaged is not used.
"""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from .paths import CACHE

KEPT = ("raw", "serial.log")
MANIFEST = "manifest.json"


class Cache:
    def __init__(self, root: Path = CACHE):
        self.root = root

    def restore(self, fingerprint: str, rundir: Path) -> bool:
        """Copies an entry into rundir.  False: there is none, or it is damaged."""
        entry = self.root / fingerprint
        expected = self._manifest(entry)
        if expected is None or digests(entry) != expected:
            return False
        rundir.mkdir(parents=True, exist_ok=True)
        _copy(entry, rundir)
        return True

    def store(self, fingerprint: str, rundir: Path) -> list[str]:
        """Keeps a complete run.  Returns the files that differ from an entry of the same name:
        none, unless the machine does not repeat itself."""
        entry = self.root / fingerprint
        found = digests(rundir)
        before = self._manifest(entry)
        self.root.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".new-", dir=self.root))
        try:
            _copy(rundir, part)
            (part / MANIFEST).write_text(json.dumps(found, indent=1) + "\n")
            if entry.exists():
                shutil.rmtree(entry)
            os.rename(part, entry)
        except OSError:
            # Another run of the same inputs came first: its entry is as good.
            shutil.rmtree(part, ignore_errors=True)
            if not entry.exists():
                raise
        if before is None:
            return []
        return sorted(name for name in before.keys() | found.keys() if before.get(name) != found.get(name))

    @staticmethod
    def _manifest(entry: Path) -> dict[str, str] | None:
        try:
            return json.loads((entry / MANIFEST).read_text())
        except (OSError, ValueError):
            return None


def digests(directory: Path) -> dict[str, str]:
    """SHA-256 of each kept file."""
    files = []
    for name in KEPT:
        path = directory / name
        files += [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return {str(p.relative_to(directory)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(files)}


def _copy(source: Path, target: Path) -> None:
    for name in KEPT:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        elif (source / name).exists():
            shutil.copyfile(source / name, target / name)
