"""Hits a rate limit of its provider and waits until it resets."""

import time

from fleet_tui.tui.demo.acting import DIM, OFF, begin, listen, pause, read, report, say, think

MINUTES = 20


def main() -> None:
    begin("limited")
    read("clockwork/calendar.py")
    think("Asking the model", 1.0)
    over = time.strftime("%H:%M", time.localtime(time.time() + MINUTES * 60))
    report("limited", text=f"resets {over}, 5-hour limit")
    say(f"{DIM}5-hour limit reached, resets {over}{OFF}")
    pause(MINUTES * 60)
    listen("the limit is over")


if __name__ == "__main__":
    main()
