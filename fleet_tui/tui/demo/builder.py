"""Writes a module and its tests. Agents of one batch solve it differently, so that there is something to compare.

The first finds and fixes its mistake, the second asks what a bare number means, the third does not run its tests.
"""

import subprocess

from fleet_tui.tui.demo.acting import DIM, OFF, bash, begin, choose, listen, read, say, think, write

HEAD = '''"""Durations as people write them."""

import re

UNITS = {"h": 3600, "m": 60, "s": 1}


def parse(text: str) -> int:
    """Seconds of a duration such as 1h30m."""
'''
WRONG = (
    HEAD + '    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\\d)([hms])", text))\n'
)
RIGHT = WRONG.replace(r"(\d)", r"(\d+)")
STRICT = (
    HEAD
    + """    if text.isdecimal():
        return int(text)
    if not re.fullmatch(r"(\\d+[hms])+", text):
        raise ValueError(f"not a duration: {text!r}")
    total = 0
    for number, unit in re.findall(r"(\\d+)([hms])", text):
        total += int(number) * UNITS[unit]
    return total
"""
)
TESTS = """import unittest

from clockwork.durations import parse


class Durations(unittest.TestCase):
    def test_hours_and_minutes_add_up(self) -> None:
        self.assertEqual(parse("1h30m"), 5400)

    def test_numbers_may_have_two_digits(self) -> None:
        self.assertEqual(parse("12m"), 720)
"""
MORE_TESTS = (
    TESTS
    + """
    def test_a_bare_number_is_seconds(self) -> None:
        self.assertEqual(parse("90"), 90)

    def test_anything_else_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            parse("soon")
"""
)


def careful() -> str:
    think("Running the tests", 1.0)
    if not bash("python", "-m", "unittest", "-q"):
        say()
        say("One digit only: the pattern needs a plus.", 1.0)
        think("Mending the pattern", 1.5)
        write("clockwork/durations.py", RIGHT)
        bash("python", "-m", "unittest", "-q")
    say()
    say("Durations parse, and three tests pass.")
    return "three tests pass; not committed"


def asking() -> str:
    answer = choose("Is a number without a unit seconds?", "Yes, seconds", "No, refuse it", kind="question")
    strict = (
        STRICT if answer == 1 else STRICT.replace("    if text.isdecimal():\n        return int(text)\n", "")
    )
    write("clockwork/durations.py", strict)
    write("tests/test_durations.py", MORE_TESTS if answer == 1 else TESTS)
    write(
        "README.md",
        read("README.md") + "\nDurations such as `1h30m` are read by `clockwork.durations.parse`.\n",
    )
    bash("python", "-m", "unittest", "-q")
    say()
    say("Durations parse, anything else is refused, and the README says so.")
    return "durations parse strictly; not committed"


def hasty() -> str:
    say()
    say("Written; this should work.")
    return "written, tests not run"


def main() -> None:
    begin("builder")
    think("Looking around", 1.5)
    read("clockwork/calendar.py")
    think("Designing the parser", 1.5)
    branch = subprocess.run(["git", "branch", "--show-current"], capture_output=True, text=True, check=False)
    way = {"B": asking, "C": hasty}.get(branch.stdout.strip()[-1:], careful)
    if way is not asking:
        write("clockwork/durations.py", WRONG)
        write("tests/test_durations.py", TESTS)
    done = way()
    say(f"{DIM}Not committed, so that you can look at it first.{OFF}")
    listen(done)


if __name__ == "__main__":
    main()
