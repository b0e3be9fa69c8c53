"""Installs the real agent programs from npm into a cache that outlives the tests.

`fleet_tui/programs/tested.toml` lists the tested versions. If npm or its registry is unreachable, `Unavailable` says so and
the tests are skipped; a program that was installed must work. Nothing is installed into the system.
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

from fleet_tui.programs import profiles, versions

INSTALL_SECONDS = 300
REGISTRY_SECONDS = 20
NEEDS_NODE = 22
NODE = "node@22.23.3"


@dataclass(frozen=True, slots=True)
class Cli:
    """One tested program."""

    package: str
    version: str
    program: str
    profile: str


def _clis() -> dict[str, Cli]:
    newest = {name: Cli(one.package, one.versions[-1], name, name) for name, one in versions.tested().items()}
    claude = versions.tested()["claude"]
    return newest | {"claude before reports": Cli(claude.package, claude.versions[0], "claude", "claude")}


CLIS = _clis()


class Unavailable(Exception):
    """npm or its registry is unreachable, so there is no program to test."""


def cache() -> Path:
    """Where the programs are kept; read before a test gets its own home."""
    chosen = os.environ.get("FLEET_TEST_CACHE", "")
    return Path(chosen) if chosen else Path.home() / ".cache" / "fleet-tui-tests"


def install(name: str, folder: Path) -> list[Path]:
    """The folders this program needs on PATH; installs it if necessary."""
    cli = CLIS[name]
    node = _node(folder)
    programs = _installed(f"{cli.package}@{cli.version}", folder, node)
    if not (programs / cli.program).exists():
        raise AssertionError(f"{cli.package}@{cli.version} installed without {cli.program!r}")
    return [programs, *node]


@functools.cache
def version(name: str, places: tuple[Path, ...]) -> str:
    """The version an installed program reports."""
    search = os.pathsep.join([*map(str, places), os.environ["PATH"]])
    before = os.environ["PATH"]
    os.environ["PATH"] = search
    try:
        return versions.version(profiles.load(CLIS[name].profile), search)
    finally:
        os.environ["PATH"] = before


def _node(folder: Path) -> list[Path]:
    """A folder with a recent enough node, or none if the system's node is."""
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
    """The folder of its executables. It is created under another name and renamed, so a partial install is never used."""
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
    """Serializes installs of concurrent test runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
