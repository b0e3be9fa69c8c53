"""CPU percent is a difference of two looks: the first is taken before the imports that a command needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet_tui.usage import Sampler

SAMPLE_SECONDS = 0.05
"""Two looks are at least this far apart."""

_first_look: list[tuple[Sampler, float]] = []


def primed() -> Sampler:
    """A sampler that has looked so long ago that a second look says something."""
    if not _first_look:
        prime()
    sampler, at = _first_look[0]
    time.sleep(max(0.0, at + SAMPLE_SECONDS - time.monotonic()))
    return sampler


def prime() -> None:
    from fleet_tui.usage import Sampler

    sampler = Sampler()
    sampler.prime()
    _first_look.append((sampler, time.monotonic()))
