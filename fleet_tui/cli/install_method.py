"""Installation method of this copy of fleet-tui: pip, pipx, uv or a checkout, and the command that updates it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from fleet_tui.errors import FleetError

NAME = "fleet-tui"


def kind() -> str:
    if _is_editable():
        return "running from source"
    prefix = str(Path(sys.prefix))
    if "/pipx/" in prefix:
        return "installed with pipx"
    if "/uv/tools/" in prefix:
        return "installed with uv"
    return "installed with pip"


def update_command() -> str:
    commands = {
        "running from source": "git pull",
        "installed with pipx": f"pipx upgrade {NAME}",
        "installed with uv": f"uv tool upgrade {NAME}",
        "installed with pip": f"{sys.executable} -m pip install --upgrade {NAME}",
    }
    return commands[kind()]


def newest() -> str:
    """Ask the user's package index for the newest version. Nothing else in the package uses the network."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "index", "versions", NAME],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    found = re.search(rf"^{NAME} \(([^)]+)\)", done.stdout, re.MULTILINE)
    if not found:
        raise FleetError(
            "cannot find out the newest version", hint="try again later, or use your installer's own command"
        )
    return f"the newest version is {found[1]}"


def _is_editable() -> bool:
    try:
        text = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return True
    return bool(text and json.loads(text).get("dir_info", {}).get("editable"))
