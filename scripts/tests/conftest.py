# SPDX-License-Identifier: GPL-2.0-only
"""Tests import the packages in scripts/, wherever pytest is started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
