"""Commands about the programs that agents run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import cli, complete_profiles, open_fleet, say, say_json
from fleet_tui.errors import FleetError
from fleet_tui.values import asdict

if TYPE_CHECKING:
    from fleet_tui.profiles import Profile
    from fleet_tui.proving import Proof


@cli.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@click.pass_context
def profiles(context: click.Context, as_json: bool) -> None:
    """List the programs that agents can run.

    With the installed version, whether the tests of fleet-tui cover that version, and the signs that tell its status.
    """
    if context.invoked_subcommand is not None:
        return
    from fleet_tui import proving

    found = proving.installed()
    tested = proving.tested()
    if as_json:
        rows = [
            {
                "name": profile.name, "version": version, "installed": bool(version), "signs": proving.declared(profile),
                "install": profile.install_hint, "session": profile.session, "note": profile.permission_note,
                "problems": list(profile.problems), "proven": list(versions),
                "is_proven": proving.is_proven(version, versions),
            }
            for profile, version in found
            for versions in [tested[profile.name].versions if profile.name in tested else ()]
        ]  # fmt: skip
        say_json(rows, indent=2)
        return
    for profile, version in found:
        if version:
            versions = tested[profile.name].versions if profile.name in tested else ()
            proven = _PROVEN[proving.is_proven(version, versions)]
            signs = " ".join(proving.declared(profile))
            say(f"{profile.name:<10} {version:<28} {proven:<15} {signs}")
        else:
            say(f"{profile.name:<10} {_missing(profile)}")
        for problem in profile.problems:
            say(f"{'':<10} ! {problem}")


_PROVEN = {True: "proven", False: "not yet proven", None: "not tested"}


def _missing(profile: Profile) -> str:
    if not profile.program:
        return "names no program"
    return f"not installed; {profile.install_hint or f'there is no {profile.program} on PATH'}"


@profiles.command()
@click.argument("name", shell_complete=complete_profiles)
@click.option("-p", "--prompt", default="", help="Also give it this to do; that may cost something.")
@click.option("--timeout", type=click.FloatRange(min=1), default=30.0, show_default=True, metavar="SECONDS")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def check(name: str, prompt: str, timeout: float, as_json: bool) -> None:
    """Start a program in a scratch repository and see by which signs its status is known."""
    from fleet_tui import profiles as loading
    from fleet_tui import proving

    proof = proving.prove(name, open_fleet().config(), prompt=prompt, seconds=timeout)
    signs = proving.declared(loading.load(name))
    if as_json:
        say_json(asdict(proof) | {"signs": signs}, indent=2)
    else:
        _show(proof, signs)
    if proof.status in ("unknown", "exited", "starting", "working"):
        raise FleetError(
            f"{name} ended up {proof.status} after {proof.seconds} s", hint="its screen above may say why"
        )


def _show(proof: Proof, signs: list[str]) -> None:
    detail = ", ".join(filter(None, (proof.detail, proof.text)))
    say(f"{proof.profile} {proof.version}: {proof.status} after {proof.seconds} s" + (f" ({detail})" if detail else ""))  # fmt: skip
    names = {"reports": "osc7501"}
    shown = {names.get(sign, sign) for sign in signs} | {"launcher"}
    for sign in [*signs, *(source for source in proof.spoke if source not in shown)]:
        said = proof.spoke.get(names.get(sign, sign), "")
        say(f"  {'✓' if said else '–'} {sign:<8} {said or 'did not speak'}")
    if proof.status in ("unknown", "exited", "starting", "working"):
        for line in proof.lines:
            say(f"  | {line}")
