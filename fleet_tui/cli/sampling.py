"""Take the first CPU sample of `fleet list` early.

CPU usage is the difference of two samples; the first is taken before the command loads its modules, so that their
loading is part of the time between the two.
"""

from __future__ import annotations

import time

from fleet_tui.system import proc

TYPE_CHECKING = False
"""Not from typing, which takes longer to load than the sample to take."""
if TYPE_CHECKING:
    from fleet_tui.system.usage import Sampler

SAMPLE_SECONDS = 0.05
"""The least time between the two samples."""

_first: list[proc.ProcStats] = []
_samplers: list[Sampler] = []


def prime() -> None:
    """Take the first sample. Without /proc, `primed` takes it."""
    if proc.LINUX:
        _first.append(proc.read_stats())


def primed() -> Sampler:
    """A sampler whose last sample is old enough for the next one; always the same."""
    if not _samplers:
        _samplers.append(_first_sampler())
    return _samplers[0]


def _first_sampler() -> Sampler:
    from fleet_tui.system.usage import Sampler

    sampler = Sampler()
    first = _first[0] if _first else None
    at = time.monotonic() if first is None else first.at
    sampler.prime(first)
    time.sleep(max(0.0, at + SAMPLE_SECONDS - time.monotonic()))
    return sampler
