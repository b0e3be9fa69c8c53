"""Asks a question with numbered choices, reports `blocked`, and records the key that was pressed.

    chooses.py KIND QUESTION CHOICE... [--twice] [--words]

With --twice it asks the same question again; with --words the last choice takes a line of text. Then it takes prompts
until its terminal closes, and appends each to a file `prompts`.
"""

from __future__ import annotations

import base64
import os
import sys
import termios
import tty
from pathlib import Path


def report(state: str, **fields: str) -> None:
    text = ":".join([f"state={state}", *(f"{name}={value}" for name, value in fields.items())])
    sys.stdout.write(f"\x1b]7501;{text}\x07")
    sys.stdout.flush()


def key() -> str:
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    try:
        return os.read(0, 64).decode("utf-8", "replace")
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def ask(kind: str, question: str, choices: list[str]) -> str:
    print(f"\n{question}")
    for number, choice in enumerate(choices, start=1):
        print(f"  {number}. {choice}")
    sys.stdout.flush()
    report("blocked", kind=kind, msg=base64.b64encode(question.encode()).decode())
    while True:
        pressed = key()
        if pressed.isdigit() and 1 <= int(pressed) <= len(choices):
            return pressed


def main() -> None:
    flags = [word for word in sys.argv[1:] if word.startswith("--")]
    kind, question, *choices = [word for word in sys.argv[1:] if not word.startswith("--")]
    report("working")
    for _ in range(2 if "--twice" in flags else 1):
        chosen = ask(kind, question, choices)
        report("working")
        with Path("chosen").open("a") as file:
            file.write(f"{chosen}\n")
    if "--words" in flags and chosen == str(len(choices)):
        Path("words").write_text(input("words: "))
    report("done")
    for line in sys.stdin:
        report("working")
        with Path("prompts").open("a") as file:
            file.write(line)
        print(f"got: {line}", end="", flush=True)
        report("done")


if __name__ == "__main__":
    main()
