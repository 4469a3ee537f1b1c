# SPDX-License-Identifier: GPL-2.0-only
"""Policies: how Xen is booted and tuned.  Named ones are in guest-tests/policies.toml."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import InputError
from .paths import POLICIES, shown
from .toml_input import Source

XEN_DEFAULT = "credit2"  # what Xen 4.20 runs when nobody says sched=
# Our modules that dom0 loads when nobody says otherwise, by the scheduler that runs.
_MODULES = {"tavs": ("xen-tavs-net",), "tavs2": ("xen-tavs-net",)}
_NAME = re.compile(r"^[a-z][a-z0-9_.-]*$")


@dataclass(frozen=True)
class Policy:
    name: str
    title: str
    xen: str  # boot arguments of the hypervisor
    expect: str  # the scheduler that must be found running
    hypervisor: str = "release"  # release, debug, pristine
    commands: tuple[str, ...] = ()  # xl commands in dom0, once the guests are created
    modules: tuple[str, ...] = ()  # our modules that dom0 loads
    guest_modules: tuple[str, ...] = ()  # ... and that guests load (or fail to)
    # Shell commands in dom0, right before and right after the traffic source measures.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def definition(self) -> dict:
        lists = {key: list(value) for key, value in asdict(self).items() if isinstance(value, tuple)}
        unused = [key for key in ("before", "after") if not lists[key]]
        return {key: value for key, value in (asdict(self) | lists).items() if key not in unused}


def load(path: Path = POLICIES) -> dict[str, Policy]:
    source = Source(path)
    source.check("policies.schema.json")
    found = {}
    for name, entry in source.data.items():
        modules = entry.get("modules", _MODULES.get(entry["expect"], ()))
        policy = Policy(name=name, **{**entry, "commands": tuple(entry.get("commands", [])),
                                      "modules": tuple(modules),
                                      "guest_modules": tuple(entry.get("guest_modules", []))})
        if booted(policy.xen) != policy.expect:
            raise source.error(
                (name, "expect"), f"'{policy.xen}' boots {booted(policy.xen)}, not {policy.expect}"
            )
        found[name] = policy
    return found


def booted(xen: str) -> str:
    """The scheduler that these boot arguments ask for; the last one counts, as in Xen."""
    asked = re.findall(r"(?:^|\s)sched=(\S+)", xen)
    return asked[-1] if asked else XEN_DEFAULT


def find(word: str, known: dict[str, Policy]) -> Policy:
    """A named policy, or one spelt out: 'NAME=boot arguments; xl command; ...'."""
    if "=" in word:
        return parse(word, known)
    if word not in known:
        raise InputError(
            f"there is no policy '{word}' in {shown(POLICIES)}",
            [f"there are: {', '.join(known)}", "or spell one out: --policy 'NAME=sched=... ; xl ...'"],
        )
    return known[word]


def parse(word: str, known: dict[str, Policy]) -> Policy:
    name, _, rest = word.partition("=")
    name = name.strip()
    if not _NAME.match(name):
        raise InputError(
            f"--policy '{word}': '{name}' is not a good name: lower-case letters, digits, '-', '_' and '.', a letter first"
        )
    if name in known:
        raise InputError(
            f"--policy '{word}': the name '{name}' is taken by {shown(POLICIES)}: choose another"
        )
    xen, *more = [part.strip() for part in rest.split(";")]
    hypervisor, commands = "release", []
    modules, guest_modules = _MODULES.get(booted(xen), ()), ()
    for part in filter(None, more):
        if part.startswith("hypervisor="):
            hypervisor = part.removeprefix("hypervisor=")
            if hypervisor not in ("release", "debug", "pristine"):
                raise InputError(
                    f"--policy '{word}': hypervisor is release, debug or pristine, not '{hypervisor}'"
                )
        elif part.startswith("modules="):
            modules = tuple(part.removeprefix("modules=").replace(",", " ").split())
        elif part.startswith("guest-modules="):
            guest_modules = tuple(part.removeprefix("guest-modules=").replace(",", " ").split())
        elif part.startswith("xl "):
            commands.append(part)
        else:
            raise InputError(f"--policy '{word}': '{part}' is neither an xl command nor hypervisor=... nor modules=...")
    return Policy(
        name=name,
        title=rest.strip() or "Xen's defaults",
        xen=xen,
        expect=booted(xen),
        hypervisor=hypervisor,
        commands=tuple(commands),
        modules=modules,
        guest_modules=guest_modules,
    )
