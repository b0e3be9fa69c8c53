"""What the forms that start agents share: they know what can be run here, and stay until the agents are started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_tui.tui.exchange import Surroundings
from fleet_tui.tui.screens.dialog import Dialog
from fleet_tui.tui.widgets.lines import clean


class Form(Dialog[None]):
    """Says what is wanted by calling `on_wanted`, and is left by who has started it."""

    on_wanted: Callable[[Any], None] = staticmethod(lambda _: None)
    own_settings = False
    """Whether agents are started without what the project asks for."""

    def __init__(self, place: Surroundings | None) -> None:
        super().__init__()
        self._place = place or Surroundings()

    def on_mount(self) -> None:
        super().on_mount()
        self.call_next(self._bring_up)

    def take_place(self, place: Surroundings) -> None:
        """How things are here now: the dashboard may have been open for hours."""
        self._place = place
        if self.is_mounted:
            self.call_next(self._bring_up)

    async def _bring_up(self) -> None:
        # What is heard of a place may come when the form is just being left.
        if self.is_attached and self.is_active:
            await self._show_place()

    async def _show_place(self) -> None:
        """Bring what is on the form up to how things are here."""
        raise NotImplementedError

    @property
    def _missing(self) -> dict[str, str]:
        """How to install each program that is known and not installed."""
        return {tool.name: tool.install for tool in self._place.tools if not tool.path}

    @property
    def _usual(self) -> str:
        """What runs where nothing is said, and whether it can."""
        usual = self._place.default_profile
        return f"{usual}, not installed" if usual in self._missing else usual

    def _can_run(self, *profiles: str) -> bool:
        """Whether all these are there; the first that is not is named."""
        missing = self._missing
        for name in (name or self._place.default_profile for name in profiles):
            if name in missing:
                how = f"install it with: {missing[name]}" if missing[name] else "install it"
                self.notify(
                    clean(f"{how}, or choose another"), title=f"{name} is not installed", severity="error"
                )
                return False
        return True

    def stand_back(self) -> None:
        """Another dialog shows what becomes of it."""
        self.add_class("-launching")

    def come_back(self) -> None:
        """It could not be started: everything is as it was typed."""
        self.remove_class("-launching")
