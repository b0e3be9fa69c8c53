"""Names: what git accepts is accepted, what it does not is refused with a name that works."""

from __future__ import annotations

import itertools
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui import names
from fleet_tui.errors import UsageError

pytestmark = pytest.mark.pure


def git_accepts(name: str) -> bool:
    return subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty"),
        ("a b", "contains a space"),
        ("a..b", "contains '..'"),
        ("..", "contains '..'"),
        ("-x", "starts with '-'"),
        (".", "ends with '.'"),
        ("a.", "ends with '.'"),
        (".hidden", "starts with '.'"),
        ("a/.b", "starts with '.'"),
        ("x.lock", "ends with '.lock'"),
        ("/", "empty part"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("a~1", "git forbids"),
        ("a\nb", "git forbids"),
        ("a\x00b", "git forbids"),
        ("@", "'@{'"),
        ("a@{b", "'@{'"),
        ("HEAD", "reserved"),
        ("x" * 300, "longer"),
        ("é" * 110, "longer"),
        ("\udcff", "UTF-8"),
        ("fix\u202e", "cannot be seen"),
        ("fi\u200bx", "cannot be seen"),
        ("fix\xa0it", "cannot be seen"),
    ],
)
def test_a_name_that_git_refuses_or_a_reader_cannot_tell_apart_is_refused_with_one_that_works(
    name: str, problem: str
) -> None:
    with pytest.raises(UsageError) as caught:
        names.check_branch(name)

    assert problem in caught.value.message
    proposed = caught.value.hint.removeprefix("try ").strip("'")
    assert names.check_branch(proposed) == proposed


@pytest.mark.parametrize(
    "name",
    ["fix", "a/b/c", "a.b", "ünïcode", "日本", "می\u200cخواهم", "x" * 120, "it's", "$(x)", "a;b", "@x"],
)
def test_a_name_git_accepts_is_taken_as_it_is(name: str) -> None:
    assert names.check_branch(name) == name
    assert git_accepts(name)


@given(st.text(alphabet="ab./-@{~^:?*[\\ \té\x7f", min_size=1, max_size=8))
def test_every_name_that_passes_the_check_passes_gits_own(name: str) -> None:
    try:
        names.check_branch(name)
    except UsageError:
        return
    assert git_accepts(name)


def test_suffixes_go_from_z_to_aa_and_from_zz_to_aaa() -> None:
    found = list(itertools.islice(names.suffixes(), 703))

    assert found[0] == "A"
    assert found[25:28] == ["Z", "AA", "AB"]
    assert found[701:703] == ["ZZ", "AAA"]
    assert len(set(found)) == 703


@pytest.mark.parametrize(
    ("prompt", "prefix"),
    [
        ("Fix the login bug today", "fix-the-login"),
        ("  it's   $(rm) `x`", "it-s-rm-x"),
        ("日本語 だけ です", "agent"),
        ("a" * 100, "a" * 30),
    ],
)
def test_a_prefix_is_made_of_the_first_words_of_the_prompt(prompt: str, prefix: str) -> None:
    assert names.prefix(prompt) == prefix
    assert names.check_branch(prefix) == prefix


@given(st.text(max_size=60))
def test_a_slug_of_anything_can_be_a_branch(text: str) -> None:
    assert names.check_branch(names.slug(text)) == names.slug(text)


def test_ids_are_short_do_not_start_with_a_digit_and_do_not_repeat() -> None:
    made = [names.new_id(os.urandom) for _ in range(1000)]

    assert len(set(made)) == 1000
    assert all(len(one) == names.ID_LENGTH and one[0].isalpha() for one in made)


@pytest.mark.parametrize("count", [0, -1, 101, 1000])
def test_a_count_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(UsageError, match="from 1 to 100"):
        names.check_count(count)


@pytest.mark.parametrize(
    ("batch", "agents", "label"),
    [
        ("261118-9pke", ["login-A", "login-B"], "login"),
        ("261118-9pke", ["login-A", "login-B", "docs"], "login"),
        ("mine", ["login-A", "login-B", "docs"], "mine"),
        ("261118-9pke", ["login-A", "docs"], "261118-9pke"),
        ("261118-9pke", ["login-A", "logout-B"], "261118-9pke"),
        ("manual-20261118", ["fix"], "manual"),
        ("mine", [], "mine"),
    ],
)
def test_a_batch_is_called_by_the_prefix_that_its_agents_share(
    batch: str, agents: list[str], label: str
) -> None:
    assert names.batch_label(batch, agents) == label
