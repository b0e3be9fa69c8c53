"""An editor that does not start: the dashboard reports it, keeps the typed text and goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tui.installed_dashboard import PROGRAM, open_dashboard

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")


def without_vi(folder: Path) -> str:
    """A PATH with git and nothing else."""
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
        ("vi 'x", ("no closing quotation", "no closing quotation")),
        ("", ("no editor found", "no editor found")),
    ],
)
def test_an_editor_that_does_not_start_is_reported_and_typed_text_is_kept(
    tmp_path: Path, editor: str, says: tuple[str, str]
) -> None:
    env = {"EDITOR": editor, "VISUAL": "", "PATH": without_vi(tmp_path)}
    with open_dashboard(tmp_path, {"one": ()}, env=env) as dashboard:
        dashboard.app.send(b"o")
        dashboard.app.wait_for_text(says[0])
        dashboard.app.send(b"f")
        dashboard.app.wait_for_text("one prompt, several agents")
        dashboard.app.send(b"mend the clock")
        dashboard.app.wait_for_text("mend-the-clock-A")
        dashboard.app.send(b"\x05")
        dashboard.app.wait_for_text(says[1])
        dashboard.app.wait_for_text("mend the clock")
        dashboard.app.send(b" and more")
        dashboard.app.wait_for_text("mend the clock and more")
