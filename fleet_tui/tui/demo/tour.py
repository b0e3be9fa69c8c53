"""The tour: a repository and a fleet of scripted agents in a temporary folder, removed afterwards.

The agents are scripts that run as real programs in real worktrees. A separate process starts them, waits until the
dashboard has ended in any way, a crash included, then stops them and removes the folder.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fleet_tui.errors import FleetError

SCRIPTS = Path(__file__).parent
BATCH = ("builder", "parser", "Add a parser for durations such as 1h30m, with tests.")
"""Profile, prefix and prompt of three agents that solve the same task, each in its own way."""
AGENTS = (
    ("careful", "clean-build", "Remove what the old build left behind. Ask before you delete anything."),
    ("scout", "map-the-code", "Read the whole repository and say what is where."),
    ("writer", "write-docs", "Write a README section about durations."),
    ("picky", "flaky-clock", "Make the test of the clock stable."),
    ("limited", "time-zones", "Support time zones in the calendar."),
    ("clumsy", "leap-years", "Test the calendar with leap years."),
    ("brief", "show-history", "Say what was done last."),
    ("silent", "ponder", "Think about a better name."),
)
"""Profile, name and prompt of the others; together they show every status."""
COUNT = 3 + len(AGENTS)
PROJECT = "clockwork"
VARIABLES = ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")

_SIGNS = {
    "careful": """
[[status.screen]]
name = "command"
match = 'May I run this command\\? Reason: (?P<reason>.+?) \\$ (?P<text>(?P<command>.+?)) 1\\. '
status = "blocked"
kind = "permission"
""",
    "picky": """
[answer]
free = "Something else"
""",
}
"""Screen rules for agents whose reports do not name the question."""
_FILES = {
    "README.md": "# clockwork\n\nA small library about time.\n",
    "clockwork/__init__.py": '"""A small library about time."""\n',
    "clockwork/clock.py": "import time\n\n\ndef now() -> float:\n    return time.time()\n",
    "clockwork/calendar.py": "DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')\n\n\ndef day(number: int) -> str:\n    return DAYS[number % 7]\n",
    "tests/__init__.py": "",
    "tests/test_calendar.py": "import unittest\n\nfrom clockwork.calendar import day\n\n\nclass Days(unittest.TestCase):\n    def test_the_eighth_day_is_a_monday(self) -> None:\n        self.assertEqual(day(7), 'mon')\n",
    "build/old.txt": "left behind by a build of long ago\n",
    "build/older.txt": "and this one even longer\n",
}


def run(dashboard: Callable[[Path], int]) -> int:
    """Set up the tour, open a dashboard on it, and remove everything again."""
    with staged() as project:
        return dashboard(project)


@contextmanager
def staged(*, has_agents: bool = True) -> Iterator[Path]:
    """Yield the project's folder, with its agents running unless there shall be none; remove both afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-demo-"))
    before = {name: os.environ.get(name) for name in VARIABLES}
    _point_at(folder)
    try:
        with _with_caretaker(folder, has_agents=has_agents) as project:
            yield project
    finally:
        _restore(before)


@contextmanager
def _with_caretaker(folder: Path, *, has_agents: bool) -> Iterator[Path]:
    try:
        project = _repository(folder / PROJECT)
        _profiles(folder)
        caretaker = _caretaker(folder, has_agents=has_agents)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        yield project
    finally:
        if caretaker.stdin is not None:
            caretaker.stdin.close()
        caretaker.wait()


def _point_at(folder: Path) -> None:
    """Point state, data and configuration of this process and its children to the tour's folder."""
    for name, place in zip(VARIABLES, ("state", "data", "config", "run"), strict=True):
        (folder / place).mkdir(mode=0o700, exist_ok=True)
        os.environ[name] = str(folder / place)


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _repository(project: Path) -> Path:
    for name, text in _FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    identity = [
        "-c",
        "user.name=Fleet",
        "-c",
        "user.email=demo@example.invalid",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "core.hooksPath=",
    ]
    # Of a hook or an alias that started us: they name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        [*identity, "commit", "--quiet", "-m", "Start"],
    ):
        done = subprocess.run(
            ["git", "-C", str(project), *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise FleetError(
                "the demo needs git",
                hint=done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "install it",
            )
    return project


def _profiles(folder: Path) -> None:
    place = folder / "config" / "aifleet" / "profiles"
    place.mkdir(parents=True)
    (place.parent / "config.toml").write_text(
        f'[agent]\ndefault = "{BATCH[0]}"\n\n[land]\ncheck = "python3 -B -m unittest -q"\n', encoding="utf-8"
    )
    for profile, _, _ in (BATCH, *AGENTS):
        script = SCRIPTS / f"{profile}.py"
        text = f'program = "{sys.executable}"\n\n[start]\nargs = ["-u", "{script}"]\n\n[status]\nquiet_is_idle = false\nreports = true\n'
        (place / f"{profile}.toml").write_text(text + _SIGNS.get(profile, ""), encoding="utf-8")


# ── the caretaker ───────────────────────────────────────────────────────────────────────────────────────────────


def _caretaker(folder: Path, *, has_agents: bool) -> subprocess.Popen[bytes]:
    """Spawn the process that starts the agents, and cleans up once our end of its standard input is closed.

    Even a killed dashboard closes it; and because one process does both, nothing is started after the cleaning.
    """
    script = "import sys; from pathlib import Path; from fleet_tui.tui.demo import tour; tour.run_caretaker(Path(sys.argv[1]), has_agents=len(sys.argv) > 2)"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", script, str(folder), *(["agents"] if has_agents else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def run_caretaker(folder: Path, *, has_agents: bool) -> None:
    """Main function of the caretaker process."""
    _point_at(folder)
    try:
        if has_agents:
            _start(folder / PROJECT)
        sys.stdin.read()
    finally:
        clean_up(folder)


def _start(project: Path) -> None:
    """Start the agents of the tour, until the dashboard closes."""
    from fleet_tui.fleet import Fleet

    fleet = Fleet(project)
    try:
        profile, prefix, prompt = BATCH
        fleet.fanout(3, prefix, prompt=prompt, profile=profile)
        for profile, name, prompt in AGENTS:
            has_left, _, _ = select.select([sys.stdin], [], [], 0)
            if has_left:
                return
            fleet.create(name, prompt=prompt, profile=profile)
    finally:
        fleet.close()


def clean_up(folder: Path) -> None:
    """Stop every agent of the tour's fleet and remove its folder."""
    from fleet_tui.fleet import Fleet

    _point_at(folder)
    project = folder / PROJECT
    if project.is_dir():
        fleet = Fleet(project)
        # Whatever cannot be stopped must not keep the rest from being removed.
        with suppress(FleetError):
            fleet.refresh()
            fleet.stop([agent for agent in fleet.agents(everywhere=True) if not agent.has_ended], grace=0.5)
        fleet.close()
    shutil.rmtree(folder, ignore_errors=True)
