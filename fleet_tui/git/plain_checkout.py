"""What decides, besides the commit, which files a checkout has; and whether it is anything but files.

A worktree is made in advance only where no hook, filter, submodule or sparse checkout takes part in a checkout.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.program import ask, output
from fleet_tui.git.repository import Repository

_HOOKS = ("post-checkout", "post-index-change", "reference-transaction")
_SECTIONS = frozenset({"attr", "checkout", "core", "extensions", "feature", "filter", "index", "submodule"})
_UNFIT = {
    "core.sparsecheckout": "it is a sparse checkout",
    "extensions.worktreeconfig": "its worktrees have settings of their own",
    "extensions.partialclone": "it is a partial clone",
    "extensions.refstorage": "its refs are in a reftable",
    "extensions.relativeworktrees": "its worktrees have relative links",
}


@dataclass(frozen=True, slots=True)
class CheckoutSettings:
    """What decides, besides the commit, which files a checkout has."""

    fingerprint: str
    problem: str
    """Why no worktree is made in advance; empty if nothing is in the way."""
    has_filters: bool
    """Whether filters are defined; they matter if an attribute names one."""


def checkout_settings(repo: Repository) -> CheckoutSettings:
    """Read the settings; starts no program of theirs."""
    import hashlib

    found = [
        (key.partition(".")[0], key, value if has_value else "true")
        for key, has_value, value in (
            entry.partition("\n")
            for entry in output(repo.root, "config", "--list", "--null", trusted=True).split("\0")
            if entry
        )
    ]
    values = {key: value for _, key, value in found}
    relevant = sorted((key, value) for section, key, value in found if section in _SECTIONS)
    digest = hashlib.sha256(repr(relevant).encode("utf-8", "surrogateescape"))
    attributes = values.get("core.attributesfile") or f"{_config_home()}/git/attributes"
    for file in (
        repo.git_dir / "info" / "attributes",
        repo.git_dir / "info" / "sparse-checkout",
        Path(os.path.expanduser(attributes)),  # noqa: PTH111 - Path.expanduser raises for an unknown user
    ):
        digest.update(_content(file))
    return CheckoutSettings(
        digest.hexdigest(),
        _problem(repo, values),
        any(key.startswith("filter.") for key in values),
    )


def _config_home() -> str:
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - as above


def _content(file: Path) -> bytes:
    """A regular file's content with a mark before it; another mark for anything else."""
    with contextlib.suppress(OSError):
        if file.is_file():
            return b"+" + file.read_bytes()
    return b"-"


def _problem(repo: Repository, values: dict[str, str]) -> str:
    for key, problem in _UNFIT.items():
        if values.get(key, "false").lower() not in ("false", "no", "off", "0", ""):
            return problem
    if any(key.startswith("remote.") and key.endswith(".promisor") for key in values):
        return _UNFIT["extensions.partialclone"]
    hooks = Path(os.path.expanduser(values.get("core.hookspath") or f"{repo.git_dir}/hooks"))  # noqa: PTH111 - as above
    for name in _HOOKS:
        if os.access(repo.root / hooks / name, os.X_OK):
            return f"it has a {name} hook"
    return ""


def checkout_problem(repo: Repository, commit: str, settings: CheckoutSettings) -> str:
    """Why a checkout of this commit is more than its files; empty if it is not."""
    import tempfile

    if ask(repo.git_dir, "cat-file", "-e", f"{commit}:.gitmodules").returncode == 0:
        return "it has submodules"
    if not settings.has_filters:
        return ""
    with tempfile.TemporaryDirectory(prefix="fleet-index-") as temporary:
        # The attributes are those of the commit, whatever the main work tree has.
        variables = {"GIT_INDEX_FILE": f"{temporary}/index", "GIT_DIR": str(repo.git_dir)}
        output(repo.git_dir, "read-tree", commit, variables=variables)
        files = output(repo.git_dir, "ls-files", "-z", variables=variables)
        said = output(
            repo.git_dir,
            "check-attr",
            "--cached",
            "-z",
            "--stdin",
            "filter",
            variables=variables,
            stdin=files,
        )
    named = set(said.split("\0")[2::3]) - {"unspecified", "unset", "set"}
    return f"files pass through the filter {min(named)}" if named else ""
