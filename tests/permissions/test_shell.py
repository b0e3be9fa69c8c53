"""What a shell would run for a line: every part is found, or the line is called unreadable."""

from __future__ import annotations

import shlex
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.permissions.shell import LIMIT, pieces, read
from fleet_tui.permissions.shell_words import Unreadable
from fleet_tui.permissions.wrappers import forms_of

pytestmark = pytest.mark.pure


def texts(command: str) -> list[str]:
    return [part.text for part in read(command)]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git status", ["git status"]),
        ("  git   status\t-s ", ["git status -s"]),
        ("a; b", ["a", "b"]),
        ("a && b || c", ["a", "b", "c"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("a & b", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("git status\nrm x", ["git status", "rm x"]),
        ("git sta\\\ntus", ["git status"]),
        ("(cd x; ls)", ["cd x", "ls"]),
        ("(a; (b)) && c", ["a", "b", "c"]),
        ("r''m x", ["rm x"]),
        ("\\rm 'a b' \"c\"", ["rm a b c"]),
        ("echo 'a;b' \"c && d\" e\\;f", ["echo a;b c && d e;f"]),
        ("echo \\$HOME '$(rm)' \"\\`\"", ["echo $HOME $(rm) `"]),
        ("FOO=1 rm x", ["FOO=1 rm x"]),
        ("echo hi > out", ["> out", "echo hi"]),
        ("echo hi>>out", ["> out", "echo hi"]),
        ("echo hi &> out", ["> out", "echo hi"]),
        ("echo hi >& out", ["> out", "echo hi"]),
        ("echo hi >| out", ["> out", "echo hi"]),
        ("ls 2>errors", ["> errors", "ls"]),
        ("echo 2 >out", ["> out", "echo 2"]),
        ("sort < in", ["< in", "sort"]),
        ("make 2>&1 >/dev/null", ["make"]),
        ("echo hi >&\u0663", ["> \u0663", "echo hi"]),
        ("rm \u0663>/dev/null", ["rm \u0663"]),
        ("make 2>'/dev/null'", ["make"]),
        ("sudo rm x", ["sudo rm x", "rm x"]),
        ("sudo -u root rm x", ["sudo -u root rm x"]),
        ("env A=1 rm x", ["env A=1 rm x", "A=1 rm x"]),
        ("nohup nice -n 5 timeout 3 ls", ["nohup nice -n 5 timeout 3 ls", "nice -n 5 timeout 3 ls", "timeout 3 ls", "ls"]),
        ("time npm test", ["time npm test", "npm test"]),
        ("command -v git", ["command -v git"]),
        ("sh -c 'git status; rm x'", ["sh -c git status; rm x", "git status", "rm x"]),
        ("/bin/bash -lc \"rm 'a b'\"", ["/bin/bash -lc rm 'a b'", "rm a b"]),
        ("eval 'rm x' y", ["eval rm x y", "rm x y"]),
        ("ls | xargs -0 -n 1 rm -f", ["ls", "xargs -0 -n 1 rm -f", "rm -f …"]),
        ("find . -name a -exec rm {} \\;", ["find . -name a -exec rm {} ;", "rm {}"]),
        ("find . -exec a {} + -ok b \\;", ["find . -exec a {} + -ok b ;", "a {}", "b"]),
        ("find . -delete", ["find . -delete", "rm …"]),
        ("echo $(rm x)", ["rm x", "echo $(rm x)"]),
        ('echo "$(a "$(b)")"', ["b", "a $(b)", 'echo $(a "$(b)")']),
        ("echo `rm x`", ["rm x", "echo `rm x`"]),
    ],
)  # fmt: skip
def test_a_line_is_cut_into_everything_that_runs(command: str, parts: list[str]) -> None:
    assert texts(command) == parts


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "echo 'open",
        'echo "open',
        "echo `open",
        "echo $(open",
        "(a",
        "a)",
        "echo \\",
        "cat <<EOF\nrm x\nEOF",
        "sh <<< 'rm x'",
        "diff <(a) <(b)",
        "tee >(a)",
        "if true; then rm x; fi",
        "for f in *; do rm $f; done",
        "while :; do rm x; done",
        "case x in x) rm y;; esac",
        "[[ -n x ]] && rm y",
        "{ rm x; }",
        "! rm x",
        "f() { rm x; }; f",
        "function f { rm x; }",
        "a=(1 2)",
        "echo $((1 + 1))",
        "echo $[1 + 1]",
        "echo ${x:-$(rm y)}",
        "echo ${!x}",
        "echo ${(e)x}",
        "$'\\x72m' x",
        "git status # && rm x",
        "git status\x00rm",
        "git status\rrm x",
        "git status \u202e x",
        "echo `a \\`b\\``",
        "ls *(e:rm:)",
        "a ;; b",
        "echo >",
        "(a) b",
        "$(" * 20 + "a" + ")" * 20,
        "sudo " * 20 + "a",
        "x" * (LIMIT + 1),
    ],
)
def test_what_cannot_be_cut_for_certain_is_unreadable(command: str) -> None:
    with pytest.raises(Unreadable):
        read(command)


@pytest.mark.parametrize(
    "command",
    [
        "$X y",
        "{rm,-rf,/}",
        "/bin/r? x",
        "=rm x",
        "`a` x",
        "env -S 'rm x' git status",
        "sudo -s",
        "sh",
        "sh -",
        "bash -c \"$X\"",
        "eval $X",
        "git -c alias.x='!rm' x",
        "git --exec-path=. x",
        "git --config-env=a=b x",
        "git -C /elsewhere status",
        "git config alias.x '!rm'",
        "git submodule foreach rm",
        "git rebase -x rm main",
        "git clone -c core.x=y z",
        "git fetch --upload-p=rm x",
        "git grep -Orm x",
        "git diff --ext-diff",
        "git log --output=x",
        "git $X",
        "python3 -c 'x'",
        "python3",
        "python3 -",
        "perl -pie 's/a/b/' x",
        "node --eval=x",
        "awk 'BEGIN { system(\"rm\") }'",
        "sed '1e rm' x",
        "sed s/a/b/e x",
        "sed -f x y",
        "sed 's/a/b/;e rm x;s/c/d/' y",
        "sed -n 's/a/b/w x/' y",
        "printf -v 'a[$(rm x)]' y",
        "test -v 'a[$(rm x)]'",
        "[ -v 'a[`rm x`]' ]",
        "unset 'a[$(rm x)]'",
        "read -r 'a[$(rm x)]'",
        "declare 'a[$(rm x)]=1'",
        "wait -p 'a[$(rm x)]'",
        "let 'a[$(rm x)]=1'",
        "mapfile -C 'rm x' -c 1 a",
        "python3 -X dev -c 'rm'",
        "python3 -W ignore -c 'rm'",
        "node --require ./x -e 'rm'",
        "ruby -r x -e 'rm'",
        "tar xfI a 'rm x'",
        "tar -x --rmt-command=rm -f host:x",
        "tar --checkpoint-a=exec=rm -cf a b",
        "tar -Irm -xf a",
        "rsync -e rm a b",
        "ssh host rm",
        "vim -c '!rm'",
        "docker run x",
        "xargs --arg-file=x rm",
        "timeout -k 1 2 rm",
        "find . -exec rm",
        "find $X",
        "alias ls=rm",
        "trap 'rm x' EXIT",
        "su -c 'rm x'",
    ],
)  # fmt: skip
def test_what_runs_something_unseen_is_opaque(command: str) -> None:
    assert any(part.is_opaque for part in read(command))


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git --no-pager log -p",
        "git commit -m 'rm it'",
        "git switch -c x",
        "python3 tool.py -c x",
        "python3 -m pytest -k e",
        "sed -n 1,5p x",
        "sed 's/a/b/g' x",
        "sed 's|a/b|c/d|' x",
        "printf '%s' 'a[1]'",
        "test -n 'a[1]'",
        "read -r x",
        "python3 -X dev script.py -c x",
        "python3 -m pytest -c x",
        "tar xf a.tar b",
        "tar -xf I.tar",
        "tar xzf a.tar.gz",
        "bash build.sh",
        "npm test",
        "find . -name x",
    ],
)
def test_what_runs_only_itself_is_not(command: str) -> None:
    assert not any(part.is_opaque for part in read(command))


def test_what_the_shell_will_replace_is_not_known() -> None:
    (part,) = read('ls src/*.py "$HOME"')

    assert (part.known, part.is_fixed) == ("ls src/", False)


def test_a_program_with_arguments_is_one_part_and_a_shell_around_it_none() -> None:
    assert [part.text for part in read(["rm", "a; b"])] == ["rm a; b"]
    assert [part.text for part in read(["bash", "-lc", "a; b"])] == ["a", "b"]
    with pytest.raises(Unreadable):
        read([])


@pytest.mark.parametrize(
    ("command", "guise"),
    [
        ("FOO=1 BAR=2 rm x", "rm x"),
        ("/usr/bin/rm x", "rm x"),
        ("A=1 ../bin/rm x", "rm x"),
        ("git -C x -c y=z push origin", "git push origin"),
        ("git --no-pager push", "git push"),
        ("sudo -u root /bin/rm x", "rm x"),
        ("su -c 'rm x'", "rm x"),
        (". x/rm y", "rm y"),
        ("bash x/rm y", "rm y"),
    ],
)
def test_a_part_is_recognized_under_its_guises(command: str, guise: str) -> None:
    assert guise in [one.text for part in read(command) for one in forms_of(part)]


def test_an_unreadable_line_still_has_pieces() -> None:
    assert "rm -rf /" in [piece.text for piece in pieces("if x; then r'm' -rf /; fi")]


WORDS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), max_size=12)


@given(st.lists(WORDS, max_size=6))
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    assert [word.text for word in read(shlex.join(["program", *words]))[0].words] == ["program", *words]


@given(st.text("ab '\"\\;&|$()`{}<>*#\n=-", max_size=24))
def test_a_real_shell_runs_no_program_that_was_not_found(tmp_path: Path, line: str) -> None:
    """Two programs are in its reach; each leaves a mark when it runs."""
    for name in "ab":
        if not (tmp_path / name).exists():
            (tmp_path / name).write_text(f"#!/bin/sh\n: > {shlex.quote(str(tmp_path))}/ran-{name}\n")
            (tmp_path / name).chmod(0o700)
        (tmp_path / f"ran-{name}").unlink(missing_ok=True)
    try:
        parts = read(line)
    except Unreadable:
        return
    seen = {part.words[0].text for part in parts} | {
        guise.words[0].text for part in parts for guise in forms_of(part)
    }

    folder = tmp_path / "empty"
    folder.mkdir(exist_ok=True)
    subprocess.run(["/bin/sh", "-c", line], cwd=folder, env={"PATH": str(tmp_path)}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)  # fmt: skip

    ran = {name for name in "ab" if (tmp_path / f"ran-{name}").exists()}
    assert ran <= seen or any(part.is_opaque for part in parts), (line, ran, seen)


@given(st.text(string.printable + "é…", max_size=60))
def test_any_text_is_read_or_refused(line: str) -> None:
    try:
        parts = read(line)
    except Unreadable as error:
        assert str(error)  # noqa: PT017  # either outcome is right
    else:
        assert parts
        assert all(part.text.startswith(part.known) for part in parts)
