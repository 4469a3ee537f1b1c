# SPDX-License-Identifier: GPL-2.0-only
"""docs/xl-sched-tavs.md, followed literally: each command that it shows is typed, and says what it shows.

With UPDATE=1 in the environment, what it says is written into the document.
"""

import os
import re

import pytest

from booted_fixture import complaints, measure, rundir, told, transcript
from lab import paths, policy, scenario

pytestmark = pytest.mark.booted

OUT = paths.OUT / "check-walk"
DOCUMENT = paths.ROOT / "docs/xl-sched-tavs.md"
PROMPT = "    ~ # "
# They show what was counted, which varies from version to version: words and columns have to be the same.
COUNTING = re.compile("--(stats|tasks|portmap|latency|top)")


def shown():
    """Each command of the document, and what it is shown to say."""
    found = []
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), []))
            inside = True
        elif line.startswith("    ") and found and inside:
            found[-1][1].append(line.removeprefix("    "))
        else:
            inside = False
    return found


def rewrite(said):
    """The document with what the commands said."""
    lines, inside, answers = [], False, iter(said)
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith(PROMPT):
            lines += [line, *(f"    {answer}".rstrip() for answer in next(answers)[1])]
            inside = True
        elif not (inside and line.startswith("    ")):
            lines.append(line)
            inside = False
    DOCUMENT.write_text("\n".join(lines) + "\n")


def comparable(command, lines):
    """Without figures that were counted, how many lines there are of a kind, and lines' numbers in libxl."""
    lines = [re.sub(r"(\.c):\d+:", r"\1:N:", line.rstrip()) for line in lines]
    if not COUNTING.search(command):
        return lines
    kinds = []
    for line in lines:
        words = [re.sub(r"^(-?\d[\d.]*%?[,;]?|\(\d.*%\),?|[0-9a-f]{4,}|-|yes|no|\*)$", "N", word)
                 for word in line.removesuffix(" *").split()]
        if words and words != (kinds[-1] if kinds else None):
            kinds.append(words)
    return kinds


@pytest.fixture(scope="session")
def walk(tmp_path_factory):
    """Each command that was typed, what it said, and its exit status."""
    typed = policy.Policy("walk", "what the document types", "sched=tavs", expect="tavs",
                          modules=("xen-tavs-net",), after=told(command for command, _ in shown()))
    (outcome,) = measure([(scenario.find("walk"), typed)], OUT, tmp_path_factory)
    assert outcome.run["complete"], outcome.run["error"]
    directory = rundir(OUT, "walk", "walk")
    assert complaints(directory / "serial.log") == []
    said = transcript(directory / "raw/after.log", where=True)
    if os.environ.get("UPDATE"):
        rewrite(said)
    return said


def test_each_command_says_what_the_document_shows(walk):
    assert [command for command, *_ in walk] == [command for command, _ in shown()]
    for (command, said, _), (_, written) in zip(walk, shown(), strict=True):
        assert comparable(command, said) == comparable(command, written), command


def test_only_what_is_refused_fails(walk):
    for command, said, status in walk:
        refused = any(re.match("xl sched-tavs: |libxl: error: |nosuch is an invalid", line) for line in said)
        assert status == (1 if refused else 0), command


def stats(walk):
    """Of each --stats: the boosts of d1 by reason, and events that did not boost it: as PBratio is 0, as it is next."""
    found = []
    for command, said, _ in walk:
        if command.startswith("xl sched-tavs --stats"):
            said = said[next(i for i, line in enumerate(said) if line.startswith("d1,")):]
            rows = [line.split() for line in said]
            refused = next(line for line in said if "Refused:" in line)
            found.append({reason: next((int(row[1]) for row in rows if row[0] == reason), 0)
                          for reason in ("block", "net", "all")}
                         | {"off": int(re.search(r"PBratio 0 (\d+)", refused)[1]),
                            "ahead": int(re.search(r"already ahead (\d+)", refused)[1])})
    return found


def shows(walk, option):
    """What each command with the option said of d1, as rows of words."""
    return [[line.split() for line in said] for command, said, _ in walk if f"--{option} -d d1" in command]


def test_wider_counters_count_further_and_packets_boost_on(walk):
    narrow, wide = ([(row[1], int(row[2]), row[3]) for row in rows[2:]] for rows in shows(walk, "portmap"))
    assert narrow == [("7", 1, "yes")]                         # of 2 bits: -2 to 1
    assert wide == [("7", 7, "yes")]                           # of 4: -8 to 7
    first, later, *_ = stats(walk)
    assert first["net"] >= 30 and later["net"] - first["net"] >= 30


def test_with_a_window_of_one_only_the_reader_counts(walk):
    """The reader is not I/O-bound: its reads count as such only where the window has the server, too, which is.

    Mostly the guest is in its own slice as the block comes, and the next to run without a boost.
    """
    first, before, after, _ = stats(walk)
    first, before, after = (found | {"counted": found["block"] + found["ahead"]} for found in (first, before, after))
    assert before["counted"] - first["counted"] >= 30
    assert after["counted"] - before["counted"] <= 3           # those under way as it was set
    assert after["net"] - before["net"] >= 30


def test_with_a_pbratio_of_0_nothing_is_boosted(walk):
    *_, before, after = stats(walk)
    assert after["all"] == before["all"]
    assert after["off"] - before["off"] >= 30


def test_a_changed_threshold_flips_a_known_task(walk):
    """The server's is the one task that is I/O-bound at first."""
    known, flipped, anew = ({row[0]: row[2] for row in rows[2:]} for rows in shows(walk, "tasks"))
    (server,) = [task for task, bound in known.items() if bound == "yes"]
    assert flipped[server] == "no"
    assert anew == {}
