"""The documents tell the truth about keys, commands, pictures, links and make targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fleet_tui.cli.group import MODULES
from tests.generated_docs import DOCUMENTS, README
from tests.places import REPOSITORY

PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
TEXT = README.read_text(encoding="utf-8")

pytestmark = pytest.mark.pure


def code(text: str) -> str:
    """The code in a page: its spans and its blocks."""
    return "\n".join(
        part.strip("`") for part in re.findall(r"`[^`]+`|^```$.*?^```$", text, re.MULTILINE | re.DOTALL)
    )


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_the_generated_parts_are_up_to_date(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == DOCUMENTS[file](), "run: make docs"


def test_every_command_the_readme_names_exists() -> None:
    named = set(re.findall(r"^fleet ([a-z]+)\b", code(TEXT), re.MULTILINE))

    assert named
    assert named <= set(MODULES), named - set(MODULES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_picture_and_page_that_is_linked_exists(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)\b", code(page.read_text(encoding="utf-8")), re.MULTILINE))

    assert named <= targets, named - targets


def test_the_agents_the_readme_names_are_those_it_has_started() -> None:
    blocks = "\n".join(re.findall(r"^```$.*?^```$", TEXT, re.MULTILINE | re.DOTALL))
    started = set(re.findall(r"^fleet fanout \d+ (\w+) -p", blocks, re.MULTILINE))

    assert started
    assert set(re.findall(r"\b(\w+)-[A-Z]\b", blocks)) <= started
