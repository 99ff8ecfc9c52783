"""Durations as settings give them: `500ms`, `2s`, `5m`, `1h`, `7d`, or ISO 8601 as in queries."""

from __future__ import annotations

import re

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SHORT = re.compile(r"([0-9]{1,12})\s*(ms|s|m|h|d)")


def setting_ms(text: str) -> int:
    """Milliseconds of a duration; a ValueError says what is wrong with it.

    >>> setting_ms("2s"), setting_ms("500ms"), setting_ms("PT1M30S")
    (2000, 500, 90000)
    """
    stripped = text.strip()
    if short := _SHORT.fullmatch(stripped):
        return int(short[1]) * _UNITS_MS[short[2]]
    if stripped[:1] in ("P", "p"):
        from freshet.syntax.durations import duration_ms

        return duration_ms(stripped)
    raise ValueError(f"'{text}' is not a duration: write 500ms, 2s, 5m, 1h, 7d or PT2S")
