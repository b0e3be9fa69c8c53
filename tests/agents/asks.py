"""Queries its terminal (identity, cursor, colors, …), prints each reply as text, and waits."""

from __future__ import annotations

import os
import select
import signal
import tty

QUESTIONS = {
    "status": b"\x1b]7501;?\x1b\\",
    "da1": b"\x1b[c",
    "da2": b"\x1b[>c",
    "dsr": b"\x1b[5n",
    "cpr": b"\x1b[3;7H\x1b[6n",
    "version": b"\x1b[>q",
    "sync": b"\x1b[?2026$p",
    "kitty": b"\x1b[?u",
    "background": b"\x1b]11;?\x1b\\",
    "foreground": b"\x1b]10;?\x1b\\",
    "palette": b"\x1b]4;1;?\x1b\\",
    "cells": b"\x1b[18t",
}
SECONDS = 5.0


def main() -> None:
    tty.setraw(0)
    answers = []
    for name, question in QUESTIONS.items():
        os.write(1, question)
        ready, _, _ = select.select([0], [], [], SECONDS)
        answers.append(f"{name}={os.read(0, 200)!r}" if ready else f"{name}=nothing")
    os.write(1, ("\x1b[2J\x1b[H" + "\r\n".join(answers) + "\r\nEND").encode())
    signal.pause()


if __name__ == "__main__":
    main()
