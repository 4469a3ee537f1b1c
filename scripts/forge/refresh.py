# SPDX-License-Identifier: GPL-2.0-only
"""Edits in build/tree become patches and overlay files again.

Each commit on the source is one patch. A file that Xen does not have is an overlay file: the repository keeps it as it is
at the end, whichever commit changed it. `fixup!` commits are folded into the commits that they name. Uncommitted edits:

    an overlay file, or a new file          goes to the overlay
    a file of Xen that one patch changes    is folded into that patch
    any other file of Xen                   is refused, with the commands that decide where it belongs
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import git, paths, proc, series, source, stamp, tree
from .errors import ForgeError

DIFF = ("diff-tree", "-p", "--no-renames", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", "-U3")


@dataclass
class Step:
    """One commit: its message and the content (a tree) after it."""

    message: str
    content: str

    @property
    def subject(self) -> str:
        return self.message.split("\n", 1)[0]


@dataclass
class Change:
    """What a file of the repository is to be; without content it is to go."""

    content: bytes | None
    executable: bool = False
    says: str = ""


def _steps(base: str, head: str) -> list[Step]:
    merges = git.run("rev-list", "--min-parents=2", f"{base}..{head}").split()
    if merges or git.run("merge-base", base, head).strip() != base:
        raise ForgeError("build/tree must be a line of commits on Xen's source, without merges")
    return [Step(git.run("log", "-1", "--format=%B", c).rstrip("\n") + "\n", git.tree_of(c)) for c in git.commits(base, head)]


def _autosquash(base: str, head: str) -> str:
    """The head after folding fixup!, squash! and amend! commits, worked out beside the work tree."""
    subjects = git.run("log", "--format=%s", f"{base}..{head}").splitlines()
    if not any(s.startswith(("fixup! ", "squash! ", "amend! ")) for s in subjects):
        return head
    with tempfile.TemporaryDirectory(dir=paths.BUILD, prefix="autosquash-") as scratch:
        where = Path(scratch) / "tree"
        git.run("worktree", "add", "-q", "--detach", where, head)
        environ = {k: v for k, v in git.env().items() if k not in ("GIT_DIR", "GIT_WORK_TREE")}
        environ.update(GIT_SEQUENCE_EDITOR="true", GIT_EDITOR="true")
        try:
            proc.capture(["git", "-C", where, "rebase", "-q", "-i", "--autosquash", base], env=environ)
            return proc.capture(["git", "-C", where, "rev-parse", "HEAD"], env=environ).strip()
        except ForgeError as error:
            command = f"git -C {paths.shown(paths.TREE)} rebase -i --autosquash {tree.BASE_REF}"
            raise ForgeError(f"the fixup commits conflict; resolve it by hand: {command}", error.details) from error
        finally:
            git.attempt("worktree", "remove", "--force", where)


def _changes(old: str, new: str) -> list[str]:
    return [f for f in git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new).split("\0") if f]


def _entry_of(treeish: str, file: str) -> str:
    """The ls-tree line of a file, empty if the tree has none."""
    return git.run("ls-tree", treeish, "--", file).strip()


def _with_file(content: str, file: str, entry: str) -> str:
    """A tree with one file replaced (or removed)."""
    index = paths.TREE_GIT / "fold.index"
    index.unlink(missing_ok=True)
    environ = git.env(index=index)
    git.run("read-tree", content, environ=environ)
    if entry:
        mode, _, blob = entry.split("\t")[0].split()
        git.run("update-index", "--add", "--cacheinfo", f"{mode},{blob},{file}", environ=environ)
    else:
        git.run("update-index", "--force-remove", file, environ=environ)
    result = git.run("write-tree", environ=environ).strip()
    index.unlink()
    return result


def _fold(steps: list[Step], base: str, now: str) -> list[str]:
    """Uncommitted edits of Xen's files go into the one patch that changes the file; returns the refused ones."""
    xen_files = git.files_of(base)
    before = steps[-1].content if steps else git.tree_of(base)
    refused = []
    for file in _changes(before, now):
        if file not in xen_files:
            continue
        previous, touching = git.tree_of(base), []
        for number, step in enumerate(steps):
            if _entry_of(previous, file) != _entry_of(step.content, file):
                touching.append(number)
            previous = step.content
        where = paths.shown(paths.TREE)
        if len(touching) == 1:
            entry = _entry_of(now, file)
            for step in steps[touching[0] :]:
                step.content = _with_file(step.content, file, entry)
            proc.say(f"{file}: folded into \"{steps[touching[0]].subject}\"")
        elif touching:
            refused.append(f"{file} is changed by {len(touching)} patches; say which this belongs to:")
            refused += [
                f"    git -C {where} commit --fixup ':/^{steps[n].subject}' {file}" for n in touching
            ]
        else:
            refused.append(f"{file} is in no patch yet; make it one:")
            refused.append(f"    git -C {where} commit -m 'area: what it does' {file}")
    return refused


def _overlay(base: str, now: str) -> dict[Path, Change]:
    """The repository's overlay files are to have the content that they have in the tree."""
    changes = {}
    xen_files = git.files_of(base)
    there = git.files_of(now) - xen_files
    known = set(tree.overlay_files())
    gone = sorted(known - there)
    if gone:
        raise ForgeError("deleted in build/tree; delete them in the repository (and in the series):", "\n".join(gone))
    for file in sorted(there):
        if not file.startswith(tuple(f"{top}/" for top in paths.OVERLAY_DIRS)):
            raise ForgeError(f"{file}: new files belong below {' or '.join(paths.OVERLAY_DIRS)}")
        entry = _entry_of(now, file).split()
        mode, blob = entry[0], entry[2]
        if mode not in ("100644", "100755"):
            raise ForgeError(f"{file}: an overlay file must be an ordinary file")
        content = git.raw("cat-file", "blob", blob)
        target = paths.ROOT / file
        executable = mode == "100755"
        if target.is_file() and target.read_bytes() == content and os.access(target, os.X_OK) == executable:
            continue
        what = "overlay file updated" if file in known else "new overlay file: name it in the series"
        changes[target] = Change(content, executable, f"{file}: {what}")
    return changes


def _patches(steps: list[Step], base: str) -> dict[Path, Change]:
    """The patch files that are to change, and the series if its patches do."""
    entries, trailer = series.read_series()
    by_subject = {series.read_patch(e.name).subject: e for e in entries}
    xen_files = git.files_of(base)
    previous = git.tree_of(base)
    kept: list[series.Entry] = []
    changes: dict[Path, Change] = {}
    for step in steps:
        files = [f for f in _changes(previous, step.content) if f in xen_files]
        diff = git.run(*DIFF, previous, step.content, "--", *files) if files else ""
        previous = step.content
        subject, _, body = step.message.partition("\n")
        patch = series.Patch(subject, body.strip("\n"), series.clean_diff(diff))
        entry = by_subject.pop(subject, None)
        if not entry:
            if subject == tree.UNNAMED or not diff:
                continue      # overlay files only, and those have their own way
            entry = series.Entry(f"{len(kept) + 1:04d}-{series.slug(subject)}.patch")
            says = f"new patch {entry.name}"
        elif series.read_patch(entry.name) == patch:
            kept.append(entry)
            continue
        else:
            says = f"{entry.name}: updated"
        if any(entry.name == other.name for other in kept):
            raise ForgeError(f"two patches would be called {entry.name}: give them different subjects")
        kept.append(entry)
        changes[paths.PATCHES / entry.name] = Change(_bytes(patch.text()), says=says)
    for entry in by_subject.values():
        if entry.files:
            raise ForgeError(
                f"{entry.name} has no commit any more, but overlay files enter with it: "
                "move its lines in the series to another patch first"
            )
    for entry in by_subject.values():
        changes.setdefault(paths.PATCHES / entry.name, Change(None, says=f"{entry.name}: removed"))
    if [e.name for e in kept] != [e.name for e in entries]:
        changes[paths.SERIES] = Change(_bytes(series.series_text(kept, trailer)))
    return changes


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _write(changes: dict[Path, Change]) -> dict[Path, Change]:
    """Makes the changes; returns those that take them back."""
    back = {}
    for path, change in changes.items():
        there = path.is_file()
        back[path] = Change(path.read_bytes() if there else None, there and os.access(path, os.X_OK))
        if change.content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(change.content)
            path.chmod(0o755 if change.executable else 0o644)
    return back


def run() -> None:
    if not (paths.TREE / "xen").is_dir():
        raise ForgeError("there is no build/tree: `make tree` assembles it")
    if stamp.read("tree").get("key") != tree.inputs_key(source.get()):
        raise ForgeError(
            "patches, overlay or source have changed since build/tree was assembled: which is newer?",
            "`make tree` first if there are no edits in build/tree; FORCE=1 make tree discards them.",
        )
    base = git.resolve(tree.BASE_REF)
    now = tree.state()
    head = git.resolve("HEAD")
    squashed = _autosquash(base, head)
    if git.tree_of(squashed) != git.tree_of(head):
        raise ForgeError("folding the fixup commits changes the result; fold them by hand")
    steps = _steps(base, squashed)
    refused = _fold(steps, base, now)
    if refused:
        raise ForgeError("these edits need a decision:", "\n".join(refused))
    changes = {**_patches(steps, base), **_overlay(base, now)}
    back = _write(changes)
    try:
        assembled, _ = tree.assemble(base, source.get().date)
        if git.tree_of(assembled) != now:
            raise ForgeError(
                "patches and overlay would not give build/tree again; all is as it was. They would differ in:",
                "\n".join(_changes(git.tree_of(assembled), now)),
            )
    except ForgeError:
        _write(back)
        raise
    for change in changes.values():
        if change.says:
            proc.say(change.says)
    tree.get()
