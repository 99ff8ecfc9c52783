"""Durations as windows are given in them: ISO 8601, or numbers with units."""

from __future__ import annotations

import re
from fractions import Fraction

LONGEST_MS = 2**53
"""Some 285,000 years; past it no sum of times would be safe in 64 bits, and no one means it."""

_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_DURATION = re.compile(
    rf"P(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.IGNORECASE,
)
_WEEK_MS, _DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS = 604_800_000, 86_400_000, 3_600_000, 60_000, 1000
_MOST_DIGITS = 40

_UNITS_MS = {
    "ns": Fraction(1, 1_000_000),
    "ms": Fraction(1),
    "s": Fraction(_SECOND_MS),
    "m": Fraction(_MINUTE_MS),
    "h": Fraction(_HOUR_MS),
    "d": Fraction(_DAY_MS),
    "w": Fraction(_WEEK_MS),
}
# Units as words, which SPARQLstream writes in full.
_UNIT_WORDS = {
    **dict.fromkeys(("millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("second", "seconds", "sec"), "s"),
    **dict.fromkeys(("minute", "minutes", "min"), "m"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}
_UNIT_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?[A-Za-z]+)+")
_NUMBER_AND_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]+)")


def duration_ms(text: str) -> int:
    """A duration in milliseconds; a ValueError says what is wrong with it.

    >>> duration_ms("PT1M30S"), duration_ms("PT0.5S"), duration_ms("P1D")
    (90000, 500, 86400000)
    """
    match = _DURATION.fullmatch(text)
    if match is None or text[-1] in "pPtT":
        raise ValueError(f"{text[:40]} is not an ISO 8601 duration such as PT10S, PT1M30S or P1D")
    years, months, *rest = match.groups()
    if years or months:
        raise ValueError(f"{text[:40]} counts years or months, whose length varies: give days")
    written = [number for number in rest if number is not None]
    if any(not number.isdigit() for number in written[:-1]):
        raise ValueError(f"only the last number of {text[:40]} may have a fraction")
    if any(len(number) > _MOST_DIGITS for number in written):
        raise ValueError(f"{text[:20]}... has too many digits")
    units = (_WEEK_MS, _DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS)
    total = sum(
        (Fraction(number.replace(",", ".")) * unit for number, unit in zip(rest, units, strict=True) if number),
        Fraction(0),
    )
    return _whole_ms(total, text)


def unit_duration_ms(text: str) -> int:
    """A duration such as 10s in milliseconds; a ValueError says what is wrong with it.

    >>> unit_duration_ms("10s"), unit_duration_ms("1h30m"), unit_duration_ms("5000000ns"), unit_duration_ms("2HOURS")
    (10000, 5400000, 5, 7200000)
    """
    if _UNIT_DURATION.fullmatch(text) is None:
        raise ValueError(f"{text[:40]} is not a duration such as 500ms, 10s, 5m or 1h")
    found = _NUMBER_AND_UNIT.findall(text)
    parts = [(number, _UNIT_WORDS.get(unit.lower(), unit.lower())) for number, unit in found]
    for number, unit in parts:
        if unit not in _UNITS_MS:
            raise ValueError(f"{unit[:40]} is no unit of time: there are {', '.join(_UNITS_MS)}")
        if len(number) > _MOST_DIGITS:
            raise ValueError(f"{text[:20]}... has too many digits")
    return _whole_ms(sum((Fraction(number) * _UNITS_MS[unit] for number, unit in parts), Fraction(0)), text)


def _whole_ms(total: Fraction, text: str) -> int:
    if total > LONGEST_MS:
        raise ValueError(f"{text[:40]} is too long")
    if total.denominator != 1:
        raise ValueError(f"{text[:40]} is not a whole number of milliseconds")
    return int(total)
