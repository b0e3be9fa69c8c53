"""Bind the table of actions to the methods that its rows name, once, when the dashboard is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fleet_tui.tui.actions import Action

Handler = Callable[..., object]


class MissingHandler(Exception):
    """A row of the table names a group or a method that does not exist."""


def bind(actions: Iterable[Action], groups: Mapping[str, object]) -> dict[str, Handler]:
    """Return the method of every action by the action's id."""
    return {action.id: _method(action, groups) for action in actions if action.handler}


def _method(action: Action, groups: Mapping[str, object]) -> Handler:
    group, _, name = action.handler.partition(".")
    method = getattr(groups.get(group), name, None)
    if not callable(method):
        raise MissingHandler(f"action {action.id!r} names {action.handler!r}, which is no method")
    found: Handler = method
    return found
