"""Gets an error from its provider; the next prompt goes better."""

from fleet_tui.data.demo.acting import OFF, RED, begin, listen, read, report, say, think


def main() -> None:
    begin("clumsy")
    read("tests/test_calendar.py")
    think("Asking the model", 1.0)
    say(f"{RED}✗ API 503: the model is overloaded{OFF}")
    report("error", text="API 503: the model is overloaded")
    listen("", is_told=False)


if __name__ == "__main__":
    main()
