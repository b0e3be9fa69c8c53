"""Ask on the terminal whether a project may do what its files ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click

from fleet_tui.cli.group import counted, say
from fleet_tui.errors import Refused

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent, Asked

Made = TypeVar("Made")
INDENT = " " * 7


def trusted_first(fleet: Fleet, make: Callable[[], Made], whose: Callable[[], Agent] | None = None) -> Made:
    """Start agents; where the project, or that of an agent, is not trusted yet, ask on a terminal and try again."""
    try:
        return make()
    except Refused as refusal:
        from fleet_tui.trust import Untrusted

        if not isinstance(refusal, Untrusted) or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        asked = fleet.asked(whose() if whose is not None else None)
        if asked is None:
            raise
    show(asked)
    if not click.confirm(question(asked), default=False, err=True):
        raise Refused("nothing was started", hint="with your own settings: --ignore-project-config")
    fleet.trust(asked)
    return make()


def question(asked: Asked) -> str:
    return f"Trust exactly {'this line' if asked.count == 1 else f'these {asked.count} lines'}?"


def show(asked: Asked) -> None:
    for line in lines(asked):
        say(line, err=True)


def lines(asked: Asked) -> Iterator[str]:
    """The question in full, as it is printed."""
    from fleet_tui.config import VERBS

    yield f"{asked.name}: what {asked.file} would do (nothing of it has run)"
    verb = ""
    for line in asked.lines:
        if line.verb != verb:
            verb = line.verb
            yield ""
            yield f"{verb:<7}{VERBS[verb]}"
        mark = line.change or ("!" if line.is_alarming else " ")
        alarm = "! " if line.change and line.is_alarming else ""
        means = f"   ({line.means})" if line.means else ""
        number = f"   line {line.number}" if line.number else ""
        yield f"{INDENT}{mark} {alarm}{line.text}{means}{number}"
    if asked.same:
        yield f"{INDENT}  {counted(asked.same, 'line')} as before"
    yield ""
    if asked.restrictions:
        yield f"in any case: {', '.join(' '.join(rule) for rule in asked.restrictions)}"
    if asked.refused:
        yield f"never from a repository: {', '.join(key for key, _ in asked.refused)}"
    yield f"sha256 {asked.digest}"
