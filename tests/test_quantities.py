"""Counts, ages, sizes, tokens and money in words."""

from __future__ import annotations

import pytest

from fleet_tui.quantities import age, counted, dollars, file_size, memory, tokens

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("number", "text"), [(0, "0 branches"), (1, "1 branch"), (2, "2 branches")])
def test_a_number_has_its_noun_in_the_right_form(number: int, text: str) -> None:
    assert counted(number, "branch", "branches") == text
    assert counted(number, "agent") == ("1 agent" if number == 1 else f"{number} agents")


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (200_000, "2d")]
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (119_600, "120k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (3_440_000, "3.4M"),
    ],
)
def test_tokens_are_short(count: int, shown: str) -> None:
    assert tokens(count) == shown


@pytest.mark.parametrize(
    ("cost", "shown"), [(None, ""), (0.0, "$0.00"), (0.004, "<$0.01"), (0.005, "$0.01"), (12.0, "$12.00")]
)
def test_a_cost_is_in_cents(cost: float | None, shown: str) -> None:
    assert dollars(cost) == shown


@pytest.mark.parametrize(
    ("size", "of_memory", "of_a_file"),
    [(0, "", "0B"), (9, "1M", "9B"), (5000, "1M", "4K"), (3 << 20, "3M", "3M"), (6 << 30, "6.0G", "6.0G")],
)
def test_a_size_has_one_unit(size: int, of_memory: str, of_a_file: str) -> None:
    assert (memory(size), file_size(size)) == (of_memory, of_a_file)
