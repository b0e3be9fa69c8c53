"""Stop, kill, restore, revive and restart agents; stop and kill take two presses of the same key."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fleet_tui.models import Agent
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.start_actions import own_settings
from fleet_tui.tui.dashboard.trust_gate import TrustGate
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests, names_of
from fleet_tui.tui.dialogs.confirm import Confirm, ConfirmInput

ARMED_SECONDS = 3.0
"""How long the second press counts."""


class SecondPress:
    """Asks for a second press of a key by a hint below the list."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._armed: tuple[str, tuple[str, ...], float] | None = None

    def confirms(self, action: str, agents: Sequence[Agent], effect: str) -> bool:
        """Whether this press confirms the one before, of the same action on the same agents; else ask for it."""
        ids = tuple(agent.id for agent in agents)
        now = time.monotonic()
        armed, self._armed = self._armed, None
        if armed is not None and armed[:2] == (action, ids) and now <= armed[2]:
            self._display.hint(())
            return True
        self._armed = (action, ids, now + ARMED_SECONDS)
        chord = self._display.keymap.shown(action)
        self._display.hint((("! ", "bold warning"), (f"{chord} again", "bold accent"), (f": {effect}", "")))
        self._display.later(ARMED_SECONDS, self._expire)
        return False

    def forget(self) -> None:
        self._armed = None

    def _expire(self) -> None:
        if self._armed is not None and time.monotonic() >= self._armed[2]:
            self._armed = None
            self._display.hint(())


class EndActions:
    """Stops, kills, restores, revives and restarts agents."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        requests: WorkerRequests,
        trust: TrustGate,
        select_when_listed: Callable[[str], None],
    ) -> None:
        self._view = view
        self._display = display
        self._requests = requests
        self._trust = trust
        self._select_when_listed = select_when_listed
        self.second_press = SecondPress(display)

    def stop(self) -> None:
        living = [agent for agent in self._view.targets if not agent.has_ended]
        if not living:
            self._display.warn("it has already ended" if self._view.targets else "no agent selected")
        elif self.second_press.confirms("stop", living, f"stop {_count(living)}; its worktree stays"):
            self._end(f"stopped {names_of(living)}", "stop", living)
            self._view.unmark()

    def ask_to_stop(self) -> None:
        """While typing a second press would go to the agent, so ask in a dialog."""
        agent = self._view.agent
        if agent is not None and not agent.has_ended:
            question = Confirm("Stop", f"Stop {agent.name}? Its worktree and branch stay.", "stop it")
            self._display.open(
                question, lambda yes: self._end(f"stopped {agent.name}", "stop", [agent]) if yes else None
            )

    def kill(self) -> None:
        targets = self._view.targets
        if not targets:
            self._display.warn("no agent selected")
        elif self.second_press.confirms(
            "kill", targets, f"move {_several(targets)}to trash; {_branches(targets)} kept"
        ):
            undo = self._display.keymap.shown("undo")
            done = f"killed {names_of(targets)}; {_branches(targets)} kept, {undo} undoes it"
            self._end(done, "kill", targets)
            self._view.unmark()

    def _end(self, done: str, verb: str, targets: Sequence[Agent]) -> None:
        """Stop or kill, then show the warnings that the verb returns."""

        async def work() -> None:
            warnings = await self._requests.call(verb, [agent.id for agent in targets])
            self._display.notify(done)
            for warning in warnings:
                self._display.notify(warning, severity="warning", timeout=8)

        self._requests.start(work())

    def undo(self) -> None:
        async def work() -> None:
            restored = await self._requests.call("undo")
            agents = [agent for agent, _ in restored]
            notes = [note for _, note in restored if note]
            is_one = len(agents) == 1
            again = f"{self._display.keymap.shown('revive')} starts {'it' if is_one else 'one'} again"
            self._display.notify("; ".join(notes) or again, title=f"restored {names_of(agents)}")
            self._select_when_listed(agents[0].id)

        self._requests.start(work())

    def revive(self) -> None:
        ended = [agent for agent in self._view.targets if agent.has_ended]
        if not ended:
            self._display.warn("it is already running" if self._view.targets else "no agent selected")
            return
        ids = [agent.id for agent in ended]

        def revive(own: bool) -> None:
            self._requests.ask(f"revived {names_of(ended)}", "revive", ids, **own_settings(own))

        self._trust.ask_for(ended, revive)
        self._view.unmark()

    def restart(self) -> None:
        targets = self._view.targets
        if not targets:
            self._display.warn("no agent selected")
            return
        question = Confirm(
            "Restart",
            f"Start {names_of(targets)} again from the first prompt? The worktree stays as it is.",
            "restart",
        )
        ids = [agent.id for agent in targets]

        def restart(own: bool) -> None:
            self._requests.ask(f"restarted {names_of(targets)}", "restart", ids, **own_settings(own))

        self._display.open(question, lambda yes: self._trust.ask_for(targets, restart) if yes else None)

    def stop_fleet(self) -> None:
        living = sum(not agent.has_ended for agent in self._view.state.agents)
        if not living:
            self._display.warn("no agent is running")
            return
        says = (
            f"This stops all {living} running agents, in every project. "
            "Worktrees, branches and records stay. Type stop to confirm."
        )
        question = ConfirmInput(
            "Stop the fleet", says, label="stop?", must_be="stop", does="stop them all", is_dangerous=True
        )
        self._display.open(
            question,
            lambda typed: self._requests.ask("stopped all agents", "stop_all") if typed else None,
        )


def _several(agents: Sequence[Agent]) -> str:
    return "" if len(agents) == 1 else f"{len(agents)} "


def _branches(agents: Sequence[Agent]) -> str:
    return "branch" if len(agents) == 1 else "branches"


def _count(agents: Sequence[Agent]) -> str:
    return "it" if len(agents) == 1 else f"all {len(agents)}"
