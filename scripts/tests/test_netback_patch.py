# SPDX-License-Identifier: GPL-2.0-only
"""patches/linux: applies to Debian's kernels, and what it makes of xen-netback compiles against their headers."""

import os
import subprocess

import pytest

from forge import apt, kernel, paths, proc

PATCH = next((paths.ROOT / "patches/linux").glob("0001-*.patch"))
NETBACK = "drivers/net/xen-netback"


@pytest.mark.slow
@pytest.mark.parametrize("series", sorted(kernel.KERNELS))
def test_netback_patch(series, tmp_path):
    info = kernel.get(series)
    which = kernel.KERNELS[series]
    archive = apt.Archive(which.stamp, "deb", list(which.suites))
    archive.update()
    package = f"linux-source-{series}"
    archive.get(f"download {package}", "download", f"{package}={info['version']}", cwd=tmp_path)
    (deb,) = tmp_path.glob("*.deb")
    subprocess.run(
        f"dpkg-deb --fsys-tarfile {deb} | tar -xO ./usr/src/{package}.tar.xz | tar -xJ --strip-components=1 "
        f"-C {tmp_path} --wildcards '*/{NETBACK}/*'", shell=True, check=True)
    subprocess.run(["patch", "-p1", "--fuzz=0", "-i", PATCH], cwd=tmp_path, check=True)

    headers = which.dir / f"usr/src/linux-headers-{info['release']}"
    done = subprocess.run(
        ["make", "-C", headers, f"M={tmp_path / NETBACK}", "CONFIG_XEN_NETDEV_BACKEND=m",
         "CONFIG_DEBUG_INFO_BTF_MODULES=", f"KCPPFLAGS=-I{tmp_path}/include", f"-j{os.cpu_count()}", "modules"],
        env=proc.clean_env(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    symbols = subprocess.run(["nm", tmp_path / NETBACK / "xen-netback.ko"], capture_output=True, text=True, check=True)
    assert "xenvif_tavs_record" in symbols.stdout
