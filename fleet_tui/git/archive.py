"""Archive the ignored files of an emptied worktree in a tar file beside its trash record.

Ignored files never become git objects: they may be secrets, and a repository is pushed. A tar file is private to the
user, and deleting it removes them for good.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from fleet_tui.errors import FleetError

SUFFIX = ".ignored.tar"


def archive_of(path: Path) -> Path:
    """The path of the archive of a worktree in the trash, whether it exists or not."""
    return path.with_name(f"{path.name}{SUFFIX}")


def archives(trash: Path) -> list[Path]:
    """All archives in a trash folder."""
    return sorted(trash.glob(f"*{SUFFIX}"))


def pack(folder: Path, names: Sequence[str], archive: Path) -> None:
    """Write files and folders into a tar file: all of them, or none and an error.

    Links are stored as links, FIFOs by name alone, because reading one would block; sockets are left out.
    """
    import tarfile  # deferred: it imports every compression library

    draft = _draft(archive)
    try:
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for name in names:
                    tar.add(folder / name, arcname=name.rstrip("/"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(archive)
    except (OSError, tarfile.TarError) as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise FleetError(
            f"the ignored files of {folder} cannot be saved in {archive}: {why}",
            hint="nothing was deleted; free disk space, or delete ignored files that you do not need",
        ) from error


def discard_archive(path: Path) -> None:
    """Delete the archive of a worktree in the trash, complete or not."""
    archive_of(path).unlink(missing_ok=True)
    _draft(archive_of(path)).unlink(missing_ok=True)


def _draft(archive: Path) -> Path:
    return archive.with_name(f"{archive.name}.new")
