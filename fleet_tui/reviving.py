"""What another run of an agent goes on with: its conversation, its settings as they are now, and how it is called."""

from __future__ import annotations

import time
from pathlib import Path

from fleet_tui import config, conversations, git, paths, profiles
from fleet_tui.errors import Refused, UsageError
from fleet_tui.holder import Conversation, read_record
from fleet_tui.intents import Intent
from fleet_tui.models import Agent, Status
from fleet_tui.store import Store
from fleet_tui.values import replace


def conversation_to_copy(store: Store, source: Agent, new_name: str) -> str:
    """Its own, or while a fork has said nothing yet, the one that it is a copy of."""
    session = source.session_id or _capture(store, source)
    problem = "" if session else "has no conversation that is known"
    if session and not conversations.has_begun(store, source):
        session = str(store.intent(source.id).get("fork_of") or "")
        problem = "" if session else "has not begun a conversation yet"
    if problem:
        raise Refused(
            f"{source.name} {problem}",
            hint=f"fleet create {new_name} --base {source.branch} starts a new one",
        )
    return session


def settings(agent: Agent, *, own_settings: bool) -> config.Config:
    """Those of the agent's own project: what another one allows is not allowed here. Refused while not trusted."""
    found = config.load(
        Path(agent.project), trusted=False if own_settings else None, include=not own_settings
    )
    if found.untrusted:
        from fleet_tui import trust

        raise trust.untrusted(found.untrusted)
    return found


def intended(
    store: Store,
    agent: Agent,
    prompt: str,
    *,
    fresh: bool,
    size: tuple[int, int],
    own_settings: bool = False,
) -> tuple[Agent, Intent]:
    """An agent with its conversation, and what is to be made of it."""
    agent = replace(agent, session_id=_conversation(store, agent, fresh=fresh))
    found = settings(agent, own_settings=own_settings)
    intent = _intent(store, agent, prompt, found, fresh=fresh, size=size)
    # Not those it was created with: the project may ask for less by now, or the user trust it no more.
    intent = replace(
        intent,
        setup=found.setup_commands if intent.setup else (),
        env=dict(found.env),
        permission_mode=found.permission_mode,
    )
    return agent, intent


def _conversation(store: Store, agent: Agent, *, fresh: bool) -> str:
    """The id of the conversation that a run is to go on with, or of a new one where that is ours to choose."""
    if fresh:
        # Programs refuse to begin a conversation under an id that they know.
        return profiles.new_session(profiles.load(agent.profile))
    told = read_record(paths.run(agent.id, agent.run) / "session.json", Conversation)
    if told is not None:
        return told.session_id
    return agent.session_id or _capture(store, agent)


def _capture(store: Store, agent: Agent) -> str:
    """The conversation of an agent whose program chose its id, if it can be found by now."""
    conversations.capture(store, [agent], at_once=True)
    return store.agent(agent.id).session_id


def _intent(
    store: Store,
    agent: Agent,
    prompt: str,
    settings: config.Config,
    *,
    fresh: bool,
    size: tuple[int, int],
) -> Intent:
    if not agent.has_ended or agent.status is Status.KILLED:
        raise Refused(f"{agent.name} is {agent.status} by now", hint="fleet list shows what it does")
    if not Path(agent.worktree).is_dir():
        raise Refused(
            f"the worktree of {agent.name} is gone", hint=f"fleet create NAME --base {agent.branch}"
        )
    intent = Intent.read(store.intent(agent.id))
    if problem := git.link_problems(store.git_dirs([agent]), [agent]).get(agent.id):
        raise Refused(
            f"{agent.name} is not started: {problem}", hint=f"in {agent.project}: fleet list --repair"
        )
    first = agent.prompt if fresh else ""
    if intent.headless and not (prompt or first).strip():
        raise UsageError(
            f"{agent.name} works headlessly, so going on needs a prompt",
            hint=f'fleet revive {agent.name} -p "…", or --fresh to start over',
        )
    profile = profiles.load(agent.profile)
    goes_on = not fresh and (intent.headless or conversations.has_begun(store, agent))
    command = profiles.command(
        profile,
        prompt=prompt or first,
        config=settings,
        session_id=agent.session_id,
        resume=goes_on,
        fork_of="" if fresh or goes_on else intent.fork_of,
        worktree=agent.worktree,
        folder=str(paths.run(agent.id, agent.run + 1)),
        headless=intent.headless,
    )
    captures = fresh and profiles.captures(profile)
    return replace(
        intent,
        makes_worktree=False,
        setup=() if _is_set_up(agent) else intent.setup,
        argv=command.argv,
        prompt=prompt or first,
        pasted_prompt=command.pasted_prompt,
        policy=settings.policy,
        fork_of="" if fresh else intent.fork_of,
        captures_since=time.time() if captures else intent.captures_since,
        cols=size[0],
        rows=size[1],
    )


def _is_set_up(agent: Agent) -> bool:
    """Whether the setup commands of the last run came to their end."""
    try:
        log = paths.run(agent.id, agent.run) / "setup.log"
        return log.read_text(encoding="utf-8").endswith("done\n")
    except OSError:
        return agent.status is not Status.FAILED
