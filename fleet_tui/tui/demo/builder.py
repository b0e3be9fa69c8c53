"""Writes a module and its tests, runs them, and fixes the failure."""

from fleet_tui.tui.demo.acting import DIM, OFF, bash, begin, listen, read, say, think, write

WRONG = '''"""Durations as people write them."""

import re

UNITS = {"h": 3600, "m": 60, "s": 1}


def parse(text: str) -> int:
    """Seconds of a duration such as 1h30m."""
    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\\d)([hms])", text))
'''
RIGHT = WRONG.replace(r"(\d)", r"(\d+)")
TESTS = """import unittest

from clockwork.durations import parse


class Durations(unittest.TestCase):
    def test_hours_and_minutes_add_up(self) -> None:
        self.assertEqual(parse("1h30m"), 5400)

    def test_numbers_may_have_two_digits(self) -> None:
        self.assertEqual(parse("12m"), 720)
"""


def main() -> None:
    begin("builder")
    think("Looking around", 1.5)
    read("clockwork/calendar.py")
    think("Designing the parser", 1.5)
    write("clockwork/durations.py", WRONG)
    write("tests/test_durations.py", TESTS)
    think("Running the tests", 1.0)
    if not bash("python", "-m", "unittest", "-q"):
        say()
        say("One digit only: the pattern needs a plus.", 1.0)
        think("Mending the pattern", 1.5)
        write("clockwork/durations.py", RIGHT)
        bash("python", "-m", "unittest", "-q")
    say()
    say("Durations parse, and three tests pass.")
    say(f"{DIM}Not committed, so that you can look at it first.{OFF}")
    listen("three tests pass; not committed")


if __name__ == "__main__":
    main()
