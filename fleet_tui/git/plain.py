"""Run git on the files of a work tree without the repository's configuration.

Git reads a work tree through filters, a file watcher and other programs that its configuration names, and an agent can
write that configuration: in the worktree, through a replaced `.git` file, and in the repository itself. So git gets all
paths explicitly (`GIT_DIR`, `GIT_WORK_TREE`, `GIT_OBJECT_DIRECTORY`) and a *view* as its common folder: links to the
repository's refs, and a configuration of our own. Only a few values of the real configuration are passed on, none of
which names a program (`_KEPT`). Attributes may still say `filter=lfs`, but no such filter is defined.

docs/decisions/0015-what-we-run-where.md explains what this means for filtered files.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fleet_tui import paths
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.entries import linked, read_line, remove_tree, write
from fleet_tui.git.program import (
    SAFE_OPTIONS,
    GitFailed,
    lines,
    output,
    printed,
    safe_environment,
    start_for,
)

_KEPT = frozenset(
    {
        "core.autocrlf",
        "core.checkstat",
        "core.eol",
        "core.filemode",
        "core.ignorecase",
        "core.precomposeunicode",
        "core.sparsecheckout",
        "core.sparsecheckoutcone",
        "core.symlinks",
        "core.trustctime",
    }
)
"""Settings that decide whether a file counts as changed, and that name neither a program nor a file."""
_KEPT_FILES = {"core.attributesfile": "attributes", "core.excludesfile": "ignore"}
"""The user's own lists, with their default file names."""
_FORMATS = ("objectformat", "refstorage")
"""Extensions that describe the repository's storage format."""
SECONDS = 60.0
"""Timeout for git on a work tree: a FIFO in place of its .gitignore would block git forever."""
_LINKS = ("refs", "packed-refs", "reftable", "info", "shallow")

_settings: dict[Path, tuple[object, _GitSettings]] = {}


@dataclass(frozen=True, slots=True)
class GitPlaces:
    """All paths that git needs, so that it takes none from a file in the worktree."""

    git_dir: Path
    """The folder that all worktrees of the repository share."""
    own: Path
    """The linked worktree's entry in it; the same as `git_dir` for the main work tree."""
    work_tree: Path


@dataclass(frozen=True, slots=True)
class _GitSettings:
    formats: tuple[tuple[str, str], ...]
    kept: tuple[tuple[str, str], ...]
    drivers: tuple[str, ...]
    """The keys of configured merge drivers. An option with another equals sign would mean another key."""


def place_at(folder: Path) -> GitPlaces:
    """The work tree around a folder, as git finds it. Raises GitFailed if there is none."""
    found = lines(
        output(
            folder,
            *("rev-parse", "--path-format=absolute"),
            *("--git-common-dir", "--absolute-git-dir", "--show-toplevel"),
        )
    )
    if len(found) != 3:
        raise GitFailed(f"git finds no work tree at {folder}")
    return GitPlaces(*map(Path, found))


def place_of(git_dir: Path, worktree: Path, mark: str = "") -> GitPlaces:
    """The places of a linked worktree according to our own records. Raises WorktreeChanged if its `.git` differs."""
    return GitPlaces(git_dir, linked(git_dir, worktree, mark).folder, worktree)


def run_plain(
    place: GitPlaces,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stdin: str = "",
    seconds: float = SECONDS,
    keep_open: Sequence[int] = (),
) -> subprocess.CompletedProcess[str]:
    """Run git on a work tree, with only our configuration and without starting other programs.

    `keep_open`: locks on them last until git ends, even if this process is killed.
    Raises GitFailed on a timeout.
    """
    settings = _settings_of(place)
    view = _view(place.git_dir, settings.formats)
    environment = {
        key: value for key, value in safe_environment().items() if not key.startswith("GIT_CONFIG_")
    }
    environment |= {
        "HOME": str(view),
        "XDG_CONFIG_HOME": str(view),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DIR": str(place.own),
        "GIT_COMMON_DIR": str(view),
        "GIT_OBJECT_DIRECTORY": str(place.git_dir / "objects"),
        "GIT_WORK_TREE": str(place.work_tree),
        "GIT_CONFIG_COUNT": str(len(settings.kept)),
    }
    for number, (key, value) in enumerate(settings.kept):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    where = place.work_tree if place.work_tree.is_dir() else place.own
    command = ["git", "-C", str(where), *SAFE_OPTIONS, *arguments]
    variables = environment | dict(variables or {})
    return start_for(seconds, place.work_tree, command, variables, stdin=stdin, keep_open=keep_open)


def plain_output(
    place: GitPlaces,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stdin: str = "",
    seconds: float = SECONDS,
    keep_open: Sequence[int] = (),
) -> str:
    """Git's output. Raises GitFailed with git's reason."""
    return printed(
        lambda: run_plain(
            place, *arguments, variables=variables, stdin=stdin, seconds=seconds, keep_open=keep_open
        )
    )


def merge_drivers(place: GitPlaces) -> tuple[str, ...]:
    """The keys of the merge drivers that the repository's or the user's configuration names; none is ever run."""
    return _settings_of(place).drivers


# ── the configuration ──


def _settings_of(place: GitPlaces) -> _GitSettings:
    """Cached per process, and read again when one of the repository's own files changes."""
    stamp = [file_stamp(place.git_dir / "config"), file_stamp(place.own / "config.worktree")]
    known = _settings.get(place.own)
    if known is None or known[0] != stamp:
        known = (stamp, _read_settings(place))
        _settings[place.own] = known
    return known[1]


def file_stamp(path: Path) -> object:
    """Differs once the file is another one or was written; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read_settings(place: GitPlaces) -> _GitSettings:
    formats: dict[str, str] = {}
    kept: dict[str, str] = {}
    drivers = set()
    for scope, key, value in _configured(place):
        section, _, name = key.partition(".")
        if scope == "local" and section == "extensions" and name in _FORMATS:
            formats[name] = value
        elif key in _KEPT:
            kept[key] = value
        elif section == "merge" and name.endswith(".driver") and "=" not in name:
            drivers.add(key)
        elif key in _KEPT_FILES:
            kept[key] = os.path.expanduser(value)  # noqa: PTH111 - Path.expanduser raises for an unknown user
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - as above
    for key, name in _KEPT_FILES.items():
        path = Path(kept.get(key) or f"{folder}/git/{name}")
        # Reading a device or a FIFO in its place would never end.
        kept[key] = str(path) if path.is_file() else os.devnull
    return _GitSettings(tuple(sorted(formats.items())), tuple(sorted(kept.items())), tuple(sorted(drivers)))


def _configured(place: GitPlaces) -> Iterator[tuple[str, str, str]]:
    """Yield scope, key and value of every setting; listing them runs no program."""
    variables = {"GIT_DIR": str(place.own), "GIT_COMMON_DIR": str(place.git_dir)}
    fields = output(place.own, "config", "--list", "--show-scope", "--null", variables=variables).split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, has_value, value = entry.partition("\n")
        yield scope, key, value if has_value else "true"


# ── the view ──


def _view(git_dir: Path, formats: tuple[tuple[str, str], ...]) -> Path:
    import hashlib

    digest = hashlib.sha256(os.fsencode(git_dir)).hexdigest()[:16]
    folder = paths.private(paths.state() / "git") / digest
    text = f"[core]\n\trepositoryformatversion = {1 if formats else 0}\n[extensions]\n"
    text += "".join(f"\t{name} = {_quoted(value)}\n" for name, value in formats)
    if not folder.is_dir():
        _make_view(folder, git_dir, text)
    elif read_line(folder / "config") != text.rstrip("\n"):
        _write_config(folder, text)
    return folder


def _write_config(folder: Path, text: str) -> None:
    write(folder / "config", text)
    (folder / "config").chmod(0o600)


def _quoted(value: str) -> str:
    return '"{}"'.format(value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))


def _make_view(folder: Path, git_dir: Path, text: str) -> None:
    for other in folder.parent.iterdir():
        if not other.name.startswith(".") and not (other / "refs").exists():
            remove_tree(other)  # its repository is gone
    draft = paths.private(folder.with_name(f".{folder.name}-{os.urandom(4).hex()}"))
    for name in _LINKS:
        (draft / name).symlink_to(git_dir.absolute() / name)
    _write_config(draft, text)
    try:
        draft.rename(folder)
    except OSError:  # another process was quicker
        remove_tree(draft)
