"""How this copy of fleet-tui was installed: with pip, pipx or uv, or as a checkout; and what updates it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Literal

from fleet_tui import __version__
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass

NAME = "fleet-tui"
InstallMethod = Literal["source", "pip", "pipx", "uv"]


@dataclass(frozen=True, slots=True)
class Installation:
    """This copy of fleet-tui."""

    version: str
    method: InstallMethod
    update_command: str


def describe() -> Installation:
    method = _method()
    commands: dict[InstallMethod, str] = {
        "source": "git pull",
        "pipx": f"pipx upgrade {NAME}",
        "uv": f"uv tool upgrade {NAME}",
        "pip": f"{sys.executable} -m pip install --upgrade {NAME}",
    }
    return Installation(__version__, method, commands[method])


def newest_version() -> str:
    """Ask the user's package index. Nothing else in the package uses the network."""
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
    return found[1]


def _method() -> InstallMethod:
    if _is_editable():
        return "source"
    prefix = str(Path(sys.prefix))
    if "/pipx/" in prefix:
        return "pipx"
    return "uv" if "/uv/tools/" in prefix else "pip"


def _is_editable() -> bool:
    try:
        text = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return True
    return bool(text and json.loads(text).get("dir_info", {}).get("editable"))
