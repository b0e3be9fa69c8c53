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
        self.caption = f"{keys}  {text}"

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
        tour.staged() as project,
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
    filming.look(1.0)


if __name__ == "__main__":
    main()
