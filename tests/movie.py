"""Records the moving picture of the README: the real dashboard on a demo fleet, driven by keys.

python -m tests.movie
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from fleet_tui.tui.demo import tour
from tests.animated_svg import Recording
from tests.screenshots import FOLDER
from tests.tui.ptyapp import PtyApp

SIZE = (132, 36)
MOST = 3 << 20
"""Bytes of the picture."""
INTERVAL = 0.12
"""Between two frames; a picture of more than eight a second is large and looks no better."""
LONGEST = 1.2
"""A longer wait, in which nothing is pressed, is cut to this."""


class Filming:
    """The dashboard in a terminal that is recorded, and the hands that press its keys."""

    def __init__(self, app: PtyApp) -> None:
        self._app = app
        self.recording = Recording(
            *SIZE, background="#0f131a", foreground="#d7dce5", muted="#8f97a6", accent="#4fd1c5"
        )
        self.caption = ""
        self._shown = 0.0
        """Seconds of the picture so far: its time goes on only as far as something is to be seen."""

    def look(self, seconds: float) -> None:
        """Record for that long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            wait = min(INTERVAL, left)
            until = time.monotonic() + wait
            while (rest := until - time.monotonic()) > 0:
                self._app.step(rest)
            self._frame()
            self._shown += wait

    def until(self, condition: Callable[[str], object], what: str, seconds: float = 60.0) -> None:
        """Record until a condition holds of the text on the screen; of a long wait, only its beginning."""
        begin = time.monotonic()
        while not condition(self._app.text):
            if time.monotonic() > begin + seconds:
                raise TimeoutError(f"{what} did not happen\n{self._app.text}")
            before = self._shown
            self.look(INTERVAL)
            if time.monotonic() > begin + LONGEST:
                self._shown = before
        self._frame()

    def says(self, keys: str, text: str) -> None:
        self.caption = f"{keys}  {text}" if text else ""

    def press(self, keys: str, wait: float = 0.6) -> None:
        self._app.send(keys.encode())
        self.look(wait)

    def write(self, text: str) -> None:
        for char in text:
            self._app.send(char.encode())
            self.look(0.035)

    def _frame(self) -> None:
        self._app.screen.update()
        rows = [self._app.screen.row(y) for y in range(SIZE[1])]
        self.recording.add(self._shown, rows, self.caption)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with (
        tour.staged(has_agents=False) as project,
        PtyApp(
            [], cols=SIZE[0], rows=SIZE[1], program=Path(sys.executable).with_name("fleet-tui"), cwd=project
        ) as app,
    ):
        filming = Filming(app)
        play(filming)
        app.send(b"q")
    picture = filming.recording.svg("fleet-tui")
    target = FOLDER / "tour.svg"
    target.write_text(picture, encoding="utf-8")
    size = len(picture.encode())
    print(f"{target.relative_to(Path.cwd())}: {len(filming.recording.frames)} frames, {size / 1e6:.1f} MB")
    if size > MOST:
        raise SystemExit("the picture is larger than 3 MB")


def play(filming: Filming) -> None:
    """What is shown, key by key."""
    filming.until(lambda text: "LIST" in text, "the dashboard opens")
    filming.says("f", "one prompt, several agents")
    filming.look(0.8)
    filming.press("f", 0.8)
    filming.write("Add a parser for durations such as 1h30m, with tests.")
    filming.look(0.6)
    filming.press("\x13", 1.0)
    filming.until(lambda text: "1 needs you" in text, "one of them asks")
    filming.says("] a", "one needs you: answer it from the list")
    filming.press("]", 0.8)
    filming.press("a", 1.2)
    filming.press("1", 1.0)
    filming.says("", "")
    filming.until(
        lambda text: "done" in text.partition("\n")[0] and "working" not in text.partition("\n")[0],
        "all are done",
    )
    filming.says("c", "compare them: the project's check runs in each")
    filming.press("c", 1.0)
    filming.until(
        lambda text: all(said in text for said in ("✓ 3 tests", "✓ 5 tests", "✗ 3 tests")), "the ranking"
    )
    filming.press("k", 0.6)
    filming.press("k", 0.6)
    filming.look(2.5)
    filming.says("d", "read the diff, and comment on a line")
    filming.press("d", 1.5)
    for _ in range(9):
        filming.press("j", 0.08)
    filming.press("c", 0.6)
    filming.write("A number without a unit should be seconds, too.")
    filming.press("\r", 1.0)
    filming.says("C", "send the comments as one prompt")
    filming.press("C", 1.4)
    filming.press("\r", 2.0)
    filming.press("\x1b", 0.6)
    filming.says("m", "land the winner: nothing happens before ctrl+s")
    filming.press("m", 1.0)
    filming.until(lambda text: "Update your main" in text, "the preview")
    filming.look(1.8)
    filming.press("\x13", 0.5)
    filming.until(lambda text: "undoes it" in text, "it has landed")
    filming.look(1.8)
    filming.says("u", "and take it back")
    filming.press("u", 1.0)
    filming.until(lambda text: "undone" in text, "it is undone")
    filming.look(1.5)


if __name__ == "__main__":
    main()
