"""A text in the user's own editor, while the dashboard stands aside."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported


def edit(app: App[Any], text: str) -> str | None:
    """The text as the editor left it; None when there is no editor or it failed."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        file = Path(folder) / "prompt.md"
        file.write_text(text, encoding="utf-8")
        try:
            with app.suspend():
                done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, SuspendNotSupported) as error:
            app.notify(str(error), title=f"{editor} does not start", severity="error")
            return None
        return (
            file.read_text(encoding="utf-8", errors="replace").rstrip("\n") if done.returncode == 0 else None
        )
