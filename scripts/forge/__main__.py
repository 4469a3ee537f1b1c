# SPDX-License-Identifier: GPL-2.0-only
"""The command line: python3 -m forge VERB."""

import argparse
import contextlib
import fcntl
import json
import os
import sys

if sys.version_info < (3, 11):
    sys.exit(f"error: Python 3.11 or newer is needed, this is {sys.version.split()[0]} (make PYTHON=python3.12 ...)")

from . import artifacts, clean, deps, export, git, kernel, modules, paths, proc, qemu, refresh, source, stamp
from . import toolstack, tree, xen
from .errors import ForgeError


@contextlib.contextmanager
def only_one():
    """Two forges in one build directory would tread on each other: the second waits."""
    paths.BUILD.mkdir(exist_ok=True)
    with open(paths.BUILD / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            proc.say("another build is under way here; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def do_deps(_args):
    deps.ensure()
    print("all Debian packages that are needed are installed")


def do_source(_args):
    got = source.get()
    print(f"Xen {got.version} in {paths.shown(got.dir)}")


def do_tree(args):
    got = tree.get(force=args.force)
    print(f"{paths.shown(paths.TREE)}: Xen {got.version}, content {got.id[:16]}")
    for line in tree.edits():
        print(f"  edited: {line}")
    if args.pristine:
        tree.checkout(git.tree_of(got.base), paths.PRISTINE)


def do_refresh(_args):
    refresh.run()


def do_export(args):
    print(paths.shown(export.run(args.out)))


def do_check_series(_args):
    export.check()


def do_xen(args):
    for kind in args.kind or ["release"]:
        print(paths.shown(xen.build(kind)))


def do_toolstack(args):
    print(paths.shown(toolstack.build(pristine=args.pristine)))


def do_kernel(args):
    info = kernel.get(args.series)
    print(f"{paths.shown(kernel.KERNELS[args.series].vmlinux)}: {info['release']} ({info['version']})")


def do_modules(args):
    built = modules.build(args.series)
    print("\n".join(paths.shown(m) for m in built) or "no modules: tools/linux has none")


def do_qemu(_args):
    print(f"{paths.shown(qemu.build() / qemu.BINARY)}: {stamp.read('qemu')['version']}")


def do_artifacts(args):
    print(json.dumps(artifacts.build(args.kind), indent=2))


def do_distclean(args):
    clean.distclean(args.force)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python3 -m forge",
        description="Get Xen and the kernels, assemble the work tree, build, and turn edits back into patches.",
        epilog="Each verb first does what it needs: `artifacts` does everything. Products are under build/, logs in "
        "build/log/. Environment: XEN_SRC=DIR takes Xen from a directory of yours; DEBIAN_MIRROR and "
        "DEBIAN_SECURITY_MIRROR name mirrors (default: those of /etc/apt); JOBS=N limits the builds.",
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name, function, text, more=""):
        made = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}. {more}".strip())
        made.set_defaults(function=function)
        return made

    verb("deps", do_deps, "check for the Debian packages that are needed",
         "As root, missing ones are installed; otherwise the command that installs them is shown.")
    verb("source", do_source, "fetch and verify the source of Xen")
    made = verb("tree", do_tree, "assemble build/tree from source, overlay and patches",
                "A patch that does not apply leaves the tree as it was. Edits that are not in the patches yet are not "
                "thrown away unless --force is given, and even then stay in build/tree.git under refs/forge/discarded.")
    made.add_argument("--force", action="store_true", default=os.environ.get("FORCE", "0") not in ("", "0"),
                      help="discard edits in build/tree (FORCE=1 in the environment does the same)")
    made.add_argument("--pristine", action="store_true", help="also build/pristine-tree: the source without our patches")
    verb("refresh", do_refresh, "turn what was edited in build/tree back into patches and overlay files",
         "docs/patches.md describes which edit goes where.")
    made = verb("export", do_export, "write the mailing-list series with a cover letter")
    made.add_argument("--out", help="directory to write to (default: out/series)")
    verb("check-series", do_check_series, "build after each commit of the series")
    made = verb("xen", do_xen, "build hypervisors")
    made.add_argument("kind", nargs="*", choices=[*xen.KINDS, []], metavar="KIND",
                      help=f"{', '.join(xen.KINDS)} (default: release)")
    made = verb("toolstack", do_toolstack, "build the toolstack and install it into build/tools")
    made.add_argument("--pristine", action="store_true", help="the one without our patches, into build/tools-pristine")
    for name, function, text in (
        ("kernel", do_kernel, "fetch and unpack a kernel for dom0 and guests"),
        ("modules", do_modules, "build our own Linux modules against its headers"),
    ):
        made = verb(name, function, text)
        made.add_argument("series", nargs="?", default=kernel.DEFAULT, choices=list(kernel.KERNELS))
    verb("qemu", do_qemu, "build the emulator that the laboratory boots its machines in",
         "It is Debian bookworm's QEMU with the patches of patches/qemu.")
    made = verb("artifacts", do_artifacts, "build everything and print where it is, as JSON")
    made.add_argument("kind", nargs="*", choices=[*xen.KINDS, []], metavar="KIND",
                      help=f"of the hypervisors only these: {', '.join(xen.KINDS)} (default: all)")
    made = verb("distclean", do_distclean, "remove build/ and out/", "Refuses while build/tree holds edits that are in no patch.")
    made.add_argument("--force", action="store_true", default=os.environ.get("FORCE", "0") not in ("", "0"),
                      help="delete those edits too (FORCE=1 does the same)")
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        with only_one():
            args.function(args)
    except ForgeError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.details:
            print("\n".join("  " + line for line in error.details.splitlines()), file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
