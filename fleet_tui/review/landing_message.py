"""Words of a landing: default messages of its commits, and the prompt that gives a conflict back to the agent."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui import git
from fleet_tui.landings import CommitLine, Strategy
from fleet_tui.models import Agent
from fleet_tui.review.landing_target import LandingTarget
from fleet_tui.text import visible
from fleet_tui.work import ConflictingFile

SUBJECT_LENGTH = 72
MOST_FILES = 20
"""Files that a prompt names; the others are counted."""
MOST_OWN = 50
"""Commits that the message of one commit lists."""


def message_of(strategy: Strategy, *, has_uncommitted: bool) -> str:
    """What the user's message is the message of; empty if there is nothing to word."""
    if strategy == "squash":
        return "the one commit"
    if strategy == "pr":
        return "the pull request"
    if has_uncommitted:
        return "the commit of what is not committed"
    return "the merge commit" if strategy == "merge" else ""


def default_message(
    target: LandingTarget, strategy: Strategy, commits: Sequence[CommitLine], *, has_uncommitted: bool
) -> str:
    """The message for `message_of`, with who made the work."""
    agent = target.agent
    if message_of(strategy, has_uncommitted=has_uncommitted) == "the merge commit":
        return with_agent(merge_message(agent), agent)
    if strategy == "squash":
        return with_agent(_squash_message(target, commits), agent, *_co_authors(target))
    if strategy == "pr":
        return _squash_message(target, commits if not has_uncommitted or len(commits) != 1 else ())
    return with_agent(_subject(agent), agent)


def merge_message(agent: Agent) -> str:
    return f"Merge branch '{agent.branch}'"


def with_agent(message: str, agent: Agent, *co_authors: str) -> str:
    """A message with the trailers that say who made the work."""
    trailers = [
        *(("Co-authored-by", who) for who in co_authors),
        ("Fleet-Agent", f"{agent.name} ({agent.profile})"),
    ]
    return git.with_trailers(message, trailers)


def _co_authors(target: LandingTarget) -> list[str]:
    return git.co_authors(target.git_dir, target.tip, target.head)


def _squash_message(target: LandingTarget, commits: Sequence[CommitLine]) -> str:
    if len(commits) == 1:
        return git.message_of(target.git_dir, commits[0].commit)
    subjects = [f"* {one.subject}" for one in reversed(commits[:MOST_OWN])]
    return _subject(target.agent) + ("\n\n" + "\n".join(subjects) if subjects else "")


def _subject(agent: Agent) -> str:
    """The first line of the agent's prompt, short enough for the subject of a commit."""
    line = next((line.strip() for line in agent.prompt.splitlines() if line.strip()), "")
    line = visible(line)
    if len(line) > SUBJECT_LENGTH:
        line = line[: SUBJECT_LENGTH - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
    # A line that begins with a number sign would be a comment in an editor.
    return line.lstrip("# ") or f"Work of {agent.name}"


def give_back_prompt(into: str, tip: str, conflicts: Sequence[ConflictingFile], check: str) -> str:
    """The prompt that asks an agent to resolve its conflicts with a branch."""
    named = [_place(one) for one in conflicts[:MOST_FILES]]
    left = len(conflicts) - len(named)
    files = ", ".join(named) + (f" and {left} more" if left > 0 else "")
    lines = [
        f"Your work conflicts with {into}, which is at {tip[:10]} now. Rebase onto {into}, or merge it into your branch.",
        f"Resolve {files}. Keep what {into} has changed as well as what you have changed, and commit the result.",
    ]
    if check:
        lines.append(f"Run `{check}` before you say that you are done.")
    return "\n".join(lines)


def _place(file: ConflictingFile) -> str:
    path = visible(file.path)
    if not file.places:
        return f"{path} ({file.kind})"
    spans = ", ".join(
        f"{one.first}–{one.last}" if one.last > one.first else str(one.first) for one in file.places[:5]
    )
    functions = list(dict.fromkeys(one.function for one in file.places if one.function))[:3]
    return f"{path} (lines {spans}{', in ' + ', '.join(functions) if functions else ''})"
