"""`fleet.settings`: create, change and check the configuration files of the user and of this project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import paths
from fleet_tui.errors import NoRepository, NotFound, Refused

if TYPE_CHECKING:
    from fleet_tui.config.init import FirstConfig
    from fleet_tui.config.settings import Config
    from fleet_tui.config.validate import CheckKeys
    from fleet_tui.fleet import Fleet


class SettingsVerbs:
    """Writes configuration files. `Fleet.config` reads the settings that are in effect."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def plan_init(self, kind: str = "", *, migrate_legacy: bool = False) -> FirstConfig:
        """What `init` would write; refused if this project has a configuration file."""
        from fleet_tui.config import init

        return init.plan(self._fleet.repository.root, kind, migrate_legacy=migrate_legacy)

    def init(self, kind: str = "", *, migrate_legacy: bool = False) -> list[Path]:
        """Create this project's configuration file; returns the files that were written."""
        from fleet_tui.config import init

        return init.init(self._fleet.repository.root, kind, migrate_legacy=migrate_legacy)

    def file(self, *, user: bool = False) -> Path:
        """The configuration file of this project, or the user's own."""
        if user:
            return paths.user_config()
        try:
            return paths.project_config(self._fleet.repository.root)
        except NoRepository as error:
            raise NoRepository(
                error.message, hint="cd to a project, or use --user for your own file"
            ) from None

    def file_to_edit(self, *, user: bool = False) -> Path:
        """The same, after checking that it exists, and that the project's is not a link to another file of the user."""
        from fleet_tui.system import files

        file = self.file(user=user)
        if user:
            file.parent.mkdir(parents=True, exist_ok=True)
            return file
        if not file.exists():
            raise NotFound(f"no such file: {file}", hint="create it with: fleet init")
        try:
            files.check_inside(file, self._fleet.repository.root)
        except OSError as error:
            raise Refused(
                f"{file} is not opened: {error.strerror}", hint="replace the link by a file"
            ) from None
        return file

    def get(self, key: str) -> object:
        """The value of a key that is in effect here."""
        from fleet_tui.config.edit import get

        return get(self._fleet.config(), key)

    def set(self, key: str, text: str, *, user: bool = False) -> None:
        """Write the value of a key to this project's file, or to the user's own; what the user sets is trusted."""
        from fleet_tui.config.edit import set_value

        inside = self._inside(user=user)
        if not user:
            _check_project_value(key, text)
        set_value(self.file(user=user), key, text, inside=inside)
        if inside is not None:
            _trust_value(inside, key, text)

    def unset(self, key: str, *, user: bool = False) -> None:
        """Remove a key from this project's file, or from the user's own."""
        from fleet_tui.config.edit import unset_value

        file = self.file(user=user)
        try:
            unset_value(file, key, inside=self._inside(user=user))
        except NotFound as error:
            raise NotFound(error.message, hint=self._where_set(key, file)) from None

    def _where_set(self, key: str, but_not: Path) -> str:
        """A hint that names the file a key has its value from, if that is another one."""
        found = self._fleet.config(trusted=True)
        origin = found.origins.get(key, "")
        if key == "agent.default" and origin and origin == found.origins.get("defaults.agent"):
            return "defaults.agent sets it"
        if origin in ("", str(but_not)):
            return "it has its default value"
        return f"{origin} sets it" + (": add --user" if origin == str(paths.user_config()) else "")

    def _inside(self, *, user: bool) -> Path | None:
        """The folder that a file must be in: someone else's repository may link to one of the user's own files."""
        return None if user else self._fleet.repository.root

    def of_user(self) -> Config:
        """The settings that only the user's own file makes."""
        from fleet_tui.config.load import load

        return load(None)

    def of_project(self) -> Config:
        """The settings in effect in this project; NoRepository outside of any."""
        from fleet_tui.config.load import load

        return load(self._fleet.repository.root)

    def validate(self, *, user: bool = False, check_keys: CheckKeys | None = None) -> list[str]:
        """All errors in the configuration files, one line each; outside a project only those in the user's own file."""
        from fleet_tui.config.validate import validate

        return validate(self._validated(user=user), check_keys)

    def edit_commands(self, problems: Sequence[str], *, user: bool = False) -> list[str]:
        """For each of the problems that `validate` found, the command that opens the file with its cause."""
        from fleet_tui.config.validate import edit_commands

        return edit_commands(problems, self._validated(user=user))

    def _validated(self, *, user: bool) -> Path | None:
        """The project whose file is validated as well as the user's; None without one."""
        project = None if user else self._fleet.project()
        return Path(project) if project else None

    def text(self, *, user: bool = False) -> str | None:
        """The text of a configuration file; None if it cannot be read, which loading it reports."""
        from fleet_tui.system import files

        try:
            return files.read(self.file(user=user)).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return None

    def accept_edit(self, before: str | None, after: str | None) -> None:
        """Trust what the user changed in this project's file in an editor, given its text before and after."""
        from fleet_tui.lifecycle import trust

        trust.accept_edit(self._fleet.repository.root, before, after)


def _check_project_value(key: str, text: str) -> None:
    from fleet_tui.config.edit import value_from_text
    from fleet_tui.config.project_files import check_project_value

    check_project_value(key, value_from_text(key, text))


def _trust_value(root: Path, key: str, text: str) -> None:
    from fleet_tui.config import trust_store
    from fleet_tui.config.edit import value_from_text
    from fleet_tui.config.project_files import asked_by

    if key in asked_by(root, include=False).parts:
        trust_store.add(root, {key: value_from_text(key, text)})
