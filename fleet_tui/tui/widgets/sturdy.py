"""An error in one handler ends that handler, not the widget it belongs to."""

from __future__ import annotations

from textual.message import Message
from textual.message_pump import MessagePump


class Sturdy(MessagePump):
    """Mixed in before Textual's class: whatever a handler raises goes to the app, and the next message is handled.

    Without it a widget stops answering for good after the first error, and its screen with it.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:  # noqa: BLE001 - the app logs and shows it; nothing is swallowed
            self.app._handle_exception(error)
