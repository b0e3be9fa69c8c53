"""Fast data classes: cost next to nothing to define.

The standard library generates and compiles up to six methods per class, after it has loaded modules that inspect code.
A command defines about fifty classes before it does anything, which took a third of its time. Here all classes share
methods that work on a class's fields. Type checkers see the standard library's own names. Its functions (`fields`,
`replace`, `asdict`), `match`, copying and pickling work with these classes, too; those defined here do not load it.
"""

from __future__ import annotations

from operator import attrgetter
from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import asdict as asdict
    from dataclasses import astuple as astuple
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import replace as replace
    from typing import Any, NoReturn

_MISSING: Any = object()


class Field:
    """One field of a class, with the names that the standard library has for it."""

    __slots__ = ("compare", "default", "default_factory", "metadata", "name", "type")

    def __init__(
        self,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        compare: bool = True,
        metadata: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = self.type = ""
        self.default, self.default_factory, self.compare, self.metadata = (
            default, default_factory, compare, metadata,
        )  # fmt: skip


if not TYPE_CHECKING:

    def dataclass(*, slots: bool, frozen: bool = False, order: bool = False) -> Callable[[type], type]:
        """Like `dataclasses.dataclass`, which is still used for `order=True`. All classes have slots."""
        if order:
            import dataclasses

            return dataclasses.dataclass(frozen=frozen, slots=slots, order=order)
        return lambda cls: _made(cls, is_frozen=frozen)

    def field(**options: Any) -> Any:
        return Field(**options)

    def fields(value: Any) -> tuple[Field, ...]:
        return value.__fields__

    def replace(value: Any, /, **changes: Any) -> Any:
        kept = {one.name: getattr(value, one.name) for one in value.__fields__ if one.name not in changes}
        return type(value)(**kept, **changes)

    def asdict(value: Any) -> dict[str, Any]:
        return {one.name: _plain(getattr(value, one.name)) for one in value.__fields__}

    def astuple(value: Any) -> tuple[Any, ...]:
        return tuple(_plain(getattr(value, one.name)) for one in value.__fields__)


def known(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a class has fields for: another version may have written more."""
    return {one.name: values[one.name] for one in fields(cls) if one.name in values}


def _plain(value: Any) -> Any:
    if hasattr(value, "__fields__"):
        return asdict(value)
    if isinstance(value, list | tuple):
        parts = [_plain(one) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return value


# ── making a class ──────────────────────────────────────────────────────────────────────────────────────────────


def _made(cls: Any, *, is_frozen: bool) -> Any:
    inherited = tuple(getattr(cls, "__fields__", ()))
    own = tuple(_declared(cls))
    if {one.name for one in inherited} & {one.name for one in own} or hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} declares a field anew, or has __post_init__: neither is made here")
    # Slots are fixed when a class is created, so it is created again with them.
    names = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    for one in own:
        names.pop(one.name, None)
    names["__slots__"] = tuple(one.name for one in own)
    names["__fields__"] = found = (*inherited, *own)
    names["__match_args__"] = tuple(one.name for one in found)
    names["__dataclass_fields__"] = _standard
    made: Any = type(cls)(cls.__name__, cls.__bases__, names)
    made.__qualname__ = cls.__qualname__
    made.__init__ = _init_of(made, found)
    made.__eq__, made.__hash__ = _comparison_of(made, found)
    if not is_frozen:
        made.__hash__ = None
    for name, method in _SHARED.items() if is_frozen else [("__repr__", _repr)]:
        setattr(made, name, method)
    return made


def _declared(cls: Any) -> list[Field]:
    """The fields that a class itself declares, in order: its annotated attributes."""
    found = []
    for name, kind in vars(cls).get("__annotations__", {}).items():
        given = vars(cls).get(name, _MISSING)
        one = given if isinstance(given, Field) else Field(given)
        one.name, one.type = name, kind
        found.append(one)
    return found


def _init_of(cls: Any, found: tuple[Field, ...]) -> Callable[..., None]:
    names = tuple(one.name for one in found)
    setters = {name: getattr(cls, name).__set__ for name in names}
    in_order = tuple(setters.values())
    defaults = {one.name: one.default for one in found if one.default is not _MISSING}
    factories = {one.name: one.default_factory for one in found if one.default_factory is not _MISSING}

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
            raise TypeError(
                f"{cls.__name__} does not take {', '.join(map(repr, given)) or 'that many values'}"
            )

    return __init__


def _comparison_of(cls: Any, found: tuple[Field, ...]) -> tuple[Any, Any]:
    names = [one.name for one in found if one.compare]
    compared = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: object, other: object) -> bool:  # noqa: N807 - it becomes that method
        return compared(self) == compared(other) if type(other) is cls else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807 - it becomes that method
        return hash(compared(self))

    return __eq__, __hash__


def _refuse(self: object, name: str, _: object = None) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be changed")


def _repr(self: Any) -> str:
    values = (f"{one.name}={getattr(self, one.name)!r}" for one in self.__fields__)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in self.__fields__]


def _setstate(self: Any, values: list[Any]) -> None:
    for one, value in zip(self.__fields__, values, strict=True):
        object.__setattr__(self, one.name, value)


_SHARED = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}


class _Standard:
    """The fields in the form that the standard library's functions need."""

    def __get__(self, _: object, cls: Any) -> Any:
        import dataclasses

        wanted = [(one.name, one.type, _as_standard(one, dataclasses)) for one in cls.__fields__]
        made: Any = dataclasses.make_dataclass(cls.__name__, wanted, init=False, repr=False, eq=False)
        return made.__dataclass_fields__


def _as_standard(one: Field, dataclasses: Any) -> Any:
    options = {"compare": one.compare, "metadata": one.metadata}
    for name in ("default", "default_factory"):
        if getattr(one, name) is not _MISSING:
            options[name] = getattr(one, name)
    return dataclasses.field(**options)


_standard = _Standard()
