"""Frozen data classes behave as those of the standard library do, which the same declarations are made with here."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from fleet_tui import fast_dataclasses
from fleet_tui.fast_dataclasses import dataclass, field

pytestmark = pytest.mark.pure


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
    marks: list[str] = field(default_factory=list)
    seen: float = field(default=0.0, compare=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@dataclass(frozen=True, slots=True)
class Named(Point):
    """A point with a name."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Bare:
    value: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StandardPoint:
    x: int
    y: int = 0
    marks: list[str] = dataclasses.field(default_factory=list)
    seen: float = dataclasses.field(default=0.0, compare=False)


def test_values_are_given_by_place_or_name_and_the_rest_by_default() -> None:
    assert (Point(1).x, Point(1).y, Point(1).marks) == (1, 0, [])
    assert Point(1, 2, ["a"], 3.0) == Point(y=2, x=1, marks=["a"])
    assert Point(1).marks is not Point(1).marks
    assert Named(1, name="here").name == "here"
    assert Point(1, 2).sum == 3


@pytest.mark.parametrize(
    ("args", "given"),
    [((), {}), ((1, 2, [], 0.0, 5), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((), {"y": 1})],
)
def test_what_the_standard_decorator_refuses_is_refused(args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for kind in (Point, StandardPoint):
        with pytest.raises(TypeError):
            kind(*args, **given)


def test_values_are_equal_if_class_and_compared_fields_are() -> None:
    assert Point(1, seen=1.0) == Point(1, seen=2.0)
    assert Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert Nothing() == Nothing()
    assert hash(Bare((1,))) == hash(Bare((1,)))
    assert len({Bare((1,)), Bare((1,)), Bare((2,))}) == 2
    assert hash(Nothing()) == hash(Nothing())
    with pytest.raises(TypeError):
        hash(Point(1))


def test_what_would_silently_behave_differently_is_refused() -> None:
    with pytest.raises(TypeError, match="anew"):

        @dataclass(frozen=True, slots=True)
        class Again(Point):
            y: int = 1

    with pytest.raises(TypeError, match="__post_init__"):

        @dataclass(frozen=True, slots=True)
        class Checked:
            x: int

            def __post_init__(self) -> None:
                pass


@dataclass(slots=True)
class Open:
    """One that may be written to."""

    count: int = 0
    seen: dict[str, Bare] = field(default_factory=dict)


def test_what_is_not_frozen_can_be_changed_and_has_no_hash() -> None:
    one = Open()
    one.count += 1
    one.seen["a"] = Bare((1, 2))

    assert one == Open(1, {"a": Bare((1, 2))})
    assert (
        fast_dataclasses.asdict(one)
        == dataclasses.asdict(one)
        == {"count": 1, "seen": {"a": {"value": (1, 2)}}}
    )
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError):
        hash(one)
    with pytest.raises(AttributeError):
        one.other = 1  # type: ignore[attr-defined] # that is the point


def test_nothing_can_be_changed_or_added() -> None:
    point = Point(1)
    for name in ("x", "z"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(point, name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(point, name)
    assert not hasattr(point, "__dict__")


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda point: pickle.loads(pickle.dumps(point))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_equal(again: Callable[[Point], Point]) -> None:
    point = Named(1, marks=["a"], seen=2.0, name="n")
    assert again(point) == point
    assert again(point).seen == 2.0


def test_the_functions_of_the_standard_library_accept_fast_dataclasses() -> None:
    point = Point(1, 2)
    for module in (dataclasses, fast_dataclasses):
        assert module.replace(point, y=3) == Point(1, 3)
        assert module.asdict(point) == {"x": 1, "y": 2, "marks": [], "seen": 0.0}
        assert module.astuple(point) == (1, 2, [], 0.0)
        assert [one.name for one in module.fields(Named)] == ["x", "y", "marks", "seen", "name"]
    assert repr(point) == repr(StandardPoint(1, 2)).removeprefix("Standard")
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
