"""Other users of the machine can neither read what agents leave nor reach, replace or imitate their holders."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import FleetError, HolderGone
from fleet_tui.holder import wire
from fleet_tui.holder.run_folder import read_holder
from fleet_tui.holder.session import open_session
from fleet_tui.models import Agent
from tests.agent_pool import AgentPool, module_pool, pool
from tests.holder.holders import wait_until
from tests.holder.screens import wait_for_screen
from tests.other_user import NOBODY, as_nobody, needs_root

__all__ = ["module_pool", "pool"]


def socket_of(agent: Agent) -> Path:
    holder = read_holder(paths.run(agent.id, agent.run))
    assert holder is not None
    return Path(holder.socket)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may enter and write, as /tmp is."""
    folder = Path(tempfile.mkdtemp(prefix="ft-public-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def test_what_an_agent_leaves_is_private(pool: AgentPool) -> None:
    agent = pool.take(together=3)
    pool.fleet.prompts.deliver([agent], "a secret")
    wait_until(lambda: "a secret" in "\n".join(pool.fleet.logs(agent, 50)), "the prompt in the log")

    made = [
        place
        for root in (paths.state(), paths.sockets())
        for place in (root, *root.rglob("*"))
        if not place.is_symlink()
    ]

    assert any(place.name == "fleet.db" for place in made)
    assert socket_of(agent) in made
    assert [
        f"{place} {stat.filemode(place.stat().st_mode)}"
        for place in made
        if place.exists() and place.stat().st_mode & 0o077
    ] == []


@needs_root
def test_another_user_who_reaches_a_holder_learns_nothing(pool: AgentPool) -> None:
    """Also if the folders and the socket were opened to all users."""
    agent = pool.take(together=3)
    address = socket_of(agent)
    opened = [address, address.parent, pool.runtime]
    modes = [place.stat().st_mode for place in opened]

    def knock() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(10)
            connection.connect(str(address))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(wire.pack("hello", rate=30, cols=80, rows=24))
                assert connection.recv(1) == b""

    try:
        for place in opened:
            place.chmod(0o777)
        assert as_nobody(knock) == ""
    finally:
        for place, mode in zip(opened, modes, strict=True):
            place.chmod(mode)

    with open_session(agent) as session:
        assert wait_for_screen(session, lambda view: bool(view.lines), seconds=10)


@pytest.mark.slow
@needs_root
def test_a_holder_that_another_user_imitates_gets_no_keys(pool: AgentPool, public: Path) -> None:
    agent = pool.take(together=3)
    address = socket_of(agent)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    trap = public / "trap"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            listener.bind(str(trap))
            listener.listen(1)
            trap.chmod(0o777)
            os.write(writing, b".")
            connection, _ = listener.accept()
            os.write(writing, connection.recv(4096) or b"nothing")
        finally:
            os._exit(0)
    assert os.read(reading, 1) == b"."
    kept = address.with_name("kept")
    address.rename(kept)
    try:
        address.symlink_to(trap)

        with pytest.raises(HolderGone):
            open_session(agent, seconds=0.2)

        assert os.read(reading, 4096) == b"nothing"
    finally:
        kept.rename(address)
        os.waitpid(pid, 0)
        listener.close()
        os.close(reading)
        os.close(writing)


@needs_root
@pytest.mark.parametrize("planted", ["folder", "link", "open"])
def test_a_folder_for_sockets_that_another_user_prepared_is_not_used(
    planted: str, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, bait = public / f"fleet-tui-{os.getuid()}", public / "bait"
    bait.mkdir(mode=0o777)
    if planted == "link":
        place.symlink_to(bait)
    else:
        place.mkdir()
        place.chmod(0o777 if planted == "open" else 0o700)
    if planted == "folder":
        os.chown(place, NOBODY, NOBODY)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "tempdir", str(public))

    with pytest.raises(FleetError, match="no private folder for sockets"):
        paths.sockets()

    assert list(bait.iterdir()) == []
