# SPDX-License-Identifier: GPL-2.0-only
"""Edits in the work tree become patches again, and nothing else changes."""

import pytest
from forge_fixture import Repository


@pytest.fixture
def repo(tmp_path):
    made = Repository(tmp_path)
    made.forge("tree")
    return made


def changed(repo, before):
    after = repo.files()
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def round_trip(repo):
    """Patches and overlay give the very tree that they were made from."""
    content = repo.git("rev-parse", "HEAD^{tree}")
    assert repo.git("status", "--porcelain") == ""
    before = repo.files()
    repo.forge("refresh")
    assert repo.files() == before
    repo.forge("distclean")
    repo.forge("tree")
    assert repo.git("rev-parse", "HEAD^{tree}") == content


def test_without_edits_every_byte_stays(repo):
    before = repo.files()
    repo.forge("refresh")
    assert changed(repo, before) == []
    round_trip(repo)


def test_foreign_format_is_read_and_left_alone_until_it_changes(repo):
    patch = repo.patches / "0001-credit.patch"
    own = patch.read_text()
    message, diff = own.split("---\n", 1)
    patch.write_text(
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
        "Date: Thu, 1 Jan 2026 00:00:00 +0000\n"
        + message.replace("Subject: ", "Subject: [PATCH 1/2] ")
        + "---\n xen/common/sched/credit.c | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n\n"
        + diff.replace("--- a/", "index 1111111..2222222 100644\n--- a/", 1)
        + "-- \n2.39.5\n\n"
    )
    before = repo.files()
    repo.forge("refresh", status=1)      # patches are newer than the tree
    repo.forge("tree")
    repo.forge("refresh")
    assert changed(repo, before) == []
    repo.edit("xen/common/sched/credit.c", "credit line five\n", "credit line 5, edited\n")
    repo.git("commit", "-qam", "fixup! xen/sched: change credit")
    repo.forge("refresh")
    assert patch.read_text() == own.replace("+credit line five\n", "+credit line 5, edited\n")


def test_an_edit_goes_into_the_one_patch_that_has_the_file(repo):
    before = repo.files()
    repo.edit("xen/common/sched/core.c", "core line 0\n", "core line zero\n")
    repo.forge("refresh")
    assert changed(repo, before) == ["patches/xen-4.20/0002-tavs.patch"]
    assert "+core line zero\n" in (repo.patches / "0002-tavs.patch").read_text()
    round_trip(repo)


def test_an_edit_of_a_file_in_two_patches_needs_a_decision(repo):
    before = repo.files()
    repo.edit("xen/common/sched/credit.c", "credit line five\n", "credit line V\n")
    said = repo.forge("refresh", status=1)
    assert "commit --fixup ':/^xen/sched: change credit' xen/common/sched/credit.c" in said
    assert changed(repo, before) == []
    repo.git("commit", "-q", "--fixup", ":/^xen/sched: change credit", "xen/common/sched/credit.c")
    repo.forge("refresh")
    assert changed(repo, before) == ["patches/xen-4.20/0001-credit.patch"]
    assert "+credit line V\n" in (repo.patches / "0001-credit.patch").read_text()
    round_trip(repo)


def test_an_edit_of_a_file_in_no_patch_becomes_one_when_committed(repo):
    before = repo.files()
    repo.edit("README", "a small Xen\n", "a small Xen, edited\n")
    assert "commit -m" in repo.forge("refresh", status=1)
    repo.git("commit", "-qm", "docs: edit the README\n\nBecause.", "README")
    repo.forge("refresh")
    new = "patches/xen-4.20/0003-docs-edit-the-readme.patch"
    assert changed(repo, before) == [new, "patches/xen-4.20/series"]
    assert (repo.root / new).read_text().startswith("Subject: docs: edit the README\n\nBecause.\n---\ndiff --git ")
    assert (repo.patches / "series").read_text().startswith("# The hooks.\n0001-credit.patch\n")
    round_trip(repo)


def test_overlay_files_go_to_the_overlay(repo):
    before = repo.files()
    (repo.tree / "xen/common/sched/tavs/a.c").write_text("a, edited\n")
    (repo.tree / "xen/common/sched/tavs/b.c").write_text("b\n")
    repo.forge("refresh")
    assert changed(repo, before) == ["xen/common/sched/tavs/a.c", "xen/common/sched/tavs/b.c"]
    assert (repo.root / "xen/common/sched/tavs/a.c").read_text() == "a, edited\n"
    round_trip(repo)


def test_a_commit_to_overlay_files_needs_no_patch(repo):
    before = repo.files()
    (repo.tree / "xen/common/sched/tavs/a.c").write_text("a, edited\n")
    repo.git("commit", "-qam", "tavs: better")
    repo.forge("refresh")
    assert changed(repo, before) == ["xen/common/sched/tavs/a.c"]
    round_trip(repo)


def test_edits_on_both_sides_are_refused(repo):
    repo.edit("xen/common/sched/core.c", "core line 0\n", "core line zero\n")
    repo.write("xen/common/sched/tavs/a.c", "edited here too\n")
    before = repo.files()
    assert "which is newer" in repo.forge("refresh", status=1)
    assert changed(repo, before) == []


@pytest.mark.parametrize("file, complaint", [
    ("stray.c", "new files belong below"),
    ("xen/common/sched/tavs/b.d", "would not give build/tree again"),    # no overlay file: a compiler's
])  # fmt: skip
def test_a_refused_refresh_changes_nothing(repo, file, complaint):
    before = repo.files()
    repo.edit("xen/common/sched/core.c", "core line 0\n", "core line zero\n")
    (repo.tree / "xen/common/sched/tavs/a.c").write_text("a, edited\n")
    (repo.tree / file).write_text("stray\n")
    assert complaint in repo.forge("refresh", status=1)
    assert changed(repo, before) == []
    repo.forge("tree")
    (repo.tree / file).unlink()
    repo.forge("refresh")
    assert changed(repo, before) == ["patches/xen-4.20/0002-tavs.patch", "xen/common/sched/tavs/a.c"]
    round_trip(repo)


def test_a_dropped_commit_drops_its_patch(repo):
    repo.edit("README", "a small Xen\n", "a small Xen, edited\n")
    repo.git("commit", "-qm", "docs: edit the README", "README")
    repo.forge("refresh")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.forge("refresh")
    assert not list(repo.patches.glob("0003-*"))
    assert "0003" not in (repo.patches / "series").read_text()


def test_export_writes_a_series_that_git_can_apply(repo):
    repo.write("patches/xen-4.20/cover-letter", "xen: small\n\nThe text.\n")
    repo.forge("tree")
    repo.forge("export")
    files = sorted((repo.root / "out/series").iterdir())
    assert [f.name[:4] for f in files] == ["0000", "0001", "0002"]
    letter = files[0].read_text()
    assert "xen: small" in letter and "The text." in letter and "***" not in letter
    assert "Signed-off-by: " in files[1].read_text()
    content = repo.git("rev-parse", "HEAD^{tree}")
    repo.git("checkout", "-q", "--detach", "refs/forge/base")
    repo.git("am", "-q", *map(str, files[1:]))
    assert repo.git("rev-parse", "HEAD^{tree}") == content
