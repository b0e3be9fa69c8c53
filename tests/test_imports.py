"""What a command loads: `fleet list` has to be instant, so the heavy libraries stay out of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("textual", "rich", "pygit2", "pyghostty", "psutil", "tomlkit", "ptyprocess", "msgpack", "asyncio")


def loaded_by(code: str, cwd: Path) -> set[str]:
    """The top-level packages that are loaded after some code ran in a fresh interpreter."""
    script = f"{code}\nimport sys\nprint('loaded:', *sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "code",
    [
        "import fleet_tui.cli",
        "from fleet_tui import cli; cli.run(['--help'])",
        "from fleet_tui import cli; cli.run(['list', '--json'])",
        "from fleet_tui import cli; cli.run(['status'])",
        "from fleet_tui import cli; cli.run(['nonsense'])",
    ],
)
def test_the_command_line_loads_no_heavy_library(code: str, repository: Path) -> None:
    assert not loaded_by(code, repository) & set(HEAVY)


def test_what_holders_are_forked_from_loads_nothing_that_costs_each_holder_memory(repository: Path) -> None:
    """What inspects code would take a tenth of its start, and a megabyte of each holder; threading runs at each fork."""
    code = "from fleet_tui.holder import keeper; from fleet_tui.lifecycle.launcher import forker; from fleet_tui.holder.server import warm_up; warm_up.warm_up()"

    assert not loaded_by(code, repository) & {"dataclasses", "inspect", "ast", "threading", "pexpect"}


def test_list_takes_its_first_sample_before_it_loads_what_takes_longer(repository: Path) -> None:
    code = "from fleet_tui.cli import _samples_usage; assert _samples_usage(['list']); from fleet_tui.cli.sampling import prime; prime()"

    assert not loaded_by(code, repository) & {"typing", "re", "enum", "click", "pathlib"}


def test_the_check_would_see_a_heavy_library(repository: Path) -> None:
    assert "tomlkit" in loaded_by("import tomlkit", repository)
