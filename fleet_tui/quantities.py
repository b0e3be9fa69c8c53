"""Format counts, ages, sizes, tokens and money as short text."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 agent, 3 agents, 2 branches."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or f'{noun}s'}"


def age(seconds: float) -> str:
    """A duration in its largest whole unit: 40s, 12m, 3h, 2d."""
    for limit, unit_seconds, unit in ((60, 1, "s"), (3600, 60, "m"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{max(0, int(seconds // unit_seconds))}{unit}"
    return f"{int(seconds // 86_400)}d"


def clock(seconds: float) -> str:
    """A duration in minutes and seconds: 9m 41s."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


def memory(size: int) -> str:
    """Bytes of memory in megabytes or gigabytes; empty for none."""
    if size <= 0:
        return ""
    return f"{size / (1 << 30):.1f}G" if size >= 1 << 30 else f"{max(1, size >> 20)}M"


def file_size(count: int) -> str:
    """Bytes of a file in the largest unit: 9B, 12K, 3M, 1.4G."""
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if count >= unit:
            return f"{count / unit:.1f}G" if name == "G" else f"{count // unit}{name}"
    return f"{count}B"


def tokens(count: int) -> str:
    """A number of tokens: 840, 12k, 3.4M."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1e6:.1f}M"


def dollars(cost: float | None) -> str:
    """A cost in dollars and cents, or "<$0.01"; empty when it is unknown."""
    if cost is None:
        return ""
    return "<$0.01" if 0 < cost < 0.005 else f"${cost:.2f}"
