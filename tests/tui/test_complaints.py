"""What users of such programs have complained about, key by key: each complaint is one test.

Most are checked as the bytes that an agent received, through the installed dashboard in a real terminal. The whole
table of keys is in test_driver; what the list does with keys of its own is in test_dashboard.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fleet_tui.tui.actions import ACTIONS
from tests.tui.installed_dashboard import (
    LEADER,
    LEAVE,
    LEAVE_TOO,
    PROGRAM,
    InstalledDashboard,
    open_dashboard,
)

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstalledDashboard]:
    with open_dashboard(tmp_path_factory.mktemp("dashboard"), {"modern": (">1u",), "plain": ()}) as opened:
        yield opened


@pytest.mark.parametrize("chord", [pytest.param(LEAVE, marks=pytest.mark.slow), LEAVE_TOO])
def test_where_a_host_eats_ctrl_q_another_key_leaves_and_neither_quits(
    dashboard: InstalledDashboard, chord: bytes
) -> None:
    """The warning under Zellij and VS Code is shown in test_keys, by `clashes`."""
    dashboard.type_to("plain")
    dashboard.app.send(chord)
    dashboard.app.wait_for_text(" LIST ")
    dashboard.app.send(chord)
    dashboard.type_to("plain")
    assert dashboard.app.process.poll() is None


def test_ctrl_b_is_the_agents_also_when_the_host_spells_it_in_the_new_way(
    dashboard: InstalledDashboard,
) -> None:
    assert dashboard.typed("plain", b"\x02") == b"\x02"
    assert dashboard.typed("plain", b"\x1b[98;5u") == b"\x02"


def test_ctrl_backslash_is_the_agents_and_there_is_still_a_way_out(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"\x1c") == b"\x1c"
    dashboard.app.send(LEAVE)
    dashboard.app.wait_for_text(" LIST ")


def test_ctrl_o_and_ctrl_r_are_the_agents(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"\x0f\x12") == b"\x0f\x12"


def test_ctrl_k_deletes_a_line_at_the_agent_and_the_palette_is_behind_the_leader(
    dashboard: InstalledDashboard,
) -> None:
    assert dashboard.typed("plain", b"\x0b") == b"\x0b"
    dashboard.app.send(LEADER + b"p")
    dashboard.app.wait_for_text("Search for commands")
    dashboard.app.send(b"\x1b[27u")
    dashboard.app.wait_for(lambda: "Search for commands" not in dashboard.app.text, "the end of the palette")
    assert dashboard.typed("plain", b"\x0b") == b"\x0b"


def test_ctrl_w_deletes_a_word_and_closes_nothing(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"word\x17") == b"word\x17"
    assert all(name in dashboard.app.text for name in dashboard.agents)


def test_ctrl_c_interrupts_the_agent_and_never_ends_the_dashboard(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"\x03") == b"\x03"
    dashboard.to_list()
    dashboard.app.send(b"\x03")
    dashboard.app.wait_for_text("Nothing was stopped")
    assert dashboard.typed("plain", b"\x03") == b"\x03"


def test_plain_letters_are_the_agents_while_typing(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"qQxXzf?/:1]") == b"qQxXzf?/:1]"


def test_escape_interrupts_the_agent_and_leaves_nothing(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"\x1b[27u") == b"\x1b"
    assert dashboard.typed("modern", b"\x1b[27u") == b"\x1b[27u"


def test_nothing_is_only_reached_by_alt_and_a_digit(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"\x1b1") == b"\x1b1"
    assert not [action.id for action in ACTIONS if any(key.startswith("alt+") for key in action.keys)]


def test_nothing_needs_ctrl_and_a_digit_which_old_terminals_cannot_send() -> None:
    assert not [action.id for action in ACTIONS if any(key[-2:-1] == "+" and key[-1].isdigit() for key in action.keys)]  # fmt: skip


def test_shift_enter_is_a_new_line_to_old_programs_and_new_ones(dashboard: InstalledDashboard) -> None:
    assert dashboard.typed("plain", b"\x1b[13;2u") == b"\x1b\r"
    assert dashboard.typed("modern", b"\x1b[13;2u") == b"\x1b[13;2u"


def test_letters_after_the_leader_count_by_their_place_on_other_layouts(
    dashboard: InstalledDashboard,
) -> None:
    """In the list they do so in test_dashboard; text of an input method arrives as it is."""
    assert dashboard.typed("plain", "привет 안녕".encode()) == "привет 안녕".encode()
    dashboard.app.send(LEADER + "д".encode())
    dashboard.app.wait_for_text(" LIST ")
    dashboard.type_to("plain")
    dashboard.app.send(LEADER + b"\x1b[1076::108;1u")
    dashboard.app.wait_for_text(" LIST ")


def test_the_leader_switches_from_agent_to_agent_without_leaving(dashboard: InstalledDashboard) -> None:
    dashboard.type_to("modern")
    dashboard.app.send(LEADER + b"j")
    dashboard.wait_until_typing("plain")
    dashboard.app.send(LEADER + b"1")
    dashboard.wait_until_typing("modern")


def test_the_way_out_is_always_on_the_screen_and_a_click_on_the_list_is_one(
    dashboard: InstalledDashboard,
) -> None:
    dashboard.type_to("plain")
    assert "ctrl+q back to the list (or F12)" in dashboard.app.text
    rows = dashboard.app.text.splitlines()
    row = next(y for y, text in enumerate(rows, start=1) if "modern" in text[:40])
    dashboard.app.send(f"\x1b[<0;8;{row}M\x1b[<0;8;{row}m".encode())
    dashboard.app.wait_for_text(" LIST ")
