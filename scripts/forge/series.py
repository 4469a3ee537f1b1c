# SPDX-License-Identifier: GPL-2.0-only
"""Reading and writing patches/xen-4.20: the series file and the patches (docs/patches.md describes both)."""

import re
from dataclasses import dataclass, field

from . import paths
from .errors import ForgeError


@dataclass
class Patch:
    """What was decided: a message and a diff. Whatever else a patch file carries is dropped."""

    subject: str
    body: str
    diff: str

    @property
    def message(self) -> str:
        return self.subject + "\n" + (f"\n{self.body}\n" if self.body else "")

    def text(self) -> str:
        body = f"\n{self.body}\n" if self.body else ""
        return f"Subject: {self.subject}\n{body}---\n{self.diff}"


@dataclass
class Entry:
    """A line of the series: a patch, the overlay paths that enter with it, the comment above it."""

    name: str
    files: list[str] = field(default_factory=list)
    comment: str = ""


def clean_diff(text: str) -> str:
    """The diff alone: no diffstat, no blob hashes, no signature."""
    start = re.search(r"^diff --git ", text, re.M)
    if not start:
        return ""
    text = re.sub(r"\n-- \n[^\n]*\n*\Z", "\n", text[start.start() :])
    lines, in_header = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith("diff --git "):
            in_header = True
        elif line.startswith("@@ "):
            in_header = False
        if not (in_header and re.match(r"(index|similarity index|dissimilarity index) ", line)):
            lines.append(line)
    return "".join(lines)


def parse_patch(text: str, name: str = "patch") -> Patch:
    start = re.search(r"^diff --git ", text, re.M)
    head = text[: start.start()] if start else text
    head = re.split(r"^---\s*$", head, maxsplit=1, flags=re.M)[0]
    if head.startswith("From ") or re.match(r"(From|Date|Subject|Message-Id|To|Cc): ", head, re.I):
        fields, _, body = head.partition("\n\n")
    else:
        fields, body = "", head
    match = re.search(r"^Subject:\s*(.*(?:\n[ \t].*)*)", fields, re.M)
    if not match:
        raise ForgeError(f"{name}: no Subject: line")
    subject = re.sub(r"\s+", " ", match[1])
    subject = re.sub(r"^(\[[^\]]*\]\s*)+", "", subject)
    return Patch(subject, body.strip("\n"), clean_diff(text))


def read_patch(name: str) -> Patch:
    try:
        return parse_patch((paths.PATCHES / name).read_text(), name)
    except FileNotFoundError:
        raise ForgeError(f"{paths.shown(paths.SERIES)} names {name}, which does not exist") from None


def parse_series(text: str) -> tuple[list[Entry], str]:
    """The entries and the comment that follows the last of them."""
    entries: list[Entry] = []
    comment = ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].strip()
        if words.startswith("+"):
            if not entries:
                raise ForgeError(f"series line {number}: an overlay file before the first patch", line)
            entries[-1].files += words[1:].split()
        elif words:
            if not re.fullmatch(r"[\w.+-]+\.patch", words):
                raise ForgeError(f"series line {number}: neither a patch (NAME.patch) nor an overlay file (+ PATH)", line)
            entries.append(Entry(words, comment=comment))
            comment = ""
        else:
            comment += line + "\n"
    seen: dict[str, str] = {}
    for entry in entries:
        for what in [entry.name, *entry.files]:
            if what in seen:
                raise ForgeError(f"the series names {what} twice")
            seen[what] = entry.name
    return entries, comment


def read_series() -> tuple[list[Entry], str]:
    return parse_series(paths.SERIES.read_text()) if paths.SERIES.exists() else ([], "")


def series_text(entries: list[Entry], trailer: str = "") -> str:
    lines = []
    for entry in entries:
        lines.append(entry.comment + entry.name + "\n")
        lines += [f"+ {path}\n" for path in entry.files]
    return "".join(lines) + trailer


def assign(entries: list[Entry], overlay: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Which overlay files enter with which patch; and those that no line names."""
    owner = {path: entry.name for entry in entries for path in entry.files}
    used = set()
    enters: dict[str, list[str]] = {entry.name: [] for entry in entries}
    unnamed = []
    for file in overlay:
        fitting = [p for p in owner if p == file or (p.endswith("/") and file.startswith(p))]
        if fitting:
            best = max(fitting, key=len)
            used.update(fitting)
            enters[owner[best]].append(file)
        else:
            unnamed.append(file)
    missing = sorted(set(owner) - used)
    if missing:
        raise ForgeError(f"the series names overlay files that do not exist: {', '.join(missing)}")
    return enters, unnamed


def slug(subject: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", subject).strip("-")[:60].rstrip("-").lower()
