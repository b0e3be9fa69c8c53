"""The line of a check's output that says how it went."""

from __future__ import annotations

import pytest

from fleet_tui.review.check_summary import MOST_CHARACTERS, summarized

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        ("....\n======= 214 passed, 3 skipped in 2.51s =======", "214 passed, 3 skipped"),
        ("FAILED test_a.py::test_b\n5 failed, 209 passed, 1 warning in 11.20s\nmake: *** [test] Error 1", "5 failed, 209 passed, 1 warning"),
        ("Ran 12 tests in 0.004s\n\nOK (skipped=2)", "12 tests, 2 skipped"),
        ("Ran 1 test in 0.004s\n\nFAILED (failures=1)", "1 test, 1 failure"),
        ("Ran 7 tests in 0.1s\n\nOK", "7 tests"),
        (
            "test result: ok. 40 passed; 0 failed; 1 ignored; 0 measured\ntest result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured",
            "42 passed, 3 failed, 1 ignored",
        ),
        ("ok  \texample.com/a\t0.01s\n--- FAIL: TestB (0.00s)\nFAIL\texample.com/b\t0.02s\nFAIL", "1 package ok, 1 failed, 1 failed tests"),
        ("ok  \texample.com/a\t(cached)", "1 package ok"),
        ("Tests:       1 failed, 41 passed, 42 total\nSnapshots:   0 total", "1 failed, 41 passed, 42 total"),
        (" Test Files  2 passed (2)\n      Tests  1 failed | 29 passed (30)", "1 failed, 29 passed"),
        ("cc -c x.c\nx.c:1: error: no\nmake: *** [Makefile:2: x.o] Error 1", "[Makefile:2: x.o] Error 1"),
        ("all good\n----\n\n", "all good"),
        ("", ""),
    ],
)  # fmt: skip
def test_each_test_program_has_a_summary(output: str, summary: str) -> None:
    assert summarized(output.split("\n")) == summary


def test_a_summary_is_short() -> None:
    assert len(summarized(["x" * 5000])) == MOST_CHARACTERS
