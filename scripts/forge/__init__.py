# SPDX-License-Identifier: GPL-2.0-only
"""forge: from sources and patches to the things that the laboratory boots.

One module, one concern:

    apt        a private view of Debian's archive
    source     Xen's source          series, tree    source + overlay + patches = work tree
    kernel     Debian's kernels      refresh, export edits back into patches; the series for the list
    bzimage    the ELF in a bzImage  xen, toolstack, modules   builds
    stamp      what is up to date    artifacts       where everything is
"""
