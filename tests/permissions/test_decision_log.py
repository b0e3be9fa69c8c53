"""The log of approvals: whole lines from many writers, a writer that never fails, and what people read of it."""

from __future__ import annotations

import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.permissions import decision_log
from fleet_tui.permissions.policy import Decision
from fleet_tui.permissions.rules import DecisionKind, Mode
from fleet_tui.permissions.tool_use import ToolUse
from tests.cli.commands import Cli, cli, configure, project

__all__ = ["cli", "project"]

MOMENT = time.mktime((2026, 11, 17, 18, 2, 11, 0, 0, -1))
RULES = """
[approve]
mode = "on"
[[approve.rules]]
decision = "deny"
command = "rm *"
[[approve.rules]]
decision = "allow"
command = "git status*"
[[approve.rules]]
decision = "allow"
path = "src/**"
"""


def write(file: Path, command: str, decision: DecisionKind, mode: Mode = "shadow", agent: str = "a1") -> bool:
    request = ToolUse("Bash", {"command": command}, "/")
    return decision_log.record(
        file, agent, request, Decision(decision, "rule 1: x", "it matches"), mode, MOMENT
    )


def test_a_decision_is_one_private_line(tmp_path: Path) -> None:
    file = tmp_path / "approvals.jsonl"

    assert write(file, "git\nstatus", "allow")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (line,) = file.read_text().splitlines()
    assert json.loads(line) == {
        "at": MOMENT, "agent": "a1", "tool": "Bash", "what": "git status", "decision": "allow",
        "rule": "rule 1: x", "why": "it matches", "mode": "shadow",
    }  # fmt: skip


def test_lines_of_many_writers_stay_whole(tmp_path: Path) -> None:
    file = tmp_path / "approvals.jsonl"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write(file, f"echo {number} {'x' * 300}", "ask"), range(400)))

    assert len(decision_log.entries(file)) == 400


@pytest.mark.parametrize("kind", ["folder", "missing", "link"])
def test_a_log_that_cannot_be_written_fails_no_command(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "approvals.jsonl"
    if kind == "folder":
        file.mkdir()
    elif kind == "missing":
        file = tmp_path / "gone" / "approvals.jsonl"
    else:
        file.symlink_to(tmp_path / "elsewhere")

    assert not write(file, "git status", "allow")
    assert not (tmp_path / "elsewhere").exists()


def test_lines_that_were_cut_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "approvals.jsonl"
    write(file, "a", "allow")
    with file.open("a") as log:
        log.write('{"at": 1, "agent": \n[]\n{"at": "x"}\n')
    write(file, "b", "allow")

    assert [one.what for one in decision_log.entries(file)] == ["a", "b"]


def test_a_full_log_is_put_aside_once(tmp_path: Path) -> None:
    file = tmp_path / "approvals.jsonl"
    file.write_bytes(b"x" * (decision_log.LIMIT - 1) + b"\n")

    write(file, "a", "allow")
    write(file, "b", "allow")

    assert file.with_name("approvals.jsonl.old").stat().st_size > decision_log.LIMIT
    assert [one.what for one in decision_log.entries(file)] == ["a", "b"]


# ── on the command line ──


def test_without_a_log_the_hint_says_how_to_start_one(cli: Cli) -> None:
    assert cli.ok("approvals") == (
        "No decisions yet (approve.mode is off; fleet config set approve.mode shadow records them)\n"
    )
    assert json.loads(cli.ok("approvals", "--json")) == []


def test_the_log_is_printed_with_its_totals(cli: Cli) -> None:
    decisions: list[DecisionKind] = ["allow", "allow", "ask", "deny"]
    for decision in decisions:
        write(paths.approvals(), f"run {decision}", decision)
    write(paths.approvals(), "run it", "allow", "on")

    *lines, last = cli.ok("approvals", "-n", "2").splitlines()

    assert lines == [
        "TIME            NAME  DECISION    TOOL  WHAT      RULE",
        "11-17 18:02:11  a1    would deny  Bash  run deny  rule 1: x",
        "11-17 18:02:11  a1    allowed     Bash  run it    rule 1: x",
    ]
    assert last == "allowed 1, asked 0, denied 0; would have allowed 2, asked 1, denied 1"
    assert [one["what"] for one in json.loads(cli.ok("approvals", "-n", "1", "--json"))] == ["run it"]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (("git status",), "allow: `git status` matches (rule 2: allow any tool `git status*`)"),
        (("git status; rm x",), "deny: `rm x` matches (rule 1: deny any tool `rm *`)"),
        (("git push",), "ask: no rule matches `git push`"),
        (
            ("cat <<E",),
            "ask: the command is not understood: it has a here-document or a process substitution",
        ),
        (("--tool", "Edit", "src/a"), "allow: it matches (rule 3: allow any tool src/**)"),
    ],
)
def test_rules_can_be_tried(cli: Cli, project: Path, what: tuple[str, ...], said: str) -> None:
    configure(project, RULES)

    assert cli.ok("approvals", "try", *what) == said + "\n"


def test_trying_says_when_the_rules_are_not_in_force(cli: Cli, project: Path) -> None:
    configure(project, RULES.replace('"on"', '"shadow"'))

    assert (
        cli("approvals", "try", "git status").complaint
        == "approve.mode is shadow, so you are asked about every request"
    )
    assert json.loads(cli.ok("approvals", "try", "git status", "--json"))["decision"] == "allow"
    assert cli("approvals", "try").code == 2
    assert cli("approvals", "tyr").code == 2


def test_validating_the_configuration_checks_the_rules(cli: Cli, project: Path) -> None:
    configure(project, RULES + '[[approve.rules]]\ndecision = "allow"\ncommand = "a"\npath = "b"\n')

    ran = cli("config", "--validate")

    assert ran.code == 1
    assert "approve.rules[4]: path and command together never allow" in ran.err
