"""A prompt comes from the command line or from standard input."""

from __future__ import annotations

import json

from fleet_tui.fleet import Fleet
from tests.cli.commands import Cli, cli, prints, project

__all__ = ["cli", "project"]


def test_a_prompt_has_a_receipt_and_can_come_from_standard_input(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    prints(fleet, fleet.find("fix"), "ready")

    receipt = json.loads(cli.ok("prompt", "--json", "--now", "fix", "it's me"))
    assert {"agent", "prompt", "state", "reason", "note"} <= set(receipt)
    prints(fleet, fleet.find("fix"), "got: it's me")
    assert cli.script("prompt", "--now", "fix", "-", stdin="from a pipe").code == 0
    prints(fleet, fleet.find("fix"), "got: from a pipe")
