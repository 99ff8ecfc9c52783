"""Functions of dates and times (SPARQL 1.1, 17.4.5): the components of a dateTime, in its own time zone.

Inline dateTimes are taken apart by arithmetic, others by their lexical form, once for each distinct term. As in other
engines a date has a year, month and day too, and a time its hours, minutes and seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC
from decimal import Decimal
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.expressions.columns import Column, ColumnBatch
from freshet.expressions.distinct import encode, integer_id
from freshet.expressions.lexical import literal, simple_key, typed_key
from freshet.kernels import layout
from freshet.kernels.calendar import MS_PER_DAY, date_from_days, days_from_date
from freshet.kernels.values import DATE_TIME, TIME_LOCAL
from freshet.rdf.ids import XSD_DATE_TIME
from freshet.rdf.terms import Literal
from freshet.rdf.values import Ids

_DATE = r"(?P<year>-?[0-9]{4,})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_CLOCK = r"(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}):(?P<seconds>[0-9]{2}(?:\.[0-9]+)?)"
_DATE_TIME_FORM = re.compile(rf"(?:{_DATE})?T?(?:{_CLOCK})?(?P<zone>Z|[+-][0-9]{{2}}:[0-9]{{2}})?")
_COMPONENTS = ("year", "month", "day", "hours", "minutes")
_SECONDS_SCALE = 3
_FIRST_MS, _END_MS = -62_135_596_800_000, 253_402_300_800_000  # the years 1 to 9999
_ZONE_KINDS = (layout.DATETIME_Z, layout.DATETIME)


class DateTimeFields(NamedTuple):
    """The components of a lexical form; None where it has no such component."""

    year: int | None
    month: int | None
    day: int | None
    hours: int | None
    minutes: int | None
    seconds: str | None
    zone: str


def read_date_time(lexical: str) -> DateTimeFields:
    """The components of a valid lexical form of a date or time."""
    match = _DATE_TIME_FORM.fullmatch(lexical)
    assert match is not None, "its value has been read"
    year, month, day, hours, minutes = (None if match[name] is None else int(match[name]) for name in _COMPONENTS)
    if hours == 24:  # the midnight at which the next day begins
        hours = 0
        if year is not None:
            year, month, day = map(int, date_from_days(days_from_date(year, month, day) + 1))
    return DateTimeFields(year, month, day, hours, minutes, match["seconds"], match["zone"] or "")


def _inline_component(component: str, milliseconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """A whole-numbered component of dateTimes in milliseconds since 1970."""
    days = milliseconds // MS_PER_DAY
    if component in ("year", "month", "day"):
        dates: NDArray[np.datetime64] = days.astype("datetime64[D]")
        months: NDArray[np.datetime64] = dates.astype("datetime64[M]")
        if component == "day":
            return (dates - months).astype(np.int64) + 1
        if component == "month":
            return months.astype(np.int64) % 12 + 1
        years: NDArray[np.int64] = months.astype("datetime64[Y]").astype(np.int64) + 1970
        return years
    of_day = milliseconds - days * MS_PER_DAY
    return of_day // 3_600_000 if component == "hours" else of_day // 60_000 % 60


def _inline_seconds(milliseconds: NDArray[np.int64]) -> Ids:
    """Seconds as inline decimals, without zeros at the end."""
    mantissas, scales = milliseconds % 60_000, np.full(milliseconds.shape, _SECONDS_SCALE, np.int64)
    for _ in range(_SECONDS_SCALE):
        short = mantissas % 10 == 0
        mantissas = np.where(short, mantissas // 10, mantissas)
        scales -= short
    return int(layout.pack(layout.DECIMAL, 0)) | mantissas << layout.SCALE_BITS | scales


def _milliseconds(inline: Ids) -> NDArray[np.int64]:
    value = inline << (64 - layout.TYPE_SHIFT) >> (64 - layout.TYPE_SHIFT)
    return value >> 1


def is_inline_date_time(ids: Ids) -> NDArray[np.bool_]:
    """Where an id is that of an inline dateTime."""
    return (ids < 0) & np.isin((ids >> layout.TYPE_SHIFT) & layout.TYPE_MASK, _ZONE_KINDS)


def _date_times(batch: ColumnBatch, ids: Ids) -> list[DateTimeFields | None]:
    """The components of dates and times by their lexical forms, None for other terms."""
    kinds = batch.values(ids).kinds
    right = (kinds >= DATE_TIME) & (kinds <= TIME_LOCAL)
    date_times: list[DateTimeFields | None] = []
    for key, known in zip(batch.dictionary.keys(ids).to_pylist(), right, strict=True):
        parts = literal(key) if known else None
        date_times.append(None if parts is None else read_date_time(parts[0]))
    return date_times


def _outside(batch: ColumnBatch, ids: Ids, result: Ids, of_date_time: Callable[[DateTimeFields], int]) -> None:
    """Fill in the rows whose dateTimes are not inline."""
    rows = np.flatnonzero(ids > 0)
    if rows.size:
        distinct, places = encode(ids[rows])
        found = [0 if date_time is None else of_date_time(date_time) for date_time in _date_times(batch, distinct)]
        result[rows] = np.array(found, np.int64)[places]


def _component(component: str, batch: ColumnBatch, argument: Column) -> Ids:
    """YEAR, MONTH, DAY, HOURS and MINUTES."""
    ids = batch.ids(argument)
    inline = is_inline_date_time(ids)
    result = np.zeros(ids.size, np.int64)
    result[inline] = integer_id(0) | (_inline_component(component, _milliseconds(ids[inline])) & layout.VALUE_MASK)

    def number(date_time: DateTimeFields) -> int:
        value = getattr(date_time, component)
        return 0 if value is None else integer_id(value)

    _outside(batch, ids, result, number)
    return result


def _seconds(batch: ColumnBatch, argument: Column) -> Ids:
    ids = batch.ids(argument)
    inline = is_inline_date_time(ids)
    result = np.zeros(ids.size, np.int64)
    result[inline] = _inline_seconds(_milliseconds(ids[inline]))

    def seconds(date_time: DateTimeFields) -> int:
        if date_time.seconds is None:
            return 0
        return int(batch.intern([typed_key(f"{Decimal(date_time.seconds).normalize():f}", "decimal")])[0])

    _outside(batch, ids, result, seconds)
    return result


def _duration(zone: str) -> str:
    """A time zone as a canonical xsd:dayTimeDuration.

    >>> _duration("-05:30"), _duration("Z")
    ('-PT5H30M', 'PT0S')
    """
    if zone == "Z":
        return "PT0S"
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    text = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return f"{'-' if zone[0] == '-' else ''}PT{text}" if text else "PT0S"


def _zone(term: Callable[[str], str | None], batch: ColumnBatch, argument: Column) -> Ids:
    """TZ and TIMEZONE: what `term` makes of a time zone, which may be missing."""
    ids = batch.ids(argument)
    utc, none = (0 if key is None else int(batch.intern([key])[0]) for key in (term("Z"), term("")))
    inline = is_inline_date_time(ids)
    zoned = (ids >> layout.TYPE_SHIFT) & layout.TYPE_MASK == layout.DATETIME_Z
    result = np.where(inline, np.where(zoned, utc, none), np.int64(0))

    def zone_id(date_time: DateTimeFields) -> int:
        key = term(date_time.zone)
        return 0 if key is None else int(batch.intern([key])[0])

    _outside(batch, ids, result, zone_id)
    return result


def _timezone_key(zone: str) -> str | None:
    return typed_key(_duration(zone), "dayTimeDuration") if zone else None


def date_time_ids(times_ms: Ids) -> Ids:
    """Times as dateTimes in UTC, as NOW gives them; 0 where their year has not four digits."""
    values = (times_ms << 1 | 1) & np.int64(layout.VALUE_MASK)
    ids: Ids = layout.INLINE_FLAG | np.int64(layout.DATETIME_Z << layout.TYPE_SHIFT) | values
    return np.where((times_ms >= _FIRST_MS) & (times_ms < _END_MS), ids, np.int64(0))


def _now(batch: ColumnBatch) -> Ids:
    assert batch.context is not None
    date_time = batch.context.now.astimezone(UTC)
    text = date_time.strftime("%Y-%m-%dT%H:%M:%S") + f".{date_time.microsecond // 1000:03}Z"
    return np.array([batch.dictionary.encode(Literal(text, XSD_DATE_TIME))], np.int64)


FUNCTIONS: dict[str, Callable[..., Column]] = {
    "NOW": _now,
    "YEAR": partial(_component, "year"),
    "MONTH": partial(_component, "month"),
    "DAY": partial(_component, "day"),
    "HOURS": partial(_component, "hours"),
    "MINUTES": partial(_component, "minutes"),
    "SECONDS": _seconds,
    "TIMEZONE": partial(_zone, _timezone_key),
    "TZ": partial(_zone, simple_key),
}
