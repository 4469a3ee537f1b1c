# SPDX-License-Identifier: GPL-2.0-only
"""What is up to date: a product is fresh while the hash over its inputs is the one it was made from.

Times play no part, so a fresh clone, a touched file or a changed clock neither hides a change nor invents one.
"""

import hashlib
import json
from pathlib import Path

from . import paths


def key_of(*parts) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def file_hash(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _path(name: str) -> Path:
    return paths.STAMPS / f"{name}.json"


def fresh(name: str, key: str, *products: Path) -> bool:
    return read(name).get("key") == key and all(p.exists() for p in products)


def read(name: str) -> dict:
    try:
        return json.loads(_path(name).read_text())
    except (FileNotFoundError, ValueError):
        return {}


def write(name: str, key: str, **notes) -> None:
    paths.STAMPS.mkdir(parents=True, exist_ok=True)
    new = _path(name).with_suffix(".new")
    new.write_text(json.dumps({"key": key, **notes}, indent=1, sort_keys=True) + "\n")
    new.replace(_path(name))


def drop(name: str) -> None:
    _path(name).unlink(missing_ok=True)
