"""Events and decisions between a program's hooks and its holder, through the real script in the real shell."""

from __future__ import annotations

import json
import os
import select
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet_tui.holder import hooks
from tests.holder.holders import wait_until

SCRIPT = Path(hooks.__file__).with_name(hooks.SCRIPT)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "it's a run"
    folder.mkdir()
    hooks.prepare(folder)
    return folder


def start(run: Path | str, payload: object, *arguments: str) -> subprocess.Popen[str]:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    process = subprocess.Popen(
        ["sh", str(SCRIPT), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"FLEET_FOLDER": str(run)},
    )
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.close()
    return process


def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    return process.wait(10), out, err


def payloads(found: Iterator[hooks.HookEvent]) -> list[Any]:
    return [dict(event.payload) for event in found]


def left(run: Path) -> list[str]:
    return [path.name for path in (run / "hooks").iterdir()]


def question(holder: hooks.Hooks) -> Path:
    """The reply pipe of the hook that waits; waits for it."""
    wait_until(lambda: is_rung(holder))
    (event,) = holder.take()
    assert event.reply_pipe is not None
    return event.reply_pipe


def is_rung(holder: hooks.Hooks) -> bool:
    return bool(select.select([holder.bell], [], [], 0)[0])


def test_an_event_reaches_the_holder_and_leaves_nothing_behind(run: Path) -> None:
    holder = hooks.Hooks(run)

    assert end_of(start(run, {"hook_event_name": "Stop", "text": "it's $(done) \\ 日本"})) == (0, "", "")

    assert is_rung(holder)
    assert payloads(holder.take()) == [{"hook_event_name": "Stop", "text": "it's $(done) \\ 日本"}]
    assert not is_rung(holder)
    assert list(holder.take()) == []
    holder.forget()
    assert left(run) == ["bell"]


def test_an_event_that_came_before_its_holder_is_not_left_lying(run: Path) -> None:
    """A program may be quicker than its first screen server, so the bell may ring before anything listens."""
    end_of(start(run, {"hook_event_name": "SessionStart"}))

    holder = hooks.Hooks(run)

    assert is_rung(holder)
    assert payloads(holder.take()) == [{"hook_event_name": "SessionStart"}]
    assert not is_rung(holder)


def test_events_come_in_their_order(run: Path) -> None:
    holder = hooks.Hooks(run)
    for number in range(8):
        end_of(start(run, {"n": number}))

    assert payloads(holder.take()) == [{"n": number} for number in range(8)]


def test_a_large_event_comes_whole(run: Path) -> None:
    holder = hooks.Hooks(run)
    end_of(start(run, {"text": "x" * 1_000_000}))

    assert len(payloads(holder.take())[0]["text"]) == 1_000_000


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null", '{"a": 1} trailing', "\x00\x01", "[" * 100_000])
def test_an_invalid_event_is_skipped_and_removed(run: Path, text: str) -> None:
    holder = hooks.Hooks(run)
    end_of(start(run, text))
    end_of(start(run, {"good": True}))

    assert payloads(holder.take()) == [{"good": True}]
    holder.forget()
    assert left(run) == ["bell"]


def test_nothing_but_a_regular_file_is_waited_for(run: Path) -> None:
    """The program may write into that folder as it likes."""
    holder = hooks.Hooks(run)
    os.mkfifo(run / "hooks" / "1.json")
    (run / "hooks" / "2.json").mkdir()
    (run / "hooks" / "3.json").symlink_to("/dev/zero")
    end_of(start(run, {"good": True}))
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 0

    assert payloads(holder.take()) == [{"good": True}]
    after = len(list(Path("/proc/self/fd").iterdir())) if before else 0
    assert after == before


def test_an_event_that_arrives_without_a_listener_is_taken_later(run: Path) -> None:
    end_of(start(run, {"early": True}))

    assert payloads(hooks.Hooks(run).take()) == [{"early": True}]


def test_an_unreported_event_is_read_once_more_by_the_next_screen_server(run: Path) -> None:
    """Only once: an event that crashes the screen server must not crash every later one."""
    first = hooks.Hooks(run)
    end_of(start(run, {"n": 1}))
    end_of(start(run, {"n": 2}))
    assert payloads(first.take()) == [{"n": 1}, {"n": 2}]
    end_of(start(run, {"n": 3}))

    second = hooks.Hooks(run)
    assert is_rung(second)
    assert payloads(second.take()) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert payloads(hooks.Hooks(run).take()) == [{"n": 3}]
    assert left(run) == ["bell"]


def test_a_hook_that_waits_with_an_invalid_event_is_released(run: Path) -> None:
    holder = hooks.Hooks(run)
    process = start(run, "{", "decide")
    reply_pipe = question(holder)

    wait_until(lambda: hooks.decide(reply_pipe, ""))

    assert end_of(process)[1].strip() == ""


@pytest.mark.parametrize("folder", ["", "/nowhere", "/etc"])
@pytest.mark.parametrize("arguments", [(), ("decide",)])
def test_without_a_holder_a_hook_ends_at_once_with_success(folder: str, arguments: tuple[str, ...]) -> None:
    assert end_of(start(folder, {"a": 1}, *arguments)) == (0, "", "")


def test_a_hook_ends_quickly(run: Path) -> None:
    """The program waits for its hook. Takes the best of several runs because the machine may be busy."""

    def taken() -> float:
        begun = time.perf_counter()
        end_of(start(run, {"hook_event_name": "Stop"}))
        return time.perf_counter() - begun

    assert min(taken() for _ in range(10)) < 0.03


def test_a_decision_reaches_the_program(run: Path) -> None:
    holder = hooks.Hooks(run)
    process = start(run, {"tool_name": "Bash"}, "decide")
    reply_pipe = question(holder)
    assert process.poll() is None

    wait_until(lambda: hooks.decide(reply_pipe, '{"decision": "allow"}'))

    assert end_of(process) == (0, '{"decision": "allow"}\n', "")
    assert left(run) == ["bell"]


def test_without_a_decision_the_hook_prints_nothing(run: Path) -> None:
    holder = hooks.Hooks(run)
    process = start(run, {"tool_name": "Bash"}, "decide")
    reply_pipe = question(holder)

    wait_until(lambda: hooks.decide(reply_pipe, ""))

    assert end_of(process)[1].strip() == ""


def test_a_question_outlives_the_screen_server_that_took_it(run: Path) -> None:
    first = hooks.Hooks(run)
    process = start(run, {"tool_name": "Bash"}, "decide")
    reply_pipe = question(first)

    second = hooks.Hooks(run)
    second.recall()

    assert [event.reply_pipe for event in second.take()] == [reply_pipe]
    wait_until(lambda: hooks.decide(reply_pipe, "yes"))
    assert end_of(process)[1] == "yes\n"


def test_a_question_whose_name_is_no_process_does_not_keep_a_screen_server_from_starting(run: Path) -> None:
    (run / "hooks" / "².open").write_text("{}")

    hooks.Hooks(run).recall()

    assert left(run) == ["bell"]


def test_a_decision_for_a_hook_that_has_gone_is_ignored(run: Path) -> None:
    holder = hooks.Hooks(run)
    process = start(run, {"tool_name": "Bash"}, "decide")
    reply_pipe = question(holder)
    process.terminate()
    end_of(process)

    assert not hooks.decide(reply_pipe, "yes")


@pytest.mark.slow
@pytest.mark.timeout(20)
def test_a_hook_that_is_terminated_as_its_event_appears_leaves_no_process_waiting(run: Path) -> None:
    for _ in range(50):
        process = start(run, {"tool_name": "Bash"}, "decide")
        event = run / "hooks" / f"{process.pid}.json"
        while not event.exists():
            pass
        process.terminate()

        # A process that still waited at its pipe would keep this open.
        assert end_of(process)[1] == ""


@pytest.mark.slow
def test_a_hook_lets_go_when_the_holders_folder_goes(run: Path) -> None:
    holder = hooks.Hooks(run)
    process = start(run, {"tool_name": "Bash"}, "decide")
    wait_until(lambda: is_rung(holder))

    (run / "hooks" / "bell").unlink()

    assert end_of(process)[1].strip() == ""


def test_files_that_hooks_leave_are_private(run: Path) -> None:
    end_of(start(run, {"secret": 1}))

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (run / "hooks").iterdir()}

    assert modes == {0o600}
    assert stat.S_IMODE((run / "hooks").stat().st_mode) == 0o700


def test_a_run_without_hooks_has_no_bell(tmp_path: Path) -> None:
    holder = hooks.Hooks(tmp_path)

    assert holder.bell == -1
    assert list(holder.take()) == []
