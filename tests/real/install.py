"""The real agent programs, from npm into a cache that outlives the tests.

The table of tested versions is `fleet_tui/data/tested.toml`. Where npm or its registry does not answer there is nothing to test, and
`Unavailable` says so in one line; what did install must work. Nothing is installed into the system.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fleet_tui import profiles, proving

INSTALL_SECONDS = 300
REGISTRY_SECONDS = 20
NEEDS_NODE = 22
NODE = "node@22.23.3"


@dataclass(frozen=True, slots=True)
class Cli:
    """One program as it was tested."""

    package: str
    version: str
    program: str
    profile: str


def _clis() -> dict[str, Cli]:
    newest = {name: Cli(one.package, one.versions[-1], name, name) for name, one in proving.tested().items()}
    claude = proving.tested()["claude"]
    return newest | {"claude before reports": Cli(claude.package, claude.versions[0], "claude", "claude")}


CLIS = _clis()


class Unavailable(Exception):
    """npm or its registry does not answer, so there is no program to test."""


def cache() -> Path:
    """Where the programs are kept; asked before a test has got a home of its own."""
    chosen = os.environ.get("FLEET_TEST_CACHE", "")
    return Path(chosen) if chosen else Path.home() / ".cache" / "fleet-tui-tests"


def install(name: str, folder: Path) -> list[Path]:
    """The folders to have on PATH for this program, installed first where it is not."""
    cli = CLIS[name]
    node = _node(folder)
    programs = _installed(f"{cli.package}@{cli.version}", folder, node)
    if not (programs / cli.program).exists():
        raise AssertionError(f"{cli.package}@{cli.version} installed without {cli.program!r}")
    return [programs, *node]


@functools.cache
def version(name: str, places: tuple[Path, ...]) -> str:
    """What an installed program says its version is."""
    search = os.pathsep.join([*map(str, places), os.environ["PATH"]])
    before = os.environ["PATH"]
    os.environ["PATH"] = search
    try:
        return proving.version(profiles.load(CLIS[name].profile), search)
    finally:
        os.environ["PATH"] = before


def _node(folder: Path) -> list[Path]:
    """A folder with a new enough node, or none where the system's own will do."""
    system = shutil.which("node")
    if system and _major(system) >= NEEDS_NODE:
        return []
    return [_installed(NODE, folder, [])]


@functools.cache
def _major(node: str) -> int:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
    number = done.stdout.strip().lstrip("v").partition(".")[0]
    return int(number) if number.isdigit() else 0


def _installed(package: str, folder: Path, node: list[Path]) -> Path:
    """Its folder of programs. Made under another name and renamed: a half-installed one is never used."""
    target = folder / package.strip("@").replace("/", "-")
    with _locked(folder):
        if not target.is_dir():
            _make(package, target, node)
    return target / "node_modules" / ".bin"


def _make(package: str, target: Path, node: list[Path]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"{package}: there is no npm here")
    environment = os.environ | {"PATH": os.pathsep.join([*map(str, node), os.environ["PATH"]])}
    _ask_registry(npm, package, environment)
    unfinished = target.with_name(target.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    done = _npm(
        [npm, "install", "--prefix", str(unfinished), "--no-audit", "--no-fund", "--loglevel=error", package],
        environment,
        INSTALL_SECONDS,
    )
    if done.returncode:
        raise Unavailable(f"{package}: npm could not install it: {_last_line(done.stderr)}")
    unfinished.rename(target)


def _ask_registry(npm: str, package: str, environment: dict[str, str]) -> None:
    done = _npm([npm, "view", "--json", package, "version"], environment, REGISTRY_SECONDS)
    try:
        found = json.loads(done.stdout or '""')
    except ValueError:
        found = ""
    if done.returncode or not found:
        raise Unavailable(f"{package}: the npm registry does not answer: {_last_line(done.stderr)}")


def _npm(argv: list[str], environment: dict[str, str], seconds: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"npm {argv[1]} did not answer within {seconds:.0f} s") from error


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two runs of the tests at once install one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
