"""Check for problems and leftovers."""

from __future__ import annotations

import click

from fleet_tui.cli.group import cli, refreshed_fleet, say, say_json
from fleet_tui.errors import FleetError
from fleet_tui.quantities import counted


@cli.command()
@click.option("--fix", is_flag=True, help="Apply the proposed fixes.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def doctor(fix: bool, as_json: bool) -> None:
    """Check for problems and leftovers. Changes nothing without --fix.

    \b
    Example:
      fleet doctor --fix
    """
    from fleet_tui.faces.plain import finding_record

    findings = refreshed_fleet().examine()
    if as_json:
        say_json([finding_record(finding) for finding in findings])
        return
    for finding in findings:
        mark = {"ok": "✓", "warning": "!", "problem": "✗"}[finding.level]
        say(f"{mark} {finding.text}")
        if fix and finding.fix is not None:
            say(f"    {finding.fix()}")
        elif finding.remedy:
            say(f"    {finding.remedy}")
    left = [
        finding
        for finding in findings
        if finding.level == "problem" and not (fix and finding.fix is not None)
    ]
    if left:
        raise FleetError(
            f"{counted(len(left), 'problem')} found",
            hint="follow the advice above; --fix applies what it can",
        )
