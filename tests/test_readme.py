"""The README tells the truth: about keys, commands, pictures and make targets."""

from __future__ import annotations

import re
from pathlib import Path

from fleet_tui.cli import approving, ending, looking, programs, speaking, starting, trusting, upkeep  # noqa: F401 - loading one adds its commands
from fleet_tui.cli.group import cli
from tests.readme import README, with_keys

ROOT = README.parent
TEXT = README.read_text(encoding="utf-8")


def test_the_keys_are_those_of_the_table_of_actions() -> None:
    assert with_keys(TEXT) == TEXT, "run: make readme"


def test_every_command_it_names_exists() -> None:
    code = "\n".join(re.findall(r"`[^`]+`|^```$.*?^```$", TEXT, re.MULTILINE | re.DOTALL))
    named = set(re.findall(r"(?:^|`)fleet ([a-z]+)\b", code, re.MULTILINE))

    assert named <= set(cli.commands), named - set(cli.commands)


def test_every_picture_and_page_it_links_to_is_there() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / link).exists(), link


def test_every_make_target_it_names_exists() -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", Path(ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )

    assert set(re.findall(r"\bmake ([a-z-]+)\b(?!,)", TEXT)) - {"in"} <= targets


def test_the_agents_it_names_are_those_that_it_has_started() -> None:
    code = "\n".join(re.findall(r"^```$.*?^```$", TEXT, re.MULTILINE | re.DOTALL))
    started = set(re.findall(r"^fleet fanout \d+ (\w+) -p", code, re.MULTILINE))

    assert started
    assert set(re.findall(r"\b(\w+)-[A-Z]\b", code)) <= started
