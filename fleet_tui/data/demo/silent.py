"""Tells nothing of itself: what it does is not known, and nobody pretends to know."""

from fleet_tui.data.demo.acting import pause, say


def main() -> None:
    say("thinking, without a word about it")
    pause(3600)


if __name__ == "__main__":
    main()
