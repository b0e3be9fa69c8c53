"""`fleet diff`, `fleet comment` and `fleet comments`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.cli.commands import FLEET, Cli, cli, prints
from tests.git.repositories import commit

__all__ = ["cli", "fleet", "module_pool", "pool", "project"]


@pytest.fixture
def agent(pool: AgentPool) -> Agent:
    found = pool.take()
    (Path(found.worktree) / "new.py").write_text("def one():\n    return 1\n")
    return found


def test_a_patch_in_a_pipe_applies_and_has_no_color(
    cli: Cli, agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree = Path(agent.worktree)
    (worktree / "odd \udce9.bin").write_bytes(bytes(range(256)))
    (worktree / "run").write_bytes(b"caf\xe9\r\nno end")
    (worktree / "run").chmod(0o755)
    monkeypatch.setenv("FORCE_COLOR", "1")

    patch = subprocess.run([FLEET, "diff", agent.name], cwd=cli.project, capture_output=True, check=True)
    clean = tmp_path / "clean"
    subprocess.run(
        ["git", "worktree", "add", "-q", "--detach", clean, agent.base], cwd=cli.project, check=True
    )
    subprocess.run(["git", "apply"], input=patch.stdout, cwd=clean, check=True)

    for name in ("odd \udce9.bin", "run", "new.py"):
        assert (clean / name).read_bytes() == (worktree / name).read_bytes()
    assert os.access(clean / "run", os.X_OK)


def test_a_patch_for_people_is_in_colors_and_without_control_characters(cli: Cli, agent: Agent) -> None:
    (Path(agent.worktree) / "new.py").write_text("\tone \x1b[2J\r\n--- two\n")

    lines = cli.ok("diff", agent.name, "--color", "always").splitlines()

    assert lines[0] == "\x1b[1mdiff --git a/new.py b/new.py\x1b[0m"
    assert lines[-3:] == [
        "\x1b[36m@@ -0,0 +1,2 @@\x1b[0m",
        "\x1b[32m+        one �[2J\x1b[0m",
        "\x1b[32m+--- two\x1b[0m",
    ]


def test_names_and_statistics_can_be_limited_to_paths(cli: Cli, agent: Agent) -> None:
    commit(Path(agent.worktree), {"src/a": "a\n", "docs/b": "b\nc\n"})

    assert cli.ok("diff", agent.name, "--name-only").split() == ["docs/b", "new.py", "src/a"]
    assert cli.ok("diff", agent.name, "--name-only", "--", "src", "docs/b").split() == ["docs/b", "src/a"]
    assert "docs/b | 2 ++" in cli.ok("diff", agent.name, "--stat", "docs")
    assert cli.ok("diff", agent.name, "nothing") == ""
    assert cli.ok("diff", agent.name, "src").count("diff --git") == 1


def test_who_has_seen_a_diff_has_seen_the_agent(cli: Cli, agent: Agent, fleet: Fleet) -> None:
    with fleet.store.transaction():
        fleet.store.agents.change(agent.id, 1.0, status=Status.DONE)

    cli.ok("diff", agent.name, "--stat")

    assert fleet.store.agents.get(agent.id).status is Status.IDLE


@pytest.mark.slow
def test_comments_are_collected_and_sent_as_one_prompt(cli: Cli, agent: Agent, fleet: Fleet) -> None:
    first = cli.ok("comment", agent.name, "new.py:1", "rename it").split(":")[0]
    assert "2 in all" in cli.ok("comment", agent.name, "new.py:1-2", "return\nnothing")
    cli.ok("comments", agent.name, "--edit", first, "call it two")
    third = cli.ok("comment", agent.name, "new.py:2", "never mind").split(":")[0]
    shown = cli.ok("comments", agent.name, "--delete", third)
    assert shown.splitlines()[0] == f"{first}  new.py:1  not sent"
    assert [line.strip() for line in shown.splitlines()][1:] == [
        "call it two",
        shown.splitlines()[2].strip(),
        "return",
        "nothing",
    ]
    preview = cli.ok("comments", agent.name, "--preview")
    assert preview.endswith("new.py:1-2\n> def one():\n>     return 1\nreturn\nnothing\n")

    assert cli.ok("comments", agent.name, "--send").startswith(f"{agent.name}: ")

    prints(fleet, agent, "call it two")
    assert "round 1" in cli.ok("comments", agent.name)
    assert cli("comments", agent.name, "--send").code == 3
    (Path(agent.worktree) / "new.py").write_text("def two():\n    return 1\n")
    assert cli.ok("comments", agent.name).count("handled") == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("comment", "{}", "new.py", "x"), 2, "names no line (for example: src/login.py:42"),
        (("comment", "{}", "new.py:x", "x"), 2, "names no line"),
        (("comment", "{}", "new.py:3", "x"), 2, "new.py has 2 lines, and no line 3"),
        (("comment", "{}", "none.py:1", "x"), 3, "'none.py' is no text file"),
        (("comment", "{}", "new.py:1", ""), 2, "empty"),
        (("comment", "{}", "new.py:1", "x", "--against", "main"), 2, "--against needs --old"),
        (("comments", "{}", "--send"), 3, "no comment to send"),
        (("comments", "{}", "--preview"), 3, "no comment to send"),
        (("comments", "{}", "--now"), 2, "--now needs --send"),
        (("comments", "{}", "--send", "--preview"), 2, "exclude each other"),
        (("comments", "{}", "--edit", "none", "x"), 3, "no comment 'none'"),
        (("comments", "{}", "--delete", "none"), 3, "no comment 'none'"),
        (("diff", "{}", "--against", "nowhere"), 1, "no commit 'nowhere'"),
        (("diff", "{}", "--stat", "--json"), 2, "exclude each other"),
        (("diff", "nobody"), 3, "no agent 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    cli: Cli, pool: AgentPool, words: tuple[str, ...], code: int, said: str
) -> None:
    agent = untouched(pool)

    ran = cli(*(word.replace("{}", agent.name) for word in words))

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.complaint


def untouched(pool: AgentPool) -> Agent:
    """One agent for all tests of an error, which leaves it as it is."""
    found = [one for one in pool.fleet.agents() if one.batch == "errors"]
    if not found:
        found = pool.fleet.move_to_batch([pool.take()], "errors")
        (Path(found[0].worktree) / "new.py").write_text("def one():\n    return 1\n")
    return found[0]
