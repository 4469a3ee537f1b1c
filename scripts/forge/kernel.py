# SPDX-License-Identifier: GPL-2.0-only
"""Debian's kernels: one for dom0 and the guests, with the headers that its modules build against.

The kernel is bookworm's on every host, so that figures compare.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import apt, bzimage, paths, proc, stamp
from .errors import ForgeError


@dataclass(frozen=True)
class Kernel:
    series: str            # "6.1"
    suites: tuple[str, ...]
    pinned: str            # preferred package version

    @property
    def suffix(self) -> str:
        return "" if self.series == DEFAULT else f"-{self.series}"

    @property
    def dir(self) -> Path:
        return paths.BUILD / f"kernel{self.suffix}"

    @property
    def vmlinux(self) -> Path:
        return paths.BUILD / f"vmlinux{self.suffix}"

    @property
    def stamp(self) -> str:
        return f"kernel-{self.series}"


DEFAULT = "6.1"
KERNELS = {
    "6.1": Kernel("6.1", ("bookworm", "bookworm-security"), "6.1.192-2"),
    "6.12": Kernel("6.12", ("bookworm-backports",), ""),
}


def _offered(archive: apt.Archive, kernel: Kernel) -> dict[str, str]:
    """The releases, by the version of their packages."""
    pattern = re.compile(rf"linux-image-({re.escape(kernel.series)}\.\S+-amd64) \(= (\S+?)\)")
    found = {}
    for stanza in archive.stanzas("show", "linux-image-amd64"):
        match = pattern.search(stanza.get("Depends", ""))
        if match:
            found[match[2]] = match[1]
    if not found:
        raise ForgeError(f"{' and '.join(kernel.suites)} offer no kernel {kernel.series}")
    return found


def _packages(archive: apt.Archive, release: str, version: str) -> list[str]:
    """The kernel, its headers and what those need: the common headers and kbuild."""
    headers = f"linux-headers-{release}"
    (stanza,) = archive.stanzas("show", f"{headers}={version}")
    needed = re.findall(r"linux-(?:headers-[^\s,]+-common|kbuild-[^\s,]+)", stanza["Depends"])
    return [f"{name}={version}" for name in (f"linux-image-{release}", headers, *needed)]


def _download(kernel: Kernel) -> dict:
    """Fetch the packages once; {release, version, files: {name: sha256}} says what there is."""
    name = f"{kernel.stamp}-download"
    noted = stamp.read(name)
    if noted and all((paths.DOWNLOAD / f).exists() for f in noted["files"]):
        return noted
    archive = apt.Archive(kernel.stamp, "deb", list(kernel.suites))
    archive.update()
    releases = _offered(archive, kernel)

    def get(version: str, incoming: Path) -> None:
        release = releases[version]
        archive.get(f"download kernel {release}", "download", *_packages(archive, release, version), cwd=incoming)

    version, files = apt.download(f"kernel {kernel.series}", apt.in_order(releases, kernel.pinned), kernel.pinned, get)
    stamp.write(name, stamp.key_of(files), release=releases[version], version=version, files=files)
    return stamp.read(name)


def _relocate_headers(tree: Path, release: str) -> None:
    """Debian's header packages name each other by absolute path: point them into the unpacked tree."""
    prefix = str(tree)
    for makefile in (tree / "usr/src").glob("linux-headers-*/Makefile"):
        text = makefile.read_text()
        makefile.write_text(re.sub(r"(?<![\w/])/usr/(src|lib)/linux-", rf"{prefix}/usr/\1/linux-", text))
    for link in [*(tree / "usr/src").glob("linux-headers-*/*"), *(tree / f"lib/modules/{release}").iterdir()]:
        if link.is_symlink() and str(link.readlink()).startswith("/"):
            target = prefix + str(link.readlink())
            link.unlink()
            link.symlink_to(target)


def get(series: str = DEFAULT) -> dict:
    """Unpacked kernel and vmlinux; returns {release, version}."""
    kernel = KERNELS[series]
    noted = _download(kernel)
    # The unpacked headers hold absolute paths: a repository that has moved has to unpack again.
    key = stamp.key_of(noted["files"], str(kernel.dir), "layout 1")
    if not stamp.fresh(kernel.stamp, key, kernel.dir, kernel.vmlinux):
        new = kernel.dir.with_name(kernel.dir.name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        for package in apt.unchanged(noted["files"]):
            proc.say(f"unpack {package.name}")
            proc.capture(["dpkg-deb", "-x", package, new])
        release = noted["release"]
        depmod = shutil.which("depmod") or "/usr/sbin/depmod"
        proc.capture([depmod, "-b", new, release])
        shutil.rmtree(kernel.dir, ignore_errors=True)
        new.rename(kernel.dir)
        _relocate_headers(kernel.dir, release)
        bzimage.extract_file(kernel.dir / f"boot/vmlinuz-{release}", kernel.vmlinux)
        stamp.write(kernel.stamp, key, release=release, version=noted["version"])
    return stamp.read(kernel.stamp)
