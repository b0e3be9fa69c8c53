"""Does one small thing and ends."""

from fleet_tui.tui.demo.acting import bash, begin, report, say


def main() -> None:
    begin("brief")
    bash("git", "log", "--oneline", "-3")
    say("That is all.")
    report("clear")


if __name__ == "__main__":
    main()
