"""The configuration is shown, set, edited, validated and created."""

from __future__ import annotations

import json
import shlex
import tomllib
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


def test_an_editor_that_the_user_did_not_choose_is_not_opened_without_a_terminal(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cli.ok("init", "--yes")
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    vi = tmp_path / "bin" / "vi"
    vi.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(tmp_path / 'opened'))}\n")
    vi.chmod(0o755)

    ran = cli.script("config", "--edit")

    assert (ran.code, ran.out) == (2, "")
    assert "vi needs a terminal (change" in ran.complaint
    assert not (tmp_path / "opened").exists()


def test_a_project_file_that_is_a_link_out_of_the_repository_is_not_opened_in_the_editor(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_text("")
    file = paths.project_config(project)
    file.parent.mkdir()
    file.symlink_to(other)
    editor = tmp_path / "bin" / "editor"
    editor.write_text('#!/bin/sh\necho "edited" >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", "editor")

    ran = cli("config", "--edit")

    assert (ran.code, other.read_text()) == (4, "")
    assert "link out of the repository" in ran.complaint


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


def test_a_file_in_place_of_the_projects_folder_is_named(cli: Cli, project: Path) -> None:
    (project / ".aifleet").write_text("mine")

    ran = cli("config", "set", "project.name", "x")

    assert ran.code != 0
    assert ran.complaint == f"fleet: {project}/.aifleet is not a folder (move it away)"


def test_a_theme_that_the_dashboard_does_not_have_is_not_set(cli: Cli, project: Path) -> None:
    ran = cli("config", "set", "ui.theme", "fleet-drak")

    assert ran.code == 2
    assert (
        ran.complaint
        == "fleet: ui.theme must be the name of a theme, not 'fleet-drak' (did you mean fleet-dark?)"
    )
    assert not paths.project_config(project).exists()
    cli.ok("config", "set", "ui.theme", "nord")

    # Another version may have it: the dashboard opens, in its own theme.
    configure(project, '[ui]\ntheme = "nosuch"\n')
    assert "there is no theme 'nosuch'" in cli("config", "--validate").err


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


def test_each_setting_is_shown_with_what_it_means(cli: Cli, project: Path) -> None:
    lines = cli.ok("config").splitlines()

    settings = [number for number, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    assert all(lines[number - 1].startswith("# ") for number in settings)
    assert lines[lines.index('ui.color = "auto"') - 2] == "", "sections are apart"
    at = lines.index('agent.default = "echoer"')
    assert lines[at - 1] == "# The profile or program that agents run (a project's value needs your trust)"
    at = lines.index("fleet.trash_days = 14")
    assert lines[at - 1] == "# Days to keep removed worktrees in the trash (your own file only)"


@pytest.mark.parametrize("value", ["--a --b", "-5", "--model", "-v", "-"])
def test_a_value_may_start_with_dashes(cli: Cli, value: str) -> None:
    cli.ok("config", "set", "agent.claude_flags", value)
    assert shlex.split(value) == json.loads(cli.ok("config", "get", "agent.claude_flags", "--json"))["value"]

    cli.ok("config", "set", "--user", "agent.claude_flags", "--user", value)
    assert "but also got 'x'" in cli("config", "set", "agent.claude_flags", value, "x").complaint
    cli.ok("config", "set", "agent.claude_flags", "--", "--user")
    assert cli.ok("config", "get", "agent.claude_flags") == '["--user"]\n'


def test_a_value_with_quotes_is_shown_as_the_file_has_it(cli: Cli) -> None:
    cli.ok("config", "set", "--user", "env.SAID", 'a "b" \\c\nd é')

    [line] = [line for line in cli.ok("config").splitlines() if line.startswith("env.SAID")]

    assert tomllib.loads(line.partition("env.")[2]) == {"SAID": 'a "b" \\c\nd é'}
    assert "é" in line


def test_a_key_that_counts_only_in_the_users_file_is_not_set_in_the_projects(cli: Cli, project: Path) -> None:
    ran = cli("config", "set", "defaults.agent", "codex")
    assert ran.code == 2
    assert ran.complaint == "fleet: defaults.agent counts only in your own file (add --user)"
    ran = cli("config", "set", "fleet.stop_grace", "60")
    assert ran.code == 2
    assert ran.complaint.startswith("fleet: a project can only lower fleet.stop_grace, from 0.5 (add --user")
    ran = cli("config", "set", "limits.nice", "0")
    assert ran.code == 2
    assert ran.complaint.startswith("fleet: a project can only raise limits.nice, from 5 (add --user")
    assert not paths.project_config(project).exists()

    cli.ok("config", "set", "fleet.stop_grace", "0.2")
    cli.ok("config", "set", "--user", "defaults.agent", "codex")
    assert cli.ok("config", "get", "agent.default") == "codex\n"


def test_setting_what_another_file_overrides_says_so(cli: Cli, project: Path) -> None:
    cli.ok("config", "set", "ui.log_lines", "7")

    ran = cli("config", "set", "--user", "ui.log_lines", "9")

    assert ran.code == 0
    assert ran.complaint == f"fleet: no effect here: {paths.project_config(project)} sets ui.log_lines too"


def test_unsetting_a_key_keeps_the_rest_of_the_file_and_shows_what_counts_now(
    cli: Cli, project: Path
) -> None:
    file = paths.project_config(project)
    configure(project, '# mine\n[ui]  # screen\nlog_lines = 9\n# color\ncolor = "never"\n[env]\nA = "b"\n')
    cli.ok("config", "set", "--user", "ui.log_lines", "70")

    assert cli.ok("config", "unset", "ui.log_lines") == f"ui.log_lines = 70    # {paths.user_config()}\n"
    assert file.read_text() == '# mine\n[ui]  # screen\n# color\ncolor = "never"\n[env]\nA = "b"\n'
    assert cli.ok("config", "unset", "ui.color") == 'ui.color = "auto"    # default\n'
    assert cli.ok("config", "unset", "env.A") == "env.A is no longer set\n"
    assert cli.ok("config", "unset", "ui.log_lines", "--user") == "ui.log_lines = 50    # default\n"
    assert file.read_text().startswith("# mine\n[ui]  # screen\n# color\n")


def test_unsetting_what_is_not_set_says_where_it_is_set(cli: Cli, project: Path) -> None:
    user, own = paths.user_config(), paths.project_config(project)

    assert cli("config", "unset", "defaults.agent").complaint == (
        f"fleet: defaults.agent is not set in {own} ({user} sets it: add --user)"
    )
    assert cli("config", "unset", "ui.color").complaint == (
        f"fleet: ui.color is not set in {own} (it has its default value)"
    )
    for options, file in ([], own), (["--user"], user):
        assert cli("config", "unset", "agent.default", *options).complaint == (
            f"fleet: agent.default is not set in {file} (defaults.agent sets it)"
        )


def test_an_unknown_key_in_a_file_can_be_unset(cli: Cli, project: Path) -> None:
    configure(project, '[agent]\ndefalt = "x"\n')

    assert "'agent.defalt'" in cli("config", "--validate").err
    assert cli.ok("config", "unset", "agent.defalt") == "agent.defalt is no longer set\n"
    assert cli.ok("config", "--validate")


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("agent.defalt", "'agent.default'"),
        ("log_lines", "'ui.log_lines'"),
        ("worktree_root", "'project.worktree_root'"),
        ("notify", "'notify.on', 'notify.terminal' or 'notify.command'"),
    ],
)
def test_an_unknown_key_names_the_closest_ones(cli: Cli, key: str, near: str) -> None:
    for arguments in (["get", key], ["set", key, "x"], ["unset", key]):
        assert near in cli("config", *arguments).complaint
    assert "fleet config unset keys.NAME" in cli("config", "unset", "keys").complaint


def test_validating_names_all_problems_of_both_files_at_once(cli: Cli, project: Path) -> None:
    paths.user_config().write_text('[ui]\nlog_lines = "many"\nmotion = 1\n[keys]\nstop = 7\n')
    configure(
        project, '[setup]\nquick = "no"\ncommands = 1\n[keys]\nstop = "X"\nnosuch = "q"\nkill = "foo bar"\nundo = "S"\nlogs = "S"\n'
    )  # fmt: skip

    ran = cli("config", "--validate")

    assert ran.code == 1
    *problems, last = ran.err.splitlines()
    commands = "fleet config --edit --user and fleet config --edit"
    assert last == f"fleet: {len(problems)} problems in the configuration (fix it with: {commands})"
    for key in ("ui.log_lines", "ui.motion", "keys.stop", "setup.quick", "setup.commands"):
        assert sum(f": {key} must be" in problem for problem in problems) == 1, key
    assert "keys: there is no action 'nosuch'" in problems
    assert "keys.kill: 'foo bar' is not a key" in problems
    assert any("'S' is both" in problem for problem in problems)
    assert [one["problem"] for one in json.loads(cli("config", "--validate", "--json").out)] == problems


def test_the_users_file_is_validated_outside_of_a_project(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.ok("config", "--validate") == "The configuration is valid\n"
    paths.user_config().write_text("[ui]\nlog_lines = -1\n")

    assert "ui.log_lines must be" in cli("config", "--validate").err
    assert "1 problem " in cli("config", "--validate", "--user").err


@pytest.mark.parametrize(
    "text", ['[ui]\ntheme = "nosuch"\n', '[keys]\nkill = "foo bar"\n', '[agent]\ndefault = "nosuch"\n']
)
def test_a_value_of_the_users_file_that_names_nothing_comes_with_the_command_that_opens_that_file(
    cli: Cli, project: Path, text: str
) -> None:
    cli.ok("config", "set", "ui.motion", "false")
    paths.user_config().write_text(text)

    assert "(fix it with: fleet config --edit --user)" in cli("config", "--validate").err


def test_doctor_names_the_command_that_opens_the_file_in_which_a_theme_does_not_exist(
    cli: Cli, project: Path
) -> None:
    paths.user_config().write_text('[ui]\ntheme = "nosuch"\n')

    findings = json.loads(cli("doctor", "--json").out)
    assert [one["remedy"] for one in findings if "nosuch" in one["text"]] == ["fleet config --edit --user"]


@pytest.mark.parametrize("text", ["[ui", "[ui]\nlog_lines = -1\n"])
def test_an_error_in_the_users_file_comes_with_the_command_that_opens_that_file(
    cli: Cli, project: Path, text: str
) -> None:
    paths.user_config().write_text(text)

    for arguments in (
        ("create", "x"),
        ("config",),
        ("config", "--validate"),
        ("config", "--validate", "--user"),
    ):
        assert cli(*arguments).err.rstrip().endswith("(fix it with: fleet config --edit --user)"), arguments
    assert "fleet config --edit --user" in cli("doctor").out

    paths.user_config().unlink()
    configure(project, text)

    for arguments in (("create", "x"), ("config", "--validate")):
        assert cli(*arguments).err.rstrip().endswith("(fix it with: fleet config --edit)"), arguments
    assert "fleet config --edit\n" in cli("doctor").out


def test_init_writes_a_valid_configuration_once(cli: Cli, project: Path) -> None:
    for kind in ("rails", "node", "python", "generic", "minimal"):
        paths.project_config(project).unlink(missing_ok=True)
        assert cli.ok("init", "--type", kind, "--yes").startswith("wrote ")
        assert cli.ok("config", "--validate")
    assert cli("init", "--yes").code == 4
