"""Choose the program that speaks for a code host, and name the page where a request can be opened without one."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from fleet_tui.fast_dataclasses import replace
from fleet_tui.git import PushPlan, RemoteAddress
from fleet_tui.review.gh import GitHub
from fleet_tui.review.glab import GitLab
from fleet_tui.review.host_program import HostProgramFailed, ask, program, succeeds

HostKind = Literal["", "github", "gitlab", "gitea", "bitbucket"]

_WORDS: tuple[tuple[str, HostKind], ...] = (
    ("github", "github"),
    ("gitlab", "gitlab"),
    ("bitbucket", "bitbucket"),
    ("codeberg", "gitea"),
    ("gitea", "gitea"),
    ("forgejo", "gitea"),
)
_OVER_SSH = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
"""Hosts that take ssh on another port, and the ones with their pages."""


def with_real_hosts(plan: PushPlan) -> PushPlan:
    """The plan with the hosts that its addresses mean: an alias of the user's ssh configuration is looked up."""
    return replace(plan, source=_with_real_host(plan.source), target=_with_real_host(plan.target))


def program_for(plan: PushPlan) -> GitHub | GitLab | None:
    """What speaks for the host of a request; None if nothing that is installed does."""
    kind = _kind(plan.target.host)
    gh, glab = program("gh"), program("glab")
    if gh and (kind == "github" or (not kind and _knows(gh, plan.target.host))):
        return GitHub(gh, plan)
    if glab and (kind == "gitlab" or (not kind and _knows(glab, plan.target.host))):
        return GitLab(glab, plan)
    return None


def likely_program(plan: PushPlan) -> str:
    """What will speak for a host, in words for the user, as far as that is known without asking it."""
    kind, here = _kind(plan.target.host), [name for name in ("gh", "glab") if program(name)]
    if plan.target.host and not kind and here:
        return f"with {' or '.join(here)} if it knows that host"
    name = {"github": "gh", "gitlab": "glab"}.get(kind, "")
    return f"with {name}" if name in here else f"by hand: {missing_program(plan)}"


def missing_program(plan: PushPlan) -> str:
    """Why no program speaks for a host, in words for the user."""
    if not plan.target.host:
        return f"{plan.base_remote} is not on a code host"
    names: dict[HostKind, str] = {"github": "gh", "gitlab": "glab"}
    name = names.get(_kind(plan.target.host))
    return f"{name} is not installed" if name else f"neither gh nor glab knows {plan.target.host}"


def page_to_open(plan: PushPlan, branch: str, printed: tuple[str, ...] = ()) -> str:
    """The page on which a request can be opened by hand; empty if the host is not known.

    `printed` are the addresses that the remote printed at the push: of an unknown host, one of its own is taken.
    """
    source, target = plan.source, plan.target
    if not target.host:
        return ""
    here, there = f"{source.scheme}://{source.host}/{quote(source.path)}", quote(plan.base)
    name = quote(branch)
    is_fork = source.path != target.path
    into = f"{target.scheme}://{target.host}/{quote(target.path)}"
    match _kind(target.host):
        case "github":
            head = f"{quote(source.owner)}:{name}" if is_fork else name
            return f"{into}/compare/{there}...{head}?expand=1"
        case "gitlab":
            asked = {"source_branch": branch, "target_branch": plan.base}
            words = "&".join(
                f"merge_request%5B{key}%5D={quote(value, safe='')}" for key, value in asked.items()
            )
            return f"{here}/-/merge_requests/new?{words}"
        case "gitea":
            head = f"{quote(source.owner)}:{name}" if is_fork else name
            return f"{into}/compare/{there}...{head}"
        case "bitbucket":
            return (
                f"{here}/pull-requests/new?source={quote(branch, safe='')}&dest={quote(plan.base, safe='')}"
            )
        case _:
            own = (page for page in printed if re.match(rf"https?://{re.escape(source.host)}/", page))
            return next(own, into)


def _kind(host: str) -> HostKind:
    return next((kind for word, kind in _WORDS if word in host.lower()), "")


@functools.cache
def _knows(path: str, host: str) -> bool:
    """Whether the user has logged in to a host with that program."""
    return bool(host) and succeeds(path, ["auth", "status", f"--hostname={host}"])


def _with_real_host(address: RemoteAddress) -> RemoteAddress:
    host = _behind_alias(address.host) if address.is_ssh and "." not in address.host else address.host
    return replace(address, host=_OVER_SSH.get(host.lower(), host))


@functools.cache
def _behind_alias(host: str) -> str:
    """The host that ssh would connect to."""
    ssh = program("ssh")
    if not ssh or not host:
        return host
    try:
        said = ask(ssh, ["-G", "--", host], seconds=10.0, most=1 << 20)
    except HostProgramFailed:
        return host
    found = re.search(r"^hostname ([\w.-]+)$", said, re.MULTILINE)
    return found[1] if found and Path(found[1]).name == found[1] else host
