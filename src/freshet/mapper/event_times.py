"""When records happened: times as they are written in them, with the meaning that they have on Spark."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa

from freshet.kernels.event_time import UNREAD, read_times
from freshet.kernels.json_values import STRING
from freshet.rdf.arrow import key_ranges, numbers, read_only

_WHOLE = re.compile(r"([+-]?\d+)(\.\d*)?")
_MOST = 1 << 63  # a long of Java ends before it
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE_AND_TIME = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?\s*([A-Za-z].*|[+-].*)?", re.ASCII
)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?", re.ASCII)


def event_times(texts: pa.Array, form: str) -> pa.Array:
    """Milliseconds since 1970 of times written as `iso`, `epoch_ms` or `epoch_s`; null where they cannot be read."""
    if form == "iso":
        return _iso_times(texts)
    read = _epoch_ms if form == "epoch_ms" else _epoch_seconds
    return _numbers([None if text is None else read(text) for text in texts.to_pylist()])


def _iso_times(texts: pa.Array) -> pa.Array:
    """A kernel reads the usual form; others are read one by one."""
    data, starts, ends = key_ranges(texts)
    there = starts >= 0
    times = np.empty(len(texts), np.int64)
    read_times(read_only(data), starts, ends, np.full(len(texts), STRING, np.int8), there, times)
    for row in np.flatnonzero(there & (times == UNREAD)).tolist():
        found = _iso_ms(texts[row].as_py())
        times[row] = UNREAD if found is None else found
    return numbers(times, times != UNREAD)


def _numbers(values: list[int | None]) -> pa.Array:
    fits = [value is not None and -_MOST <= value < _MOST for value in values]
    plain = [value if value is not None and fit else 0 for value, fit in zip(values, fits, strict=True)]
    return numbers(np.array(plain, np.int64), np.array(fits, np.bool_))


def _epoch_ms(text: str) -> int | None:
    """
    >>> _epoch_ms(" 1500 "), _epoch_ms("15.9"), _epoch_ms("1e3")
    (1500, 15, None)
    """
    found = _WHOLE.fullmatch(text.strip())
    return None if found is None else int(found[1])


def _epoch_seconds(text: str) -> int | None:
    """Seconds with up to six decimals.

    >>> _epoch_seconds("1.2345"), _epoch_seconds("-2"), _epoch_seconds("x")
    (1234, -2000, None)
    """
    try:
        exact = Decimal(text.strip()).quantize(Decimal("1e-6"), ROUND_HALF_UP)
    except InvalidOperation:
        return None
    if not exact.is_finite() or abs(exact) >= 10**12:
        return None
    return int((exact * 1000).to_integral_value(ROUND_DOWN))


def _iso_ms(text: str) -> int | None:
    """A date and a time; in UTC where it has no zone.

    >>> _iso_ms("1970-01-01 0:0:1.5"), _iso_ms("1970-01-01T01:00+01:00"), _iso_ms("1970-01-01")
    (1500, 0, None)
    """
    found = _DATE_AND_TIME.fullmatch(text.rstrip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        local = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=UTC)
        offset = _offset(zone, local)
    except (ValueError, ZoneInfoNotFoundError, OSError):
        return None
    millis = int(((fraction or "") + "000")[:3])
    return (local - offset - _EPOCH) // timedelta(milliseconds=1) + millis


def _offset(zone: str | None, local: datetime) -> timedelta:
    if zone is None or zone in ("Z", "UTC", "GMT"):
        return timedelta()
    for prefix in ("UTC", "GMT", "UT"):
        zone = zone.removeprefix(prefix) if zone.startswith((f"{prefix}+", f"{prefix}-")) else zone
    given = _OFFSET.fullmatch(zone)
    if given is None:
        return ZoneInfo(zone).utcoffset(local.replace(tzinfo=None)) or timedelta()
    sign, hours, minutes, seconds = given.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    if offset > timedelta(hours=18) or int(minutes or 0) > 59 or int(seconds or 0) > 59:
        raise ValueError(zone)
    return offset if sign == "+" else -offset
