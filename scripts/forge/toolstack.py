# SPDX-License-Identifier: GPL-2.0-only
"""The toolstack: xl, xenstored, xenconsoled and their libraries, installed into build/tools."""

import re
import shutil
from pathlib import Path

from . import git, paths, proc, stamp, tree, xen

CONFIGURE = [
    "--prefix=/usr",
    "--libdir=/usr/lib",
    "--sysconfdir=/etc",
    "--localstatedir=/var",
    "--disable-docs",
    "--disable-stubdom",
    "--disable-golang",
    "--disable-ocamltools",
    "--disable-xsmpolicy",
    "--disable-seabios",
    "--disable-ovmf",
    "--disable-ipxe",
    "--disable-rombios",
    "--disable-pvshim",
    "--disable-systemd",
    "--with-system-qemu=/usr/bin/qemu-system-x86_64",
]
# Not part of it: tests, our Linux modules, and the hypervisor's own code (it takes headers, decompressors, libelf).
APART = re.compile(r"tools/(tests|linux)/|(docs|stubdom|automation|misc)/|xen/(drivers|xsm|common/(sched|tavs))/|xen/arch/(?!x86/include/)")


def inputs(treeish: str) -> list[str]:
    lines = git.run("ls-tree", "-r", treeish).splitlines()
    return [line for line in lines if not APART.match(line.split("\t")[1])]


def python() -> str:
    """Debian's Python: the one that has the headers of python3-dev."""
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else "python3"


def environment(src: Path, date: int) -> dict[str, str]:
    return proc.clean_env(
        SOURCE_DATE_EPOCH=str(date),
        PYTHON=python(),
        PYTHONDONTWRITEBYTECODE="1",
        EXTRA_CFLAGS_XEN_TOOLS=f"-ffile-prefix-map={src}/=",
        CONFIG_TESTS="n",
        **{name: "xen-tavs" for name in ("XEN_BUILD_HOST", "XEN_DOMAIN", "XEN_WHOAMI")},
    )


def compile_at(src: Path, dest: Path, date: int) -> None:
    environ = environment(src, date)
    make = ["nice", "-n", "5", "make", "-C", src]
    if not (src / "config/Tools.mk").exists() or not (src / "tools/config.status").exists():
        proc.logged("configure toolstack", ["./configure", *CONFIGURE], cwd=src, env=environ)
    proc.logged("build toolstack", [*make, f"-j{proc.jobs()}", "build-tools"], env=environ)
    shutil.rmtree(dest, ignore_errors=True)
    proc.logged("install toolstack", [*make, "install-tools", f"DESTDIR={dest}"], env=environ)
    for cache in list(dest.rglob("__pycache__")):
        shutil.rmtree(cache)


def build(pristine: bool = False) -> Path:
    """Our toolstack, or the one that Xen's source gives without our patches."""
    work = tree.get()
    if pristine:
        return _build("toolstack-pristine", git.tree_of(work.base), work.date, paths.TOOLS_SRC_PRISTINE, paths.TOOLS_PRISTINE)
    return _build("toolstack", work.id, work.date, paths.TOOLS_SRC, paths.TOOLS)


def _build(name: str, treeish: str, date: int, src: Path, dest: Path) -> Path:
    key = stamp.key_of("toolstack 1", inputs(treeish), CONFIGURE, xen.compiler(), date, str(src))
    if stamp.fresh(name, key, dest):
        return dest
    settings = stamp.key_of(CONFIGURE, xen.compiler(), str(src))
    if not stamp.fresh(f"{name}-configure", settings):
        tree.remove(src)
    tree.checkout(treeish, src)
    stamp.write(f"{name}-configure", settings)
    new = dest.with_name(f"{dest.name}.new")
    compile_at(src, new, date)
    old = dest.with_name(f"{dest.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if dest.exists():
        dest.rename(old)
    new.rename(dest)
    shutil.rmtree(old, ignore_errors=True)
    stamp.write(name, key)
    return dest
