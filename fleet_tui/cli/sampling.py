"""Take the first CPU sample of `fleet list` early.

CPU usage is the difference of two samples; the first is taken while the command still loads its modules.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet_tui.system.usage import Sampler

SAMPLE_SECONDS = 0.05
"""The least time between the two samples."""

_first_sample: list[tuple[Sampler, float]] = []


def primed() -> Sampler:
    """A sampler whose first sample is old enough for a second one."""
    if not _first_sample:
        prime()
    sampler, at = _first_sample[0]
    time.sleep(max(0.0, at + SAMPLE_SECONDS - time.monotonic()))
    return sampler


def prime() -> None:
    """Take the first sample."""
    from fleet_tui.system.usage import Sampler

    sampler = Sampler()
    sampler.prime()
    _first_sample.append((sampler, time.monotonic()))
