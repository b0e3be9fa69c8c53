"""The configuration is shown, set, edited, validated and created."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import paths
from tests.cli.commands import Cli, cli, configure, project

__all__ = ["cli", "project"]


def test_editing_opens_the_editor_and_checks_the_result(
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
def test_key_bindings_that_the_dashboard_rejects_are_not_set(
    cli: Cli, project: Path, key: str, chord: str, problem: str
) -> None:
    for options in ([], ["--user"]):
        ran = cli("config", "set", key, chord, *options)
        assert ran.code == 2
        assert problem in ran.complaint
    assert not paths.project_config(project).exists()
    cli.ok("config", "set", "keys.stop", "ctrl+x")
    cli.ok("keys")


def test_validating_finds_rejected_key_bindings_and_setting_fixes_them(cli: Cli, project: Path) -> None:
    configure(project, '[keys]\nstop = "X"\nnosuch = "q"\n')

    ran = cli("config", "--validate")

    assert ran.code == 1
    assert ran.err.splitlines()[0] == "keys: there is no action 'nosuch'"
    # The dashboard opens all the same, with the user's own keys.
    shown = cli("keys")
    assert (shown.code, shown.err) == (
        0,
        "fleet: the project's keys are ignored: keys: there is no action 'nosuch'\n",
    )
    # Problems can be fixed one at a time.
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
