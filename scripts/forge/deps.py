# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages that building and booting need."""

import os

from . import proc
from .errors import ForgeError

PACKAGES = """
    build-essential bison flex gettext pkg-config bc git
    libyajl-dev uuid-dev libncurses-dev libssl-dev zlib1g-dev libbz2-dev liblzma-dev liblzo2-dev
    libaio-dev libglib2.0-dev libpixman-1-dev libelf-dev acpica-tools python3-dev python3-setuptools python3-venv
    debian-archive-keyring cpio busybox-static kmod xz-utils zstd lz4
    meson ninja-build libfdt-dev qemu-system-data seabios
""".split()


def missing() -> list[str]:
    try:
        listed = proc.capture(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Provides}\n"])
    except ForgeError as error:
        raise ForgeError("which packages are installed can be told on Debian only", error.message) from error
    have = set()
    for line in listed.splitlines():
        status, name, provides = line.split("\t")
        if status.startswith("ii"):
            have.add(name)
            have.update(p.split()[0] for p in provides.split(",") if p.strip())
    return [p for p in PACKAGES if p not in have]


def ensure() -> None:
    """As root: install what is missing. As anybody else: say which command does."""
    absent = missing()
    if not absent:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *absent]
    if os.geteuid() != 0:
        raise ForgeError("these Debian packages are missing; install them and run this again:", "sudo " + " ".join(command))
    proc.say(f"install {' '.join(absent)}")
    environ = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    proc.logged("apt-get update", ["apt-get", "-q", "update"], env=environ)
    proc.logged("apt-get install", [*command], env=environ)
    left = missing()
    if left:
        raise ForgeError(f"still missing after installation: {' '.join(left)}")
