"""Ask installed programs for their versions, and compare them with the versions that the tests cover."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.programs import profiles
from fleet_tui.programs.executable import program_path
from fleet_tui.programs.profile import Profile

TIMEOUT = 10.0
"""Seconds."""
_TESTED = Path(__file__).with_name("tested.toml")
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


def version(profile: Profile, search_path: str | None = None) -> str:
    """The version that the program reports; empty if it is not installed, "?" if it reports none."""
    try:
        program = program_path(profile, search_path)
    except FleetError:
        return ""
    try:
        done = subprocess.run(
            [program, *profile.version_args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    lines = [line.strip() for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    return lines[0][:60] if done.returncode == 0 and lines else "?"


def installed(wanted: Sequence[str] = ()) -> list[tuple[Profile, str]]:
    """Profiles with the versions of their programs, asked in parallel; those not installed last."""
    from concurrent.futures import ThreadPoolExecutor

    loaded = [profiles.load(name) for name in wanted or profiles.names()]
    with ThreadPoolExecutor(8) as pool:
        found = list(zip(loaded, pool.map(version, loaded), strict=True))
    return sorted(found, key=lambda one: (not one[1], one[0].name))


@dataclass(frozen=True, slots=True)
class TestedVersions:
    """The versions of a program that `make test-agents` runs."""

    package: str
    """Its name in the npm registry."""
    versions: tuple[str, ...]
    """Oldest first."""


def tested() -> dict[str, TestedVersions]:
    """The tested versions by profile name."""
    import tomllib

    found = tomllib.loads(_TESTED.read_text(encoding="utf-8"))
    return {name: TestedVersions(one["package"], tuple(one["versions"])) for name, one in found.items()}


def is_tested(version: str, versions: Sequence[str]) -> bool | None:
    """Whether the tests cover this version; None if the version is unknown or nothing is tested.

    Any version between the oldest and the newest tested one counts: what programs show changes in new releases.
    """
    number = _NUMBER.search(version)
    if number is None or not versions:
        return None
    return _parts(versions[0]) <= _parts(number[0]) <= _parts(versions[-1])


def _parts(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))
