"""Start agents: create, fanout, multi, revive, restart and fork.

Long, as it is one family of commands: each passes its options to one verb, and all share the report at the end of the file.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui import names
from fleet_tui.cli.completion import complete_mix, complete_new_names
from fleet_tui.cli.consent import trusted_first
from fleet_tui.cli.group import (
    cli,
    confirm,
    find_to_change,
    open_fleet,
    prompt_text,
    say,
    say_columns,
    say_json,
    shortened,
)
from fleet_tui.cli.options import (
    batch_option,
    json_option,
    launch_options,
    name_argument,
    own_settings_option,
    patterns_argument,
    refuse_empty,
)
from fleet_tui.errors import FleetError, Interrupted, LaunchFailed, UsageError
from fleet_tui.faces.plain import changed_record
from fleet_tui.models import Agent
from fleet_tui.quantities import counted
from fleet_tui.text import cut

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.lifecycle.launcher_client import LaunchProgress

SHOWN_CHARACTERS = 60
"""Characters of a task that an error quotes."""
LAST_LINES = 10
"""Lines of output to show of an agent that failed to start."""
UNCOMMITTED_SECONDS = 0.5
"""How long the report waits for git to count uncommitted changes once all agents have started."""


@cli.command()
@click.argument("branch", metavar="NAME", shell_complete=complete_new_names)
@click.option("-p", "--prompt", help="What the agent should do; - reads it from standard input.")
@click.option("--existing", is_flag=True, help="Use an existing branch.")
@launch_options
@json_option
def create(
    branch: str,
    prompt: str | None,
    agent: str,
    quick: bool,
    base: str,
    existing: bool,
    headless: bool,
    own_settings: bool,
    as_json: bool,
) -> None:
    """Start one agent on a new branch, in a worktree of its own.

    \b
    Example:
      fleet create fix-login -p "Fix the login form" -a claude
    """
    with _starting(copies_here=not (base or existing), as_json=as_json) as report:
        text = prompt_text(prompt)
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
        report.end(made, headless=headless)


@cli.command()
@click.argument("count", type=int)
@click.argument("prefix", default="", callback=refuse_empty)
@click.option(
    "-p", "--prompt", required=True, help="What each agent should do; - reads it from standard input."
)
@click.option(
    "--agents",
    "mix",
    default="",
    metavar="MIX",
    shell_complete=complete_mix,
    callback=refuse_empty,
    help="Divide COUNT among profiles, such as claude:3,codex:2.",
)
@launch_options
@json_option
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
    as_json: bool,
) -> None:
    """Start COUNT agents on the same prompt: PREFIX-A, PREFIX-B, …

    \b
    Example:
      fleet fanout 3 login -p "Fix the login form" --agents claude:2,codex:1
    """
    if agent and mix:
        raise UsageError("either --agent or --agents says what to run", hint="leave one of them out")
    with _starting(copies_here=not base, as_json=as_json) as report:
        text, parts = prompt_text(prompt), _mix(mix)
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
        report.end(made, headless=headless, is_batch=True)


def _mix(text: str) -> list[tuple[str, int]]:
    if not text:
        return []
    parts = []
    for part in list(filter(None, text.split(","))) or [text]:
        name, separator, number = part.strip().rpartition(":")
        if not separator or not number.isdecimal() or not name or int(number) < 1:
            raise UsageError(f"{part!r} is not PROFILE:COUNT", hint="for example: --agents claude:3,codex:2")
        parts.append((name, int(number)))
    return parts


@cli.command()
@click.argument("tasks", nargs=-1, required=True, metavar="NAME:PROMPT...")
@launch_options
@json_option
def multi(
    tasks: tuple[str, ...],
    agent: str,
    quick: bool,
    base: str,
    headless: bool,
    own_settings: bool,
    as_json: bool,
) -> None:
    """Start several agents, each with its own prompt.

    Each argument is the name of a new branch, a colon and the prompt.

    \b
    Example:
      fleet multi "fix-login:Fix the login form" "add-tests:Test the parser"
    """
    pairs = []
    for task in tasks:
        branch, separator, prompt = task.partition(":")
        if not separator or not branch.strip():
            missing = "a name before the colon" if separator else "a colon"
            raise UsageError(
                f"{cut(task, SHOWN_CHARACTERS)!r} needs {missing}",
                hint='for example: fleet multi "fix-login:Fix the login form"',
            )
        pairs.append((branch.strip(), names.check_prompt(prompt)))
    with _starting(copies_here=not base, as_json=as_json) as report:
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
        report.end(made, headless=headless, is_batch=True)


@cli.command()
@name_argument
@click.option("-p", "--prompt", help="What the agent should do next; - reads it from standard input.")
@click.option("--fresh", is_flag=True, help="Start a new conversation, with the agent's first prompt.")
@own_settings_option
@json_option
def revive(branch: str, prompt: str | None, fresh: bool, own_settings: bool, as_json: bool) -> None:
    """Start an ended agent again, and continue its conversation.

    \b
    Example:
      fleet revive fix-login -p "Now add a test"
    """
    with _starting(copies_here=False, has_quick=False, as_json=as_json) as report:
        report.fleet.refresh()
        agent = find_to_change(report.fleet, branch)
        text = prompt_text(prompt)
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.revive(
                agent, prompt=text, fresh=fresh, own_settings=own_settings, on_progress=report.step
            ),
            lambda: agent,
        )
        report.end(made)


@cli.command()
@patterns_argument
@batch_option
@click.option("-f", "--force", is_flag=True, help="Do not ask for confirmation.")
@own_settings_option
@json_option
def restart(
    patterns: tuple[str, ...], batch: str | None, force: bool, own_settings: bool, as_json: bool
) -> None:
    """Stop agents and start each again from its first prompt.

    The worktrees stay as they are; the conversations begin anew (`stop` and `revive` continue them). AGENT is a name or a
    glob.

    \b
    Example:
      fleet restart fix-login
    """
    from fleet_tui.models import Status

    with _starting(copies_here=False, has_quick=False, as_json=as_json) as report:
        report.fleet.refresh()
        agents = report.fleet.match(patterns, batch=batch, but_not=(Status.KILLED,))
        if not force:
            shown = shortened([agent.name for agent in agents])
            few = len(agents) == 1
            question = f"Restart {shown}" if few else f"Restart {len(agents)} agents ({shown})"
            confirm(
                f"{question} from {'its first prompt' if few else 'their first prompts'}?",
                note="worktrees stay",
                flag="-f",
                default=few,
            )
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.restart(agents, own_settings=own_settings, on_progress=report.step),
            lambda: agents[0],
        )
        report.end(made)


@cli.command()
@name_argument
@click.argument("new_name", metavar="NAME")
@click.option("-p", "--prompt", help="What the new agent should do; - reads it from standard input.")
@click.option(
    "--checkpoint",
    type=click.IntRange(min=0),
    metavar="N",
    help="Start from a checkpoint, uncommitted changes included.",
)
@own_settings_option
@json_option
def fork(
    branch: str, new_name: str, prompt: str | None, checkpoint: int | None, own_settings: bool, as_json: bool
) -> None:
    """Start another agent with a copy of an agent's conversation.

    It works in a worktree of its own, which starts from the agent's last commit; uncommitted changes are not copied,
    unless they are in the checkpoint that it is to start from.

    \b
    Example:
      fleet fork fix-login try-oauth -p "Use OAuth instead"
    """
    with _starting(copies_here=False, has_quick=False, as_json=as_json) as report:
        report.fleet.refresh()
        source = report.fleet.find(branch)
        text = prompt_text(prompt)
        made = trusted_first(
            report.fleet,
            lambda: report.fleet.fork(
                source,
                new_name,
                prompt=text,
                checkpoint=checkpoint,
                own_settings=own_settings,
                on_progress=report.step,
            ),
        )
        report.end(made)
        if checkpoint is not None:
            return
        left = report.fleet.worktrees.uncommitted(source)
        problem = report.fleet.worktrees.link_problems([source]).get(source.id)
        if problem:
            say(f"  {source.name} may have uncommitted changes, which are not copied: {problem}", err=True)
        elif left:
            changes = counted(left, "uncommitted change")
            say(f"  not copied: {changes} of {source.name}; {new_name} starts from its last commit", err=True)


@contextlib.contextmanager
def _starting(*, copies_here: bool, has_quick: bool = True, as_json: bool) -> Iterator[_Report]:
    """Report on agents while they start. Ctrl+C ends the report; the launcher goes on."""
    report = _Report(open_fleet(), copies_here=copies_here, has_quick=has_quick, as_json=as_json)
    try:
        yield report
    except KeyboardInterrupt:
        raise Interrupted("interrupted", hint=report.unfinished()) from None


class _Report:
    """Prints progress on standard error while agents start, then the outcome of each."""

    def __init__(self, fleet: Fleet, *, copies_here: bool, has_quick: bool, as_json: bool) -> None:
        self.fleet = fleet
        self._has_quick = has_quick
        self._as_json = as_json
        self._seen: set[str] = set()
        self._uncommitted: list[int] = []
        self._counting = threading.Thread(target=self._count_uncommitted, daemon=True)
        self._copies_here = copies_here

    def step(self, agent: Agent, progress: LaunchProgress) -> None:
        self._seen.add(agent.name)
        if progress.step in {"starting", "setup"} and self._copies_here and not self._counting.ident:
            # Counting earlier would compete with the checkout for the disk.
            self._counting.start()
        if progress.step == "files":
            say(f"  {agent.name}: {progress.note}", err=True)
        elif progress.step != "failed" and sys.stderr.isatty():
            note = f": {progress.note}" if progress.note else ""
            say(f"  {agent.name}: {progress.step}{note}", err=True)

    def unfinished(self) -> str:
        if not self._seen:
            return "fleet list shows whether an agent was created"
        starts = "still starts" if len(self._seen) == 1 else "still start"
        return f"{shortened(sorted(self._seen))} {starts}; see: fleet list"

    def end(self, made: Agent | Sequence[Agent], *, headless: bool = False, is_batch: bool = False) -> None:
        """Print the outcome: one object as JSON for a command that starts one agent."""
        agents = [made] if isinstance(made, Agent) else made
        if headless:
            self._warn(agents)
        agents = self.fleet.wait_for_setup(agents, self.step)
        failed = [agent for agent in agents if _ended_badly(agent)]
        up = [agent for agent in agents if agent not in failed]
        if self._as_json:
            records = [changed_record(agent) for agent in agents]
            say_json(records[0] if isinstance(made, Agent) else records, indent=2)
        else:
            say_columns([(agent.name, agent.status, agent.worktree) for agent in up])
        if len(failed) < len(agents):
            self._print_uncommitted()
        for agent in failed:
            mark = "  |"
            if len(agents) > 1:
                if not self._as_json:
                    say(f"{agent.name}  {agent.status}  {_why(agent)}")
                mark = f"  {agent.name} |"
            for line in self.fleet.logs(agent, LAST_LINES):
                say(f"{mark} {line}", err=True)
        if is_batch and up:
            self._print_next_steps(up[0], takes_prompts=not headless)
        if failed:
            raise _launch_failure(failed, len(agents), has_quick=self._has_quick)

    def _print_next_steps(self, agent: Agent, *, takes_prompts: bool) -> None:
        """Print the batch of an agent, and the next commands for it."""
        from fleet_tui import selection
        from fleet_tui.cli.table import aligned

        agents = self.fleet.agents(everywhere=True)
        name = selection.batch_names(agents).get((agent.project, agent.batch), agent.batch)
        of_batch = f"-b {shlex.quote(name)}"
        steps = [("fleet-tui", "watch and answer them")]
        steps += [(f'fleet prompt {of_batch} "…"', "send all of them a prompt")] if takes_prompts else []
        steps += [
            (f"fleet wait {of_batch}", "wait until they are done or need you"),
            (f"fleet stop {of_batch}", "end them; fleet revive continues one"),
            (f"fleet kill {of_batch}", "end them and move their worktrees to the trash"),
        ]
        say(
            f"batch {name}" + (f" [{agent.batch}]" if name != agent.batch else "") + ", to go on with it:",
            err=True,
        )
        for line in aligned(steps):
            say(f"  {line}", err=True)

    def _warn(self, agents: Sequence[Agent]) -> None:
        """Warn of what headless agents cannot do with their permissions."""
        for name in dict.fromkeys(agent.profile for agent in agents):
            if warning := self.fleet.profiles.headless_warning(name):
                say(f"  {warning}", err=True)

    def _count_uncommitted(self) -> None:
        with contextlib.suppress(FleetError, OSError):
            self._uncommitted.append(self.fleet.uncommitted())

    def _print_uncommitted(self) -> None:
        if not self._counting.ident:
            return
        self._counting.join(UNCOMMITTED_SECONDS)
        if any(self._uncommitted):
            here = counted(self._uncommitted[0], "uncommitted change")
            say(f"  not copied: {here} here; agents start from the last commit", err=True)


def _launch_failure(failed: Sequence[Agent], of: int, *, has_quick: bool) -> LaunchFailed:
    first = failed[0]
    message = f"{first.name} failed to start: {_why(first)}"
    if of > 1:
        message = f"{len(failed)} of {of} agents failed to start; {first.name}: {_why(first)}"
    remedy = f"fleet logs {first.name} shows more"
    if first.status_detail.startswith("setup:"):
        remedy = "fix it with fleet config --edit"
        if has_quick:
            remedy += ", or skip it with --quick"
        if first.run > 1:
            # A later run repeats the setup commands of the first, whatever the configuration says now.
            remedy = f"fix what the setup needs in {first.worktree}"
    names = " ".join(agent.name for agent in failed[:5])
    what = "its worktree and branch" if len(failed) == 1 else "their worktrees and branches"
    return LaunchFailed(message, hint=f"{remedy}; fleet kill -d {names} removes {what}")


def _why(agent: Agent) -> str:
    from fleet_tui.models import Status

    if agent.status is Status.FAILED:
        return agent.status_detail
    return f"its program exited at once ({agent.status_detail})"


def _ended_badly(agent: Agent) -> bool:
    return agent.has_ended and agent.exit_code != 0
