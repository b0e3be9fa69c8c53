"""The profile of new agents: the field for it, and the dialog that lists all profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleet_tui.fleet.profiles import AgentProgram
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.tui.dialogs.picker import Picker, PickerField, PickerRows
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import Line, clean, column, fit

SHELL = "shell"
NAME_WIDTH = 16


def all_profiles(project: ProjectInfo) -> list[AgentProgram]:
    """The default profile, the installed ones, the shell (always available), then those that are not installed.

    A default that is not installed comes first only if nothing is.
    """
    programs = {program.name: program for program in project.programs}
    usual = project.default_profile
    default = programs.get(usual, AgentProgram(usual, usual))
    installed = [program for program in project.programs if program.path]
    first = [default] if usual and (default.path or not installed) else []
    missing = [program for program in project.programs if not program.path]
    ordered = [*first, *installed, AgentProgram(SHELL, SHELL), *missing]
    return list({program.name: program for program in ordered}.values())


def how_to_install(program: AgentProgram) -> str:
    """Why the program cannot be started; empty if it can."""
    if program.path:
        return ""
    return f"not installed: {clean(program.install)}" if program.install else "not installed"


class ProfileField(PickerField):
    """The name of a profile, or any command; empty for the default."""

    def __init__(self, usual: str, profiles: Callable[[], Sequence[AgentProgram]]) -> None:
        super().__init__("agent", Input(id="profile"))
        self._profiles = profiles
        self._usual = usual

    def on_mount(self) -> None:
        self.show_usual(self._usual)

    def show_usual(self, usual: str) -> None:
        self.query_one(Input).placeholder = f"{usual}; or any profile or command"

    def pick(self) -> None:
        """Open the list of profiles."""
        self.app.push_screen(ProfilePicker(self._profiles()), self.fill)


class ProfilePicker(Picker[AgentProgram]):
    """Returns the name of a profile, or a command."""

    heading = "Agent"
    explains = "the program that runs"
    placeholder = "type to filter, or enter any command"

    def __init__(self, profiles: Sequence[AgentProgram]) -> None:
        super().__init__(ProfileRows(profiles))


class ProfileRows(PickerRows[AgentProgram]):
    def __init__(self, profiles: Sequence[AgentProgram]) -> None:
        super().__init__(profiles, id="rows")

    def name_of(self, item: AgentProgram) -> str:
        return item.name

    def words_of(self, item: AgentProgram) -> str:
        return item.name

    def nothing(self, wanted: str) -> str:
        return f"no profile matches; ↵ uses {clean(wanted)!r} as a command"

    def row(self, item: AgentProgram, width: int, is_chosen: bool) -> Line:
        ground = " on sel" if is_chosen else ""
        says = item.version or item.path if item.path != item.name else ""
        sign = ("✓ ", f"success{ground}") if item.path else ("– ", f"faint{ground}")
        line: Line = (
            ("▌" if is_chosen else " ", f"bar{ground}"), sign,
            *column(((clean(item.name), f"bold{ground}"),), NAME_WIDTH, fill=ground.strip()),
            (how_to_install(item) or clean(says), f"muted{ground}"),
        )  # fmt: skip
        return tuple((text, role or f"foreground{ground}") for text, role in fit(line, width))
