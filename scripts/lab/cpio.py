# SPDX-License-Identifier: GPL-2.0-only
"""Initial RAM disks as reproducible cpio archives (the kernel's "newc" format).

Written here, not by cpio(1), because the bytes must depend on the contents
only: no modification times, no owners, no inode numbers of the build host,
and device nodes without being root.  Format: Linux
Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import stat
from pathlib import Path

_TRAILER = "TRAILER!!!"


class Archive:
    """A file tree that becomes one cpio archive.

    Paths are relative to the root of the RAM disk.  Parent directories come
    into being by themselves.  An entry that is added twice keeps the later
    contents.  Entries are written in sorted order.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes, tuple[int, int]]] = {}

    def add_dir(self, path: str, mode: int = 0o755) -> None:
        self._add(path, stat.S_IFDIR | mode)

    def add_bytes(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self._add(path, stat.S_IFREG | mode, data)

    def add_text(self, path: str, text: str, mode: int = 0o644) -> None:
        self.add_bytes(path, text.encode(), mode)

    def add_file(self, path: str, source: Path, mode: int) -> None:
        """Adds a file of the host."""
        self.add_bytes(path, source.read_bytes(), mode)

    def add_link(self, path: str, target: str) -> None:
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def add_char_device(self, path: str, major: int, minor: int, mode: int = 0o600) -> None:
        self._add(path, stat.S_IFCHR | mode, b"", (major, minor))

    def pack(self) -> bytes:
        chunks: list[bytes] = []
        for inode, path in enumerate(sorted(self._entries), start=1):
            mode, data, device = self._entries[path]
            chunks.append(_entry(inode, path, mode, data, device))
        chunks.append(_entry(0, _TRAILER, 0, b"", (0, 0)))
        return b"".join(chunks)

    def _add(
        self, path: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)
    ) -> None:
        path = path.strip("/")
        parent = path.rpartition("/")[0]
        if parent and parent not in self._entries:
            self.add_dir(parent)
        self._entries[path] = (mode, data, device)


def _entry(inode: int, path: str, mode: int, data: bytes, device: tuple[int, int]) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, *device, len(name), 0)
    header = b"070701" + "".join(f"{field:08X}" for field in fields).encode()
    return _padded(header + name) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
