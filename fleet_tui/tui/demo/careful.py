"""Asks for permission to delete a folder."""

import shutil
from pathlib import Path

from fleet_tui.tui.demo.acting import GREEN, OFF, begin, listen, may_run, read, say, think


def main() -> None:
    begin("careful")
    think("Looking for leftovers", 1.2)
    read("build/old.txt")
    read("build/older.txt")
    say()
    say("Nothing in the code mentions build/.")
    if may_run("rm -r build/", reason="nothing in the code mentions it"):
        shutil.rmtree(Path("build"))
        say(f"{GREEN}●{OFF} removed build/")
        think("Checking that nothing misses it", 1.5)
        listen("build/ is gone; nothing misses it")
    else:
        say(f"{GREEN}●{OFF} build/ stays")
        listen("build/ stays, as you said")


if __name__ == "__main__":
    main()
