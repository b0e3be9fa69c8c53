"""What an agent has printed: its screen, its log, the two as one, and as they grow. Only reads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fleet_tui import paths, transcript
from fleet_tui.errors import HolderGone
from fleet_tui.holder import is_held
from fleet_tui.models import Agent
from fleet_tui.session import final_view
from fleet_tui.speaking import open_session
from fleet_tui.store import Store

if TYPE_CHECKING:
    from fleet_tui.transcript import LogPlace

FOLLOW_SECONDS = 0.1
RAW_BYTES = 1 << 20

Rest = Callable[[float], None]
"""Passes the time until there may be more."""


def screen(agent: Agent) -> list[str]:
    """The screen as text; of an ended agent, as it was left."""
    seen = _seen(agent)
    if seen is not None:
        lines: list[str] = seen["lines"]
        return lines
    view = final_view(paths.run(agent.id, agent.run))
    return view.text() if view is not None else []


def _seen(agent: Agent) -> dict[str, Any] | None:
    """The screen as its holder has it; None when there is no holder any more."""
    if agent.has_ended:
        return None
    try:
        with open_session(agent, rate=0) as session:
            return session.ask("peek")
    except HolderGone:
        if is_held(paths.lock(agent.id)):
            raise
        return None


def lines(
    store: Store, agent: Agent, count: int, unseen: Callable[[HolderGone], None] = lambda _: None
) -> list[str]:
    """The last lines an agent printed: what has scrolled away, then what is on its screen.

    While nobody can show the screen, `unseen` is told why, and it is what the log has.
    """
    seen: dict[str, Any] | None = None
    try:
        seen = _beside_log(store, agent)
    except HolderGone as error:
        unseen(error)
    shown: list[str] = [] if seen is None else seen["lines"]
    while shown and not shown[-1].strip():
        shown.pop()
    older = transcript.last_lines(paths.run(agent.id, agent.run), count, _place(seen))
    if seen is not None and seen.get("alternate"):
        # What has stood still there is in the log as well.
        older = [line for line in older if line not in shown]
    return [*older, *shown][-count:] if count else []


def _beside_log(store: Store, agent: Agent) -> dict[str, Any] | None:
    """The screen and where in the log it goes on from; None when it is in the log itself."""
    seen = _seen(store.agent(agent.id))
    return None if seen is None or seen.get("in_log") else seen


def _place(seen: dict[str, Any] | None) -> LogPlace | None:
    """Where the log goes on with the screen; a holder of an earlier version does not say."""
    if seen is None or "log" not in seen:
        return None
    inode, offset = seen["log"]
    return (inode, offset)


def follow(store: Store, agent: Agent, last: int, rest: Rest = time.sleep) -> Iterator[str]:
    """The last lines, then lines as they come, until the agent has ended."""
    follower = transcript.Follower(paths.run(agent.id, agent.run), last=last)
    shown = transcript.Shown()
    while True:
        is_over = not is_held(paths.lock(agent.id))
        seen: dict[str, Any] | None = None
        with contextlib.suppress(HolderGone):
            seen = _beside_log(store, agent)
        yield from shown.logged(follower.read(_place(seen)))
        if is_over:
            return
        if seen is not None and not seen.get("alternate"):
            # The line that the cursor is on may not be finished.
            yield from shown.on_screen(seen["lines"][: seen["cursor"][1]])
        rest(FOLLOW_SECONDS)


def raw(agent: Agent, *, follow: bool = False, rest: Rest = time.sleep) -> Iterator[bytes]:
    """Every byte that is kept of what an agent printed."""
    offset = 0
    while True:
        is_over = not is_held(paths.lock(agent.id))
        while True:
            start, data = transcript.read(paths.run(agent.id, agent.run), offset, RAW_BYTES)
            if not data:
                break
            offset = start + len(data)
            yield data
        if is_over or not follow:
            return
        rest(FOLLOW_SECONDS)
