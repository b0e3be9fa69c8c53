"""Editing: settings by key, and edits that keep what users wrote."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet_tui import paths
from fleet_tui.config.edit import entries, get, set_value, text_of, unset_value
from fleet_tui.config.kinds import TABLE
from fleet_tui.config.load import load
from fleet_tui.config.settings import KEYS, USER, Config
from fleet_tui.errors import NotFound, UsageError
from tests.config.projects import RULES, project, write_project, write_user
from tests.lifecycle.trusted_projects import trust

__all__ = ["project"]


def test_an_unknown_key_is_a_usage_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'ui\.log_lines'"):
        get(Config(), "ui.loglines")
    with pytest.raises(NotFound):
        get(Config(), "env.NOPE")


def test_setting_a_key_keeps_comments_layout_order_and_mode(project: Path) -> None:
    before = '# mine\n[ui] # screen\n\nlog_lines   =   50 # many\n\n[agent]\ndefault = "claude"\n# end\n'
    file = write_project(project, before)
    file.chmod(0o640)

    set_value(file, "ui.log_lines", "80")

    assert file.read_text() == before.replace("50", "80")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(file.parent.iterdir()) == [file]


def test_setting_a_key_makes_the_file_and_its_section(project: Path) -> None:
    file = paths.user_config()

    set_value(file, "setup.commands", '["npm ci", "make \\"it\\""]')
    set_value(file, "env.TOKEN", "it's [not] = toml")

    loaded = load(project)
    assert loaded.setup_commands == ("npm ci", 'make "it"')
    assert loaded.env == {"TOKEN": "it's [not] = toml"}


def test_setting_through_a_link_changes_the_linked_file(project: Path) -> None:
    real = project / "dotfiles.toml"
    real.write_text("")
    link = paths.user_config()
    link.parent.mkdir(parents=True)
    link.symlink_to(real)

    set_value(link, "ui.log_lines", "7")

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
def test_an_invalid_value_is_refused_and_the_file_stays(project: Path, key: str, text: str) -> None:
    file = write_project(project, "# untouched\n")

    with pytest.raises(UsageError):
        set_value(file, key, text)

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
    key=st.sampled_from([key for key, row in KEYS.items() if row.kind is not TABLE]),
    text=TEXTS,
    layout=st.sampled_from(LAYOUTS),
)
def test_what_was_set_is_what_is_loaded_whatever_the_file_looked_like(
    project: Path, key: str, text: str, layout: str
) -> None:
    files = write_user(""), write_project(project, "")
    file = files[0] if KEYS[key].authority is USER else files[1]
    file.write_bytes(layout.encode())
    trust(project)
    before = {entry.key: entry.value for entry in entries(load(project))}

    try:
        set_value(file, key, text)
    except UsageError:
        assert file.read_bytes() == layout.encode()
        return

    trust(project)
    after = {entry.key: entry.value for entry in entries(load(project))}
    follows = {key, "agent.default"} if key == "defaults.agent" else {key}
    assert {name for name in after if after[name] != before[name]} <= follows
    if isinstance(before[key], str) and key not in ("ui.color", "project.name", "agent.permission_mode"):
        assert after[key] == text


@given(
    key=st.sampled_from(["agent.default", "agent.claude_flags", "ui.log_lines", "setup.quick", "ui.color"]),
    layout=st.sampled_from(LAYOUTS),
)
def test_what_was_unset_is_gone_and_the_rest_stays_whatever_the_file_looked_like(
    project: Path, key: str, layout: str
) -> None:
    file = write_user("")
    file.write_bytes(layout.encode())
    section, _, name = key.partition(".")
    before = tomllib.loads(layout)

    try:
        unset_value(file, key)
    except NotFound:
        assert name not in before.get(section, {})
        assert file.read_bytes() == layout.encode()
        return

    del before[section][name]
    after = tomllib.loads(file.read_text())
    assert {one: content for one, content in after.items() if content} == {
        one: content for one, content in before.items() if content
    }


def test_the_mode_can_be_set_and_rules_cannot(project: Path) -> None:
    file = write_project(project, RULES)

    set_value(file, "approve.mode", "on")
    trust(project)

    assert load(project).approve.mode == "on"
    assert len(load(project).approve_rules) == 1
    with pytest.raises(UsageError):
        set_value(file, "approve.rules", "git status")


@example("\x7f")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_is_shown_as_toml_reads_it(text: str) -> None:
    assert tomllib.loads(f"key = {text_of(text)}") == {"key": text}
