"""docs/architecture.md is true: its rooms, layers and imports are those of the code, and the modules it names exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.generated_docs import ARCHITECTURE, imports, layers
from tests.places import REPOSITORY, TESTS

PACKAGE = REPOSITORY / "fleet_tui"
TEXT = ARCHITECTURE.read_text(encoding="utf-8")
CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"
NO_ROOMS = {"agents", "bench", "real", "recordings"}
"""Folders of tests that are not about one room: scripted agents, measures, real programs, recorded output."""
LINES = 500
LONG = 400
"""A file with more lines says in its docstring why it is one thing."""
ONE_THING = re.compile(r"\b([Oo]ne (?:file|class)|Long, as)\b")
EMPTY_NAMES = {"base", "common", "constants", "helpers", "misc", "utils"}

pytestmark = pytest.mark.pure


def folders_of(place: Path) -> set[str]:
    return {folder.name for folder in place.iterdir() if folder.is_dir() and not folder.name.startswith("__")}


def test_the_drawn_imports_are_those_of_the_code() -> None:
    drawn = {
        room: frozenset(below.split() if "(" not in below else ())
        for room, below in re.findall(r"^\d  (\w+) +→ (.+)$", TEXT, re.MULTILINE)
    }

    assert drawn == imports(), "run: make docs"


def test_the_table_has_every_room_in_its_layer() -> None:
    listed = {(int(layer), room) for layer, room in re.findall(r"^\| (\d) \| `(\w+)` \|", TEXT, re.MULTILINE)}

    assert listed == {(number, room) for number, rooms in enumerate(layers()[:-1], 1) for room in rooms}
    assert {room for _, room in listed} == folders_of(PACKAGE)


@pytest.mark.parametrize(
    ("library", "owner"),
    [("textual", "tui"), ("pyghostty", "terminal/emulator"), ("pygit2", "git"), ("sqlite3", "store")],
)
def test_the_contract_of_a_library_covers_all_modules_but_those_of_its_owner(
    library: str, owner: str
) -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [contract] = [one for one in contracts if library in one.get("forbidden_modules", ())]
    covered = [name.removeprefix("fleet_tui.").replace(".", "/") for name in contract["source_modules"]]

    modules = {str(file.relative_to(PACKAGE).with_suffix("")) for file in PACKAGE.rglob("*.py")}
    missed = {one for one in modules if not any(f"{one}/".startswith(f"{name}/") for name in covered)}
    assert missed - {"__init__", "terminal/__init__"} == {
        one for one in modules if one.startswith(f"{owner}/")
    }


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=lambda page: page.name)
def test_every_module_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"`([a-z_./]+(?:\.(?:py|sh|toml|md)|/))`", page.read_text(encoding="utf-8")))

    assert named
    assert {
        name for name in named if not any((root / name).exists() for root in (PACKAGE, REPOSITORY))
    } == set()


def test_every_room_has_tests_and_every_folder_of_tests_a_room() -> None:
    assert folders_of(TESTS) - NO_ROOMS == folders_of(PACKAGE)


@pytest.mark.slow
def test_every_python_that_is_started_ignores_the_modules_of_its_folder() -> None:
    """Without -P, a file json.py in a repository would run instead of Python's own."""
    found = [
        (path.name, [getattr(element, "value", None) for element in node.elts[1:2]])
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.List | ast.Tuple)
        and node.elts
        and ast.unparse(node.elts[0]) == "sys.executable"
    ]

    assert len(found) > 5
    assert [(name, options) for name, options in found if options != ["-P"]] == []


def test_no_two_public_classes_or_aliases_share_a_name() -> None:
    """Apart from messages inside of widgets, which are named together with their widget."""
    names: list[str] = []
    for file in sorted(PACKAGE.rglob("*.py")):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        # What only type checkers see is named like all else.
        for node in [*body, *(inner for outer in body if isinstance(outer, ast.If) for inner in outer.body)]:
            if isinstance(node, ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                names += [target.id] if isinstance(target, ast.Name) and not target.id.isupper() else []

    public = Counter(name for name in names if name[0].isupper() and len(name) > 1)
    assert [name for name, count in public.items() if count > 1] == []


def test_no_two_constants_that_other_modules_import_share_a_name() -> None:
    defined = {
        (".".join(file.relative_to(REPOSITORY).with_suffix("").parts), name)
        for file in sorted(PACKAGE.rglob("*.py"))
        for name in re.findall(r"^([A-Z]\w*)(?:: .+?)? = ", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    imported = {
        (node.module, alias.name)
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    assert [
        name for name, count in Counter(name for _, name in defined & imported).items() if count > 1
    ] == []


def test_every_room_says_what_it_owns() -> None:
    for room in folders_of(PACKAGE):
        text = (PACKAGE / room / "__init__.py").read_text(encoding="utf-8")

        assert ast.get_docstring(ast.parse(text)), room


def test_files_are_short_and_have_names_that_say_something() -> None:
    files = sorted(PACKAGE.rglob("*.py"))

    texts = {file: file.read_text(encoding="utf-8") for file in files}
    long = [file for file, text in texts.items() if len(text.splitlines()) > LONG]
    assert [file for file in long if len(texts[file].splitlines()) > LINES] == []
    assert [
        file for file in long if not ONE_THING.search(ast.get_docstring(ast.parse(texts[file])) or "")
    ] == []
    assert {file.stem for file in files} & EMPTY_NAMES == set()


def test_only_git_runs_git() -> None:
    """The tour makes a repository of its own, with scripts that must not depend on the package."""
    running = {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if re.search(r'[\[(]"git", ', file.read_text(encoding="utf-8")) and "demo" not in file.parts
    }

    assert running == {"git"}
