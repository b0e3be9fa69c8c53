"""A scripted agent that plants a program behind its `.git`, for tests that no command runs it."""

from __future__ import annotations

from pathlib import Path

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.cli.commands import prints
from tests.git.traps import HOOKS, Trap

PLANTER = """#!/bin/sh
# Does some work, then points its .git to a repository that makes git run a program. Once: not after a revive.
if [ "$1" = begin ]; then
    echo precious > work.txt; echo more >> readme.txt
    common=$(git rev-parse --path-format=absolute --git-common-dir)
    git clone -q --bare "$common" planted.git
    planted="git --git-dir $PWD/planted.git"
    $planted config core.bare false
    $planted config core.fsmonitor {program}
    $planted config filter.trap.clean {program}
    $planted config diff.external {program}
    for hook in {hooks}; do cp {program} planted.git/hooks/$hook; done
    cp "$(git rev-parse --absolute-git-dir)/index" planted.git/index
    echo '*.txt filter=trap' > .gitattributes
    echo "gitdir: $PWD/planted.git" > .git
    echo planted
fi
echo ready
while read -r line; do :; done
"""
PROFILE = """
program = "{program}"
[session]
kind = "mint"
start = ["begin", "{{session}}"]
resume = ["resume", "{{session}}"]
fork = ["fork", "{{session}}", "as", "{{new_session}}"]
"""


def planter(folder: Path, trap: Trap) -> None:
    """Install the profile `planter`."""
    program = folder / "planter"
    program.write_text(PLANTER.format(program=trap.program, hooks=" ".join(HOOKS)))
    program.chmod(0o755)
    paths.user_profiles().mkdir(parents=True, exist_ok=True)
    (paths.user_profiles() / "planter.toml").write_text(PROFILE.format(program=program))


def planted(fleet: Fleet, name: str) -> Agent:
    """An agent that has planted the program."""
    agent = fleet.create(name, profile="planter")
    prints(fleet, agent, "planted")
    return agent
