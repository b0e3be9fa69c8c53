"""Remotes of a repository: where an agent's branch is pushed, where its request goes, and what a URL says of that.

Only reads: configuration and refs, no network. A URL may hold a password, so only its parts are shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fleet_tui.errors import NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.program import ask, lines, query

_SCP_LIKE = re.compile(r"(?:(?P<user>[^@/:]+)@)?(?P<host>\[[^\]]+\]|[^@/:\[]+):(?P<path>(?!//).+)", re.DOTALL)
"""`git@host:owner/name.git`, as scp writes a place; a path with a slash before its first colon is a local one."""
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_SAFE_PART = re.compile(r"(?!-)[^\x00-\x20\x7f\\]+")


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """The repository that a URL names on a host; all parts are empty for a folder of this machine."""

    host: str = ""
    """With its port, if web pages have one."""
    path: str = ""
    """owner/name, or more parts on hosts with groups."""
    scheme: str = ""
    """Of its web pages."""
    is_ssh: bool = False

    @property
    def owner(self) -> str:
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class PushPlan:
    """Where a branch is pushed, and which branch of which repository it should be merged into."""

    remote: str
    """The name of the remote that gets the branch."""
    source: RemoteAddress
    base_remote: str
    target: RemoteAddress
    """The repository of the base branch; another one than `source` when the user works in a fork."""
    base: str
    """The name that the base branch has there."""


def push_plan(git_dir: Path, branch: str, base: str) -> PushPlan:
    """Decide as git and its users do: the upstream of the base branch, else origin, else the only remote.

    `branch.X.pushRemote` and `remote.pushDefault` say where the branch itself goes. Raises NotFound without a remote, and
    Refused if there are several and nothing says which.
    """
    return push_plans(git_dir, [branch], base)[branch]


def push_plans(git_dir: Path, branches: Sequence[str], base: str) -> dict[str, PushPlan]:
    """The plans of several branches that go into the same one, with a few calls of git for all of them."""
    settings = _settings(git_dir)
    names = _remote_names(settings)
    base_remote, base_there = _place_of_base(git_dir, base, settings, names)
    default = settings.get("remote.pushdefault") or base_remote
    places: dict[str, RemoteAddress] = {}

    def place(name: str, *options: str) -> RemoteAddress:
        if name not in names or not _SAFE_PART.fullmatch(name):
            raise NotFound(f"there is no remote {name!r}", hint="git remote -v lists them")
        key = " ".join([name, *options])
        if key not in places:
            places[key] = address(_url(git_dir, name, *options))
        return places[key]

    found = {}
    for branch in branches:
        pushed_to = settings.get(f"branch.{branch}.pushremote") or default
        source = place(pushed_to, "--push")
        if not source.host:
            source = place(pushed_to)  # pushed through a mirror
        found[branch] = PushPlan(pushed_to, source, base_remote, place(base_remote), base_there)
    return found


def remote_counterpart(git_dir: Path, branch: str) -> str:
    """The ref of what was last fetched of a branch; empty if there is none."""
    settings = _settings(git_dir)
    remote, name = settings.get(f"branch.{branch}.remote", ""), branch
    if remote in ("", "."):
        names = _remote_names(settings)
        remote = "origin" if "origin" in names else min(names, default="") if len(names) == 1 else ""
    else:
        name = settings.get(f"branch.{branch}.merge", "").removeprefix("refs/heads/") or branch
    ref = f"refs/remotes/{remote}/{name}"
    exists = ask(git_dir, "show-ref", "--verify", "--quiet", ref).returncode == 0
    return ref if remote and exists else ""


def address(url: str) -> RemoteAddress:
    """The host and the repository that a URL names, without user and password."""
    if "://" in url:
        return _of_url(url)
    found = _SCP_LIKE.fullmatch(url)
    if found is None or url.startswith("-"):
        return RemoteAddress()
    return _checked(found["host"].strip("[]"), found["path"], "https", is_ssh=True)


def without_credentials(text: str) -> str:
    """Remove user names and passwords from all URLs in a text."""
    return _CREDENTIALS.sub("", text)


def _of_url(url: str) -> RemoteAddress:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return RemoteAddress()
    if parts.scheme in ("http", "https"):
        return _checked(f"{host}:{port}" if port else host, parts.path, parts.scheme)
    if parts.scheme in ("ssh", "git+ssh", "ssh+git", "git"):
        return _checked(host, parts.path, "https", is_ssh=parts.scheme != "git")
    return RemoteAddress()


def _checked(host: str, path: str, scheme: str, *, is_ssh: bool = False) -> RemoteAddress:
    # Programs get these parts as arguments, so none may look like an option.
    path = unquote(path).strip("/").removesuffix(".git").strip("/")
    if not _SAFE_PART.fullmatch(host) or "@" in host or not _SAFE_PART.fullmatch(path):
        return RemoteAddress()
    return RemoteAddress(host, path, scheme, is_ssh)


def _settings(git_dir: Path) -> dict[str, str]:
    """The configuration; of several values the last, as git takes it."""
    found = {}
    for entry in query(git_dir, "config", "--list", "--null").split("\0"):
        key, _, value = entry.partition("\n")
        found[key] = value
    return found


def _remote_names(settings: Mapping[str, str]) -> list[str]:
    return [
        key[len("remote.") : -len(".url")] for key in settings if re.fullmatch(r"(?s)remote\..+\.url", key)
    ]


def _place_of_base(
    git_dir: Path, base: str, settings: Mapping[str, str], names: list[str]
) -> tuple[str, str]:
    if not names:
        raise NotFound("this repository has no remote to push to", hint="add one: git remote add origin URL")
    upstream = settings.get(f"branch.{base}.remote", "")
    if upstream in names:
        return upstream, settings.get(f"branch.{base}.merge", "").removeprefix("refs/heads/") or base
    for name in names:
        # A base that was named as git shows it: origin/main.
        is_there = base.startswith(f"{name}/") and ask(
            git_dir, "show-ref", "--verify", "--quiet", f"refs/remotes/{base}"
        )
        if is_there and is_there.returncode == 0:
            return name, base.removeprefix(f"{name}/")
    if "origin" in names:
        return "origin", base
    if len(names) == 1:
        return names[0], base
    raise Refused(
        f"{base} follows no remote, and there are several: {', '.join(names)}",
        hint="say which: git config remote.pushDefault NAME, or git branch -u NAME/BRANCH",
    )


def _url(git_dir: Path, remote: str, *options: str) -> str:
    """As git uses it, with the rewrites of `url.X.insteadOf`."""
    found = lines(query(git_dir, "remote", "get-url", *options, remote))
    if not found or found[0].startswith("-"):
        raise Refused(f"the URL of {remote} looks like an option", hint="git remote set-url corrects it")
    return found[0]
