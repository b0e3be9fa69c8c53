"""Command line of one run: flags, session, permissions and prompt, as a profile has them."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fleet_tui.errors import Refused, UsageError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.programs import profiles
from fleet_tui.programs.executable import program_path
from fleet_tui.programs.profile import Profile
from fleet_tui.programs.prompt_text import prepared, refusal_at_start

if TYPE_CHECKING:
    from fleet_tui.config.settings import Config

ARGUMENT_LIMIT = 128 * 1024 - 1
"""Bytes of one argument: Linux refuses 32 pages or more, including the final NUL."""

_SESSION = re.compile(r"[^\s-]\S*")


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """What to execute, and the prompt to paste once the program takes input."""

    argv: tuple[str, ...]
    """The first element is an absolute path."""
    pasted_prompt: str = ""
    """The prompt if it cannot go on the command line; empty otherwise."""


def launch_command(
    profile: Profile,
    *,
    prompt: str,
    config: Config,
    session_id: str,
    resume: bool = False,
    fork_of: str = "",
    worktree: str = "",
    model: str = "",
    folder: str = "",
    headless: bool = False,
) -> LaunchCommand:
    """The full command line of one run. The prompt is a single argument, whatever it contains.

    `folder` is the run's folder; without it nothing is injected.
    """
    _check_prompt(prompt)
    _check_session(session_id)
    _check_session(fork_of)
    if headless:
        return _headless(profile, prompt, config, session_id, resume=resume, model=model)
    head = (
        program_path(profile, config.env.get("PATH")),
        *(
            _fork_flags(profile, fork_of, session_id, worktree)
            if fork_of
            else _session_flags(profile, session_id, resume=resume)
        ),
        *_injected(profile, config, folder),
        *profile.args,
        *_permission_flags(profile, config),
        *_filled(profile.model_flag if model else (), "{model}", model),
    )
    if prompt and _goes_on_command_line(profile, prompt):
        _check_first(profile, refusal_at_start(prompt, profile.rules.texts))
        return LaunchCommand((*head, *_filled(profile.argv_prompt, "{prompt}", prompt)))
    pasted = prepared(prompt, profile.rules.texts)
    _check_first(profile, pasted.refusal if prompt else "")
    return LaunchCommand((*head, *profile.argv_bare), pasted_prompt=pasted.text if prompt else "")


def _check_first(profile: Profile, refusal: str) -> None:
    """Refuse a prompt that the program would run as a command instead of sending it to the model."""
    if refusal:
        raise Refused(
            f"{profile.name} cannot be started with this prompt: {refusal}",
            hint='start it without one, then: fleet prompt AGENT "…" --command',
        )


def _headless(
    profile: Profile, prompt: str, config: Config, session_id: str, *, resume: bool, model: str
) -> LaunchCommand:
    """The command line of `holder.headless` around the program's headless mode."""
    check_headless(profile)
    if not prompt.strip():
        raise UsageError("a headless agent needs a prompt", hint="give it with -p")
    if len(os.fsencode(prompt)) > ARGUMENT_LIMIT:
        raise UsageError(
            f"a headless agent's prompt has at most {ARGUMENT_LIMIT} bytes",
            hint="put it in a file and name the file",
        )
    if resume and not session_id:
        raise Refused("its conversation is unknown", hint="start over with --fresh")
    flags = {
        "{permission}": _permission_flags(profile, config, profile.headless_modes),
        "{model}": _filled(profile.model_flag if model else (), "{model}", model),
    }
    argv = [program_path(profile, config.env.get("PATH"))]
    for part in profile.headless_resume if resume else profile.headless_argv:
        argv += flags[part] if part in flags else _filled([part], "{session}", session_id)
    given = ("--stdin", prompt) if profile.prompt_on_stdin else ()
    # Without -P, Python would load modules from the worktree.
    runner = (sys.executable, "-P", "-m", "fleet_tui.holder.headless", profile.headless_stream, *given, "--")
    return LaunchCommand((*runner, *_filled(argv, "{prompt}", prompt)))


def check_headless(profile: Profile) -> None:
    if not profile.headless_stream:
        known = ", ".join(name for name in profiles.names() if profiles.load(name).headless_stream)
        raise UsageError(
            f"{profile.name} has no headless mode", hint=f"leave out --headless, or choose from {known}"
        )


def headless_warning(profile: Profile, config: Config) -> str:
    """One line about what a headless run of this program may not do; empty if nothing."""
    written = config.claude_flags if profile.takes_claude_flags else ()
    if config.permission_mode != "ask" or _is_decided(profile, written):
        return ""
    return (
        f"headless agents cannot ask; with permission_mode ask {profile.name} may not change files: "
        "fleet config set agent.permission_mode edits"
    )


def _check_prompt(prompt: str) -> None:
    if "\0" in prompt:
        raise UsageError("a prompt cannot contain NUL bytes", hint="remove them")
    try:
        os.fsencode(prompt)
    except UnicodeEncodeError as error:
        raise UsageError("the prompt is not valid Unicode text", hint="save it as UTF-8") from error


def _check_session(session_id: str) -> None:
    """Refuse an id that would be an option on a command line: ids come from records that programs write."""
    if session_id and not _SESSION.fullmatch(session_id):
        raise Refused(
            f"{session_id!r:.60} is not a conversation id", hint="start over with fleet revive --fresh"
        )


def _goes_on_command_line(profile: Profile, prompt: str) -> bool:
    if profile.prompt_delivery == "paste" or prompt.startswith(profile.paste_prefixes):
        return False
    if not any("{prompt}" in part for part in profile.argv_prompt):
        return False
    longest = max(len(os.fsencode(part)) for part in _filled(profile.argv_prompt, "{prompt}", prompt))
    return longest <= ARGUMENT_LIMIT


def _session_flags(profile: Profile, session_id: str, *, resume: bool) -> tuple[str, ...]:
    if resume:
        known = bool(session_id and profile.argv_resume)
        return _filled(profile.argv_resume if known else profile.argv_resume_last, "{session}", session_id)
    if profile.session == "mint" and session_id:
        return _filled(profile.argv_session, "{session}", session_id)
    return ()


def _injected(profile: Profile, config: Config, folder: str) -> tuple[str, ...]:
    written = config.claude_flags if profile.takes_claude_flags else ()
    if not folder or any(flag.partition("=")[0] in profile.inject_unless for flag in written):
        return ()
    return _filled(profile.inject_args, "{folder}", folder)


def injected_files(profile: Profile, hook: str) -> dict[str, str]:
    """Contents of the files to write into a run's folder before its program starts, by name."""
    quoted = shlex.quote(hook)
    return {
        # The command is inside a JSON or TOML string, and a shell reads it there.
        name: content.replace("{hook}", json.dumps(quoted)[1:-1])
        for name, content in profile.inject_files.items()
    }


def check_fork(profile: Profile) -> None:
    """Refuse a program that cannot continue a copy of a conversation."""
    if not profile.argv_fork:
        raise Refused(
            f"{profile.name} cannot continue a copy of a conversation",
            hint=f"the profile {profile.name!r} has no [session] fork; fleet create starts a new conversation",
        )


def _fork_flags(profile: Profile, fork_of: str, session_id: str, worktree: str) -> tuple[str, ...]:
    flags = _filled(profile.argv_fork, "{session}", fork_of)
    return _filled(_filled(flags, "{new_session}", session_id), "{worktree}", worktree)


def new_session(profile: Profile) -> str:
    """A new conversation id if fleet chooses it; empty otherwise."""
    import uuid

    return str(uuid.uuid4()) if profile.session == "mint" else ""


def _permission_flags(
    profile: Profile, config: Config, instead: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[str, ...]:
    written = config.claude_flags if profile.takes_claude_flags else ()
    if _is_decided(profile, written):
        return written
    modes = {**profile.permission_modes, **(instead or {})}
    return (*modes.get(config.permission_mode, ()), *written)


def _is_decided(profile: Profile, flags: Sequence[str]) -> bool:
    """Whether the user's own flags decide permissions."""
    return any(flag.partition("=")[0] in profile.permission_decided_by for flag in flags)


def _filled(template: Sequence[str], placeholder: str, value: str) -> tuple[str, ...]:
    """The template with its placeholder replaced. Not `str.format`, as prompts contain braces."""
    return tuple(part.replace(placeholder, value) for part in template)
