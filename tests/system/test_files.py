"""Small files are read safely, and private files are replaced in one step."""

from __future__ import annotations

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from fleet_tui.system import files
from tests.system.small_disks import fill, small_disk


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
        assert files.read(folder / name, inside=folder) == b"content"
        assert files.read(folder.parent / "alias" / name, inside=folder.parent / "alias") == b"content"


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
        files.read(folder / name, inside=folder, limit=1024)


@pytest.mark.parametrize("name", ["nothing", "sub/file/deeper", "loop"])
def test_what_is_not_there_fails_as_the_system_says(folder: Path, name: str) -> None:
    (folder / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"No such file|Not a directory|Too many levels"):
        files.read(folder / name, inside=folder)


def test_a_file_of_the_user_may_be_a_link_but_not_a_device(folder: Path) -> None:
    (folder / "out").symlink_to("../outside")
    (folder / "zero").symlink_to("/dev/zero")
    assert files.read(folder / "out") == b"secret"
    with pytest.raises(OSError, match="it is not a regular file"):
        files.read(folder / "zero")


@pytest.mark.parametrize("sync", [False, True])
def test_a_replaced_file_is_private_and_leaves_nothing_beside_it(tmp_path: Path, sync: bool) -> None:
    file = tmp_path / "record.json"
    file.write_text("old")
    file.chmod(0o644)

    files.replace(file, b"new", sync=sync)

    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry for entry in tmp_path.iterdir() if entry.is_file()] == [file]


def test_a_link_is_replaced_rather_than_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    (tmp_path / "record").symlink_to(outside)

    files.replace(tmp_path / "record", b"ours")

    assert (tmp_path / "record").read_bytes() == b"ours"
    assert outside.read_text() == "theirs"


def test_the_longest_name_that_a_file_can_have_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)

    files.replace(file, b"content")

    assert file.read_bytes() == b"content"


def test_a_full_disk_keeps_the_old_content(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        file = disk / "record"
        files.replace(file, b"old")
        fill(disk)

        with pytest.raises(OSError, match="No space left"):
            files.replace(file, b"new" * 4096)

        assert file.read_bytes() == b"old"
        assert {entry.name for entry in disk.iterdir()} == {"record", "filler"}


def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "record"
    whole = [letter * 300_000 for letter in (b"a", b"b")]
    for _ in range(20):
        ready, begun = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                files.replace(file, whole[0])
                os.write(begun, b"x")
                while True:
                    for content in whole:
                        files.replace(file, content)
            finally:
                os._exit(1)
        assert os.read(ready, 1) == b"x"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
        os.close(begun)

        assert file.read_bytes() in whole


def test_threads_that_replace_one_file_do_not_mix_their_content(tmp_path: Path) -> None:
    file = tmp_path / "record"
    whole = [letter * 100_000 for letter in (b"a", b"b", b"c")]

    def write(content: bytes) -> None:
        for _ in range(50):
            files.replace(file, content)

    writers = [threading.Thread(target=write, args=(content,)) for content in whole]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert file.read_bytes() in whole
    assert [entry for entry in tmp_path.iterdir() if entry.is_file()] == [file]
