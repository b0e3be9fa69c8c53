"""How notices leave the dashboard: the bytes that a host terminal gets, also through tmux, and the user's command."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from fleet_tui.faces.notices import GAP_SECONDS, SETTLE_SECONDS, Notice, NotifySettings
from fleet_tui.fleet import Fleet
from fleet_tui.system import processes
from fleet_tui.tui.notifications import Notifications
from fleet_tui.tui.notifier import COMMANDS_AT_ONCE, Notifier, command_line, in_tmux, known_protocol, sequence
from fleet_tui.tui.settings import DashboardSettings
from tests.holder.holders import wait_until
from tests.reporting_agents import report, reporters
from tests.tui.installed_dashboard import PROGRAM
from tests.tui.ptyapp import PtyApp
from tests.tui.running_dashboard import drive, opened

FOCUS_LOST, FOCUS_BACK = b"\x1b[O", b"\x1b[I"
BUILD = Notice("a is done", "the build")

# ── which sequence ──


@pytest.mark.parametrize(
    ("environment", "protocol"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"LC_TERMINAL": "iTerm2", "TERM": "xterm-256color"}, "osc9"),
        ({"TERM_PROGRAM": "ghostty"}, "osc777"),
        ({"TERM_PROGRAM": "WezTerm"}, "osc777"),
        ({"TERM": "xterm-kitty"}, "osc9"),
        ({"TERM": "xterm-ghostty"}, "osc777"),
        ({"TERM": "foot"}, "osc777"),
        ({"TERM": "foot-extra"}, "osc777"),
        ({"TERM": "rxvt-unicode-256color"}, "osc777"),
        ({"TERM_PROGRAM": "Apple_Terminal", "TERM": "xterm-256color"}, "bell"),
        ({"TERM_PROGRAM": "vscode"}, "bell"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "bell"),
        ({"TERM": "footage"}, "bell"),
        ({}, "bell"),
    ],
)
def test_a_terminal_gets_only_what_it_is_known_to_understand(
    environment: Mapping[str, str], protocol: str
) -> None:
    assert known_protocol(environment) == protocol


@pytest.mark.parametrize(
    ("wanted", "answer", "found"),
    [
        ("auto", (True, "xterm-kitty"), ("osc9", True)),
        ("auto", (True, "xterm-256color"), ("bell", False)),
        ("auto", (False, "xterm-kitty"), ("bell", False)),
        ("osc777", (True, "xterm-256color"), ("osc777", True)),
        ("osc777", (False, "xterm-kitty"), ("bell", False)),
    ],
)
def test_tmux_is_passed_through_only_where_it_lets_through(
    wanted: str, answer: tuple[bool, str], found: tuple[str, bool]
) -> None:
    assert in_tmux(wanted, {"TMUX": "x", "TERM": "tmux-256color", "TERM_PROGRAM": "tmux"}, answer) == found


def test_sequences_are_whole_and_say_title_and_text() -> None:
    assert sequence("osc9", BUILD) == "\x1b]9;a is done: the build\x1b\\"
    assert sequence("osc9", Notice("a is done")) == "\x1b]9;a is done\x1b\\"
    assert sequence("osc777", BUILD) == "\x1b]777;notify;a is done;the build\x1b\\"
    assert sequence("bell", BUILD) == "\x07"
    assert sequence("off", BUILD) == ""
    assert (
        sequence("osc9", BUILD, through_tmux=True)
        == "\x1bPtmux;\x1b\x1b]9;a is done: the build\x1b\x1b\\\x1b\\"
    )


@given(st.text(), st.text())
def test_no_text_breaks_out_of_a_sequence(title: str, text: str) -> None:
    said = sequence("osc777", Notice(title, text))

    inside = said.removeprefix("\x1b]").removesuffix("\x1b\\")
    assert inside.isprintable()
    assert inside.count(";") == 3


def test_a_commands_placeholders_are_filled_and_nothing_is_replaced_twice() -> None:
    given_ = Notice("{text} is done", "a `b` $(c) 'd'")

    assert command_line(["say", "{title}", "-t={text}", "{other}"], given_) == [
        "say",
        "{text} is done",
        "-t=a `b` $(c) 'd'",
        "{other}",
    ]


# ── what really leaves ──


def dashboard(repository: Path, **environment: str) -> PtyApp:
    return PtyApp([], program=PROGRAM, is_warm=True, cols=120, rows=40, cwd=repository, env=environment)


def wait_until_looked(app: PtyApp) -> None:
    app.wait_for_text("▌ ● a")
    app.wait_for_text("MB")  # the worker has looked


def leave(app: PtyApp) -> None:
    app.send(b"q")
    assert app.exit_code() == 0


needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")


TOLD = {
    "iTerm.app": "\x1b]9;b waits for you (permission): rm \N{REPLACEMENT CHARACTER}]0,x\N{REPLACEMENT CHARACTER}y?\x1b\\".encode(),
    "ghostty": "\x1b]777;notify;b waits for you (permission);rm \N{REPLACEMENT CHARACTER}]0,x\N{REPLACEMENT CHARACTER}y?\x1b\\".encode(),
}


@pytest.mark.slow
@needs_program
def test_every_host_terminal_is_notified_of_a_waiting_agent_in_its_own_way(
    fleet: Fleet, repository: Path
) -> None:
    _, asks = reporters(fleet, "a", "b")
    with ExitStack() as stack:
        apps = {name: stack.enter_context(dashboard(repository, TERM_PROGRAM=name)) for name in TOLD}
        for app in apps.values():
            wait_until_looked(app)
        report(asks, "blocked:kind=permission", "rm \x1b]0;x\x07y?")
        for name, app in apps.items():
            app.wait_for(lambda: TOLD[name] in app.output, f"the notice of {name}")  # noqa: B023 - called at once
            leave(app)

    for name, app in apps.items():
        assert app.output.count(b"waits for you") == app.output.count(TOLD[name]) == 1, name


@pytest.mark.slow
@needs_program
def test_an_unknown_terminal_rings_and_only_without_focus(fleet: Fleet, repository: Path) -> None:
    (seen,) = reporters(fleet, "a")
    with dashboard(repository) as app:
        wait_until_looked(app)
        before = app.output.count(b"\x07")
        report(seen, "error", "looked at")
        app.wait_for_text("1 error")
        report(seen, "working")
        # What it said before stays in its recent activity.
        app.wait_for_text("1 working")
        app.send(FOCUS_LOST)
        report(seen, "error", "not looked at")
        app.wait_for(lambda: app.output.count(b"\x07") > before, "the bell")
        app.wait_for_text("not looked at")
        app.send(FOCUS_BACK)
        leave(app)

    assert app.output.count(b"\x07") == before + 1


@pytest.mark.slow
@needs_program
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_in_tmux_a_notice_passes_only_where_tmux_allows_it(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    _, asks = reporters(fleet, "a", "b")
    with (
        tmux(repository, tmp_path, passes="on") as allowing,
        tmux(repository, tmp_path, passes="off") as not_,
    ):
        for app in (allowing, not_):
            wait_until_looked(app)
        before = not_.output.count(b"\x07")
        report(asks, "blocked:kind=question")
        notice = b"\x1b]777;notify;b waits for you (question)"
        allowing.wait_for(lambda: notice in allowing.output, "the notice")
        not_.wait_for(lambda: not_.output.count(b"\x07") > before, "the bell")
        assert b"]777;" not in not_.output
        for app in (allowing, not_):
            app.send(b"q")
            app.exit_code()


def tmux(repository: Path, folder: Path, *, passes: str) -> PtyApp:
    config = folder / f"{passes}.conf"
    config.write_text(f"set -g allow-passthrough {passes}\nset -g status off\n")
    socket = Path(os.environ["XDG_RUNTIME_DIR"]) / passes
    return PtyApp(
        ["-S", socket, "-f", config, "new-session", f"cd {repository} && exec {PROGRAM}"],
        program="tmux",
        cols=120,
        rows=40,
        env={"TERM": "rxvt-unicode-256color"},
    )


# ── the user's command ──

SAYS = "import json, os, sys; fresh = sys.argv[1] + '.new'; open(fresh, 'w').write(json.dumps(sys.argv[2:])); os.replace(fresh, sys.argv[1])"


def turning_clock(notifications: Notifications) -> list[float]:
    """What time it is to the dashboard that watches for its person: the test says so from now on."""
    now = [time.time()]
    notifications._clock = lambda: now[0]
    return now


@pytest.mark.slow
def test_a_command_is_run_with_title_and_text_and_a_muted_batch_is_quiet(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told.json"
    command = (sys.executable, "-c", SAYS, str(told), "{title}", "{text}")

    async def go() -> None:
        first, second = reporters(fleet, "a", "b")
        async with opened(
            repository, settings=DashboardSettings(notify=NotifySettings(command=command))
        ) as driven:
            now = turning_clock(driven.app._fleet_notifications)
            await driven.until(lambda: driven.app._fleet_notifications.has_begun, "the worker has looked")
            report(second, "error", "it's `broken`; $(x)")
            await driven.until(lambda: driven.status("b") == "error", "its error")
            now[0] += SETTLE_SECONDS
            await driven.until(told.exists, "the command")
            assert json.loads(told.read_text()) == ["b has an error", "it's `broken`, $(x)"]
            told.unlink()
            await driven.press("N")
            assert "are muted until you quit" in driven.toasts()
            driven.app.app_focus = False
            report(second, "done")
            report(first, "done")
            await driven.until(lambda: driven.status("a") == driven.status("b") == "done")
            driven.dashboard.view.muted.clear()
            report(first, "error", "last")
            await driven.until(lambda: driven.status("a") == "error", "its error")
            now[0] += GAP_SECONDS
            await driven.until(told.exists, "the command")
            assert json.loads(told.read_text()) == ["a has an error", "last"]
            await driven.until(
                lambda: driven.app._fleet_notifications._notifier.reap() == 0, "the end of the command"
            )

    drive(go())


def test_commands_that_do_not_end_are_few_and_are_ended() -> None:
    def complain(said: str) -> None:
        raise AssertionError(said)

    notifier = Notifier(
        App(), NotifySettings(command=("sleep", "1000"), terminal="off"), complain, seconds=0.0
    )
    before = children()

    for _ in range(COMMANDS_AT_ONCE):
        notifier.notify(BUILD)
    notifier.reap()

    wait_until(lambda: notifier.reap() == 0 and children() == before, "the end of the commands")


def children() -> set[int]:
    """Identified without names: a newly forked program has its parent's name for a moment."""
    table = processes.snapshot()
    return {pid for pid, process in table.items() if process.ppid == os.getpid() and process.is_alive}


def test_no_more_than_a_few_commands_run_at_once(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = f"until [ -e {gate} ]; do sleep 0.02; done"
    notifier = Notifier(App(), NotifySettings(command=("sh", "-c", script), terminal="off"), lambda _: None)
    before = children()

    for _ in range(10):
        notifier.notify(BUILD)

    assert len(children() - before) == COMMANDS_AT_ONCE
    gate.touch()
    wait_until(lambda: notifier.reap() == 0 and children() == before, "the end of the commands")


@pytest.mark.slow
def test_a_missing_command_is_reported_once(fleet: Fleet, repository: Path) -> None:
    async def go() -> None:
        _, second = reporters(fleet, "a", "b")
        switches = NotifySettings(command=("/nonexistent/program", "{title}"))
        async with opened(repository, settings=DashboardSettings(notify=switches)) as driven:
            now = turning_clock(driven.app._fleet_notifications)
            await driven.until(lambda: driven.app._fleet_notifications.has_begun, "the worker has looked")
            report(second, "error")
            await driven.until(lambda: driven.status("b") == "error", "its error")
            now[0] += SETTLE_SECONDS
            await driven.until(
                lambda: "notify.command '/nonexistent/program'" in driven.toasts(), "it is said"
            )

    drive(go())
