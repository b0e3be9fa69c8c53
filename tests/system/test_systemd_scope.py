"""A scope of its own for each agent, as the user's systemd gives it: the recordings are of systemd 252."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui.holder import forking
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.system import systemd_scope
from tests import scripted
from tests.holder.fork_keeper import MANAGER
from tests.holder.holders import start_holder
from tests.places import RECORDINGS

FOLDER = RECORDINGS / "scopes"
SPEC = RunSpec("abc", 1, "/", "/", "", (), "/", {}, name="fix")
UNIT = "fleet-abc-1.scope"


def recording(name: str) -> bytes:
    return (FOLDER / f"{name}.bin").read_bytes()


class Manager:
    """The far end of the socket: accepts the client and answers every request with the recorded reply."""

    def __init__(self, address: str, answer: bytes) -> None:
        self.address = address
        self.asked = b""
        self._answer = answer
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(address)
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Manager:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        # Ends when it is shut down.
        with contextlib.suppress(OSError):
            while True:
                self._talk(self._socket.accept()[0])

    def _talk(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as incoming:
            assert incoming.readline().startswith(b"\0AUTH EXTERNAL 3")
            client.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
            assert incoming.readline() == b"BEGIN\r\n"
            self.asked = incoming.read(len(recording("asked")))
            with contextlib.suppress(OSError):
                client.sendall(self._answer)


@pytest.fixture
def address() -> Iterator[str]:
    """Short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="fleet") as folder:
        yield f"{folder}/private"


def test_a_process_that_enters_a_scope_sends_a_valid_request_and_takes_the_reply(address: str) -> None:
    with Manager(address, recording("started")) as manager:
        complaint = forking.entry_to(address)(SPEC)

    assert (complaint, manager.asked) == ("", recording("asked"))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (recording("refused"), f"Unit {UNIT} was already loaded or has a fragment file."),
        (recording("started").replace(b"done\0", b"gone\0"), f"starting {UNIT}: gone"),
        (recording("started")[:100], "it did not answer"),
        (b"", "it did not answer"),
    ],
)
def test_the_reason_that_keeps_a_process_out_is_reported(address: str, answer: bytes, reason: str) -> None:
    with Manager(address, answer):
        assert forking.entry_to(address)(SPEC) == f"no scope of its own: {reason}"


@pytest.mark.slow
def test_a_manager_that_never_answers_does_not_keep_an_agent_from_starting(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MANAGER, address)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(address)
        silent.listen()
        with start_holder(tmp_path, scripted.agent("echoes")) as holder:
            assert holder.is_running

    assert (holder.folder / "holder.err").read_text() == "no scope of its own: systemd does not answer\n"


def test_a_machine_without_a_user_manager_loads_nothing_for_it(tmp_path: Path) -> None:
    code = "import sys; from fleet_tui.holder import forking; forking.scope_entry(); print('fleet_tui.system.systemd_scope' in sys.modules)"
    for environment in ({}, {"XDG_RUNTIME_DIR": str(tmp_path)}):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        assert done.stdout == b"False\n"


@pytest.mark.parametrize(
    ("groups", "is_below"),
    [
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n", True),
        (
            "4:memory:/\n1:name=systemd:/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n",
            True,
        ),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", False),
        ("0::/user.slice/user-100.slice/user@100.service/app.slice/x.scope\n", False),
        ("0::/\n", False),
    ],
)
def test_the_scope_of_a_login_is_left_alone_for_it_outlives_the_manager(groups: str, is_below: bool) -> None:
    assert systemd_scope.is_below_manager(groups, 1000) is is_below
