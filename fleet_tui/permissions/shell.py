"""Shell reader: cuts a command into the parts that a shell would run, without running it.

A part is a simple command, also one in a substitution, a subshell or a wrapper (env, sudo, xargs, sh -c, find -exec),
or a file that is redirected to or from. What the reader does not understand raises `Unreadable`: it never guesses. It
knows no rules and no tools, and touches nothing outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import dropwhile

from fleet_tui.permissions import wrapper_tables as tables
from fleet_tui.permissions.shell_words import (
    ShellPart,
    Unreadable,
    Word,
    program_of,
    without_assignments,
    word_set,
)
from fleet_tui.permissions.wrappers import inner_commands, is_script_flag

LIMIT = 64 * 1024
"""Characters of a command that are read."""

_RESERVED = word_set(
    "if then else elif fi for while until do done case esac in function select coproc repeat foreach end "
    "{ } [[ ]] ! noglob nocorrect always"
)
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACED = re.compile(r"\{(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?])\}")
_REDIRECTION = re.compile(r"&>>|&>|<>|>>|>\||>&|<&|>|<")
# Not \d: to a shell, the digits of other scripts are part of a file's name.
_DESCRIPTOR = re.compile(r"[0-9]+")
_DUPLICATED = re.compile(r"[0-9]+-?|-")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_DEPTH = 8


def read(command: str | Sequence[str]) -> list[ShellPart]:
    """All parts of a command line, or of a program with its arguments."""
    if isinstance(command, str):
        return _read(command, 0)
    if not command:
        raise Unreadable("there is no command")
    words = tuple(Word(text, len(text)) for text in command)
    if program_of(words).text in tables.SHELLS and len(words) == 3 and is_script_flag(words[1].text):
        return _read(words[2].text, 0)
    return _with_inner(words, 0)


def pieces(command: str) -> list[ShellPart]:
    """Everything that could be a command in a text that `read` refuses; errs on the side of too many."""
    cut = re.split(r"[;&|\n(){}`<>]", re.sub(r"[\\'\"]", "", command)[:LIMIT])
    lists = (list(dropwhile(_RESERVED.__contains__, one.split())) for one in cut)
    return [ShellPart(tuple(Word(text, len(text)) for text in words)) for words in lists if words]


def _read(text: str, depth: int) -> list[ShellPart]:
    if depth > _DEPTH:
        raise Unreadable("it is nested too deeply")
    if len(text) > LIMIT:
        raise Unreadable("it is too long")
    if any(not (char.isprintable() or char in "\t\n") for char in text):
        raise Unreadable("it has control characters in it")
    parts = _ShellReader(text, depth).read()
    if not parts:
        raise Unreadable("there is no command")
    return parts


# ── the words of a line ──


class _ShellReader:
    """Reads one text from left to right."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self._parts: list[ShellPart] = []
        self._buffer: list[str] = []
        self._length = 0
        self._loose_at: int | None = None
        self._is_quoted = False

    def read(self) -> list[ShellPart]:
        self._commands("")
        return self._parts

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _commands(self, closing: str) -> None:
        """Read commands up to the closing character, or to the end."""
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
                    {")": "an extra closing parenthesis", "#": "it has a comment"}.get(char, "a group")
                )
            else:
                self._take_word(words)

    def _take_word(self, words: list[Word]) -> None:
        start = self._at
        word = self._word()
        is_number = bool(_DESCRIPTOR.fullmatch(word.text)) and not self._is_quoted
        is_descriptor = is_number and self._peek() in ("<", ">")
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
            raise Unreadable("it has a case statement")
        self._at += 2 if pair in ("&&", "||", "|&") else 1

    def _group(self, *, is_first: bool) -> None:
        if not is_first or self._peek(2) == "((":
            raise Unreadable("a parenthesis in an unusual place")
        self._at += 1
        self._nested(lambda: self._commands(")"))

    def _nested(self, inside: Callable[[], None]) -> None:
        """Read a nested list of commands, then continue the current word."""
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
            raise Unreadable("a redirection has no target")
        if sign in (">&", "<&") and _DUPLICATED.fullmatch(target.text):
            return
        if not target.is_fixed or target.text not in _NOWHERE:
            way = "<" if sign == "<" else ">"
            self._parts.append(ShellPart((Word(way, 1), target)))

    def _finish(self, words: Sequence[Word]) -> None:
        if words:
            if words[0].text in _RESERVED:
                raise Unreadable(f"it uses {words[0].text!r}")
            self._parts += _with_inner(tuple(words), self._depth)

    # one word

    def _word(self) -> Word:
        self._begin()
        if self._peek() == "=":
            self._loosen()  # zsh expands `=program` to its path
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
        """Mark that the shell may expand the word from here on."""
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
                raise Unreadable("it has an arithmetic expansion")
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


# ── what parts run in their turn ──


def _with_inner(words: tuple[Word, ...], depth: int) -> list[ShellPart]:
    """The part itself, and the parts of everything it runs."""
    if depth > _DEPTH:
        raise Unreadable("it is nested too deeply")
    bare = without_assignments(words)
    inside = inner_commands(bare)
    parts = [ShellPart(words, inside.is_opaque)]
    for inner in inside.commands:
        if inner:
            parts += _with_inner(inner, depth + 1)
    for script in inside.scripts:
        parts += _read(script, depth + 1)
    return parts
