"""List the programs that agents can run, and check one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet_tui.cli.completion import complete_profiles
from fleet_tui.cli.group import cli, in_color, open_fleet, prompt_text, say, say_json, say_table
from fleet_tui.cli.options import Seconds, color_option, json_option
from fleet_tui.errors import FleetError
from fleet_tui.faces.plain import profile_record
from fleet_tui.fast_dataclasses import asdict
from fleet_tui.models import REPORT, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet_tui.fleet.profiles import InstalledProfile
    from fleet_tui.lifecycle.profile_check import CheckResult
    from fleet_tui.programs.profile import Profile

UNFINISHED = (Status.UNKNOWN, Status.EXITED, Status.STARTING, Status.WORKING)
"""Statuses after which a check has failed: the program did not get to wait for input, or did not show it."""


@cli.group(invoke_without_command=True)
@color_option
@json_option
@click.pass_context
def profiles(context: click.Context, color: str | None, as_json: bool) -> None:
    """List the programs that agents can run.

    Shows the installed version, whether fleet-tui is tested with it or with other versions, and the signs that its status is
    read from.

    \b
    Example:
      fleet profiles check claude
    """
    if context.invoked_subcommand is not None:
        return
    fleet = open_fleet()
    found = fleet.profiles.all()
    if as_json:
        say_json([profile_record(one) for one in found], indent=2)
        return
    widest = max(len(one.profile.name) for one in found)
    rows = [row for one in found for row in _rows(one, widest)]
    header = ("NAME", "VERSION", "TESTED", "SIGNS")
    say_table(header, rows, color=in_color(fleet, color), cell_limit=VERSION_WIDTH)


VERSION_WIDTH = 24
"""Cells for a version on a terminal: some programs report a whole sentence."""


def _rows(one: InstalledProfile, widest: int) -> Iterator[tuple[str, ...]]:
    """A profile in the columns of the list, or why it cannot run; then what is wrong with it."""
    profile = one.profile
    if one.version:
        yield f"{profile.name:<{widest}}", one.version, _tested(one), " ".join(one.signs)
    else:
        yield (f"{profile.name:<{widest}}  {_missing(profile)}",)
    for problem in profile.problems:
        yield (f"{'':<{widest}}  ! {problem}",)


def _tested(one: InstalledProfile) -> str:
    if one.is_proven is None:
        return "unknown" if one.tested else "no"
    return "yes" if one.is_proven else "other versions"


def _missing(profile: Profile) -> str:
    if not profile.program:
        return "has no program"
    return f"not installed: {profile.install_hint or f'no {profile.program} on PATH'}"


@profiles.command()
@click.argument("name", metavar="PROFILE", shell_complete=complete_profiles)
@click.option("-p", "--prompt", help="Also send this prompt, which may cost money.")
@click.option(
    "--timeout",
    type=Seconds(min=1),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Wait at most this long for a status.",
)
@json_option
def check(name: str, prompt: str | None, timeout: float, as_json: bool) -> None:
    """Check a program in a scratch repository.

    Starts the program and shows which sources of its status work.

    \b
    Example:
      fleet profiles check claude --prompt "Say hello"
    """
    fleet = open_fleet()
    result = fleet.profiles.check(name, prompt=prompt_text(prompt), seconds=timeout)
    signs = fleet.profiles.signs(name)
    if as_json:
        say_json(asdict(result) | {"signs": signs}, indent=2)
    else:
        _show(result, signs)
    if result.status in UNFINISHED:
        raise FleetError(
            f"{name} was still {result.status} after {result.seconds} s", hint="its screen above may show why"
        )


def _show(result: CheckResult, signs: list[str]) -> None:
    detail = ", ".join(filter(None, (result.detail, result.text)))
    say(f"{result.profile} {result.version}: {result.status} after {result.seconds} s" + (f" ({detail})" if detail else ""))  # fmt: skip
    names = {"reports": REPORT}
    shown = {names.get(sign, sign) for sign in signs} | {"launcher"}
    for sign in [*signs, *(source for source in result.spoke if source not in shown)]:
        said = result.spoke.get(names.get(sign, sign), "")
        say(f"  {'✓' if said else '–'} {sign:<8} {said or 'not seen'}")
    if result.status in UNFINISHED:
        for line in result.lines:
            say(f"  | {line}")
