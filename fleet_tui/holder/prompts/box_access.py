"""Access to a program's input box: what it shows of a prompt, and when the key that empties it may be pressed."""

from __future__ import annotations

from fleet_tui.holder.prompts.prompt import ProgramState, Prompt, PromptStep
from fleet_tui.programs.input_box import Box, BoxRule

AGAIN_SECONDS = 4.0
"""At least this long between two keys that empty a box: several programs quit on two of them in a row."""
STUCK_SECONDS = 30.0
"""A program that draws nothing for this long after a key is taken to be stuck."""


class BoxAccess:
    def __init__(self, rule: BoxRule | None) -> None:
        self.rule = rule
        self._emptied: tuple[float, str] | None = None
        """When a key that empties the box was last pressed, and the box's text then."""

    def known(self, prompt: Prompt, program: ProgramState) -> tuple[Box, BoxRule] | None:
        """The input box that a prompt goes into, where it can be read."""
        if self.rule is None or program.box is None or not program.has_box or prompt.is_boxless:
            return None
        return program.box, self.rule

    def shows(self, prompt: Prompt, program: ProgramState) -> bool:
        """Whether the box holds this prompt's text and nothing else, as far as that can be known."""
        known = self.known(prompt, program)
        return known is None or known[0].shows(prompt.text, known[1])

    def empty(self, key: str, box: Box, now: float) -> PromptStep:
        self._emptied = now, box.text
        return PromptStep(key=key)

    def may_empty(self, box: Box, now: float) -> bool:
        """Whether the last key that empties the box has taken effect: another one must not meet an empty box."""
        if self._emptied is None:
            return True
        at, text = self._emptied
        return now >= at + (STUCK_SECONDS if box.text == text else AGAIN_SECONDS)
