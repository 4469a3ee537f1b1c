# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory: boots Xen with real guests in virtual time and measures them."""
