"""Only small regular files are read, and with a folder given only those inside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet_tui import bounded_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/file").write_text("content")
    (tmp_path / "outside").write_text("secret")
    return folder


def test_a_file_inside_is_read_also_through_links_that_stay_inside(folder: Path) -> None:
    (folder / "link").symlink_to("sub/file")
    (folder / "linked").symlink_to("sub")
    (folder.parent / "alias").symlink_to(folder)
    for name in ("sub/file", "link", "linked/file"):
        assert bounded_files.read(folder / name, inside=folder) == b"content"
        assert (
            bounded_files.read(folder.parent / "alias" / name, inside=folder.parent / "alias") == b"content"
        )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("zero", "link out of the repository"),
        ("out", "link out of the repository"),
        ("outfolder/outside", "link out of the repository"),
        ("pipe", "not a regular file"),
        ("sub", "Is a directory"),
        ("large", "larger than 1 KiB"),
    ],
)
def test_anything_else_is_refused_at_once_with_the_reason(folder: Path, name: str, reason: str) -> None:
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "out").symlink_to("../outside")
    (folder / "outfolder").symlink_to("..")
    os.mkfifo(folder / "pipe")
    (folder / "large").write_bytes(b"x" * 1025)
    with pytest.raises(OSError, match=reason):
        bounded_files.read(folder / name, inside=folder, limit=1024)


@pytest.mark.parametrize("name", ["nothing", "sub/file/deeper", "loop"])
def test_what_is_not_there_fails_as_the_system_says(folder: Path, name: str) -> None:
    (folder / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"No such file|Not a directory|Too many levels"):
        bounded_files.read(folder / name, inside=folder)


def test_a_file_of_the_user_may_be_a_link_but_not_a_device(folder: Path) -> None:
    (folder / "out").symlink_to("../outside")
    (folder / "zero").symlink_to("/dev/zero")
    assert bounded_files.read(folder / "out") == b"secret"
    with pytest.raises(OSError, match="it is not a regular file"):
        bounded_files.read(folder / "zero")
