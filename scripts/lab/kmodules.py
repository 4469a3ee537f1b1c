# SPDX-License-Identifier: GPL-2.0-only
"""Kernel modules of the packaged kernel, with what they depend on."""

from __future__ import annotations

from pathlib import Path

from .errors import LabError

DOM0 = ("xen-evtchn", "xen-gntdev", "xen-gntalloc", "xen-privcmd", "xenfs", "loop", "bridge",
        "xen-netback", "xen-blkback")
GUEST = ("xen-netfront", "xen-blkfront")
OF_WORKLOADS = {"loopback": "xen-evtchn"}  # programs of a guest that need one more


class ModuleTree:
    """The modules below lib/modules/VERSION of an unpacked kernel package."""

    def __init__(self, kernel: Path) -> None:
        try:
            (self._root,) = (kernel / "lib/modules").iterdir()
            lines = (self._root / "modules.dep").read_text().splitlines()
        except (OSError, ValueError) as problem:
            raise LabError(f"{kernel} is no unpacked kernel package: {problem}") from None
        self._needs: dict[str, list[str]] = {}
        self._path: dict[str, str] = {}
        for line in lines:
            path, _, needs = line.partition(":")
            name = _name(path)
            self._path[name] = path
            self._needs[name] = [_name(need) for need in needs.split()]

    def in_load_order(self, wanted: tuple[str, ...]) -> list[Path]:
        """The files of `wanted` and of all they need, each behind its needs."""
        order: list[str] = []

        def visit(name: str) -> None:
            if name in order:
                return
            if name not in self._needs:
                raise LabError(f"the kernel package has no module {name}")
            for need in self._needs[name]:
                visit(need)
            order.append(name)

        for name in wanted:
            visit(_name(name))
        return [self._root / self._path[name] for name in order]


def _name(path: str) -> str:
    return Path(path).name.partition(".ko")[0].replace("-", "_")
