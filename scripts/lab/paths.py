# SPDX-License-Identifier: GPL-2.0-only
"""Where things are in a checkout."""

import json
from pathlib import Path

from .errors import LabError

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "guest-tests" / "scenarios"
POLICIES = ROOT / "guest-tests" / "policies.toml"
SCHEMAS = Path(__file__).resolve().parent / "schema"
BUILD = ROOT / "build"
CACHE = BUILD / "cache"
OUT = ROOT / "out"
ARTIFACTS = BUILD / "artifacts.json"


def shown(path: Path) -> str:
    """A path as a reader of the terminal wants it: short where it can be."""
    path = Path(path)
    for base in (Path.cwd(), ROOT):
        try:
            return str(path.resolve().relative_to(base))
        except ValueError:
            continue
    return str(path)


def load_artifacts(path: Path = ARTIFACTS) -> dict:
    """What `make artifacts` said it built."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise LabError(f"{shown(path)} is missing: nothing is built yet", ["run: make ready"]) from None
    except (OSError, ValueError) as error:
        raise LabError(f"{shown(path)} cannot be read: {error}", ["run: make ready"]) from None
