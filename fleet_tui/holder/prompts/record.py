"""The record of prompts, prompts.jsonl: a queue survives the death of its screen server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fleet_tui.holder.prompts.prompt import Prompt, PromptStep
from fleet_tui.holder.run_folder import PROMPTS_FILE, PROMPTS_MOST
from fleet_tui.models import ReceiptState
from fleet_tui.system import files


class PromptRecord:
    """Appends a line at each change of a prompt; the last line of a prompt counts."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / PROMPTS_FILE

    def move(self, prompt: Prompt, state: ReceiptState, reason: str = "") -> PromptStep:
        """Change a prompt's state, write it down, and return the receipt to send."""
        prompt.state, prompt.reason = state, reason
        self.write(prompt)
        return PromptStep(receipt=prompt.receipt())

    def write(self, prompt: Prompt) -> None:
        """Append the prompt; left out on a full disk, or if an agent has put something else in the file's place."""
        line = json.dumps(_as_plain(prompt))
        try:
            descriptor = files.open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError:
            return
        try:
            os.write(descriptor, line.encode() + b"\n")
        except OSError:
            return
        finally:
            os.close(descriptor)

    def read(self) -> dict[str, Prompt]:
        """All prompts as the last screen server left them, in order."""
        found = {prompt.id: prompt for prompt in self._lines()}
        for prompt in found.values():
            prompt.is_cut = prompt.state is ReceiptState.TYPING
            if prompt.state is ReceiptState.ASIDE:
                prompt.state = ReceiptState.QUEUED
            # Its turn has begun before: whenever the program is idle now, the turn is over.
            prompt.busy_before = -1 if prompt.state is ReceiptState.ACCEPTED else 0
        return found

    def _lines(self) -> Iterator[Prompt]:
        try:
            lines = files.read(self._path, limit=PROMPTS_MOST).splitlines()
        except OSError:
            return
        for line in lines:
            try:
                values = json.loads(line)
                yield Prompt(
                    str(values["id"]), str(values["text"]), bool(values.get("now")), str(values.get("note", "")),
                    ReceiptState(values["state"]), str(values.get("reason", "")), bool(values.get("command")),
                    str(values["draft"]) if values.get("draft") is not None else None,
                )  # fmt: skip
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue


def _as_plain(prompt: Prompt) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": prompt.id,
        "text": prompt.text,
        "now": prompt.is_now,
        "note": prompt.note,
        "state": str(prompt.state),
        "reason": "" if prompt.state is ReceiptState.QUEUED else prompt.reason,
    }
    values |= {"command": True} if prompt.is_command else {}
    values |= {"draft": prompt.draft} if prompt.draft is not None else {}
    return values
