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


def build() -> Path:
    work = tree.get()
    key = stamp.key_of("toolstack 1", inputs(work.id), CONFIGURE, xen.compiler(), work.date, str(paths.TOOLS_SRC))
    if stamp.fresh("toolstack", key, paths.TOOLS):
        return paths.TOOLS
    settings = stamp.key_of(CONFIGURE, xen.compiler(), str(paths.TOOLS_SRC))
    if not stamp.fresh("toolstack-configure", settings):
        tree.remove(paths.TOOLS_SRC)
    tree.checkout(work.id, paths.TOOLS_SRC)
    stamp.write("toolstack-configure", settings)
    new = paths.TOOLS.with_name("tools.new")
    compile_at(paths.TOOLS_SRC, new, work.date)
    old = paths.TOOLS.with_name("tools.old")
    shutil.rmtree(old, ignore_errors=True)
    if paths.TOOLS.exists():
        paths.TOOLS.rename(old)
    new.rename(paths.TOOLS)
    shutil.rmtree(old, ignore_errors=True)
    stamp.write("toolstack", key)
    return paths.TOOLS
