"""Output of an agent: screen, log lines, raw bytes, and following them as they grow. Only reads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fleet_tui import paths
from fleet_tui.errors import HolderGone
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.session import final_view, open_session
from fleet_tui.holder.transcript import segments
from fleet_tui.holder.transcript.follow import Follower, ShownLines, last_lines
from fleet_tui.models import Agent
from fleet_tui.store.database import Store

if TYPE_CHECKING:
    from fleet_tui.holder.transcript.lines import LogPlace

FOLLOW_SECONDS = 0.1
RAW_BYTES = 1 << 20

Rest = Callable[[float], None]
"""Waits the given seconds until there may be more output."""


def screen(agent: Agent) -> list[str]:
    """The screen as text; for an ended agent, its last screen."""
    seen = _seen(agent)
    if seen is not None:
        lines: list[str] = seen["lines"]
        return lines
    view = final_view(paths.run(agent.id, agent.run))
    return view.text() if view is not None else []


def _seen(agent: Agent) -> dict[str, Any] | None:
    """The holder's current screen; None without a holder."""
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
    """The last lines that an agent printed: log lines that scrolled off, then the screen.

    If the holder does not answer, `unseen` receives the reason, and only the log is returned.
    """
    seen: dict[str, Any] | None = None
    try:
        seen = _screen_after_log(store, agent)
    except HolderGone as error:
        unseen(error)
    # Holders of earlier versions send only the visible rows.
    shown: list[str] = [] if seen is None else seen.get("joined", seen["lines"])
    while shown and not shown[-1].strip():
        shown.pop()
    older = last_lines(paths.run(agent.id, agent.run), count, _place(seen))
    if seen is not None and seen.get("alternate"):
        # Lines of an alternate screen that have settled are in the log, too.
        older = [line for line in older if line not in shown]
    return [*older, *shown][-count:] if count else []


def _screen_after_log(store: Store, agent: Agent) -> dict[str, Any] | None:
    """The screen and the place in the log that it continues; None if the log includes the screen already."""
    seen = _seen(store.agents.get(agent.id))
    return None if seen is None or seen.get("in_log") else seen


def _place(seen: dict[str, Any] | None) -> LogPlace | None:
    """The place in the log that the screen continues; None from a holder of an earlier version."""
    if seen is None or "log" not in seen:
        return None
    inode, offset = seen["log"]
    return (inode, offset)


def follow(store: Store, agent: Agent, last: int, rest: Rest = time.sleep) -> Iterator[str]:
    """Yield the last lines, then new lines as they appear, until the agent has ended."""
    follower = Follower(paths.run(agent.id, agent.run), last=last)
    shown = ShownLines()
    while True:
        is_over = not is_held(paths.lock(agent.id))
        seen: dict[str, Any] | None = None
        with contextlib.suppress(HolderGone):
            seen = _screen_after_log(store, agent)
        yield from shown.logged(follower.read(_place(seen)))
        if is_over:
            return
        if seen is not None and not seen.get("alternate"):
            # The cursor's line may be incomplete.
            yield from shown.on_screen(seen["lines"][: seen["cursor"][1]])
        rest(FOLLOW_SECONDS)


def raw(agent: Agent, *, follow: bool = False, rest: Rest = time.sleep) -> Iterator[bytes]:
    """Yield the kept bytes of an agent's output."""
    offset = 0
    while True:
        is_over = not is_held(paths.lock(agent.id))
        while True:
            start, data = segments.read(paths.run(agent.id, agent.run), offset, RAW_BYTES)
            if not data:
                break
            offset = start + len(data)
            yield data
        if is_over or not follow:
            return
        rest(FOLLOW_SECONDS)
