"""Drafts of forms: what the user typed into a form and did not send.

They are in one file that only the user can read, so they outlive the face. If the file cannot be read or written, only drafts
are lost. Several dashboards share the file, so each change reads it again first.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.system import files

Values = Mapping[str, Any]
"""The contents of a form by the names of its fields: texts, and lists of plain data."""

MOST_DRAFTS = 50
MOST_BYTES = 16 << 20
"""Of a file that is read."""
KEEP_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class FormDraft:
    values: Values
    at: float
    """When it was typed."""


class FormDrafts:
    """Drafts by form. Without a file they live only as long as this object."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._drafts: dict[str, FormDraft] = {}

    def get(self, form: str) -> FormDraft | None:
        self._read()
        return self._drafts.get(form)

    def keep(self, form: str, values: Values, now: float) -> None:
        """Keep the contents of a form; unchanged contents keep their age."""
        before = self.get(form)
        if before is None or before.values != values:
            self._drafts[form] = FormDraft(values, now)
            self._write(now)

    def forget(self, form: str) -> None:
        """Remove the draft of a form that was sent."""
        if self.get(form) is not None:
            del self._drafts[form]
            self._write(0.0)

    def _read(self) -> None:
        if self._file is None:
            return
        try:
            found = json.loads(files.read(self._file, limit=MOST_BYTES))
            self._drafts = {
                form: FormDraft(dict(draft["values"]), float(draft["at"])) for form, draft in found.items()
            }
            self._drafts = {form: draft for form, draft in self._drafts.items() if math.isfinite(draft.at)}
        except FileNotFoundError:
            self._drafts = {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return

    def _write(self, now: float) -> None:
        newest = sorted(self._drafts.items(), key=lambda one: one[1].at)[-MOST_DRAFTS:]
        self._drafts = {form: draft for form, draft in newest if now - draft.at < KEEP_SECONDS}
        if self._file is None:
            return
        said = {form: {"values": draft.values, "at": draft.at} for form, draft in self._drafts.items()}
        with contextlib.suppress(OSError):
            files.replace(self._file, json.dumps(said).encode())
