"""Paths of the stylesheets: beside the package in a checkout, inside it when installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def folder() -> Path:
    inside = _PACKAGE / "styles"
    return inside if inside.is_dir() else _PACKAGE.parent / "styles"


def path(name: str) -> Path:
    return folder() / f"{name}.tcss"
