"""`fleet.profiles`: the programs that agents can run, their versions, and a check of one in a scratch repository."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.lifecycle.profile_check import CheckResult
    from fleet_tui.programs.profile import Profile
    from fleet_tui.programs.prompt_text import TextRule


@dataclass(frozen=True, slots=True)
class InstalledProfile:
    """A profile and what is known of its program on this machine."""

    profile: Profile
    version: str
    """As the program reports it; empty if it is not installed."""
    signs: tuple[str, ...]
    """The sources that its status is read from, best first."""
    tested: tuple[str, ...]
    """The versions that the tests of fleet-tui cover, oldest first."""
    is_proven: bool | None
    """Whether this version is among them; None if that is not known."""


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """An agent program that this machine may have."""

    name: str
    path: str = ""
    """Empty if it is not installed."""
    install: str = ""
    version: str = ""
    """As it reports itself; empty until it was asked."""


class ProfileVerbs:
    """Looks at profiles and starts their programs to ask for versions. Makes no agent."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def all(self) -> list[InstalledProfile]:
        """Every profile with the version of its program; those not installed last."""
        from fleet_tui.lifecycle import profile_check
        from fleet_tui.programs import versions as program_versions

        tested = program_versions.tested()
        found = []
        for profile, version in program_versions.installed():
            versions = tested[profile.name].versions if profile.name in tested else ()
            signs = tuple(profile_check.declared(profile))
            proven = program_versions.is_tested(version, versions)
            found.append(InstalledProfile(profile, version, signs, versions, proven))
        return found

    def check(self, name: str, *, prompt: str = "", seconds: float = 30.0) -> CheckResult:
        """Start a program in a scratch repository and report which sources of its status work."""
        from fleet_tui.lifecycle import profile_check

        return profile_check.check(name, self._fleet.config(), prompt=prompt, seconds=seconds)

    def signs(self, name: str) -> list[str]:
        """The sources that a program's status is read from, best first."""
        from fleet_tui.lifecycle import profile_check
        from fleet_tui.programs import profiles

        return profile_check.declared(profiles.load(name))

    def programs(self) -> list[AgentProgram]:
        """The agent programs, installed ones first, with how to install the others."""
        from fleet_tui.programs import profiles

        found: list[tuple[int, AgentProgram]] = []
        for name in profiles.names():
            if name == "shell":
                continue
            with contextlib.suppress(FleetError):
                profile = profiles.load(name)
                found.append((profile.rank, AgentProgram(name, _path(profile), profile.install_hint)))
        return [tool for _, tool in sorted(found, key=lambda one: (not one[1].path, one[0]))]

    def versions(self) -> dict[str, str]:
        """By name, the version that each installed program reports; runs each of them."""
        from fleet_tui.programs import versions

        wanted = [program.name for program in self.programs() if program.path]
        if not wanted:
            return {}
        return {profile.name: version for profile, version in versions.installed(wanted)}

    def text_rules(self, names: Sequence[str]) -> list[TextRule]:
        """The texts that programs of these profiles treat as commands of their own."""
        from fleet_tui.programs import profiles

        found: list[TextRule] = []
        for name in names:
            with contextlib.suppress(FleetError):
                found += profiles.load(name).rules.texts
        return found

    def headless_warning(self, name: str) -> str:
        """What a headless agent of this profile will not do with its permissions; empty if nothing."""
        from fleet_tui.programs import profiles
        from fleet_tui.programs.command import headless_warning

        return headless_warning(profiles.load(name), self._fleet.config())


def _path(profile: Profile) -> str:
    from fleet_tui.programs.executable import program_path

    try:
        return program_path(profile)
    except FleetError:
        return ""
