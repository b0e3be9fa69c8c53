"""Traps: configuration that makes git run a program, as an agent could plant it, and proof that it ran."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.git.repositories import call


@dataclass(frozen=True, slots=True)
class Trap:
    """A program that creates a file when it is run."""

    program: Path
    canary: Path

    @property
    def has_sprung(self) -> bool:
        return self.canary.exists()


def lay(folder: Path) -> Trap:
    folder.mkdir()
    trap = Trap(folder / "program", folder / "canary")
    trap.program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{trap.canary}"\nexit 1\n')
    trap.program.chmod(0o755)
    return trap


@dataclass(frozen=True, slots=True)
class Plant:
    """One key, or a few that work together, and a git command that runs their program."""

    settings: tuple[tuple[str, str], ...]
    """`{program}` stands for the trap's program."""
    falls: tuple[str, ...] = ()
    """Empty if no command without terminal or network runs the program."""
    attributes: str = ""


FILTERED = "* filter=trap diff=trap merge=trap\n"
HOOKS = ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman")
NO_OBJECT = "1" * 40

PLANTS = {
    "fsmonitor": Plant((("core.fsmonitor", "{program}"),), ("status",)),
    "clean": Plant((("filter.trap.clean", "{program}"),), ("status",), FILTERED),
    "smudge": Plant((("filter.trap.smudge", "{program}"),), ("checkout-index", "-f", "-a"), FILTERED),
    "process": Plant(
        (("filter.trap.process", "{program}"), ("filter.trap.required", "true")), ("status",), FILTERED
    ),
    "textconv": Plant((("diff.trap.textconv", "{program}"),), ("diff",), FILTERED),
    "external": Plant((("diff.external", "{program}"),), ("diff",)),
    "driver": Plant((("diff.trap.command", "{program}"),), ("diff",), FILTERED),
    "hooksPath": Plant((("core.hooksPath", "{hooks}"),), ("update-ref", "refs/heads/other", "HEAD")),
    "include": Plant((("include.path", "{included}"),), ("status",)),
    "includeIf": Plant((("includeIf.gitdir:/**.path", "{included}"),), ("status",)),
    "attributesFile": Plant(
        (("core.attributesFile", "{attributes}"), ("filter.trap.clean", "{program}")), ("status",)
    ),
    "partial clone": Plant(
        (
            ("core.repositoryformatversion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", "ext::{program} %S"),
            ("protocol.ext.allow", "always"),
        ),
        ("cat-file", "-p", NO_OBJECT),
    ),
    "alias": Plant((("alias.look", "!{program}"), ("alias.status", "!{program}")), ("look",)),
    "editor": Plant(
        (("core.editor", "{program}"), ("sequence.editor", "{program}")), ("commit", "--allow-empty")
    ),
    "gpg": Plant(
        (("gpg.program", "{program}"), ("commit.gpgSign", "true"), ("log.showSignature", "true")),
        ("commit", "--allow-empty", "-m", "x"),
    ),
    "ssh": Plant((("core.sshCommand", "{program}"),), ("ls-remote", "ssh://nowhere.invalid/x")),
    "proxy": Plant((("core.gitProxy", "{program}"),), ("ls-remote", "git://nowhere.invalid/x")),
    "pager": Plant((("core.pager", "{program}"), ("pager.status", "true"), ("pager.diff", "true"))),
    "credential": Plant((("credential.helper", "{program}"), ("core.askPass", "{program}"))),
    "merge driver": Plant((("merge.trap.driver", "{program}"),), attributes=FILTERED),
    "packObjectsHook": Plant((("uploadpack.packObjectsHook", "{program}"),)),
    "alternateRefs": Plant((("core.alternateRefsCommand", "{program}"),)),
    "submodule": Plant((("submodule.sub.update", "!{program}"), ("submodule.recurse", "true"))),
    "work tree": Plant((("core.worktree", "{elsewhere}"),)),
}


def settings(plant: Plant, trap: Trap) -> list[tuple[str, str]]:
    """The keys with the trap's program filled in, and the files that they name."""
    folder = trap.program.parent
    hooks, included, attributes = folder / "hooks", folder / "included", folder / "attributes"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).write_bytes(trap.program.read_bytes())
        (hooks / name).chmod(0o755)
    included.write_text(f"[core]\n\tfsmonitor = {trap.program}\n")
    attributes.write_text(FILTERED)
    names = {
        "program": trap.program,
        "hooks": hooks,
        "included": included,
        "attributes": attributes,
        "elsewhere": folder,
    }
    return [(key, value.format(**names)) for key, value in plant.settings]


def plant_in(file: Path, plant: Plant, trap: Trap) -> None:
    """Write the keys into a configuration file."""
    for key, value in settings(plant, trap):
        call(file.parent, "config", "--file", str(file), key, value)


def falls(where: Path, plant: Plant) -> None:
    """Run the command as the user's own git would, and ignore its result."""
    subprocess.run(["git", "-C", str(where), *plant.falls], capture_output=True, check=False, timeout=20)


def replace_link(worktree: Path, trap: Trap, plant: Plant) -> Path:
    """Point a worktree's `.git` to a bare repository in it that differs from its own only in the configuration."""
    planted = worktree / "planted.git"
    common = Path(call(worktree, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    call(worktree, "clone", "--quiet", "--bare", str(common), str(planted))
    call(planted, "config", "core.bare", "false")
    plant_in(planted / "config", plant, trap)
    (planted / "hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        (planted / "hooks" / name).write_bytes(trap.program.read_bytes())
        (planted / "hooks" / name).chmod(0o755)
    index = Path(call(worktree, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    (planted / "index").write_bytes(index.read_bytes())
    (worktree / ".git").write_text(f"gitdir: {planted}\n")
    return planted
