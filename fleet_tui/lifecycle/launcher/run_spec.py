"""Build the run spec of a holder from a launch request: command line, environment, injected files."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_tui import paths
from fleet_tui.holder.run_folder import SETUP_SCRIPT
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.system import files

if TYPE_CHECKING:
    from fleet_tui.lifecycle.intent import Intent
    from fleet_tui.models import Agent
    from fleet_tui.programs.profile import Profile

TURN_END = "fleet_tui.fleet.turn_end"
"""The program that a holder starts when a turn has ended."""


def run_spec(agent: Agent, intent: Intent, profile: Profile) -> RunSpec:
    """Create the run's folder with the files that the program needs, and return what to run."""
    from fleet_tui.programs.environment import program_environment

    folder = paths.private(paths.run(agent.id, agent.run))
    address = str(paths.sockets() / f"{agent.id}.sock")
    if intent.setup:
        script = Path(__file__).parents[2] / "holder" / SETUP_SCRIPT
        files.replace(folder / SETUP_SCRIPT, script.read_bytes())
    _inject(profile, folder)
    environment = program_environment(
        profile,
        os.environ,
        agent_id=agent.id,
        socket=address,
        folder=str(folder),
        port_base=agent.port_base,
        extra=dict(intent.settings.env),
        permission_mode=intent.settings.permission_mode,
    )
    argv, stream = _listening(profile, intent, environment)
    return RunSpec(
        agent=agent.id,
        run=agent.run,
        folder=str(folder),
        state_folder=str(paths.state()),
        socket=address,
        argv=argv,
        cwd=intent.worktree,
        # Some programs trust PWD, and the inherited one is the caller's folder.
        env=environment | {"PWD": intent.worktree},
        cols=intent.cols,
        rows=intent.rows,
        setup=intent.setup,
        prompt=intent.prompt or intent.pasted_prompt,
        is_prompt_given=not intent.pasted_prompt,
        signals=profile.rules.to_plain(),
        stream=stream,
        settings=intent.settings,
        name=agent.name,
        after_turn=_after_turn(agent) if intent.settings.checkpoint_automatic else (),
    )


def _after_turn(agent: Agent) -> tuple[str, ...]:
    """The command that makes a checkpoint. By its name, because it is a program of its own in a room above."""
    # -P: never import from the current folder.
    return (sys.executable, "-P", "-m", TURN_END, agent.id, str(paths.store()))


def _listening(
    profile: Profile, intent: Intent, environment: dict[str, str]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Add the arguments for the program's event port, if it has one; returns them with what it takes to connect."""
    stream = profile.event_port
    if stream is None or intent.headless:
        return intent.argv, {}
    import secrets

    port = _free_port()
    password = secrets.token_urlsafe(24) if stream.password else ""
    if stream.password:
        environment[stream.password] = password
    args = tuple(part.replace("{port}", str(port)) for part in stream.args)
    connection = {"port": port, "path": stream.path, "user": stream.user, "password": password}
    return (intent.argv[0], *args, *intent.argv[1:]), connection | {
        "catch_up": dict(stream.catch_up),
        "schema": stream.schema,
    }


def _free_port() -> int:
    """A free port of the system's choice: the agent's own block may be in use by other programs."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def _inject(profile: Profile, folder: Path) -> None:
    """Write the hook script and the profile's files into the run's folder."""
    from fleet_tui.holder import hooks
    from fleet_tui.programs.command import injected_files

    if not profile.inject_files:
        return
    hooks.prepare(folder)
    hook = folder / hooks.SCRIPT
    files.replace(hook, (Path(__file__).parents[2] / "holder" / hooks.SCRIPT).read_bytes())
    hook.chmod(0o700)
    for name, content in injected_files(profile, str(hook)).items():
        files.replace(folder / name, content.encode())
