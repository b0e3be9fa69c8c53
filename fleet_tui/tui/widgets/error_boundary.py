"""Error boundary: an exception in a message handler does not stop the widget."""

from __future__ import annotations

from textual.message import Message
from textual.message_pump import MessagePump


class ErrorBoundary(MessagePump):
    """Mix in before Textual's class: an exception of a handler goes to the app, and the next message is handled.

    Without it a widget stops answering for good after the first error, and its screen with it.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:  # noqa: BLE001 - the app logs and shows it; nothing is swallowed
            self.app._handle_exception(error)
