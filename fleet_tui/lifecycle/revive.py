"""Plan another run of an ended agent: its conversation, the settings in force now, and its command line."""

from __future__ import annotations

import time
from pathlib import Path

from fleet_tui import git, paths
from fleet_tui.config.load import load
from fleet_tui.config.settings import Config
from fleet_tui.errors import Refused, UsageError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.holder.run_folder import SESSION_FILE, SETUP_LOG, HeadlessSession, read_record
from fleet_tui.lifecycle import conversations
from fleet_tui.lifecycle.intent import Intent
from fleet_tui.lifecycle.request import RevivalRequest
from fleet_tui.models import Agent, Status
from fleet_tui.programs import profiles
from fleet_tui.programs.command import launch_command, new_session
from fleet_tui.store.database import Store


def conversation_to_copy(store: Store, source: Agent, new_name: str) -> str:
    """The conversation that a fork of this agent continues.

    Usually the agent's own. A fork that has said nothing yet has none, and passes on the one it copied itself.
    """
    session = source.session_id or _capture(store, source)
    problem = "" if session else "has no known conversation"
    if session and not conversations.has_begun(store, source):
        session = str(store.agents.intent(source.id).get("fork_of") or "")
        problem = "" if session else "has not begun a conversation yet"
    if problem:
        raise Refused(
            f"{source.name} {problem}",
            hint=f"start a new one with: fleet create {new_name} --base {source.branch}",
        )
    return session


def settings(agent: Agent, *, own_settings: bool) -> Config:
    """The settings of the agent's own project, whatever project the caller is in. Refused while not trusted."""
    found = load(Path(agent.project), trusted=False if own_settings else None, include=not own_settings)
    if found.untrusted:
        from fleet_tui.lifecycle import trust

        raise trust.untrusted(found.untrusted)
    return found


def plan_revival(store: Store, agent: Agent, request: RevivalRequest) -> tuple[Agent, Intent]:
    """The agent with its conversation, and the intent of its next run."""
    agent = replace(agent, session_id=_conversation(store, agent, fresh=request.fresh))
    # Not the settings it was created with: the project may ask for less now, or have lost the user's trust.
    return agent, _intent(store, agent, request, settings(agent, own_settings=request.own_settings))


def _conversation(store: Store, agent: Agent, *, fresh: bool) -> str:
    """The id of the conversation to continue, or of a new one if fleet chooses the ids of this program."""
    if fresh:
        # Programs refuse to begin a conversation under an id that they know.
        return new_session(profiles.load(agent.profile))
    recorded = read_record(paths.run(agent.id, agent.run) / SESSION_FILE, HeadlessSession)
    if recorded is not None:
        return recorded.session_id
    return agent.session_id or _capture(store, agent)


def _capture(store: Store, agent: Agent) -> str:
    """The conversation of an agent whose program chose the id; empty if it cannot be found yet."""
    conversations.capture(store, [agent], at_once=True)
    return store.agents.get(agent.id).session_id


def _intent(store: Store, agent: Agent, request: RevivalRequest, settings: Config) -> Intent:
    if not agent.has_ended or agent.status is Status.KILLED:
        raise Refused(f"{agent.name} is {agent.status} now", hint="see fleet list")
    if not Path(agent.worktree).is_dir():
        raise Refused(
            f"the worktree of {agent.name} is gone", hint=f"fleet create NAME --base {agent.branch}"
        )
    intent = Intent.read(store.agents.intent(agent.id))
    if problem := git.link_problems(store.agents.git_dirs([agent]), [agent]).get(agent.id):
        raise Refused(
            f"{agent.name} is not started: {problem}", hint=f"in {agent.project}: fleet list --repair"
        )
    fresh = request.fresh
    prompt = request.prompt or (agent.prompt if fresh else "")
    if intent.headless and not prompt.strip():
        raise UsageError(
            f"{agent.name} is headless and needs a prompt to continue",
            hint=f'fleet revive {agent.name} -p "…", or --fresh to start over',
        )
    profile = profiles.load(agent.profile)
    resume = not fresh and (intent.headless or conversations.has_begun(store, agent))
    command = launch_command(
        profile,
        prompt=prompt,
        config=settings,
        session_id=agent.session_id,
        resume=resume,
        fork_of="" if fresh or resume else intent.fork_of,
        worktree=agent.worktree,
        folder=str(paths.run(agent.id, agent.run + 1)),
        headless=intent.headless,
    )
    captures = fresh and profile.captures_session
    return replace(
        intent,
        worktree=agent.worktree,  # it may have been moved
        makes_worktree=False,
        setup=settings.setup_commands if intent.setup and not _is_set_up(agent) else (),
        argv=command.argv,
        prompt=prompt,
        pasted_prompt=command.pasted_prompt,
        settings=settings.run,
        fork_of="" if fresh else intent.fork_of,
        captures_since=time.time() if captures else intent.captures_since,
        cols=request.size[0],
        rows=request.size[1],
    )


def _is_set_up(agent: Agent) -> bool:
    """Whether the setup commands of the last run have completed."""
    try:
        log = paths.run(agent.id, agent.run) / SETUP_LOG
        return log.read_text(encoding="utf-8").endswith("done\n")
    except OSError:
        return agent.status is not Status.FAILED
