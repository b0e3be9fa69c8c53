"""Configuration: what files may say, who wins, what is refused, and that edits keep what people wrote."""

from __future__ import annotations

import os
import pickle
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui import config, paths, presets
from fleet_tui.config import KEYS, Config
from fleet_tui.errors import FleetError, NotFound, Refused, UsageError
from fleet_tui.policy import Policy, Rule
from tests.trusting import trust, write_trusted


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project of a user who has configured nothing."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def write_project(project: Path, text: str) -> Path:
    return write_trusted(project, text)


def write_user(text: str) -> Path:
    file = paths.user_config()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


# ── loading ──


def test_without_files_every_value_is_its_default(project: Path) -> None:
    loaded = config.load(project)

    assert loaded == Config(project_name="shop")
    assert {entry.origin for entry in config.entries(loaded)} == {"default"}
    assert loaded.claude_flags == ()
    assert loaded.permission_mode == "ask"


def test_the_project_wins_over_the_user_and_both_over_the_defaults(project: Path) -> None:
    user = write_user('[ui]\nlog_lines = 70\ncolor = false\n[agent]\ndefault = "codex"\n')
    own = write_project(project, '[agent]\ndefault = "gemini"\n[setup]\ncommands = ["make"]\n')

    loaded = config.load(project)

    assert (loaded.agent_default, loaded.log_lines, loaded.color) == ("gemini", 70, "never")
    origins = {entry.key: entry.origin for entry in config.entries(loaded)}
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

    loaded = config.load(project)

    assert loaded.warnings == ()
    assert loaded.claude_flags == ("--dangerously-skip-permissions", "--add-dir", "a b")
    assert loaded.worktree_root == Path.home() / ".aifleet/worktrees/shop"
    assert (loaded.agent_default, loaded.quick, loaded.credential_files) == ("codex", True, (".env",))


def test_the_users_default_agent_gives_way_to_a_written_one(project: Path) -> None:
    user = write_user('[defaults]\nagent = "codex"\n')
    assert config.load(project).agent_default == "codex"
    assert config.load(project).origins["agent.default"] == str(user)

    write_project(project, '[agent]\ndefault = "aider"\n')
    assert config.load(project).agent_default == "aider"


def test_worktrees_go_where_the_project_then_the_user_says(project: Path) -> None:
    assert config.worktrees(config.load(project), project) == paths.worktrees(project, "shop")

    write_user('[defaults]\nworktree_base = "~/trees"\n')
    assert config.worktrees(config.load(project), project) == Path.home() / "trees/shop"

    write_project(project, '[project]\nworktree_root = ".aifleet/worktrees"\n')
    assert config.worktrees(config.load(project), project) == project / ".aifleet/worktrees"


def test_a_project_name_cannot_lead_out_of_the_worktree_base(project: Path) -> None:
    for name in ("..", ".", "../..", "/etc/.."):
        given_name = Config(project_name=name, worktree_base=Path("/base"))
        assert config.worktrees(given_name, project) == Path("/base/shop")


def test_a_project_name_makes_a_folder_that_can_be_made_and_shown(project: Path) -> None:
    """With a name that is too long for a folder, the agent could neither start nor be killed."""
    for name in ("x" * 300, "ü" * 200, "a\x1b]0;b\x07\nc\u202e"):
        for base in (Path("/base"), None):
            found = config.worktrees(Config(project_name=name, worktree_base=base), project)
            assert found.name.isprintable()
            assert len(os.fsencode(found.name)) <= 100
    kept = Config(project_name="Größe 2 (alt)", worktree_base=Path("/base"))
    assert config.worktrees(kept, project) == Path("/base/Größe 2 (alt)")


def test_the_environment_of_both_files_is_merged_by_variable(project: Path) -> None:
    write_user('[env]\nA = "user"\nB = "user"\n')
    write_project(project, '[env]\nB = "project"\nPORT = 3000\n')

    loaded = config.load(project)

    assert loaded.env == {"A": "user", "B": "project", "PORT": "3000"}
    assert config.get(loaded, "env.B") == "project"


@pytest.mark.parametrize(
    "line", ['FLEET_AGENT_ID = "x"', '"A=B" = "x"', "ON = true", 'NUL = "\\u0000"', "L = []"]
)
def test_a_bad_environment_variable_is_a_usage_error_that_names_it(project: Path, line: str) -> None:
    file = write_project(project, f"[env]\n{line}\n")

    with pytest.raises(UsageError, match=r"env\.") as caught:
        config.load(project)

    assert str(file) in caught.value.message


def test_unknown_keys_are_warnings_with_the_nearest_known_key(project: Path) -> None:
    write_project(project, '[agent]\ndefualt = "codex"\n[weather]\nsun = true\n')

    loaded = config.load(project)

    assert loaded.agent_default == "claude"
    assert "unknown key 'agent.defualt', did you mean 'agent.default'?" in loaded.warnings[0]
    assert "unknown key 'weather'" in loaded.warnings[1]


def test_a_syntax_error_names_the_file_line_and_column(project: Path) -> None:
    file = write_project(project, '[agent]\ndefault = "claude"\nquick = yes please\n')

    with pytest.raises(UsageError) as caught:
        config.load(project)

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
        config.load(project)

    assert "\n" not in caught.value.message


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(project: Path) -> None:
    write_project(project, "").write_bytes(b'\xef\xbb\xbf[agent]\r\ndefault = "codex"\r\n')
    trust(project)

    assert config.load(project).agent_default == "codex"


def test_a_file_that_cannot_be_read_is_said_so(project: Path) -> None:
    file = paths.project_config(project)
    file.mkdir(parents=True)

    with pytest.raises(FleetError, match="cannot read"):
        config.load(project)


def test_a_section_written_as_a_value_is_a_usage_error(project: Path) -> None:
    write_project(project, 'agent = "codex"\n')

    with pytest.raises(UsageError, match=r"agent must be a table"):
        config.load(project)


ANY_VALUE = st.one_of(
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20),
    st.lists(st.one_of(st.integers(0, 9), st.text("ab '", max_size=5)), max_size=3),
    st.dictionaries(st.text("ab", min_size=1, max_size=2), st.integers(0, 9), max_size=2),
)


def as_toml(value: Any) -> str:
    import tomlkit

    return (
        tomlkit.item(value).as_string()
        if not isinstance(value, dict)
        else "{" + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + "}"
    )


@given(
    key=st.sampled_from([key for key, row in KEYS.items() if row.kind is not config.TABLE]), value=ANY_VALUE
)
def test_a_value_is_loaded_in_its_type_or_refused_by_name(project: Path, key: str, value: Any) -> None:
    section, _, name = key.partition(".")
    write_project(project, f"[{section}]\n{name} = {as_toml(value)}\n")

    try:
        loaded = config.get(config.load(project), key)
    except UsageError as error:
        assert f"{key} must be {KEYS[key].kind.expected}" in error.message  # noqa: PT017  # either outcome is right
    else:
        default = KEYS[key].default
        assert isinstance(loaded, Path | type(None)) if "worktree_" in key else type(loaded) is type(default)


# ── asking ──


def test_every_key_has_its_row_its_default_and_its_line_of_documentation() -> None:
    for key, row in KEYS.items():
        assert row.key == key
        assert row.doc
        assert "\n" not in row.doc
        assert getattr(Config(), row.field) == row.default
    assert len(config.entries(Config())) == len(KEYS) - len(["env", "keys"])


def test_keys_of_the_dashboard_are_taken_as_one_key_or_several(project: Path) -> None:
    write_project(project, '[keys]\nstop = "S"\nkill = ["K", "ctrl+k"]\n')

    loaded = config.load(project)

    assert loaded.keys == {"stop": ("S",), "kill": ("K", "ctrl+k")}
    assert config.get(loaded, "keys.kill") == ("K", "ctrl+k")


@pytest.mark.parametrize("value", ["7", "[1, 2]", "true"])
def test_a_key_of_the_dashboard_that_is_no_text_is_refused(project: Path, value: str) -> None:
    said = "keys.stop must be a key or a list of keys"
    file = write_project(project, f"[keys]\nstop = {value}\n")
    (warning,) = config.load(project).warnings
    assert warning.startswith(f"{file}: {said}")
    assert config.load(project).keys == {}

    write_user(f"[keys]\nstop = {value}\n")
    with pytest.raises(UsageError, match=re.escape(said)):
        config.load(project)


def test_an_unknown_key_is_a_usage_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'ui\.log_lines'"):
        config.get(Config(), "ui.loglines")
    with pytest.raises(NotFound):
        config.get(Config(), "env.NOPE")


def test_a_config_can_be_sent_to_another_process(project: Path) -> None:
    write_project(project, '[env]\nA = "b"\n')
    loaded = config.load(project)

    assert pickle.loads(pickle.dumps(loaded)) == loaded


def test_validate_names_every_problem(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_project(
        project,
        f'[project]\nworktree_root = "{tmp_path}/file/trees"\n[agent]\ndefault = "no-such-program-here"\ntypo = 1\n'
        '[setup]\ncredential_files = [".env", "config/master.key", "/etc/passwd", "../x"]\n',
    )
    (project / ".env").write_text("")

    problems = config.validate(project)

    assert len(problems) == 6
    assert sum("outside" in problem for problem in problems) == 2
    assert any("'agent.typo'" in problem for problem in problems)
    assert any("config/master.key" in problem for problem in problems)
    assert any("'no-such-program-here'" in problem for problem in problems)
    assert any("is not a folder" in problem for problem in problems)


@pytest.mark.parametrize("kind", ["generic", "node"])
def test_a_first_configuration_fills_submodules_which_git_leaves_empty(project: Path, kind: str) -> None:
    (project / ".gitmodules").write_text("")

    presets.init(project, kind)

    assert config.load(project).setup_commands[0] == "git submodule update --init --recursive"


def test_validate_is_silent_when_all_is_well(project: Path) -> None:
    presets.init(project, "generic")
    assert config.validate(project) == []


def test_validate_says_what_cannot_be_parsed(project: Path) -> None:
    write_project(project, "nonsense")
    (problem,) = config.validate(project)
    assert ":1:" in problem


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_validate_names_a_folder_that_is_not_writable(project: Path) -> None:
    sealed = project / "sealed"
    sealed.mkdir(mode=0o500)
    write_project(project, '[project]\nworktree_root = "sealed/trees"\n')
    assert "is not writable" in config.validate(project)[0]


# ── writing ──


def test_setting_a_key_keeps_comments_layout_order_and_mode(project: Path) -> None:
    before = '# mine\n[ui] # screen\n\nlog_lines   =   50 # many\n\n[agent]\ndefault = "claude"\n# end\n'
    file = write_project(project, before)
    file.chmod(0o640)

    config.set_value(file, "ui.log_lines", "80")

    assert file.read_text() == before.replace("50", "80")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(file.parent.iterdir()) == [file]


def test_setting_a_key_makes_the_file_and_its_section(project: Path) -> None:
    file = paths.user_config()

    config.set_value(file, "setup.commands", '["npm ci", "make \\"it\\""]')
    config.set_value(file, "env.TOKEN", "it's [not] = toml")

    loaded = config.load(project)
    assert loaded.setup_commands == ("npm ci", 'make "it"')
    assert loaded.env == {"TOKEN": "it's [not] = toml"}


def test_setting_through_a_link_changes_the_file_behind_it(project: Path) -> None:
    real = project / "dotfiles.toml"
    real.write_text("")
    link = paths.user_config()
    link.parent.mkdir(parents=True)
    link.symlink_to(real)

    config.set_value(link, "ui.log_lines", "7")

    assert link.is_symlink()
    assert tomllib.loads(real.read_text()) == {"ui": {"log_lines": 7}}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("ui.log_lines", "many"),
        ("ui.log_lines", "-1"),
        ("setup.quick", "maybe"),
        ("fleet.stop_grace", "nan"),
        ("fleet.stop_grace", "inf"),
        ("agent.permission_mode", "yolo"),
        ("agent.claude_flags", "--x 'unbalanced"),
        ("setup.commands", "[1, 2]"),
        pytest.param("setup.commands", "[" * 5000, id="nesting"),
        pytest.param("agent.default", "nul\0", id="nul"),
        ("agent.nothing", "x"),
        ("env", "x"),
        ("env.FLEET_SOCKET", "x"),
    ],
)
def test_a_text_that_does_not_fit_its_key_is_refused_and_the_file_stays(
    project: Path, key: str, text: str
) -> None:
    file = write_project(project, "# untouched\n")

    with pytest.raises(UsageError):
        config.set_value(file, key, text)

    assert file.read_text() == "# untouched\n"


LAYOUTS = (
    "",
    "[agent]\n",
    'agent.default = "a"\n',
    'agent = { default = "a", claude_flags = "b" }\n',
    '[agent]\ndefault = "a"\n[ui]\nlog_lines = 3\n[setup]\nquick = true\n',
    "# c\r\n[ui]\r\nlog_lines = 3\r\n",
    'ui.log_lines = 4\nsetup.quick = true\nui.color = "auto"\n',
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.sampled_from(["true", "off", "12", "0.5", "ask", "all", "auto", "[]", '["a", "b"]', "--flag 'x y'"]),
)


@given(
    key=st.sampled_from([key for key, row in KEYS.items() if row.kind is not config.TABLE]),
    text=TEXTS,
    layout=st.sampled_from(LAYOUTS),
)
def test_what_was_set_is_what_is_loaded_whatever_the_file_looked_like(
    project: Path, key: str, text: str, layout: str
) -> None:
    files = write_user(""), write_project(project, "")
    file = files[0] if KEYS[key].scope is config.USER else files[1]
    file.write_bytes(layout.encode())
    trust(project)
    before = {entry.key: entry.value for entry in config.entries(config.load(project))}

    try:
        config.set_value(file, key, text)
    except UsageError:
        assert file.read_bytes() == layout.encode()
        return

    trust(project)
    after = {entry.key: entry.value for entry in config.entries(config.load(project))}
    follows = {key, "agent.default"} if key == "defaults.agent" else {key}
    assert {name for name in after if after[name] != before[name]} <= follows
    if isinstance(before[key], str) and key not in ("ui.color", "project.name", "agent.permission_mode"):
        assert after[key] == text


# ── starting a project ──


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "generic"),
        ({"package.json": "{}"}, "node"),
        ({"requirements.txt": ""}, "python"),
        (
            {"pyproject.toml": "[project]\nname='django'\n", "package.json": "{}", "package-lock.json": ""},
            "python",
        ),
        ({"manage.py": "", "package.json": "{}", "yarn.lock": "", "tsconfig.json": "{}"}, "python"),
        ({"pyproject.toml": "[tool.ruff]\n", "package.json": "{}"}, "node"),
        (
            {"requirements.txt": "", "package.json": "{}", "package-lock.json": "", "tsconfig.json": "{}"},
            "node",
        ),
        ({"Gemfile": "", "config/application.rb": "", "package.json": "{}"}, "rails"),
        ({"Gemfile": "", "bin/rails": ""}, "rails"),
        ({"Gemfile": "", "package.json": "{}"}, "node"),
        ({"Gemfile": ""}, "generic"),
    ],
)
def test_a_projects_type_is_told_by_its_root(project: Path, files: dict[str, str], expected: str) -> None:
    for name, content in files.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(content)

    assert presets.detect_type(project) == expected


@pytest.mark.parametrize("kind", config.TYPES)
def test_a_preset_loads_without_warnings_and_asks_for_permission(project: Path, kind: str) -> None:
    write_project(project, presets.preset(kind))

    loaded = config.load(project)

    assert loaded.warnings == ()
    assert loaded.claude_flags == ()
    assert loaded.permission_mode == "ask"


def test_a_preset_leaves_the_users_own_choices_alone(project: Path) -> None:
    write_user('[defaults]\nagent = "codex"\n[agent]\npermission_mode = "edits"\n[setup]\nquick = true\n')
    presets.init(project, "node")

    loaded = config.load(project)

    assert (loaded.agent_default, loaded.permission_mode, loaded.quick) == ("codex", "edits", True)


def test_a_preset_names_only_what_the_project_has(project: Path) -> None:
    (project / ".env").write_text("")
    write_project(project, presets.preset("rails", project))
    assert config.load(project).credential_files == (".env",)
    assert config.load(project).setup_commands == ("bundle install",)

    write_project(project, presets.preset("python", project))
    assert config.load(project).setup_commands == ()


def test_a_project_name_of_any_kind_makes_a_valid_preset(tmp_path: Path) -> None:
    for name in ('quo"te', "back\\slash", "new\nline", "tab\t", "ünï", "{brace}", "\udcff"):
        parsed = tomllib.loads(presets.preset("generic", tmp_path / name))
        assert parsed["project"]["name"] == name.encode("utf-8", "replace").decode()


def test_init_writes_the_config_and_one_line_of_gitignore(project: Path) -> None:
    (project / ".gitignore").write_text("build")
    (project / ".gitignore").chmod(0o600)

    written = presets.init(project)

    assert written == [paths.project_config(project), project / ".gitignore"]
    assert (project / ".gitignore").read_text() == "build\n.aifleet/worktrees/\n"
    assert stat.S_IMODE((project / ".gitignore").stat().st_mode) == 0o600


@pytest.mark.parametrize("line", [".aifleet/", "/.aifleet/worktrees", ".aifleet/worktrees/", "  .aifleet  "])
def test_init_leaves_a_gitignore_alone_that_says_so_already(project: Path, line: str) -> None:
    (project / ".gitignore").write_text(f"a\n{line}\nb\n")
    assert presets.init(project) == [paths.project_config(project)]


def test_init_makes_no_gitignore(project: Path) -> None:
    presets.init(project, "minimal")
    assert not (project / ".gitignore").exists()


def test_init_refuses_to_replace_a_config(project: Path) -> None:
    file = write_project(project, "# mine\n")

    with pytest.raises(Refused, match="exists already"):
        presets.init(project, "generic")

    assert file.read_text() == "# mine\n"


def test_a_config_that_appears_meanwhile_is_not_replaced(project: Path) -> None:
    file = write_project(project, "# theirs\n")

    with pytest.raises(FileExistsError):
        config.write(file, b"# ours\n", new=True)

    assert file.read_text() == "# theirs\n"
    assert list(file.parent.iterdir()) == [file]


def test_init_refuses_an_unknown_type(project: Path) -> None:
    with pytest.raises(UsageError, match="unknown project type"):
        presets.init(project, "cobol")


LEGACY = (
    'repo_root = "{root}"\nworktree_root = "~/trees"\ntmux_prefix = "t_"\ndefault_agent = "codex"\n'
    'claude_flags = "--model opus"\ncredential_files = ["a.key"]\nsetup_commands = ["make it"]\nquick_setup = true\n'
)


def write_legacy(text: str) -> Path:
    file = Path.home() / ".ai_fleet" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_migrating_carries_every_legacy_value_over_and_sets_the_old_file_aside(project: Path) -> None:
    legacy = write_legacy(LEGACY.format(root=project))
    backup = legacy.with_name("config.toml.backup")
    backup.write_text("older")

    written = presets.init(project, None, migrate_legacy=True)

    loaded = config.load(project)
    assert (loaded.agent_default, loaded.tmux_prefix, loaded.quick) == ("codex", "t_", True)
    assert (loaded.claude_flags, loaded.setup_commands) == (("--model", "opus"), ("make it",))
    assert (loaded.credential_files, loaded.worktree_root) == (("a.key",), Path.home() / "trees")
    assert not legacy.exists()
    assert written[-1].read_text() == LEGACY.format(root=project)
    assert backup.read_text() == "older"


@pytest.mark.parametrize("text", ["quick_setup = 3\n", "repo_root = 7\n", "default_agent = ["])
def test_a_legacy_file_that_cannot_be_understood_stays_where_it_is(project: Path, text: str) -> None:
    legacy = write_legacy(text)

    with pytest.raises(UsageError):
        presets.init(project, None, migrate_legacy=True)

    assert legacy.read_text() == text
    assert not paths.project_config(project).exists()


def test_migrating_refuses_the_configuration_of_another_repository(project: Path, tmp_path: Path) -> None:
    write_legacy(LEGACY.format(root=tmp_path))
    with pytest.raises(Refused, match="belongs to"):
        presets.init(project, None, migrate_legacy=True)


def test_migrating_nothing_is_not_found(project: Path) -> None:
    with pytest.raises(NotFound):
        presets.init(project, None, migrate_legacy=True)


# ── cost ──


def test_neither_importing_nor_loading_without_files_reads_a_toml_library(project: Path) -> None:
    script = (
        "import sys, pathlib, fleet_tui.config, fleet_tui.profiles, fleet_tui.setup_files\n"
        "fleet_tui.config.load(pathlib.Path(sys.argv[1]))\n"
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


# ── what agents may do without asking ──

RULES = """
[approve]
mode = "shadow"
[[approve.rules]]
decision = "allow"
tool = "Bash"
command = "git status*"
"""


def test_without_rules_nothing_is_approved(project: Path) -> None:
    assert config.load(project).approve == Policy("off", ())


def test_the_projects_rules_come_before_the_users_but_not_before_what_the_user_denies(project: Path) -> None:
    write_user(
        '[approve]\nmode = "on"\n[[approve.rules]]\ndecision = "ask"\ncommand = "git *"\n'
        '[[approve.rules]]\ndecision = "deny"\npath = ".env"\n'
    )
    write_project(project, RULES)

    loaded = config.load(project)

    assert loaded.approve == Policy(
        "shadow",
        (Rule("deny", path=".env"), Rule("allow", "Bash", "git status*"), Rule("ask", command="git *")),
    )
    assert pickle.loads(pickle.dumps(loaded)) == loaded
    assert config.text_of(config.get(loaded, "approve.rules")).startswith(
        '[{decision = "deny", path = ".env"'
    )


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
        config.load(project)

    assert error.value.message.startswith(f"{file}: {said}")


def test_a_rule_with_an_unknown_key_is_warned_of_and_only_asks(project: Path) -> None:
    file = write_project(project, '[[approve.rules]]\ndecision = "allow"\ncomand = "git *"\n')

    loaded = config.load(project)

    assert loaded.warnings == (f"{file}: unknown key 'comand' in approve.rules[1], so that rule only asks",)
    assert loaded.approve_rules == (Rule("ask"),)


def test_validating_names_rules_that_can_never_allow(project: Path) -> None:
    write_project(project, '[[approve.rules]]\ndecision = "allow"\npath = "../x"\n')

    assert any("approve.rules[1]" in problem for problem in config.validate(project))


def test_the_mode_can_be_set_and_rules_cannot(project: Path) -> None:
    file = write_project(project, RULES)

    config.set_value(file, "approve.mode", "on")
    trust(project)

    assert config.load(project).approve.mode == "on"
    assert len(config.load(project).approve_rules) == 1
    with pytest.raises(UsageError):
        config.set_value(file, "approve.rules", "git status")


# ── notices ──


def test_notices_are_configured_by_kind_way_profile_and_batch(project: Path) -> None:
    write_user(
        '[notify]\ncommand = ["notify-send", "{title}"]\nterminal = "bell"\n'
        'on = ["blocked"]\nprofiles = ["!shell"]\nbatches = ["fan*"]\n'
    )

    loaded = config.load(project)

    assert (loaded.notify_on, loaded.notify_terminal) == (("blocked",), "bell")
    assert loaded.notify_command == ("notify-send", "{title}")
    assert (loaded.notify_profiles, loaded.notify_batches) == (("!shell",), ("fan*",))


def test_a_project_cannot_have_a_command_run_in_the_dashboard(project: Path) -> None:
    file = write_project(project, '[notify]\ncommand = ["rm", "-rf", "x"]\n')

    loaded = config.load(project)

    assert loaded.notify_command == ()
    assert loaded.warnings == (f"{file}: notify.command counts only in {paths.user_config()}",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('on = ["blocked", "idle"]', 'notify.on must be a list of "blocked", "done", "error", "limited"'),
        ('terminal = "popup"', 'notify.terminal must be "auto", "osc9", "osc777", "bell" or "off"'),
        ('command = "notify-send"', "notify.command must be a list of strings"),
    ],
)
def test_wrong_switches_are_refused_with_file_and_key(project: Path, text: str, said: str) -> None:
    file = write_project(project, f"[notify]\n{text}\n")

    with pytest.raises(UsageError) as error:
        config.load(project)

    assert error.value.message.startswith(f"{file}: {said}")


def test_without_rules_no_command_pays_for_them(project: Path) -> None:
    code = "import sys; from fleet_tui import config; config.load(None); print('fleet_tui.policy' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
