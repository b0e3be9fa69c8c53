"""Remotes: what their URLs name, and where a branch and its request go."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.errors import FleetError
from fleet_tui.git.remotes import RemoteAddress, address
from tests.git.repositories import call


@pytest.mark.pure
@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("git@github.com:owner/name.git", "github.com", "owner/name"),
        ("github.com:owner/name", "github.com", "owner/name"),
        ("ssh://git@gitlab.example.org:2222/group/sub/name.git/", "gitlab.example.org", "group/sub/name"),
        ("https://user:s3cret@host.example:8443/owner/name.git", "host.example:8443", "owner/name"),
        ("http://host.example/owner/na%20me", "", ""),
        ("git://host.example/owner/name", "host.example", "owner/name"),
        ("file:///srv/git/name.git", "", ""),
        ("/srv/git:x/name.git", "", ""),
        ("../name.git", "", ""),
        ("--upload-pack=touch x:owner/name", "", ""),
        ("ssh://-oProxyCommand=x/owner/name", "", ""),
        ("git@host:--upload-pack=x", "", ""),
        ("https://[::1/owner", "", ""),
        ("https://host:port/owner/name", "", ""),
        ("ext::sh -c x", "", ""),
        ("host:a\nb", "", ""),
    ],
)
def test_a_url_names_a_host_and_a_repository_and_nothing_secret(url: str, host: str, path: str) -> None:
    found = address(url)

    assert (found.host, found.path) == (host, path)
    assert "s3cret" not in repr(found)


@pytest.mark.pure
def test_web_pages_have_the_scheme_of_the_url_and_ssh_has_secure_ones() -> None:
    assert address("http://host/o/n").scheme == "http"
    assert address("ssh://git@host:22/o/n") == RemoteAddress("host", "o/n", "https", is_ssh=True)


def remotes(repo: Path, **urls: str) -> Path:
    for name, url in urls.items():
        call(repo, "remote", "add", name, url)
    return git.discover(repo).git_dir


def test_the_upstream_of_the_base_decides_before_origin(repo: Path) -> None:
    git_dir = remotes(repo, origin="git@h:me/n.git", up="https://t:k@h/them/n.git")
    assert git.push_plan(git_dir, "side", "main").remote == "origin"
    call(repo, "config", "branch.main.remote", "up")
    call(repo, "config", "branch.main.merge", "refs/heads/trunk")

    plan = git.push_plan(git_dir, "side", "main")

    assert (plan.remote, plan.base_remote, plan.base, plan.target.path) == ("up", "up", "trunk", "them/n")


def test_a_push_default_sends_the_branch_to_a_fork(repo: Path) -> None:
    git_dir = remotes(repo, origin="git@h:them/n.git", fork="git@h:me/n.git")
    call(repo, "config", "remote.pushDefault", "fork")

    plan = git.push_plan(git_dir, "side", "main")

    assert (plan.remote, plan.source.owner, plan.target.owner) == ("fork", "me", "them")


def test_a_base_on_a_remote_names_it(repo: Path) -> None:
    git_dir = remotes(repo, one="git@h:o/one.git", two="git@h:o/two.git")
    call(repo, "update-ref", "refs/remotes/two/next/v2", "HEAD")

    plan = git.push_plan(git_dir, "side", "two/next/v2")

    assert (plan.remote, plan.base) == ("two", "next/v2")


def test_no_remote_or_several_that_nothing_tells_apart_are_an_error_with_a_remedy(repo: Path) -> None:
    git_dir = git.discover(repo).git_dir
    with pytest.raises(FleetError, match=r"no remote to push to.*git remote add"):
        git.push_plan(git_dir, "side", "main")
    remotes(repo, only="git@h:o/one.git")
    assert git.push_plan(git_dir, "side", "main").remote == "only"
    remotes(repo, other="git@h:o/two.git")
    with pytest.raises(FleetError, match=r"several: only, other.*pushDefault"):
        git.push_plan(git_dir, "side", "main")
    call(repo, "config", "remote.pushDefault", "gone")
    call(repo, "config", "branch.main.remote", "other")
    with pytest.raises(FleetError, match="no remote 'gone'"):
        git.push_plan(git_dir, "side", "main")


def test_a_url_that_looks_like_an_option_is_refused(repo: Path) -> None:
    call(repo, "remote", "add", "origin", "x")
    call(repo, "config", "remote.origin.url", "--upload-pack=touch planted")

    with pytest.raises(FleetError, match="looks like an option"):
        git.push_plan(git.discover(repo).git_dir, "side", "main")


def test_rewritten_urls_are_those_that_git_uses(repo: Path) -> None:
    git_dir = remotes(repo, origin="work:o/n")
    call(repo, "config", "url.git@github.com:.insteadOf", "work:")

    assert git.push_plan(git_dir, "side", "main").target.host == "github.com"


def test_the_counterpart_of_a_branch_is_what_was_last_fetched_of_it(repo: Path) -> None:
    git_dir = remotes(repo, origin="git@h:o/n.git")
    assert git.remote_counterpart(git_dir, "main") == ""
    call(repo, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert git.remote_counterpart(git_dir, "main") == "refs/remotes/origin/main"
    call(repo, "config", "branch.main.remote", "origin")
    call(repo, "config", "branch.main.merge", "refs/heads/trunk")
    call(repo, "update-ref", "refs/remotes/origin/trunk", "HEAD")
    assert git.remote_counterpart(git_dir, "main") == "refs/remotes/origin/trunk"
