# SPDX-License-Identifier: GPL-2.0-only
"""Hypervisors: release and debug from the work tree, pristine from the source as it was published.

Same input, same bytes: date, user, host and version come from the source, and paths are mapped away.
"""

import os
import shutil
import time
from pathlib import Path

from . import git, paths, proc, stamp, tree
from .errors import ForgeError

KINDS = {
    "release": ("common", "release"),
    "debug": ("common", "debug"),
    "pristine": ("common", "release"),
}
# Directories of xen.git that the hypervisor is not made from.
APART = {"docs", "tools", "stubdom", "automation", "misc", ".github"}


def fragment(name: str) -> str:
    return (paths.CONFIGS / f"{name}.config").read_text()


def wanted_options(kind: str, kconfig: str) -> str:
    """The configuration to ask for; kconfig is the scheduler menu of the source."""
    text = "".join(fragment(part) for part in KINDS[kind])
    if kind != "pristine" and "config SCHED_TAVS\n" in kconfig:
        text += fragment("tavs")
    return text


def options(text: str) -> dict[str, str]:
    """CONFIG_X=y and '# CONFIG_X is not set' lines as a dictionary."""
    found = {}
    for line in text.splitlines():
        if line.startswith("CONFIG_"):
            name, _, value = line.partition("=")
            found[name] = value
        elif line.startswith("# CONFIG_") and line.endswith(" is not set"):
            found[line.split()[1]] = "n"
    return found


def not_taken(asked: str, got: str) -> list[str]:
    """Options that Kconfig dropped or changed: a scheduler that is silently missing would spoil a comparison."""
    have = options(got)
    return [f"{k}={v} (is {have.get(k, 'n')})" for k, v in options(asked).items() if have.get(k, "n") != v]


def compiler() -> str:
    first = proc.capture(["gcc", "--version"]).splitlines()[0]
    return first + "; " + proc.capture(["ld", "--version"]).splitlines()[0]


def inputs(treeish: str) -> list[str]:
    """The parts of a tree that the hypervisor is made from, with their hashes."""
    return [line for line in git.run("ls-tree", treeish).splitlines() if line.split("\t")[1] not in APART]


def settings(src: Path, obj: Path, date: int) -> dict[str, str]:
    """What would otherwise come from clock, host and user."""
    when = time.gmtime(date)
    return {
        "SOURCE_DATE_EPOCH": str(date),
        "XEN_BUILD_DATE": time.strftime("%a %b %e %H:%M:%S UTC %Y", when),
        "XEN_BUILD_TIME": time.strftime("%H:%M:%S", when),
        "XEN_BUILD_HOST": "xen-tavs",
        "XEN_DOMAIN": "localdomain",
        "XEN_WHOAMI": "xen-tavs",
        # A file that includes __FILE__ (usercopy.c does) finds itself by -iquote once its name is mapped.
        "EXTRA_CFLAGS_XEN_CORE": f"-ffile-prefix-map={src}/xen/= -ffile-prefix-map={obj}=. -iquote {src}/xen",
    }


def _configure(what: str, src: Path, obj: Path, config: str, make: list, environ: dict) -> None:
    """Write .config, and only if it comes out differently: a newer .config rebuilds everything."""
    defaults = (src / "xen/arch/x86/configs/x86_64_defconfig").read_text()
    menus = [(str(p.relative_to(src)), stamp.file_hash(p)) for p in sorted((src / "xen").rglob("Kconfig*"))]
    key = stamp.key_of(defaults, config, menus, compiler())
    done, written = obj / ".forge-config", obj / ".config"
    if done.exists() and done.read_text() == key:
        return
    before = (written.read_bytes(), written.stat()) if written.exists() else (b"", None)
    done.unlink(missing_ok=True)
    written.write_text(defaults + config)
    proc.logged(f"configure {what}", [*make, "olddefconfig"], env=environ)
    refused = not_taken(config, written.read_text())
    if refused:
        raise ForgeError(f"{what}: Xen's Kconfig did not take these options:", "\n".join(refused))
    if written.read_bytes() == before[0]:
        os.utime(written, ns=(before[1].st_atime_ns, before[1].st_mtime_ns))
    done.write_text(key)


def compile_at(what: str, src: Path, obj: Path, config: str, identity: str, date: int) -> None:
    """Configure and build src/xen into obj."""
    obj.mkdir(parents=True, exist_ok=True)
    # xl info shows this as xen_changeset: git's hash over xen/.
    (src / ".scmversion").write_text(f"tree:{identity[:16]}\n")
    make = ["nice", "-n", "5", "make", "-C", src / "xen", f"O={obj}"]
    environ = proc.clean_env(**settings(src, obj, date))
    _configure(what, src, obj, config, make, environ)
    proc.logged(f"build {what}", [*make, f"-j{proc.jobs()}"], env=environ)


def _ingredients(kind: str, work: tree.Tree) -> tuple[str, str, str]:
    """Of one hypervisor: the tree that it is made from, its configuration, and the key of both."""
    treeish = git.tree_of(work.base) if kind == "pristine" else work.id
    config = wanted_options(kind, git.run("show", f"{treeish}:xen/common/sched/Kconfig"))
    return treeish, config, stamp.key_of("xen 1", inputs(treeish), config, compiler(), work.date)


def _fresh(kind: str, key: str) -> Path | None:
    target = paths.HYPERVISORS / kind
    return target / "xen" if stamp.fresh(f"xen-{kind}", key, target / "xen", target / "xen-syms") else None


def built(kind: str) -> Path | None:
    """The file to boot of a hypervisor that is up to date as it is."""
    _, _, key = _ingredients(kind, tree.get())
    return _fresh(kind, key)


def build(kind: str) -> Path:
    """Bring one hypervisor up to date; the file to boot."""
    work = tree.get()
    treeish, config, key = _ingredients(kind, work)
    if file := _fresh(kind, key):
        return file
    target, name = paths.HYPERVISORS / kind, f"xen-{kind}"
    src = paths.PRISTINE if kind == "pristine" else paths.TREE
    if kind == "pristine":
        tree.checkout(treeish, src)
    obj = paths.OBJ / kind
    compile_at(name, src, obj, config, tree.subtree(treeish, "xen"), work.date)
    target.mkdir(parents=True, exist_ok=True)
    for product, source in {"xen": "xen", "xen-syms": "xen-syms", "config": ".config"}.items():
        shutil.copy2(obj / source, target / f"{product}.new")
        (target / f"{product}.new").replace(target / product)
    if kind != "pristine" and tree.state() != treeish:
        proc.say("the work tree was edited during the build: the next make builds again")
        stamp.drop(name)
    else:
        stamp.write(name, key, sha256=stamp.file_hash(target / "xen"))
    return target / "xen"
