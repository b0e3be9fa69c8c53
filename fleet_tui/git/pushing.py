"""Push one branch as the user would by hand: with their git, credentials and pre-push hook, and never by force.

Nothing asks on the terminal: git, ssh and hooks run without one, and for a limited time.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from fleet_tui.errors import Refused, TimedOut
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.plain import GitPlaces
from fleet_tui.git.program import GitFailed, ask, trusted_environment
from fleet_tui.git.remotes import without_credentials
from fleet_tui.system.bounded_program import Finished, run_bounded

SECONDS = 600.0
"""A pre-push hook may run the tests of a project."""
MOST = 256 << 10
MOST_WORDS = 400
_FOLLOWS = re.compile(
    r"hint: |error: failed to push some refs|Please make sure you have the correct access|and the repository exists"
    r"|To |Pushing to |fatal: Could not read from remote repository|fatal: the remote end hung up|Done$"
)
"""Lines that say nothing about the cause."""
_PAGE = re.compile(r"https?://[^\s\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push has done."""

    has_changed: bool
    """False if the remote already had the commit."""
    pages: tuple[str, ...] = ()
    """The addresses that the remote has printed; one may open a request."""


def push(place: GitPlaces, remote: str, branch: str, *, seconds: float = SECONDS) -> Pushed:
    """Push a branch to the same name on a remote.

    Raises Refused if the remote has other commits or a hook refuses, TimedOut, and GitFailed for anything else.
    """
    ref = f"refs/heads/{branch}"
    where = place.work_tree if place.work_tree.is_dir() else place.git_dir
    command = ["git", "push", "--porcelain", "--no-force", "--", remote, f"{ref}:{ref}"]
    try:
        done = run_bounded(command, _environment(place), folder=where, seconds=seconds, most=MOST, keep="end")
    except FileNotFoundError:
        raise GitFailed("git is not installed", hint="install git 2.31 or newer") from None
    out, err = (text.decode("utf-8", "replace") for text in (done.out, done.err))
    by_hand = f"try it by hand: git push {shlex.quote(remote)} {shlex.quote(branch)}"
    if done.is_late:
        raise TimedOut(f"pushing {branch} to {remote} took more than {seconds:.0f} seconds", hint=by_hand)
    flag, summary = _result(out, ref)
    if done.code == 0 and flag != "!":
        return Pushed(flag != "=", tuple(_PAGE.findall("\n".join(_of_remote(err)))))
    if flag == "!":
        raise _refusal(branch, remote, summary, err)
    raise GitFailed(f"{branch} was not pushed to {remote}: {_words(err) or _exit(done)}", hint=by_hand)


def _environment(place: GitPlaces) -> dict[str, str]:
    found = trusted_environment()
    if place.work_tree.is_dir():
        # Not what a `.git` file in the worktree says.
        found |= {"GIT_DIR": str(place.own), "GIT_WORK_TREE": str(place.work_tree)}
    else:
        found |= {"GIT_DIR": str(place.git_dir)}
    configured = ask(place.git_dir, "config", "--get", "core.sshCommand").stdout.strip()
    ssh = os.environ.get("GIT_SSH_COMMAND") or configured or ("" if os.environ.get("GIT_SSH") else "ssh")
    if ssh and Path(ssh.split()[0]).name == "ssh":
        found["GIT_SSH_COMMAND"] = f"{ssh} -o BatchMode=yes"
    return found


def _result(out: str, ref: str) -> tuple[str, str]:
    """The flag and the summary of the line about a ref, as --porcelain prints them; empty if there is none."""
    for line in out.splitlines():
        fields = line.split("\t")
        if len(fields) == 3 and fields[1].partition(":")[2] == ref:
            return fields[0], fields[2]
    return "", ""


def _refusal(branch: str, remote: str, summary: str, err: str) -> Refused:
    said = " ".join(" ".join(_of_remote(err)).split())
    why = without_credentials(": ".join(filter(None, (summary, said))))[:MOST_WORDS]
    if "fetch first" in summary or "non-fast-forward" in summary:
        return Refused(
            f"{remote} has commits on {branch} that are not here, so it was not pushed",
            hint=f"fetch and merge them, or rename the branch; see: git log {shlex.quote(f'{remote}/{branch}')}",
        )
    return Refused(f"{remote} refuses {branch}: {why}", hint="the remote's own rules decide that")


def _of_remote(err: str) -> list[str]:
    texts = (line.strip() for line in err.splitlines())
    return [text.removeprefix("remote:").strip() for text in texts if text.startswith("remote:")]


def _words(err: str) -> str:
    """The lines with the cause: git's own, ssh's, or those of a hook."""
    texts = [line.strip() for line in err.splitlines() if line.strip() and not _FOLLOWS.match(line.strip())]
    plain = [re.sub(r"^(?:fatal|error|remote): ", "", text) for text in texts[-3:]]
    return without_credentials(" ".join(plain))[:MOST_WORDS]


def _exit(done: Finished) -> str:
    return f"git exited with {done.code} and no message, as when a hook refuses"
