"""Check for problems and leftovers."""

from __future__ import annotations

import click

from fleet_tui.cli.group import cli, refreshed_fleet, say, say_json
from fleet_tui.cli.options import json_option
from fleet_tui.errors import FleetError
from fleet_tui.quantities import counted


@cli.command()
@click.option("--fix", is_flag=True, help="Apply the proposed fixes.")
@json_option
def doctor(fix: bool, as_json: bool) -> None:
    """Check for problems and leftovers. Changes nothing without --fix.

    \b
    Example:
      fleet doctor --fix
    """
    from fleet_tui.faces.plain import finding_record

    findings = refreshed_fleet().examine()
    records = []
    for finding in findings:
        mark = {"ok": "✓", "warning": "!", "problem": "✗"}[finding.level]
        if not as_json:
            say(f"{mark} {finding.text}")
        fixed = finding.fix() if fix and finding.fix is not None else None
        records.append(finding_record(finding, fixed))
        if not as_json and (after := fixed or finding.remedy):
            say(f"    {after}")
    if as_json:
        say_json(records, indent=2)
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
