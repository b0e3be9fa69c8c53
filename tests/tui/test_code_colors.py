"""Colors of code, a few lines at a time."""

from __future__ import annotations

import time

import pytest

from fleet_tui.tui.review.code_colors import _ENDINGS, _NAMES, BLOCK, LEAD, CodeColors, _lexer, language_of

pytestmark = pytest.mark.pure

TEXT = [
    '"""A docstring',
    'of two lines."""',
    "",
    *(f"def f{number}(self): return {number}" for number in range(400)),
]


def colored(colors: CodeColors, line: int) -> dict[str, str]:
    while not colors.color(line):
        pass
    return dict(colors.known(line) or ())


def test_a_line_has_roles_for_its_words_and_its_text_stays_whole() -> None:
    colors = CodeColors("python", TEXT)

    found = colored(colors, 8)

    assert (found["def"], found["f5"], found["5"]) == ("secondary", "primary", "code-value")
    assert "".join(text for text, _ in colors.known(8) or ()) == TEXT[8]


def test_a_string_of_several_lines_is_colored_as_one() -> None:
    assert set(colored(CodeColors("python", TEXT), 1).values()) == {"italic muted"}


def test_nothing_is_colored_until_it_is_asked_for_and_then_only_a_block() -> None:
    colors = CodeColors("python", TEXT)

    assert colors.known(0) is None
    assert colors.color(0)
    assert colors.known(BLOCK - 1) is not None
    assert colors.known(BLOCK) is None


def test_a_far_line_is_colored_without_all_lines_before_it() -> None:
    colors = CodeColors("python", TEXT)

    assert colors.color(390)
    assert colored(colors, 390)["def"] == "secondary"
    assert colors.known(390 - BLOCK - LEAD) is None


@pytest.mark.parametrize("language", ["html", "vue", "markdown"])
def test_languages_within_languages_are_colored_in_blocks_too(language: str) -> None:
    text = ["<p class='x'>one</p>", "<script>let a = 1</script>"] * 300
    colors = CodeColors(language, text)
    begin = time.process_time()

    assert colors.color(500)
    assert time.process_time() - begin < 0.5
    assert "".join(part for part, _ in colors.known(501) or ()) == text[501]


def test_an_unknown_language_a_long_line_and_odd_characters_stay_plain() -> None:
    assert CodeColors("", ["x\ty"]).known(0) == (("x   y", ""),)
    assert colored(CodeColors("python", ["a = 1", "b = " + "1" * 5000]), 1).get("b") is None
    assert "".join(colored(CodeColors("python", ["s = '\x1b[31m\r\u2028'"]), 0)).count("\x1b") == 0


def test_every_language_in_the_tables_has_a_lexer() -> None:
    assert [one for one in {*_ENDINGS.values(), *_NAMES.values()} if _lexer(one) is None] == []


@pytest.mark.parametrize(
    ("path", "first", "language"),
    [
        ("src/a.py", "", "python"), ("Makefile", "", "make"), ("bin/run", "#!/usr/bin/env python3", "python"),
        ("bin/run", "#!/bin/sh", "bash"), ("notes", "", ""), ("A.TSX", "", "tsx"), ("x.unknown", "", ""),
    ],
)  # fmt: skip
def test_the_language_is_known_by_name_or_first_line(path: str, first: str, language: str) -> None:
    assert language_of(path, first) == language
