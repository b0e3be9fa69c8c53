"""Frozen data classes that cost next to nothing to define.

The standard library writes and compiles six methods for each. A command defines some fifty before it does anything,
and that took a third of its time; here all share methods that go by a class's fields. Type checkers see the
standard decorator, and `fields`, `replace`, `asdict`, `match` and pickling work as with it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, slots: bool, frozen: bool = False, order: bool = False) -> Callable[[type], type]:
        """As the standard one; what is to be written to or sorted is made by it."""
        if frozen and not order:
            return _value
        return dataclasses.dataclass(frozen=frozen, slots=slots, order=order)


def _value(cls: type) -> type:
    if cls.__doc__ is None:
        # Else it is written from the signature, which takes longer than all that follows.
        cls.__doc__ = cls.__name__
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields: tuple[Field[Any], ...] = dataclasses.fields(made)
    made.__init__ = _init_by(made, fields)
    made.__eq__, made.__hash__ = _comparison_by(made, [field.name for field in fields if field.compare])
    made.__setattr__ = made.__delattr__ = _refuse
    for method in (_repr, _getstate, _setstate):
        setattr(made, f"_{method.__name__}__", method)
    return made  # type: ignore[no-any-return]


def _init_by(cls: Any, fields: tuple[Field[Any], ...]) -> Callable[..., None]:
    names = tuple(field.name for field in fields)
    setters = {name: getattr(cls, name).__set__ for name in names}
    in_order = tuple(setters.values())
    defaults = {field.name: field.default for field in fields if field.default is not MISSING}
    factories = {
        field.name: field.default_factory for field in fields if field.default_factory is not MISSING
    }

    def __init__(self: object, *args: object, **given: object) -> None:  # noqa: N807 - it becomes that method
        for set_, value in zip(in_order, args, strict=False):
            set_(self, value)
        if len(args) == len(in_order) and not given:
            return
        for name in names[len(args) :]:
            if name in given:
                setters[name](self, given.pop(name))
            elif name in defaults:
                setters[name](self, defaults[name])
            elif name in factories:
                setters[name](self, factories[name]())
            else:
                raise TypeError(f"{cls.__name__} needs {name!r}")
        if given or len(args) > len(names):
            raise TypeError(f"{cls.__name__} does not take {', '.join(map(repr, given)) or 'so many values'}")

    return __init__


def _comparison_by(cls: Any, names: list[str]) -> tuple[Callable[..., Any], Callable[..., int]]:
    compared = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: object, other: object) -> bool:  # noqa: N807 - it becomes that method
        return compared(self) == compared(other) if type(other) is cls else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807 - it becomes that method
        return hash(compared(self))

    return __eq__, __hash__


def _refuse(self: object, name: str, _: object = None) -> NoReturn:
    raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be changed")


def _repr(self: Any) -> str:
    values = (
        f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr
    )
    return f"{type(self).__name__}({', '.join(values)})"


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, values: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), values, strict=True):
        object.__setattr__(self, field.name, value)
