"""No screen, however it is made, keeps a screen server busy with its patterns."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui.holder.size_owner import CEILING
from fleet_tui.models import Status
from fleet_tui.programs import profiles
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.status_rules import Patterns, StatusRule
from tests.holder.ordered_program import imitate

SECONDS = 0.25
"""Of the processor, for one look at the widest of all screens; a usual one takes a thousandth of that."""


def hostile(rule: StatusRule) -> Iterator[str]:
    """Texts that match a pattern as long as possible and then do not end like it."""
    words = re.findall(r"[\w ·❯●■›•?.…:/'’△]{3,}", rule.match)
    yield from ("? 1. Yes ", "a? 1. ", "? a? ", "● a ", "❯ ", "1. ", "x ")
    yield from (f"{word} " for word in words)
    yield from (f"{one} {other} " for one in words for other in words)
    yield " ".join(words[:-1]) + " "


@pytest.mark.slow
@pytest.mark.parametrize("name", profiles.names())
def test_a_screen_that_is_made_to_keep_patterns_busy_does_not(name: str) -> None:
    for rule in profiles.load(name).rules.screen:
        patterns = Patterns([rule])
        for text in hostile(rule):
            lines = [(text * CEILING[0])[: CEILING[0]]] * rule.lines
            begun = time.process_time()
            patterns.on_screen(lines)
            assert time.process_time() - begun < SECONDS, (rule.name, text)


def test_a_rule_that_takes_too_long_is_given_up_and_the_others_go_on() -> None:
    endless = StatusRule("endless", Status.WORKING, match=r"^(a+)+$")
    patterns = Patterns([endless, StatusRule("asks", Status.BLOCKED, match="May I")])
    lines = ["a" * 60 + "!", "May I?"]

    found = patterns.on_screen(lines)

    assert found is not None
    assert found.rule.name == "asks"
    assert patterns.given_up == [endless]
    begun = time.process_time()
    assert patterns.on_screen(lines) == found
    assert time.process_time() - begun < SECONDS


@pytest.mark.slow
def test_an_agent_whose_profile_has_an_endless_rule_is_served_and_says_so(tmp_path: Path) -> None:
    rules = (
        StatusRule("endless", Status.WORKING, match=r"(a+)+$"),
        StatusRule("ready", Status.IDLE, match="ready"),
    )
    with imitate(tmp_path, InteractionRules(screen=rules)) as program:
        program.order({"screen": ["ready", "a" * 60 + "!"]})

        program.wait_for("idle", source="screen")
        said = program.ask("why")["sources"]
        assert [one["text"] for one in said if one["rule"] == "endless"] == [
            "its pattern takes too long and is no longer used"
        ]
