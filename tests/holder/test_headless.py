"""Headless runs: a real program around a real one, alone and as an agent of a fleet."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import fleet_tui
from fleet_tui import paths
from fleet_tui.errors import Refused, UsageError
from fleet_tui.fleet import Fleet
from fleet_tui.holder.event_log import read_events
from fleet_tui.holder.headless import LineSplitter
from fleet_tui.holder.session import open_session
from fleet_tui.models import Agent, Status
from fleet_tui.programs import profiles
from fleet_tui.programs.command import launch_command
from fleet_tui.terminal.input_events import KeyEvent
from tests.agent_pool import AgentPool, module_pool, pool
from tests.cli.commands import Cli, cli, project, traces
from tests.holder.holders import wait_until
from tests.places import RECORDINGS
from tests.scripted import agent, is_alive, program
from tests.watched_fleet import WatchedFleet

__all__ = ["cli", "module_pool", "pool", "project"]

RUNNER = [sys.executable, "-P", "-m", "fleet_tui.holder.headless"]
FOLDER = RECORDINGS / "streams"
SECONDS = 20.0
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]7501;[^\x07]*\x07")
"""What a runner itself sends to its terminal."""


def run(
    command: Sequence[str | Path],
    *,
    stream: str = "claude",
    folder: Path | None = None,
    stdin: str | None = None,
) -> subprocess.CompletedProcess[str]:
    given = [] if stdin is None else ["--stdin", stdin]
    environment = os.environ | ({"FLEET_FOLDER": str(folder)} if folder else {})
    return subprocess.run(
        [*RUNNER, stream, *given, "--", *map(str, command)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


def replayed(name: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run(["cat", FOLDER / f"{name}.jsonl"], stream=name.partition("-")[0], folder=folder)


def telling(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "events").write_text(text)
    return run(["cat", tmp_path / "events"])


def words(done: subprocess.CompletedProcess[str]) -> list[str]:
    return OURS.sub("", done.stdout).splitlines()


def reports(output: str) -> list[tuple[str, str]]:
    """The states that were reported, with their texts."""
    found = []
    for payload in re.findall(r"\x1b\]7501;([^\x07]*)\x07", output):
        fields = dict(part.split("=", 1) for part in payload.split(":"))
        found.append((fields["state"], base64.b64decode(fields.get("msg", "")).decode()))
    return found


# ── what is printed and reported ──


def test_a_run_is_printed_as_words_and_reported_as_states() -> None:
    done = replayed("claude-limit")

    assert words(done)[:-1] == [
        "claude-opus-5-5 · acceptEdits",
        "rate limit · retry 1 of 3 in 1 s",
        "rate limit · retry 2 of 3 in 1 s",
        "The prompt was 20 b412b0393c6d96e87505cc2dd180a81e20e75b5610d93f9160171e3d18964bc2.",
    ]
    assert re.fullmatch(r"done · 1 turn · 12 in, 42 out · \$0\.0009 · \d+ s", words(done)[-1])
    assert reports(done.stdout) == [
        ("working", ""),
        ("limited", "rate limit · retry 1 of 3 in 1 s"),
        ("limited", "rate limit · retry 2 of 3 in 1 s"),
        ("working", ""),
        ("done", ""),
    ]
    assert done.returncode == 0


def test_words_that_come_one_by_one_are_printed_on_one_line() -> None:
    assert words(replayed("gemini-edit"))[:-1] == [
        "I begin.",
        "write /project/work/notes.txt",
        "The prompt was 31 6d3eb379b67e988b2915cddce41d681156feedbbe6806569999e6b494d2c8b7e.",
    ]


@pytest.mark.parametrize("program_name", ["claude", "codex", "gemini", "opencode", "qwen"])
def test_a_result_that_is_an_error_is_one_even_if_the_program_ends_well(program_name: str) -> None:
    done = replayed(f"{program_name}-fail")

    assert done.returncode == 1
    assert words(done)[-1].startswith("failed: ")
    state, text = reports(done.stdout)[-1]
    assert state == "error"
    assert "This request is refused on purpose." in text


def test_a_rate_limit_that_stays_is_the_last_state() -> None:
    done = replayed("codex-429")

    assert done.returncode == 1
    assert reports(done.stdout)[-1] == ("limited", "exceeded retry limit, last status: 429 Too Many Requests")


def test_what_was_not_permitted_is_said_at_the_end() -> None:
    done = replayed("claude-deny")

    assert "not permitted: write /project/work/denied.txt" in words(done)
    assert done.returncode == 1
    assert reports(done.stdout)[-1] == (
        "error",
        "not permitted: 1 request denied: write /project/work/denied.txt",
    )


def test_a_run_that_stopped_because_of_a_permission_has_failed() -> None:
    done = replayed("opencode-run")

    assert done.returncode == 1
    assert reports(done.stdout)[-1] == ("error", "not permitted: 1 request denied: $ touch one.txt")


def test_lines_that_are_not_events_are_printed_as_they_are(tmp_path: Path) -> None:
    lines = ["Loading…", "{broken", "[1, 2]", "7", '{"type": "system"', "null", "", "  indented"]

    done = telling(tmp_path, "\n".join(lines))

    assert words(done)[:-1] == [line for line in lines if line]
    assert done.returncode == 0


def test_standard_error_is_shown_without_its_colors() -> None:
    done = run(["sh", "-c", "printf '\\033[93mcareful\\033[0m\\n' >&2; exit 7"])

    assert words(done) == ["careful", words(done)[-1]]
    assert done.returncode == 7
    assert reports(done.stdout)[-1] == ("error", "careful")


HOSTILE = "a\x1b[2Jb\x1b]7501;state=done\x07c\x9b31md\x00e\x7ff\x08\x08g\r\nh\ri\u202ej\ud800k"


def test_nothing_from_a_stream_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    blocks = [
        {"type": "text", "text": HOSTILE},
        {"type": "thinking", "thinking": HOSTILE},
        {"type": "tool_use", "id": "1", "name": HOSTILE, "input": {"path": HOSTILE}},
        {"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": HOSTILE}},
    ]
    result = {"type": "tool_result", "tool_use_id": "2", "content": HOSTILE}
    events = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": HOSTILE,
            "model": HOSTILE,
            "permissionMode": HOSTILE,
        },
        {"type": "assistant", "message": {"content": blocks, "model": HOSTILE, "usage": {"input_tokens": 1}}},
        {"type": "user", "message": {"content": [result]}},
        {"type": "system", "subtype": "api_retry", "error": HOSTILE, "attempt": HOSTILE},
        {"type": "result", "is_error": True, "result": HOSTILE},
    ]
    text = "\n".join(map(json.dumps, events)) + "\n" + HOSTILE.replace("\ud800", "") + "\n"

    done = telling(tmp_path, text)

    left = OURS.sub("", done.stdout)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", left)
    assert [state for state, _ in reports(done.stdout)] == ["working", "limited", "error"]


def test_a_report_stays_within_what_a_terminal_takes(tmp_path: Path) -> None:
    event = {"type": "result", "is_error": True, "result": "ü" * 100_000}

    done = telling(tmp_path, json.dumps(event))

    assert all(len(report) < 4096 for report in re.findall(r"\x1b\]7501;[^\x07]*\x07", done.stdout))
    assert reports(done.stdout)[-1] == ("error", "ü" * 500)


# ── large and broken streams ──


@pytest.mark.slow
def test_an_event_of_many_megabytes_is_read(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": "x" * (24 << 20)}
    lines = [
        {"type": "user", "message": {"content": [result]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "after it"}]}},
    ]

    done = telling(tmp_path, "\n".join(map(json.dumps, lines)))

    assert "after it" in words(done)
    assert len(done.stdout) < 2000


@pytest.mark.slow
def test_a_line_costs_the_same_in_however_many_pieces() -> None:
    lines = LineSplitter()
    found = [line for _ in range(500_000) for line in lines.feed(b"x")]
    found += list(lines.feed(b"y\nz"))

    assert found == [b"x" * 500_000 + b"y"]
    assert lines.take() == b"z"


def test_deeply_nested_events_are_survived(tmp_path: Path) -> None:
    done = telling(tmp_path, '{"type":' + "[" * 200_000 + "\n" + '{"type": "assistant"}')

    assert done.returncode == 0


# ── the process ──


def test_the_prompt_can_come_by_standard_input() -> None:
    prompt = "It's a \"prompt\"\n- with 'quotes'"

    assert words(run(["cat"], stdin=prompt))[:-1] == prompt.splitlines()


def test_standard_input_is_empty_otherwise() -> None:
    assert len(words(run(["cat"]))) == 1


@pytest.mark.parametrize(("command", "code"), [("/no/such/program", 127), (os.devnull, 126)])
def test_a_program_that_cannot_be_started_is_reported(command: str, code: int) -> None:
    done = run([command])

    assert done.returncode == code
    assert reports(done.stdout)[-1][0] == "error"
    assert words(done) == [reports(done.stdout)[-1][1]]


def test_a_program_that_dies_of_a_signal_has_failed() -> None:
    done = run(["sh", "-c", "kill -SEGV $$"])

    assert done.returncode == 128 + signal.SIGSEGV


def test_a_child_that_keeps_the_output_open_does_not_delay_the_end(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    done = run(
        ["sh", "-c", f"{sys.executable} -c 'import signal; signal.pause()' & echo $! > {file}; echo over"]
    )

    pid = int(file.read_text())
    assert is_alive(pid)
    os.kill(pid, signal.SIGKILL)
    assert "over" in words(done)


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGINT, signal.SIGHUP))],
)
def test_a_signal_reaches_the_program_and_its_children(number: signal.Signals, tmp_path: Path) -> None:
    command = agent("events", "--session-id", "s", "hang")
    with subprocess.Popen(
        [*RUNNER, "claude", "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "I wait with" in line)
        process.send_signal(number)
        process.stdout.read()

    assert process.returncode == 128 + number
    child = int(line.split()[-1].rstrip("."))
    wait_until(lambda: not is_alive(child), "the child having ended")


def test_it_outlives_the_installed_package(tmp_path: Path) -> None:
    package = tmp_path / "installed"
    shutil.copytree(Path(fleet_tui.__file__).parent, package / "fleet_tui")
    command = agent("events", "--session-id", "s", "limit go")
    with subprocess.Popen(
        [*RUNNER, "claude", "--", *command],
        env=os.environ | {"PYTHONPATH": str(package), "FLEET_FOLDER": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if "retry" in line)
        shutil.rmtree(package)
        (tmp_path / "go").touch()
        rest = process.stdout.read()

    assert process.returncode == 0
    assert "I go on." in rest
    assert (tmp_path / "spending.json").exists()


def test_modules_in_the_worktree_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('loaded from the worktree')")
    (tmp_path / "fleet_tui").mkdir()
    monkeypatch.chdir(tmp_path)
    command = launch_command(
        profiles.load(scripted_profile(tmp_path)),
        prompt="write notes.txt x",
        config=WatchedFleet(tmp_path).config(),
        session_id="s",
        headless=True,
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    subprocess.run(command.argv, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=60)

    assert (tmp_path / "notes.txt").read_text() == "x"


# ── what it leaves in the run's folder ──


def test_what_was_spent_and_the_conversation_are_kept(tmp_path: Path) -> None:
    replayed("claude-edit", folder=tmp_path)

    assert json.loads((tmp_path / "spending.json").read_text()) == {
        "input_tokens": 24,
        "cached_tokens": 0,
        "output_tokens": 84,
        "cost": 0.0017759999999999998,
        "context_tokens": 12,
        "context_limit": 1000000,
        "model": "claude-opus-5-5",
    }
    assert json.loads((tmp_path / "session.json").read_text()) == {
        "session_id": "a87fff20-64c8-4dfc-9246-bec7eb150037"
    }
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir() if file.is_file()} == {0o600}


def test_a_run_that_goes_on_is_not_charged_for_the_one_before(tmp_path: Path) -> None:
    for number, recording in enumerate(("codex-edit", "codex-resume"), 1):
        (tmp_path / str(number)).mkdir()
        replayed(recording, folder=tmp_path / str(number))

    spent = [json.loads((tmp_path / str(number) / "spending.json").read_text()) for number in (1, 2)]
    assert [(one["input_tokens"], one["output_tokens"], one["cost"]) for one in spent] == [
        (24, 84, None),
        (12, 42, None),
    ]


# ── in a fleet ──


def scripted_profile(tmp_path: Path) -> str:
    """A profile of a program that prints events as claude does."""
    path = program(tmp_path, "events")
    paths.user_profiles().mkdir(parents=True, exist_ok=True)
    (paths.user_profiles() / "scripted.toml").write_text(
        f"""program = "{path}"
[session]
kind = "mint"
[headless]
stream = "claude"
argv = ["--session-id", "{{session}}", "--", "{{prompt}}"]
resume = ["--resume", "{{session}}", "--", "{{prompt}}"]
"""
    )
    return "scripted"


@pytest.fixture
def scripted(tmp_path: Path, project: Path) -> str:
    return scripted_profile(tmp_path)


SHORT = ("write notes.txt it's done", "fail", "crash", "deny")
LONGER = ("hang", "hang", "hang", "write a.txt 1", "write a.txt 1", "write a.txt 1")


def headless(pool: AgentPool, prompt: str) -> Agent:
    """An agent of that program with this prompt, started together with those of other tests."""
    beside = SHORT if prompt in SHORT else LONGER
    return pool.take(scripted_profile(pool.home), prompt, beside=beside, headless=True)


def ended(fleet: Fleet, agent: Agent) -> Agent:
    wait_until(lambda: fleet.find(agent.id).has_ended, "the run's end", seconds=SECONDS)
    return fleet.find(agent.id)


def statuses(agent: Agent) -> list[tuple[str, str]]:
    _, events = read_events(paths.run(agent.id, agent.run), 0)
    told = [event["data"] for event in events if event["kind"] == "status"]
    return [(data["status"], data["text"]) for data in told if data["source"] == "osc7501"]


def starts(agent: Agent) -> list[list[str]]:
    return [json.loads(line) for line in (Path(agent.worktree) / "starts.jsonl").read_text().splitlines()]


def test_a_headless_agent_does_its_work_and_ends(pool: AgentPool) -> None:
    agent = headless(pool, "write notes.txt it's done")
    agent = ended(pool.fleet, agent)

    assert (agent.status, agent.exit_code) == (Status.EXITED, 0)
    assert (Path(agent.worktree) / "notes.txt").read_text() == "it's done"
    assert statuses(agent) == [("working", ""), ("done", "")]
    logged = [line for line in pool.fleet.logs(agent, 50) if line.strip()]
    assert logged[:4] == ["test-1 · default", "I begin.", "write notes.txt", "I have written notes.txt."]
    assert re.fullmatch(r"done · 2 turns · 1\.5k in \(500 cached\), 20 out · \$0\.2500 · \d+ s", logged[4])
    assert json.loads((paths.run(agent.id, 1) / "spending.json").read_text())["cost"] == 0.25


@pytest.mark.parametrize(
    ("prompt", "code", "last"),
    [("fail", 1, ("error", "API Error: 400 no")), ("crash", 3, ("error", "something broke"))],
)
def test_a_headless_agent_that_fails_says_why(
    pool: AgentPool, prompt: str, code: int, last: tuple[str, str]
) -> None:
    agent = ended(pool.fleet, headless(pool, prompt))

    assert (agent.status, agent.exit_code) == (Status.EXITED, code)
    assert statuses(agent)[-1] == last


def test_a_headless_agent_reports_what_it_was_not_permitted(pool: AgentPool) -> None:
    agent = ended(pool.fleet, headless(pool, "deny"))

    assert agent.exit_code == 1
    assert statuses(agent)[-1] == ("error", "not permitted: 1 request denied: $ rm -rf build")


@pytest.mark.slow
def test_a_headless_agent_is_stopped_with_all_its_processes(pool: AgentPool) -> None:
    agent = headless(pool, "hang")
    wait_until(
        lambda: "I wait with" in "\n".join(pool.fleet.peek(agent)), "it being at work", seconds=SECONDS
    )
    line = next(line for line in pool.fleet.peek(agent) if "I wait with" in line)

    [stopped] = pool.fleet.stop([agent])

    assert stopped.status is Status.STOPPED
    assert not is_alive(int(line.split()[-1].rstrip(".")))


@pytest.mark.slow
def test_an_interrupt_typed_at_a_headless_agent_reaches_its_program(pool: AgentPool) -> None:
    agent = headless(pool, "hang")
    wait_until(
        lambda: "I wait with" in "\n".join(pool.fleet.peek(agent)), "it being at work", seconds=SECONDS
    )

    with open_session(agent, rate=0) as session:
        session.keys(KeyEvent("c", ctrl=True))
        session.ask("ping")

    assert ended(pool.fleet, agent).exit_code == 128 + signal.SIGINT


@pytest.mark.slow
def test_a_headless_agent_goes_on_with_its_conversation(pool: AgentPool) -> None:
    agent = ended(pool.fleet, headless(pool, "write a.txt 1"))
    with pytest.raises(Refused, match="has ended") as refused:
        pool.fleet.prompts.send(agent, "write b.txt 2")
    assert refused.value.hint == f'fleet revive {agent.name} -p "…" goes on'

    again = ended(pool.fleet, pool.fleet.revive(agent, prompt="write b.txt 2"))

    first, second = starts(again)
    assert first == ["--session-id", agent.session_id, "--", "write a.txt 1"]
    assert second == ["--resume", agent.session_id, "--", "write b.txt 2"]
    assert (again.run, again.exit_code, again.session_id) == (2, 0, agent.session_id)
    assert (Path(agent.worktree) / "b.txt").read_text() == "2"


@pytest.mark.slow
def test_a_headless_agent_that_starts_over_begins_a_new_conversation(pool: AgentPool) -> None:
    agent = ended(pool.fleet, headless(pool, "write a.txt 1"))

    again = ended(pool.fleet, pool.fleet.revive(agent, fresh=True))

    assert starts(again)[1] == ["--session-id", again.session_id, "--", "write a.txt 1"]
    assert again.session_id != agent.session_id


def test_a_headless_agent_needs_a_prompt_to_go_on(pool: AgentPool) -> None:
    agent = ended(pool.fleet, headless(pool, "write a.txt 1"))

    with pytest.raises(UsageError, match="needs a prompt to continue"):
        pool.fleet.revive(agent)

    assert pool.fleet.find(agent.id).run == 1


def test_a_headless_agent_at_work_takes_no_prompt(pool: AgentPool) -> None:
    agent = headless(pool, "hang")

    with pytest.raises(Refused, match="takes no prompt until it has ended"):
        pool.fleet.prompts.send(agent, "and then?")


@pytest.mark.parametrize(
    ("profile", "prompt", "message"),
    [
        ("echoer", "do it", "echoer has no headless mode"),
        ("scripted", "", "a headless agent needs a prompt"),
        ("scripted", "x" * 140_000, "at most 131071 bytes"),
    ],
    ids=["without such a mode", "without a prompt", "with a prompt too long"],
)
def test_what_cannot_run_headlessly_is_refused_and_leaves_nothing(
    fleet: Fleet, scripted: str, project: Path, profile: str, prompt: str, message: str
) -> None:
    before = traces(project)

    with pytest.raises(UsageError, match=message):
        fleet.create("fix", prompt=prompt, profile=profile, headless=True)

    assert traces(project) == before


@pytest.mark.slow
def test_every_starting_command_has_a_headless_form(cli: Cli, fleet: Fleet, scripted: str) -> None:
    cli.ok("create", "one", "-p", "write a.txt 1", "--agent", scripted, "--headless")
    cli.ok("fanout", "2", "two", "-p", "write a.txt 2", "--agent", scripted, "--headless")
    cli.ok("multi", "three:write a.txt 3", "--agent", scripted, "--headless")
    agents = [ended(fleet, agent) for agent in fleet.agents()]
    cli.ok("revive", "one", "-p", "write b.txt 4")

    assert {agent.name: (Path(agent.worktree) / "a.txt").read_text() for agent in agents} == {
        "one": "1", "two-A": "2", "two-B": "2", "three": "3",
    }  # fmt: skip
    revived = ended(fleet, fleet.find("one"))
    assert (Path(revived.worktree) / "b.txt").read_text() == "4"


def test_a_program_without_a_headless_mode_is_named_with_those_that_have_one(cli: Cli) -> None:
    ran = cli("create", "one", "-p", "x", "--headless")

    assert ran.code == UsageError.exit_code
    assert ran.err.startswith("fleet: echoer has no headless mode (leave out --headless, or choose from ")
    assert "claude, codex, gemini, opencode, qwen" in ran.err


@pytest.mark.parametrize(("mode", "warns"), [("ask", True), ("edits", False)])
def test_creating_a_headless_agent_that_may_not_ask_warns_in_one_line(
    cli: Cli, scripted: str, mode: str, warns: bool
) -> None:
    cli.ok("config", "set", "--user", "agent.permission_mode", mode)

    ran = cli("create", "work", "-p", "write notes.txt done", "-a", scripted, "--headless")

    assert ran.code == 0, ran
    lines = [line for line in ran.err.splitlines() if "headless agents cannot ask" in line]
    assert len(lines) == warns
    assert all("fleet config set agent.permission_mode edits" in line for line in lines)
