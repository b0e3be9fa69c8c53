"""Land agents' work: show what will happen, ask, do it, and say what stopped it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.completion import complete_agents
from fleet_tui.cli.group import cli, confirm, refreshed_fleet, say, say_json
from fleet_tui.cli.options import json_option, refuse_empty
from fleet_tui.errors import CheckFailed, FleetError, MergeConflict, Refused, UsageError
from fleet_tui.faces.landing_plain import landing_report_record, plan_record
from fleet_tui.faces.landing_wording import conflict_lines, plan_lines, progress_line
from fleet_tui.faces.wording import request_outcome
from fleet_tui.landings import STRATEGIES
from fleet_tui.text import one_line

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.fleet.pull_requests import RequestNews
    from fleet_tui.landings import LandingPlan, LandingProgress, LandingReport
    from fleet_tui.models import Agent


@cli.command()
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...", shell_complete=complete_agents)
@click.option(
    "-s",
    "--strategy",
    type=click.Choice(STRATEGIES),
    help="merge (a merge commit), squash (one commit), rebase, or pr (a pull request); default: land.strategy.",
)
@click.option("--into", default="", metavar="BRANCH", callback=refuse_empty, help="Land on this branch.")
@click.option("--no-check", is_flag=True, help="Do not run the check command first.")
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "-m", "--message", default="", metavar="TEXT", callback=refuse_empty, help="The commit message."
)
@click.option("--edit", is_flag=True, help="Open the commit message in your editor.")
@click.option(
    "--give-back", is_flag=True, help="If it conflicts, send the agent a prompt to resolve the conflict."
)
@click.option(
    "--watch",
    is_flag=True,
    help="Follow the pull requests: failed checks go to the agent as a prompt, and its fix is pushed.",
)
@click.option("--stop", "stops", is_flag=True, help="Stop a running landing after the agent that it is at.")
@json_option
def land(
    agents: tuple[str, ...],
    strategy: str | None,
    into: str,
    no_check: bool,
    dry_run: bool,
    yes: bool,
    message: str,
    edit: bool,
    give_back: bool,
    watch: bool,
    stops: bool,
    as_json: bool,
) -> None:
    """Land agents' work on a branch of the repository.

    First shows what will happen. Your worktree is updated only if none of its changed files is touched; otherwise nothing
    happens, and the files are named. The merged result is checked with land.check. Several agents land one after the other, each on
    top of the last, until one does not merge or is not green. Landed agents are stopped and their worktrees move to the
    trash. fleet undo takes a landing back. The exit code is 14 after a conflict and 15 after a check that did not pass; with
    --dry-run, it is that of a landing that does not begin.

    With --strategy pr, each agent's branch is pushed and a pull request opened with gh or glab; agents and worktrees stay. --watch
    follows pull requests until they are merged, closed or green; without --strategy, it follows those that are open. Stop it with
    Ctrl+C, and start it again at any time.

    \b
    Examples:
      fleet land fix-login
      fleet land login-B --strategy squash -m "Sign session tokens"
      fleet land fix-login flaky-tests --yes
      fleet land fix-login --strategy pr --watch
      fleet land fix-login --watch
    """
    _refuse_together(
        edit=edit and (bool(message) or as_json or len(agents) > 1), watch=watch and (as_json or dry_run)
    )
    fleet = refreshed_fleet()
    found = [fleet.find(name) for name in agents]
    if stops:
        _stop(fleet, found[0])
        return
    if watch and not strategy and _have_requests(fleet, found):
        _watch(fleet, found, into)
        return
    plans = fleet.landing.preview(
        found, strategy=strategy or "", into=into, message=message, check=not no_check
    )
    _require_requests(plans, watch=watch)
    if dry_run and as_json:
        say_json([plan_record(plan) for plan in plans], indent=2)
        _raise_obstacle(plans)
        return
    if edit and plans[0].message_of:
        message = _edited(plans[0].message)
    if not as_json and not yes:
        _show(plans)
    if dry_run:
        _raise_obstacle(plans)
        return
    if not plans[0].can_land and not as_json:
        _refuse(fleet, found[0], plans[0], give_back=give_back)
    if not yes:
        confirm(_question(plans), flag="--yes")
    report = fleet.landing.land(
        found, strategy=strategy or "", into=into, message=message, check=not no_check,
        # What was not shown was not agreed to.
        seen=None if yes else {plan.agent: plan.tree for plan in plans},
        on_progress=None if as_json else _print_progress,
    )  # fmt: skip
    receipt = _given_back(fleet, report) if give_back else ""
    if as_json:
        say_json({**landing_report_record(report), "receipt": receipt or None}, indent=2)
    else:
        _print(fleet, report, plans)
    _raise_stopped(fleet, report, was_given_back=bool(receipt))
    if watch:
        _watch(fleet, found, into)


def _refuse_together(*, edit: bool, watch: bool) -> None:
    """Refuse options that exclude each other."""
    if edit:
        raise UsageError("--edit is for one agent, without -m and --json", hint="leave one out")
    if watch:
        raise UsageError(
            "--watch goes on and prints for people",
            hint="leave out --json and --dry-run; see also: fleet list --json",
        )


def _stop(fleet: Fleet, agent: Agent) -> None:
    if not fleet.landing.stop_train(agent):
        raise Refused("nothing is being landed in its project", hint="see: fleet list")
    say("it stops after the agent that it is at")


def _require_requests(plans: Sequence[LandingPlan], *, watch: bool) -> None:
    if watch and any(plan.strategy != "pr" for plan in plans):
        raise UsageError("--watch follows pull requests, and there is none", hint="add: --strategy pr")


def _have_requests(fleet: Fleet, agents: Sequence[Agent]) -> bool:
    requests = fleet.pull_requests.of(agents)
    return all(agent.id in requests and requests[agent.id].number for agent in agents)


def _watch(fleet: Fleet, agents: Sequence[Agent], into: str) -> None:
    """Follow pull requests, and print what happens."""
    names = {agent.id: agent.name for agent in agents}

    def show(news: RequestNews) -> None:
        say(f"{names[news.request.agent]}  {one_line(news.text)}")

    last = fleet.pull_requests.watch(agents, base=into, on_change=show)
    red = [names[one.agent] for one in last if one.state == "open" and one.checks == "failed"]
    if red:
        raise CheckFailed(
            f"the checks of {', '.join(red)} are red", hint=f"see: fleet list, fleet logs {red[0]}"
        )


def _show(plans: Sequence[LandingPlan]) -> None:
    for plan in plans:
        for line in plan_lines(plan):
            say(line)
        if plan.conflicts:
            for line in conflict_lines(plan.conflicts, ours=plan.name, theirs=plan.into):
                say(f"    {line}")


def _question(plans: Sequence[LandingPlan]) -> str:
    what = plans[0].name if len(plans) == 1 else f"these {len(plans)} agents"
    if plans[0].strategy == "pr":
        many = "a pull request" if len(plans) == 1 else "pull requests"
        return f"Push {what} and open {many}{'' if plans[0].check_command else ' without a check'}?"
    return f"Land {what}{'' if plans[0].check_command else ' without a check'}?"


def _raise_obstacle(plans: Sequence[LandingPlan]) -> None:
    """End as a landing would that stops at the first agent that cannot land."""
    for plan in plans:
        for obstacle in plan.obstacles:
            kind = MergeConflict if obstacle.kind == "conflict" else Refused
            raise kind(f"{plan.name}: {obstacle.message}", hint=obstacle.hint)


def _refuse(fleet: Fleet, agent: Agent, plan: LandingPlan, *, give_back: bool) -> None:
    """Say why it cannot land; it was shown in full."""
    obstacle = plan.obstacles[0]
    if obstacle.kind != "conflict":
        raise Refused(obstacle.message, hint=obstacle.hint)
    if give_back:
        receipt = fleet.prompts.send(agent, plan.give_back)
        raise MergeConflict(obstacle.message, hint=f"given back to {agent.name} as prompt {receipt.id}")
    say("")
    say(f"fleet land {plan.name} --give-back sends this prompt:")
    for line in plan.give_back.splitlines():
        say(f"    {line}")
    raise MergeConflict(obstacle.message, hint="nothing was changed")


def _print_progress(agent: Agent, progress: LandingProgress) -> None:
    if progress.state != "running" or progress.step == "check":
        say(progress_line(agent.name, progress), err=True)


def _given_back(fleet: Fleet, report: LandingReport) -> str:
    if not report.give_back:
        return ""
    [agent] = fleet.with_ids([report.agent])
    return fleet.prompts.send(agent, report.give_back).id


def _print(fleet: Fleet, report: LandingReport, plans: Sequence[LandingPlan]) -> None:
    names = {plan.agent: plan.name for plan in plans}
    requests = {one.agent: one for one in report.requests}
    for landing in report.landings:
        if landing.strategy == "pr":
            say(f"{names[landing.agent]}  {request_outcome(requests[landing.agent])}")
        else:
            say(f"{names[landing.agent]}  landed on {landing.into} as {landing.new[:10]}")
    for note in report.notes:
        say(f"fleet: {note}", err=True)
    if report.conflicts:
        into = next((plan.into for plan in plans if plan.agent == report.agent), "")
        for line in conflict_lines(report.conflicts, ours=names[report.agent], theirs=into):
            say(line)
    for line in report.output:
        say(f"    {line}")
    if report.untried:
        say(f"not landed: {', '.join(names[one] for one in report.untried)}")
    if any(one.strategy != "pr" for one in report.landings):
        say("fleet undo takes it back", err=True)


def _raise_stopped(fleet: Fleet, report: LandingReport, *, was_given_back: bool) -> None:
    """End with an error that says what stopped the landing."""
    stopped = report.stopped
    if stopped is None:
        return
    [agent] = fleet.with_ids([report.agent])
    message = f"{agent.name} was not landed: {stopped.message}"
    if stopped.kind == "conflict":
        hint = f"given back to {agent.name}" if was_given_back else stopped.hint
        raise MergeConflict(message, hint=hint)
    if stopped.kind == "check":
        raise CheckFailed(message, hint=stopped.hint)
    raise Refused(message, hint=stopped.hint)


def _edited(message: str) -> str:
    """The message as the user has left it in the editor."""
    import os
    import subprocess
    import tempfile
    from pathlib import Path

    from fleet_tui.fleet.editor import editor

    command = editor()
    descriptor, name = tempfile.mkstemp(prefix="fleet-message-", suffix=".txt")
    file = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as draft:
            draft.write(message)
        try:
            done = subprocess.run([*command, name], check=False)
        except OSError as error:
            raise FleetError(
                f"{command[0]}: {error.strerror}", hint="set EDITOR to an installed editor"
            ) from error
        edited = file.read_text(encoding="utf-8", errors="replace").strip()
    finally:
        file.unlink(missing_ok=True)
    if done.returncode or not edited:
        raise FleetError("no message, so nothing was landed", hint="write one, or leave --edit out")
    return edited
