"""Bad input: one line with a hint, the documented exit code, and nothing left half done."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from tests.cli.commands import Cli, cli, configure, project, traces
from tests.conftest import git, processes_of
from tests.holder.holders import wait_until

__all__ = ["cli", "project"]

LONG = "x" * 300


def refused(cli: Cli, code: int, *arguments: str) -> str:
    """The one line that a refused command prints; nothing may have changed."""
    before = traces(cli.project)
    line = complained(cli, code, *arguments)
    assert traces(cli.project) == before
    return line


def complained(cli: Cli, code: int, *arguments: str) -> str:
    ran = cli(*arguments)
    assert ran.code == code, (arguments, ran)
    assert ran.out == ""
    line = ran.complaint
    assert line.startswith("fleet: ")
    assert line.endswith(")"), f"has no hint: {line}"
    return line


NO_BRANCH = ["a b", "..", "a..b", "-x", LONG, "a//b", ".x", "x~", "a\nb", "\udcff", "a:b"]


@pytest.mark.parametrize("command", [("create",), ("fanout", "2", "-p", "do it")], ids=["create", "fanout"])
def test_a_name_that_cannot_be_a_branch_is_refused(cli: Cli, command: tuple[str, ...]) -> None:
    before = traces(cli.project)

    for name in NO_BRANCH:
        assert "cannot be a branch name" in complained(cli, 2, *command, "--", name)
    assert traces(cli.project) == before


REFUSED: list[tuple[int, list[str], str]] = [
    (2, ["create"], "create needs a"),
    (2, ["create", "-x"], "create has no option -x"),
    (2, ["create", "a", "b"], "but also got 'b'"),
    (2, ["create", ""], "is empty"),
    (3, ["create", "x", "-a", "nosuch"], "no profile or program 'nosuch'"),
    (3, ["create", "x", "-a", "/bin/nosuch"], "no profile or program"),
    (3, ["create", "x", "-a", "/etc/passwd"], "/etc/passwd is not executable"),
    (3, ["create", "x", "-a", "/etc"], "/etc is a folder, not a program"),
    (3, ["create", "x", "--base", "nope"], "is not a commit"),
    (3, ["create", "x", "--existing"], "no branch 'x'"),
    (4, ["create", "main"], "checked out in"),
    (4, ["create", "main", "--existing"], "checked out in"),
    (4, ["create", "main/x"], "conflicts with branch 'main'"),
    (2, ["fanout", "0", "-p", "x"], "from 1 to 100"),
    (2, ["fanout", "1000", "-p", "x"], "from 1 to 100"),
    (2, ["fanout", "99999999999999999999", "-p", "x"], "from 1 to 100"),
    (2, ["fanout", "--", "-1", "p"], "fanout needs --prompt"),
    (2, ["fanout", "many", "-p", "x"], "must be a whole number, not 'many'"),
    (2, ["fanout", "2"], "fanout needs --prompt"),
    (2, ["fanout", "2", "-p", " "], "the prompt is empty"),
    (2, ["fanout", "2", "-p", ""], "the prompt is empty"),
    (2, ["create", "x", "-p", ""], "the prompt is empty"),
    (2, ["create", "x", "-p", " \n"], "the prompt is empty"),
    (2, ["multi", "a:x", "b: "], "the prompt is empty"),
    (2, ["profiles", "check", "echoer", "-p", ""], "the prompt is empty"),
    (2, ["fanout", "2", "-p", "x", "--agents", "echoer:3"], "count is 2"),
    (2, ["fanout", "2", "-p", "x", "--agents", "echoer:2", "-a", "codex"], "either --agent or --agents"),
    (2, ["fanout", "2", "-p", "x", "--agents", "echoer"], "is not PROFILE:COUNT"),
    (2, ["fanout", "2", "-p", "x", "--agents", "echoer:x"], "is not PROFILE:COUNT"),
    (2, ["fanout", "2", "-p", "x", "--agents", "echoer:²"], "is not PROFILE:COUNT"),
    (3, ["fanout", "2", "-p", "x", "--agents", "echoer:1,nosuch:1"], "no profile or program 'nosuch'"),
    (3, ["fanout", "2", "-p", "x", "-a", "nosuch"], "no profile or program 'nosuch'"),
    (2, ["multi"], "multi needs"),
    (2, ["multi", "nothing"], "'nothing' needs a colon"),
    (2, ["multi", "a:"], "the prompt is empty"),
    (2, ["multi", ":do"], "needs a name before the colon"),
    (4, ["multi", "a:x", "a:y"], "requested twice"),
    (4, ["multi", "a:x", "a/b:y"], "conflicts with branch"),
    (3, ["prompt", "nobody", "hello"], "no agent 'nobody'"),
    (3, ["attach", "nobody"], "no agent 'nobody'"),
    (3, ["logs", "nobody"], "no agent 'nobody'"),
    (3, ["peek", "nobody"], "no agent 'nobody'"),
    (3, ["revive", "nobody"], "no agent 'nobody'"),
    (3, ["stop", "nobody-*"], "no agent matches"),
    (3, ["kill", "nobody-*"], "no agent matches"),
    (3, ["kill", "-b", "nothing"], "no agent in the batch"),
    (2, ["kill"], "which agents?"),
    (2, ["stop"], "which agents?"),
    (3, ["undo"], "the trash is empty"),
    (3, ["undo", "nobody"], "not in the trash"),
    (2, ["list", "-w"], "needs a terminal"),
    (2, ["logs", "x", "-n", "-1"], "must be a whole number of at least 0, not '-1'"),
    (2, ["config", "get"], "needs KEY"),
    (2, ["config", "get", "nope"], "unknown key"),
    (2, ["config", "unset", "agent.defalt"], "did you mean 'agent.default'"),
    (2, ["config", "unset"], "needs KEY"),
    (2, ["config", "get", "ui.color", "--validate"], "either get or --validate"),
    (2, ["config", "--edit", "set", "ui.color", "auto"], "either set or --edit"),
    (2, ["config", "--edit", "--validate"], "either --edit or --validate"),
    (2, ["queue", "x", "--cancel", "1", "--edit", "1", "y"], "either --edit or --cancel"),
    (2, ["config", "unset", "agent.default", "x"], "takes only KEY"),
    (3, ["config", "unset", "agent.default"], "is not set in"),
    (2, ["config", "set", "agent.default"], "needs KEY VALUE"),
    (2, ["config", "set", "agent.defalt", "x"], "did you mean 'agent.default'"),
    (2, ["config", "frobnicate"], "config takes get"),
    (2, ["init", "--type", "cobol"], "--type must be rails, node"),
    (3, ["init", "--yes", "--migrate-legacy"], "no legacy configuration"),
    (2, ["completion", "tcsh"], "completion takes bash, zsh or fish"),
    (2, ["crate", "x"], "no command 'crate' (see: fleet --help)"),
    (2, ["--nope"], "no option --nope"),
    (2, ["ui"], "needs a terminal"),
]


def test_a_request_that_cannot_be_done_is_refused(cli: Cli) -> None:
    before = traces(cli.project)

    for code, arguments, says in REFUSED:
        assert says in complained(cli, code, *arguments), arguments
    assert traces(cli.project) == before


def test_commands_outside_a_repository_are_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    for arguments in (["create", "x"], ["fanout", "2", "-p", "x"], ["init", "-y"], ["config", "-e"]):
        assert "not in a git repository" in refused(cli, 5, *arguments)


def test_a_repository_without_a_commit_is_refused_with_the_command_that_makes_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    monkeypatch.chdir(empty)

    assert "git commit --allow-empty" in refused(cli, 5, "create", "x")
    assert sorted(entry.name for entry in empty.iterdir()) == [".git"]

    git(tmp_path, "init", "-q", "--bare", "bare.git")
    monkeypatch.chdir(tmp_path / "bare.git")
    # Git refuses to commit in a bare repository.
    assert "git push" in refused(cli, 5, "create", "x")


@pytest.mark.slow
def test_a_taken_name_is_refused(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    # A new agent changes by itself: its socket appears, its status changes.
    wait_until(lambda: fleet.find("fix").status is Status.IDLE, "its calm")
    first = fleet.find("fix")

    assert "there is already an agent 'fix'" in refused(cli, 4, "create", "fix")
    assert "there is already an agent 'fix'" in refused(cli, 4, "multi", "a:x", "fix:y")
    assert fleet.find("fix").pid == first.pid


def test_an_existing_branch_needs_the_flag(cli: Cli, project: Path) -> None:
    git(project, "branch", "mine")

    assert "--existing" in refused(cli, 4, "create", "mine")
    cli.ok("create", "mine", "--existing")


def test_an_error_in_the_configuration_names_file_and_line(cli: Cli, project: Path) -> None:
    configure(project, '[project]\nname = "x"\n[agent]\ndefault = echoer\n')

    for arguments in (
        ["create", "x"],
        ["fanout", "2", "-p", "x"],
        ["config"],
        ["config", "set", "ui.log_lines", "9"],
    ):
        assert f"{paths.project_config(project)}:4:" in refused(cli, 2, *arguments)
    assert cli("list").code == 0


def test_a_wrong_value_in_the_configuration_names_file_and_key(cli: Cli, project: Path) -> None:
    configure(project, "[setup]\ncommands = 7\n")

    line = refused(cli, 2, "create", "x")

    assert str(paths.project_config(project)) in line
    assert "setup.commands must be a list of strings" in line


def test_a_program_that_exits_at_once_is_reported_with_its_last_lines(cli: Cli, fleet: Fleet) -> None:
    ran = cli("create", "x", "-a", "ls", "-p", "/no/such/place")

    assert ran.code == 7
    *shown, line = ran.err.splitlines()
    assert any("/no/such/place" in one and one.startswith("  | ") for one in shown)
    assert "x failed to start: its program exited at once (code 2)" in line
    assert "fleet kill -d x" in line
    assert fleet.find("x").status is Status.EXITED

    cli.ok("kill", "-f", "-d", "x")
    assert git(cli.project, "branch", "--list", "x") == ""


@pytest.mark.slow
def test_a_fan_out_reports_each_program_that_exits_at_once(cli: Cli) -> None:
    ran = cli("fanout", "2", "x", "-p", "/no/such/place", "--agents", "echoer:1,ls:1")

    assert ran.code == 7
    assert [line.split()[:2] for line in ran.out.splitlines()] == [["x-A", "working"], ["x-B", "exited"]]
    assert "  x-B | " in ran.err
    assert "1 of 2 agents failed to start; x-B: its program exited at once" in ran.err.splitlines()[-1]


@pytest.mark.slow
def test_a_failing_setup_command_is_reported_and_the_worktree_kept(
    cli: Cli, fleet: Fleet, project: Path
) -> None:
    configure(project, "[setup]\ncommands = ['echo preparing', 'sleep 0.2; exit 4']\n")

    ran = cli("create", "x")

    assert ran.code == 7
    assert "  | preparing" in ran.err.splitlines()
    assert "setup: 'sleep 0.2; exit 4' ended with code 4" in ran.err.splitlines()[-1]
    assert "--quick" in ran.err.splitlines()[-1]
    agent = fleet.find("x")
    assert agent.status is Status.FAILED
    assert Path(agent.worktree).is_dir()
    assert processes_of(agent) == []

    again = cli("revive", "x")

    assert again.code == 7
    assert "--quick" not in again.err, "revive has no such option"
    assert f"fix what the setup needs in {agent.worktree}" in again.err.splitlines()[-1]


PROMPTS = {
    "quotes": """it's "quoted" `and` 'so' on""",
    "lines": "first\nsecond\r\nthird\n",
    "shell": "$(touch PWNED); `touch PWNED` & touch PWNED | touch PWNED > PWNED",
    "dashes": "--dangerously-do-it -x",
    "unicode": "naïve 日本 🎉 e\u0301",
    "braces": "{prompt} %s {0} $HOME ~",
}


def test_any_prompt_reaches_the_program_unchanged(
    cli: Cli, fleet: Fleet, tmp_path: Path, project: Path
) -> None:
    program = tmp_path / "bin" / "recorder"
    program.write_text('#!/bin/sh\nprintf "%s" "$1" > told\nsleep 1000\n')
    program.chmod(0o755)
    prompts = {**PROMPTS, "large": "x y\n" * 25_600}

    cli.ok("multi", "-a", "recorder", *(f"{name}:{text}" for name, text in prompts.items()))

    for name, text in prompts.items():
        tree = Path(fleet.find(name).worktree)
        assert (tree / "told").read_bytes().decode() == text
        assert sorted(entry.name for entry in tree.iterdir()) == [".git", "readme.txt", "told"]
    assert not list(project.glob("PWNED"))


def test_text_that_cannot_be_stored_or_passed_on_is_refused(cli: Cli) -> None:
    assert "NUL" in refused(cli, 2, "create", "x", "-p", "nul\0byte")
    assert "not valid UTF-8" in refused(cli, 2, "create", "x", "-p", "\udcff\udcfe")
    assert "not valid UTF-8" in refused(cli, 2, "multi", "x:\udcff")


def test_a_repository_whose_path_is_not_utf8_is_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    odd.mkdir()
    git(odd, "init", "-q")
    git(odd, "commit", "-q", "--allow-empty", "-m", "x")
    monkeypatch.chdir(odd)

    assert "not valid UTF-8" in refused(cli, 5, "create", "x")
    assert cli("list").code == 0


def test_a_damaged_store_is_an_error_and_never_an_empty_fleet(cli: Cli, fleet: Fleet) -> None:
    fleet.close()
    for file in paths.state().glob("fleet.db*"):
        file.unlink()
    paths.store().write_bytes(b"this is not a database, but it is long enough to be looked at" * 20)

    for arguments in (["list"], ["list", "--json"], ["create", "x"], ["kill", "x"]):
        ran = cli(*arguments)
        assert (ran.code, ran.out) == (6, "")
        assert "is damaged" in ran.complaint
    paths.store().unlink()
    fleet.__init__(cli.project)  # type: ignore[misc]  # the fixture wants to end it


def test_a_store_of_a_newer_version_is_read_only(cli: Cli) -> None:
    cli.ok("list")
    database = sqlite3.connect(paths.store())
    database.execute("pragma user_version = 99")
    database.close()

    assert cli("list").code == 0
    assert "newer" in refused(cli, 6, "create", "x")


def test_agents_can_be_stopped_with_a_store_of_a_newer_version_and_are_shown_as_they_are(cli: Cli) -> None:
    cli.ok("create", "one")
    database = sqlite3.connect(paths.store())
    database.execute("pragma user_version = 99")
    database.close()

    ran = cli("stop", "one")
    assert (ran.code, ran.out.split()[:2]) == (0, ["one", "stopped"])
    ran = cli("list", "--json")
    assert [agent["status"] for agent in json.loads(ran.out)] == ["stopped"]
    assert "newer" in ran.complaint
    assert "one has ended, but is not recorded in the trash" in refused(cli, 6, "kill", "-f", "one")


def test_an_unwritable_home_is_one_line(cli: Cli) -> None:
    ran = cli.script("list", env={"HOME": "/dev/null"})

    assert (ran.code, ran.out) == (1, "")
    assert "Not a directory" in ran.complaint


@pytest.mark.parametrize("place", ["", "here"])
def test_an_empty_or_relative_home_is_refused(cli: Cli, place: str) -> None:
    ran = cli.script("list", env={"HOME": place})

    assert (ran.code, ran.out) == (1, "")
    assert "set HOME" in ran.complaint
    assert not (cli.project / "here").exists()


WORDS = [
    "create", "list", "l", "prompt", "logs", "peek", "stop", "kill", "fanout", "multi", "config", "trash", "undo",
    "revive", "update", "completion", "doctor", "init", "get", "set", "-a", "-p", "-b", "-n", "-f", "-g", "-w", "-d",
    "--json", "--base", "--agents", "--agent", "--quick", "--existing", "--type", "--user", "--show-origin", "--now",
    "--raw", "--", "-", "", " ", "x", "../../etc", "a:b", "0", "-1", "1e9", "9" * 40, "*", "[", "**", "\0", "\udc80",
    "日本", "🎉" * 50, "\x1b[31m", "a\nb", "%s%n", "{}", "x" * 5000, "--help", "nan", "true", "refs/heads/main",
]  # fmt: skip


def test_random_arguments_never_cause_a_traceback(
    cli: Cli, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random words from a fixed seed, with no program on PATH that an agent could run."""
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("PATH", os.environ["PATH"].split(":", 1)[1])
    chance = random.Random(7)

    for _ in range(250):
        arguments = chance.choices(WORDS, k=chance.randint(0, 6))
        ran = cli(*arguments)
        assert ran.code in range(9), (arguments, ran)
        assert "Traceback" not in ran.out + ran.err, arguments
        if ran.code:
            assert ran.err.splitlines()[-1].startswith("fleet: "), (arguments, ran)
    assert fleet.agents(everywhere=True) == []


def test_a_pattern_where_one_agent_is_needed_is_named_as_the_mistake(cli: Cli) -> None:
    cli.ok("create", "fix")

    for arguments in (["answer", "fi*", "1"], ["path", "fi*"], ["rename", "f?x", "x"], ["undo", "fi*"]):
        said = complained(cli, 3, *arguments)
        assert said.endswith("(name one agent; stop, kill, restart, prompt, wait and move take patterns)")


def test_an_unquoted_message_is_not_read_as_names_of_agents(cli: Cli) -> None:
    cli.ok("create", "fix")

    said = complained(cli, 3, "prompt", "fix", "run", "the tests")

    assert said == "fleet: no agent matches 'run' (quote the message: fleet prompt fix 'run the tests')"
    said = complained(cli, 3, "prompt", "-b", "manual", "run", "the tests")
    assert said.endswith("(quote the message: fleet prompt -b manual 'run the tests')")
    assert "quote" not in complained(cli, 3, "prompt", "nope", "run")
    assert "did you mean 'fix'?" in complained(cli, 3, "prompt", "fix", "fux", "run the tests")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("undo", ""), "no name"),
        (("answer", "fix", ""), "the answer is empty"),
        (("queue", "fix", "--cancel", ""), "no prompt '' is queued"),
        (("why", "fix", "--wrong", ""), "'' is not a status"),
        (("create", "x", "--base", ""), "--base is empty (leave it out, or give it a value)"),
        (("create", "x", "-a", ""), "--agent is empty"),
        (("multi", "x:y", "--base="), "--base is empty"),
        (("fanout", "2", "", "-p", "y"), "PREFIX is empty"),
        (("fanout", "2", "x", "-p", "y", "--agents", ""), "--agents is empty"),
        (("fanout", "2", "x", "-p", "y", "--agents", ","), "',' is not PROFILE:COUNT"),
        (("untrust", ""), "PATH is empty"),
    ],
)
def test_an_empty_word_is_never_read_as_a_missing_one(
    cli: Cli, fleet: Fleet, arguments: tuple[str, ...], says: str
) -> None:
    """A script with an unset variable must not restore the whole last kill, for example."""
    cli.ok("multi", "fix:x", "gone:x")
    cli.ok("kill", "-f", "gone")

    ran = cli(*arguments)

    assert (ran.code, ran.out) in [(2, ""), (3, "")]
    assert says in ran.complaint
    assert fleet.find("fix").status is not Status.KILLED
    assert [agent.name for agent in fleet.trash.agents()] == ["gone"]
    assert len(fleet.agents()) == 2


def test_what_agents_printed_is_shown_although_the_configuration_cannot_be_read(
    cli: Cli, project: Path
) -> None:
    cli.ok("create", "fix", "-p", "hello")
    cli.ok("stop", "fix")
    configure(project, "nonsense [")

    assert "argument: hello" in cli.ok("logs", "fix")
    assert json.loads(cli.ok("logs", "fix", "--json"))["agent_name"] == "fix"
    assert cli.ok("approvals").startswith("No decisions yet")
    assert "nonsense" not in complained(cli, 2, "create", "other")


def test_an_empty_and_a_too_long_prompt_are_refused_alike_wherever_one_is_given(cli: Cli) -> None:
    """Also from standard input; nothing is started, sent or changed."""
    cli.ok("create", "fix")
    cli.ok("stop", "fix")
    before = traces(cli.project)
    given: list[list[str]] = [
        ["create", "x", "-p"], ["fanout", "2", "x", "-p"], ["revive", "fix", "-p"], ["fork", "fix", "x", "-p"],
        ["prompt", "fix"], ["queue", "fix", "--edit", "1"], ["profiles", "check", "echoer", "-p"],
    ]  # fmt: skip

    said = {complained(cli, 2, *arguments, prompt) for arguments in given for prompt in ("", " \n\t")}
    too_long = {cli.script(*arguments, "-", stdin="x" * 300_000).complaint for arguments in given[:5]}
    too_long.add(complained(cli, 2, "multi", "a:x", f"b:{'x' * 300_000}"))
    said.add(complained(cli, 2, "multi", "a:x", "b: "))
    for arguments in (["create", "x", "-p"], ["prompt", "fix"]):
        ran = cli.script(*arguments, "-", stdin="\n")
        assert ran.code == 2
        said.add(ran.complaint)

    assert said == {"fleet: the prompt is empty (write what the agent should do)"}
    assert too_long == {
        "fleet: the prompt is over 262144 bytes (put it in a file and name the file in the prompt)"
    }
    assert traces(cli.project) == before
