# SPDX-License-Identifier: GPL-2.0-only
"""Tests import the packages in scripts/, wherever pytest is started."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def pytest_report_header():
    return f"booted tests: SEED={os.environ.get('SEED') or 1}"
