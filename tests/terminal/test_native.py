"""How the emulator is loaded: once, from declarations that only we can have written, and nothing after that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fleet_tui.errors import FleetError
from fleet_tui.terminal.emulator.native import check_layout, layout_of_types

USES_EVERYTHING_WITHOUT_IMPORTING = """
import sys
from pycparser.c_parser import CParser
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from fleet_tui.terminal.emulator import Screen

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name not in sys.builtin_module_names:  # those are not files
            raise SystemExit(f"imported {name}")

sys.meta_path.insert(0, Refuse())
CParser.parse = None  # reading a C type takes 8 ms
screen = Screen(40, 5)
screen.feed("\\x1b[31mred 漢字👩\u200d💻\\x1b]0;t\\x07\\x1b[c\\x1b[?2004h\\r\\n".encode() * 20)
screen.update(), screen.row(0), screen.text(), screen.cursor, screen.modes, screen.title, screen.is_holding
screen.history(0, 5), screen.take_scrolled_lines(9), screen.search("red"), screen.select((0, 0), (1, 5))
screen.take_replies(), screen.take_notes(), screen.compress(), screen.resize(20, 9), screen.update()
screen.encode_key(KeyEvent("enter", shift=True)), screen.encode_paste("x"), screen.encode_focus(True)
screen.encode_mouse(MouseEvent("press", 1, 1, "left"))
print("nothing imported")
"""


def test_a_screen_imports_nothing_and_parses_no_type_once_its_module_is_loaded() -> None:
    run = subprocess.run(
        [sys.executable, "-c", USES_EVERYTHING_WITHOUT_IMPORTING], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("nothing imported\n", "")


def test_inputs_and_cells_do_not_load_the_emulator() -> None:
    code = "import sys, fleet_tui.terminal.input_events, fleet_tui.terminal.cells; print('pyghostty' in sys.modules, 'cffi' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False False\n"


def test_an_emulator_with_another_memory_layout_is_refused() -> None:
    layout = layout_of_types()
    check_layout(layout)
    layout["types"]["GhosttyCell"]["bits"]["style_id"]["lsb"] = 27

    with pytest.raises(FleetError, match="memory layout"):
        check_layout(layout)


@pytest.mark.slow
def test_declarations_are_parsed_once_and_loaded_from_the_cache_the_next_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    code = "import sys, fleet_tui.terminal.emulator; print('pycparser' in sys.modules)"

    def load() -> tuple[str, Path, int]:
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        [kept] = (home / ".cache" / "fleet-tui").glob("emulator_*")
        return run.stdout, kept, kept.stat().st_ino

    first = load()
    assert first[0] == "False\n", "what the parser leaves in memory is not left to who needed it"
    assert first[1].stat().st_mode & 0o077 == 0
    assert load() == first


@pytest.mark.slow
def test_declarations_in_a_file_that_others_may_change_are_not_loaded(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    code = "import fleet_tui.terminal.emulator; print('loaded')"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    [kept] = (home / ".cache" / "fleet-tui").glob("emulator_*.py")
    kept.write_text("raise SystemExit('tampered')")
    kept.chmod(0o666)

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stdout == "loaded\n"
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_screen_works_without_a_place_to_keep_declarations(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    (home / ".cache").write_text("a file where the folder would be")
    code = "from fleet_tui.terminal.emulator import Screen; s = Screen(20, 5); s.feed(b'hello'); print(s.text()[0])"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (run.stdout, run.stderr) == ("hello\n", "")
