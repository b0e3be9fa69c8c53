"""Count the test functions that a patch adds, less those that it removes, by how languages write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fleet_tui.work import ChangedFile

MOST_LINES = 50_000
"""Changed lines that are looked through; more than that is no hand-written test."""

_SCRIPT = r"\s*(?:it|test)(?:\.\w+)*\s*(?:\(|\.each)"
_ANNOTATED = r"\s*@(?:Test|ParameterizedTest)\b"
_PATTERNS: Mapping[str, re.Pattern[str]] = {
    suffix: re.compile(pattern)
    for suffixes, pattern in (
        ("py", r"\s*(?:async )?def test_?\w*\("),
        ("js jsx ts tsx mjs cjs mts cts vue svelte", _SCRIPT),
        ("go", r"func (?:Test|Fuzz|Benchmark|Example)\w*\("),
        ("rs", r"\s*#\[(?:\w+::)?(?:test|rstest)\b"),
        ("java kt kts groovy scala", _ANNOTATED),
        ("cs", r"\s*\[(?:Test|TestCase|TestMethod|Fact|Theory)\b"),
        ("rb", r"\s*(?:it|test|specify)\s*[\"'(]|\s*def test_"),
        ("php", r"\s*(?:public )?function test\w*\(|\s*(?:it|test)\("),
        ("ex exs", r"\s*test \""),
        ("swift", r"\s*func test\w*\(|\s*@Test\b"),
        ("c cc cpp cxx h hpp", r"\s*(?:TEST|TEST_F|TEST_P|TEST_CASE|BOOST_AUTO_TEST_CASE)\s*\("),
        ("bats", r"@test "),
        ("dart", r"\s*(?:test|testWidgets)\("),
    )
    for suffix in suffixes.split()
}


def tests_in(file: ChangedFile) -> re.Pattern[str] | None:
    """How the language of a file begins a test; None if it is not known."""
    return _PATTERNS.get(file.path.rpartition(".")[2].lower())


def count_tests(patch: str) -> int:
    """Test functions added by a patch, less those removed."""
    count = 0
    for path, sign, line in _changed_lines(patch):
        pattern = _PATTERNS.get(path.rpartition(".")[2].lower())
        if pattern is not None and pattern.match(line):
            count += 1 if sign == "+" else -1
    return count


def looked_through(files: tuple[ChangedFile, ...]) -> list[str]:
    """The files that may have tests and are not too large."""
    chosen, lines = [], 0
    for file in files:
        lines += file.added + file.removed
        if tests_in(file) is not None and not file.is_binary and lines <= MOST_LINES:
            chosen.append(file.path)
    return chosen


def _changed_lines(patch: str) -> Iterator[tuple[str, str, str]]:
    """The path of its file, the sign and the text of each changed line."""
    path, left = "", 0
    for line in patch.split("\n"):
        if left and line[:1] in ("+", "-"):
            yield path, line[0], line[1:]
            left -= 1
        elif line.startswith("@@ "):
            left = _lines_of(line)
        elif line.startswith("diff --git "):
            path, left = line.rpartition(" b/")[2].rstrip('"'), 0


def _lines_of(heading: str) -> int:
    """How many lines a hunk without context has: its heading says `@@ -1,2 +3 @@`."""
    sides = heading.split(" ")[1:3]
    return sum(int(side.partition(",")[2] or 1) for side in sides)
