"""The families of verbs that a `Fleet` holds, each made when it is first asked for.

A family is a module of this room and imports the rooms that do its work; none is imported before it is used.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

from fleet_tui.fleet.reader import FleetReader

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.fleet.checkpoints import CheckpointVerbs
    from fleet_tui.fleet.checks import CheckVerbs
    from fleet_tui.fleet.comparison import ComparisonVerbs
    from fleet_tui.fleet.conflicts import ConflictVerbs
    from fleet_tui.fleet.landing import LandingVerbs
    from fleet_tui.fleet.permissions import PermissionVerbs
    from fleet_tui.fleet.profiles import ProfileVerbs
    from fleet_tui.fleet.prompts import PromptVerbs
    from fleet_tui.fleet.pull_requests import PullRequestVerbs
    from fleet_tui.fleet.review import ReviewVerbs
    from fleet_tui.fleet.settings import SettingsVerbs
    from fleet_tui.fleet.trash import TrashVerbs
    from fleet_tui.fleet.trust import TrustVerbs


class FamilyVerbs(FleetReader):
    """What a fleet offers beside the verbs about agents as such."""

    @property
    def _whole(self) -> Fleet:
        """A family may call every verb, and nothing but a `Fleet` is made of this class."""
        return cast("Fleet", self)

    @functools.cached_property
    def prompts(self) -> PromptVerbs:
        from fleet_tui.fleet.prompts import PromptVerbs

        return PromptVerbs(self._whole)

    @functools.cached_property
    def trash(self) -> TrashVerbs:
        from fleet_tui.fleet.trash import TrashVerbs

        return TrashVerbs(self._whole)

    @functools.cached_property
    def settings(self) -> SettingsVerbs:
        from fleet_tui.fleet.settings import SettingsVerbs

        return SettingsVerbs(self._whole)

    @functools.cached_property
    def trust(self) -> TrustVerbs:
        from fleet_tui.fleet.trust import TrustVerbs

        return TrustVerbs(self._whole)

    @functools.cached_property
    def permissions(self) -> PermissionVerbs:
        from fleet_tui.fleet.permissions import PermissionVerbs

        return PermissionVerbs(self._whole)

    @functools.cached_property
    def profiles(self) -> ProfileVerbs:
        from fleet_tui.fleet.profiles import ProfileVerbs

        return ProfileVerbs(self._whole)

    @functools.cached_property
    def comparison(self) -> ComparisonVerbs:
        from fleet_tui.fleet.comparison import ComparisonVerbs

        return ComparisonVerbs(self._whole)

    @functools.cached_property
    def landing(self) -> LandingVerbs:
        from fleet_tui.fleet.landing import LandingVerbs

        return LandingVerbs(self._whole)

    @functools.cached_property
    def conflicts(self) -> ConflictVerbs:
        from fleet_tui.fleet.conflicts import ConflictVerbs

        return ConflictVerbs(self._whole)

    @functools.cached_property
    def review(self) -> ReviewVerbs:
        from fleet_tui.fleet.review import ReviewVerbs

        return ReviewVerbs(self._whole)

    @functools.cached_property
    def pull_requests(self) -> PullRequestVerbs:
        from fleet_tui.fleet.pull_requests import PullRequestVerbs

        return PullRequestVerbs(self._whole)

    @functools.cached_property
    def checks(self) -> CheckVerbs:
        from fleet_tui.fleet.checks import CheckVerbs

        return CheckVerbs(self._whole)

    @functools.cached_property
    def checkpoints(self) -> CheckpointVerbs:
        from fleet_tui.fleet.checkpoints import CheckpointVerbs

        return CheckpointVerbs(self._whole)
