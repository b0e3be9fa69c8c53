"""Values in hook events: where a profile says they are, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleet_tui import paths
from fleet_tui.programs import profiles
from fleet_tui.programs.hook_values import HookValue, hook_value
from fleet_tui.programs.interaction_rules import InteractionRules

NAMED = (HookValue({"event": "begin|resume"}, "conversation.id"), HookValue({"kind": "opened"}, "id"))


@pytest.mark.pure
@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({"event": "begin", "conversation": {"id": "a1"}}, "a1"),
        ({"event": "resume", "conversation": {"id": ""}}, ""),
        ({"kind": "opened", "id": "b2", "event": "begin"}, "b2"),
        ({"event": "beginning", "conversation": {"id": "a1"}}, None),
        ({"event": "begin", "conversation": {"id": 7}}, None),
        ({"conversation": {"id": "a1"}}, None),
        ({}, None),
    ],
)
def test_the_first_place_that_an_event_has_counts(payload: Mapping[str, Any], found: str | None) -> None:
    assert hook_value(NAMED, payload) == found


@pytest.mark.pure
def test_a_place_without_a_condition_is_in_no_event() -> None:
    assert hook_value([HookValue({}, "id")], {"id": "a"}) is None


@pytest.mark.parametrize("name", ["claude", "generic"])
def test_places_of_a_profile_travel_as_plain_data(name: str) -> None:
    rules = InteractionRules.from_plain(profiles.load(name).rules.to_plain())

    started = {"hook_event_name": "SessionStart", "session_id": "s1", "prompt": "no"}
    taken = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "go"}
    assert [hook_value(rules.session_hooks, event) for event in (started, taken)] == ["s1", None]
    assert [hook_value(rules.prompt_hooks, event) for event in (started, taken)] == [None, "go"]


def test_a_profile_of_another_format_replaces_the_places() -> None:
    folder = paths.user_profiles()
    folder.mkdir(parents=True)
    (folder / "other.toml").write_text(
        'program = "cat"\n[hooks]\nsession = [{ where = { type = "start" }, path = "chat.id" }]\n'
    )

    rules = profiles.load("other").rules

    assert hook_value(rules.session_hooks, {"type": "start", "chat": {"id": "c"}}) == "c"
    assert hook_value(rules.session_hooks, {"hook_event_name": "SessionStart", "session_id": "s"}) is None
