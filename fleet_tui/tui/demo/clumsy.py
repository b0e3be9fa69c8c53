"""Fails with an error of its provider; the next prompt succeeds."""

from fleet_tui.tui.demo.acting import OFF, RED, begin, listen, read, report, say, think


def main() -> None:
    begin("clumsy")
    read("tests/test_calendar.py")
    think("Asking the model", 1.0)
    say(f"{RED}✗ API 503: the model is overloaded{OFF}")
    report("error", text="API 503: the model is overloaded")
    listen("", reports=False)


if __name__ == "__main__":
    main()
