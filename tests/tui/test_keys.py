"""One table of actions: what it promises, and what a user's own keys may do to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import UsageError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.tui import keys
from fleet_tui.tui.actions import ACTIONS, GROUPS, in_context
from fleet_tui.tui.dashboard.handlers import MissingHandler, bind
from fleet_tui.tui.dashboard.typing_mode import leader_groups
from fleet_tui.tui.widgets.which_key import key_columns
from tests.tui.dashboard_app import StageApp


def test_every_action_names_its_handler_and_is_in_a_group() -> None:
    for action in ACTIONS:
        assert bool(action.handler) == (action.context != "typing"), action.id
        assert action.group in GROUPS


def test_a_dashboard_has_a_method_for_every_action_of_the_table() -> None:
    handlers = StageApp().dashboard.groups.handlers()
    assert handlers.keys() == {action.id for action in ACTIONS if action.handler}


def test_an_action_without_a_method_is_an_error_when_the_dashboard_is_made() -> None:
    action = replace(ACTIONS[0], handler="list.no_such_method")
    with pytest.raises(MissingHandler, match=r"'next' names 'list\.no_such_method'"):
        bind([action], {"list": object()})
    with pytest.raises(MissingHandler):
        bind([action], {})


def test_the_table_itself_has_no_conflict() -> None:
    assert keys.resolve({}) == keys.Keymap()


def test_a_user_may_give_an_action_other_keys_or_none() -> None:
    keymap = keys.resolve({"fan-out": ["B", "f5"], "kill": []})
    assert keymap.of("fan-out") == ("B", "f5")
    assert keymap.of("kill") == ()
    assert keymap.who("f", "list") is None


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"fan-out": ["n"]}, ("'n' is both fan-out and new",)),
        ({"zoom": ["ctrl+X"], "pin": ["ctrl+x"]}, ("ctrl+x", "zoom", "pin")),
        ({"leader": ["ctrl+q"]}, ("leader", "leave")),
        ({"flyy": ["n"]}, ("no action 'flyy'",)),
        ({"zoom": ["hyper+q"]}, ("'hyper+q' is not a key",)),
        ({"leave": ["escape"]}, ("needed by agents",)),
        ({"leave": ["q"]}, ("needed by agents",)),
        ({"leave": []}, ("cannot be without a key",)),
    ],
)
def test_a_keymap_that_would_be_ambiguous_is_refused_with_both_names(
    own: dict[str, Sequence[str]], said: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as caught:
        keys.resolve(own)
    assert all(part in caught.value.message for part in said)
    assert caught.value.hint


def test_keys_come_from_the_users_and_the_projects_configuration(home: Path, repository: Path) -> None:
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text('[keys]\npreset = "tmux"\nzoom = "Z"\npin = ["K", "f5"]\n')
    paths.project_config(repository).parent.mkdir()
    paths.project_config(repository).write_text('[keys]\nzoom = "f6"\n')

    keymap = keys.load(repository)

    assert keymap.of("leader") == ("ctrl+b",)
    assert keymap.of("zoom") == ("f6",)
    assert keymap.of("pin") == ("K", "f5")


def test_explaining_a_chord_says_who_gets_it_everywhere() -> None:
    keymap = keys.Keymap()
    assert keys.explain(keymap, "x")[:2] == [
        "in the list: stop (stop (press twice))",
        "while typing: goes to the agent",
    ]
    assert any("leave" in line for line in keys.explain(keymap, "Ctrl+Q"))
    assert "tmux" in keys.explain(keymap, "ctrl+b")[-1]
    assert keys.explain(keymap, "ctrl+]")[2] == "after ctrl+]: goes to the agent as itself"


def test_the_table_names_every_action_once() -> None:
    names = [name for _, _, name, _ in keys.table(keys.Keymap())]

    assert sorted(names) == sorted(action.id for action in ACTIONS)


def test_keys_of_other_alphabets_count_by_their_place() -> None:
    assert keys.latin("о") == "j"
    assert keys.latin("Ч") == "X"
    assert keys.latin("j") == ""


@pytest.mark.parametrize(
    ("chord", "name"),
    [("]", "right_square_bracket"), ("X", "X"), ("ctrl+]", "ctrl+right_square_bracket"), ("?", "question_mark"), ("Ctrl+A", "ctrl+a"), ("+", "plus")],
)  # fmt: skip
def test_chords_are_written_as_people_write_them(chord: str, name: str) -> None:
    assert keys.event_key(chord) == name


def test_a_host_that_keeps_a_chord_for_itself_is_named_with_the_way_around() -> None:
    keymap = keys.Keymap()
    assert keys.clashes(keymap, {}) == []
    assert "F12" in keys.clashes(keymap, {"ZELLIJ": "0"})[0]
    assert keys.clashes(keys.resolve({"leave": ["f12"]}), {"TERM_PROGRAM": "vscode"}) == []
    assert "twice" in keys.clashes(keys.resolve({"leader": ["ctrl+b"]}), {"TMUX": "x"})[0]


def test_explaining_what_no_keyboard_sends_is_refused() -> None:
    with pytest.raises(UsageError, match="'ctrl\\+zz' is not a key"):
        keys.explain(keys.Keymap(), "ctrl+zz")


def test_keys_may_be_written_as_the_screen_shows_them() -> None:
    assert keys.normal("esc") == "escape"
    assert keys.normal("ctrl+pgup") == "ctrl+pageup"
    assert keys.resolve({"look-back": ["pgup"]}).shown("look-back") == "pgup"


def test_what_may_follow_the_leader_is_a_low_sheet_of_four_columns() -> None:
    groups = leader_groups(keys.resolve({}))

    assert [name for name, _ in groups] == ["Go", "Look", "Do", "Keys"]
    assert max(len(rows) for _, rows in groups) == 4
    shown = " ".join(chords for _, rows in groups for chords, _ in rows).split()
    bound = {keys.show(chord) for action in in_context("leader") for chord in keys.short(action.keys)}
    assert bound | {"ctrl+]", "ctrl+q", "esc"} == set(shown)
    assert len(shown) == len(set(shown)), "each key once"
    lines = ["".join(text for text, _ in line) for line in key_columns(groups, 114, 7)]
    assert len(lines) == 6, "also in a terminal of 120 columns"
    assert all(says in "\n".join(lines) for _, rows in groups for _, says in rows), "and nothing is cut"


def test_the_sheet_shows_no_key_that_was_taken_away() -> None:
    groups = dict(leader_groups(keys.resolve({"leader-next": [], "leader-list": []})))

    assert ("N", "previous that needs you") in groups["Go"]
    assert ("ctrl+q", "back to the list") in groups["Keys"]
