# SPDX-License-Identifier: GPL-2.0-only
"""What `make artifacts` built: hypervisors, toolstack, kernels, modules, emulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .paths import BUILD

DEFAULT_KERNEL = "6.1"


@dataclass(frozen=True)
class Artifacts:
    xen: Path | None
    xen_debug: Path | None
    xen_pristine: Path | None
    tools: Path
    kernel: Path
    vmlinux: Path
    extra_kernels: dict[str, dict[str, str]]
    dom0_modules: list[Path]
    workloads: Path
    qemu: Path  # a directory: the emulator and its firmware

    @classmethod
    def of(cls, values: dict) -> Artifacts:
        """From the JSON object that `make artifacts` prints."""
        return cls(
            **{key: values[key] and Path(values[key]) for key in ("xen", "xen_debug", "xen_pristine")},
            **{key: Path(values[key]) for key in ("tools", "kernel", "vmlinux", "qemu")},
            extra_kernels=values.get("extra_kernels", {}),
            dom0_modules=[Path(module) for module in values["dom0_modules"]],
            workloads=Path(values.get("workloads", BUILD / "workloads")),
        )

    def hypervisor(self, kind: str) -> Path:
        """The hypervisor of a policy: release, debug or pristine; LabError if it is not built."""
        file = {"release": self.xen, "debug": self.xen_debug, "pristine": self.xen_pristine}[kind]
        if file is None or not file.exists():
            raise LabError(f"the {kind} hypervisor is not built: run `make ready`")
        return file

    def our_module(self, name: str) -> Path:
        """One of our modules, built for the kernel that dom0 runs."""
        for file in self.dom0_modules:
            if file.stem == name:
                return file
        raise LabError(f"our module {name} is not built: run `make ready`")

    def workload(self, name: str) -> Path:
        """A program that runs in dom0 or in guests."""
        file = self.workloads / name
        if not file.exists():
            raise LabError(f"the workload {name} is not built: run `make ready`")
        return file

    def guest_kernel(self, series: str) -> Path:
        """The unpacked package of a guest's kernel."""
        return self.kernel if series == DEFAULT_KERNEL else Path(self._extra(series)["kernel"])

    def guest_vmlinux(self, series: str) -> Path:
        """The ELF of a guest's kernel."""
        return self.vmlinux if series == DEFAULT_KERNEL else Path(self._extra(series)["vmlinux"])

    def _extra(self, series: str) -> dict[str, str]:
        try:
            return self.extra_kernels[series]
        except KeyError:
            raise LabError(f"the guest kernel {series} is not here: run `make kernel-{series}`, "
                           "then `make artifacts`") from None
