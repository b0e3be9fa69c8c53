"""Explain in one line what click's parser rejects, and what to type instead.

Imported only after an error, because most commands have none. The texts of click that are parsed here are covered by
tests that run every command; an unknown text is shown as it is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

import click

from fleet_tui.errors import UsageError


def explained(error: click.ClickException, group: click.Group, arguments: Sequence[str]) -> UsageError:
    """The same error in our words, with a hint."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    # The option parser raises some errors without their context.
    context = context or _context_of(group, arguments)
    message, hint = _explain(error, context)
    return UsageError(message, hint=hint or _help(context))


def _context_of(group: click.Group, arguments: Sequence[str]) -> click.Context:
    """The context of the command that these arguments name."""
    context = click.Context(group, info_name="fleet")
    for word in arguments:
        command = context.command
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        named = command.get_command(context, word)
        if named is None:
            break
        context = click.Context(named, info_name=named.name, parent=context)
    return context


def _explain(error: click.ClickException, context: click.Context) -> tuple[str, str]:
    """The message, and a hint if there is a better one than the command's help."""
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption):
        return _unknown_option(error.option_name, context)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_name(context)} needs {_wanted(error.param)}", _example(context)
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _bad_value(error.message, error.param, context)
    if isinstance(error, click.BadOptionUsage):
        param = next((one for one in context.command.params if error.option_name in one.opts), None)
        return _bad_option(error.option_name, param, context) if param is not None else (message, "")
    if unknown := re.search(r"No such command '(.*)'", message):
        known = list(getattr(context.command, "commands", {}))
        return f"{_name(context)} has no command {unknown[1]!r}", f"choose {_either(known)}"
    if extra := re.search(r"unexpected extra arguments? \((.*)\)$", message, re.DOTALL):
        return _extra_argument(extra[1], context)
    return message, ""


def _unknown_option(option: str, context: click.Context) -> tuple[str, str]:
    params = context.command.params
    counts = [param for param in params if isinstance(param, click.Argument) and _is_number(param.type)]
    if re.match(r"-\d", option) and counts:
        return f"{_label(counts[0])} cannot be negative", _example(context)
    # Compared without their dashes, which would make short words look alike.
    known = [spelling[2:] for param in params for spelling in param.opts if spelling.startswith("--")]
    close = difflib.get_close_matches(option[2:], known, n=1) if option.startswith("--") else []
    return f"{_name(context)} has no option {option}", f"did you mean --{close[0]}?" if close else ""


def _bad_option(spelling: str, param: click.Parameter, context: click.Context) -> tuple[str, str]:
    if isinstance(param, click.Option) and param.is_flag:
        return f"{spelling} takes no value", ""
    if param.nargs > 1:
        return f"{spelling} needs {param.nargs} values: {_placeholder(param)}", ""
    if isinstance(param.type, click.Choice):
        return f"{spelling} needs {_either(_choices(param.type))}", _example(context, param.opts)
    return f"{spelling} needs a value", _example_value(spelling, param, context)


def _extra_argument(extra: str, context: click.Context) -> tuple[str, str]:
    arguments = [param for param in context.command.params if isinstance(param, click.Argument)]
    option = _option_named(extra, context)
    if option:
        return f"{_name(context)} does not take {extra!r}", f"did you mean {option}?"
    if not arguments:
        return f"{_name(context)} takes no arguments, but got {extra!r}", ""
    takes = " ".join(_placeholder(param) for param in arguments)
    advice = (
        "quote text with spaces; "
        if any("--prompt" in param.opts or param.name == "value" for param in context.command.params)
        else ""
    )
    given = [value for value in context.params.values() if isinstance(value, str)]
    return f"{_name(context)} takes only {takes}, but also got {extra!r}", advice + (
        _example(context, given) or _example(context) or _help(context)
    )


def _bad_value(problem: str, param: click.Parameter, context: click.Context) -> tuple[str, str]:
    label = _label(param)
    kind = param.type
    found = re.match(r"'?(.*?)'? is not ", problem, re.DOTALL)
    value = found[1] if found else ""
    if isinstance(kind, click.Choice):
        choices = _choices(kind)
        close = difflib.get_close_matches(value, choices, n=1)
        meant = _option_named(value, context) or "".join(close)
        what = f"{label} must be" if isinstance(param, click.Option) else f"{_name(context)} takes"
        hint = f"did you mean {meant}?" if meant else _example(context, choices)
        return f"{what} {_either(choices)}, not {value!r}", hint
    if _is_number(kind):
        hint = _example(context) if isinstance(param, click.Argument) else f"for example: {label} 10"
        return f"{label} must be {_numbers(kind)}, not {value.removesuffix('.0')!r}", hint
    return f"{label}: {problem.rstrip('.')}", ""


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_number(kind: click.ParamType[Any]) -> bool:
    # The ranges are subclasses of these.
    return isinstance(kind, (click.types.IntParamType, click.types.FloatParamType))


def _numbers(kind: click.ParamType[Any]) -> str:
    noun = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    if low is not None and high is not None:
        return f"{noun} from {low:g} to {high:g}"
    return f"{noun} of at least {low:g}" if low is not None else noun


def _choices(kind: click.Choice[str]) -> list[str]:
    return [str(choice) for choice in kind.choices]


def _name(context: click.Context) -> str:
    """The command without the program, such as `profiles check`; the program if there is no command."""
    path = context.command_path
    return path.partition(" ")[2] or path


def _wanted(param: click.Parameter) -> str:
    if isinstance(param, click.Option):
        return _label(param)
    if isinstance(param.type, click.Choice):
        return _either(_choices(param.type))
    placeholder = _placeholder(param)
    if not re.fullmatch(r"[A-Z_-]+", placeholder):
        return placeholder
    return f"{'an' if placeholder[0] in 'AEIOU' else 'a'} {placeholder}"


def _label(param: click.Parameter) -> str:
    """An option by its long name, an argument by its placeholder."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else _placeholder(param)


def _placeholder(param: click.Parameter) -> str:
    """The placeholder of a value in the usage line, without the brackets of an optional one."""
    if param.metavar:
        return param.metavar.replace("[", "").replace("]", "")
    if isinstance(param.type, click.Choice):
        return "|".join(_choices(param.type))
    return (param.name or "").upper() + ("..." if param.nargs == -1 else "")


def _option_named(word: str, context: click.Context) -> str:
    """The option whose long name was typed without its dashes."""
    options = [spelling for param in context.command.params for spelling in param.opts]
    return f"--{word}" if word and f"--{word}" in options else ""


def _either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


# ── hints ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _help(context: click.Context) -> str:
    return f"see: {context.command_path} --help"


def _example(context: click.Context, words: Sequence[str] = ()) -> str:
    """The first example in the command's help, or the first one with one of the words."""
    help_text = (context.command.help or "").partition("\b\n")[2]
    examples = [line.strip() for line in help_text.splitlines()[1:] if line.startswith("  ")]
    fitting = [
        line for line in examples if not words or not set(words).isdisjoint(re.findall(r"[\w-]+", line))
    ]
    return f"for example: {fitting[0].split('  ')[0]}" if fitting else ""


def _example_value(spelling: str, param: click.Parameter, context: click.Context) -> str:
    if _is_number(param.type):
        return f"for example: {spelling} 10"
    return _example(context, [*param.opts])
