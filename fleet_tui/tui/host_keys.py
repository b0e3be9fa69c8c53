"""Keys between the host terminal and Textual: our key events as Textual names them, and back."""

from __future__ import annotations

from textual import events
from textual.keys import REPLACED_KEYS, _character_to_key, key_to_character

from fleet_tui.terminal.input_events import KeyEvent

_TYPED = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f"}


def textual_key(event: KeyEvent) -> tuple[str, str | None]:
    """Return key and character as Textual names them. Chords on other layouts are named by the US key."""
    is_chord = event.ctrl or event.alt or event.super
    name = event.key
    if name.startswith("kp_"):
        name = _character_to_key(event.text) if event.text and not is_chord else name.removeprefix("kp_")
    elif len(name) == 1:
        name = _character_to_key((event.base or name) if is_chord else (event.text or name))
    elif not name:
        name = event.text
    # Shift and a letter is another letter, unless it is part of a chord.
    shift = event.shift and (is_chord or not event.text or name == "space")
    held = (("alt", event.alt), ("ctrl", event.ctrl), ("shift", shift), ("super", event.super))
    modifiers = [modifier for modifier, is_held in held if is_held]
    character = None if is_chord else event.text or (None if modifiers else _TYPED.get(name))
    return "+".join([*modifiers, name]), character


def key_message(event: KeyEvent) -> events.Key:
    """Textual's event for a key, carrying the key as the host sent it."""
    message = events.Key(*textual_key(event))
    # An attribute, not a subclass: Textual derives the handler's name from the class.
    message.host = event  # type: ignore[attr-defined] # its instances have a dictionary
    return message


def host_key(message: events.Key) -> KeyEvent:
    """Return the key of an event; derived from its name when no host sent it (tests, the browser)."""
    found = getattr(message, "host", None)
    return found if isinstance(found, KeyEvent) else named_key(message.key, message.character)


def named_key(name: str, character: str | None) -> KeyEvent:
    """Return the key that has this name in Textual."""
    *modifiers, key = name.split("+") if name != "+" else ["+"]
    shift, alt, ctrl, super_ = (modifier in modifiers for modifier in ("shift", "alt", "ctrl", "super"))
    if key == "@" and ctrl:
        key = "space"
    typed = key_to_character(REPLACED_KEYS.get(key, key)) if len(key) > 1 and key != "space" else None
    # Unicode has names such as DELETE too, for control characters.
    if typed is not None and typed.isprintable():
        key = typed
    text = character or ""
    if ctrl or alt or super_ or not text.isprintable():
        text = ""
    if len(key) == 1 and key.lower() != key and len(key.lower()) == 1:
        key, shift = key.lower(), True
    return KeyEvent(key, text, shift=shift, alt=alt, ctrl=ctrl, super=super_)


def text_key(text: str) -> events.Key:
    """Textual's event for typed text: a key if it is one character."""
    return key_message(named_key(_character_to_key(text), text) if len(text) == 1 else KeyEvent("", text))
