"""The keys of the timeline."""

from __future__ import annotations

from fleet_tui.tui.review.keys import ReviewKey, review_key

TIMELINE_KEYS: tuple[ReviewKey, ...] = (
    review_key("j down", "select(1)", "next, previous checkpoint", "Move", "checkpoint", 1, "j k"),
    review_key("k up", "select(-1)", "", "Move"),
    review_key("g home", "edge(-1)", "newest, oldest", "Move", shown="g G"),
    review_key("G end", "edge(1)", "", "Move"),
    review_key("J", "scroll(1)", "scroll the diff", "Move", shown="J K"),
    review_key("K", "scroll(-1)", "", "Move"),
    review_key("pagedown ctrl+d", "page(1)", "page of the diff", "Move", shown="pgdn pgup"),
    review_key("pageup ctrl+u", "page(-1)", "", "Move"),
    review_key("space", "mark", "mark, then = for two", "Compare", "mark two", 2),
    review_key("=", "compare", "diff of the two marked", "Compare", "diff of two", 3),
    review_key("b", "base", "against its start", "Compare", "against the start", 4),
    review_key("R", "restore", "bring the files back", "Change", "restore", 5),
    review_key("F", "fork", "fork from here", "Change", "fork", 6),
    review_key("c", "make", "make a checkpoint", "Change", "checkpoint now", 7),
    review_key("r", "rename", "name it", "Change", "name", 8),
    review_key("escape q", "leave", "back to the list", "Change", "back", 9, "esc"),
    review_key("?", "help", "these keys", "Change"),
)
