"""Loading: what files may say, which file wins, what is refused, and what becomes a warning."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui import paths
from fleet_tui.config.edit import entries, get, text_of
from fleet_tui.config.kinds import TABLE
from fleet_tui.config.load import load
from fleet_tui.config.settings import KEYS, Config, worktrees
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.permissions.policy import Policy
from fleet_tui.permissions.rules import PermissionRule
from tests.config.projects import ANY_VALUE, RULES, as_toml, project, write_project, write_user
from tests.lifecycle.trusted_projects import trust

__all__ = ["project"]


def test_without_files_every_value_is_its_default(project: Path) -> None:
    loaded = load(project)

    assert loaded == Config(project_name="shop")
    assert {entry.origin for entry in entries(loaded)} == {"default"}
    assert loaded.claude_flags == ()
    assert loaded.permission_mode == "ask"


def test_the_project_wins_over_the_user_and_both_over_the_defaults(project: Path) -> None:
    user = write_user('[ui]\nlog_lines = 70\ncolor = false\n[agent]\ndefault = "codex"\n')
    own = write_project(project, '[agent]\ndefault = "gemini"\n[setup]\ncommands = ["make"]\n')

    loaded = load(project)

    assert (loaded.agent_default, loaded.log_lines, loaded.color) == ("gemini", 70, "never")
    origins = {entry.key: entry.origin for entry in entries(loaded)}
    assert origins["agent.default"] == str(own)
    assert origins["ui.log_lines"] == str(user)
    assert origins["fleet.stop_grace"] == "default"


def test_every_key_of_ai_fleet_is_accepted(project: Path) -> None:
    write_user(
        '[defaults]\nagent = "codex"\nworktree_base = "~/trees"\n[ui]\ncolor = true\nlog_lines = 10\n'
        "[updates]\ncheck_on_startup = true\ncheck_interval_hours = 12\n"
    )
    write_project(
        project,
        '[project]\nname = "Shop"\nworktree_root = "~/.aifleet/worktrees/shop"\n'
        "[agent]\nclaude_flags = \"--dangerously-skip-permissions --add-dir 'a b'\"\n"
        '[setup]\ncredential_files = [".env"]\ncommands = ["make"]\nquick = true\n[tmux]\nprefix = "x_"\n',
    )

    loaded = load(project)

    assert loaded.warnings == ()
    assert loaded.claude_flags == ("--dangerously-skip-permissions", "--add-dir", "a b")
    assert loaded.worktree_root == Path.home() / ".aifleet/worktrees/shop"
    assert (loaded.agent_default, loaded.quick, loaded.credential_files) == ("codex", True, (".env",))


def test_the_users_default_agent_gives_way_to_a_written_one(project: Path) -> None:
    user = write_user('[defaults]\nagent = "codex"\n')
    assert load(project).agent_default == "codex"
    assert load(project).origins["agent.default"] == str(user)

    write_project(project, '[agent]\ndefault = "aider"\n')
    assert load(project).agent_default == "aider"


def test_worktrees_go_where_the_project_then_the_user_says(project: Path) -> None:
    assert worktrees(load(project), project) == paths.worktrees(project, "shop")

    write_user('[defaults]\nworktree_base = "~/trees"\n')
    assert worktrees(load(project), project) == Path.home() / "trees/shop"

    write_project(project, '[project]\nworktree_root = ".aifleet/worktrees"\n')
    assert worktrees(load(project), project) == project / ".aifleet/worktrees"


def test_a_project_name_cannot_lead_out_of_the_worktree_base(project: Path) -> None:
    for name in ("..", ".", "../..", "/etc/.."):
        given_name = Config(project_name=name, worktree_base=Path("/base"))
        assert worktrees(given_name, project) == Path("/base/shop")


def test_a_project_name_becomes_a_valid_printable_folder_name(project: Path) -> None:
    """With a name that is too long for a folder, the agent could neither start nor be killed."""
    for name in ("x" * 300, "ü" * 200, "a\x1b]0;b\x07\nc\u202e"):
        for base in (Path("/base"), None):
            found = worktrees(Config(project_name=name, worktree_base=base), project)
            assert found.name.isprintable()
            assert len(os.fsencode(found.name)) <= 100
    kept = Config(project_name="Größe 2 (alt)", worktree_base=Path("/base"))
    assert worktrees(kept, project) == Path("/base/Größe 2 (alt)")


def test_the_environment_of_both_files_is_merged_by_variable(project: Path) -> None:
    write_user('[env]\nA = "user"\nB = "user"\n')
    write_project(project, '[env]\nB = "project"\nPORT = 3000\n')

    loaded = load(project)

    assert loaded.env == {"A": "user", "B": "project", "PORT": "3000"}
    assert get(loaded, "env.B") == "project"


@pytest.mark.parametrize(
    "line", ['FLEET_AGENT_ID = "x"', '"A=B" = "x"', "ON = true", 'NUL = "\\u0000"', "L = []"]
)
def test_a_bad_environment_variable_is_a_usage_error_that_names_it(project: Path, line: str) -> None:
    file = write_project(project, f"[env]\n{line}\n")

    with pytest.raises(UsageError, match=r"env\.") as caught:
        load(project)

    assert str(file) in caught.value.message


def test_unknown_keys_are_warnings_with_the_nearest_known_key(project: Path) -> None:
    write_project(project, '[agent]\ndefualt = "codex"\n[weather]\nsun = true\n')

    loaded = load(project)

    assert loaded.agent_default == "claude"
    assert "unknown key 'agent.defualt', did you mean 'agent.default'?" in loaded.warnings[0]
    assert "unknown key 'weather'" in loaded.warnings[1]


def test_a_syntax_error_names_the_file_line_and_column(project: Path) -> None:
    file = write_project(project, '[agent]\ndefault = "claude"\nquick = yes please\n')

    with pytest.raises(UsageError) as caught:
        load(project)

    assert caught.value.message.startswith(f"{file}:3:9: ")
    assert "fleet config --edit" in caught.value.hint


@pytest.mark.parametrize(
    "content",
    [b'a = "', b"[agent", b"\xff\xfe", b"a = " + b"[" * 100_000, b"x = " + b"9" * 5000, b"a = 1979-99-99"],
    ids=["string", "section", "encoding", "nesting", "digits", "date"],
)
def test_no_file_content_escapes_as_anything_but_a_usage_error(project: Path, content: bytes) -> None:
    write_project(project, "").write_bytes(content)

    with pytest.raises(UsageError) as caught:
        load(project)

    assert "\n" not in caught.value.message


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(project: Path) -> None:
    write_project(project, "").write_bytes(b'\xef\xbb\xbf[agent]\r\ndefault = "codex"\r\n')
    trust(project)

    assert load(project).agent_default == "codex"


def test_an_unreadable_file_is_reported(project: Path) -> None:
    file = paths.project_config(project)
    file.mkdir(parents=True)

    with pytest.raises(FleetError, match="cannot read"):
        load(project)


def test_a_section_written_as_a_value_is_a_usage_error(project: Path) -> None:
    write_project(project, 'agent = "codex"\n')

    with pytest.raises(UsageError, match=r"agent must be a table"):
        load(project)


@given(key=st.sampled_from([key for key, row in KEYS.items() if row.kind is not TABLE]), value=ANY_VALUE)
def test_a_value_is_loaded_in_its_type_or_refused_by_name(project: Path, key: str, value: Any) -> None:
    section, _, name = key.partition(".")
    write_project(project, f"[{section}]\n{name} = {as_toml(value)}\n")

    try:
        loaded = get(load(project), key)
    except UsageError as error:
        assert f"{key} must be {KEYS[key].kind.expected}" in error.message  # noqa: PT017  # either outcome is right
    else:
        default = KEYS[key].default
        assert isinstance(loaded, Path | type(None)) if "worktree_" in key else type(loaded) is type(default)


def test_every_key_has_its_row_its_default_and_its_line_of_documentation() -> None:
    for key, row in KEYS.items():
        assert row.key == key
        assert row.doc
        assert "\n" not in row.doc
        assert getattr(Config(), row.field) == row.default
    assert len(entries(Config())) == len(KEYS) - len(["env", "keys"])


def test_a_key_binding_is_one_key_or_several(project: Path) -> None:
    write_project(project, '[keys]\nstop = "S"\nkill = ["K", "ctrl+k"]\n')

    loaded = load(project)

    assert loaded.keys == {"stop": ("S",), "kill": ("K", "ctrl+k")}
    assert get(loaded, "keys.kill") == ("K", "ctrl+k")


@pytest.mark.parametrize("value", ["7", "[1, 2]", "true"])
def test_a_key_binding_that_is_not_a_string_is_refused(project: Path, value: str) -> None:
    said = "keys.stop must be a key or a list of keys"
    file = write_project(project, f"[keys]\nstop = {value}\n")
    (warning,) = load(project).warnings
    assert warning.startswith(f"{file}: {said}")
    assert load(project).keys == {}

    write_user(f"[keys]\nstop = {value}\n")
    with pytest.raises(UsageError, match=re.escape(said)):
        load(project)


def test_a_config_can_be_sent_to_another_process(project: Path) -> None:
    write_project(project, '[env]\nA = "b"\n')
    loaded = load(project)

    assert pickle.loads(pickle.dumps(loaded)) == loaded


def test_neither_importing_nor_loading_without_files_reads_a_toml_library(project: Path) -> None:
    script = (
        "import sys, pathlib, fleet_tui.config.load, fleet_tui.programs.profiles, fleet_tui.lifecycle.copied_files\n"
        "fleet_tui.config.load.load(pathlib.Path(sys.argv[1]))\n"
        "print([name for name in ('tomllib', 'tomlkit', 'difflib') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(project)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert done.stdout == "[]\n"


def test_without_rules_nothing_is_allowed(project: Path) -> None:
    assert load(project).approve == Policy("off", ())


def test_the_projects_rules_come_before_the_users_but_not_before_what_the_user_denies(project: Path) -> None:
    write_user(
        '[approve]\nmode = "on"\n[[approve.rules]]\ndecision = "ask"\ncommand = "git *"\n'
        '[[approve.rules]]\ndecision = "deny"\npath = ".env"\n'
    )
    write_project(project, RULES)

    loaded = load(project)

    assert loaded.approve == Policy(
        "shadow",
        (
            PermissionRule("deny", path=".env"),
            PermissionRule("allow", "Bash", "git status*"),
            PermissionRule("ask", command="git *"),
        ),
    )
    assert pickle.loads(pickle.dumps(loaded)) == loaded
    assert text_of(get(loaded, "approve.rules")).startswith('[{decision = "deny", path = ".env"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[approve]\nmode = "yes"', 'approve.mode must be "off", "shadow" or "on"'),
        ("[approve]\nrules = 3", "approve.rules must be a list of tables"),
        ('[[approve.rules]]\ntool = "Bash"', "approve.rules[1].decision must be"),
        (RULES + '[[approve.rules]]\ndecision = "allow"\ncommand = 3', "approve.rules[2].command must be"),
    ],
)
def test_wrong_rules_are_refused_with_file_and_key(project: Path, text: str, said: str) -> None:
    file = write_project(project, text)

    with pytest.raises(UsageError) as error:
        load(project)

    assert error.value.message.startswith(f"{file}: {said}")


def test_a_rule_with_an_unknown_key_is_a_warning_and_only_asks(project: Path) -> None:
    file = write_project(project, '[[approve.rules]]\ndecision = "allow"\ncomand = "git *"\n')

    loaded = load(project)

    assert loaded.warnings == (f"{file}: unknown key 'comand' in approve.rules[1], so this rule only asks",)
    assert loaded.approve_rules == (PermissionRule("ask"),)


def test_notices_are_configured_by_kind_terminal_profile_and_batch(project: Path) -> None:
    write_user(
        '[notify]\ncommand = ["notify-send", "{title}"]\nterminal = "bell"\n'
        'on = ["blocked"]\nprofiles = ["!shell"]\nbatches = ["fan*"]\n'
    )

    loaded = load(project)

    assert (loaded.notify_on, loaded.notify_terminal) == (("blocked",), "bell")
    assert loaded.notify_command == ("notify-send", "{title}")
    assert (loaded.notify_profiles, loaded.notify_batches) == (("!shell",), ("fan*",))


def test_a_project_cannot_have_a_command_run_in_the_dashboard(project: Path) -> None:
    file = write_project(project, '[notify]\ncommand = ["rm", "-rf", "x"]\n')

    loaded = load(project)

    assert loaded.notify_command == ()
    assert loaded.warnings == (f"{file}: notify.command is ignored here; set it in {paths.user_config()}",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('on = ["blocked", "idle"]', 'notify.on must be a list of "blocked", "done", "error", "limited"'),
        ('terminal = "popup"', 'notify.terminal must be "auto", "osc9", "osc777", "bell" or "off"'),
        ('command = "notify-send"', "notify.command must be a list of strings"),
    ],
)
def test_invalid_notice_settings_are_refused_with_file_and_key(project: Path, text: str, said: str) -> None:
    file = write_project(project, f"[notify]\n{text}\n")

    with pytest.raises(UsageError) as error:
        load(project)

    assert error.value.message.startswith(f"{file}: {said}")


def test_without_rules_their_module_is_not_imported(project: Path) -> None:
    code = "import sys; from fleet_tui.config.load import load; load(None); print('fleet_tui.permissions.policy' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_a_project_may_make_agents_yield_more_than_the_user_says_but_not_less(project: Path) -> None:
    assert load(project).nice == 5
    write_user("[limits]\nnice = 8\n")
    write_project(project, "[limits]\nnice = 3\n")
    loaded = load(project)
    assert loaded.nice == 8
    assert any(
        "limits.nice is ignored: a project may only raise it, from 8" in line for line in loaded.warnings
    )

    write_project(project, "[limits]\nnice = 12\n")
    assert (load(project).nice, load(project).run.nice) == (12, 12)


def test_the_user_may_let_agents_be_as_important_as_everything_else(project: Path) -> None:
    write_user("[limits]\nnice = 0\n")
    assert load(project).run.nice == 0
