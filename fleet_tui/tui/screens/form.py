"""What the forms that start agents share: they stay until the agents are started, so that a failure loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_tui.tui.screens.dialog import Dialog


class Form(Dialog[None]):
    """Says what is wanted by calling `on_wanted`, and is left by who has started it."""

    on_wanted: Callable[[Any], None] = staticmethod(lambda _: None)

    def stand_back(self) -> None:
        """Another dialog shows what becomes of it."""
        self.add_class("-launching")

    def come_back(self) -> None:
        """It could not be started: everything is as it was typed."""
        self.remove_class("-launching")
