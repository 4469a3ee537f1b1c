# SPDX-License-Identifier: GPL-2.0-only
"""Everything that other tools boot, and where it is: one JSON object."""

import json

from . import kernel, modules, paths, qemu, stamp, toolstack, tree, xen


def build(kinds: list[str] | None = None) -> dict:
    """Builds everything; of the hypervisors only `kinds`, if any.  Of the others, null is what is not up to date."""
    linux = kernel.get()
    files = {kind: xen.build(kind) if kind in (kinds or xen.KINDS) else xen.built(kind) for kind in xen.KINDS}
    hypervisors = {kind: str(file) if file else None for kind, file in files.items()}
    tools = toolstack.build()
    ours = modules.build()
    emulator = qemu.build()
    result = {
        "xen": hypervisors["release"],
        "xen_debug": hypervisors["debug"],
        "xen_pristine": hypervisors["pristine"],
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
