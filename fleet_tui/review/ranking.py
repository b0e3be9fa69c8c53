"""Rank agents' work by what was measured, and say why in sentences. Pure; there is no score.

The order: agents that changed something; then the check (green, not known, red); then conflicts with the base branch, fewer
first; then size, smaller first; then cost, lower first. Agents that are equal in all of it share a place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from fleet_tui.comparison import ComparedAgent, Ground, Rank
from fleet_tui.quantities import counted, dollars
from fleet_tui.work import CheckState

NAMED_FILES = 2
MOST_GROUNDS_OF_FILES = 2
_VERDICTS = ("green", "unknown", "red")

_Step = tuple[str, Callable[[ComparedAgent], float]]
_STEPS: tuple[_Step, ...] = (
    ("nothing", lambda one: one.is_empty or bool(one.problem)),
    ("check", lambda one: _VERDICTS.index(one.verdict)),
    ("conflicts", lambda one: len(one.base_conflicts)),
    ("size", lambda one: one.size),
    ("cost", lambda one: one.cost if one.cost is not None else -1.0),
)
"""What decides, in this order. A cost is compared only if all are known."""


def ranked(agents: Sequence[ComparedAgent], base: str) -> list[Rank]:
    """The places of these agents, best first. `base` is the name of the branch that they would land on."""
    steps = [step for step in _STEPS if step[0] != "cost" or all(one.cost is not None for one in agents)]
    ordered = sorted(agents, key=lambda one: (*(value(one) for _, value in steps), len(one.name), one.name))
    ranks: list[Rank] = []
    for index, one in enumerate(ordered):
        before = ordered[index - 1] if index else None
        decided = _deciding(before, one, steps) if before is not None else ""
        place = index + 1 if decided or not ranks else ranks[-1].place
        ranks.append(
            Rank(
                one.id,
                place,
                _reason(one, agents, base, _level(one, before, decided)),
                _decided(before, one, decided, base) if before is not None else "",
                grounds(one, agents, base),
            )
        )
    return ranks


def _level(one: ComparedAgent, before: ComparedAgent | None, decided: str) -> str:
    return f"level with {before.label}" if before is not None and not decided else ""


def _deciding(before: ComparedAgent, one: ComparedAgent, steps: Sequence[_Step]) -> str:
    """The first step in which two agents differ; empty if in none."""
    return next((name for name, value in steps if value(before) != value(one)), "")


def _decided(before: ComparedAgent, one: ComparedAgent, step: str, base: str) -> str:
    """What puts an agent behind the one before it, in a sentence."""
    match step:
        case "nothing":
            return f"behind {before.label}: it has changed nothing"
        case "check":
            return f"behind {before.label}: {_check_words(one)}, {before.label}: {_check_words(before)}"
        case "conflicts":
            more = "it conflicts" if not before.base_conflicts else "it conflicts in more files"
            return f"behind {before.label}: {more} with {base}"
        case "size":
            return f"behind {before.label}: {counted(one.size, 'line')} against {before.size}"
        case "cost":
            return f"behind {before.label}: {dollars(one.cost)} against {dollars(before.cost)}"
    return f"level with {before.label}: nothing that is measured tells them apart"


# ── one line ────────────────────────────────────────────────────────────────────────────────────────────────────


def _reason(one: ComparedAgent, agents: Sequence[ComparedAgent], base: str, level: str) -> str:
    if one.problem:
        return one.problem
    parts = ["still working"] if one.is_working else []
    if one.is_empty:
        return ", ".join([*parts, "nothing changed"])
    parts.append(_check_words(one))
    parts += _size_words(one, agents)
    parts.append(_conflict_words(one, base))
    if one.tests:
        parts.append(
            f"adds {counted(one.tests, 'test')}"
            if one.tests > 0
            else f"removes {counted(-one.tests, 'test')}"
        )
    parts += _alone(one, agents)
    return ", ".join(filter(None, [*parts, level]))


def _check_words(one: ComparedAgent) -> str:
    check = one.check
    if check is None:
        return "not checked"
    if not check.is_over:
        return "the check is running" if check.state is CheckState.RUNNING else "waits for its check"
    if not one.is_check_current:
        return "changed since its check"
    match check.state:
        case CheckState.PASSED:
            return "the check passes"
        case CheckState.FAILED:
            return f"the check fails: {check.summary}" if check.summary else "the check fails"
        case CheckState.TIMED_OUT:
            return "the check took too long"
        case CheckState.NOT_STARTED:
            return "the check did not start"
    return "the check was cancelled"


def _size_words(one: ComparedAgent, agents: Sequence[ComparedAgent]) -> list[str]:
    sizes = [other.size for other in agents if not (other.is_empty or other.problem)]
    if len(sizes) < 2 or len(set(sizes)) == 1:
        return []
    if one.size == min(sizes):
        return ["smallest diff"]
    return ["largest diff"] if one.size == max(sizes) and len(sizes) > 2 else []


def _conflict_words(one: ComparedAgent, base: str) -> str:
    if one.base_conflicts:
        return f"conflicts with {base} in {_named(one.base_conflicts)}"
    return "merges clean"


def _alone(one: ComparedAgent, agents: Sequence[ComparedAgent]) -> list[str]:
    """The files that it leaves out and all others change, if there are enough others to say so."""
    others = [other for other in agents if other.id != one.id and not other.is_empty]
    if len(others) < 2:
        return []
    shared = set.intersection(*({file.path for file in other.files} for other in others))
    missing = sorted(shared - {file.path for file in one.files})
    return [f"leaves {_named(missing)} alone"] if missing else []


# ── why, row by row ─────────────────────────────────────────────────────────────────────────────────────────────


def grounds(one: ComparedAgent, agents: Sequence[ComparedAgent], base: str) -> tuple[Ground, ...]:
    """What can be said of an agent's work next to the others', most important first."""
    others = [other for other in agents if other.id != one.id and not other.problem]
    if one.problem or one.is_empty:
        return ()
    found = [_check_ground(one, others), _conflict_ground(one, others, base), _size_ground(one, others)]
    if one.tests or any(other.tests for other in others):
        found.append(_tests_ground(one, others))
    if one.cost is not None:
        found.append(_cost_ground(one, others))
    return (*found, *_file_grounds(one, others))


def _check_ground(one: ComparedAgent, others: Sequence[ComparedAgent]) -> Ground:
    words = []
    for verdict in _VERDICTS:
        labels = [other.label for other in others if other.verdict == verdict and not other.is_empty]
        if labels:
            words.append(_of_others(one.verdict, verdict, labels))
    summary = one.check.summary if one.check is not None and one.verdict == "green" else ""
    return Ground(
        summary or _check_words(one),
        ", ".join(words),
        is_better=one.verdict == "green",
        is_bad=one.verdict == "red",
    )


def _of_others(mine: str, theirs: str, labels: Sequence[str]) -> str:
    """How the checks of others went, in comparison to one's own."""
    who = _joined(labels)
    if mine == theirs:
        return f"the same as {who}"
    if theirs == "unknown":
        return f"not known of {who}"
    if mine == "green":
        return f"better than {who}"
    return f"{who} {_verb(labels, 'passes', 'pass') if theirs == 'green' else _verb(labels, 'fails', 'fail')}"


def _conflict_ground(one: ComparedAgent, others: Sequence[ComparedAgent], base: str) -> Ground:
    conflicting = [other for other in others if other.base_conflicts]
    if one.base_conflicts:
        clean = [other.label for other in others if not other.base_conflicts]
        words = f"{_joined(clean)} {_verb(clean, 'merges', 'merge')} clean" if clean else "so do all others"
        return Ground(_conflict_words(one, base), words, is_better=False, is_bad=True)
    words = "; ".join(
        f"{other.label} conflicts in {_named(other.base_conflicts)}" for other in conflicting[:2]
    )
    if len(conflicting) > 2:
        words = f"{_joined([other.label for other in conflicting])} conflict"
    return Ground(f"no conflict with {base}", words or "nor have the others", is_better=True)


def _size_ground(one: ComparedAgent, others: Sequence[ComparedAgent]) -> Ground:
    smaller = [other for other in others if other.size < one.size and not other.is_empty]
    fact = f"{counted(one.size, 'line')} in {counted(len(one.files), 'file')}"
    if not smaller:
        same = [other.label for other in others if other.size == one.size]
        return Ground(fact, f"as small as {_joined(same)}" if same else "the smallest", is_better=True)
    least = min(smaller, key=lambda other: other.size)
    if len(smaller) == 1:
        return Ground(fact, f"{least.label} is smaller: {least.size}", is_better=False)
    return Ground(fact, f"{_joined([other.label for other in smaller])} are smaller", is_better=False)


def _tests_ground(one: ComparedAgent, others: Sequence[ComparedAgent]) -> Ground:
    fact = (
        f"{counted(one.tests, 'test')} added" if one.tests >= 0 else f"{counted(-one.tests, 'test')} removed"
    )
    more = [other for other in others if other.tests > one.tests]
    same = [other.label for other in others if other.tests == one.tests]
    if more:
        best = max(more, key=lambda other: other.tests)
        return Ground(fact, f"{best.label} adds {best.tests}", is_better=False)
    words = f"as many as {_joined(same)}" if same else "more than the others" if others else ""
    return Ground(fact, words, is_better=one.tests > 0)


def _cost_ground(one: ComparedAgent, others: Sequence[ComparedAgent]) -> Ground:
    known = [other for other in others if other.cost is not None]
    cheaper = [other for other in known if (other.cost or 0.0) < (one.cost or 0.0)]
    if not cheaper:
        return Ground(dollars(one.cost), "the cheapest" if known else "", is_better=True)
    least = min(cheaper, key=lambda other: other.cost or 0.0)
    return Ground(dollars(one.cost), f"{least.label} cost {dollars(least.cost)}", is_better=False)


def _file_grounds(one: ComparedAgent, others: Sequence[ComparedAgent]) -> list[Ground]:
    """Files that most of the others change, and this one does not: what may be missing in it."""
    own = {file.path for file in one.files}
    changers: dict[str, list[ComparedAgent]] = {}
    for other in others:
        for file in other.files:
            if file.path not in own:
                changers.setdefault(file.path, []).append(other)
    missed = sorted(
        (path for path, by in changers.items() if 2 * len(by) >= len(others)),
        key=lambda path: (-len(changers[path]), path),
    )
    return [
        Ground(
            f"{_short(path)} is unchanged",
            f"{_joined([other.label for other in changers[path]])} {_verb(changers[path], 'changes', 'change')} it",
            is_better=False,
        )
        for path in missed[:MOST_GROUNDS_OF_FILES]
    ]


# ── across all ──────────────────────────────────────────────────────────────────────────────────────────────────


def differences(agents: Sequence[ComparedAgent], most: int = 6) -> list[str]:
    """What is to be seen across all agents: shared files, files of one alone, and conflicts with each other."""
    working = [one for one in agents if not one.is_empty]
    if len(working) < 2:
        return []
    paths = [{file.path for file in one.files} for one in working]
    found = []
    who = "all" if len(working) == len(agents) else _joined(sorted(one.label for one in working))
    if shared := sorted(set.intersection(*paths)):
        found.append(f"{who} change {_named(shared)}")
    else:
        found.append(f"{who} change no file in common")
    for one, own in zip(working, paths, strict=True):
        elsewhere: set[str] = set().union(*(other for other in paths if other is not own))
        if alone := sorted(own - elsewhere):
            found.append(f"only {one.label} changes {_named(alone)}")
    found += _conflicting(working)
    return found[:most]


def _conflicting(agents: Sequence[ComparedAgent]) -> list[str]:
    by_label = sorted(agents, key=lambda one: (len(one.label), one.label))
    return [
        f"{one.label} and {other.label} conflict in {_named(one.conflicts[other.id])}"
        for one, other in combinations(by_label, 2)
        if other.id in one.conflicts
    ]


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _named(paths: Sequence[str]) -> str:
    shown = ", ".join(map(_short, paths[:NAMED_FILES]))
    more = len(paths) - NAMED_FILES
    return f"{shown} and {counted(more, 'more file')}" if more > 0 else shown


def _short(path: str) -> str:
    return path.rpartition("/")[2]


def _joined(labels: Sequence[str]) -> str:
    if len(labels) < 2:
        return "".join(labels)
    return f"{', '.join(labels[:-1])} and {labels[-1]}"


def _verb(who: Sequence[object], one: str, several: str) -> str:
    return one if len(who) == 1 else several


def by_agent(ranks: Sequence[Rank]) -> Mapping[str, Rank]:
    return {rank.agent: rank for rank in ranks}
