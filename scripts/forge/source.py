# SPDX-License-Identifier: GPL-2.0-only
"""Xen's source: Debian's orig tarball, or a tree of the user's own (XEN_SRC=DIR)."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import apt, paths, proc, stamp
from .errors import ForgeError

PINNED_VERSION = "4.20.3+127-gc42374a105-0+deb13u1"
PINNED_SHA256 = "df0831854a55a8f31cb3cb85036f2edc928e2ef098d77f815f5714bfafac68f3"
SERIES_VERSION = "4.20."
SUITES = ["trixie"]
FALLBACK_SUITES = ["trixie", "trixie-security", "sid"]


@dataclass(frozen=True)
class Source:
    dir: Path
    version: str
    key: str      # hash over the content
    date: int     # seconds since 1970: the date that builds put where they want one


def upstream(version: str) -> str:
    return version.rsplit("-", 1)[0]


def _tarball(version: str) -> Path:
    return paths.DOWNLOAD / f"xen_{upstream(version)}.orig.tar.xz"


def _download(archive: apt.Archive, version: str) -> Path:
    archive.get(
        f"download xen {upstream(version)}",
        "source", "--download-only", "--tar-only", f"xen={version}",
        cwd=paths.DOWNLOAD,
    )
    if not _tarball(version).exists():
        raise ForgeError(f"apt fetched no {_tarball(version).name}")
    return _tarball(version)


def _fallback() -> tuple[str, Path]:
    """Any other 4.20.x that the signed index lists and that can still be fetched, the newest first."""
    archive = apt.Archive("xen-fallback", "deb-src", FALLBACK_SUITES)
    archive.update()
    listed = {s["Version"] for s in archive.stanzas("showsrc", "--only-source", "xen")}
    tried = []
    for version in apt.in_order(v for v in listed if v.startswith(SERIES_VERSION) and v != PINNED_VERSION):
        try:
            tarball = _download(archive, version)
        except ForgeError as error:
            tried.append(f"{version}: {error.message}")
            continue
        proc.say(f"WARNING: Xen {PINNED_VERSION} is gone from the archive; this is {version}.")
        proc.say("WARNING: patches may not apply to it, and figures do not compare with published ones.")
        return version, tarball
    raise ForgeError(
        f"no Xen {SERIES_VERSION}x can be fetched; give a source tree of your own: make ... XEN_SRC=/path/to/xen",
        "\n".join(tried),
    )


def _fetch() -> tuple[str, Path]:
    noted = stamp.read("source-download")
    if noted.get("pinned") == PINNED_VERSION:
        tarball = _tarball(noted["version"])
        if tarball.exists() and stamp.file_hash(tarball) == noted["key"]:
            return noted["version"], tarball
    version, tarball = PINNED_VERSION, _tarball(PINNED_VERSION)
    if not (tarball.exists() and stamp.file_hash(tarball) == PINNED_SHA256):
        tarball.unlink(missing_ok=True)
        archive = apt.Archive("xen", "deb-src", SUITES)
        try:
            archive.update()
            _download(archive, version)
        except ForgeError as error:
            proc.say(f"WARNING: Xen {version} cannot be fetched: {error.message}")
            version, tarball = _fallback()
        else:
            if stamp.file_hash(tarball) != PINNED_SHA256:
                raise ForgeError(f"{tarball.name} is not the file that was pinned (SHA-256 differs)")
    stamp.write("source-download", stamp.file_hash(tarball), version=version, pinned=PINNED_VERSION)
    return version, tarball


def _from_archive() -> Source:
    version, tarball = _fetch()
    key = stamp.read("source-download")["key"]
    target = paths.SOURCE / f"xen-{upstream(version)}"
    if not stamp.fresh("source", key, target):
        shutil.rmtree(paths.SOURCE, ignore_errors=True)
        unpacking = paths.SOURCE / "unpacking"
        unpacking.mkdir(parents=True)
        proc.say(f"unpack {tarball.name}")
        proc.capture(["tar", "-xf", tarball, "-C", unpacking, "--no-same-owner"])
        (top,) = unpacking.iterdir()
        date = int(top.stat().st_mtime)
        top.rename(target)
        unpacking.rmdir()
        stamp.write("source", key, version=version, date=date)
    return Source(target, upstream(version), key, stamp.read("source")["date"])


def _own_files(tree: Path) -> list[str]:
    """What of a user's tree is source: the tracked files if it is a git checkout, else all of it."""
    if (tree / ".git").exists():
        listed = proc.capture(["git", "-C", tree, "ls-files", "-z"], errors="surrogateescape")
        return sorted(f for f in listed.split("\0") if f and (tree / f).exists())
    return sorted(str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_symlink() or p.is_file())


def _from_user(tree: Path) -> Source:
    if not (tree / "xen/common/sched/credit.c").is_file():
        raise ForgeError(f"XEN_SRC={tree} is not a source tree of Xen", "xen/common/sched/credit.c is not in it", 2)
    files = _own_files(tree)
    digest = hashlib.sha256()
    newest = 0
    for name in files:
        path = tree / name
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        digest.update(f"{name}\0{os.access(path, os.X_OK)}\0{len(content)}\0".encode())
        digest.update(content)
        newest = max(newest, int(path.lstat().st_mtime))
    key = digest.hexdigest()
    target = paths.SOURCE / f"own-{key[:12]}"
    if not stamp.fresh("source", key, target):
        proc.say(f"copy {len(files)} files from {tree}")
        shutil.rmtree(paths.SOURCE, ignore_errors=True)
        for name in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, target / name, follow_symlinks=False)
        stamp.write("source", key, version=f"own-{key[:12]}", date=newest)
    return Source(target, f"own-{key[:12]}", key, stamp.read("source")["date"])


def get() -> Source:
    own = os.environ.get("XEN_SRC", "")
    return _from_user(Path(own).resolve()) if own else _from_archive()
