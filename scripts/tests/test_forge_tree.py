# SPDX-License-Identifier: GPL-2.0-only
"""The work tree: what it consists of, and what never happens to it."""

import subprocess

import pytest
from forge_fixture import CREDIT, Repository


@pytest.fixture
def repo(tmp_path):
    made = Repository(tmp_path)
    made.forge("tree")
    return made


def test_source_overlay_and_patches_become_commits(repo):
    subjects = repo.git("log", "--reverse", "--format=%s").splitlines()
    assert subjects[1:] == ["xen/sched: change credit", "xen/sched: add tavs"]
    changed = repo.git("show", "--format=", "--name-status", "HEAD~1").split()
    assert changed == ["A", "xen/common/sched/credit-ops.h", "M", "xen/common/sched/credit.c"]
    assert (repo.tree / "xen/common/sched/tavs/a.c").read_text() == "a\n"
    text = (repo.tree / "xen/common/sched/credit.c").read_text()
    assert "line five and a half" in text and "credit line 40\n" not in text
    assert repo.git("status", "--porcelain") == ""


def test_own_tree_is_copied_and_not_edited(repo):
    assert (repo.xen / "xen/common/sched/credit.c").read_text() == CREDIT
    assert not (repo.xen / "xen/common/sched/credit-ops.h").exists()


def test_of_a_git_checkout_only_tracked_files_are_taken(tmp_path):
    repo = Repository(tmp_path)
    git = ["git", "-C", repo.xen, "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([*git[:3], "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    repo.write("own-xen/xen/junk.o", "junk")
    repo.forge("tree")
    assert not (repo.tree / "xen/junk.o").exists()
    assert (repo.tree / "README").exists()


def test_a_git_checkout_that_git_does_not_take_is_said(tmp_path):
    repo = Repository(tmp_path)
    repo.write("own-xen/.git", "gitdir: /nonexistent\n")
    said = repo.forge("tree", status=1)
    assert "ls-files -z failed" in said and "not a git repository" in said


def test_same_input_same_commit(repo, tmp_path):
    other = Repository(tmp_path / "elsewhere")
    subprocess.run(["cp", "-a", "-T", repo.xen, other.xen], check=True)
    other.forge("tree")
    assert other.git("rev-parse", "HEAD") == repo.git("rev-parse", "HEAD")


def test_a_patch_that_does_not_apply_names_patch_file_and_hunk_and_changes_nothing(repo):
    before = repo.git("rev-parse", "HEAD")
    patch = repo.patches / "0002-tavs.patch"
    good = patch.read_text()
    patch.write_text(good.replace(" credit line 38\n", " credit line thirty-eight\n"))
    said = repo.forge("tree", status=1)
    assert "patches/xen-4.20/0002-tavs.patch does not apply" in said
    assert "xen/common/sched/credit.c: hunk @@ -38,7 +38,6 @@" in said
    assert repo.git("rev-parse", "HEAD") == before
    assert repo.git("status", "--porcelain") == ""
    patch.write_text(good)
    repo.forge("tree")
    assert repo.git("rev-parse", "HEAD") == before


def test_unchanged_files_keep_their_times(repo):
    core, credit = repo.tree / "xen/common/sched/core.c", repo.tree / "xen/common/sched/credit.c"
    before = core.stat().st_mtime_ns, credit.stat().st_mtime_ns
    patch = repo.patches / "0001-credit.patch"
    patch.write_text(patch.read_text().replace("+credit line five\n", "+credit line 5.0\n"))
    repo.forge("tree")
    assert "line 5.0" in credit.read_text()
    assert core.stat().st_mtime_ns == before[0]
    assert credit.stat().st_mtime_ns != before[1]


def test_edits_are_not_thrown_away_unasked(repo):
    repo.edit("xen/common/sched/core.c", "core line 20\n", "edited\n")
    repo.forge("tree")      # nothing else has changed: the edit stays, silently
    repo.write("xen/common/sched/tavs/a.c", "a, edited in the repository\n")
    said = repo.forge("tree", status=1)
    assert "xen/common/sched/core.c" in said and "make refresh" in said and "FORCE=1" in said
    assert "edited" in (repo.tree / "xen/common/sched/core.c").read_text()
    said = repo.forge("tree", "--force")
    assert "edited" not in (repo.tree / "xen/common/sched/core.c").read_text()
    assert "refs/forge/discarded/1" in said
    assert "edited" in repo.git("show", "refs/forge/discarded/1:xen/common/sched/core.c")


def test_what_was_discarded_is_not_discarded_for_what_follows(repo):
    for number in (1, 2, 3):
        if number == 3:
            repo.git("update-ref", "-d", "refs/forge/discarded/1")
        repo.edit("xen/common/sched/core.c", "core line 20\n", f"edited {number}\n")
        repo.write("xen/common/sched/tavs/a.c", f"a, edited in the repository {number}\n")
        assert f"refs/forge/discarded/{number}" in repo.forge("tree", "--force")
    assert "edited 2" in repo.git("show", "refs/forge/discarded/2:xen/common/sched/core.c")


def test_commits_in_the_tree_are_not_thrown_away_either(repo):
    repo.edit("xen/common/sched/core.c", "core line 20\n", "edited\n")
    repo.git("commit", "-qam", "area: an edit")
    repo.write("xen/common/sched/tavs/a.c", "a, edited in the repository\n")
    assert "area: an edit" in repo.forge("tree", status=1)


def test_an_overlay_file_that_the_series_does_not_name_enters_last(repo):
    repo.write("tools/new.c", "new\n")
    assert "tools/new.c" in repo.forge("tree")
    assert repo.git("show", "--format=", "--name-only", "HEAD").split() == ["tools/new.c"]
    assert "tools/new.c" in repo.forge("export", status=1)


def test_a_patch_without_a_diff_brings_overlay_files(repo):
    repo.write("tools/new/a.c", "new\n")
    repo.write("patches/xen-4.20/0003-new.patch", "Subject: tools: new\n\nOnly new files.\n---\n")
    series = repo.patches / "series"
    series.write_text(series.read_text() + "0003-new.patch\n+ tools/new/\n")
    repo.forge("tree")
    assert repo.git("show", "--format=%s", "--name-only", "HEAD").split() == ["tools:", "new", "tools/new/a.c"]
    before = repo.files()
    repo.forge("refresh")
    assert repo.files() == before
    (repo.root / "tools/new/a.c").unlink()
    series.write_text(series.read_text().replace("+ tools/new/\n", ""))
    assert "neither a diff nor overlay files" in repo.forge("tree", status=1)


def test_an_overlay_file_may_not_replace_a_file_of_xen(repo):
    repo.write("xen/common/sched/core.c", "mine\n")
    assert "must be new to Xen" in repo.forge("tree", status=1)


def test_a_removed_overlay_file_leaves_the_tree(repo):
    repo.write("xen/common/sched/tavs/b.c", "b\n")
    repo.forge("tree")
    assert (repo.tree / "xen/common/sched/tavs/b.c").exists()
    (repo.root / "xen/common/sched/tavs/b.c").unlink()
    repo.forge("tree")
    assert not (repo.tree / "xen/common/sched/tavs/b.c").exists()


@pytest.mark.parametrize(
    "series, complaint",
    [
        ("0009-none.patch\n", "0009-none.patch, which does not exist"),
        ("+ xen/a.c\n0001-credit.patch\n", "series line 1"),
        ("0001-credit.patch\nwhat is this\n", "series line 2"),
        ("0001-credit.patch\n0001-credit.patch\n", "twice"),
        ("0001-credit.patch\n+ xen/none.h\n", "do not exist: xen/none.h"),
    ],
)
def test_a_malformed_series_says_what_is_wrong(repo, series, complaint):
    (repo.patches / "series").write_text(series)
    assert complaint in repo.forge("tree", status=1)


def test_xen_src_that_is_no_xen(repo, tmp_path):
    (tmp_path / "empty").mkdir()
    repo.xen = tmp_path / "empty"
    assert "is not a source tree of Xen" in repo.forge("tree", status=2)


def test_distclean_keeps_edits(repo):
    repo.edit("xen/common/sched/core.c", "core line 20\n", "edited\n")
    assert "FORCE=1" in repo.forge("distclean", status=1)
    assert repo.tree.exists()
    repo.forge("distclean", "--force")
    assert not (repo.root / "build").exists()
