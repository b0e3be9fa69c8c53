"""The text area for prompts: several lines, with a history of earlier prompts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import TextArea

from fleet_tui.text import pictured

NEWLINES = frozenset({"shift+enter", "alt+enter", "ctrl+j", "ctrl+enter"})


class PromptArea(TextArea):
    """Enter submits if `enter_sends`; Shift+Enter, Alt+Enter and Ctrl+J always insert a new line."""

    class Submitted(Message):
        def __init__(self, area: PromptArea) -> None:
            super().__init__()
            self.area = area

    def __init__(
        self,
        text: str = "",
        *,
        history: Sequence[str] = (),
        enter_sends: bool = True,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(text, id=id, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False)
        self._history = [text for text in history if text.strip()]
        self._place = len(self._history)
        self._draft = text
        self._enter_sends = enter_sends

    def get_line(self, line_index: int) -> Text:
        """The line as displayed: a picture for each control character, so that columns do not shift."""
        return Text(pictured(self.document.get_line(line_index)), end="", no_wrap=True)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in NEWLINES or (event.key == "enter" and not self._enter_sends):
            self.insert("\n")
        elif event.key == "enter":
            self.post_message(self.Submitted(self))
        elif (event.key == "up" and self.cursor_location == (0, 0)) or event.key in ("ctrl+up", "alt+up"):
            self._recall(-1)
        elif event.key in ("ctrl+down", "alt+down"):
            self._recall(1)
        else:
            await super()._on_key(event)
            return
        event.prevent_default()
        event.stop()

    def _recall(self, step: int) -> None:
        """Load an older or newer prompt; after the newest comes the draft."""
        if self._place == len(self._history):
            self._draft = self.text
        self._place = max(0, min(len(self._history), self._place + step))
        text = self._draft if self._place == len(self._history) else self._history[self._place]
        self.load_text(text)
        self.move_cursor(self.document.end if step > 0 else (0, 0))


def history(prompts: Sequence[str]) -> list[str]:
    """Each prompt once, the newest last."""
    return list(dict.fromkeys(text for text in reversed(prompts) if text.strip()))[::-1]
