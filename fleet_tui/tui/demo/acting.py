"""Printing, reports and input of the tour's scripted agents. Uses only the standard library."""

import base64
import os
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path

DIM, BOLD, GREEN, RED, YELLOW, CYAN, BLUE, OFF = (f"\x1b[{code}m" for code in (2, 1, 32, 31, 33, 36, 34, 0))
SPEED = float(os.environ.get("TOUR_SPEED", "1"))
"""Factor on all durations; tests set it near zero."""


def report(state: str, kind: str = "", text: str = "") -> None:
    """Report a status to the terminal by OSC 7501."""
    fields = [f"state={state}", "app=tour"]
    fields += [f"kind={kind}"] if kind else []
    fields += [f"msg={base64.b64encode(text.encode()).decode()}"] if text else []
    sys.stdout.write(f"\x1b]7501;{':'.join(fields)}\x1b\\")
    sys.stdout.flush()


def pause(seconds: float) -> None:
    time.sleep(seconds * SPEED)


def show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def say(text: str = "", seconds: float = 0.25) -> None:
    show(f"{text}\n")
    pause(seconds)


def think(text: str, seconds: float) -> None:
    """Show a spinner line."""
    report("working", text=text)
    end = time.monotonic() + seconds * SPEED
    frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    place = 0
    while time.monotonic() < end:
        show(f"\r{YELLOW}{frames[place % len(frames)]} {text}…{OFF}\x1b[K")
        place += 1
        time.sleep(0.1)
    show("\r\x1b[K")


def lines(count: int) -> str:
    return f"{count} line{'s' if count != 1 else ''}"


def read(name: str) -> str:
    text = Path(name).read_text(encoding="utf-8")
    say(f"{GREEN}●{OFF} {BOLD}Read{OFF}({name})")
    say(f"  {DIM}└  {lines(len(text.splitlines()))}{OFF}")
    return text


def write(name: str, text: str) -> None:
    """Write the file and print it."""
    file = Path(name)
    old = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    new = text.splitlines()
    say(f"{GREEN}●{OFF} {BOLD}{'Update' if old else 'Write'}{OFF}({name})")
    added, removed = (sum(line not in others for line in some) for some, others in ((new, old), (old, new)))
    gone = f" −{removed}" if removed else ""
    say(f"  {DIM}└  +{added}{gone} lines{OFF}")
    for number, line in enumerate(new, 1):
        if line not in old:
            say(f"     {DIM}{number:>3}{OFF} {GREEN}+ {line}{OFF}", 0.06)


def bash(*command: str) -> bool:
    """Run a command and print the end of its output."""
    say(f"{GREEN}●{OFF} {BOLD}Bash{OFF}({' '.join(command)})")
    program = sys.executable if command[0] == "python" else command[0]
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    for line in (done.stdout + done.stderr).strip().splitlines()[-3:]:
        if not line.strip():
            continue
        say(f"  {DIM}└  {line}{OFF}", 0.1)
    return done.returncode == 0


def key() -> str:
    """Return one key as soon as it is pressed."""
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    try:
        return os.read(0, 32).decode("utf-8", "replace")
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def choose(question: str, *choices: str, kind: str = "permission", is_shown: bool = True) -> int:
    """Wait for the number of a choice; the first is 1."""
    report("blocked", kind, question)
    say()
    if is_shown:
        say(f"  {BOLD}{question}{OFF}", 0)
    for number, choice in enumerate(choices, start=1):
        say(f"  {CYAN}{number}.{OFF} {choice}", 0)
    while True:
        pressed = key()
        if pressed.isdecimal() and 1 <= int(pressed) <= len(choices):
            report("working")
            say(f"  {DIM}{choices[int(pressed) - 1]}{OFF}")
            return int(pressed)


def may_run(command: str, *, reason: str) -> bool:
    """Ask whether a command may be run: the command and the reason above the choices, as real agents do."""
    say()
    say(f"  {BOLD}May I run this command?{OFF}", 0)
    say(f"  {DIM}Reason: {reason}{OFF}", 0)
    say(f"  {CYAN}${OFF} {command}", 0)
    return choose(f"run {command}?", "Yes, run it", "No, leave it", is_shown=False) == 1


def listen(text: str, *, reports: bool = True) -> None:
    """Report that the work is done, unless `reports` is False, and take further prompts until the terminal closes."""
    say()
    if reports:
        report("done", text=text)
    while True:
        try:
            line = input(f"{CYAN}❯{OFF} ").strip()
        except EOFError:
            return
        if not line:
            continue
        think("Taking a note", 1.0)
        with Path("NOTES.md").open("a", encoding="utf-8") as file:
            file.write(f"- {line}\n")
        say(f"{GREEN}●{OFF} Noted in NOTES.md: {line}")
        report("done", text=f"noted: {line}")


def begin(name: str) -> None:
    report("working")
    prompt = sys.argv[-1] if len(sys.argv) > 1 else ""
    say(f"{BLUE}✻{OFF} {BOLD}{name}{OFF} {DIM}a scripted agent of the demo{OFF}")
    say()
    say(f"{CYAN}❯{OFF} {prompt}", 0.5)
    say()
