"""Profiles: exact command lines for prompts with any content, and the environment of an agent."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet_tui import paths
from fleet_tui.config.settings import Config
from fleet_tui.errors import NotFound, Refused, UsageError
from fleet_tui.programs import profiles
from fleet_tui.programs.command import ARGUMENT_LIMIT, headless_warning, launch_command
from fleet_tui.programs.environment import program_environment
from fleet_tui.programs.executable import program_path
from fleet_tui.programs.prompt_text import is_command, prepared

SESSION = "0d7c1c9e-6a53-4b07-9d3e-000000000001"
PRINT_ARGUMENTS = "#!{python}\nimport sys\nsys.stdout.buffer.write(b'\\0'.join(map(__import__('os').fsencode, sys.argv[1:])))\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH with a stand-in for every program that has a profile, each printing its arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("SHELL", str(folder / "shell"))
    for name in profiles.names():
        executable(folder / name)
    return folder


def executable(file: Path) -> Path:
    file.write_text(PRINT_ARGUMENTS.format(python=sys.executable))
    file.chmod(0o755)
    return file


def user_profile(name: str, text: str) -> Path:
    file = paths.user_profiles() / f"{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def arguments(
    name: str,
    prompt: str = "",
    *,
    config: Config | None = None,
    session: str = SESSION,
    resume: bool = False,
    model: str = "",
) -> list[str]:
    made = launch_command(
        profiles.load(name),
        prompt=prompt,
        config=config or Config(),
        session_id=session,
        resume=resume,
        model=model,
    )
    return list(made.argv[1:])


# ── command lines ──


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude", ["--session-id", SESSION, "--permission-mode", "default", "--model", "m", "--", "do it"]),
        ("codex", ["--no-daemon", "-s", "read-only", "-a", "on-request", "-m", "m", "--", "do it"]),
        ("gemini", ["--session-id", SESSION, "--approval-mode", "default", "-m", "m", "-i", "do it"]),
        ("qwen", ["--session-id", SESSION, "--approval-mode", "default", "-m", "m", "-i", "do it"]),
        ("opencode", ["-m", "m", "--prompt", "do it"]),
        ("copilot", [f"--session-id={SESSION}", "--no-auto-update", "--model", "m", "-i", "do it"]),
        ("pi", ["--model", "m", "do it"]),
        ("shell", ["-c", "do it"]),
    ],
)
def test_a_new_agent_is_started_with_exactly_these_arguments(
    programs: Path, name: str, expected: list[str]
) -> None:
    made = launch_command(profiles.load(name), prompt="do it", config=Config(), session_id=SESSION, model="m")

    assert made.argv == (str(programs / name), *expected)
    assert made.pasted_prompt == ""


@pytest.mark.parametrize(
    ("name", "known", "latest"),
    [
        ("claude", ["--resume", "S"], ["--continue"]),
        ("codex", ["resume", "S"], ["resume", "--last"]),
        ("gemini", ["--resume", "S"], ["--resume", "latest"]),
        ("qwen", ["--resume", "S"], ["--continue"]),
        ("opencode", ["-s", "S"], []),
        ("copilot", ["--resume=S"], ["--continue"]),
        ("pi", ["--session", "S"], ["--continue"]),
        ("aider", ["--restore-chat-history"], ["--restore-chat-history"]),
        ("shell", [], []),
    ],
)
def test_a_revived_agent_continues_its_conversation(
    programs: Path, name: str, known: list[str], latest: list[str]
) -> None:
    assert arguments(name, session="S", resume=True)[: len(known)] == known
    assert arguments(name, session="", resume=True)[: len(latest)] == latest


def test_opencode_starts_anew_rather_than_continue_another_agents_conversation(programs: Path) -> None:
    assert "-c" not in arguments("opencode", session="", resume=True)


def test_without_a_prompt_no_argument_is_left_over(programs: Path) -> None:
    assert arguments("claude") == ["--session-id", SESSION, "--permission-mode", "default"]
    assert arguments("codex") == ["--no-daemon", "-s", "read-only", "-a", "on-request"]
    assert arguments("shell") == []


@pytest.mark.parametrize(
    ("mode", "flags"),
    [
        ("ask", ["--permission-mode", "default"]),
        ("edits", ["--permission-mode", "acceptEdits"]),
        ("all", ["--dangerously-skip-permissions"]),
    ],
)
def test_the_permission_mode_is_always_passed(programs: Path, mode: str, flags: list[str]) -> None:
    assert arguments("claude", session="", config=Config(permission_mode=mode)) == flags


@pytest.mark.parametrize("session", ["--dangerously-skip-permissions", "-c", "a b", "a\nb"])
def test_the_id_of_a_conversation_is_never_an_option(programs: Path, session: str) -> None:
    """The program reports the id, or another process that pretends to be the program."""
    profile = profiles.load("claude")

    with pytest.raises(Refused, match="conversation"):
        launch_command(profile, prompt="", config=Config(), session_id=session, resume=True)
    with pytest.raises(Refused, match="conversation"):
        launch_command(profile, prompt="", config=Config(), session_id="new", fork_of=session)


@pytest.mark.parametrize("name", profiles.names())
def test_by_default_no_profile_skips_permissions(programs: Path, name: str) -> None:
    made = " ".join(arguments(name, "x"))
    assert not any(word in made for word in ("danger", "yolo", "--auto", "allow-all", "bypass", "yes-always"))


def test_written_claude_flags_go_to_claude_alone(programs: Path) -> None:
    written = Config(claude_flags=("--add-dir", "a b"))

    assert arguments("claude", "p", session="", config=written) == [
        "--permission-mode", "default", "--add-dir", "a b", "--", "p",
    ]  # fmt: skip
    for name in profiles.names():
        if name != "claude":
            assert "--add-dir" not in arguments(name, "p", config=written)


@pytest.mark.parametrize("flag", ["--dangerously-skip-permissions", "--permission-mode=plan"])
def test_claude_flags_that_decide_permissions_replace_the_permission_mode(programs: Path, flag: str) -> None:
    assert arguments("claude", session="", config=Config(claude_flags=(flag,))) == [flag]


HOSTILE = (
    "it's",
    'say "hi"',
    "x'; touch PWNED; echo '",
    "$(touch PWNED) `touch PWNED` ${HOME}",
    "--dangerously-skip-permissions",
    "-",
    "--",
    "@/etc/passwd",
    "line one\nline two\r\n\ttab",
    "{prompt} {session} {model} %s {0} {{}}",
    "\\ \\n \\' * ? [a] ~ ! # & | > <",
    "\x1b[201~\x07\x08",
    "zażółć 🛠️ \u202e\u200d",
    "undecodable \udcff byte",
    " ",
)


@pytest.mark.parametrize("prompt", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("name", profiles.names())
def test_a_prompt_arrives_whole_or_is_pasted_whole(programs: Path, name: str, prompt: str) -> None:
    made = launch_command(profiles.load(name), prompt=prompt, config=Config(), session_id=SESSION)

    if made.pasted_prompt:
        assert made.pasted_prompt == prompt
        assert prompt not in made.argv
    else:
        assert made.argv[-1] == prompt
        assert prompt not in made.argv[:-2]


def test_hostile_prompts_reach_the_program_byte_for_byte(programs: Path) -> None:
    for prompt in HOSTILE:
        made = launch_command(profiles.load("claude"), prompt=prompt, config=Config(), session_id="")
        received = subprocess.run(made.argv, capture_output=True, check=True).stdout.split(b"\0")
        assert received[-2:] == [b"--", os.fsencode(prompt)]


SHIPPED = {name: profiles.load(name) for name in profiles.names()}


@given(prompt=st.text(max_size=200), name=st.sampled_from(profiles.names()))
@example(prompt="!", name="codex")
@example(prompt="!ls", name="opencode")
@example(prompt="/help", name="gemini")
def test_any_text_is_one_argument_one_paste_or_an_error(programs: Path, prompt: str, name: str) -> None:
    profile = SHIPPED[name]
    try:
        made = launch_command(profile, prompt=prompt, config=Config(), session_id="")
    except UsageError:
        assert "\0" in prompt or any(0xD800 <= ord(char) <= 0xDFFF for char in prompt)
        return
    except Refused:
        assert is_command(prompt, profile.rules.texts)
        return
    bare = launch_command(profile, prompt="", config=Config(), session_id="")
    if not prompt:
        assert made == bare
    elif made.pasted_prompt:
        assert made == replace(bare, pasted_prompt=prepared(prompt, profile.rules.texts).text)
        assert prompt in made.pasted_prompt
    else:
        assert made.argv[-1] == prompt


@pytest.mark.parametrize(
    ("name", "prompt"), [("pi", "@file"), ("pi", "-x"), ("gemini", "--help"), ("aider", "hi")]
)
def test_a_prompt_that_would_be_taken_for_an_option_is_pasted(programs: Path, name: str, prompt: str) -> None:
    made = launch_command(profiles.load(name), prompt=prompt, config=Config(), session_id="")
    assert made.pasted_prompt == prompt
    assert prompt not in made.argv


def test_a_long_prompt_goes_by_argument_up_to_what_the_kernel_takes(programs: Path) -> None:
    claude = profiles.load("claude")
    for size in (100_000, ARGUMENT_LIMIT):
        made = launch_command(claude, prompt="x" * size, config=Config(), session_id="")
        assert made.pasted_prompt == ""
        assert len(subprocess.run(made.argv, capture_output=True, check=True).stdout) > size


@pytest.mark.parametrize("prompt", ["x" * (ARGUMENT_LIMIT + 1), "ü" * 70_000, "x" * 1_000_000], ids=len)
def test_a_longer_one_is_pasted(programs: Path, prompt: str) -> None:
    made = launch_command(profiles.load("claude"), prompt=prompt, config=Config(), session_id="S")
    assert made.pasted_prompt == prompt
    assert made.argv[1:] == ("--session-id", "S", "--permission-mode", "default")


@pytest.mark.parametrize("prompt", ["a\0b", "\ud800"])
def test_a_prompt_that_no_program_can_receive_is_a_usage_error(programs: Path, prompt: str) -> None:
    with pytest.raises(UsageError):
        launch_command(profiles.load("claude"), prompt=prompt, config=Config(), session_id="")


# ── finding profiles and programs ──


def test_every_shipped_profile_can_be_started_and_sent_to_another_process(programs: Path) -> None:
    assert set(profiles.names()) == {
        "agy", "aider", "claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen", "shell",
    }  # fmt: skip
    for name in profiles.names():
        profile = profiles.load(name)
        assert profile.install_hint
        assert pickle.loads(pickle.dumps(profile)) == profile
        assert Path(program_path(profile)).is_absolute()


def test_a_program_without_a_profile_gets_its_prompt_as_last_argument(programs: Path) -> None:
    executable(programs / "my-agent")

    profile = profiles.load("my-agent")

    assert (profile.name, profile.rules.quiet_is_idle) == ("my-agent", True)
    assert arguments("my-agent", "it's") == ["it's"]
    assert arguments("my-agent") == []


def test_a_path_is_a_program_too_and_becomes_absolute(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "agent.py")
    monkeypatch.chdir(tmp_path)

    for name in ("./agent.py", str(tmp_path / "agent.py"), "~/agent.py"):
        assert profiles.load(name).program == str(tmp_path / "agent.py")


def test_a_link_is_called_by_its_own_name(programs: Path) -> None:
    (programs / "renamed").symlink_to(programs / "claude")
    assert profiles.load("renamed").program == str(programs / "renamed")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *(
            (name, "no profile or program")
            for name in ("nowhere", "", "../x", "a b", "nul\0", "~nobody-here/x")
        ),
        ("./folder", "./folder is a folder, not a program"),
        ("./plain", "./plain is not executable"),
    ],
)
def test_what_is_neither_profile_nor_program_is_not_found(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(NotFound, match=problem):
        profiles.load(name)


def test_a_program_that_is_not_installed_says_how_to_install_it(programs: Path) -> None:
    (programs / "claude").unlink()

    with pytest.raises(NotFound) as caught:
        arguments("claude")

    assert "claude" in caught.value.message
    assert "npm install -g @anthropic-ai/claude-code" in caught.value.hint


def test_the_configured_path_is_where_programs_are_looked_up(programs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    executable(other / "claude")

    made = launch_command(
        profiles.load("claude"), prompt="", config=Config(env={"PATH": str(other)}), session_id=""
    )

    assert made.argv[0] == str(other / "claude")


def test_a_users_profile_overrides_ours_key_by_key(programs: Path) -> None:
    executable(programs / "claude-next")
    user_profile(
        "claude", 'program = "claude-next"\n[permission]\nask = ["--careful"]\n[status]\nrules = []\n'
    )

    assert arguments("claude", "p") == ["--session-id", SESSION, "--careful", "--", "p"]
    assert profiles.load("claude").install_hint


def test_a_users_profile_can_extend_another_under_a_new_name(programs: Path) -> None:
    user_profile("work", 'extends = "claude"\n[environment]\nset = { CLAUDE_CONFIG_DIR = "/work" }\n')

    profile = profiles.load("work")

    assert "work" in profiles.names()
    assert (profile.name, profile.program, profile.env) == ("work", "claude", {"CLAUDE_CONFIG_DIR": "/work"})
    assert "--x" in arguments("work", config=Config(claude_flags=("--x",)))


@pytest.mark.parametrize("key", ["request", "wish"])
def test_a_profile_says_what_a_question_is_about_under_either_key(programs: Path, key: str) -> None:
    """Profiles that were written for an earlier version have the second one."""
    hook = '[[status.hook]]\nname = "asks"\nstatus = "blocked"\nwhere = { event = "Ask" }\n'
    user_profile("mine", f'program = "mine"\n{hook}{key} = {{ command = "{{tool.command}}" }}\n')

    found = profiles.load("mine")

    assert found.rules.hook[0].request == {"command": "{tool.command}"}
    assert found.problems == ()


def test_an_event_server_without_a_schema_has_that_of_opencode(programs: Path) -> None:
    user_profile("mine", 'program = "mine"\n[status.stream]\npath = "/event"\n')

    port = profiles.load("mine").event_port

    assert port is not None
    assert (port.path, port.schema) == ("/event", "opencode")


@pytest.mark.parametrize(
    "text",
    [
        "program = 3\n",
        "start = 3\n",
        '[start]\nprompt = "{prompt}"\n',
        '[start]\ndelivery = "telepathy"\n',
        '[session]\nkind = "guess"\n',
        "[environment]\nset = { A = 1 }\n",
        '[status]\nquiet_is_idle = "yes"\n',
        '[status.stream]\nschema = "guess"\n',
        '[inject.files]\n"../settings.json" = ""\n',
        '[inject.files]\n"/tmp/settings.json" = ""\n',
        '[inject.files]\n".." = ""\n',
        'extends = "mine"\n',
        "extends = 3\n",
        "not toml",
    ],
)
def test_a_malformed_profile_is_a_usage_error_of_one_line(programs: Path, text: str) -> None:
    user_profile("mine", text)

    with pytest.raises(UsageError) as caught:
        profiles.load("mine")

    assert "mine" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_profile_without_a_program_cannot_be_started(programs: Path) -> None:
    with pytest.raises(UsageError, match="has no program"):
        arguments("generic", "x")


# ── environment ──

REMOVED = """
CLAUDECODE CLAUDE_PID CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SSE_PORT CLAUDE_CODE_MESSAGING_SOCKET
CLAUDE_CODE_MESSAGING_TOKEN TMUX TMUX_PANE STY ZELLIJ ZELLIJ_SESSION_NAME TERM_PROGRAM TERM_PROGRAM_VERSION
KITTY_WINDOW_ID GHOSTTY_RESOURCES_DIR WEZTERM_PANE VTE_VERSION COLUMNS LINES
FLEET_AGENT_ID FLEET_SOCKET FLEET_PORT_BASE FLEET_ANYTHING
"""
KEPT = """
CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CONFIG_DIR CLAUDE_CODE_USE_BEDROCK CODEX_HOME OPENAI_API_KEY PATH HOME LANG
SSH_AUTH_SOCK TERMINFO STYLE
"""


def made_environment(name: str, base: dict[str, str], **changes: object) -> dict[str, str]:
    given_values = {
        "agent_id": "k7",
        "socket": "/run/k7",
        "folder": "/agents/k7/1",
        "port_base": 4100,
    } | changes
    return program_environment(profiles.load(name), base, **given_values)  # type: ignore[arg-type]  # spelled out above


def test_an_agents_environment_is_exactly_the_users_own_and_ours(programs: Path) -> None:
    kept = dict.fromkeys(KEPT.split(), "outer")
    base = dict.fromkeys([*REMOVED.split(), "TERM", "COLORTERM"], "outer") | kept

    made = made_environment("claude", base)

    assert made == kept | {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "FLEET_AGENT_ID": "k7",
        "FLEET_SOCKET": "/run/k7",
        "FLEET_FOLDER": "/agents/k7/1",
        "FLEET_PORT_BASE": "4100",
    }
    assert base["TMUX"] == "outer"


def test_a_profile_removes_its_own_session_markers_and_keeps_its_login(programs: Path) -> None:
    base = {"CODEX_THREAD_ID": "t", "CODEX_SANDBOX": "seatbelt", "CODEX_HOME": "/home/codex"}
    made = made_environment("codex", base)
    assert "CODEX_THREAD_ID" not in made
    assert "CODEX_SANDBOX" not in made
    assert made["CODEX_HOME"] == "/home/codex"


def test_configured_variables_are_added_but_never_ours_replaced(programs: Path) -> None:
    made = made_environment(
        "claude", {}, extra={"DATABASE": "x", "TERM": "vt100", "FLEET_SOCKET": "evil", "FLEET_X": "y"}
    )
    assert (made["DATABASE"], made["TERM"], made["FLEET_SOCKET"]) == ("x", "vt100", "/run/k7")
    assert "FLEET_X" not in made


def test_a_program_that_takes_permissions_from_its_environment_gets_them_there(programs: Path) -> None:
    assert '"bash":"ask"' in made_environment("opencode", {})["OPENCODE_PERMISSION"]
    assert "OPENCODE_PERMISSION" not in made_environment("opencode", {}, permission_mode="all")


def test_only_a_regular_file_is_a_profile(home: Path) -> None:
    folder = paths.user_profiles()
    (folder / "folder.toml").mkdir(parents=True)
    os.mkfifo(folder / "pipe.toml")

    assert {"folder", "pipe"}.isdisjoint(profiles.names())
    with pytest.raises(NotFound):
        profiles.load("pipe")


@pytest.mark.parametrize("name", profiles.names())
def test_our_own_profiles_have_no_key_that_means_nothing(name: str) -> None:
    assert profiles.load(name).problems == ()


def test_a_key_that_means_nothing_is_named_with_its_file_and_what_may_be_meant() -> None:
    file = paths.user_profiles() / "rep.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        'progam = "rep"\n[start]\nagrs = ["x"]\n[whatever]\nx = 1\n[[status.screen]]\nname = "a"\nstatus = "idle"\nmtach = "x"\n'
    )

    loaded = profiles.load("rep")

    assert loaded.problems == (
        f"{file}: there is no key progam (did you mean program?)",
        f"{file}: there is no key whatever",
        f"{file}: there is no key start.agrs (did you mean args?)",
        f"{file}: there is no key status.screen.1.mtach (did you mean match?)",
    )
    with pytest.raises(UsageError, match="profile 'rep' has no program") as refused:
        program_path(loaded)
    assert refused.value.hint == loaded.problems[0]


@pytest.mark.parametrize(
    ("name", "settings", "warns"),
    [
        ("claude", {}, True),
        ("codex", {}, True),
        ("claude", {"permission_mode": "edits"}, False),
        ("claude", {"claude_flags": ("--permission-mode=acceptEdits",)}, False),
        ("codex", {"claude_flags": ("--permission-mode=acceptEdits",)}, True),
    ],
)
def test_a_headless_agent_that_may_not_ask_is_warned_of(
    name: str, settings: dict[str, Any], warns: bool
) -> None:
    said = headless_warning(profiles.load(name), Config(**settings))

    assert bool(said) is warns
    if warns:
        assert said.startswith("headless agents cannot ask; with permission_mode ask")
        assert "\n" not in said


@pytest.mark.parametrize(("profile", "prompt"), [("claude", "/model"), ("codex", "!touch it")])
def test_a_program_is_not_started_with_a_text_that_it_would_run_as_a_command(
    profile: str, prompt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / profile
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Refused, match=r"command|shell"):
        launch_command(profiles.load(profile), prompt=prompt, config=Config(), session_id="")
    plain = launch_command(profiles.load(profile), prompt="about " + prompt, config=Config(), session_id="")
    assert plain.argv[-1] == "about " + prompt
