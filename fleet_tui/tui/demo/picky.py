"""Asks a question with two choices or a free answer, and follows it."""

from fleet_tui.tui.demo.acting import begin, choose, listen, read, say, think, write

WAYS = ("Freeze the clock in the test", "Widen the time-out to 2 s", "Something else")


def main() -> None:
    begin("picky")
    read("clockwork/clock.py")
    think("Running the test a hundred times", 1.5)
    chosen = choose("How should I make the test stable?", *WAYS, kind="question")
    way = WAYS[chosen - 1] if chosen < len(WAYS) else input("  What else? ").strip()
    write("TODO.md", f"- {way}\n")
    say(f"{way}: noted.")
    listen(way)


if __name__ == "__main__":
    main()
