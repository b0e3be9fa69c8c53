"""Errors that cross from one process to another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fleet_tui
from fleet_tui.errors import FleetError, from_kind
from fleet_tui.git.program import GitFailed

PACKAGE = Path(fleet_tui.__file__).parent


def kinds(parent: type[FleetError]) -> Iterator[type[FleetError]]:
    yield parent
    for kind in parent.__subclasses__():
        yield from kinds(kind)


@pytest.mark.parametrize(
    "kind", [kind for kind in kinds(FleetError) if kind.__module__ == FleetError.__module__]
)
def test_an_error_of_another_process_is_of_the_same_class(kind: type[FleetError]) -> None:
    error = from_kind(
        kind.__name__, "no agent of that name", hint="run: fleet list", exit_code=kind.exit_code
    )

    assert type(error) is kind
    assert str(error) == "no agent of that name (run: fleet list)"
    assert error.exit_code == kind.exit_code


@pytest.mark.parametrize("kind", [GitFailed.__name__, "annotations", ""])
def test_an_error_that_is_declared_elsewhere_keeps_its_exit_code(kind: str) -> None:
    error = from_kind(kind, "it failed", hint="", exit_code=5)

    assert type(error) is FleetError
    assert error.exit_code == 5


def test_every_error_in_the_package_says_what_to_do_next() -> None:
    names = {kind.__name__ for kind in kinds(FleetError) if kind.__module__ == FleetError.__module__}
    without = [
        f"{file.name}:{call.lineno}"
        for file in PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in names
        and not any(keyword.arg == "hint" for keyword in call.keywords)
    ]

    assert not without
