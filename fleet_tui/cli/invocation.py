"""Run one command: parse its arguments, print its errors, log crashes, return the exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet_tui import __version__
from fleet_tui.cli.group import OutputClosed, cli, say
from fleet_tui.errors import FleetError, Interrupted

if TYPE_CHECKING:
    import logging


INTERNAL_ERROR = 70


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; every failure becomes one line on standard error."""
    _open_standard_streams()
    try:
        return _invoke(arguments)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _complain("interrupted", "", Interrupted.exit_code)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        return _complain_of_usage(error, arguments)
    except FleetError as error:
        return _complain(error.message, error.hint, error.exit_code)
    except (OutputClosed, BrokenPipeError):
        # The reader, such as head, has seen enough.
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return _complain(
            _system_reason(error),
            "check free space and permissions; FLEET_DEBUG=1 writes a debug log",
            FleetError.exit_code,
        )
    except Exception as error:  # noqa: BLE001 - users never see a traceback: it is logged, and the log is named
        return _complain(
            f"internal error: {type(error).__name__}: {error}", _log_crash(arguments), INTERNAL_ERROR
        )


def _invoke(arguments: list[str]) -> int:
    with _debug_log(arguments):
        result = cli.main(args=arguments, prog_name=_program_name(), standalone_mode=False)
        # Flush while an error can still be reported.
        sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _open_standard_streams() -> None:
    """Open closed standard streams on /dev/null; the next opened file would take the descriptor, and our output."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = getattr(sys, name)
        if stream is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
        elif mode == "w" and hasattr(stream, "reconfigure"):
            # Paths may not be valid UTF-8, and the terminal may not have our characters.
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard buffered output that cannot be written; Python would retry at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _program_name() -> str:
    """The name that was typed, which shell completion needs."""
    name = Path(sys.argv[0]).name
    return name if name in ("fleet", "flt") else "fleet"


def _complain(message: str, hint: str, code: int) -> int:
    text = " ".join(message.split())
    with contextlib.suppress(OSError):
        say(f"fleet: {text}" + (f" ({hint})" if hint else ""), err=True)
    return code


def _complain_of_usage(error: click.ClickException, arguments: list[str]) -> int:
    from fleet_tui.cli.usage_errors import explained

    ours = explained(error, cli, arguments)
    return _complain(ours.message, ours.hint, ours.exit_code)


def _system_reason(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else f"system error: {reason}"


@contextlib.contextmanager
def _debug_log(arguments: list[str]) -> Iterator[None]:
    """With FLEET_DEBUG set, log the command and how it ended; a failing log does not stop the command."""
    log = _open_debug_log() if os.environ.get("FLEET_DEBUG") or os.environ.get("AI_FLEET_DEBUG") else None
    if log is None:
        yield
        return
    started = time.monotonic()
    log.debug("fleet %s %r, PWD %s", __version__, arguments, os.environ.get("PWD", "?"))
    try:
        yield
    except BaseException as error:
        log.debug("ended by %s", type(error).__name__, exc_info=True)
        raise
    finally:
        log.debug("took %.3f s", time.monotonic() - started)


def _open_debug_log() -> logging.Logger | None:
    import logging

    from fleet_tui import paths

    try:
        file = paths.log() / "debug.log"
        handler = logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
        file.chmod(0o600)
    except OSError as error:
        say(f"fleet: cannot write the debug log: {_system_reason(error)}", err=True)
        return None
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(name)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    say(f"fleet: debug log in {file}", err=True)
    return logging.getLogger("fleet")


def _log_crash(arguments: list[str]) -> str:
    """Write the traceback to the crash log; returns a hint that names it."""
    import traceback

    from fleet_tui.faces import crash_log

    return crash_log.write("fleet", f"{arguments!r}\n{traceback.format_exc()}")
