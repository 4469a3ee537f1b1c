# SPDX-License-Identifier: GPL-2.0-only
"""TOML that a person wrote: read it, check it, and name file, line, key and reason."""

import difflib
import json
import re
import tomllib
from pathlib import Path

import jsonschema

from .errors import InputError
from .paths import SCHEMAS, shown

_TABLE = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\"-]+)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_-]+|\"[^\"]+\")\s*=")

KINDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}


def find(word: str, directory: Path, kind: str) -> Path:
    """The file that a word means: the path of one, or a name of those in a directory."""
    if word.endswith(".toml") or "/" in word:
        return Path(word)
    path = directory / f"{word}.toml"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in directory.glob("*.toml")))
        raise InputError(f"there is no {kind} '{word}' in {shown(directory)}", [f"there are: {there}"])
    return path


class Source:
    """A parsed TOML file that can say where a value stands."""

    def __init__(self, path: Path):
        self.path = Path(path)
        try:
            self.text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f"{shown(self.path)}: no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{shown(self.path)}: cannot be read: {error}") from None
        try:
            self.data = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{shown(self.path)}: not TOML: {error}") from None
        self._lines = _index(self.text)

    def line(self, where: tuple) -> int | None:
        """The line of a key, or of the nearest table around it."""
        where = tuple(where)
        while where and where not in self._lines:
            where = where[:-1]
        return self._lines.get(where)

    def error(self, where: tuple, reason: str) -> InputError:
        line = self.line(where)
        place = shown(self.path) + (f":{line}" if line else "")
        key = dotted(where)
        return InputError(f"{place}: {key}: {reason}" if key else f"{place}: {reason}")

    def check(self, schema_name: str) -> None:
        """Raise the first thing that is wrong, in the order of the file; what is missing comes last."""
        schema = json.loads((SCHEMAS / schema_name).read_text())
        found = []
        for error in jsonschema.Draft202012Validator(schema).iter_errors(self.data):
            where, reason = explain(error)
            found.append((self.line(where) or len(self.text), dotted(where), where, reason))
        if found:
            _, _, where, reason = min(found, key=lambda item: item[:2])
            raise self.error(where, reason)


def dotted(where: tuple) -> str:
    """("guest", 1, "disk", 0, "name") -> guest[2].disk[1].name, counting as people do."""
    out = ""
    for part in where:
        out += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if out else ''}{part}"
    return out


def explain(error: jsonschema.ValidationError) -> tuple[tuple, str]:
    """Where a schema violation is and what is wrong, in plain words."""
    where = tuple(error.absolute_path)
    value, rule = error.instance, error.validator_value
    if "propertyNames" in error.schema_path:
        if error.validator == "pattern":
            return where + (
                value,
            ), "is not a good name: lower-case letters, digits, '-', '_' and '.', a letter first"
        return where + (value,), f"unknown key here{_suggest(value, rule)}"
    match error.validator:
        case "additionalProperties":
            known = error.schema.get("properties", {})
            key = next(k for k in value if k not in known)
            return where + (key,), f"unknown key{_suggest(key, known)}"
        case "required":
            missing = next(k for k in rule if k not in value)
            return where, f"the key '{missing}' is missing"
        case "type":
            return where, f"must be {KINDS[rule]}, not {_show(value)}"
        case "enum":
            return (
                where,
                f"must be one of {', '.join(map(str, rule))}, not {_show(value)}{_suggest(value, rule)}",
            )
        case "minimum":
            return where, f"must be at least {rule}, not {_show(value)}"
        case "maximum":
            return where, f"must be at most {rule}, not {_show(value)}"
        case "multipleOf":
            return where, f"must be a multiple of {rule}, not {_show(value)}"
        case "minItems" | "maxItems" if isinstance(value, list):
            bound = "at least" if error.validator == "minItems" else "at most"
            return where, f"must have {bound} {rule} item{'s' if rule != 1 else ''}, not {len(value)}"
        case "uniqueItems":
            return where, "the same value stands there twice"
        case "minLength":
            return where, "must not be empty"
        case "pattern":
            return where, f"{_show(value)} does not have the right form ({rule})"
    return where, error.message


def _suggest(word, known) -> str:
    close = difflib.get_close_matches(str(word), [str(k) for k in known], 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _show(value) -> str:
    return json.dumps(value, default=str)


def _index(text: str) -> dict[tuple, int]:
    """Line numbers of tables and keys: enough of TOML for files that people write.

    Values that run over several lines are found at their first line, which is all we need.
    """
    lines: dict[tuple, int] = {}
    counts: dict[tuple, int] = {}
    table: tuple = ()

    def resolve(names: list[str], array: bool) -> tuple:
        where: tuple = ()
        for position, name in enumerate(names):
            where += (name,)
            if array and position == len(names) - 1:
                counts[where] = counts.get(where, -1) + 1
            if where in counts:
                where += (counts[where],)
        return where

    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            names = [part.strip('"') for part in match[2].split(".")]
            table = resolve(names, match[1] == "[[")
            lines.setdefault(table, number)
        elif match := _KEY.match(line):
            lines.setdefault(table + (match[1].strip('"'),), number)
    return lines
