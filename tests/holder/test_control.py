"""The channel between a keeper and its screen server, over a real socket pair."""

from __future__ import annotations

import socket

from fleet_tui.holder.control import BEAT, DRAINED, ControlSocket


def test_messages_arrive_whole_however_they_were_cut() -> None:
    sender, receiver = socket.socketpair()
    control = ControlSocket(receiver)
    sender.sendall(b'{"t": "beat", "lo')
    assert control.receive() == []

    sender.sendall(b'st": 3}\n{"t": "drained"}\n')

    assert control.receive() == [{"t": BEAT, "lost": 3}, {"t": DRAINED}]
    sender.close()
    control.close()


def test_garbage_from_a_corrupted_server_is_dropped() -> None:
    sender, receiver = socket.socketpair()
    control = ControlSocket(receiver)
    sender.sendall(b'\xff\n[1]\n{"t": \n{"t": "beat"}\n')

    assert control.receive() == [{"t": BEAT}]
    sender.close()
    control.close()


def test_a_closed_channel_differs_from_a_silent_one() -> None:
    ours, theirs = socket.socketpair()
    control = ControlSocket(theirs)
    assert control.receive() == []

    ours.close()

    assert control.receive() is None
    control.send(BEAT)
    control.close()
