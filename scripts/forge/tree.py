# SPDX-License-Identifier: GPL-2.0-only
"""The work tree: source + overlay + patches, as a git work tree in which to edit.

The commits are made in the repository alone, with an index of their own. Only when all of them stand is the work tree
moved to the last one, and then git writes the files that differ and no others: a patch that does not apply leaves the
tree as it was, and a build in it stays incremental.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import git, paths, proc, series, source, stamp
from .errors import ForgeError

BASE_REF = "refs/forge/base"            # Xen's source
ASSEMBLED_REF = "refs/forge/assembled"  # what overlay and patches made of it
BRANCH = "refs/heads/series"
UNNAMED = "overlay: files that no line of the series names yet"
EXCLUDED = "/.scmversion\n*.rej\n__pycache__/\n"


@dataclass(frozen=True)
class Tree:
    """What a build starts from."""

    id: str          # git's hash over the content, edits included
    base: str        # commit of the pristine source
    version: str
    date: int


def overlay_files() -> list[str]:
    """Paths of the overlay, relative to the repository; what .gitignore names is no part of it."""
    dirs = [d for d in paths.OVERLAY_DIRS if (paths.ROOT / d).is_dir()]
    if not dirs:
        return []
    if (paths.ROOT / ".git").exists():
        listed = proc.capture(["git", "-C", paths.ROOT, "ls-files", "-co", "--exclude-standard", "-z", "--", *dirs])
        found = {f for f in listed.split("\0") if f}
    else:
        found = {str(p.relative_to(paths.ROOT)) for d in dirs for p in (paths.ROOT / d).rglob("*")}
        found = {f for f in found if "__pycache__" not in f and not f.endswith((".o", ".pyc", ".d"))}
    return sorted(f for f in found if (paths.ROOT / f).is_file())


def _entry(file: str) -> str:
    """The index line of an overlay file, its content stored in the repository."""
    path = paths.ROOT / file
    mode = "100755" if os.access(path, os.X_OK) else "100644"
    blob = git.run("hash-object", "-w", "--no-filters", path).strip()
    return f"{mode} {blob}\t{file}\n"


def _base(src: source.Source) -> str:
    """The commit of the source, made once for each source."""
    ref = f"{BASE_REF}-{src.key[:16]}"
    known = git.resolve(ref) if paths.TREE_GIT.is_dir() else None
    if known:
        return known
    paths.BUILD.mkdir(exist_ok=True)
    if not paths.TREE_GIT.is_dir():
        paths.TREE.mkdir(parents=True, exist_ok=True)
        outside = {k: v for k, v in git.env().items() if k not in ("GIT_DIR", "GIT_WORK_TREE")}
        proc.capture(["git", "init", "-q", "-b", "series", "--separate-git-dir", paths.TREE_GIT, paths.TREE], env=outside)
        git.run("config", "core.worktree", f"../{paths.TREE.name}")
        git.run("config", "gc.auto", "0")
        (paths.TREE_GIT / "info/exclude").write_text(EXCLUDED)
    proc.say(f"import Xen {src.version} into {paths.shown(paths.TREE_GIT)}")
    index = paths.TREE_GIT / "base.index"
    index.unlink(missing_ok=True)
    environ = git.env(src.date, index, src.dir)
    git.run("add", "-A", "-f", ".", environ=environ)
    content = git.run("write-tree", environ=environ).strip()
    commit = git.run("commit-tree", content, "-m", f"Xen {src.version}", environ=environ).strip()
    index.unlink()
    git.run("update-ref", ref, commit)
    return commit


def failed_hunk(diff: str, file: str, line: int) -> str:
    """The hunk of a diff that starts at a line of the old file, as the patch writes it."""
    inside = False
    for text in diff.splitlines():
        if text.startswith("diff --git "):
            inside = text.endswith(f" b/{file}")
        match = re.match(r"@@ -(\d+)", text) if inside else None
        if match and int(match[1]) == line:
            return text
    return f"at line {line}"


def _complaint(name: str, diff: str, stderr: str) -> ForgeError:
    reasons = []
    for file, line in re.findall(r"^error: patch failed: (.*):(\d+)$", stderr, re.M):
        reasons.append(f"{file}: hunk {failed_hunk(diff, file, int(line))}")
    if not reasons:
        reasons = [line for line in stderr.splitlines() if line.startswith("error: ")] or [stderr.strip()]
    return ForgeError(
        f"{paths.shown(paths.PATCHES / name)} does not apply; {paths.shown(paths.TREE)} is as it was", "\n".join(reasons)
    )


def assemble(base: str, date: int) -> tuple[str, list[str]]:
    """Commit overlay and patches onto the base, in the repository only: (last commit, unnamed overlay files)."""
    entries, _ = series.read_series()
    overlay = overlay_files()
    taken = sorted(set(overlay) & git.files_of(base))
    if taken:
        raise ForgeError(
            "overlay files must be new to Xen, a change to one of its files is a patch:", "\n".join(taken)
        )
    enters, unnamed = series.assign(entries, overlay)
    index = paths.TREE_GIT / "assemble.index"
    index.unlink(missing_ok=True)
    environ = git.env(date, index)
    git.run("read-tree", base, environ=environ)
    head, content = base, git.tree_of(base)

    def commit(message: str, files: list[str]) -> None:
        nonlocal head, content
        if files:
            lines = "".join(_entry(f) for f in files)
            git.run("update-index", "--add", "--index-info", data=lines.encode(), environ=environ)
        content = git.run("write-tree", environ=environ).strip()
        head = git.run("commit-tree", content, "-p", head, "-F", "-", data=message.encode(), environ=environ).strip()

    for entry in entries:
        patch = series.read_patch(entry.name)
        if patch.diff:
            done = git.attempt("apply", "--cached", "--whitespace=nowarn", "-", data=patch.diff.encode(), environ=environ)
            if done.returncode:
                raise _complaint(entry.name, patch.diff, done.stderr.decode(errors="replace"))
        elif not enters[entry.name]:
            raise ForgeError(f"{entry.name} has neither a diff nor overlay files")
        commit(patch.message, enters[entry.name])
    if unnamed:
        commit(UNNAMED + "\n", unnamed)
    index.unlink()
    return head, unnamed


def state() -> str:
    """git's hash over what is in the work tree now, edits and new files included."""
    index = paths.TREE_GIT / "state.index"
    shutil.copy2(paths.TREE_GIT / "index", index)
    environ = git.env(index=index)
    git.run("add", "-A", ".", environ=environ)
    result = git.run("write-tree", environ=environ).strip()
    index.unlink()
    return result


def edits() -> list[str]:
    """What `git status` shows, plus the commits that are not in the patches yet."""
    found = git.run("status", "--porcelain", "--untracked-files=all").splitlines()
    head, assembled = git.resolve("HEAD"), git.resolve(ASSEMBLED_REF)
    if head != assembled:
        found += git.run("log", "--format=commit %h %s", f"{assembled}..HEAD").splitlines() or ["the branch was moved"]
    return found


def _keep_edits() -> None:
    """FORCE=1: what is thrown away stays reachable under a ref."""
    there = git.run("for-each-ref", "--format=%(refname:lstrip=3)", "refs/forge/discarded").split()
    number = max((int(name) for name in there if name.isdecimal()), default=0) + 1
    ref = f"refs/forge/discarded/{number}"
    commit = git.run("commit-tree", state(), "-p", "HEAD", "-m", "edits that FORCE=1 discarded").strip()
    git.run("update-ref", ref, commit)
    proc.say(f"edits discarded; they are kept as {ref} in {paths.shown(paths.TREE_GIT)}")


def _move(head: str, force: bool) -> None:
    """The work tree takes a new commit. Unrefreshed edits are not thrown away unasked."""
    if git.resolve(ASSEMBLED_REF) is None:
        git.run("read-tree", "--reset", "-u", head)
    else:
        pending = edits()
        if pending and state() != git.tree_of(head):
            if not force:
                raise ForgeError(
                    f"{paths.shown(paths.TREE)} holds edits that are not in the patches, and the patches have changed:",
                    "\n".join(pending[:20])
                    + "\n`make refresh` turns edits into patches; FORCE=1 discards them (a copy stays in the repository).",
                )
            _keep_edits()
        git.attempt("update-index", "-q", "--refresh")
        git.run("read-tree", "--reset", "-u", head)
        git.run("clean", "-fdq")
    git.run("update-ref", BRANCH, head)
    git.run("symbolic-ref", "HEAD", BRANCH)
    git.run("update-ref", ASSEMBLED_REF, head)


def inputs_key(src: source.Source) -> str:
    files = [*overlay_files(), *(f"patches/xen-4.20/{p.name}" for p in sorted(paths.PATCHES.glob("*")))]
    content = [(f, stamp.file_hash(paths.ROOT / f), os.access(paths.ROOT / f, os.X_OK)) for f in files]
    return stamp.key_of("tree 1", src.key, content)


def get(force: bool = False) -> Tree:
    """The work tree, assembled anew when source, overlay or patches have changed; edits in it are part of it."""
    src = source.get()
    base = _base(src)
    key = inputs_key(src)
    if force or not stamp.fresh("tree", key, paths.TREE / "xen"):
        head, unnamed = assemble(base, src.date)
        if unnamed:
            proc.say(f"note: the series names no patch for: {', '.join(unnamed)}")
        _move(head, force)
        git.run("update-ref", BASE_REF, base)
        (paths.TREE / ".git").write_text(f"gitdir: ../{paths.TREE_GIT.name}\n")
        stamp.write("tree", key, head=head)
        proc.say(f"{paths.shown(paths.TREE)}: Xen {src.version}, {len(git.commits(base, head))} commits on it")
    return Tree(state(), base, src.version, src.date)


def subtree(treeish: str, directory: str) -> str:
    """git's hash over one directory of a tree."""
    return git.run("rev-parse", f"{treeish}:{directory}").strip()


def checkout(treeish: str, directory: Path) -> None:
    git.put(treeish, directory, paths.TREE_GIT / f"{directory.name}.index")


def remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    (paths.TREE_GIT / f"{directory.name}.index").unlink(missing_ok=True)
