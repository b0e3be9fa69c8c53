"""A dashboard in miniature, run as a program: panes side by side, a list mode and a typing mode.

Arguments are ids of agents. In the list, a digit selects a pane, Enter types into it, q quits, b breaks, r and
c look back and copy; what else is pressed is shown in the last line.
"""

from __future__ import annotations

import sys
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Static

from fleet_tui import paths
from fleet_tui.models import Agent, Status
from fleet_tui.tui.hosted_app import HostedApp
from fleet_tui.tui.panes.live_panes import LivePanes
from fleet_tui.tui.panes.pane import Pane


def agent(agent_id: str) -> Agent:
    return Agent(
        id=agent_id, name=agent_id, project="", branch="", base="", worktree="", batch="", profile="", argv=(),
        prompt="", status=Status.WORKING, created_at=0.0,
    )  # fmt: skip


class Places:
    def run_folder(self, agent: Agent) -> Path:
        return paths.run(agent.id, agent.run)


class PanesApp(HostedApp[None]):
    CSS = "Horizontal { height: 1fr; } Pane { width: 1fr; height: 100%; } #line { height: 1; }"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    BINDINGS = [Binding("ctrl+q,ctrl+c", "noop", show=False)]  # noqa: RUF012 - Textual's own way

    def __init__(self, agents: list[Agent]) -> None:
        super().__init__()
        # One that follows the terminal: programs look as they do without us.
        self.theme = "ansi-dark"
        self.agents = agents
        self.live_panes = LivePanes(Places())
        self.selected = 0
        self.pressed: list[str] = []
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        with Horizontal():
            for number, _ in enumerate(self.agents, start=1):
                yield Pane(self.live_panes, id=f"pane{number}")
        yield Static("LIST", id="line", markup=False)

    def on_mount(self) -> None:
        for pane, shown in zip(self.panes, self.agents, strict=True):
            pane.agent = shown

    @property
    def panes(self) -> list[Pane]:
        return list(self.query(Pane))

    @property
    def pane(self) -> Pane:
        return self.panes[self.selected]

    def action_noop(self) -> None:
        self.pressed.append("ctrl+c")

    def say(self, text: str) -> None:
        self.told.append(text)
        self.query_one("#line", Static).update(text)

    def on_key(self, event: events.Key) -> None:
        if event.key.isdigit() and event.key != "0":
            self.selected = int(event.key) - 1
        elif event.key == "enter":
            self.type_into(self.pane)
        elif event.key == "q":
            self.exit()
        elif event.key == "b":
            raise RuntimeError("broken on purpose")
        elif event.key == "pageup":
            self.pane.scrolling.scroll_pages()
        elif event.key == "pagedown":
            self.pane.scrolling.scroll_pages(-1)
        elif event.key == "c":
            self.pane.scrolling.start_copying()
        self.pressed.append(event.key)
        self.say(f"LIST {' '.join(self.pressed[-6:])}")

    def on_paste(self, event: events.Paste) -> None:
        self.say(f"LIST pasted {len(event.text)}")

    def type_into(self, pane: Pane) -> None:
        pane.focus()
        for other in self.panes:
            other.is_quiet = other is not pane
        pane.is_typing = True
        self.call_later(self.say, f"TYPING {self.selected + 1}")

    def on_pane_leave_asked(self, message: Pane.LeaveAsked) -> None:
        message.pane.is_typing = False
        for pane in self.panes:
            pane.is_quiet = False
        self.screen.set_focus(None)
        self.say("LIST left")

    def on_pane_led(self, message: Pane.Led) -> None:
        self.say(f"LED {message.key}")

    def on_pane_bell_rang(self) -> None:
        self.say("BELL")

    def on_pane_notified(self, message: Pane.Notified) -> None:
        self.say(f"NOTE {message.title}: {message.text}")

    def on_pane_title_changed(self, message: Pane.TitleChanged) -> None:
        self.say(f"TITLE {message.title}")

    def on_pane_copied(self, message: Pane.Copied) -> None:
        self.say(f"COPIED {message.text!r}")

    def on_pane_clicked(self, message: Pane.Clicked) -> None:
        self.selected = self.panes.index(message.pane)
        self.say(f"CLICKED {self.selected + 1}")

    def on_pane_ended(self) -> None:
        self.say("ENDED")


if __name__ == "__main__":
    app = PanesApp([agent(name) for name in sys.argv[1:]])
    app.run()
    sys.exit(app.return_code or 0)
