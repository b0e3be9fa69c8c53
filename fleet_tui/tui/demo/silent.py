"""Reports nothing: its status stays unknown."""

from fleet_tui.tui.demo.acting import pause, say


def main() -> None:
    say("thinking, without a word about it")
    pause(3600)


if __name__ == "__main__":
    main()
