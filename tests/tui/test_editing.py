"""An editor that cannot be had: it is said, nothing that was typed is lost, and the dashboard goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tui.desk import PROGRAM, open_desk

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")


def without_vi(folder: Path) -> str:
    """A path on which git is all there is."""
    found = shutil.which("git")
    assert found is not None
    (folder / "bin").mkdir()
    (folder / "bin" / "git").symlink_to(found)
    return str(folder / "bin")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("editor", "says"),
    [
        ("/nonexist/ed", ("/nonexist/ed does not start", "/nonexist/ed does not start")),
        ("vi 'x", ("No closing quotation", "No closing quotation")),
        ("", ("there is no $EDITOR", "vi does not start")),
    ],
)
def test_an_editor_that_does_not_start_is_said_and_what_was_typed_stays(
    tmp_path: Path, editor: str, says: tuple[str, str]
) -> None:
    env = {"EDITOR": editor, "VISUAL": "", "PATH": without_vi(tmp_path)}
    with open_desk(tmp_path, {"one": ()}, env=env) as desk:
        desk.app.send(b"o")
        desk.app.wait_for_text(says[0])
        desk.app.send(b"f")
        desk.app.wait_for_text("one prompt, several agents")
        desk.app.send(b"mend the clock")
        desk.app.wait_for_text("mend-the-clock-A")
        desk.app.send(b"\x05")
        desk.app.wait_for_text(says[1])
        desk.app.wait_for_text("mend the clock")
        desk.app.send(b" and more")
        desk.app.wait_for_text("mend the clock and more")
