"""Programs that run other programs: what sudo, xargs, find, git and the like run in their turn.

What cannot be followed is opaque: it is never allowed by a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from fleet_tui.permissions import wrapper_tables as tables
from fleet_tui.permissions.shell_words import ShellPart, Word, program_of, without_assignments


class InnerCommands(NamedTuple):
    """What a program runs."""

    commands: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[str, ...] = ()
    is_opaque: bool = False


_NOTHING, _OPAQUE = InnerCommands(), InnerCommands(is_opaque=True)


def inner_commands(words: tuple[Word, ...]) -> InnerCommands:
    """What a command runs, given without its assignments."""
    if not words:
        return _NOTHING
    if not words[0].is_fixed or words[0].text.split() != [words[0].text]:
        return _OPAQUE
    name = program_of(words).text
    if name in tables.OPAQUE:
        return _OPAQUE
    if name in _WRAPPERS:
        return _WRAPPERS[name](words)
    if name in tables.CODE_FLAGS:
        return (
            _OPAQUE
            if _runs_code(words[1:], tables.CODE_FLAGS[name], tables.CODE_VALUED.get(name, ""))
            else _NOTHING
        )
    if name in tables.RUNNING_FLAGS:
        return _OPAQUE if _has_flag(words[1:], tables.RUNNING_FLAGS[name]) else _NOTHING
    return _NOTHING


def forms_of(part: ShellPart) -> list[ShellPart]:
    """The forms in which a rule may name this part: without assignments, without wrappers, without the folder."""
    bare = without_assignments(part.words)
    if not bare:
        return [part]
    program = program_of(bare)
    found = [part, ShellPart((program, *bare[1:]))]
    if program.text == "git":
        found += [ShellPart((program, *bare[start:])) for start in range(2, len(bare))]
    elif part.is_opaque or program.text in _WRAPPERS:
        tails = (bare[start:] for start in range(1, len(bare)))
        found += [ShellPart((program_of(tail), *tail[1:])) for tail in tails]
    return found


def _by_shell(words: tuple[Word, ...]) -> InnerCommands:
    if len(words) >= 3 and is_script_flag(words[1].text) and words[1].is_fixed:
        return InnerCommands(scripts=(words[2].text,)) if words[2].is_fixed else _OPAQUE
    is_file = len(words) >= 2 and words[1].fixed > 0 and not words[1].text.startswith(("-", "+", "/dev/"))
    return _NOTHING if is_file else _OPAQUE


def is_script_flag(text: str) -> bool:
    return re.fullmatch(r"-[elux]*c", text) is not None


def _by_source(_words: tuple[Word, ...]) -> InnerCommands:
    """The file's content is unknown, but a rule can name the file."""
    return _NOTHING


def _by_eval(words: tuple[Word, ...]) -> InnerCommands:
    if not all(word.is_fixed for word in words):
        return _OPAQUE
    return InnerCommands(scripts=(" ".join(word.text for word in words[1:]),)) if len(words) > 1 else _NOTHING


def _by_plain_wrapper(words: tuple[Word, ...]) -> InnerCommands:
    """nohup, exec and the like; with an option, what they run is opaque."""
    if len(words) > 1 and words[1].text in ("-v", "-V") and program_of(words).text == "command":
        return _NOTHING
    return _rest(words[1:])


def _rest(words: tuple[Word, ...]) -> InnerCommands:
    if words and (words[0].text.startswith("-") or not words[0].fixed):
        return _OPAQUE
    return InnerCommands((words,))


def _by_nice(words: tuple[Word, ...]) -> InnerCommands:
    return _rest(words[3:] if len(words) > 2 and words[1].text == "-n" else words[1:])


def _by_timeout(words: tuple[Word, ...]) -> InnerCommands:
    is_plain = len(words) > 1 and words[1].is_fixed and not words[1].text.startswith("-")
    return _rest(words[2:]) if is_plain else _OPAQUE


def _by_xargs(words: tuple[Word, ...]) -> InnerCommands:
    at = 1
    while at < len(words) and words[at].is_fixed:
        if words[at].text in tables.XARGS_ALONE:
            at += 1
        elif words[at].text in tables.XARGS_VALUED:
            at += 2
        else:
            break
    # Its input becomes more arguments, which are unknown.
    found = _rest(words[at:])
    return (
        found
        if found.is_opaque
        else InnerCommands(tuple((*one, Word("…", 0)) for one in found.commands if one))
    )


def _by_find(words: tuple[Word, ...]) -> InnerCommands:
    if not all(word.is_fixed or word.fixed for word in words):
        return _OPAQUE
    commands: list[tuple[Word, ...]] = []
    for place, word in enumerate(words):
        if word.text in tables.FIND_RUNS:
            inner = words[place + 1 :]
            ends = [at for at, one in enumerate(inner) if one.text in (";", "+")]
            if not ends:
                return _OPAQUE
            commands.append(_loosened(inner[: ends[0]]))
        elif word.text in tables.FIND_WRITES:
            name = tables.FIND_WRITES[word.text]
            commands.append((Word(name, len(name)), Word("…", 0)))
    return InnerCommands(tuple(commands))


def _loosened(words: Iterable[Word]) -> tuple[Word, ...]:
    """The words with `{}` marked as unknown: file names take its place."""
    return tuple(
        Word(word.text, min(word.fixed, word.text.find("{}"))) if "{}" in word.text else word
        for word in words
    )


def _by_git(words: tuple[Word, ...]) -> InnerCommands:
    at = 1
    while at < len(words) and words[at].text in tables.GIT_PLAIN:
        at += 1
    if at == len(words):
        return _NOTHING
    verb = words[at]
    # An option here can set an alias, another folder of programs or another repository's hooks.
    if not verb.is_fixed or verb.text.startswith("-") or verb.text in tables.GIT_OPAQUE:
        return _OPAQUE
    rest = words[at + 1 :]
    if any(not word.fixed for word in rest) or any(
        _is_running_git_flag(word.text, verb.text) for word in rest
    ):
        return _OPAQUE
    return _NOTHING


def _is_running_git_flag(text: str, verb: str) -> bool:
    """Git accepts any unique prefix of a long option."""
    flag = text.partition("=")[0]
    if flag.startswith("--"):
        return len(flag) > 2 and any(name.startswith(flag) for name in tables.GIT_RUNNING)
    short = {"clone": "-cu", "rebase": "-xs", "grep": "-O", "fetch": "-u", "merge": "-s", "pull": "-s"}.get(
        verb, ""
    )
    return flag[:1] == "-" and any(letter in flag for letter in short[1:])


def _by_sed(words: tuple[Word, ...]) -> InnerCommands:
    scripts = [word for word in words[1:] if not word.text.startswith("-")][:1]
    flags = [word.text for word in words[1:] if word.text.startswith("-")]
    is_plain = scripts and scripts[0].is_fixed and tables.SED_PLAIN.fullmatch(scripts[0].text)
    return _NOTHING if is_plain and all(re.fullmatch(r"-[nErisu]+", flag) for flag in flags) else _OPAQUE


def _runs_code(words: Sequence[Word], letters: str, valued: str) -> bool:
    """Whether an interpreter gets its code as an argument or from its input."""
    if not words:
        return True
    is_value = False
    for word in words:
        if (
            not word.fixed
            or word.text in tables.CODE_WORDS
            or word.text.startswith(("--eval", "--print", "--run"))
        ):
            return True
        if not word.text.startswith("-"):
            if not is_value:
                return False
        elif not word.text.startswith("--") and any(letter in word.text for letter in letters):
            return True
        is_value = _may_take_a_value(word.text, valued)
    return False


def _may_take_a_value(text: str, valued: str) -> bool:
    """Any long option may take a value, so the next word may not be the script yet."""
    if text.startswith("--"):
        return len(text) > 2 and "=" not in text
    return len(text) > 1 and text[0] == "-" and text[-1] in valued


def _by_tar(words: tuple[Word, ...]) -> InnerCommands:
    """tar's first word can hold options without a dash."""
    first = words[1:2]
    bundle = tuple(Word(f"-{one.text}", one.fixed + 1) for one in first if not one.text.startswith("-"))
    return _OPAQUE if _has_flag((*bundle, *words[1:]), tables.RUNNING_FLAGS["tar"]) else _NOTHING


def _by_naming(words: tuple[Word, ...]) -> InnerCommands:
    """Builtins that take variable names: the shell evaluates a subscript in one, and runs commands in that."""
    is_computed = any("[" in word.text and re.search(r"[$`]", word.text) for word in words[1:])
    return _OPAQUE if is_computed else _NOTHING


def _has_flag(words: Sequence[Word], flags: Sequence[str]) -> bool:
    """Whether a flag is given: long options also abbreviated, short ones also joined with others or their value."""
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


_WRAPPERS: dict[str, Callable[[tuple[Word, ...]], InnerCommands]] = {
    **dict.fromkeys(tables.SHELLS, _by_shell),
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
