# SPDX-License-Identifier: GPL-2.0-only
"""The emulator of the laboratory: bookworm's QEMU on every host, with the patches of patches/qemu.

It is built with what the laboratory's machine needs and no more: system emulation of x86, no graphics, no host devices.
The firmware that boots Xen is Debian's; it is copied beside the emulator, so that one directory is all that runs.
"""

import shutil
from pathlib import Path

from . import apt, paths, proc, stamp, xen
from .errors import ForgeError

PINNED_VERSION = "1:7.2+dfsg-7+deb12u18"
SUITES = ["bookworm", "bookworm-security"]
PATCHES = paths.ROOT / "patches/qemu"
BINARY = "qemu-system-x86_64"
# The BIOS, and what it boots a multiboot kernel with; from the packages seabios and qemu-system-data.
FIRMWARE = ("/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/multiboot_dma.bin", "/usr/share/qemu/kvmvapic.bin")
OPTIONS = ["--target-list=x86_64-softmmu", "--without-default-features", "--enable-system", "--enable-tcg",
           "--enable-trace-backends=nop", "--disable-debug-info", "--meson=/usr/bin/meson"]


def _download() -> dict:
    """Fetch the source package once; {version, files: {name: sha256}} says what there is."""
    noted = stamp.read("qemu-download")
    if noted and all((paths.DOWNLOAD / f).exists() for f in noted["files"]):
        return noted
    archive = apt.Archive("qemu", "deb-src", SUITES)
    archive.update()
    offered = apt.in_order((s["Version"] for s in archive.stanzas("showsrc", "--only-source", "qemu")), PINNED_VERSION)

    def get(version: str, incoming: Path) -> None:
        archive.get(f"download qemu {version}", "source", "--download-only", f"qemu={version}", cwd=incoming)

    version, files = apt.download("source of QEMU", offered, PINNED_VERSION, get)
    stamp.write("qemu-download", stamp.key_of(files), version=version, files=files)
    return stamp.read("qemu-download")


def _unpack(noted: dict, work: Path) -> Path:
    """Debian's source with our patches; returns its directory."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (dsc,) = (file for file in apt.unchanged(noted["files"]) if file.suffix == ".dsc")
    src = work / "src"
    proc.logged("unpack qemu", ["dpkg-source", "--no-copy", "-x", dsc, src], env=proc.clean_env())
    for patch in sorted(PATCHES.glob("*.patch")):
        proc.capture(["patch", "-p1", "--fuzz=0", "-i", patch], cwd=src)
    return src


def build() -> Path:
    """Brings the emulator up to date; its directory, with BINARY and the firmware."""
    absent = [path for path in FIRMWARE if not Path(path).exists()]
    if absent:
        raise ForgeError("firmware of the emulator is missing; `make deps` names its packages", "\n".join(absent))
    noted = _download()
    patches = [(p.name, stamp.file_hash(p)) for p in sorted(PATCHES.glob("*.patch"))]
    firmware = [(path, stamp.file_hash(Path(path))) for path in FIRMWARE]
    key = stamp.key_of("qemu 1", noted["files"], patches, firmware, OPTIONS, xen.compiler())
    if stamp.fresh("qemu", key, *(paths.QEMU / name for name in (BINARY, *(Path(f).name for f in FIRMWARE)))):
        return paths.QEMU
    work = paths.BUILD / "qemu-src"
    src, obj = _unpack(noted, work), work / "obj"
    obj.mkdir()
    environ = proc.clean_env()
    proc.logged("configure qemu", [src / "configure", *OPTIONS, f"--extra-cflags=-ffile-prefix-map={work}/="],
                cwd=obj, env=environ)
    proc.logged("build qemu", ["nice", "-n", "5", "ninja", f"-j{proc.jobs()}", BINARY], cwd=obj, env=environ)
    new = paths.QEMU.with_name(paths.QEMU.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for file in (obj / BINARY, *FIRMWARE):
        shutil.copy2(file, new)
    shutil.rmtree(paths.QEMU, ignore_errors=True)
    new.rename(paths.QEMU)
    version = proc.capture([paths.QEMU / BINARY, "--version"]).splitlines()[0]
    stamp.write("qemu", key, version=f"{version.removeprefix('QEMU emulator version ')}, {noted['version']}, patched")
    shutil.rmtree(work)
    return paths.QEMU
