"""What a shell would run for a line of text, as far as that can be said without running it.

`read` cuts a command into its parts: every simple command, also those in substitutions, subshells, wrappers (env,
sudo, xargs, sh -c, find -exec) and every file it redirects to or from. What is beyond it raises `Unreadable`: it never
guesses. Knows no rules and no tools, and touches nothing outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import dropwhile
from typing import NamedTuple

from fleet_tui.values import dataclass

LIMIT = 64 * 1024
"""Characters of a command beyond which nobody reads it, and neither do we."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RESERVED = _names(
    "if then else elif fi for while until do done case esac in function select coproc repeat foreach end "
    "{ } [[ ]] ! noglob nocorrect always"
)
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACED = re.compile(r"\{(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?])\}")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_REDIRECTION = re.compile(r"&>>|&>|<>|>>|>\||>&|<&|>|<")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_DEPTH = 8


class Unreadable(ValueError):
    """The command cannot be cut into parts with certainty; its text says why."""


class Word(NamedTuple):
    """One word after quotes are taken off."""

    text: str
    fixed: int
    """Characters from the start that the shell will not replace by something else."""

    @property
    def is_fixed(self) -> bool:
        return self.fixed == len(self.text)


@dataclass(frozen=True, slots=True)
class Part:
    """One program with its arguments, or one redirection as `> file`."""

    words: tuple[Word, ...]
    is_opaque: bool = False
    """It runs something else that cannot be seen from here."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def known(self) -> str:
        """The text up to the first thing that only the shell will know."""
        found: list[str] = []
        for word in self.words:
            found.append(word.text[: word.fixed])
            if not word.is_fixed:
                break
        return " ".join(found)

    @property
    def is_fixed(self) -> bool:
        return all(word.is_fixed for word in self.words)

    def guises(self) -> list[Part]:
        """All that this part may have to be recognised as: without variables before it, wrappers around it, its folder."""
        bare = _without_assignments(self.words)
        if not bare:
            return [self]
        program = _program(bare)
        found = [self, Part((program, *bare[1:]))]
        if program.text == "git":
            found += [Part((program, *bare[start:])) for start in range(2, len(bare))]
        elif self.is_opaque or program.text in _CARRIERS:
            tails = (bare[start:] for start in range(1, len(bare)))
            found += [Part((_program(tail), *tail[1:])) for tail in tails]
        return found


def read(command: str | Sequence[str]) -> list[Part]:
    """Every part of a command line, or of a program with its arguments."""
    if isinstance(command, str):
        return _read(command, 0)
    if not command:
        raise Unreadable("there is no command")
    words = tuple(Word(text, len(text)) for text in command)
    if _program(words).text in _SHELLS and len(words) == 3 and _is_script_flag(words[1].text):
        return _read(words[2].text, 0)
    return _with_carried(words, 0)


def pieces(command: str) -> list[Part]:
    """What may be commands in a text that `read` refuses: far too many rather than one too few."""
    cut = re.split(r"[;&|\n(){}`<>]", re.sub(r"[\\'\"]", "", command)[:LIMIT])
    lists = (list(dropwhile(_RESERVED.__contains__, one.split())) for one in cut)
    return [Part(tuple(Word(text, len(text)) for text in words)) for words in lists if words]


def _read(text: str, depth: int) -> list[Part]:
    if depth > _DEPTH:
        raise Unreadable("it is nested too deeply")
    if len(text) > LIMIT:
        raise Unreadable("it is too long")
    if any(not (char.isprintable() or char in "\t\n") for char in text):
        raise Unreadable("it has control characters in it")
    parts = _Reader(text, depth).read()
    if not parts:
        raise Unreadable("there is no command")
    return parts


# ── the words of a line ─────────────────────────────────────────────────────────────────────────────────────────


class _Reader:
    """Goes through one text from left to right."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self._parts: list[Part] = []
        self._buffer: list[str] = []
        self._length = 0
        self._loose_at: int | None = None
        self._is_quoted = False

    def read(self) -> list[Part]:
        self._commands("")
        return self._parts

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _commands(self, closing: str) -> None:
        """Commands up to the closing sign, or to the end."""
        words: list[Word] = []
        is_after_group = False
        while True:
            self._skip_blanks()
            char = self._peek()
            if not char or char == closing:
                if not char and closing:
                    raise Unreadable("a parenthesis is not closed")
                self._at += len(char)
                self._finish(words)
                return
            if char in "<>" or self._peek(2) == "&>":
                self._redirect()
            elif char in ";&|\n":
                self._operator()
                self._finish(words)
                words, is_after_group = [], False
            elif char == "(":
                self._group(is_first=not words and not is_after_group)
                is_after_group = True
            elif char in ")#" or is_after_group:
                raise Unreadable(
                    {")": "a parenthesis too many", "#": "it has a comment"}.get(char, "a group")
                )
            else:
                self._take_word(words)

    def _take_word(self, words: list[Word]) -> None:
        start = self._at
        word = self._word()
        is_descriptor = word.text.isdigit() and not self._is_quoted and self._peek() in ("<", ">")
        if not is_descriptor or self._at - start != len(word.text):
            words.append(word)

    def _skip_blanks(self) -> None:
        while True:
            if self._peek() in (" ", "\t"):
                self._at += 1
            elif self._peek(2) == "\\\n":
                self._at += 2
            else:
                return

    def _operator(self) -> None:
        pair = self._peek(2)
        if pair in (";;", ";&", ";|"):
            raise Unreadable("it has the signs of a case")
        self._at += 2 if pair in ("&&", "||", "|&") else 1

    def _group(self, *, is_first: bool) -> None:
        if not is_first or self._peek(2) == "((":
            raise Unreadable("a parenthesis in an unusual place")
        self._at += 1
        self._nested(lambda: self._commands(")"))

    def _nested(self, inside: Callable[[], None]) -> None:
        """Read a list of commands inside another one, keeping the word that is being read."""
        kept = self._buffer, self._length, self._loose_at, self._is_quoted
        self._depth += 1
        if self._depth > _DEPTH:
            raise Unreadable("it is nested too deeply")
        inside()
        self._depth -= 1
        self._buffer, self._length, self._loose_at, self._is_quoted = kept

    def _redirect(self) -> None:
        if self._peek(2) in ("<<", "<(", ">("):
            raise Unreadable("it has a here-document or a process substitution")
        found = _REDIRECTION.match(self._text, self._at)
        sign = found[0] if found else ""
        self._at += len(sign)
        self._skip_blanks()
        target = self._word()
        if not target.text:
            raise Unreadable("a redirection goes nowhere")
        if sign in (">&", "<&") and re.fullmatch(r"\d+-?|-", target.text):
            return
        if not target.is_fixed or target.text not in _NOWHERE:
            way = "<" if sign == "<" else ">"
            self._parts.append(Part((Word(way, 1), target)))

    def _finish(self, words: Sequence[Word]) -> None:
        if words:
            if words[0].text in _RESERVED:
                raise Unreadable(f"it uses {words[0].text!r}")
            self._parts += _with_carried(tuple(words), self._depth)

    # one word

    def _word(self) -> Word:
        self._begin()
        if self._peek() == "=":
            self._loosen()  # zsh puts the path of a program here
        while (char := self._peek()) and char not in _ENDS_WORD:
            self._piece(char)
        text = "".join(self._buffer)
        return Word(text, len(text) if self._loose_at is None else self._loose_at)

    def _begin(self) -> None:
        self._buffer, self._length, self._loose_at, self._is_quoted = [], 0, None, False

    def _piece(self, char: str) -> None:
        if char == "\\":
            self._escape()
        elif char == "'":
            self._is_quoted = True
            self._add(self._up_to("'"))
        elif char == '"':
            self._is_quoted = True
            self._double_quoted()
        elif char == "$":
            self._dollar(is_quoted=False)
        elif char == "`":
            self._backticks()
        elif self._peek(2) == "{}":
            self._add(self._taken(2))
        else:
            if char in "*?[{}":
                self._loosen()
            self._add(self._taken(1))

    def _taken(self, length: int) -> str:
        text = self._peek(length)
        self._at += length
        return text

    def _add(self, text: str) -> None:
        self._buffer.append(text)
        self._length += len(text)

    def _loosen(self) -> None:
        """From here on the shell decides what the word is."""
        if self._loose_at is None:
            self._loose_at = self._length

    def _up_to(self, quote: str) -> str:
        end = self._text.find(quote, self._at + 1)
        if end < 0:
            raise Unreadable("a quote is not closed")
        found = self._text[self._at + 1 : end]
        self._at = end + 1
        return found

    def _escape(self) -> None:
        following = self._peek(2)[1:]
        if not following:
            raise Unreadable("it ends in a backslash")
        self._at += 2
        if following != "\n":
            self._is_quoted = True
            self._add(following)

    def _double_quoted(self) -> None:
        self._at += 1
        while (char := self._peek()) != '"':
            if not char:
                raise Unreadable("a quote is not closed")
            if char == "\\" and self._peek(2)[1:] in ("$", "`", '"', "\\", "\n"):
                self._escape()
            elif char == "$":
                self._dollar(is_quoted=True)
            elif char == "`":
                self._backticks()
            else:
                self._add(self._taken(1))
        self._at += 1

    def _dollar(self, *, is_quoted: bool) -> None:
        start = self._at
        following = self._peek(2)[1:]
        if following == "(":
            if self._peek(3) == "$((":
                raise Unreadable("it calculates")
            self._loosen()
            self._at += 2
            self._nested(lambda: self._commands(")"))
        elif following == "{" or _NAME.match(following):
            found = (_BRACED if following == "{" else _NAME).match(self._text, start + 1)
            if found is None:
                raise Unreadable("it has an expansion that is not a plain variable")
            self._loosen()
            self._at = found.end()
        elif following == "[" or (following in ("'", '"') and not is_quoted):
            raise Unreadable("it has a special kind of quote")
        else:
            self._at += 1
        self._add(self._text[start : self._at])

    def _backticks(self) -> None:
        self._loosen()
        inside = self._up_to("`")
        if "\\" in inside:
            raise Unreadable("it has a backslash inside backticks")
        if inside.strip():
            self._parts += _read(inside, self._depth + 1)
        self._add(f"`{inside}`")


# ── programs that run other programs ────────────────────────────────────────────────────────────────────────────


class _Carried(NamedTuple):
    """What a program runs in its turn."""

    commands: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[str, ...] = ()
    is_opaque: bool = False


_NOTHING, _OPAQUE = _Carried(), _Carried(is_opaque=True)
_SHELLS = _names("sh bash zsh dash ksh mksh ash fish csh tcsh")
_CLOSED_BOOKS = _names(
    "su ssh parallel watch script flock strace ltrace busybox toybox systemd-run at batch crontab chroot unshare "
    "nsenter runuser pkexec expect gdb lldb vim vi nvim ex view emacs ed entr tmux screen osascript awk gawk mawk "
    "nawk trap let mapfile readarray alias unalias hash enable bind complete ionice chrt taskset stdbuf unbuffer caffeinate rlwrap "
    "dbus-run-session xvfb-run start-stop-daemon daemonize socat setarch linux32 linux64 fakeroot proot bwrap "
    "firejail zargs autoload zmodload"
)
"""Programs whose arguments may be programs, in ways too many to follow."""
_CODE_FLAGS = {
    "python": "c",
    "python2": "c",
    "python3": "c",
    "pypy3": "c",
    "perl": "eEnp",
    "ruby": "ernp",
    "node": "ep",
    "bun": "ep",
    "php": "rBRE",
    "lua": "e",
    "tclsh": "c",
    "Rscript": "e",
}
_CODE_VALUED = {
    "python": "XW",
    "python3": "XW",
    "pypy3": "XW",
    "perl": "I",
    "ruby": "rIC",
    "node": "rC",
    "php": "dc",
}
"""Options of the same programs whose value is a word of its own."""
_CODE_WORDS = frozenset({"--eval", "--print", "--run", "eval", "-"})
_RUNNING_FLAGS = {
    "tar": ("--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--rsh-command", "--rmt-command", "--new-volume-script", "-I", "-F"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "docker": ("run", "exec"),
    "podman": ("run", "exec"),
    "kubectl": ("exec", "run"),
    "rg": ("--pre", "--hostname-bin"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "sort": ("--compress-program",),
    "man": ("-P", "--pager", "-H", "--html"),
    "less": ("+!",),
    "npx": ("-c", "--call"),
}  # fmt: skip
_GIT_PLAIN = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help"}
)
_GIT_RUNNING = (
    "--exec", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--ext-diff", "--textconv", "--output",
    "--config", "--template", "--extcmd", "--tool", "--gpg-sign", "--paginate", "--strategy", "--edit", "--run",
)  # fmt: skip
_GIT_CLOSED = _names(
    "bisect submodule filter-branch config difftool mergetool for-each-repo maintenance daemon instaweb p4 svn "
    "send-email web--browse credential hook upload-pack receive-pack upload-archive fast-import sh-setup"
)
_XARGS_ALONE, _XARGS_VALUED = frozenset({"-0", "-r", "-t"}), frozenset({"-n", "-P", "-L", "-I", "-d"})
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = {"-delete": "rm", "-fprint": "tee", "-fprint0": "tee", "-fprintf": "tee", "-fls": "tee"}
_SED_PLAIN = re.compile(r"[\d,$ ]*[pdq=]|s([/|#,@:])(?:(?!\1)[^\n\\])*\1(?:(?!\1)[^\n\\])*\1[gip\d]*")


def _with_carried(words: tuple[Word, ...], depth: int) -> list[Part]:
    """The part itself, and the parts of all that it runs."""
    if depth > _DEPTH:
        raise Unreadable("it is nested too deeply")
    bare = _without_assignments(words)
    carried = _carried(bare) if bare else _NOTHING
    parts = [Part(words, carried.is_opaque)]
    for inner in carried.commands:
        if inner:
            parts += _with_carried(inner, depth + 1)
    for script in carried.scripts:
        parts += _read(script, depth + 1)
    return parts


def _without_assignments(words: tuple[Word, ...]) -> tuple[Word, ...]:
    for place, word in enumerate(words):
        found = _ASSIGNMENT.match(word.text)
        if found is None or found.end() > word.fixed:
            return words[place:]
    return ()


def _program(words: Sequence[Word]) -> Word:
    """The name of the program, without its folder."""
    text, fixed = words[0]
    name = text.rsplit("/", 1)[-1]
    return Word(name, max(0, fixed - (len(text) - len(name))))


def _carried(words: tuple[Word, ...]) -> _Carried:
    if not words[0].is_fixed or words[0].text.split() != [words[0].text]:
        return _OPAQUE
    name = _program(words).text
    if name in _CLOSED_BOOKS:
        return _OPAQUE
    if name in _CARRIERS:
        return _CARRIERS[name](words)
    if name in _CODE_FLAGS:
        return _OPAQUE if _runs_code(words[1:], _CODE_FLAGS[name], _CODE_VALUED.get(name, "")) else _NOTHING
    if name in _RUNNING_FLAGS:
        return _OPAQUE if _has_flag(words[1:], _RUNNING_FLAGS[name]) else _NOTHING
    return _NOTHING


def _by_shell(words: tuple[Word, ...]) -> _Carried:
    if len(words) >= 3 and _is_script_flag(words[1].text) and words[1].is_fixed:
        return _Carried(scripts=(words[2].text,)) if words[2].is_fixed else _OPAQUE
    is_file = len(words) >= 2 and words[1].fixed > 0 and not words[1].text.startswith(("-", "+", "/dev/"))
    return _NOTHING if is_file else _OPAQUE


def _is_script_flag(text: str) -> bool:
    return re.fullmatch(r"-[elux]*c", text) is not None


def _by_source(_words: tuple[Word, ...]) -> _Carried:
    """What is in the file is not known, but its name is."""
    return _NOTHING


def _by_eval(words: tuple[Word, ...]) -> _Carried:
    if not all(word.is_fixed for word in words):
        return _OPAQUE
    return _Carried(scripts=(" ".join(word.text for word in words[1:]),)) if len(words) > 1 else _NOTHING


def _by_plain_wrapper(words: tuple[Word, ...]) -> _Carried:
    """nohup, exec and their like; an option may mean anything."""
    if len(words) > 1 and words[1].text in ("-v", "-V") and _program(words).text == "command":
        return _NOTHING
    return _rest(words[1:])


def _rest(words: tuple[Word, ...]) -> _Carried:
    if words and (words[0].text.startswith("-") or not words[0].fixed):
        return _OPAQUE
    return _Carried((words,))


def _by_nice(words: tuple[Word, ...]) -> _Carried:
    return _rest(words[3:] if len(words) > 2 and words[1].text == "-n" else words[1:])


def _by_timeout(words: tuple[Word, ...]) -> _Carried:
    is_plain = len(words) > 1 and words[1].is_fixed and not words[1].text.startswith("-")
    return _rest(words[2:]) if is_plain else _OPAQUE


def _by_xargs(words: tuple[Word, ...]) -> _Carried:
    at = 1
    while at < len(words) and words[at].is_fixed:
        if words[at].text in _XARGS_ALONE:
            at += 1
        elif words[at].text in _XARGS_VALUED:
            at += 2
        else:
            break
    # What it reads becomes more arguments, which nobody knows yet.
    found = _rest(words[at:])
    return (
        found if found.is_opaque else _Carried(tuple((*one, Word("…", 0)) for one in found.commands if one))
    )


def _by_find(words: tuple[Word, ...]) -> _Carried:
    if not all(word.is_fixed or word.fixed for word in words):
        return _OPAQUE
    commands: list[tuple[Word, ...]] = []
    for place, word in enumerate(words):
        if word.text in _FIND_RUNS:
            inner = words[place + 1 :]
            ends = [at for at, one in enumerate(inner) if one.text in (";", "+")]
            if not ends:
                return _OPAQUE
            commands.append(_loosened(inner[: ends[0]]))
        elif word.text in _FIND_WRITES:
            name = _FIND_WRITES[word.text]
            commands.append((Word(name, len(name)), Word("…", 0)))
    return _Carried(tuple(commands))


def _loosened(words: Iterable[Word]) -> tuple[Word, ...]:
    """With names of files, which are not known yet, in the place of {}."""
    return tuple(
        Word(word.text, min(word.fixed, word.text.find("{}"))) if "{}" in word.text else word
        for word in words
    )


def _by_git(words: tuple[Word, ...]) -> _Carried:
    at = 1
    while at < len(words) and words[at].text in _GIT_PLAIN:
        at += 1
    if at == len(words):
        return _NOTHING
    verb = words[at]
    # An option here may bring an alias, a folder of other programs or another repository's hooks.
    if not verb.is_fixed or verb.text.startswith("-") or verb.text in _GIT_CLOSED:
        return _OPAQUE
    rest = words[at + 1 :]
    if any(not word.fixed for word in rest) or any(
        _is_running_git_flag(word.text, verb.text) for word in rest
    ):
        return _OPAQUE
    return _NOTHING


def _is_running_git_flag(text: str, verb: str) -> bool:
    """Git takes any unique beginning of a long option for the option."""
    flag = text.partition("=")[0]
    if flag.startswith("--"):
        return len(flag) > 2 and any(name.startswith(flag) for name in _GIT_RUNNING)
    short = {"clone": "-cu", "rebase": "-xs", "grep": "-O", "fetch": "-u", "merge": "-s", "pull": "-s"}.get(
        verb, ""
    )
    return flag[:1] == "-" and any(letter in flag for letter in short[1:])


def _by_sed(words: tuple[Word, ...]) -> _Carried:
    scripts = [word for word in words[1:] if not word.text.startswith("-")][:1]
    flags = [word.text for word in words[1:] if word.text.startswith("-")]
    is_plain = scripts and scripts[0].is_fixed and _SED_PLAIN.fullmatch(scripts[0].text)
    return _NOTHING if is_plain and all(re.fullmatch(r"-[nErisu]+", flag) for flag in flags) else _OPAQUE


def _runs_code(words: Sequence[Word], letters: str, valued: str) -> bool:
    """Whether the program is given its program as an argument or from its input."""
    if not words:
        return True
    is_value = False
    for word in words:
        if not word.fixed or word.text in _CODE_WORDS or word.text.startswith(("--eval", "--print", "--run")):
            return True
        if not word.text.startswith("-"):
            if not is_value:
                return False
        elif not word.text.startswith("--") and any(letter in word.text for letter in letters):
            return True
        is_value = _may_take_a_value(word.text, valued)
    return False


def _may_take_a_value(text: str, valued: str) -> bool:
    """Of long options nobody knows, so that what follows one may not be the program's file yet."""
    if text.startswith("--"):
        return len(text) > 2 and "=" not in text
    return len(text) > 1 and text[0] == "-" and text[-1] in valued


def _by_tar(words: tuple[Word, ...]) -> _Carried:
    """Its first word holds options even without a dash."""
    first = words[1:2]
    bundle = tuple(Word(f"-{one.text}", one.fixed + 1) for one in first if not one.text.startswith("-"))
    return _OPAQUE if _has_flag((*bundle, *words[1:]), _RUNNING_FLAGS["tar"]) else _NOTHING


def _by_naming(words: tuple[Word, ...]) -> _Carried:
    """Builtins that take names of variables: the shell computes a subscript in one, and runs what stands in that."""
    is_computed = any("[" in word.text and re.search(r"[$`]", word.text) for word in words[1:])
    return _OPAQUE if is_computed else _NOTHING


def _has_flag(words: Sequence[Word], flags: Sequence[str]) -> bool:
    """Long options also abbreviated, short ones also with their value or among others."""
    for word in words:
        name = word.text.partition("=")[0]
        if not word.fixed:
            return True
        for flag in flags:
            if flag.startswith("--") and len(name) > 2 and flag.startswith(name):
                return True
            if flag.startswith("-") and not flag.startswith("--") and not name.startswith("--"):
                if name.startswith("-") and flag[1:] in name:
                    return True
            elif name == flag or (flag.startswith("+") and name.startswith(flag)):
                return True
    return False


_CARRIERS: dict[str, Callable[[tuple[Word, ...]], _Carried]] = {
    **dict.fromkeys(_SHELLS, _by_shell),
    **dict.fromkeys(("nohup", "setsid", "time", "command", "exec", "builtin", "sudo", "doas", "env", "-"), _by_plain_wrapper),
    **dict.fromkeys(
        ("printf", "test", "[", "unset", "read", "declare", "typeset", "local", "export", "readonly", "wait", "getopts"), _by_naming
    ),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _by_tar),
    "eval": _by_eval,
    ".": _by_source,
    "source": _by_source,
    "nice": _by_nice,
    "timeout": _by_timeout,
    "gtimeout": _by_timeout,
    "xargs": _by_xargs,
    "find": _by_find,
    "gfind": _by_find,
    "git": _by_git,
    "sed": _by_sed,
    "gsed": _by_sed,
}  # fmt: skip
