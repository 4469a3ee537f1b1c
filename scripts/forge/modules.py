# SPDX-License-Identifier: GPL-2.0-only
"""Our own Linux modules: each directory tools/linux/NAME, or guest-tests/modules/NAME, with a Kbuild file.

The headers of Xen that ours adds lie beside the files of a module when it is built.
"""

import shutil
from pathlib import Path

from . import kernel, paths, proc, stamp


PUBLIC = paths.ROOT / "xen/include/public"


def sources() -> list[Path]:
    return sorted(p.parent for where in ("tools/linux", "guest-tests/modules")
                  for p in (paths.ROOT / where).glob("*/Kbuild"))


def build(series: str = kernel.DEFAULT) -> list[Path]:
    found = sources()
    if not found:
        return []
    info = kernel.get(series)
    target = paths.MODULES if series == kernel.DEFAULT else paths.MODULES / series
    headers = kernel.KERNELS[series].dir / f"usr/src/linux-headers-{info['release']}"
    built = []
    for src in found:
        files = sorted(p for p in src.iterdir() if p.suffix in (".c", ".h") or p.name == "Kbuild")
        files += sorted(PUBLIC.glob("*.h"))
        key = stamp.key_of("module 1", info, [(p.name, stamp.file_hash(p)) for p in files])
        name = f"module-{src.name}-{series}"
        noted = stamp.read(name)
        products = [target / ko for ko in noted.get("products", [])]
        if not (products and stamp.fresh(name, key, *products)):
            work = target / "src" / src.name
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            for file in files:
                shutil.copy2(file, work / file.name)
            proc.logged(
                f"build module {src.name} {series}",
                ["nice", "-n", "5", "make", "-C", headers, f"M={work}", "KBUILD_BUILD_TIMESTAMP=@0",
                 f"KCFLAGS=-ffile-prefix-map={work}/= -ffile-prefix-map={kernel.KERNELS[series].dir}/=",
                 "CONFIG_DEBUG_INFO_BTF_MODULES=",  # type information for BPF would need pahole
                 f"-j{proc.jobs()}", "modules"],
                env=proc.clean_env(),
            )
            products = []
            for ko in sorted(work.glob("*.ko")):
                proc.capture(["objcopy", "--strip-debug", ko, target / ko.name])
                products.append(target / ko.name)
            stamp.write(name, key, products=[p.name for p in products])
        built += products
    return built
