"""Find the line of a check's output that says how it went: "214 passed, 3 skipped".

Each pattern is of one test program's last lines. Where none matches, the last line with words is the summary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fleet_tui.quantities import counted

MOST_LINES = 400
"""From the end of the output; summaries are at the end."""
MOST_CHARACTERS = 120

_PYTEST = re.compile(
    r"^=* ?((?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)(?:, )?)+) in [\d.]+"
)
_UNITTEST = re.compile(r"^(OK|FAILED)(?: \((.{1,80})\))?$")
_UNITTEST_COUNT = re.compile(r"^Ran (\d+) tests? in ")
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
_GO_FAILED = re.compile(r"^--- FAIL: ")
_GO_PACKAGE = re.compile(r"^(ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[)")
_JEST = re.compile(r"^Tests:\s+(.{1,100}?\d+ total)$")
_VITEST = re.compile(r"^Tests\s+((?:\d+ \w+(?: \| )?)+)")
_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* (.+)$")


def summarized(lines: Sequence[str]) -> str:
    """What a check printed at its end, in one line; empty if it printed nothing."""
    texts = [" ".join(line.split()) for line in lines[-MOST_LINES:]]
    for find in (_pytest, _unittest, _cargo, _go, _jest, _last):
        if found := find(texts):
            return found[:MOST_CHARACTERS]
    return ""


def _pytest(lines: Sequence[str]) -> str:
    found = _matches(_PYTEST, lines)
    return found[-1][1].rstrip(", ") if found else ""


def _unittest(lines: Sequence[str]) -> str:
    results, counts = _matches(_UNITTEST, lines), _matches(_UNITTEST_COUNT, lines)
    if not results or not counts:
        return ""
    ran = counted(int(counts[-1][1]), "test")
    # failures=1, skipped=2
    details = [part.partition("=") for part in (results[-1][2] or "").split(", ") if part]
    return ", ".join(
        [
            ran,
            *(f"{number} {name.removesuffix('s') if number == '1' else name}" for name, _, number in details),
        ]
    )


def _cargo(lines: Sequence[str]) -> str:
    """Cargo prints a result for each binary."""
    found = _matches(_CARGO, lines)
    passed, failed, ignored = (sum(int(one[group]) for one in found) for group in (1, 2, 3))
    return _counts((passed, "passed"), (failed, "failed"), (ignored, "ignored")) if found else ""


def _go(lines: Sequence[str]) -> str:
    """Go counts no tests, only packages and each test that failed."""
    packages = _matches(_GO_PACKAGE, lines)
    good = sum(one[1] == "ok" for one in packages)
    tests = len(_matches(_GO_FAILED, lines))
    counts = _counts(
        (good, f"package{'s' * (good != 1)} ok"), (len(packages) - good, "failed"), (tests, "failed tests")
    )
    return counts if packages else ""


def _jest(lines: Sequence[str]) -> str:
    found = _matches(_JEST, lines) or _matches(_VITEST, lines)
    return found[-1][1].replace(" | ", ", ") if found else ""


def _last(lines: Sequence[str]) -> str:
    for line in reversed(lines):
        if made := _MAKE.match(line):
            return made[1]
        if any(char.isalnum() for char in line):
            return line
    return ""


def _matches(pattern: re.Pattern[str], lines: Sequence[str]) -> list[re.Match[str]]:
    return [found for line in lines if (found := pattern.match(line))]


def _counts(*counts: tuple[int, str]) -> str:
    return ", ".join(f"{number} {noun}" for number, noun in counts if number)
