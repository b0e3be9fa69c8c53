"""Complaints of the screen server: exceptions it survives, written to holder.err."""

from __future__ import annotations

import contextlib
import traceback


def log() -> None:
    """Write the exception being handled to standard error; a full disk is ignored."""
    with contextlib.suppress(OSError):
        traceback.print_exc()
