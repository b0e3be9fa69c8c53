"""Reasons in receipts: what a queued prompt waits for, and why one was refused or is unknown."""

from __future__ import annotations

# Why it was refused, or is not known to have been taken.
UNCONFIRMED = "submitted twice, and nothing shows that it was taken"
NOT_TAKEN = "the program did not take it; its text was removed from the input box again"
LEFT_THERE = "the program did not take it; its text is still in the input box"
NOT_SHOWN = "the input box did not show its text, so it was not submitted"
MIXED = "something else got into the input box with it, so it was not submitted"
CUT = "its screen server was replaced meanwhile; its text may be in the input box, not submitted"
UNREADING = "the program does not read its input"
EMPTY_TEXT = "it has no text"
PROGRAM_ENDED = "the program has ended"
STOPPED = "it was stopped"
UNKNOWABLE = "this program does not show whether it was taken"
NO_TURN = "the input box has taken it, and no turn was seen to begin"
NOT_LOGGED_IN = "it is not logged in"

# What one that was typed waits for.
HELD = "its text is in the input box; a question came up before Enter, which follows once that is answered"
UNREAD = "its program is not reading input; Enter follows once it has read the text"

# What a queued one waits for.
BEHIND = "behind another prompt"
FOLLOWED = "the prompt before it is on its way"
RESTORING = "a draft is being restored to its input box"
SETTING_UP = "its setup commands are running"
IS_STARTING = "it is starting"
IS_WORKING = "it is working"
IS_LIMITED = "it has hit a rate limit or quota"
ASKS = "it asks a question; answer that first"
LOGGED_OUT = "it is not logged in; log in there first"
IN_MENU = "a menu is open there; close it first"
SAYS_NOTHING = "nothing shows whether it waits for input; --now types it anyway"
HALF_TYPED = "its input box may contain half a prompt; --now types it anyway"
HANDS_ON = "a person has just typed there"
HAS_DRAFT = "its input box holds a draft"
NOT_ASIDE = "its input box holds a draft that could not be set aside"
OTHER_MODE = "its input box is in another mode"
BOX_GONE = "its input box is not on the screen; close what covers it"
BOX_UNSEEN = "its input box was not recognized on the screen; --now types it anyway"
REDRAWS = "its screen is being redrawn"
JUST_CALM = "it has only just become idle"

# A note beside a receipt.
DRAFT_LOST = "a draft that was set aside could not be restored"

TOO_EARLY = frozenset({UNCONFIRMED, NO_TURN, LEFT_THERE})
"""Reasons that a slow program may still prove wrong by taking the prompt."""
