"""How faces name conflicts: the kind of each file in words, its lines, and the short names of the two sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleet_tui import names
from fleet_tui.faces.live import ConflictDetails, LiveData
from fleet_tui.models import Agent, Status
from fleet_tui.text import one_line
from fleet_tui.work import Conflict, ConflictingFile, ConflictKind, ConflictPlace

KIND_WORDS: Mapping[ConflictKind, str] = {
    "both changed": "both changed it",
    "both added": "both added it",
    "deleted here": "deleted here, changed there",
    "deleted there": "changed here, deleted there",
    "renamed both ways": "both renamed it",
    "binary": "both changed it, binary",
    "mode": "of two types",
    "submodule": "both moved the submodule",
    "file and folder": "a file and a folder",
    "other": "does not merge",
}
NO_COMMON_COMMIT = "they have no commit in common"
MOST_PLACES = 5
"""Of one file, in a prompt."""


def place_words(place: ConflictPlace) -> str:
    """The lines and the function: 37–46 issue()."""
    lines = f"{place.first}" if place.first >= place.last else f"{place.first}–{place.last}"
    return f"{lines} {one_line(place.function)}".rstrip()


def file_words(file: ConflictingFile) -> str:
    """Where a file conflicts, or why it does."""
    if file.kind == "both changed" and file.places:
        more = len(file.places) - 1
        return place_words(file.places[0]) + (f", {more} more" if more else "")
    return KIND_WORDS[file.kind]


def marks(agents: Sequence[Agent], conflicts: Sequence[Conflict]) -> dict[str, str]:
    """By agent id, with whom each agent conflicts, in short names: C +1. The base branch comes first."""
    by_id = {agent.id: agent for agent in agents if agent.status is not Status.KILLED}
    members: dict[tuple[str, str], list[str]] = {}
    for agent in by_id.values():
        members.setdefault((agent.project, agent.batch), []).append(agent.name)
    labels = {place: names.batch_label(place[1], found) for place, found in members.items()}
    others: dict[str, list[str]] = {}
    for conflict in conflicts:
        for side in (conflict.agent, conflict.other):
            one = by_id.get(side)
            if one is None:
                continue
            seen = conflict.seen_from(side)
            if not seen.other:
                others.setdefault(side, []).insert(0, one_line(seen.base))
            elif seen.other in by_id:
                others.setdefault(side, []).append(_short(by_id[seen.other], one, labels))
    return {
        agent: found[0] + (f" +{len(found) - 1}" if len(found) > 1 else "") for agent, found in others.items()
    }


def short_names(agent: Agent, others: Sequence[Agent], agents: Sequence[Agent]) -> list[str]:
    """What to call others beside an agent: only their suffix if they are of the same batch."""
    batch = [
        one.name
        for one in agents
        if (one.project, one.batch) == (agent.project, agent.batch) and one.status is not Status.KILLED
    ]
    labels = {(agent.project, agent.batch): names.batch_label(agent.batch, batch)}
    return [_short(one, agent, labels) for one in others]


def details_of(agent: str, live: LiveData) -> ConflictDetails:
    """An agent's conflicts; without the lines while those are not known."""
    if live.conflict_details.agent == agent and live.conflict_details.conflicts:
        return live.conflict_details
    return ConflictDetails(
        agent, tuple((one.seen_from(agent), ()) for one in live.conflicts if one.concerns(agent))
    )


def conflict_prompt(agent: Agent, live: LiveData, agents: Sequence[Agent]) -> str:
    """A prompt that tells an agent what of its work does not merge, and asks it to change that. Names in it are sanitized."""
    by_id = {one.id: one for one in agents}
    parts = []
    for conflict, files in details_of(agent.id, live).conflicts:
        other = by_id.get(conflict.other)
        lines = [_file_line(file) for file in files] or [f"- {one_line(path)}" for path in conflict.files]
        where = "\n".join(lines or [f"- {NO_COMMON_COMMIT}"])
        if other is None:
            base = one_line(conflict.base)
            wanted = f"Bring in {base}, resolve this, and run the tests."
            parts.append(f"Your work does not merge with {base}:\n{where}\n{wanted}")
        else:
            name, branch, folder = map(one_line, (other.name, other.branch, other.worktree))
            wanted = f"Its files are in {folder}: read them, but change only yours, so that the two merge."
            parts.append(
                f"Your work does not merge with that of {name} (branch {branch}):\n{where}\n{wanted}"
            )
    return "\n\n".join(parts)


def _file_line(file: ConflictingFile) -> str:
    places = [
        f"line{'' if one.first >= one.last else 's'} {place_words(one)}" for one in file.places[:MOST_PLACES]
    ]
    return f"- {one_line(file.path)}: {KIND_WORDS[file.kind]}" + (f", {'; '.join(places)}" if places else "")


def _short(other: Agent, beside: Agent, labels: Mapping[tuple[str, str], str]) -> str:
    if (other.project, other.batch) != (beside.project, beside.batch):
        return one_line(other.name)
    label = labels.get((other.project, other.batch), "")
    return one_line(other.name.removeprefix(f"{label}-") or other.name)
