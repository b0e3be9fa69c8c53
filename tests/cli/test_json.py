"""What commands print as JSON, against docs/json.md: the same shape, the same fields, each of its type."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest

from fleet_tui import paths
from fleet_tui.cli.group import cli as group
from fleet_tui.fleet import Fleet
from fleet_tui.permissions.decision_log import LoggedDecision
from fleet_tui.system.identity import user_and_host
from fleet_tui.work import PullRequest
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.cli.commands import Cli, all_commands, cli
from tests.conftest import git
from tests.holder.holders import wait_until
from tests.places import REPOSITORY
from tests.prompting.asking_agents import asking

__all__ = ["cli", "fleet", "module_pool", "pool"]

PAGE = (REPOSITORY / "docs" / "json.md").read_text(encoding="utf-8")
WITHOUT = {
    "attach": "it gives the terminal to an agent",
    "ui": "it opens the dashboard",
    "init": "it writes a file for people to read and change",
    "update": "it is advice for people",
    "completion": "it prints a script",
    "open": "it opens the dashboard or gives the terminal to an agent",
    "shell": "it gives the terminal to a shell",
    "help": "it is text for people",
}
"""Commands without --json, each with the reason."""
TYPES: Mapping[str, Any] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "time": lambda value: isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value),
    "null": lambda value: value is None,
    "any": lambda _: True,
    "object": lambda value: isinstance(value, dict),
    "object of strings": lambda value: (
        isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    ),
    "object of integers": lambda value: (
        isinstance(value, dict) and all(isinstance(one, int) for one in value.values())
    ),
    "array of strings": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "array of pairs": lambda value: isinstance(value, list) and all(len(one) == 2 for one in value),
    "array of objects": lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
}
MINTING = """
program = "echoer"
[session]
kind = "mint"
start = ["begin", "{session}"]
resume = ["resume", "{session}"]
fork = ["fork", "{session}", "as", "{new_session}"]
"""


# ── the page ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Section:
    """What the page says of one command."""

    shapes: frozenset[type]
    fields: Mapping[str, str] = field(default_factory=dict)
    """The type of each field by its path, such as `given[].text`."""


def fields_of(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([^`]+)` \| ([a-z ]+?) \|", text, re.MULTILINE))


def sections() -> dict[str, Section]:
    agent = fields_of(PAGE.split("## An agent")[1].split("\n## ")[0])
    found = {}
    for title, text in re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL):
        first = text.strip().split("\n")[0].lower()
        shapes = {list: "an array of" in first, dict: "one object" in first or "one [agent]" in first}
        fields = (agent if first.find("[agent") >= 0 else {}) | fields_of(text)
        for command in re.findall(r"`fleet ([^`]+)`", title):
            found[command] = Section(frozenset(one for one, is_named in shapes.items() if is_named), fields)
    return found


SECTIONS = sections()
AGENT = Section(frozenset({dict}), fields_of(PAGE.split("## An agent")[1].split("\n## ")[0]))


def check(value: Any, section: Section, what: str) -> None:
    """Compare a printed value with its section; every field must be described, and the other way around."""
    assert type(value) in section.shapes, what
    for record in value if isinstance(value, list) else [value]:
        compare(record, section.fields, what)


def compare(record: Mapping[str, Any], types: Mapping[str, str], what: str, above: str = "") -> None:
    described = {path.removeprefix(above) for path in types if path.startswith(above)}
    assert set(record) == {name for name in described if "." not in name}, what
    for name, value in record.items():
        path = f"{above}{name}"
        kinds = types[path].split(" or ")
        assert any(TYPES[kind](value) for kind in kinds), f"{what}: {path} is {value!r}, not {kinds}"
        if isinstance(value, dict) and "object" in kinds:
            compare(value, types, what, f"{path}.")
        for item in value if "array of objects" in kinds else ():
            compare(item, types, what, f"{path}[].")


class JsonCli:
    """Runs commands with --json and compares what they print with the page."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self.checked: set[str] = set()

    def __call__(self, *words: str, of: str = "", as_: Section | None = None, code: int = 0) -> Any:
        name = of or words[0]
        ran = self._cli(*words, "--json")
        assert ran.code == code, ran
        assert ran.out.isascii()
        found = json.loads(ran.out)
        check(found, as_ or SECTIONS[name], " ".join(words))
        if code:
            assert ran.err.splitlines()[-1].startswith("fleet: ")
        self.checked.add(name)
        return found


# ── commands ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def project(pool: AgentPool) -> Path:
    paths.user_profiles().mkdir(parents=True, exist_ok=True)
    (paths.user_profiles() / "minting.toml").write_text(MINTING)
    return pool.project


@pytest.fixture
def ask(cli: Cli) -> JsonCli:
    return JsonCli(cli)


@pytest.mark.pure
def test_every_command_has_json_and_a_section_or_a_reason() -> None:
    def takes_json(command: click.Command) -> bool:
        return any("--json" in one.opts for one in command.params)

    with_json = {name for name, command in all_commands().items() if takes_json(command)}
    described = {name.split()[0] for name in SECTIONS}

    assert with_json.isdisjoint(WITHOUT)
    assert with_json | WITHOUT.keys() == set(all_commands())
    assert described == with_json
    assert set(SECTIONS) <= set(CHECKED), "described, and compared by no test"
    assert isinstance(group, click.Group)


AGENT_COMMANDS = (
    "list", "status", "wait", "path", "rename", "move", "restart", "create", "fanout", "multi", "stop", "revive", "fork", "kill", "undo", "trash", "trash list", "trash show",
    "trash restore", "trash empty", "trash --empty",
    "trash --prune-branches", "compare --keep",
)  # fmt: skip
TALK_COMMANDS = (
    "diff",
    "comment",
    "comments",
    "comments --send",
    "conflicts",
    "check",
    "check --output",
    "checkpoint",
    "checkpoint --list",
    "checkpoint --diff",
    "checkpoint --restore",
    "compare",
    "peek",
    "logs",
    "why",
    "prompt",
    "queue",
    "answer",
    "approvals",
    "approvals try",
)
OTHER_COMMANDS = (
    "config", "config --validate", "trust", "trust --list", "untrust", "profiles", "profiles check", "keys",
    "keys explain", "doctor",
)  # fmt: skip
LAND_COMMANDS = ("land", "land --dry-run")
CHECKED = (*AGENT_COMMANDS, *TALK_COMMANDS, *LAND_COMMANDS, *OTHER_COMMANDS)


def test_commands_that_change_agents_print_agents(
    ask: JsonCli, cli: Cli, fleet: Fleet, pool: AgentPool
) -> None:
    made = ask("create", "js-one", "-a", "minting", "-p", "do it")
    assert (made["name"], made["prompt"], made["status"] != "failed") == ("js-one", "do it", True)
    batch = ask("fanout", "2", "js", "-p", "x")
    assert [one["name"] for one in batch] == ["js-A", "js-B"]
    assert len({one["batch"] for one in batch}) == 1
    assert [one["prompt"] for one in ask("multi", "js-m:exec cat", "-a", "shell")] == ["exec cat"]
    with fleet.store.transaction():
        fleet.store.pull_requests.put(
            PullRequest(made["id"], "https://host/1", 1, "open", "running", "", 0, 5.0)
        )
    listed = {one["name"]: one["pull_request"] for one in ask("list")}
    assert {"js-one", "js-A", "js-m"} <= listed.keys()
    assert (listed["js-one"]["checks"], listed["js-one"]["seen_at"]) == ("running", "1970-01-01T00:00:05Z")
    assert listed["js-m"] is None
    assert ask("fork", "js-one", "js-two")["base"]
    assert [one["status"] for one in ask("stop", "js-one")] == ["stopped"]
    assert ask("revive", "js-one")["run"] == 2
    assert ask("path", "js-one")["path"] == made["worktree"]
    assert ask("rename", "js-two", "js-too")["name"] == "js-too"
    assert [one["batch"] for one in ask("move", "js-too", "js-others")] == ["js-others"]
    assert [one["status"] for one in ask("restart", "-f", "js-m")] != ["stopped"]
    cli.ok("stop", "js-m")
    assert [one["arrived"] for one in ask("wait", "js-m", "--for", "ended")] == [True]
    assert ask("status")["agents"] >= 4

    [killed] = ask("kill", "-f", "js-m")
    assert (killed["status"], killed["is_branch_kept"], bool(killed["trash"])) == ("killed", True, True)
    assert [one["name"] for one in ask("trash")] == ["js-m"]
    assert ask("trash", "list", of="trash list")[0]["why"] == "kill"
    assert ask("trash", "show", "js-m", of="trash show")["moved_by"] == user_and_host()
    assert [one["name"] for one in ask("undo")] == ["js-m"]
    ask("kill", "-f", "js-m")
    assert [one["name"] for one in ask("trash", "restore", "js-m", of="trash restore")] == ["js-m"]
    ask("kill", "-f", "js-m")
    [pruned] = ask("trash", "--prune-branches", "-f", of="trash --prune-branches")
    assert pruned["saved_as"].startswith("refs/fleet/")
    [emptied] = ask("trash", "--empty", "-f", of="trash --empty")
    assert emptied["name"] == "js-m"
    assert ask("trash", "--empty", of="trash --empty") == []
    assert ask("trash", "empty", of="trash empty") == []
    [left] = ask("compare", "js-A", "js-B", "--keep", "js-A", "-f", of="compare --keep")
    assert left["name"] == "js-B"
    ask("kill", "-f", "js-*")
    assert ask.checked == set(AGENT_COMMANDS)


def test_an_agent_that_fails_to_start_is_printed_and_the_error_stays_one_line(
    ask: JsonCli, pool: AgentPool
) -> None:
    failed = ask("create", "js-bad", "-a", "shell", "-p", "exit 3", code=7)

    assert (failed["name"], failed["exit_code"]) == ("js-bad", 3)


def test_commands_that_talk_to_agents_print_what_was_said(
    ask: JsonCli, cli: Cli, fleet: Fleet, pool: AgentPool
) -> None:
    agent = asking(pool)
    log = LoggedDecision(time.time(), agent.id, "Bash", "ls", "allow", "rule", "why", "on")
    paths.approvals().write_text(json.dumps({name: getattr(log, name) for name in log.__slots__}) + "\n")

    (Path(agent.worktree) / "new.txt").write_text("one line\n")
    assert [one["path"] for one in ask("diff", agent.name)["files"]] == ["new.txt"]
    written = ask("comment", agent.name, "new.txt:1", "say more")
    assert (written["quoted"], written["is_sent"]) == (["one line"], False)
    assert [one["id"] for one in ask("comments", agent.name)] == [written["id"]]
    assert ask("comments", agent.name, "--send", of="comments --send")["state"] == "queued"
    cli.ok("queue", agent.name, "--cancel", "1")
    other = asking(pool)
    (Path(other.worktree) / "new.txt").write_text("another line\n")
    [found] = ask("conflicts", agent.name)["conflicts"]
    assert {found["agent"], found["other"]} == {agent.id, other.id}
    assert [one["kind"] for one in found["files"]] == ["both added"]
    with paths.user_config().open("a") as settings:
        settings.write('[land]\ncheck = "echo 3 passed in 1s"\n')
    assert [one["summary"] for one in ask("check", agent.name)] == ["3 passed"]
    assert ask("check", agent.name, "--output", of="check --output")["lines"] == ["3 passed in 1s"]
    assert ask("checkpoint", agent.name, "-m", "first")["number"] == 1
    assert ask("checkpoint", agent.name, "--rename", "1", "-m", "one")["note"] == "one"
    listed = ask("checkpoint", agent.name, "--list", of="checkpoint --list")
    assert [(one["number"], one["files"]) for one in listed] == [(1, ["new.txt"]), (0, [])]
    found = ask("checkpoint", agent.name, "--diff", "1", of="checkpoint --diff")
    assert [one["path"] for one in found["files"]] == ["new.txt"]
    assert ask("checkpoint", agent.name, "--restore", "0", "--force", of="checkpoint --restore")["saved"] == 1
    compared = ask("compare", agent.name, asking(pool).name, "--no-check")
    assert {agent.id} <= {one["id"] for one in compared["agents"]}
    assert any(line.strip() for line in ask("peek", agent.name)["lines"])
    assert len(ask("logs", agent.name, "-n", "1")["lines"]) == 1
    assert "--follow" in cli("logs", agent.name, "-f", "--json").complaint
    assert ask("why", agent.name)["status"] == "blocked"
    receipt = ask("prompt", agent.name, "and then this")
    assert (receipt["agent_id"], receipt["state"]) == (agent.id, "queued")
    assert len(ask("prompt", agent.name, asking(pool).name, "x")) == 2
    [first, _] = ask("queue", agent.name)["waiting"]
    assert (first["position"], first["text"]) == (1, "and then this")
    question = ask("answer", agent.name)
    assert question["choices"][0][0] == "1"
    cli.ok("queue", agent.name, "--cancel", "1")
    wait_until(lambda: bool(fleet.prompts.receipts(agent)), "a receipt")
    assert ask("queue", agent.name)["given"]
    assert ask("answer", agent.name, "1", as_=AGENT)["id"] == agent.id
    assert ask("approvals")[0]["agent_name"] == agent.name
    assert ask("approvals", "try", "ls", of="approvals try")["mode"] == "off"
    assert ask.checked == set(TALK_COMMANDS)


def test_landing_prints_plans_and_what_has_landed(ask: JsonCli, cli: Cli, pool: AgentPool) -> None:
    agents = [pool.take(), pool.take()]
    for number, agent in enumerate(agents):
        (Path(agent.worktree) / "both.txt").write_text(f"{number}\n")
    git(pool.project, "branch", "js-other")
    words = (*(agent.name for agent in agents), "--into", "js-other")

    plans = ask("land", *words, "--dry-run", of="land --dry-run", code=14)
    report = ask("land", *words, "--yes", code=14)

    assert [plan["can_land"] for plan in plans] == [True, False]
    assert [one["agent"] for one in report["landings"]] == [agents[0].id]
    assert [one["kind"] for one in report["conflicts"]] == ["both added"]
    assert ask.checked == set(LAND_COMMANDS)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another project, whose file asks for something."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    file = paths.project_config(folder)
    file.parent.mkdir()
    file.write_text(
        '[setup]\ncommands = ["make"]\n[env]\nA = "b"\n[defaults]\nagent = "x"\n'
        '[[approve.rules]]\ndecision = "deny"\ncommand = "rm *"\n'
    )
    monkeypatch.chdir(folder)
    return folder


def test_commands_about_settings_and_programs_print_tables(ask: JsonCli, cli: Cli, elsewhere: Path) -> None:
    asked = ask("trust")
    assert ([one["text"] for one in asked["asks"]], asked["is_trusted"]) == (["make", "A=b"], False)
    assert asked["ignored"] == ["defaults.agent"]
    assert [rule["decision"] for rule in asked["restrictions"]] == ["deny"]
    assert ask("trust", "--yes")["is_trusted"] is True
    assert (ask("trust")["asks"], ask("trust")["is_trusted"]) == ([], True)
    [trusted] = ask("trust", "--list", of="trust --list")
    assert (trusted["project"], trusted["exists"]) == (str(elsewhere), True)
    keys = {one["key"]: one for one in ask("config")}
    assert keys["setup.commands"]["value"] == ["make"]
    assert keys["approve.rules"]["value"][0]["decision"] == "deny"
    one = Section(frozenset({dict}), SECTIONS["config"].fields)
    assert ask("config", "get", "ui.log_lines", as_=one)["value"] == 50
    assert ask("config", "set", "ui.log_lines", "7", as_=one)["value"] == 7
    assert ask("config", "unset", "ui.log_lines", as_=one)["origin"] == "default"
    assert ask("config", "unset", "env.A", as_=one)["value"] is None
    problems = ask("config", "--validate", of="config --validate", code=1)
    assert any("defaults.agent" in one["problem"] for one in problems)
    assert ask("untrust")["is_trusted"] is False
    assert "claude" in {one["name"] for one in ask("profiles")}
    checked = ask("profiles", "check", "echoer", "--timeout", "1", of="profiles check", code=1)
    assert checked["profile"] == "echoer"
    assert "next" in {one["action"] for one in ask("keys")}
    assert len(ask("keys", "explain", "ctrl+q", of="keys explain")["meanings"]) >= 3
    ran = cli("doctor", "--json")
    found = json.loads(ran.out)
    check(found, SECTIONS["doctor"], "doctor")
    assert ran.code == (1 if any(one["level"] == "problem" for one in found) else 0)
    assert {*ask.checked, "doctor"} == set(OTHER_COMMANDS)
