"""Status reports that programs print about themselves (OSC 7501): parse one."""

from __future__ import annotations

import base64
import binascii

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Status
from fleet_tui.programs.screen_text import shown_line
from fleet_tui.programs.status_rules import KINDS

REPORT_BYTES = 4096

_STATES = {
    "idle": Status.IDLE,
    "working": Status.WORKING,
    "blocked": Status.BLOCKED,
    "done": Status.DONE,
    "error": Status.ERROR,
    "limited": Status.LIMITED,
}
_KINDS = {"auth": "login"}


@dataclass(frozen=True, slots=True)
class ProgramReport:
    status: Status | None
    """None withdraws earlier reports."""
    kind: str = ""
    """For blocked: by what."""
    text: str = ""


def parse_report(payload: str) -> ProgramReport | None:
    """The report, or None when it is malformed or about a part of the program's work."""
    if len(payload) > REPORT_BYTES:
        return None
    fields = dict(part.split("=", 1) for part in payload.split(":") if "=" in part)
    state = fields.get("state", "")
    if "/" in fields.get("id", ""):
        return None
    if state == "clear":
        return ProgramReport(None)
    if state not in _STATES:
        return None
    kind = _KINDS.get(fields.get("kind", ""), fields.get("kind", ""))
    return ProgramReport(_STATES[state], kind if kind in KINDS else "", _decoded(fields.get("msg", "")))


def _decoded(text: str) -> str:
    try:
        return shown_line(base64.b64decode(text, validate=True).decode("utf-8", "replace"))
    except (binascii.Error, ValueError):
        return ""
