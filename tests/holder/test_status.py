"""From observations to a status; moments are numbers, and every status names its source."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from fleet_tui.holder.readiness import READY_SECONDS
from fleet_tui.holder.status import (
    DRAWN_SECONDS,
    FIRST_SECONDS,
    HOLD_SECONDS,
    QUIET_SECONDS,
    SILENT_START_SECONDS,
    StatusJudge,
)
from fleet_tui.models import PermissionRequest, Status
from fleet_tui.programs import profiles
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.screen_text import MAX_TEXT
from fleet_tui.programs.status_rules import StatusRule, in_values

pytestmark = pytest.mark.pure


def new_judge(
    *, has_setup: bool = False, quiet_is_idle: bool = False, rules: InteractionRules | None = None
) -> StatusJudge:
    return StatusJudge(
        rules or InteractionRules(quiet_is_idle=quiet_is_idle, reports=True), has_setup=has_setup
    )


def now_is(found: StatusJudge, now: float = 1.0) -> tuple[Status, str, str]:
    found.settle(now)
    observed = found.status()
    return observed.status, observed.detail, observed.source


def test_a_program_that_has_shown_nothing_is_starting() -> None:
    found = new_judge()

    assert now_is(found) == (Status.STARTING, "", "launcher")
    assert found.settle(2.0) is None


def test_a_program_that_starts_in_silence_is_not_starting_forever() -> None:
    found = new_judge()
    assert found.due(10.0) == 10.0 + SILENT_START_SECONDS

    settled = found.settle(10.0 + SILENT_START_SECONDS)

    assert settled is not None
    assert (settled.status, settled.source) == (Status.UNKNOWN, "silence")


def test_output_is_work_at_once_and_silence_is_unknown_rather_than_guessed() -> None:
    found = new_judge()
    found.output(10.0)
    settled = found.settle(10.0)
    assert settled is not None
    assert settled.status is Status.WORKING

    assert found.due(10.0) == 10.0 + QUIET_SECONDS
    assert found.settle(10.0 + QUIET_SECONDS - 0.01) is None
    quiet = found.settle(10.0 + QUIET_SECONDS)
    assert quiet is not None
    assert (quiet.status, quiet.source) == (Status.UNKNOWN, "silence")
    assert found.due(99.0) is None


def test_silence_is_idleness_only_where_the_profile_says_so() -> None:
    found = new_judge(quiet_is_idle=True)
    found.output(10.0)

    settled = found.settle(10.0 + QUIET_SECONDS)

    assert settled is not None
    assert settled.status is Status.IDLE


def test_a_status_is_reported_once() -> None:
    found = new_judge()
    found.output(1.0)

    assert found.settle(1.0) is not None
    found.output(1.1)
    assert found.settle(1.1) is None


def test_what_a_program_says_of_itself_beats_its_output_and_its_silence() -> None:
    found = new_judge()
    message = base64.b64encode(b"Run rm -rf?").decode()
    found.reported(f"state=blocked:kind=permission:msg={message}", 1.0)
    found.output(2.0)

    settled = found.settle(99.0)

    assert settled is not None
    assert (settled.status, settled.detail, settled.text) == (Status.BLOCKED, "permission", "Run rm -rf?")
    assert found.due(99.0) is None


def test_a_program_that_takes_its_report_back_is_watched_again() -> None:
    found = new_judge()
    found.reported("state=idle", 1.0)
    found.reported("state=clear", 2.0)
    found.output(3.0)

    assert now_is(found, 3.0)[0] is Status.WORKING


@pytest.mark.parametrize(
    "payload", ["", "state", "state=", "state=flying", "=x", ":::", "kind=permission", "\x00"]
)
def test_a_report_that_says_nothing_changes_nothing(payload: str) -> None:
    found = new_judge()
    found.reported(payload, 1.0)

    assert now_is(found) == (Status.STARTING, "", "launcher")


@pytest.mark.parametrize("message", ["%%%", "====", "a", "/////w=="])
def test_a_report_whose_message_cannot_be_read_still_counts(message: str) -> None:
    found = new_judge()
    found.reported(f"state=working:msg={message}", 1.0)

    assert now_is(found)[0] is Status.WORKING


@pytest.mark.parametrize("kind", ["", "banana", "PERMISSION", "permission\x1b", "x" * 300])
def test_an_unknown_kind_of_question_is_not_reported(kind: str) -> None:
    found = new_judge()
    found.reported(f"state=blocked:kind={kind}", 1.0)

    assert now_is(found) == (Status.BLOCKED, "", "osc7501")


def test_setup_names_the_command_that_runs_and_output_does_not_end_it() -> None:
    found = new_judge(has_setup=True)
    assert found.in_setup

    found.setup_progressed("run 1\nrun 2\n", ["make", "npm ci"], 1.0)
    found.output(1.1)

    assert now_is(found) == (Status.SETUP, "npm ci", "launcher")
    assert found.due(1.2) is not None


def test_after_setup_the_program_is_starting() -> None:
    found = new_judge(has_setup=True)
    found.output(1.0)
    found.setup_progressed("run 1\ndone\n", ["make"], 2.0)

    assert not found.in_setup
    assert now_is(found, 2.0) == (Status.STARTING, "", "launcher")
    assert found.due(2.0) == 2.0 + SILENT_START_SECONDS


@pytest.mark.parametrize("progress", ["", "run\n", "run 0\n", "run 7\n", "run x\n", "dance 1\n"])
def test_progress_that_makes_no_sense_leaves_setup_as_it_was(progress: str) -> None:
    found = new_judge(has_setup=True)
    found.setup_progressed(progress, ["make"], 1.0)

    assert now_is(found) == (Status.SETUP, "", "launcher")


# ── several sources ──

TITLES = InteractionRules(
    quiet_is_idle=False,
    title=(
        StatusRule("ready", Status.IDLE, match="^ready"),
        StatusRule("busy", Status.WORKING, match="^busy"),
    ),
    screen=(
        StatusRule(
            "asks", Status.BLOCKED, "permission", match=r"(?P<text>May I [^?]+\?)", over=("title", "hook")
        ),
        StatusRule(
            "retries",
            Status.LIMITED,
            match="(?P<reset>again in [0-9]+ s)",
            over=("title:working", "osc7501:working"),
        ),
        StatusRule("bar", Status.WORKING, match="esc to stop"),
    ),
    hook=(
        StatusRule("taken", Status.WORKING, where={"event": "Prompt"}),
        StatusRule("asked", Status.BLOCKED, "permission", where={"event": "Ask"}, text="{input.command}"),
        StatusRule("over", Status.IDLE, where={"event": "Stop"}),
    ),
)


def judged(found: StatusJudge, now: float) -> tuple[str, str]:
    found.settle(now)
    return str(found.status().status), found.status().source


def test_a_title_says_busy_at_once_and_calm_once_it_has_held() -> None:
    found = new_judge(rules=TITLES)
    found.titled("busy 1", 1.0)
    assert judged(found, 1.0) == ("working", "title")

    found.titled("ready", 2.0)

    assert judged(found, 2.0) == ("working", "title")
    assert found.due(2.0) == 2.0 + HOLD_SECONDS
    assert judged(found, 2.0 + HOLD_SECONDS) == ("done", "title")


def test_a_title_that_flickers_does_not_flap() -> None:
    found = new_judge(rules=TITLES)
    found.titled("busy", 0.0)
    told = []
    for moment in range(20):
        found.titled("ready" if moment % 2 else "busy", float(moment))
        told.append(judged(found, float(moment))[0])

    assert set(told) == {"working"}


def test_a_title_that_no_rule_knows_says_nothing() -> None:
    found = new_judge(rules=TITLES)
    found.titled("busy", 0.0)
    found.titled("vim notes.txt", 1.0)
    found.output(1.0)

    assert judged(found, 1.0) == ("working", "output")
    assert judged(found, 1.0 + QUIET_SECONDS) == ("unknown", "silence")


def test_calm_without_a_turn_before_it_is_idle_and_after_one_done() -> None:
    found = new_judge(rules=TITLES)
    found.titled("ready", 0.0)
    assert judged(found, 9.0) == ("idle", "title")

    found.turn_began()

    assert judged(found, 9.1) == ("done", "title")


def test_a_report_beats_a_title_and_a_hook_whatever_they_say() -> None:
    found = new_judge(rules=TITLES)
    found.titled("busy", 1.0)
    found.hooked({"event": "Prompt"}, 1.0)
    found.reported("state=idle", 2.0)
    found.titled("busy again", 3.0)
    found.hooked({"event": "Prompt"}, 3.0)

    assert judged(found, 3.0) == ("idle", "osc7501")
    assert [(one.source, one.status) for one in found.sources()] == [
        ("osc7501", Status.IDLE),
        ("hook", Status.WORKING),
        ("title", Status.WORKING),
        ("launcher", Status.STARTING),
    ]


def test_a_hook_counts_until_a_title_has_changed_after_it() -> None:
    """No hook reports an interruption; the title shows it."""
    found = new_judge(rules=TITLES)
    found.titled("busy", 1.0)
    found.hooked({"event": "Prompt"}, 2.0)
    assert judged(found, 2.0) == ("working", "hook")

    found.titled("ready", 3.0)

    assert judged(found, 3.0 + HOLD_SECONDS) == ("done", "title")


def test_a_dialog_on_the_screen_corrects_a_title_that_looks_calm() -> None:
    found = new_judge(rules=TITLES)
    found.titled("ready", 1.0)
    found.showed(["May I", "run rm -rf?", "1. Yes", "2. No"], 2.0)

    assert judged(found, 2.0) == ("blocked", "screen")
    observed = found.status()
    assert (observed.detail, observed.text, observed.rule) == ("permission", "May I run rm -rf?", "asks")
    assert [(choice.number, choice.label) for choice in observed.choices] == [("1", "Yes"), ("2", "No")]


def test_a_closed_dialog_also_discards_the_hook_event_that_reported_it() -> None:
    found = new_judge(rules=TITLES)
    found.titled("busy", 1.0)
    found.hooked({"event": "Ask", "input": {"command": "rm x"}}, 2.0)
    found.showed(["May I run it?"], 2.1)
    assert judged(found, 2.1)[0] == "blocked"

    found.showed(["esc to stop"], 3.0)

    assert judged(found, 3.0) == ("working", "title")


def test_a_retry_on_the_screen_is_a_limit_though_the_program_reports_work() -> None:
    found = new_judge(rules=TITLES)
    found.reported("state=working", 1.0)
    found.showed(["again in 8 s"], 2.0)
    assert judged(found, 2.0) == ("limited", "screen")
    assert found.status().detail == "again in 8 s"

    found.showed(["fine"], 3.0)

    assert judged(found, 3.0) == ("working", "osc7501")


def test_words_and_choices_of_other_sources_are_added_to_a_report_without_any() -> None:
    found = new_judge(rules=TITLES)
    found.reported("state=blocked:kind=permission", 1.0)
    found.showed(["May I go?", "  1) Go", "  2) Stay here", "     for now"], 1.1)

    judged(found, 1.1)

    assert found.status().source == "osc7501"
    assert found.status().text == "May I go?"
    assert [choice.label for choice in found.status().choices] == ["Go", "Stay here for now"]


ASKS = StatusRule(
    "asked",
    Status.BLOCKED,
    "permission",
    where={"event": "Ask"},
    text="{input.command}",
    request={"command": "{input.command}", "reason": "{input.description}", "touches": "{input.file_path}"},
)


def request_of(found: StatusJudge, dialog: list[str], now: float) -> PermissionRequest:
    """The request that the judge attributes to the dialog on the screen, below earlier output."""
    before = ["● I shall ls, then rm -rf build/ &&", "", " git push", "", "─" * 20, " Command", "┄" * 20]
    found.showed([*before, *dialog, "", " May I go?", " ❯ 1. Yes", "   2. No"], now)
    judged(found, now)
    return found.status().request


def test_details_are_reported_only_for_the_request_whose_dialog_is_on_the_screen() -> None:
    found = new_judge(rules=replace(TITLES, hook=(ASKS,)))
    found.reported("state=blocked:kind=permission", 1.0)
    two_lines = {"command": "rm -rf build/ &&\npython -m build\x07", "description": "a clean\ntree"}
    found.hooked({"event": "Ask", "input": two_lines}, 1.1)
    request = PermissionRequest("rm -rf build/ &&\npython -m build", "a clean tree")

    assert request_of(found, [" rm -rf bu", "ild/ &&", " python -m build"], 1.2) == request
    assert request_of(found, [" rm -rf build/ &&", " python -m build", " a clean tree"], 1.3) == request
    for other in (
        [" git push"],
        [" rm -rf build/ &&"],
        [" rm -rf build/ && python -m build --all"],
        [" cd .. &&", " rm -rf build/ && python -m build"],
        [" rm -r f build/ && python -m build"],
    ):
        assert request_of(found, other, 1.4) == PermissionRequest(), other


def test_a_file_is_reported_only_where_the_dialog_names_it_and_no_other_of_its_name() -> None:
    found = new_judge(rules=replace(TITLES, hook=(ASKS,)))
    found.hooked({"event": "Ask", "input": {"file_path": "/tree/src/a.py"}}, 1.0)

    assert request_of(found, [" src/a.py", "", " Change a.py?"], 1.1) == PermissionRequest(
        touches="/tree/src/a.py"
    )
    for other in ([" tests/a.py", "", " Change a.py?"], [" data.py"], [" rm a.pyc"]):
        assert request_of(found, other, 1.2) == PermissionRequest(), other


def test_of_several_requests_none_is_reported_until_they_are_over() -> None:
    found = new_judge(rules=replace(TITLES, hook=(ASKS,)))
    found.reported("state=blocked:kind=permission", 1.0)
    for command in ("rm -rf build", "ls"):
        found.hooked({"event": "Ask", "input": {"command": command}}, 1.1)

    judged(found, 1.1)
    assert found.status().text == "", "which one is asked is not known"
    assert request_of(found, [" rm -rf build", " then ls"], 1.2) == PermissionRequest()
    assert request_of(found, [" ls"], 1.3) == PermissionRequest()
    found.reported("state=working", 2.0)
    found.hooked({"event": "Ask", "input": {"command": "ls"}}, 2.1)
    found.reported("state=blocked:kind=permission", 2.2)
    assert request_of(found, [" ls"], 2.3) == PermissionRequest("ls")


@pytest.mark.parametrize(
    ("length", "told"), [(1201, "x" * 1201), (4001, "x" * 4000 + "…")], ids=["all", "cut"]
)
def test_a_command_is_reported_verbatim_and_a_cut_one_says_so(length: int, told: str) -> None:
    sign = in_values((ASKS,), {"event": "Ask", "input": {"command": "x" * length}})

    assert sign is not None
    assert sign.request.command == told
    assert len(sign.text) == MAX_TEXT


def test_a_dialog_higher_than_the_screen_must_show_the_end_of_the_command() -> None:
    found = new_judge(rules=replace(TITLES, hook=(ASKS,)))
    lines = [f"echo number {number} of many" for number in range(40)]
    found.hooked({"event": "Ask", "input": {"command": "\n".join(lines)}}, 1.0)
    below = ["┄" * 20, " May I go?", " ❯ 1. Yes", "   2. No"]

    for shown, is_told in ((lines[20:], True), (lines[20:39], False), (["ls", *lines[20:]], False)):
        found.showed([*shown, *below], 1.1)
        judged(found, 1.1)
        assert bool(found.status().request.command) is is_told, shown


def test_a_report_about_a_part_of_the_work_is_skipped() -> None:
    found = new_judge(rules=TITLES)
    found.reported("state=working", 1.0)
    found.reported("state=done:id=main/sub", 2.0)

    assert judged(found, 2.0) == ("working", "osc7501")


def test_a_report_that_is_too_long_is_skipped() -> None:
    found = new_judge(rules=TITLES)
    found.reported("state=working:msg=" + "A" * 5000, 1.0)

    assert judged(found, 1.0)[0] == "starting"


def test_a_status_reported_before_the_screen_server_was_replaced_still_holds() -> None:
    found = new_judge(rules=TITLES)
    found.recall({"status": "blocked", "source": "osc7501", "detail": "question", "text": "Which?"}, 1.0)

    assert judged(found, 1.0) == ("blocked", "osc7501")
    assert (found.status().detail, found.status().text) == ("question", "Which?")


@pytest.mark.parametrize("source", ["osc7501", "title", "hook", "silence"])
def test_a_status_reported_before_is_not_news_to_the_next_judge(source: str) -> None:
    """Otherwise a status that the user has seen would be announced again."""
    found = new_judge(rules=TITLES)
    found.recall({"status": "done", "source": source}, 1.0)

    assert found.status().status is Status.DONE
    assert found.settle(1.0) is None


@pytest.mark.parametrize("values", [None, [], "ls", 5, {"command": 5, "reason": None, "mood": "good"}])
def test_a_malformed_request_reads_as_an_empty_one(values: object) -> None:
    found = new_judge(rules=TITLES)

    assert found.recall({"status": "blocked", "source": "hook", "wish": values}, 1.0)
    assert found.status().request == PermissionRequest.from_plain(values) == PermissionRequest()


@pytest.mark.parametrize("told", [{}, {"status": "flying"}, {"status": "starting"}, {"status": 7}])
def test_a_nonsensical_record_is_ignored(told: dict[str, object]) -> None:
    found = new_judge(rules=TITLES)
    found.recall(told, 1.0)

    assert judged(found, 1.0)[0] == "starting"


def spin(found: StatusJudge, tenths: range) -> None:
    """A title with a new spinner frame in each of these tenths of a second."""
    for tenth in tenths:
        found.titled("⠂⠐"[tenth % 2] + " fix", tenth / 10)


def test_a_turn_that_goes_on_after_its_end_was_reported_is_work() -> None:
    """A hook of the user may make the program continue; no hook reports that."""
    found = StatusJudge(profiles.load("claude").rules)
    found.titled("⠂ fix", 1.0)
    found.hooked({"hook_event_name": "Stop"}, 5.0)
    found.titled("⠐ fix", 5.1)
    assert judged(found, 5.1) == ("done", "hook")

    spin(found, range(52, 80))

    assert judged(found, 8.0) == ("working", "title")


def test_a_question_reported_by_a_hook_outlasts_a_title_that_keeps_spinning() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    found.titled("⠂ fix", 1.0)
    found.hooked({"hook_event_name": "PermissionRequest", "tool_name": "Bash"}, 5.0)
    spin(found, range(51, 80))

    assert judged(found, 8.0) == ("blocked", "hook")


def test_a_list_that_codex_prints_while_it_works_is_not_a_question() -> None:
    found = StatusJudge(profiles.load("codex").rules)
    found.titled("⠂ fix", 1.0)
    found.showed(
        ["• What shall we do next? 1. Write tests", "  2. Refactor", "• Working (3s • esc to interrupt)"], 1.0
    )

    assert judged(found, 1.0) == ("working", "title")


def test_nothing_is_taken_from_what_setup_commands_print() -> None:
    found = new_judge(has_setup=True, rules=TITLES)
    found.titled("ready", 1.0)
    found.reported("state=done", 1.0)
    found.hooked({"event": "Stop"}, 1.0)
    found.showed(["May I go?"], 1.0)

    assert judged(found, 9.0) == ("setup", "launcher")


def test_silence_in_which_it_computes_is_work_until_it_rests() -> None:
    found = new_judge(quiet_is_idle=True)
    found.output(10.0)
    found.settle(10.0)
    silent = 10.0 + QUIET_SECONDS
    assert not found.falls_silent(silent - 0.01)
    assert found.falls_silent(silent)

    found.computed(silent)
    told = found.settle(silent)
    assert told is not None
    assert (told.status, told.text) == ("working", "no output, but it is computing")

    rested = found.settle(silent + QUIET_SECONDS)
    assert rested is not None
    assert rested.status == "idle"


def test_a_hook_that_reports_a_limit_says_when_it_ends() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    said = "You've hit your session limit · resets 5:04am (UTC)"

    found.hooked(
        {"hook_event_name": "StopFailure", "error": "rate_limit", "last_assistant_message": said}, 1.0
    )
    told = found.settle(1.0)

    assert told is not None
    assert (told.status, told.detail, told.text) == ("limited", "resets 5:04am (UTC)", said)


def test_a_report_of_a_limit_says_when_it_ends() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    said = base64.b64encode("You've hit your 5-hour limit · resets 5:03am (UTC)".encode()).decode()

    found.reported(f"state=error:msg={said}", 1.0)
    told = found.settle(1.0)

    assert told is not None
    assert (told.status, told.detail) == ("limited", "resets 5:03am (UTC)")


def test_an_event_of_calm_is_believed_once_the_screen_may_have_followed() -> None:
    idle = StatusRule("idle", Status.DONE, where={"type": "idle"})
    busy = StatusRule("busy", Status.WORKING, where={"type": "busy"})
    found = StatusJudge(InteractionRules(quiet_is_idle=False, event=(idle, busy)))
    found.streamed({"type": "busy"}, 1.0)
    assert found.calm_at == 0.0

    found.streamed({"type": "idle"}, 5.0)
    found.streamed({"type": "idle"}, 5.5)

    assert found.calm_at == 5.0 + DRAWN_SECONDS
    assert found.settle(5.0) is not None


# ── turns that ended in an error or a limit ──────────────────────────────────────────────────────────────────────


def told_words(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def claude_after(report: str, hook: dict[str, object], screen: list[str]) -> StatusJudge:
    """A claude whose turn has ended in this way, with its input box open."""
    found = StatusJudge(profiles.load("claude").rules)
    found.reported("state=working:app=claude-code", 1.0)
    found.reported(report, 5.0)
    found.hooked({"hook_event_name": "StopFailure", **hook}, 5.1)
    found.showed(screen, 5.2)
    found.settle(5.3)
    return found


BOX = ["─" * 40, "❯ Once fixed, resend your message", "─" * 40, "  ⏸ manual mode on · ? for shortcuts"]
REFUSED = "Please run /login · API Error: 401 This request is refused."


@pytest.mark.parametrize("has_hooks", [True, False])
def test_a_refused_key_is_an_error_that_the_next_prompt_may_follow(has_hooks: bool) -> None:
    hook: dict[str, object] = {"error": "authentication_failed", "last_assistant_message": REFUSED}
    found = claude_after(
        f"state=blocked:app=claude-code:kind=auth:msg={told_words(REFUSED)}",
        hook if has_hooks else {"hook_event_name": "Other"},
        ["❯ 1. do it", "", f"● {REFUSED}", *BOX],
    )

    assert (found.status().status, found.status().text) == (Status.ERROR, REFUSED)
    assert found.status().choices == ()
    assert found.status_for_prompts is Status.ERROR


def test_a_login_that_asks_for_a_choice_stays_a_question() -> None:
    found = claude_after(
        f"state=blocked:app=claude-code:kind=auth:msg={told_words(REFUSED)}",
        {"error": "authentication_failed"},
        ["Select login method:", "", "❯ 1. Claude account", "  2. Console account"],
    )

    assert (found.status().status, found.status().detail) == (Status.BLOCKED, "login")
    assert found.status_for_prompts is Status.BLOCKED


def test_a_limit_that_ended_the_turn_leaves_the_input_open() -> None:
    found = claude_after(
        "state=error:app=claude-code",
        {"error": "rate_limit", "last_assistant_message": "API Error: Request rejected (429)"},
        ["● API Error: Request rejected (429)", *BOX],
    )

    assert (found.status().status, found.status().is_over) == (Status.LIMITED, True)
    assert found.status_for_prompts is Status.ERROR
    assert found.calm_at == 0.0


def test_a_limit_that_is_being_retried_keeps_prompts_waiting() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    found.reported("state=working:app=claude-code", 1.0)
    found.showed(["✻ API error · retrying in 3s · attempt 1/3", *BOX], 1.1)
    found.settle(1.2)

    assert (found.status().status, found.status().is_over) == (Status.LIMITED, False)
    assert found.status_for_prompts is Status.LIMITED


def test_an_error_that_is_being_retried_keeps_prompts_waiting() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    found.reported("state=working:app=claude-code", 1.0)
    found.showed(["✻ 401 This request… · retrying in 3s · attempt 3/3", *BOX], 1.1)
    found.settle(1.2)

    assert (found.status().status, found.status().is_over) == (Status.ERROR, False)
    assert found.status_for_prompts is Status.WORKING


def test_a_limit_in_a_reported_error_has_ended_the_turn_and_the_next_turn_is_a_new_one() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    found.reported("state=working:app=claude-code", 1.0)
    found.reported(f"state=error:msg={told_words('You have hit your 5-hour limit · resets 5pm')}", 2.0)
    found.settle(2.0)
    assert (found.status().status, found.status_for_prompts) == (Status.LIMITED, Status.ERROR)
    before = found.busy

    found.reported("state=working:app=claude-code", 3.0)

    assert found.busy == before + 1


def test_a_limit_that_ended_the_turn_is_still_over_for_the_next_judge() -> None:
    found = StatusJudge(profiles.load("claude").rules)

    found.recall({"status": "limited", "source": "hook", "rule": "rate limit", "is_over": True}, 1.0)
    found.settle(1.0)

    assert found.status_for_prompts is Status.ERROR


def test_the_case_of_letters_makes_no_difference_to_a_rule() -> None:
    rule = StatusRule("retry", Status.LIMITED, match=r"Retrying in (?P<reset>\d+s)")
    for words in ("Retrying in 3s", "retrying in 3s", "RETRYING IN 3S"):
        found = StatusJudge(
            InteractionRules(quiet_is_idle=False, screen=(rule,), title=(rule,), reports=True, report=(rule,))
        )
        found.showed([words], 1.0)
        assert judged(found, 1.0) == ("limited", "screen"), words


# ── a title that is calm too early ───────────────────────────────────────────────────────────────────────────────

EARLY = InteractionRules(
    quiet_is_idle=False,
    ready="type here",
    title=(
        StatusRule("ready", Status.IDLE, match="^calm"),
        StatusRule("busy", Status.WORKING, match="^busy"),
    ),
    screen=(StatusRule("asks", Status.BLOCKED, "trust", match="Do you trust", over=("title",)),),
)


def test_a_calm_title_is_not_believed_before_the_screen_is_ready() -> None:
    found = new_judge(rules=EARLY)
    found.output(0.5)
    found.titled("calm", 1.0)
    found.showed(["Initializing"], 1.5)
    assert judged(found, 4.0) == ("starting", "launcher")

    found.output(5.0)
    found.showed(["> Type here"], 5.1)
    assert judged(found, 5.2) == ("starting", "launcher"), "it may be about to begin with its first prompt"
    assert found.due(5.2) == 5.1 + HOLD_SECONDS
    assert judged(found, 5.1 + HOLD_SECONDS) == ("idle", "title")


def test_a_title_that_is_busy_and_a_dialog_count_before_the_screen_is_ready() -> None:
    found = new_judge(rules=EARLY)
    found.titled("busy", 1.0)
    assert judged(found, 1.0) == ("working", "title")

    asking = new_judge(rules=EARLY)
    asking.titled("calm", 1.0)
    asking.showed(["Do you trust this folder?"], 1.0)
    assert judged(asking, 1.0) == ("blocked", "screen")


def test_a_calm_title_is_believed_after_a_while_where_the_ready_screen_has_other_words() -> None:
    found = new_judge(rules=EARLY)
    found.output(1.0)
    found.titled("calm", 1.0)
    assert found.due(1.0) is not None

    assert judged(found, 1.0 + READY_SECONDS - 0.1)[1] != "title"
    found.settle(1.0 + READY_SECONDS)
    assert judged(found, 1.0 + READY_SECONDS + HOLD_SECONDS) == ("idle", "title")


def test_a_program_that_was_known_before_is_ready() -> None:
    found = new_judge(rules=EARLY)
    found.recall({"status": "working", "source": "title"}, 1.0)
    found.titled("calm", 2.0)

    assert judged(found, 2.0 + HOLD_SECONDS) == ("done", "title")


def test_the_calm_of_a_program_that_has_not_begun_its_first_prompt_is_believed_later() -> None:
    found = StatusJudge(TITLES, has_prompt=True)
    found.output(0.5)
    found.titled("ready", 1.0)
    assert judged(found, 1.0 + HOLD_SECONDS) == ("starting", "launcher")
    assert found.due(1.1) is not None
    found.titled("busy", 3.0)
    assert judged(found, 3.0) == ("working", "title")
    found.titled("ready", 4.0)

    assert judged(found, 4.0) == ("working", "title")
    assert judged(found, 4.0 + HOLD_SECONDS) == ("done", "title")


def test_a_program_that_never_begins_its_first_prompt_is_calm_after_a_while() -> None:
    found = StatusJudge(TITLES, has_prompt=True)
    found.output(0.5)
    found.titled("ready", 1.0)

    assert judged(found, 1.0 + FIRST_SECONDS) == ("done", "title")


@pytest.mark.parametrize(
    ("words", "kind"), [("trust this folder", "trust"), ("approve Bash: echo limit reached", "permission")]
)
def test_the_words_of_a_reported_question_decide_its_kind_and_never_mean_a_limit(
    words: str, kind: str
) -> None:
    found = StatusJudge(profiles.load("claude").rules)
    found.reported(f"state=blocked:kind=permission:msg={told_words(words)}", 1.0)
    found.settle(1.0)

    assert (found.status().status, found.status().detail) == (Status.BLOCKED, kind)


# ── menus ────────────────────────────────────────────────────────────────────────────────────────────────────────

SAID = ["❯ 1. tidy up", "  2. write tests", "", "● Done.", ""]


def claude_menu(*lines: str) -> StatusJudge:
    found = StatusJudge(profiles.load("claude").rules)
    found.reported("state=idle:app=claude-code", 1.0)
    found.showed([*SAID, "▔" * 60, *lines], 1.1)
    found.settle(1.2)
    return found


def test_a_menu_that_the_user_opened_is_reported_and_its_numbers_can_be_answered() -> None:
    found = claude_menu(
        "  Select model", "  ❯ 1. Default", "    2. Opus", "", "  Enter to save · Esc to cancel"
    )

    assert (found.status().status, found.status().detail) == (Status.BLOCKED, "menu")
    assert [choice.label for choice in found.status().choices] == ["Default", "Opus"]
    assert found.status_for_prompts is Status.BLOCKED


def test_a_list_in_the_conversation_is_not_part_of_a_menu_without_numbers() -> None:
    found = claude_menu(
        "  Settings", "  ❯ Auto-compact    on", "    Show tips       on", "", "  Esc to close"
    )

    assert (found.status().status, found.status().detail) == (Status.BLOCKED, "menu")
    assert found.status().choices == ()


def test_a_list_in_a_prompt_is_not_part_of_a_dialog_that_no_rule_matches() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    found.reported("state=blocked:kind=permission", 1.0)
    found.showed([*SAID, "─" * 60, "  Something new?", *["  with many words"] * 6, "  y/n"], 1.1)
    found.settle(1.2)

    assert (found.status().detail, found.status().choices) == ("permission", ())


def test_a_menu_that_is_open_while_it_works_is_work() -> None:
    found = claude_menu("  Select model", "  ❯ 1. Default", "    2. Opus", "", "  Esc to cancel")
    found.reported("state=working:app=claude-code", 2.0)

    assert judged(found, 2.0) == ("working", "osc7501")


def test_words_about_a_menu_above_the_input_box_are_none() -> None:
    found = StatusJudge(profiles.load("claude").rules)
    found.reported("state=idle:app=claude-code", 1.0)
    found.showed(["● Press Esc to cancel", *BOX], 1.1)

    assert judged(found, 1.2) == ("idle", "osc7501")


def test_a_turn_that_only_the_screen_shows_yet_keeps_calm_from_being_believed() -> None:
    """A title may lag behind the screen: a prompt submitted meanwhile is not finished."""
    judge = StatusJudge(
        InteractionRules(
            False,
            title=(
                StatusRule("ready", Status.IDLE, match="Ready"),
                StatusRule("works", Status.WORKING, match="Working"),
            ),
            screen=(StatusRule("spinner", Status.WORKING, match="esc to cancel"),),
        )
    )
    judge.titled("Ready", 1.0)
    judge.settle(9.0)
    assert judge.calm_at <= 9.0

    judge.showed(["esc to cancel"], 10.0)
    judge.settle(10.0)
    assert judge.status().status in (Status.IDLE, Status.DONE)
    assert judge.calm_at > 10.0
    judge.showed([""], 11.0)
    assert judge.calm_at <= 11.0


def test_a_menu_that_led_to_a_turn_is_not_reported_again_when_the_turn_has_ended() -> None:
    judge = new_judge()
    judge.reported("state=idle", 1.0)
    judge.settle(1.0)
    judge.box_shown(False, 2.0)
    judge.settle(2.0)
    assert (judge.status().status, judge.status().detail) == (Status.BLOCKED, "menu")

    judge.reported("state=working", 3.0)
    judge.settle(3.0)
    judge.reported("state=done", 4.0)
    judge.settle(4.0)

    assert judge.status().status is Status.DONE
