"""The command line as people use it: each command and its flags, terminals, pipes and places."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from fleet_tui import __version__, errors, paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from tests.commands import FLEET, Cli, cli, configure, prints, project
from tests.conftest import git, processes_of
from tests.holders import living_server
from tests.hosts import Host
from tests.trusting import trust

__all__ = ["cli", "project"]


# ── the program itself ──


def test_fleet_alone_prints_its_help(cli: Cli) -> None:
    ran = cli()

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == cli.ok("-h") == cli.ok("--help")
    for command in (
        "init",
        "create",
        "list",
        "prompt",
        "attach",
        "logs",
        "kill",
        "fanout",
        "multi",
        "config",
        "update",
    ):
        assert f"\n  {command} " in ran.out


def test_the_help_shows_what_each_command_does_whole(cli: Cli) -> None:
    assert "..." not in cli.ok("--help").replace("[ARGS]...", "")


def test_the_help_names_every_exit_code(cli: Cli) -> None:
    codes = {
        one.exit_code for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "exit_code")
    }
    shown = " ".join(cli.ok("--help").split())
    named = re.findall(r"(?:: |, )(\d+) [a-z]", shown[shown.index("Exit codes") :])

    assert set(map(int, named)) == codes | {0, 70}


def test_every_command_has_help_that_says_what_it_does(cli: Cli) -> None:
    from fleet_tui.cli.group import cli as group

    for name in group.commands:
        text = cli.ok(name, "-h")
        assert text.startswith(f"Usage: fleet {name}"), name
        assert len(text.splitlines()) > 3


def test_both_console_scripts_tell_the_version() -> None:
    for name in ("fleet", "flt"):
        done = subprocess.run(
            [FLEET.with_name(name), "--version"], capture_output=True, text=True, check=True
        )
        assert done.stdout.split()[-1] == __version__


def test_l_is_list(cli: Cli) -> None:
    assert cli.ok("l") == cli.ok("list")


@pytest.mark.slow
def test_closed_and_full_outputs_do_not_bring_out_a_traceback(project: Path) -> None:
    for redirection, code in ((">&-", 0), ("2>&-", 0), ("<&-", 0), (">/dev/full", 1), (">&- 2>&- <&-", 0)):
        done = subprocess.run(
            ["sh", "-c", f'"$0" list {redirection}', FLEET], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code, (redirection, done)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
    code = subprocess.call(["sh", "-c", '"$0" nonsense 2>/dev/full', FLEET], timeout=60)
    assert code == 2


def test_a_reader_that_has_seen_enough_is_no_error(project: Path) -> None:
    command = 'set -o pipefail; "$0" config --help | head -1'
    done = subprocess.run(["bash", "-c", command, FLEET], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


@pytest.mark.slow
def test_a_current_folder_that_is_gone_is_one_line(cli: Cli, tmp_path: Path) -> None:
    command = 'mkdir gone && cd gone && rmdir ../gone && "$0" list; "$0" --version'
    for env in ({}, {"FLEET_DEBUG": "1"}):
        done = subprocess.run(
            ["sh", "-c", command, FLEET],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, **env},
        )
        assert "fleet: the current folder is gone (cd to one that exists)" in done.stderr
        assert __version__ in done.stdout
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("variable", ["FLEET_DEBUG", pytest.param("AI_FLEET_DEBUG", marks=pytest.mark.slow)])
def test_debug_adds_a_log_and_no_traceback_for_the_user(cli: Cli, variable: str) -> None:
    ran = cli.script("create", "a b", env={variable: "1"})

    log = paths.log() / "debug.log"
    said, line = ran.err.splitlines()
    assert said == f"fleet: debug log in {log}"
    assert "cannot be a branch name" in line
    text = log.read_text()
    assert "['create', 'a b']" in text
    assert "Traceback" in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_an_internal_error_is_named_and_logged(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("wires\ncrossed")

    monkeypatch.setattr(Fleet, "trash", broken)
    ran = cli("trash")

    assert ran.code == 70
    assert "internal error" in ran.complaint
    assert "Traceback" in (paths.log() / "crash.log").read_text()


# ── looking ──


def test_list_json_has_the_promised_keys(cli: Cli) -> None:
    cli.ok("create", "fix", "-p", "hello")

    [agent] = cli.listed()

    promised = (
        "id name project branch worktree batch profile status pid cpu memory created_at prompt exit_code"
    )
    assert set(promised.split()) <= set(agent)
    assert (agent["name"], agent["branch"], agent["project"]) == ("fix", "fix", str(cli.project))
    assert (agent["prompt"], agent["profile"], agent["exit_code"]) == ("hello", "echoer", None)
    assert agent["batch"].startswith("manual-")
    assert agent["pid"] > 0
    assert agent["memory"] > 0


def test_list_is_of_this_project_and_with_a_of_all(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("create", "fix")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    monkeypatch.chdir(other)

    assert cli.listed() == []
    assert "fleet list -a" in cli.ok("list")
    assert [agent["name"] for agent in cli.listed("-a")] == ["fix"]
    monkeypatch.chdir(tmp_path)
    assert [agent["name"] for agent in cli.listed()] == ["fix"]
    assert "\x1b" not in cli.ok("list")
    cli.ok("config", "set", "--user", "ui.color", "always")
    assert "\x1b[2m" in cli.ok("list")


def test_an_empty_fleet_says_how_to_start(cli: Cli) -> None:
    assert "fleet create NAME" in cli.ok("list")
    assert cli.listed() == []


@pytest.mark.slow
def test_logs_are_text_and_raw_with_their_escapes(cli: Cli, fleet: Fleet, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "colourful"
    program.write_text("#!/bin/sh\nprintf '\\033[31mred\\033[0m\\nsecond\\nthird\\n'\nsleep 1000\n")
    program.chmod(0o755)
    cli.ok("create", "fix", "-a", "colourful")
    prints(fleet, fleet.find("fix"), "third")

    assert cli.ok("logs", "fix").splitlines() == ["red", "second", "third"]
    assert cli.ok("logs", "fix", "-n", "1") == "third\n"
    assert cli.ok("logs", "fix", "-n", "0") == ""
    assert cli.ok("peek", "fix").splitlines() == ["red", "second", "third"]
    assert "\x1b[31mred" in cli.script("logs", "--raw", "fix").out


@pytest.mark.slow
def test_logs_are_read_from_the_disk_while_the_screen_server_does_not_answer(cli: Cli, fleet: Fleet) -> None:
    agent = fleet.create("fix", profile="shell", prompt="seq 200; exec cat")
    prints(fleet, agent, "200")
    server = living_server(agent.keeper_pid, agent.pid)
    os.kill(server, signal.SIGSTOP)
    try:
        ran = cli("logs", "fix", "-n", "3")
    finally:
        os.kill(server, signal.SIGCONT)

    assert ran.code == 0
    assert len(ran.out.split()) == 3
    assert ran.complaint.endswith("(this is without what is on its screen)")


@pytest.mark.slow
def test_logs_follow_until_the_agent_ends(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    prints(fleet, fleet.find("fix"), "ready")
    with subprocess.Popen([FLEET, "logs", "-f", "fix"], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "ready\n"
        for options in (["-f"], ["-f", "--raw"], ["-n", "1"]):
            unread = subprocess.Popen([FLEET, "logs", "fix", *options], stdout=subprocess.PIPE)
            with unread:
                assert unread.stdout is not None
                if "-f" in options:
                    unread.stdout.read(1)
                unread.stdout.close()
            assert unread.returncode == 0, options
        fleet.prompt("fix", "hello", now=True)
        prints(fleet, fleet.find("fix"), "got: hello")
        fleet.stop([fleet.find("fix")])
        assert "got: hello" in following.stdout.read()
    assert following.returncode == 0


# ── ending ──


def test_stop_kill_trash_undo_and_revive_tell_what_they_did(cli: Cli, fleet: Fleet) -> None:
    cli.ok("fanout", "2", "x", "-p", "hello")
    batch = fleet.find("x-A").batch

    assert cli.ok("stop", "-b", batch).split() == ["x-A", "stopped", "x-B", "stopped"]
    assert cli.ok("kill", "-f", "-b", batch).splitlines() == [
        "x-A  killed, worktree in the trash, branch x-A kept",
        "x-B  killed, worktree in the trash, branch x-B kept",
    ]
    ran = cli("undo")
    assert [line.split()[:2] for line in ran.out.splitlines()] == [["x-A", "stopped"], ["x-B", "stopped"]]
    assert "fleet revive x-A" in ran.err
    assert "fleet revive x-B" in ran.err
    cli.ok("kill", "-f", "-b", batch)
    assert "2 in the trash" in cli.ok("trash")
    assert [one["name"] for one in json.loads(cli.ok("trash", "--json"))] == ["x-A", "x-B"]
    ran = cli("undo", "x-A")
    assert ran.out.split()[:2] == ["x-A", "stopped"]
    assert "fleet revive x-A" in ran.err
    assert cli.ok("revive", "x-A").split()[0] == "x-A"
    assert processes_of(fleet.find("x-A"))

    refused = cli("trash", "--empty")
    assert (refused.code, "--force" in refused.complaint) == (2, True)
    assert "x-B  deleted" in cli.ok("trash", "--empty", "--force")
    assert cli.ok("trash", "--empty") == "0 in the trash\n"
    assert cli("undo").code == 3
    cli.ok("kill", "-f", "x-A")
    assert "fleet undo" in cli.ok("list")


def test_a_prompt_has_a_receipt_and_can_come_from_standard_input(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    prints(fleet, fleet.find("fix"), "ready")

    receipt = json.loads(cli.ok("prompt", "--json", "--now", "fix", "it's me"))
    assert set(receipt) == {"agent", "prompt", "state", "reason", "note"}
    prints(fleet, fleet.find("fix"), "got: it's me")
    assert cli.script("prompt", "--now", "fix", "-", stdin="from a pipe").code == 0
    prints(fleet, fleet.find("fix"), "got: from a pipe")


# ── on a terminal ──


@pytest.mark.slow
def test_on_a_terminal_kill_asks_and_no_means_no(cli: Cli, fleet: Fleet) -> None:
    cli.ok("multi", "a:x", "b:x")

    with Host([FLEET, "kill", "*"]) as host:
        host.pump(host.shows("Kill 2 agents (a, b)?"))
        host.type(b"n\n")
        host.pump(host.shows("fleet: nothing was done"))
        assert host.pump_until_ended() == 1
    assert all(processes_of(agent) for agent in fleet.agents())
    with Host([FLEET, "kill", "a"]) as host:
        host.pump(host.shows("Kill a?"))
        host.type(b"\n")
        host.pump(host.shows("a  killed"))
    assert fleet.find("a").status is Status.KILLED


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["kill", "fix"], "-f"),
        pytest.param(["init"], "--yes", marks=pytest.mark.slow),
        pytest.param(["update", "--check"], "--force", marks=pytest.mark.slow),
    ],
)
def test_where_nobody_can_be_asked_a_question_is_refused_and_no_answer_is_made_up(
    cli: Cli, fleet: Fleet, project: Path, arguments: list[str], flag: str
) -> None:
    cli.ok("create", "fix")

    ran = cli.script(*arguments, stdin="n\n", env={"PIP_INDEX_URL": "http://127.0.0.1:9/"})

    assert ran.code == 2
    assert ran.complaint.endswith(f"(say so with {flag})")
    assert not fleet.find("fix").has_ended
    assert not paths.project_config(project).exists()


def test_on_a_terminal_create_shows_its_steps_and_interrupting_it_stops_nothing(
    cli: Cli, fleet: Fleet, project: Path
) -> None:
    configure(project, "[setup]\ncommands = ['while test ! -e go; do sleep 0.02; done']\n")

    with Host([FLEET, "fanout", "2", "x", "-p", "hello"], cols=150) as host:
        host.pump(host.shows("x-A: setup: while"))
        host.pump(host.shows("x-B: setup: while"))
        host.signal(signal.SIGINT)
        host.pump(host.shows("fleet: interrupted (x-A, x-B go on without it, see: fleet list)"))
        assert host.pump_until_ended() == 130
    for name in ("x-A", "x-B"):
        (Path(fleet.find(name).worktree) / "go").touch()
        prints(fleet, fleet.find(name), "argument: hello")


@pytest.mark.slow
def test_watching_redraws_fits_the_screen_and_leaves_it_as_it_was(cli: Cli) -> None:
    cli.ok("multi", *(f"agent-{number}:x" for number in range(3)))

    for end, code in ((signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 129)):
        with Host([FLEET, "list", "--watch"], cols=40, rows=5) as host:
            host.pump(host.shows("3 agents"))
            host.pump(host.shows("more"))
            assert "agent-0" in host.picture()
            host.signal(end)
            assert host.pump_until_ended() == code
            host.pump(host.shows("$ fleet attach"))
            assert host.screen.modes == host.modes_before


def test_editing_opens_the_editor_and_checks_what_it_left(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cli.ok("init", "--yes")
    editor = tmp_path / "bin" / "editor"
    editor.write_text('#!/bin/sh\necho "[broken" >> "$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", "editor --wait")

    ran = cli("config", "--edit")

    assert ran.code == 2
    assert str(paths.project_config(project)) in ran.complaint
    monkeypatch.setenv("EDITOR", "no-such-editor")
    assert cli("config", "--edit").code == 3
    monkeypatch.setenv("EDITOR", "false")
    assert cli("config", "--edit").code == 1


# ── configuration ──


def test_configuration_is_shown_set_and_traced_to_its_file(cli: Cli, project: Path) -> None:
    cli.ok("config", "set", "agent.default", "cat")
    cli.ok("config", "--user", "set", "ui.log_lines", "7")

    assert cli.ok("config", "get", "agent.default") == "cat\n"
    assert cli.ok("config", "get", "ui.log_lines") == "7\n"
    assert cli.ok("config", "get", "setup.commands") == "[]\n"
    shown = cli.ok("config", "--show-origin").splitlines()
    assert f'agent.default = "cat"    # {paths.project_config(project)}' in shown
    assert f"ui.log_lines = 7    # {paths.user_config()}" in shown
    assert "setup.quick = false    # default" in shown
    assert cli.ok("config", "--validate") == "The configuration is valid\n"


@pytest.mark.parametrize(
    ("key", "chord", "problem"),
    [
        ("keys.stop", "X", "keys: 'X' is both stop and kill"),
        ("keys.nosuch", "q", "keys: there is no action 'nosuch'"),
        ("keys.stop", "foo bar", "keys.stop: 'foo bar' is not a key"),
        ("keys.stop", "[", "keys.stop must be a key or a list of keys"),
        ("keys.preset", "emacs", "keys: no preset 'emacs'"),
    ],
)
def test_keys_that_the_dashboard_would_refuse_are_not_set(
    cli: Cli, project: Path, key: str, chord: str, problem: str
) -> None:
    for options in ([], ["--user"]):
        ran = cli("config", "set", key, chord, *options)
        assert ran.code == 2
        assert problem in ran.complaint
    assert not paths.project_config(project).exists()
    cli.ok("config", "set", "keys.stop", "ctrl+x")
    cli.ok("keys")


def test_validating_finds_the_keys_that_the_dashboard_would_refuse_and_setting_mends_them(
    cli: Cli, project: Path
) -> None:
    configure(project, '[keys]\nstop = "X"\nnosuch = "q"\n')

    ran = cli("config", "--validate")

    assert ran.code == 1
    assert ran.err.splitlines()[0] == "keys: there is no action 'nosuch'"
    # It opens all the same, with the user's own keys.
    shown = cli("keys")
    assert (shown.code, shown.err) == (
        0,
        "fleet: the project's keys do not count: keys: there is no action 'nosuch'\n",
    )
    # One at a time, though what is left is still wrong.
    cli.ok("config", "set", "keys.stop", "ctrl+x")
    configure(project, '[keys]\nstop = "X"\n')
    assert "'X' is both stop and kill" in cli("config", "--validate").err
    cli.ok("config", "set", "keys.kill", "ctrl+k")
    assert cli.ok("config", "--validate") == "The configuration is valid\n"


def test_init_writes_a_valid_configuration_once(cli: Cli, project: Path) -> None:
    for kind in ("rails", "node", "python", "generic", "minimal"):
        paths.project_config(project).unlink(missing_ok=True)
        assert cli.ok("init", "--type", kind, "--yes").startswith("wrote ")
        assert cli.ok("config", "--validate")
    assert cli("init", "--yes").code == 4


# ── setup ──


def test_files_that_git_ignores_come_along_and_missing_ones_are_named(cli: Cli, project: Path) -> None:
    (project / ".gitignore").write_text(".env\nsecret/\nlocal.*\n")
    git(project, "add", ".gitignore")
    git(project, "commit", "-q", "-m", "ignore")
    (project / ".env").write_text("KEY=1")
    (project / ".env").chmod(0o640)
    (project / "secret").mkdir()
    (project / "secret" / "key").write_text("k")
    (project / "local.toml").write_text("x")
    (project / ".worktreeinclude").write_text("local.*\n")
    trust(project)
    configure(
        project,
        "[setup]\ncredential_files = ['.env', 'secret', 'missing.key', '/etc/passwd', '../outside']\n",
    )

    ran = cli("create", "fix")

    assert ran.code == 0
    tree = Path(cli.listed()[0]["worktree"])
    assert (tree / ".env").read_text() == "KEY=1"
    assert stat.S_IMODE((tree / ".env").stat().st_mode) == 0o640
    assert (tree / "secret" / "key").exists()
    assert (tree / "local.toml").exists()
    assert "not found: missing.key" in ran.err
    assert "/etc/passwd: lies outside the repository" in ran.err
    assert "../outside: contains '..'" in ran.err


@pytest.mark.slow
def test_uncommitted_changes_are_said_once_not_to_be_copied(cli: Cli, project: Path) -> None:
    (project / "readme.txt").write_text("changed")

    ran = cli("fanout", "2", "x", "-p", "hello")

    assert ran.complaint.strip() == "not copied: 1 uncommitted change here; agents start from the last commit"
    assert (Path(cli.listed()[0]["worktree"]) / "readme.txt").read_text() == "hello\n"
    assert cli("create", "y", "--base", "main").err == ""


# ── where one stands ──


@pytest.mark.slow
def test_any_folder_of_the_repository_and_of_a_worktree_will_do(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "sub" / "deep")
    cli.ok("create", "one")
    [one] = cli.listed()
    git(Path(one["worktree"]), "commit", "-q", "--allow-empty", "-m", "more")
    monkeypatch.chdir(one["worktree"])

    cli.ok("create", "two")

    first, second = cli.listed()
    assert (first["project"], second["project"]) == (str(project), str(project))
    assert second["base"] == git(Path(one["worktree"]), "rev-parse", "HEAD").strip()


@pytest.mark.slow
def test_a_bare_repository_and_a_detached_head_will_do(
    cli: Cli, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "checkout", "-q", "--detach")
    cli.ok("create", "detached")
    git(tmp_path, "clone", "-q", "--bare", str(project), "bare.git")
    monkeypatch.chdir(tmp_path / "bare.git")
    cli.ok("create", "in-bare")

    assert [agent["name"] for agent in cli.listed("-a")] == ["detached", "in-bare"]
    assert (Path(cli.listed()[0]["worktree"]) / "readme.txt").exists()
    cli.ok("kill", "-f", "in-bare")
    cli.ok("undo")


@pytest.mark.slow
def test_a_repository_with_a_submodule_will_do(cli: Cli, project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(project), "library")
    git(
        project,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "library"),
        "lib",
    )
    git(project, "commit", "-q", "-m", "library")

    cli.ok("create", "fix")
    cli.ok("kill", "-f", "fix")
    cli.ok("undo")

    assert (Path(cli.listed()[0]["worktree"]) / ".gitmodules").exists()


# ── completion ──

COMPLETE = """
eval "$("$FLEET" completion bash)"
ask() { COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1_completion" "$1"; echo "${COMPREPLY[@]}"; }
ask fleet cre
ask flt ki
ask fleet peek fi
ask fleet create x -a cl
ask fleet config get agent.d
ask fleet kill -b manual
ask fleet kill -b log
ask fleet stop login-
ask fleet undo log
"""


@pytest.mark.slow
def test_bash_completes_commands_agents_profiles_keys_and_batches(cli: Cli) -> None:
    cli.ok("create", "fix")
    cli.ok("fanout", "2", "login", "-p", "x")
    cli.ok("kill", "-f", "login-B")

    done = subprocess.run(
        ["bash", "-c", COMPLETE],
        capture_output=True,
        text=True,
        env={**os.environ, "FLEET": str(FLEET), "PATH": f"{FLEET.parent}:{os.environ['PATH']}"},
    )

    assert done.stderr == ""
    batch = cli.listed()[0]["batch"]
    assert done.stdout.splitlines() == [
        "create", "kill", "fix", "claude", "agent.default", batch, "login", "login-A", "login-B",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shell", "command"),
    [
        (
            "zsh",
            "autoload -U compinit; compinit -u -D; eval \"$('{fleet}' completion zsh)\"; print $_comps[fleet]",
        ),
        ("fish", "'{fleet}' completion fish | source; complete -C 'fleet creat'"),
    ],
)
def test_the_scripts_of_other_shells_are_accepted_by_them(shell: str, command: str, project: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    done = subprocess.run(
        [shell, *(["-f"] if shell == "zsh" else []), "-c", command.format(fleet=FLEET)],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{FLEET.parent}:{os.environ['PATH']}"},
    )

    assert done.stderr == ""
    assert done.stdout.startswith(("_fleet_completion", "create"))


# ── updating ──


def test_update_uses_no_network_and_says_how(cli: Cli) -> None:
    said = cli.ok("update")

    assert said.startswith(f"fleet-tui {__version__}, ")
    assert "update it with: " in said


@pytest.mark.slow
def test_checking_for_an_update_that_cannot_be_answered_is_one_line(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")

    ran = cli("update", "--check", "--force")

    assert ran.code == 1
    assert "package index did not say" in ran.complaint
