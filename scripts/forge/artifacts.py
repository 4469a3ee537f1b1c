# SPDX-License-Identifier: GPL-2.0-only
"""Everything that other tools boot, and where it is: one JSON object."""

import json

from . import kernel, modules, paths, qemu, stamp, toolstack, tree, xen


def build(kinds: list[str] | None = None) -> dict:
    """Builds everything; of the hypervisors only `kinds`, if any: the others are null then."""
    linux = kernel.get()
    hypervisors = {kind: str(xen.build(kind)) for kind in kinds or xen.KINDS}
    tools = toolstack.build()
    ours = modules.build()
    emulator = qemu.build()
    result = {
        "xen": hypervisors.get("release"),
        "xen_debug": hypervisors.get("debug"),
        "xen_pristine": hypervisors.get("pristine"),
        "tools": str(tools),
        "kernel": str(kernel.KERNELS[kernel.DEFAULT].dir),
        "vmlinux": str(kernel.KERNELS[kernel.DEFAULT].vmlinux),
        "dom0_modules": [str(m) for m in ours],
        "qemu": str(emulator),
        "versions": {
            "xen": tree.get().version,
            "kernel": linux["release"],
            "kernel_package": linux["version"],
            "compiler": xen.compiler(),
            "qemu": stamp.read("qemu")["version"],
        },
    }
    extra = kernel.KERNELS["6.12"]
    if extra.vmlinux.exists():
        info = stamp.read(extra.stamp)
        result["extra_kernels"] = {
            "6.12": {"kernel": str(extra.dir), "vmlinux": str(extra.vmlinux), "release": info.get("release", "")}
        }
    new = paths.BUILD / "artifacts.json.new"
    new.write_text(json.dumps(result, indent=2) + "\n")
    new.replace(paths.BUILD / "artifacts.json")
    return result
