"""How statuses are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from fleet_tui.cli.group import MODULES
from fleet_tui.config.kinds import NOTIFY_EVENTS
from fleet_tui.faces.wording import SOURCE_WORDS, STATUS_LOOKS, source_words, word
from fleet_tui.models import ENDED, NOTICE_KINDS, EvidenceSource, Status
from fleet_tui.tui.dialogs.help import LEGEND
from fleet_tui.tui.dialogs.why import RIGHT
from tests.faces.sample_agent import ONE

pytestmark = pytest.mark.pure


def test_every_status_has_a_row_in_the_one_table() -> None:
    assert set(STATUS_LOOKS) == set(Status)


def test_only_the_statuses_that_may_be_announced_have_a_kind_that_can_be_turned_off() -> None:
    assert {look.notice for look in STATUS_LOOKS.values()} == {None, *NOTICE_KINDS}
    assert set(NOTIFY_EVENTS) == set(NOTICE_KINDS)


def test_every_status_that_is_announced_has_words_for_it() -> None:
    assert all(bool(look.announcement) == bool(look.notice) for look in STATUS_LOOKS.values())


def test_a_status_that_is_summed_up_with_another_is_summed_up_with_one_that_stands_for_itself() -> None:
    totals = {look.total for look in STATUS_LOOKS.values() if look.total is not None}
    assert all(STATUS_LOOKS[status].total is status for status in totals)


def test_what_needs_an_answer_needs_a_look() -> None:
    assert all(look.needs_look for look in STATUS_LOOKS.values() if look.needs_answer)


def test_there_is_a_command_for_every_status_that_needs_a_look() -> None:
    assert all(bool(look.remedy) == look.needs_look for look in STATUS_LOOKS.values())
    assert {look.remedy for look in STATUS_LOOKS.values()} <= {"", *MODULES}


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_glyph_and_a_word(status: Status) -> None:
    assert STATUS_LOOKS[status].glyph
    assert word(replace(ONE, status=status))


def test_words_say_more_where_there_is_more_to_say() -> None:
    assert word(replace(ONE, status=Status.EXITED, exit_code=2)) == "exited 2"
    assert word(replace(ONE, status=Status.EXITED, exit_signal=9)) == "exited, signal 9"
    assert word(replace(ONE, status=Status.BLOCKED, status_detail="permission")) == "permission"


def test_every_source_of_evidence_has_words() -> None:
    assert set(SOURCE_WORDS) == set(get_args(EvidenceSource))


def test_a_source_of_another_version_goes_by_its_name() -> None:
    assert source_words("telepathy").sentence == "telepathy"


def test_the_legend_explains_every_status_of_the_list() -> None:
    assert {status for status, _ in LEGEND} <= set(Status)
    told = " ".join(says for _, says in LEGEND)
    # Killed agents are not in the list; an interrupted one looks like a lost one.
    assert {str(status) for status in Status if str(status) not in told} == {"killed", "interrupted"}


def test_every_status_that_a_program_can_have_may_be_the_right_one() -> None:
    # Starting is decided by the launcher, done is idle and not seen, and unknown is never right.
    others = {Status.SETUP, Status.STARTING, Status.DONE, Status.UNKNOWN}
    assert {status for _, status, _ in RIGHT} == set(Status) - ENDED - others
