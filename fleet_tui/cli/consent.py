"""Ask on the terminal whether to trust what a project's files ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from fleet_tui.cli.group import ask, say
from fleet_tui.errors import Refused, Untrusted
from fleet_tui.quantities import counted

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent, TrustRequest

Made = TypeVar("Made")
INDENT = " " * 7


def trusted_first(fleet: Fleet, make: Callable[[], Made], whose: Callable[[], Agent] | None = None) -> Made:
    """Start agents; if the project, or that of the given agent, is not trusted, ask on a terminal and retry."""
    try:
        return make()
    except Refused as refusal:
        if not isinstance(refusal, Untrusted) or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        asked = fleet.trust.asked(whose() if whose is not None else None)
        if asked is None:
            raise
    show(asked)
    if not ask(question(asked)):
        raise Refused(
            "not trusted, so nothing was started", hint="--ignore-project-config uses only your own settings"
        )
    fleet.trust.accept(asked)
    return make()


def question(asked: TrustRequest) -> str:
    """The question that ends the list."""
    return f"Trust exactly {'this line' if asked.count == 1 else f'these {asked.count} lines'}?"


def show(asked: TrustRequest) -> None:
    """Print the list on standard error."""
    for line in lines(asked):
        say(line, err=True)


def lines(asked: TrustRequest) -> Iterator[str]:
    """Everything the project's files ask for, line by line."""
    from fleet_tui.config.settings import PART_EFFECTS

    yield f"{asked.name}: what {asked.file} would do (none of it has run)"
    verb = ""
    for line in asked.lines:
        if line.verb != verb:
            verb = line.verb
            yield ""
            yield f"{verb:<7}{PART_EFFECTS[verb]}"
        mark = line.change or ("!" if line.is_alarming else " ")
        alarm = "! " if line.change and line.is_alarming else ""
        means = f"   ({line.means})" if line.means else ""
        number = f"   line {line.number}" if line.number else ""
        yield f"{INDENT}{mark} {alarm}{line.text}{means}{number}"
    if asked.same:
        yield f"{INDENT}  {counted(asked.same, 'unchanged line')}"
    yield ""
    if asked.restrictions:
        yield f"applies even without trust: {', '.join(' '.join(rule) for rule in asked.restrictions)}"
    if asked.refused:
        yield f"ignored, because only you can set it: {', '.join(key for key, _ in asked.refused)}"
    yield f"sha256 {asked.digest}"
