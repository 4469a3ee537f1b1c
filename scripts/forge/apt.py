# SPDX-License-Identifier: GPL-2.0-only
"""A private view of Debian's archive, verified by apt's own signed index.

apt runs with its lists, state and cache below build/apt and with a sources list of ours. The user's apt is only read:
where a local mirror is configured, it is used here too.
"""

import os
import pwd
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import paths, proc, stamp
from .errors import ForgeError

SUITE = re.compile(
    r"(bookworm|trixie|forky|sid|stable|oldstable|testing|unstable)(-(updates|security|backports|proposed-updates))?/?"
)
KEYRINGS = ("/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp")


@dataclass(frozen=True)
class Entry:
    """One line of the user's apt sources, whichever of the two syntaxes it is written in."""

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str = ""

    def is_debian(self) -> bool:
        """Debian itself and not somebody's packages *for* Debian, which use the same suite names."""
        if "main" not in self.components or not SUITE.fullmatch(self.suite):
            return False
        if "debian-archive-keyring" in self.signed_by or self.uri.startswith("mirror"):
            return True
        return not self.signed_by and re.search(r"/debian(-security)?/?$", self.uri) is not None


def parse_one_line(text: str) -> list[Entry]:
    found = []
    for line in text.splitlines():
        match = re.match(r"\s*deb(?:-src)?\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s*(.*)", line.split("#")[0])
        if match:
            options = dict(o.split("=", 1) for o in (match[1] or "").split() if "=" in o)
            found.append(Entry(match[2], match[3], tuple(match[4].split()), options.get("signed-by", "")))
    return found


def parse_deb822(text: str) -> list[Entry]:
    found = []
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace():
                fields[name] = fields.get(name, "") + " " + line.strip()
            elif ":" in line:
                name, value = line.split(":", 1)
                name = name.strip().lower()
                fields[name] = value.strip()
        if fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        components = tuple(fields.get("components", "").split())
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                found.append(Entry(uri, suite, components, fields.get("signed-by", "")))
    return found


def user_entries(etc: Path = Path("/etc/apt")) -> list[Entry]:
    found = []
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        try:
            if path.suffix == ".list":
                found += parse_one_line(path.read_text())
            elif path.suffix == ".sources":
                found += parse_deb822(path.read_text())
        except OSError:
            continue
    return found


def mirrors(entries: list[Entry]) -> tuple[str, str]:
    """The (archive, security archive) that the user's own apt takes Debian's packages from.

    DEBIAN_MIRROR and DEBIAN_SECURITY_MIRROR override them. A mirror that is configured without its security archive
    has it beside itself, as Debian's own servers do.
    """
    debian = [e for e in entries if e.is_debian()]
    main = next((e.uri for e in debian if not e.suite.endswith("-security")), "")
    own = os.environ.get("DEBIAN_MIRROR", main).rstrip("/")
    if not own:
        raise ForgeError("no mirror of Debian in /etc/apt: name one with DEBIAN_MIRROR=URL")
    security = next((e.uri for e in debian if e.suite.endswith("-security")), f"{own}-security")
    return own, os.environ.get("DEBIAN_SECURITY_MIRROR", security).rstrip("/")


class Archive:
    """Some suites of Debian's archive, as apt sees them."""

    def __init__(self, name: str, kind: str, suites: list[str]):
        self.name, self.kind, self.suites = name, kind, suites
        self.dir = paths.BUILD / "apt" / name

    def _options(self) -> list[str]:
        values = {
            "Dir::State": self.dir / "state",
            "Dir::State::lists": self.dir / "lists",
            "Dir::State::status": self.dir / "status",
            "Dir::Cache": self.dir / "cache",
            "Dir::Etc::SourceList": self.dir / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
            "APT::Default-Release": "",
            "APT::Get::AllowUnauthenticated": "false",
            # apt, started by root, would give its directories to another user, who may not reach this place.
            "APT::Sandbox::User": pwd.getpwuid(os.getuid()).pw_name,
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
            "Acquire::IndexTargets::deb-src::Contents-dsc::DefaultEnabled": "false",
        }
        return [word for key, value in values.items() for word in ("-o", f"{key}={value}")]

    def _sources(self, archive: str, security: str) -> str:
        keyring = next((k for k in KEYRINGS if Path(k).exists()), None)
        if not keyring:
            raise ForgeError("Debian's archive keys are missing", "install the package debian-archive-keyring")
        lines = [
            f"{self.kind} [signed-by={keyring}] {security if s.endswith('-security') else archive} {s} main"
            for s in self.suites
        ]
        return "\n".join(lines) + "\n"

    def update(self) -> None:
        """Fetch and verify the index of the suites."""
        for sub in ("state", "lists/partial", "cache/archives/partial"):
            (self.dir / sub).mkdir(parents=True, exist_ok=True)
        (self.dir / "status").touch()
        (self.dir / "sources.list").write_text(self._sources(*mirrors(user_entries())))
        proc.logged(
            f"apt index {self.name}",
            ["apt-get", *self._options(), "-q", "--error-on=any", "update"],
            env=proc.clean_env(),
        )

    def cache(self, *words: str) -> str:
        return proc.capture(["apt-cache", *self._options(), *words], env=proc.clean_env())

    def get(self, what: str, *words: str, cwd: Path) -> None:
        """apt-get; its downloads land in cwd."""
        cwd.mkdir(parents=True, exist_ok=True)
        proc.logged(what, ["apt-get", *self._options(), "-q", *words], cwd=cwd, env=proc.clean_env())

    def stanzas(self, *words: str) -> list[dict[str, str]]:
        """apt-cache's answer as one dictionary a stanza (continuation lines joined)."""
        found = []
        for block in self.cache(*words).split("\n\n"):
            fields: dict[str, str] = {}
            name = ""
            for line in block.splitlines():
                if line[:1].isspace():
                    fields[name] += "\n" + line.strip()
                elif ":" in line:
                    name, value = line.split(":", 1)
                    fields[name] = value.strip()
            if fields:
                found.append(fields)
        return found


def in_order(offered, pinned: str = "") -> list[str]:
    """The pinned version first, if it is offered; then from the newest."""
    left = set(offered)
    order = [pinned] if pinned in left else []
    left -= set(order)
    while left:
        order.append(newest(left))
        left.remove(order[-1])
    return order


def download(what: str, versions: list[str], pinned: str, get) -> tuple[str, dict[str, str]]:
    """Fetches the first of the versions that can still be had; says which, and {file: SHA-256} in build/download.

    get(version, directory) fetches one; a version that is not the pinned one is fetched with a warning.
    """
    paths.DOWNLOAD.mkdir(parents=True, exist_ok=True)
    tried = []
    for version in versions:
        if pinned and version != pinned:
            proc.say(f"WARNING: not {what} {pinned}, which is gone from the archive, but {version}.")
        with tempfile.TemporaryDirectory(prefix="incoming-", dir=paths.DOWNLOAD) as incoming:
            try:
                get(version, Path(incoming))
            except ForgeError as error:
                tried.append(f"{version}: {error.details.splitlines()[-1] if error.details else error.message}")
                continue
            files = {}
            for file in sorted(p for p in Path(incoming).iterdir() if p.is_file()):
                files[file.name] = stamp.file_hash(file)
                file.replace(paths.DOWNLOAD / file.name)
            return version, files
    raise ForgeError(f"no {what} can be fetched", "\n".join(tried))


def unchanged(files: dict[str, str]) -> list[Path]:
    """What download() fetched, as long as it is what it was."""
    for name, sha256 in files.items():
        if stamp.file_hash(paths.DOWNLOAD / name) != sha256:
            (paths.DOWNLOAD / name).unlink()
            raise ForgeError(f"{name} has changed since it was downloaded; it is deleted: run this again")
    return [paths.DOWNLOAD / name for name in files]


def newest(versions) -> str:
    """The highest version by dpkg's order."""
    best = ""
    for version in versions:
        higher = subprocess.run(["dpkg", "--compare-versions", version, "gt", best], check=False).returncode == 0
        if not best or higher:
            best = version
    return best
