"""Labels and input fields for untrusted text: no markup, no control characters.

Import these instead of Textual's own.
"""

from __future__ import annotations

from typing import Any

from textual import widgets
from textual.visual import VisualType

from fleet_tui.text import block, flat


def _safe(content: VisualType) -> VisualType:
    return block(content) if isinstance(content, str) else content


class Static(widgets.Static):
    def __init__(self, content: VisualType = "", *, markup: bool = False, **options: Any) -> None:
        super().__init__(_safe(content), markup=False, **options)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        super().update(_safe(content), layout=layout)


class Label(widgets.Label):
    def __init__(self, content: VisualType = "", *, markup: bool = False, **options: Any) -> None:
        super().__init__(_safe(content), markup=False, **options)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        super().update(_safe(content), layout=layout)


class Input(widgets.Input):
    """One line; pasted and preset text is sanitized."""

    def validate_value(self, value: str) -> str:
        return flat(value)

    def validate_placeholder(self, placeholder: str) -> str:
        return flat(placeholder)
