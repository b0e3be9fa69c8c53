"""Which hooks and programs of the user's git take part in a landing, and the git that runs them.

A commit that is built in memory runs no hook. Where the repository has one that a merge, a commit or a rebase by hand
would run, the user's own git does the same in a scratch worktree, so that the hook sees real files.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet_tui.git.plain import GitPlaces
from fleet_tui.git.program import GitFailed, run, what_stopped

BY_HAND: Mapping[str, tuple[str, ...]] = {
    "merge": ("pre-merge-commit", "prepare-commit-msg", "commit-msg"),
    "squash": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    "rebase": ("pre-rebase", "prepare-commit-msg", "post-commit", "post-rewrite"),
}
"""The hooks that git runs for each strategy, besides post-merge."""
COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_QUIET = {"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}


def hooks_folder(git_dir: Path, work_tree: Path) -> Path:
    """Where the user's git looks for hooks."""
    # Trusted, because a safe git has this setting overridden; reading it runs nothing.
    asked = ("--git-dir", str(git_dir), "config", "--type=path", "--get", "core.hooksPath")
    set_path = run(git_dir, *asked, trusted=True).stdout.strip()
    return work_tree / set_path if set_path else git_dir / "hooks"


def present_hooks(git_dir: Path, work_tree: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these hooks that git would run."""
    folder = hooks_folder(git_dir, work_tree)
    return tuple(name for name in names if os.access(folder / name, os.X_OK) and (folder / name).is_file())


def merge_by_hand(scratch: Path, head: str, message: str, *, hooks: Path) -> str:
    """Merge in a scratch worktree, with the hooks of a folder; returns the commit."""
    with _without_post_merge(hooks) as option, _file_of(message) as file:
        _git(scratch, *option, "merge", "--no-ff", "--no-edit", "--no-progress", "-F", file, head)
    return _head(scratch)


def squash_by_hand(scratch: Path, head: str, message: str, *, hooks: Path) -> str:
    with _without_post_merge(hooks) as option:
        _git(scratch, *option, "merge", "--squash", "--no-progress", head)
    with _file_of(message) as file:
        _git(scratch, "commit", "--quiet", "--cleanup=whitespace", "-F", file)
    return _head(scratch)


@contextlib.contextmanager
def _file_of(message: str) -> Iterator[str]:
    """A private file with a message, which may be longer than an argument can be."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="surrogateescape", prefix="fleet-message-"
    ) as file:
        file.write(message)
        file.flush()
        yield file.name


@contextlib.contextmanager
def _without_post_merge(hooks: Path) -> Iterator[tuple[str, ...]]:
    """An option that hides post-merge from git: it runs once, where the branch is checked out, after it has moved."""
    with tempfile.TemporaryDirectory(prefix="fleet-hooks-") as folder:
        # All others, not only hooks: some load files beside them.
        for one in hooks.iterdir() if hooks.is_dir() else ():
            if one.name != "post-merge":
                Path(folder, one.name).symlink_to(one.absolute())
        yield ("-c", f"core.hooksPath={folder}")


def rebase_by_hand(scratch: Path, base: str, head: str) -> str:
    """Rebase the work onto a commit; the scratch worktree has that commit checked out."""
    _git(scratch, "checkout", "--quiet", "--detach", head)
    _git(scratch, "-c", "rebase.updateRefs=false", "-c", "rebase.autoSquash=false", "rebase", "--quiet", base)
    return _head(scratch)


def _git(where: Path, *arguments: str) -> None:
    done = run(where, *arguments, variables=_QUIET, trusted=True)
    if done.returncode:
        raise GitFailed(
            f"git {_verb(arguments)}: {what_stopped(done.stderr or done.stdout)}", hint="nothing was changed"
        )


def _verb(arguments: tuple[str, ...]) -> str:
    return next(one for one in arguments if one in ("merge", "commit", "rebase", "checkout"))


def _head(where: Path) -> str:
    return run(where, "rev-parse", "HEAD").stdout.strip()


def run_post_merge(place: GitPlaces, *, is_squash: bool) -> str:
    """Run the post-merge hook where a merge by hand would; returns what went wrong, empty for nothing."""
    if not present_hooks(place.git_dir, place.work_tree, ("post-merge",)):
        return ""
    arguments = ("hook", "run", "--ignore-missing", "post-merge", "--", "1" if is_squash else "0")
    done = run(place.work_tree, *arguments, trusted=True)
    return (
        f"the post-merge hook failed: {what_stopped(done.stderr or done.stdout)}" if done.returncode else ""
    )


# ── what is not committed ──


def commit_everything(place: GitPlaces, message: str, *, without: tuple[str, ...] = ()) -> str:
    """Commit all uncommitted files of a worktree with the user's git, hooks and filters; returns the commit.

    If a hook refuses, the index is as before. `without` are paths to leave alone, such as other repositories.
    """
    index, saved = place.own / "index", place.own / "fleet-commit.index"
    variables = {
        "GIT_DIR": str(place.own), "GIT_COMMON_DIR": str(place.git_dir), "GIT_WORK_TREE": str(place.work_tree), **_QUIET,
    }  # fmt: skip

    def git(*arguments: str) -> None:
        done = run(place.work_tree, *arguments, variables=variables, trusted=True)
        if done.returncode:
            why = what_stopped(done.stderr or done.stdout)
            raise GitFailed(f"its work could not be committed: {why}", hint="nothing was changed")

    had_index = index.exists()
    if had_index:
        _copy_index(index, saved)
    try:
        spared = [f":(exclude,literal){path.rstrip('/')}" for path in without]
        git("-c", "advice.addEmbeddedRepo=false", "add", "--all", "--", ".", *spared)
        with _file_of(message) as file:
            git("commit", "--quiet", "--cleanup=whitespace", "-F", file)
    except BaseException:
        if had_index and not (place.own / "index.lock").exists():
            saved.replace(index)
        raise
    finally:
        saved.unlink(missing_ok=True)
    return run(place.own, "--git-dir", str(place.own), "rev-parse", "HEAD").stdout.strip()


def _copy_index(index: Path, saved: Path) -> None:
    """Copy an index with its time, never through a planted link: git checks the content of files that are not older."""
    time = index.stat().st_mtime_ns
    saved.unlink(missing_ok=True)
    with saved.open("xb") as file:
        file.write(index.read_bytes())
    os.utime(saved, ns=(time, time))
