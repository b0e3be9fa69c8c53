"""Launching real agents: each gets worktree, files and holder, or nothing is left behind."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fleet_tui
from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import read_exit, read_holder
from fleet_tui.holder.session import open_session
from fleet_tui.lifecycle import launcher_client
from fleet_tui.models import Agent, Status
from fleet_tui.system import processes
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from fleet_tui.terminal.view import View
from tests.conftest import git, processes_of
from tests.git.repositories import branches, call, entries
from tests.holder.holders import living_server, wait_until
from tests.holder.screens import wait_for_screen
from tests.lifecycle.trusted_projects import write_trusted
from tests.scripted import FLEET, is_alive, program, start_cli
from tests.system.small_disks import small_disk
from tests.watched_fleet import WatchedFleet

SECONDS = 15.0
REPETITIONS = 5
CLEAR_LINE = b"\x15"
PACKAGE = Path(fleet_tui.__file__).parent
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("peek", {}),
    ("rows", {"start": 0, "count": 10}),
    ("find", {"text": "size"}),
    ("copy", {"start": [0, 0], "end": [5, 5]}),
]


def screen(fleet: Fleet, agent: Agent) -> str:
    return "\n".join(fleet.peek(agent))


def test_the_records_name_the_processes_that_run(fleet: Fleet, tmp_path: Path) -> None:
    agent = fleet.create("fix", profile=program(tmp_path, "echoes"))

    found = read_holder(paths.run(agent.id, 1))
    assert found is not None
    assert (found.pid, found.keeper_pid) == (agent.pid, agent.keeper_pid)
    assert processes.is_running(found.keeper_pid, found.keeper_started)
    keeper = processes.look_up(found.keeper_pid)
    assert keeper is not None
    assert keeper.ppid != os.getpid()
    assert Path(f"/proc/{agent.pid}/cwd").resolve() == Path(agent.worktree)


@pytest.mark.slow
def test_a_programs_path_is_relative_to_where_it_is_given(fleet: Fleet, repository: Path, home: Path) -> None:
    folder = repository / "tools"
    folder.mkdir()
    (folder / "agent").write_text("#!/bin/sh\nexec sleep 100\n")
    (folder / "agent").chmod(0o755)
    inside = WatchedFleet(folder)
    try:
        said = inside.create("said", profile="./agent")
    finally:
        inside.close()
    write_trusted(repository, '[agent]\ndefault = "tools/agent"\n')
    configured = fleet.create("configured")
    (home / "agent").symlink_to(folder / "agent")
    at_home = fleet.create("at-home", profile="~/agent")

    assert said.profile == configured.profile == str(folder / "agent")
    assert at_home.profile == str(home / "agent")
    assert {said.status, configured.status, at_home.status} == {Status.STARTING}


def launchers() -> list[int]:
    """Of this process, those that have ended but were not taken note of included."""
    children = processes.children_of(processes.snapshot()).get(os.getpid(), [])
    return [
        one.pid
        for one in children
        if b"fleet_tui.lifecycle.launcher" in Path(f"/proc/{one.pid}/cmdline").read_bytes()
        or not is_alive(one.pid)
    ]


def test_a_launcher_spawned_for_nothing_ends_when_it_is_dismissed() -> None:
    launcher_client.spawn()
    wait_until(lambda: bool(launchers()), "its command line")
    called = launchers()

    launcher_client.dismiss()

    assert len(called) == 1
    assert not is_alive(called[0])


def test_a_launcher_whose_progress_is_no_longer_read_is_reaped_by_the_next() -> None:
    detached = launcher_client.Launcher()
    detached.start({}, parallel=1)
    detached.dismiss()
    wait_until(lambda: bool(launchers()), "its command line")
    [pid] = launchers()
    wait_until(lambda: not is_alive(pid), "its end")
    assert pid in launchers()

    launcher_client.Launcher().dismiss()

    assert launchers() == []


@pytest.mark.slow
def test_agents_inherit_no_descriptors_of_their_caller(fleet: Fleet, tmp_path: Path) -> None:
    """A script that waits for a lock, or for the end of a pipe, would wait as long as they live."""
    heard, said = os.pipe()
    os.set_inheritable(said, True)
    try:
        fleet.create("fix", profile=program(tmp_path, "echoes"))
    finally:
        os.close(said)

    with os.fdopen(heard, "rb") as pipe:
        assert select.select([pipe], [], [], SECONDS)[0]
        assert pipe.read() == b""


def test_a_missing_program_leaves_nothing_behind(fleet: Fleet, repository: Path) -> None:
    before = branches(repository)

    with pytest.raises(FleetError, match="no-such-program"):
        fleet.create("fix", profile="./no-such-program")

    assert branches(repository) == before
    assert entries(repository) == []
    assert fleet.agents() == []


def test_a_program_that_cannot_start_is_a_failed_agent_with_nothing_left_behind(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF not really")
    broken.chmod(0o755)

    agent = fleet.create("fix", profile=str(broken))

    assert agent.status is Status.FAILED
    assert not Path(agent.worktree).exists()
    assert branches(repository) == {"main"}
    assert entries(repository) == []
    again = fleet.create("fix", profile=program(tmp_path, "echoes"))
    assert not again.has_ended


def test_killing_leaves_no_process_and_touches_no_other_agent(fleet: Fleet, tmp_path: Path) -> None:
    told = tmp_path / "told"
    victim = fleet.create("victim", profile=program(tmp_path, "escapes", told))
    other = fleet.create("other", profile=program(tmp_path, "echoes"))
    wait_until(lambda: told.exists() and told.read_text().count("\n") == 5, "five escapes")

    (kept,) = fleet.kill([fleet.find("victim")], grace=0.2)

    assert processes_of(victim) == []
    assert [line for line in told.read_text().splitlines() if is_alive(int(line.split()[1]))] == []
    assert kept.path is not None
    assert kept.path.is_dir()
    assert "ready" in screen(fleet, other)


@pytest.mark.slow
def test_the_program_does_not_see_who_started_its_launcher(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_AGENT_ID", "outer")
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("TMUX", "/tmp/x")
    monkeypatch.setenv("MY_TOKEN", "kept")
    agent = fleet.create("fix", profile=program(tmp_path, "echoes"))

    content = Path(f"/proc/{agent.pid}/environ").read_bytes().decode()
    values = dict(entry.split("=", 1) for entry in content.split("\0") if "=" in entry)

    assert values["FLEET_AGENT_ID"] == agent.id
    assert values["MY_TOKEN"] == "kept"
    assert values["TERM"] == "xterm-256color"
    assert not {"CLAUDECODE", "TMUX"} & set(values)


@pytest.mark.slow
def test_a_failing_setup_command_is_a_failed_agent_whose_worktree_is_kept_and_quick_skips_it(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    write_trusted(repository, '[setup]\ncommands = ["touch made.txt", "exit 4"]\n')
    echoes = program(tmp_path, "echoes")

    agent = fleet.create("fix", profile=echoes)
    quick = fleet.create("quick", profile=echoes, quick=True)
    wait_until(lambda: not is_held(paths.lock(agent.id)), "the end of the first")
    agent = fleet.find("fix")

    assert (agent.status, agent.exit_code) == (Status.FAILED, 4)
    assert agent.status_detail == "setup: 'exit 4' ended with code 4"
    assert (Path(agent.worktree) / "made.txt").exists()
    assert not (Path(quick.worktree) / "made.txt").exists()
    assert not fleet.find("quick").has_ended


@pytest.mark.slow
def test_agents_without_a_folder_for_worktrees_fail_with_the_systems_reason(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    write_trusted(repository, '[project]\nworktree_root = "/proc/nope"\n')

    agents = fleet.multi([("a", "x"), ("b", "x")], profile=program(tmp_path, "echoes"))

    assert [agent.status for agent in agents] == [Status.FAILED] * 2
    assert {agent.status_detail for agent in agents} == {
        "cannot create the folder /proc/nope: No such file or directory"
    }
    assert (branches(repository), entries(repository)) == ({"main"}, [])


@pytest.mark.slow
def test_an_agent_that_does_not_fit_on_the_disk_fails_with_what_could_not_be_written(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (repository / name).write_bytes(os.urandom(300_000))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "big")
    with small_disk(tmp_path / "disk") as disk:
        write_trusted(repository, f'[project]\nworktree_root = "{disk}"\n')

        agent = fleet.create("fix", profile=program(tmp_path, "echoes"))

    assert agent.status is Status.FAILED
    assert "file two" in agent.status_detail
    # Some gits say why, and where they do not, we ask.
    assert "check the free disk space" in agent.status_detail or "No space left" in agent.status_detail


HANGS = "#!/bin/sh\n{first}echo $$ >> {told}\nsleep 1000\n"


@pytest.mark.slow
@pytest.mark.parametrize("first", ["", "trap '' TERM\n"])
def test_an_agent_whose_checkout_hangs_can_be_stopped_and_leaves_nothing(
    fleet: Fleet, repository: Path, tmp_path: Path, first: str
) -> None:
    told = tmp_path / "told"
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HANGS.format(first=first, told=told))
    hook.chmod(0o755)
    creating = start_cli(repository, "create", "hangs", "-a", program(tmp_path, "echoes"))
    wait_until(told.exists, "the hook", seconds=SECONDS)

    [stopped] = fleet.stop([fleet.find("hangs")], grace=0.2)

    assert (stopped.status, stopped.status_detail) == (Status.FAILED, "stopped during its creation")
    assert not any(is_alive(int(pid)) for pid in told.read_text().split())
    assert "stopped during its creation" in creating.communicate(timeout=SECONDS)[1]
    assert (branches(repository), entries(repository)) == ({"main"}, [])
    assert not Path(stopped.worktree).exists()


@pytest.mark.slow
def test_an_agent_queued_behind_other_checkouts_can_be_stopped(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text("[fleet]\nparallel_checkouts = 1\n")
    told = tmp_path / "told"
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HANGS.format(first="", told=told))
    hook.chmod(0o755)
    creating = start_cli(repository, "multi", "first:x", "second:x", "-a", program(tmp_path, "echoes"))
    wait_until(told.exists, "the hook", seconds=SECONDS)

    [stopped] = fleet.stop([fleet.find("second")], grace=0.2)
    assert stopped.status is Status.FAILED
    assert fleet.find("first").status is Status.SETUP

    fleet.kill([fleet.find("first")], grace=0.2)
    creating.communicate(timeout=SECONDS)
    assert (branches(repository), entries(repository)) == ({"main"}, [])


@pytest.mark.slow
def test_twenty_creations_at_once_from_local_and_remote_bases_all_succeed(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    upstream = tmp_path / "upstream.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(upstream))
    git(repository, "remote", "add", "origin", str(upstream))
    git(repository, "fetch", "-q", "origin")
    echoes = program(tmp_path, "echoes")

    for repetition in range(REPETITIONS):
        bases: tuple[list[str], ...] = ([], ["--base", "origin/main"])
        running = [
            # Nicely: other tests may be waiting for something on the same machine.
            start_cli(
                repository,
                "create",
                f"agent-{repetition}-{number}",
                "-a",
                echoes,
                *bases[number % 2],
                nice=10,
            )
            for number in range(20)
        ]
        for process in running:
            _, err = process.communicate(timeout=100)
            assert process.returncode == 0, err
        agents = [agent for agent in fleet.agents() if not agent.has_ended]
        assert len(agents) == 20
        assert len({agent.port_base for agent in agents}) == 20
        fleet.stop(agents, grace=0.2)

    assert len(entries(repository)) == 20 * REPETITIONS
    assert "branch." not in call(repository, "config", "--list")


def test_an_agent_started_from_inside_an_agent_outlives_it(fleet: Fleet, tmp_path: Path) -> None:
    script = tmp_path / "outer"
    create = shlex.join([*FLEET, "create", "inner", "-a", program(tmp_path, "echoes")])
    script.write_text(f"#!/bin/sh\n{create}\necho made it\nexec sleep 1000\n")
    script.chmod(0o755)
    outer = fleet.create("outer", profile=str(script))
    wait_until(lambda: "made it" in screen(fleet, outer), "the inner agent", seconds=30)
    assert not fleet.find("inner").has_ended

    fleet.kill([fleet.find("outer")], grace=0.2)

    assert processes_of(outer) == []
    inner = fleet.find("inner")
    assert not inner.has_ended
    assert is_alive(inner.pid or 0)
    assert "ready" in screen(fleet, inner)


def test_agents_outlive_the_removal_of_the_installed_package(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "site"
    shutil.copytree(PACKAGE, installed / "fleet_tui", ignore=shutil.ignore_patterns("__pycache__"))
    (installed / "fleet_tui" / "__init__.py").write_text('__version__ = "0.0.copy"\n')
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    agent = fleet.create("fix", profile=program(tmp_path, "echoes"))
    run = paths.run(agent.id, 1)
    holder = read_holder(run)
    assert holder is not None
    assert holder.version == "0.0.copy"

    (installed / "fleet_tui").rename(tmp_path / "gone")
    shutil.rmtree(tmp_path / "gone")

    for word in ("one", "two", "three"):
        with open_session(agent, kind="terminal", cols=70, rows=20, rate=60) as session:
            session.keys(*(KeyEvent(letter, letter) for letter in word), KeyEvent("enter"))
            assert wait_for_screen(session, partial(shows, f"got: {word}"), seconds=SECONDS)
            session.mouse(MouseEvent("press", 3, 3, "left"))
            session.paste("é")
            session.send("text", data=CLEAR_LINE)
            for kind, fields in REQUESTS:
                assert session.ask(kind, **fields)["t"] == "answer", kind
        os.kill(server_of(agent), signal.SIGKILL)
    fleet.stop([agent], grace=0.2)

    end = read_exit(run)
    assert end is not None
    assert end.cause == "stop"
    assert (run / "holder.err").read_text() == ""


def shows(text: str, view: View) -> bool:
    return any(text in line for line in view.text())


def server_of(agent: Agent) -> int:
    return living_server(agent.keeper_pid, agent.pid)


def test_a_revived_agent_runs_with_the_settings_configured_now(
    repository: Path, tmp_path: Path, fleet: Fleet
) -> None:
    agent = fleet.create("again", profile=program(tmp_path, "echoes"))
    fleet.stop([agent], grace=0.2)
    write_trusted(repository, "[fleet]\nscrollback = 123\n[env]\nADDED = 'later'\n")

    fleet.revive(agent)

    intent = fleet.store.agents.intent(agent.id)
    assert (intent["scrollback"], intent["env"]) == (123, {"ADDED": "later"})
