"""`fleet.settings`: create, change and check the configuration files of the user and of this project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import paths
from fleet_tui.errors import NoRepository

if TYPE_CHECKING:
    from fleet_tui.config.init import FirstConfig
    from fleet_tui.config.settings import Config
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

    def get(self, key: str) -> object:
        """The value of a key that is in effect here."""
        from fleet_tui.config.edit import get

        return get(self._fleet.config(), key)

    def set(self, key: str, text: str, *, user: bool = False) -> None:
        """Write the value of a key to this project's file, or to the user's own; what the user sets is trusted."""
        from fleet_tui.config.edit import set_value

        # A repository of other people may contain a link to one of the user's own files.
        inside = None if user else self._fleet.repository.root
        set_value(self.file(user=user), key, text, inside=inside)
        if inside is not None:
            _trust_value(inside, key, text)

    def of_user(self) -> Config:
        """The settings that only the user's own file makes."""
        from fleet_tui.config.load import load

        return load(None)

    def of_project(self) -> Config:
        """The settings in effect in this project; NoRepository outside of any."""
        from fleet_tui.config.load import load

        return load(self._fleet.repository.root)

    def validate(self) -> list[str]:
        """Errors in the configuration files, one line each."""
        from fleet_tui.config.validate import validate

        return validate(self._fleet.repository.root)

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


def _trust_value(root: Path, key: str, text: str) -> None:
    from fleet_tui.config import trust_store
    from fleet_tui.config.edit import value_from_text
    from fleet_tui.config.project_files import asked_by

    if key in asked_by(root, include=False).parts:
        trust_store.add(root, {key: value_from_text(key, text)})
