"""Commands that start agents."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.consent import trusted_first
from fleet_tui.cli.group import (
    agent_option,
    base_option,
    cli,
    counted,
    headless_option,
    name_argument,
    open_fleet,
    own_settings_option,
    quick_option,
    said,
    say,
    shortened,
)
from fleet_tui.errors import FleetError, Interrupted, LaunchFailed, UsageError

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.launcher import Progress
    from fleet_tui.models import Agent

LAST_LINES = 10
"""Of what an agent printed that did not get going."""
UNCOMMITTED_SECONDS = 0.5
"""How long agents that are up wait for git to say whether the user's own folder has changes."""


@cli.command()
@name_argument
@click.option("-p", "--prompt", default="", help="What the agent is to do; '-' reads it from standard input.")
@agent_option
@quick_option
@base_option
@click.option("--existing", is_flag=True, help="Work on a branch that exists already.")
@headless_option
@own_settings_option
def create(
    branch: str,
    prompt: str,
    agent: str,
    quick: bool,
    base: str,
    existing: bool,
    headless: bool,
    own_settings: bool,
) -> None:
    """Start one agent on a new branch in a worktree of its own."""
    with _starting(copies_here=not (base or existing)) as report:
        text = said(prompt)
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.create(
                branch,
                prompt=text,
                profile=agent,
                quick=quick,
                base=base,
                existing=existing,
                headless=headless,
                own_settings=own_settings,
                on_progress=report.step,
            ),
        )
        report.end([made], headless=headless)


@cli.command()
@click.argument("count", type=int)
@click.argument("prefix", default="")
@click.option(
    "-p", "--prompt", required=True, help="What each agent is to do; '-' reads it from standard input."
)
@agent_option
@click.option("--agents", "mix", default="", metavar="MIX", help="A mix such as claude:3,codex:2.")
@quick_option
@base_option
@headless_option
@own_settings_option
def fanout(
    count: int,
    prefix: str,
    prompt: str,
    agent: str,
    mix: str,
    quick: bool,
    base: str,
    headless: bool,
    own_settings: bool,
) -> None:
    """Give one prompt to COUNT agents: PREFIX-A, PREFIX-B, …"""
    with _starting(copies_here=not base) as report:
        text, parts = said(prompt), _mix(mix)
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.fanout(
                count,
                prefix,
                prompt=text,
                profile=agent,
                mix=parts,
                quick=quick,
                base=base,
                headless=headless,
                own_settings=own_settings,
                on_progress=report.step,
            ),
        )
        report.end(made, headless=headless)


def _mix(text: str) -> list[tuple[str, int]]:
    parts = []
    for part in filter(None, text.split(",")):
        name, separator, number = part.strip().rpartition(":")
        if not separator or not number.isdigit() or not name or int(number) < 1:
            raise UsageError(
                f"{part!r} is not AGENT:COUNT", hint="write for example --agents claude:3,codex:2"
            )
        parts.append((name, int(number)))
    return parts


@cli.command()
@click.argument("tasks", nargs=-1, required=True, metavar="BRANCH:PROMPT...")
@agent_option
@quick_option
@base_option
@headless_option
@own_settings_option
def multi(
    tasks: tuple[str, ...], agent: str, quick: bool, base: str, headless: bool, own_settings: bool
) -> None:
    """Give a prompt of its own to each of several agents."""
    pairs = []
    for task in tasks:
        branch, separator, prompt = task.partition(":")
        if not separator or not prompt.strip():
            raise UsageError(
                f"{task!r} is not BRANCH:PROMPT", hint='write for example: fleet multi "fix-1:Fix it"'
            )
        pairs.append((branch, prompt))
    with _starting(copies_here=not base) as report:
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.multi(
                pairs,
                profile=agent,
                quick=quick,
                base=base,
                headless=headless,
                own_settings=own_settings,
                on_progress=report.step,
            ),
        )
        report.end(made, headless=headless)


@cli.command()
@name_argument
@click.option("-p", "--prompt", default="", help="What it is to do next; '-' reads it from standard input.")
@click.option("--fresh", is_flag=True, help="Start over with the first prompt instead of going on.")
@own_settings_option
def revive(branch: str, prompt: str, fresh: bool, own_settings: bool) -> None:
    """Start an ended agent again in its worktree and conversation."""
    with _starting(copies_here=False, has_quick=False) as report:
        text = said(prompt)
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.revive(
                branch, prompt=text, fresh=fresh, own_settings=own_settings, on_progress=report.step
            ),
            lambda: report.fleet.find(branch),
        )
        report.end([made])


@cli.command()
@name_argument
@click.argument("new_name", metavar="NEWNAME")
@click.option(
    "-p", "--prompt", default="", help="What the new agent is to do; '-' reads it from standard input."
)
@own_settings_option
def fork(branch: str, new_name: str, prompt: str, own_settings: bool) -> None:
    """Start another agent with a copy of a conversation.

    It works in a worktree of its own, from the last commit of the agent that it is a fork of.
    """
    with _starting(copies_here=False, has_quick=False) as report:
        source = report.fleet.find(branch)
        text = said(prompt)
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.fork(
                source.id, new_name, prompt=text, own_settings=own_settings, on_progress=report.step
            ),
        )
        report.end([made])
        left = report.fleet.uncommitted(source)
        problem = report.fleet.link_problems([source]).get(source.id)
        if problem:
            say(f"  not looked at: the files of {source.name}; {problem}", err=True)
        elif left:
            changes = counted(left, "uncommitted change")
            say(f"  not copied: {changes} of {source.name}; {new_name} starts from its last commit", err=True)


@contextlib.contextmanager
def _starting(*, copies_here: bool, has_quick: bool = True) -> Iterator[_Report]:
    """A report on agents that are being made; whoever stops listening to it stops none of them."""
    report = _Report(open_fleet(), copies_here=copies_here, has_quick=has_quick)
    try:
        yield report
    except KeyboardInterrupt:
        raise Interrupted("interrupted", hint=report.unfinished()) from None


class _Report:
    """Progress on standard error while agents come up, and how each of them ended up."""

    def __init__(self, fleet: Fleet, *, copies_here: bool, has_quick: bool) -> None:
        self.fleet = fleet
        self._has_quick = has_quick
        self._seen: set[str] = set()
        self._uncommitted: list[int] = []
        self._looking = threading.Thread(target=self._look_for_uncommitted, daemon=True)
        self._copies_here = copies_here

    def step(self, agent: Agent, progress: Progress) -> None:
        self._seen.add(agent.name)
        if progress.step in {"starting", "setup"} and self._copies_here and not self._looking.ident:
            # Not before: it would compete with the checkout.
            self._looking.start()
        if progress.step == "files":
            say(f"  {agent.name}: {progress.note}", err=True)
        elif progress.step != "failed" and sys.stderr.isatty():
            note = f": {progress.note}" if progress.note else ""
            say(f"  {agent.name}: {progress.step}{note}", err=True)

    def unfinished(self) -> str:
        if not self._seen:
            return "fleet list shows whether anything was begun"
        goes_on = "goes on" if len(self._seen) == 1 else "go on"
        return f"{shortened(sorted(self._seen))} {goes_on} without it, see: fleet list"

    def end(self, agents: Sequence[Agent], *, headless: bool = False) -> None:
        from fleet_tui import listing

        if headless:
            self._warn(agents)
        agents = self.fleet.wait_for_setup(agents, self.step)
        failed = [agent for agent in agents if _ended_badly(agent)]
        up = [agent for agent in agents if agent not in failed]
        for line in listing.columns([(agent.name, agent.status, agent.worktree) for agent in up]):
            say(line)
        if len(failed) < len(agents):
            self._tell_uncommitted()
        for agent in failed:
            mark = "  |"
            if len(agents) > 1:
                say(f"{agent.name}  {agent.status}  {_why(agent)}")
                mark = f"  {agent.name} |"
            for line in self.fleet.logs(agent.id, LAST_LINES):
                say(f"{mark} {line}", err=True)
        if failed:
            raise _did_not_get_going(failed, len(agents), has_quick=self._has_quick)

    def _warn(self, agents: Sequence[Agent]) -> None:
        """Say what headless agents will not do with the permissions they have."""
        from fleet_tui import profiles

        config = self.fleet.config()
        for name in dict.fromkeys(agent.profile for agent in agents):
            if warning := profiles.headless_warning(profiles.load(name), config):
                say(f"  {warning}", err=True)

    def _look_for_uncommitted(self) -> None:
        with contextlib.suppress(FleetError, OSError):
            self._uncommitted.append(self.fleet.uncommitted())

    def _tell_uncommitted(self) -> None:
        if not self._looking.ident:
            return
        self._looking.join(UNCOMMITTED_SECONDS)
        if any(self._uncommitted):
            here = counted(self._uncommitted[0], "uncommitted change")
            say(f"  not copied: {here} here; agents start from the last commit", err=True)


def _did_not_get_going(failed: Sequence[Agent], of: int, *, has_quick: bool) -> LaunchFailed:
    first = failed[0]
    message = f"{first.name} did not get going: {_why(first)}"
    if of > 1:
        message = f"{len(failed)} of {of} agents did not get going; {first.name}: {_why(first)}"
    remedy = f"fleet logs {first.name} shows more"
    if first.status_detail.startswith("setup:"):
        remedy = "mend it with fleet config --edit"
        if has_quick:
            remedy += ", or skip it with --quick"
        if first.run > 1:
            # It is set up by what it was created with.
            remedy = f"mend what it needs in {first.worktree}"
    names = " ".join(agent.name for agent in failed[:5])
    return LaunchFailed(message, hint=f"{remedy}; fleet kill -d {names} removes what is left")


def _why(agent: Agent) -> str:
    from fleet_tui.models import Status

    if agent.status is Status.FAILED:
        return agent.status_detail
    return f"its program ended at once ({agent.status_detail})"


def _ended_badly(agent: Agent) -> bool:
    return agent.has_ended and agent.exit_code != 0
