"""The results of a measure: rows of numbers with their spread and their promise. Uses no clock and no process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Figures:
    """One thing measured several times."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def percentile(self, part: float) -> float:
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    measured: Figures
    unit: str
    against: str = ""
    """The reference measurements; empty for a number without one."""
    reference: Figures | None = None
    target: str = ""
    is_met: bool | None = None
    """None without a promise."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The median ratio of pairs measured one after the other: a disturbance probably affected both."""
        if self.reference is None:
            return None
        ours, theirs = self.measured.values, self.reference.values
        if len(ours) == len(theirs):
            return median(mine / other for mine, other in zip(ours, theirs, strict=True))
        return self.measured.median / self.reference.median

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {
            "median": self.measured.median,
            "low": self.measured.low,
            "high": self.measured.high,
            "ratio": self.ratio,
        }


def compared(
    what: str,
    ours: Sequence[float],
    against: str,
    theirs: Sequence[float],
    *,
    unit: str = "s",
    at_most: float | None = None,
    at_least: float | None = None,
    note: str = "",
) -> Row:
    """A row with a promise about the ratio."""
    bare = Row(what, Figures(tuple(ours)), unit, against, Figures(tuple(theirs)), note=note)
    target, is_met = _judged(bare.ratio or 0.0, at_most, at_least, "×")
    return Row(what, bare.measured, unit, against, bare.reference, target, is_met, note)


def alone(
    what: str,
    values: Sequence[float],
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    against: str = "",
    reference: Sequence[float] = (),
    note: str = "",
) -> Row:
    """A row with a promise about its own median; the reference is shown for comparison only."""
    figures = Figures(tuple(values))
    target, is_met = _judged(figures.median, at_most, at_least, f" {unit}".rstrip())
    other = Figures(tuple(reference)) if reference else None
    return Row(what, figures, unit, against, other, target, is_met, note)


def _judged(
    value: float, at_most: float | None, at_least: float | None, unit: str
) -> tuple[str, bool | None]:
    if at_most is not None:
        return f"≤ {at_most:g}{unit}", value <= at_most
    if at_least is not None:
        return f"≥ {at_least:g}{unit}", value >= at_least
    return "", None


def interleaved(rounds: int, *subjects: Callable[[], float]) -> list[list[float]]:
    """The results of each subject. Subjects alternate, so that disturbances affect all of them alike."""
    results: list[list[float]] = [[] for _ in subjects]
    for _ in range(rounds):
        for subject, values in zip(subjects, results, strict=True):
            values.append(subject())
    return results
