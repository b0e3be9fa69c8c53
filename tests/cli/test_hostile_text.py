"""Every command, with hostile text wherever a name, prompt, branch, title, path or setting can reach the terminal."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import click
import pytest

from fleet_tui import paths
from fleet_tui.cli import show
from fleet_tui.cli.group import cli as group
from fleet_tui.models import Agent, Batch, Evidence, PermissionRequest, Status
from fleet_tui.permissions import decision_log
from tests.cli.commands import Cli, all_commands, lay_out
from tests.conftest import end_all, git
from tests.holder.holders import wait_until
from tests.watched_fleet import WatchedFleet

all_commands()

EVIL = (
    "evil\x1b[31mred\x1b]52;c;ZXZpbA==\x07\x1b]8;;https://example.invalid\x1b\\link\x9b2J\x9d0;t\x9c\x08\x08\rover\x7f"
    "\u202egnp.exe\u2066x\u2069\u200b\ufeff\x85\u2028[red]m[/red][@click=app.quit]q[/]\nsecond line"
)
IN_NAME = "e\x1b[31m\u202ev\x9bi\x07l"
"""What a file's name may have in it."""
BYTES = "x\udcff\udc9b2J\udc80"
"""How Python decodes an argument that is not UTF-8."""
SGR = re.compile(r"\x1b\[[0-9;]*m")
CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)

COMMANDS: Mapping[str, list[list[str]]] = {
    "trust": [["--json"], [], ["--yes"], ["--list"], ["--list", "--json"], [EVIL]],
    "create": [["{new}", "-p", EVIL], [EVIL], ["x", "-a", EVIL], ["y", "--base", EVIL], ["broken", "-a", "noisy"]],
    "fanout": [["2", EVIL, "-p", EVIL], ["2", "-p", "x", "--agents", EVIL], [EVIL, "-p", "x"]],
    "multi": [[EVIL], [f"{EVIL}:{EVIL}"]],
    "revive": [["{ended}"], [EVIL]],
    "restart": [["{ended}"], ["-f", "{ended}"], ["-b", EVIL], [EVIL]],
    "fork": [["{ended}", EVIL], [EVIL, "x"], ["{ended}", "z"]],
    "list": [[], ["--color", EVIL], ["-g"], ["-a"], ["--json"], ["--repair"], [EVIL]],
    "status": [[], ["-a"], ["--short"], ["--json"], [EVIL]],
    "comment": [
        ["{living}", f"{IN_NAME}:1", EVIL],
        ["{living}", f"{IN_NAME}:2", EVIL, "--json"],
        ["{living}", EVIL, EVIL],
        ["{ended}", "f:1", EVIL],
    ],
    "comments": [
        ["{living}"],
        ["{living}", "--preview"],
        ["{living}", "--json"],
        ["{living}", "--edit", EVIL, EVIL],
        ["{living}", "--send"],
        ["{living}"],
        ["{ended}"],
    ],
    "diff": [
        ["{living}", "--color", "always"],
        ["{living}", "--color", "always", "--", IN_NAME, EVIL],
        ["{living}", "--stat"], ["{living}", "--name-only"], ["{living}", "--json"],
        ["{living}", "--against", EVIL], ["{living}", "--stat", "--json"], [EVIL],
    ],
    "land": [
        ["{living}", "--dry-run"], ["{living}", "--dry-run", "--json"], ["{ended}", "--dry-run", "-m", EVIL], [EVIL, "--yes"],
        ["{ended}", "--into", EVIL, "--dry-run"], ["{ended}", "--strategy", EVIL], ["{living}", "--stop"],
    ],
    "conflicts": [[], ["-a"], ["--json"], ["{living}"], [EVIL]],
    "compare": [
        ["{living}", "{ended}"], ["{living}", "{ended}", "--no-check", "--json"], ["{living}", "{ended}", "--sort", "size"],
        ["{living}", "{ended}", "--keep", EVIL], [EVIL],
    ],
    "check": [
        ["{living}"], ["{living}", "--show"], ["{living}", "--show", "--json"], ["{living}", "--output"], ["{living}", "--cancel"],
        ["{living}", "--show", "--output"], [EVIL],
    ],
    "checkpoint": [
        ["{ended}", "-m", EVIL], ["{ended}", "--list"], ["{ended}", "--list", "--json"], ["{ended}", "--diff", "0", "--against", "now"],
        ["{ended}", "--diff", "0", "--against", EVIL], ["{ended}", "--restore", "0"], ["{ended}", "--rename", "1", "-m", EVIL],
        ["{living}", "--restore", EVIL], [EVIL],
    ],
    "path": [["{living}"], ["{ended}"], ["{ended}", "--json"], ["killed"], [EVIL]],
    "shell": [["{ended}"], ["killed"], [EVIL]],
    "peek": [["{living}"], ["{living}", "--json"], ["{ended}"], [EVIL]],
    "logs": [["{living}"], ["{living}", "--json"], ["{living}", "-n", "5"], [EVIL], ["{ended}", "-n", EVIL]],
    "prompt": [["{living}", EVIL], ["{living}", EVIL, "--json"], [EVIL, "x"], ["-b", EVIL, "x"], ["{ended}", EVIL]],
    "queue": [["{living}"], ["{living}", "--json"], ["{ended}"], ["{living}", "--edit", EVIL, EVIL], [EVIL]],
    "answer": [["{living}"], ["{living}", "--json"], ["{living}", EVIL], [EVIL]],
    "why": [["{living}"], ["{ended}"], ["{ended}", "--json"], ["{living}", "--wrong", EVIL], [EVIL]],
    "stop": [["{ended}"], ["{ended}", "--json"], ["-b", EVIL], [EVIL]],
    "wait": [
        ["{ended}"], ["elsewhere"], ["{living}", "--timeout", "0"], ["{living}", "{ended}", "--any", "--json"],
        ["{ended}", "--for", "idle"], ["{ended}", "--for", EVIL], ["-b", EVIL], [EVIL],
    ],
    "rename": [["{ended}", EVIL], [EVIL, "x"]],
    "move": [["{ended}", EVIL], ["{ended}", f"batch {EVIL}"], ["-b", EVIL, "x"], [EVIL, "x"], [EVIL]],
    "kill": [["{ended}"], ["-f", EVIL], ["-f", "{lost}"]],
    "undo": [[EVIL], ["{lost}"]],
    "trash": [[], ["-a"], ["--json"], ["--empty"], [EVIL]],
    "trash list": [[], ["-a"], ["--json"]],
    "trash show": [["{lost}"], [EVIL]],
    "trash restore": [["{lost}"], [EVIL]],
    "trash empty": [["{lost}"], [EVIL, "-f"], []],
    "approvals": [[], ["--json"], ["try", EVIL], ["try", EVIL, "--json"], ["try", "x", "--tool", EVIL], [EVIL]],
    "profiles": [[], ["--json"]],
    "profiles check": [[EVIL], ["noisy", "--timeout", "1"], ["noisy", "--timeout", "1", "--json"]],
    "ui": [[], [EVIL]],
    "open": [[], ["{ended}"], [EVIL]],
    "help": [[], [EVIL], ["profiles", EVIL]],
    "init": [["--type", EVIL], ["--type", "generic"], ["--type", "generic", "-y"]],
    "config": [
        [], ["--show-origin"], ["--validate"], ["--json"], ["get", EVIL], ["unset", EVIL], ["unset", f"unknown.{IN_NAME[0]}\x1b[31m"], ["get", "defaults.agent"], ["set", EVIL, EVIL],
        ["set", "keys.kill", EVIL], ["get", "setup.commands"], ["set", "fleet.stop_grace", EVIL],
    ],
    "doctor": [[], ["--json"]],
    "update": [[], [EVIL]],
    "completion": [["bash"], [EVIL]],
    "untrust": [[EVIL], []],
    "keys": [[], ["--json"], ["explain", EVIL], [EVIL]],
}  # fmt: skip
NOT_RUN = {"attach": "it needs a terminal and paints frames; test_paint shows that their text is made safe"}


def paths_of(one: click.Group, above: tuple[str, ...] = ()) -> Iterator[str]:
    for name, command in one.commands.items():
        yield " ".join((*above, name))
        if isinstance(command, click.Group):
            yield from paths_of(command, (*above, name))


@pytest.mark.pure
def test_every_command_is_tried_or_exempt_with_a_reason() -> None:
    assert set(paths_of(group)) == set(COMMANDS) | set(NOT_RUN)
    assert not set(COMMANDS) & set(NOT_RUN)


@pytest.fixture
def place(first_repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in a folder with a hostile name and hostile settings."""
    folder = tmp_path / f"project {IN_NAME}"
    shutil.copytree(first_repository, folder)
    git(folder, "branch", "side\u202e\u2066way")
    lay_out(tmp_path / "bin", monkeypatch)
    noisy = tmp_path / "bin" / "noisy"
    said = EVIL.encode().decode("latin-1").encode("unicode_escape").decode().replace("'", "")
    noisy.write_text(
        f"#!/usr/bin/env python3\nprint('{said}'.encode('latin-1').decode())\nraise SystemExit(3)\n"
    )
    noisy.chmod(0o755)
    quoted = json.dumps(EVIL).replace("\x7f", "\\u007f")
    paths.project_config(folder).parent.mkdir()
    paths.project_config(folder).write_text(
        f'[setup]\ncommands = [{json.dumps("true # " + EVIL)}]\n[unknown]\n"{IN_NAME[0]}\\u001b[31m" = {quoted}\n'
    )
    paths.user_profiles().mkdir(parents=True)
    (paths.user_profiles() / "broken.toml").write_text(
        f"program = {quoted}\ninstall_hint = {quoted}\nodd = 1\n"
    )
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EDITOR", "true")
    return folder


@pytest.fixture
def hostile(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Cli, dict[str, str]]]:
    """The command line on agents whose every text is hostile, one of them running."""
    fleet = WatchedFleet(place)
    living = fleet.create("plain", prompt=EVIL, quick=True, own_settings=True)
    (Path(living.worktree) / IN_NAME).write_text(f"{EVIL}\n", encoding="utf-8")
    store = fleet.store
    now = time.time()
    project, batch = str(place), f"batch {EVIL}"
    said = Evidence(
        f"hook{EVIL}", EVIL, now, EVIL, (("1", EVIL), (EVIL, EVIL)), True, PermissionRequest(EVIL, EVIL, EVIL)
    )
    base = Agent(
        id="ended", name=f"ended {EVIL}", project=project, branch=EVIL, base=EVIL, worktree=f"/gone/{EVIL}",
        batch=batch, profile=EVIL, argv=(EVIL,), prompt=EVIL, status=Status.STOPPED, created_at=now,
        status_detail=EVIL, evidence=said, title=EVIL, session_id=EVIL, machine=living.machine, ended_at=now,
    )  # fmt: skip
    rows = [
        base,
        replace(base, id="lost", name=f"lost {EVIL}", status=Status.LOST),
        replace(base, id="failed", name=f"failed {EVIL}", status=Status.FAILED),
        replace(base, id="killed", name=f"killed {EVIL}", status=Status.KILLED, trash=f"/gone/.trash/{EVIL}"),
        replace(base, id="elsewhere", name=f"elsewhere {EVIL}", status=Status.BLOCKED, machine="other"),
    ]
    with store.transaction():
        store.batches.add(Batch(batch, project, now, EVIL), EVIL, [(row, {"prompt": EVIL}) for row in rows])
        store.agents.change(
            living.id, now, name=f"living {EVIL}", title=EVIL, status_detail=EVIL, evidence=said
        )
        for agent_id in (living.id, "ended"):
            store.receipts.put(f"r-{agent_id}", agent_id, EVIL, "refused", EVIL, now)
    log = decision_log.LoggedDecision(now, living.id, EVIL, EVIL, "allow", EVIL, EVIL, "on")
    paths.approvals().write_text(json.dumps({name: getattr(log, name) for name in log.__slots__}) + "\n")
    yield Cli(place, capsys), {"living": living.id, "ended": "ended", "lost": "lost", "new": "side\u202enew"}
    end_all(fleet)
    fleet.close()


@pytest.mark.slow
def test_no_command_lets_hostile_text_act_on_the_terminal(
    hostile: tuple[Cli, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli, names = hostile
    config = paths.user_config()
    config.write_text(config.read_text() + 'color = "always"\n')
    shown = ""
    for command, ways in COMMANDS.items():
        for arguments in [*ways, [BYTES]]:
            ran = cli(
                *command.split(),
                *(part.format(**names) if part.startswith("{") else part for part in arguments),
            )
            output = ran.out + ran.err
            shown += output
            left = CONTROLS.findall(SGR.sub("", output))
            assert left == [], (command, arguments, output)
            assert "\x1b[31mred" not in output, "a color that is not ours"
            assert ran.code != 70, (command, arguments, output)
            if "--json" in arguments and ran.code == 0:
                assert ran.out.isascii()
                json.loads(ran.out)
    assert shown.count("evil�[31mred") > 50, "the hostile text has been there"


def test_a_queue_shows_prompts_without_their_escape_sequences(hostile: tuple[Cli, dict[str, str]]) -> None:
    cli, names = hostile

    ran = cli("queue", names["living"])

    assert "evil�[31mred" in ran.out
    assert CONTROLS.findall(ran.out) == []


def test_a_log_shows_output_without_its_escape_sequences_unless_raw(
    hostile: tuple[Cli, dict[str, str]], place: Path
) -> None:
    """The program prints them; the log is text, and --raw is what it printed."""
    cli, names = hostile
    wait_until(lambda: "ready" in cli.ok("logs", names["living"]), "its output")

    assert CONTROLS.findall(cli.ok("logs", names["living"])) == []
    assert b"\x1b" in os.fsencode(cli.script("logs", names["living"], "--raw").out)


def test_a_patch_is_byte_for_byte_in_a_pipe_alone(hostile: tuple[Cli, dict[str, str]]) -> None:
    cli, names = hostile

    assert "\x1b[31mred" in cli.ok("diff", names["living"])
    readable = cli.ok("diff", names["living"], "--color", "always")
    assert "\n\x1b[32m+evil�[31mred" in readable
    assert CONTROLS.findall(SGR.sub("", readable)) == []


@pytest.mark.pure
def test_commands_print_through_the_functions_that_make_text_safe() -> None:
    """Only `say` and output that is safe already may call click.echo and print."""
    allowed = {
        "group.py": 5,
        "show.py": 1,
        "review.py": 1,
        "status.py": 1,
        "help.py": 1,
        "installation.py": 1,
    }
    found: dict[str, int] = {}
    for file in (Path(show.__file__).parent).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {
                "click.echo",
                "click.secho",
                "print",
            }:
                found[file.name] = found.get(file.name, 0) + 1
    assert found == allowed
