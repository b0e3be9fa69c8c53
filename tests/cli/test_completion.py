"""Shells complete commands, names and keys."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.cli.group import cli as group
from tests.cli.commands import FLEET, Cli, cli, configure, project
from tests.conftest import git

__all__ = ["cli", "project"]


COMPLETE = """
eval "$("$FLEET" completion bash)"
ask() { COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; "_$1_completion" "$1"; echo "${COMPREPLY[@]}"; }
ask fleet cre
ask flt ki
ask fleet peek fi
ask fleet create x -a cl
ask fleet config get agent.d
ask fleet kill -b manual
ask fleet kill -b log
ask fleet stop login-
ask fleet undo log
ask fleet path fi
ask fleet wait fix --for bl
ask fleet move fix lo
ask fleet help reviv
ask fleet nosuch fi
"""


def test_a_name_of_several_batches_is_not_completed(
    cli: Cli, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        cli.ok("fanout", "1", "login", "-p", "x")
    monkeypatch.setenv("COMP_WORDS", "fleet kill -b ")
    monkeypatch.setenv("COMP_CWORD", "3")
    monkeypatch.setenv("_FLEET_COMPLETE", "bash_complete")
    capsys.readouterr()

    with pytest.raises(SystemExit):
        group.main(prog_name="fleet")

    said = capsys.readouterr().out.split()
    monkeypatch.delenv("_FLEET_COMPLETE")
    assert said == sorted(f"plain,{agent['batch']}" for agent in cli.listed())
    assert cli("kill", "-f", "-b", "login").code == 2


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
        "fix", "blocked", "login-A login", "revive", "",
    ]  # fmt: skip


def test_bash_completes_a_name_that_holds_a_command_quoted(cli: Cli, project: Path) -> None:
    names = [
        "evil;touch${IFS}ran",
        "evil$(touch${IFS}ran)",
        "evil`touch${IFS}ran`",
        "evil'é|&",
        "evil-but-not",
    ]
    for name in names:
        git(project, "branch", name)
    start = COMPLETE.partition("ask fleet cre")[0]
    script = f"{start} ask fleet create x --base ev >shown; eval \"printf '%s\\n' $(cat shown)\""

    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        cwd=project,
        env={**os.environ, "FLEET": str(FLEET), "PATH": f"{FLEET.parent}:{os.environ['PATH']}"},
    )

    assert done.stderr == ""
    assert sorted(done.stdout.splitlines()) == sorted(names)
    assert not (project / "ran").exists()


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


# ── click's protocol ────────────────────────────────────────────────────────────────────────────────────────────

ADDITIONS: list[tuple[str, list[str]]] = [
    ("fleet create x --base ma", ["main"]),
    ("fleet create x --base v", ["v1.0"]),
    ("fleet create --existing to", ["topic"]),
    ("fleet create to", []),
    ("fleet fanout 5 x -p y --agents cl", ["claude:5"]),
    ("fleet fanout 5 x -p y --agents claude:", [f"claude:{number}" for number in (5, 4, 3, 2, 1)]),
    ("fleet fanout 5 x -p y --agents claude:3,codex:", ["claude:3,codex:2", "claude:3,codex:1"]),
    ("fleet fanout 5 x -p y --agents claude:3,co", ["claude:3,codex:2", "claude:3,copilot:2"]),
    ("fleet fanout 5 x -p y --agents=claude:3,cod", ["claude:3,codex:2"]),
    ("fleet fanout 3 x -p y --agents claude:3,", []),
    ("fleet fanout --agents cod", ["codex:1"]),
    ("fleet why fix --wrong l", ["limited"]),
    ("fleet config set setup.quick ", ["true", "false"]),
    ("fleet config set approve.", ["approve.mode"]),
    ("fleet config get approve.", ["approve.mode", "approve.rules"]),
    ("fleet config set ui.color a", ["auto", "always"]),
    ("fleet config set agent.permission_mode ", ["ask", "edits", "all"]),
    ("fleet config set approve.mode s", ["shadow"]),
    ("fleet config set agent.default ge", ["gemini"]),
    ("fleet config set notify.on d", ["done"]),
    ("fleet config set ui.theme fleet-", ["fleet-dark", "fleet-light"]),
    ("fleet config set project.name ", []),
    ("fleet config get setup.quick ", []),
    ("fleet config uns", ["unset"]),
    ("fleet config unset ", ["ui.log_lines"]),
    ("fleet config unset --user ", ["defaults.agent", "fleet.stop_grace", "checkpoint.automatic"]),
    ("fleet config get env.", ["env.SHOWN"]),
    ("fleet list --color ", ["auto", "always", "never"]),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_bases_statuses_mixes_and_values_are_completed(
    shell: str, cli: Cli, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "branch", "topic")
    git(project, "tag", "v1.0")
    configure(project, "[ui]\nlog_lines = 9\n")
    paths.user_config().write_text(paths.user_config().read_text() + '[env]\nSHOWN = "x"\n')
    for line, expected in ADDITIONS:
        expected = [*expected, "env.SHOWN"] if "unset --user" in line else expected
        *_, last = line.split(" ")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", last if shell == "fish" else str(line.count(" ")))
        monkeypatch.setenv("_FLEET_COMPLETE", f"{shell}_complete")
        capsys.readouterr()
        with pytest.raises(SystemExit):
            group.main(prog_name="fleet")
        said = capsys.readouterr().out.splitlines()
        if shell == "zsh":
            found = [value.replace("\\:", ":") for value in said[1::3] if value]
        else:
            found = [one.partition(",")[2].partition("\t")[0] for one in said if one]
        assert found == expected, line


INTERACTIVE = """
eval "$("$FLEET" completion bash)"
ask() {
    COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _fleet_completion fleet
    echo "${COMPREPLY[@]}"
}
ask "fleet fanout 5 x --agents claude:3,codex:" fleet fanout 5 x --agents claude : 3,codex :
ask "fleet fanout 5 x --agents claude:3,co" fleet fanout 5 x --agents claude : 3,co
ask "fleet fanout 5 x  --agents=claude:" fleet fanout 5 x --agents = claude :
ask "fleet fanout 5 'a b' --agents cl" fleet fanout 5 "'a b'" --agents cl
ask "fleet config set setup.quick " fleet config set setup.quick ""
COMP_WORDBREAKS=' '
ask "fleet fanout 5 x --agents claude:3,codex:" fleet fanout 5 x --agents claude:3,codex:
"""


def test_bash_completes_the_part_after_a_colon(project: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", INTERACTIVE],
        capture_output=True,
        text=True,
        env={**os.environ, "FLEET": str(FLEET), "PATH": f"{FLEET.parent}:{os.environ['PATH']}"},
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "2 1",
        "3,codex:2 3,copilot:2",
        "5 4 3 2 1",
        "claude:5",
        "true false",
        "claude:3,codex:2 claude:3,codex:1",
    ]


ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT=; autoload -U compinit; compinit -u -D; eval "$(fleet completion zsh)"'
zpty -w shell 'show() { print -r -- "$BUFFER" >>shown; BUFFER= }; zle -N show; bindkey "^O" show; print re""ady'
zpty -r shell answer '*ready*'
for line; do zpty -w -n shell "$line"$'\\t\\x0f'; done
zpty -w shell 'print do""ne'
zpty -r shell answer '*done*'
zpty -d shell
cat shown
"""
FISH = """
fleet completion fish | source
for line in $argv
    set start (string replace --regex '[^ ]*$' '' -- $line)
    echo $start(complete -C $line)
end
"""


@pytest.mark.parametrize(
    ("shell", "script", "kept"),
    [("zsh", ZSH, '"$option"'), ("fish", FISH, '"$option')],
    ids=["zsh", "fish"],
)
def test_zsh_and_fish_complete_a_value_and_keep_the_option_before_it(
    shell: str, script: str, kept: str, project: Path
) -> None:
    git(project, "branch", "topic")
    environment = {**os.environ, "PATH": f"{FLEET.parent}:{os.environ['PATH']}"}
    assert kept in subprocess.check_output([FLEET, "completion", shell], text=True, env=environment)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    lines = [
        "fleet fanout 5 x --agents=claude:3,cod",
        "fleet create x --base=to",
        "fleet create x --base to",
        "fleet config get agent.perm",
    ]
    start = ["zsh", "-f", "-c", script, "zsh"] if shell == "zsh" else ["fish", "--no-config", "-c", script]
    done = subprocess.run([*start, *lines], capture_output=True, text=True, cwd=project, env=environment)

    assert done.stderr == ""
    assert [line.partition("\t")[0].strip() for line in done.stdout.splitlines()] == [
        "fleet fanout 5 x --agents=claude:3,codex:2",
        "fleet create x --base=topic",
        "fleet create x --base topic",
        "fleet config get agent.permission_mode",
    ]
