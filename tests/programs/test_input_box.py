"""Input boxes as the real programs draw them: recordings of their terminals, and texts drawn the same way."""

from __future__ import annotations

import re

import pytest

from fleet_tui.programs import profiles
from fleet_tui.programs.input_box import Box, BoxRule, BoxState, read
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.terminal.emulator import Screen
from tests.places import RECORDINGS

FOLDER = RECORDINGS / "input"
WIDTHS = (45, 80, 120)
LONG = "please do not delete anything in the folder of the tests, and say 日本語 twice before you begin to work on it"


def rule(profile: str) -> BoxRule:
    found = profiles.load(profile).rules.box
    assert found is not None
    return found


def box(profile: str, screen: Screen) -> Box:
    return read(rule(profile), screen.look(), screen.cursor)


def replayed(name: str) -> tuple[str, Screen]:
    size = re.search(r"-(\d+)x(\d+)", name)
    assert size is not None
    screen = Screen(int(size[1]), int(size[2]))
    screen.feed((FOLDER / f"{name}.raw").read_bytes())
    return name.partition("-")[0], screen


@pytest.mark.parametrize(
    ("name", "state", "text"),
    [
        ("claude-empty-start-80x40", "empty", ""),
        ("claude-err401-80x40", "empty", ""),
        ("claude-retry429-120x40", "empty", ""),
        ("claude-stashed-120x40", "empty", ""),
        ("claude-working-draft-80x40", "draft", "typed while busy"),
        ("claude-esc-right-after-submit-80x40", "draft", "FAKE:hang d=20 [r1]"),
        ("claude-pasted-30-80x40", "draft", "[Pasted text #1 +29 lines]"),
        ("claude-bang-mode-80x24", "mode", "! "),
        ("claude-menu-model-80x40", "none", ""),
        ("codex-empty-start-80x40", "empty", ""),
        ("codex-refused-slash-80x40", "draft", "/nosuchcmd left"),
        ("codex-menu-CTRLR-80x40", "none", ""),
        ("gemini-start-80x24", "empty", ""),
        ("opencode-pasted-30-80x40", "draft", "[Pasted ~30 lines]"),
        ("qwen-permission-80x24", "none", ""),
    ],
)
def test_a_box_is_read_from_what_the_real_program_drew(name: str, state: str, text: str) -> None:
    found = box(*replayed(name))

    assert (str(found.state), found.text) == (state, text)


# ── drawn ──


def wrapped(text: str, width: int) -> list[str]:
    """Broken anywhere, as programs do it."""
    lines: list[str] = []
    line, used = "", 0
    for char in text:
        cells = 2 if ord(char) > 0x2E00 else 1
        if used + cells > width:
            lines, line, used = [*lines, line], "", 0
        line, used = line + char, used + cells
    return [*lines, line]


def drawn(profile: str, text: str, width: int, *, cursor: tuple[int, int] | None = None) -> Screen:
    """A screen of that width with this text in the program's box, the cursor behind it."""
    screen = Screen(width, 20)
    room = {"claude": 2, "codex": 2, "gemini": 3, "qwen": 2, "opencode": 6}[profile]
    lines = wrapped(text, width - room - 1)
    top, first, other, bottom = {
        "claude": ("─" * width, "❯\xa0", "  ", "─" * width),
        "qwen": ("─" * width, "> ", "  ", "─" * width),
        "gemini": ("▄" * width, " > ", "   ", "▀" * width),
        "codex": ("\x1b[48;5;236m\x1b[K", "\x1b[48;5;236m\x1b[K\x1b[1m›\x1b[22m ", "\x1b[48;5;236m\x1b[K  ", "\x1b[48;5;236m\x1b[K\x1b[0m"),
        "opencode": ("   ┃", "   ┃  ", "   ┃  ", "   ┃\r\n   ┃  Build · model\r\n   ╹▀▀▀"),
    }[profile]  # fmt: skip
    rows = [top, *((first if n == 0 else other) + line for n, line in enumerate(lines)), bottom]
    screen.feed(("earlier\r\n" + "\r\n".join(rows) + "\x1b[0m\r\n  a footer").encode())
    last = sum(2 if ord(char) > 0x2E00 else 1 for char in lines[-1])
    x, y = cursor or (room + last, len(lines) - 1)
    screen.feed(f"\x1b[{y + 3};{x + 1}H".encode())
    return screen


PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("profile", PROGRAMS)
def test_an_empty_box_is_empty_and_one_with_blanks_is_not(profile: str, width: int) -> None:
    assert box(profile, drawn(profile, "", width)).state is BoxState.EMPTY
    assert box(profile, drawn(profile, "   ", width)).state is BoxState.DRAFT


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("profile", PROGRAMS)
def test_a_text_is_recognized_however_it_is_wrapped(profile: str, width: int) -> None:
    found = box(profile, drawn(profile, LONG, width))

    assert found.shows(LONG, rule(profile))
    assert not found.shows("delete everything", rule(profile))
    assert not box(profile, drawn(profile, "hello " + LONG, width)).shows(LONG, rule(profile))


@pytest.mark.parametrize("profile", PROGRAMS)
def test_a_box_without_the_cursor_is_not_an_input_box(profile: str) -> None:
    screen = drawn(profile, "a draft", 80)
    screen.feed(b"\x1b[15;3H")

    assert box(profile, screen).state is BoxState.NONE


@pytest.mark.parametrize("profile", ["codex", "opencode", "qwen"])
def test_a_hidden_cursor_means_that_the_box_takes_nothing(profile: str) -> None:
    screen = drawn(profile, "", 80)
    screen.feed(b"\x1b[?25l")

    assert box(profile, screen).state is BoxState.NONE


def test_a_faint_hint_is_not_a_draft_and_a_faint_part_of_one_hides_nothing() -> None:
    home = (2, 0)
    hint = drawn("claude", "\x1b[7mT\x1b[27m\x1b[2mry something\x1b[22m", 80, cursor=home)
    text = drawn("claude", "delete\x1b[2m all of it\x1b[22m", 80)

    assert box("claude", hint).state is BoxState.EMPTY
    assert box("claude", text).text == "delete"


@pytest.mark.parametrize(("profile", "left"), [("gemini", 3), ("qwen", 2)])
def test_a_placeholder_counts_only_with_the_cursor_before_it(profile: str, left: int) -> None:
    words = "  Type your message or @path/to/file"

    assert box(profile, drawn(profile, words, 80, cursor=(left, 0))).state is BoxState.EMPTY
    assert box(profile, drawn(profile, words, 80)).state is BoxState.DRAFT


def test_a_suggestion_in_the_color_of_hints_is_not_a_draft() -> None:
    gray, plain = "\x1b[38;2;108;112;134m", "\x1b[39m"
    suggested = drawn("qwen", f"T{gray}ry the tests{plain}", 80, cursor=(2, 0))
    completed = drawn("qwen", f"/model {gray}[--fast] [<model-id>]{plain}", 80, cursor=(8, 0))

    assert box("qwen", suggested).state is BoxState.EMPTY
    assert box("qwen", completed).text == "/model"


def test_a_hint_that_runs_over_the_frame_leaves_it_a_frame() -> None:
    """As qwen 0.24 draws the usage of a command that is longer than its box."""
    screen = Screen(60, 10)
    rows = ["─" * 60, "> /model", "──<model-id> <prompt>" + "─" * 39]
    screen.feed(("\r\n".join(rows) + "\x1b[2;9H").encode())

    assert box("qwen", screen).text == "/model"


def test_a_hint_that_covers_most_of_the_frame_leaves_it_a_frame() -> None:
    """As qwen 0.24 draws the options of a command in a narrow pane."""
    screen = Screen(45, 10)
    gray, plain = "\x1b[38;2;108;112;134m", "\x1b[39m"
    rows = [
        "─" * 45,
        f"> /model {gray}[--fast|--voice|--vision|--compactio{plain}",
        f"──{gray}n|--image] [--project|--global] {plain}" + "─" * 11,
    ]
    screen.feed(("\r\n".join(rows) + "\x1b[2;9H").encode())

    assert box("qwen", screen).text == "/model"


def test_a_long_paste_is_recognized_by_its_placeholder() -> None:
    pasted = drawn("claude", "[Pasted text #2 +40 lines]", 80)
    glued = drawn("claude", "please do [Pasted text #2 +40 lines]", 80)

    assert box("claude", pasted).shows("line\n" * 41, rule("claude"))
    assert not box("claude", glued).shows("line\n" * 41, rule("claude"))


def test_a_pointer_in_a_menu_between_rules_is_not_a_box() -> None:
    screen = Screen(80, 12)
    screen.feed(("─" * 80 + "\r\n  ❯ 1. Yes\r\n    2. No\r\n" + "─" * 80 + "\x1b[2;3H").encode())

    assert box("claude", screen).state is BoxState.NONE


def test_a_list_of_completions_above_the_box_is_not_part_of_it() -> None:
    screen = Screen(80, 12)
    ground = "\x1b[48;5;236m\x1b[K"
    rows = [f"{ground}› /model  choose what model to use", ground, f"{ground}› /model", f"{ground}\x1b[0m"]
    screen.feed(("\r\n".join(rows) + "\x1b[3;9H").encode())

    assert box("codex", screen).text == "/model"


def test_a_draft_that_would_not_come_back_is_not_set_aside() -> None:
    assert box("opencode", drawn("opencode", "a draft", 80)).can_be_set_aside(rule("opencode"))
    assert not box("opencode", drawn("opencode", " a draft", 80)).can_be_set_aside(rule("opencode"))
    assert not box("claude", drawn("claude", "[Pasted text #2 +40 lines]", 80)).can_be_set_aside(
        rule("claude")
    )


def test_what_a_profile_says_of_its_box_survives_the_way_to_the_screen_server() -> None:
    rules = profiles.load("claude").rules

    assert InteractionRules.from_plain(rules.to_plain()) == rules


def test_a_run_spec_calls_a_rule_s_permission_request_wish() -> None:
    rules = profiles.load("claude").rules
    plain = [rule for rule in rules.to_plain()["hook"] if rule["wish"]]

    assert [rule["wish"] for rule in plain] == [rule.request for rule in rules.hook if rule.request] != []
    assert all("request" not in rule for rule in plain)


def test_a_program_without_a_description_has_no_box() -> None:
    assert profiles.load("shell").rules.box is None
