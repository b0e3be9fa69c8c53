"""Other words for commands: aliases that run one, and words whose error names the command that is meant.

A word is here because people type it, not because it resembles a command: by edit distance, `tail` would
be `trash`. Words that `fleet` has no command for are left out, however often they are typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

ALIASES: Mapping[str, str] = {
    "l": "list",
    "ls": "list",
    "ps": "list",
    "rm": "kill",
    "remove": "kill",
    "delete": "kill",
}
"""Words that run a command, in the order in which help shows them."""

_MEANT: Mapping[str, str] = {
    "create": "start new spawn add run launch begin make",
    "fanout": "fan-out fan spread parallel swarm",
    "multi": "many several",
    "revive": "resume continue wake reopen",
    "restart": "rerun retry reload",
    "fork": "clone copy duplicate cp",
    "list": "agents all",
    "list --watch": "watch top htop monitor",
    "list --grouped": "batches batch groups",
    "status": "stat st info overview summary",
    "peek": "show screen view look snapshot capture screenshot",
    "logs": "log tail output cat history transcript",
    "attach": "enter connect join focus goto",
    "why": "explain reason inspect describe",
    "checkpoint": "save savepoint commit",
    "checkpoint AGENT --list": "checkpoints timeline",
    "checkpoint AGENT --restore N": "rollback revert reset rewind",
    "diff": "changes changed delta patch",
    "conflicts": "conflict collisions clash clashes radar overlaps overlap",
    "compare": "rank ranking winner judge best pick",
    "check": "checks test tests ci lint",
    "comment": "annotate note",
    "land": "merge integrate ship deliver apply squash rebase",
    "path": "where pwd dir folder worktree which",
    'path AGENT, as in: cd "$(fleet path AGENT)"': "cd",
    "shell": "sh bash zsh terminal term exec ssh",
    "prompt": "send tell ask say message msg write input type",
    "queue": "prompts pending queued",
    "answer": "reply respond answers approve allow accept confirm deny reject",
    "wait": "await until",
    "stop": "end quit halt exit terminate pause interrupt suspend cancel abort",
    "kill": "destroy drop del erase discard rmi",
    "undo": "restore recover undelete unkill unland",
    "trash": "clean cleanup prune purge gc bin",
    "rename AGENT NAME, or: fleet move AGENT... BATCH": "mv",
    "rename": "name",
    "move": "group regroup",
    "approvals": "permissions permission policy rules audit",
    "profiles": "profile programs",
    "untrust": "distrust",
    "ui": "dashboard tui gui",
    "ui demo": "demo",
    "keys": "keybindings bindings shortcuts keymap",
    "config": "settings setting set get unset preferences prefs options configure conf cfg",
    "init": "setup initialize initialise",
    "doctor": "health healthcheck diagnose verify fsck",
    "list --repair": "repair fix rebuild",
    "update": "upgrade self-update selfupdate",
    "completion": "completions autocomplete complete",
    "help": "man usage commands",
    "--version": "version ver",
}  # fmt: skip
"""The words that people type for a command, by the command."""

SYNONYMS: Mapping[str, str] = {word: meant for meant, words in _MEANT.items() for word in words.split()}
"""The command to type, by each word that means it."""


def meant(word: str, commands: Mapping[str, str]) -> str:
    """The command to type in place of this word; empty if unknown."""
    plain = word.strip("-").lower().replace("_", "-")
    if plain in ALIASES:
        return ALIASES[plain]
    return plain if plain in commands else SYNONYMS.get(plain, "")


def aliases() -> Iterator[tuple[str, str]]:
    """The aliases of each command, separated by commas, with the command."""
    for command in dict.fromkeys(ALIASES.values()):
        yield ", ".join(word for word, runs in ALIASES.items() if runs == command), command
