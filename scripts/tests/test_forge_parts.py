# SPDX-License-Identifier: GPL-2.0-only
"""forge's parsers: apt sources, patch files, Kconfig, bzImages, stamps, the command line."""

import gzip
import lzma
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from forge import apt, bzimage, deps, qemu, series, stamp, xen
from forge.errors import ForgeError
from forge_fixture import SCRIPTS

DEB822 = """\
# a comment
Types: deb deb-src
URIs: http://mirror.example.org/debian
Suites: bookworm
  bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example.org/debian-security/
Suites: bookworm-security
Components: main

Types: deb
URIs: http://off.example.org/debian
Suites: bookworm
Components: main
Enabled: no
"""

ONE_LINE = """\
# deb http://commented.example.org/debian bookworm main
deb [arch=amd64 signed-by=/etc/keyrings/vendor.gpg] https://vendor.example.org/debian bookworm main
deb https://packages.example.org/for/debian/12/prod bookworm main
deb https://database.example.org/debian bookworm-db main
deb [arch=amd64] http://ftp.example.org/debian/ trixie main # here
"""


def test_deb822_sources():
    found = apt.parse_deb822(DEB822)
    assert [(e.uri, e.suite) for e in found] == [
        ("http://mirror.example.org/debian", "bookworm"),
        ("http://mirror.example.org/debian", "bookworm-updates"),
        ("http://mirror.example.org/debian-security/", "bookworm-security"),
    ]
    assert apt.mirrors(found) == ("http://mirror.example.org/debian", "http://mirror.example.org/debian-security")


def test_one_line_sources_and_other_peoples_packages():
    found = apt.parse_one_line(ONE_LINE)
    assert len(found) == 4
    assert [e.uri for e in found if e.is_debian() and "-" not in e.suite] == ["http://ftp.example.org/debian/"]


def test_mirrors_of_the_system_are_read_from_both_kinds_of_file(tmp_path):
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(ONE_LINE)
    (tmp_path / "sources.list.d/debian.sources").write_text(DEB822)
    assert apt.mirrors(apt.user_entries(tmp_path)) == (
        "http://ftp.example.org/debian", "http://mirror.example.org/debian-security"
    )


def test_without_sources_a_mirror_has_to_be_named(tmp_path, monkeypatch):
    monkeypatch.delenv("DEBIAN_MIRROR", raising=False)
    with pytest.raises(ForgeError, match="DEBIAN_MIRROR=URL"):
        apt.mirrors(apt.user_entries(tmp_path))
    monkeypatch.setenv("DEBIAN_MIRROR", "http://near.example.org/debian/")
    assert apt.mirrors([]) == ("http://near.example.org/debian", "http://near.example.org/debian-security")


def test_newest_goes_by_dpkgs_order():
    assert apt.newest(["4.20.3+9-g0", "4.20.3+127-g1", "4.20.3~rc1-g2"]) == "4.20.3+127-g1"


def test_a_patch_is_its_message_and_its_diff():
    text = (
        "Subject: [PATCH v2 3/9] xen: a long\n subject\n\nBody.\n\n--- not a separator\nMore.\n---\n stat | 1 +\n\n"
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n line\n+index 1..2 is content here\n"
    )
    patch = series.parse_patch(text)
    assert patch.subject == "xen: a long subject"
    assert patch.body == "Body.\n\n--- not a separator\nMore."
    assert patch.diff == (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n line\n+index 1..2 is content here\n"
    )
    assert series.parse_patch(patch.text()) == patch


def test_a_patch_without_subject_is_refused():
    with pytest.raises(ForgeError, match="x.patch: no Subject"):
        series.parse_patch("diff --git a/x b/x\n", "x.patch")


def test_the_longer_path_of_the_series_wins():
    entries, _ = series.parse_series("a.patch\n+ xen/tavs/\nb.patch\n+ xen/tavs/net.c\n")
    enters, unnamed = series.assign(entries, ["xen/tavs/net.c", "xen/tavs/task.c", "xen/z.c"])
    assert enters == {"a.patch": ["xen/tavs/task.c"], "b.patch": ["xen/tavs/net.c"]}
    assert unnamed == ["xen/z.c"]


def test_options_that_kconfig_did_not_take_are_named():
    asked = "# why\nCONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\n# CONFIG_D is not set\n"
    got = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\n"
    assert xen.not_taken(asked, got) == ["CONFIG_B=y (is n)", "CONFIG_C=n (is y)"]


def test_tavs_is_asked_for_where_the_source_has_it():
    with_tavs = "config SCHED_TAVS\n\tbool\n"
    assert "CONFIG_SCHED_TAVS=y" in xen.wanted_options("release", with_tavs)
    assert "CONFIG_SCHED_TAVS" not in xen.wanted_options("pristine", with_tavs)
    assert "CONFIG_SCHED_TAVS" not in xen.wanted_options("debug", "config SCHED_CREDIT\n")


ELF = b"\x7fELF" + bytes(range(256)) * 40


def image(payload: bytes, protocol: int = 0x020F) -> bytes:
    """A bzImage of one setup sector more than none, with the payload 100 bytes into the kernel proper."""
    head = bytearray(1024 + 100)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x206, protocol)
    struct.pack_into("<II", head, 0x248, 100, len(payload))
    return bytes(head) + payload + b"what follows"


def with_size(data: bytes) -> bytes:
    return data + struct.pack("<I", len(ELF))


@pytest.mark.parametrize("name", ["gzip", "xz", "lzma", "zstd", "none"])
def test_elf_out_of_a_bzimage(name):
    data = {
        "gzip": lambda: gzip.compress(ELF),
        "xz": lambda: with_size(lzma.compress(ELF, check=lzma.CHECK_CRC32)),
        "lzma": lambda: with_size(lzma.compress(ELF, format=lzma.FORMAT_ALONE)),
        "zstd": lambda: with_size(subprocess.run(["zstd", "-c"], input=ELF, capture_output=True, check=True).stdout),
        "none": lambda: ELF,
    }[name]()
    assert bzimage.extract(image(data)) == ELF


@pytest.mark.parametrize(
    "broken, complaint",
    [
        (b"no kernel", "not a bzImage"),
        (image(b"", 0x0207), "too old"),
        (image(with_size(lzma.compress(ELF)))[:1400], "complete"),
        (image(b"?" * 40), "unknown way"),
        (image(lzma.compress(ELF) + b"\1\0\0\0"), "does not hold"),
    ],
)
def test_what_is_no_bzimage_is_refused(broken, complaint):
    with pytest.raises(ForgeError, match=complaint):
        bzimage.extract(broken)


def test_a_stamp_holds_for_its_key_and_while_the_product_exists(tmp_path, monkeypatch):
    monkeypatch.setattr(stamp.paths, "STAMPS", tmp_path / "stamps")
    product = tmp_path / "product"
    stamp.write("x", "key")
    assert not stamp.fresh("x", "key", product)
    product.touch()
    assert stamp.fresh("x", "key", product)
    assert not stamp.fresh("x", "other", product)
    stamp.drop("x")
    assert not stamp.fresh("x", "key", product)


def test_the_pinned_version_is_fetched_first_and_another_if_it_is_gone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(apt.paths, "DOWNLOAD", tmp_path / "download")
    offered = apt.in_order(["1.2-1", "1.10-1", "1.9-1"], "1.9-1")
    assert offered == ["1.9-1", "1.10-1", "1.2-1"]
    gone = set()

    def get(version, directory):
        (directory / "half").touch()
        if version in gone:
            raise ForgeError("404", "apt said\nnot found")
        (directory / f"p_{version}.deb").write_text(version)

    assert apt.download("p", offered, "1.9-1", get)[0] == "1.9-1"
    assert capsys.readouterr().err == ""
    gone = {"1.9-1"}
    version, files = apt.download("p", offered, "1.9-1", get)
    assert version == "1.10-1" and "WARNING: not p 1.9-1" in capsys.readouterr().err
    (tmp_path / "download/half").unlink()
    del files["half"]
    assert apt.unchanged(files) == [tmp_path / "download/p_1.10-1.deb"]
    (tmp_path / "download/p_1.10-1.deb").write_text("tampered")
    with pytest.raises(ForgeError, match="has changed since"):
        apt.unchanged(files)
    assert sorted(p.name for p in (tmp_path / "download").iterdir()) == ["p_1.9-1.deb"]
    gone = set(offered)
    with pytest.raises(ForgeError) as caught:
        apt.download("p", offered, "1.9-1", get)
    assert caught.value.details.splitlines() == [f"{v}: not found" for v in offered]


def test_missing_packages_are_named_with_the_command_that_installs_them(monkeypatch):
    monkeypatch.setattr(deps, "PACKAGES", ["dpkg", "no-such-package-at-all"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert deps.missing() == ["no-such-package-at-all"]
    with pytest.raises(ForgeError) as caught:
        deps.ensure()
    assert caught.value.details == "sudo apt-get install -y --no-install-recommends no-such-package-at-all"


def test_without_dpkg_the_packages_cannot_be_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ForgeError, match="on Debian only"):
        deps.missing()


def test_missing_firmware_is_named(monkeypatch):
    monkeypatch.setattr(qemu, "FIRMWARE", ("/nonexistent/bios.bin", "/bin/sh"))
    with pytest.raises(ForgeError, match="make deps") as caught:
        qemu.build()
    assert caught.value.details == "/nonexistent/bios.bin"


def forge(*words, **env):
    return subprocess.run([sys.executable, "-m", "forge", *words], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(SCRIPTS), **env))


def test_help_of_each_verb_teaches():
    verbs = [line.split()[0] for line in forge("--help").stdout.split("VERB\n")[1].split("\n\n")[0].splitlines()
             if line.startswith("    ") and not line.startswith("     ")]
    assert {"deps", "source", "tree", "refresh", "export", "xen", "toolstack", "kernel", "qemu", "artifacts"} <= set(verbs)
    for verb in verbs:
        done = forge(verb, "--help")
        usage, description, *_ = done.stdout.split("\n\n")
        assert done.returncode == 0 and usage.startswith(f"usage: python3 -m forge {verb}")
        assert description[0].isupper() and len(description.split()) > 1, verb


def test_bad_words_are_named_and_status_2(tmp_path):
    for words in (["none"], ["xen", "fast"], ["kernel", "5.0"]):
        done = forge(*words, FORGE_ROOT=str(tmp_path))
        usage, *_, last = done.stderr.splitlines()
        assert done.returncode == 2 and usage.startswith("usage: ")
        assert ": error: argument " in last and f"invalid choice: '{words[-1]}'" in last
    done = forge("tree", XEN_SRC="/nonexistent", FORGE_ROOT=str(tmp_path))
    assert done.returncode == 2 and done.stderr.startswith("error: XEN_SRC=/nonexistent is not")


def test_make_help_lists_every_verb():
    makefile = (Path(SCRIPTS).parent / "Makefile").read_text()
    told = subprocess.run(["make", "-s", "help"], cwd=SCRIPTS.parent, capture_output=True, text=True).stdout
    phony = {word for line in makefile.splitlines() if line.startswith(".PHONY:") for word in line.split()[1:]}
    assert phony == {line.split()[0] for line in told.splitlines() if line.startswith("  ")}
