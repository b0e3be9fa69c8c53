"""Runs code as another user of the machine, which only root can."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

import pytest

from fleet_tui.errors import FleetError

NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def as_nobody(action: Callable[[], object]) -> str:
    """Run a function in an unprivileged fork; return the message of a FleetError, or an empty text."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        said, code = "", 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.chdir("/")
            action()
            code = 0
        except FleetError as error:
            said, code = str(error), 0
        except BaseException:  # noqa: BLE001 - the fork must not go on as a second test run
            said = traceback.format_exc()
        finally:
            os.write(writing, said.encode())
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    assert os.waitpid(pid, 0)[1] == 0, said
    return said
