"""Event times in the usual form, against Python's own reading."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.event_time import UNREAD, read_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(text: str) -> int | None:
    data = np.frombuffer(f"<{text}>".encode(), np.uint8)
    found = int(read_time(data, 1, data.size - 1))
    return None if found == UNREAD else found


@settings(max_examples=300, deadline=None)
@given(
    st.datetimes(),
    st.sampled_from(["T", " "]),
    st.integers(0, 6),
    st.none() | st.timedeltas(timedelta(hours=-13, minutes=-59), timedelta(hours=13, minutes=59)),
)
def test_times_are_read_as_python_reads_them(time, between, digits, zone):
    minutes = 0 if zone is None else zone // timedelta(minutes=1)
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    fraction = f".{time.microsecond:06d}"[: digits + 1] if digits else ""
    text = f"{time:%m-%dT%H:%M:%S}{fraction}".replace("T", between)
    text = f"{time.year:04d}-{text}" + ("Z" if zone is None else f"{sign}{size // 60:02d}:{size % 60:02d}")
    micros = int(f"{fraction[1:]:0<6}") if fraction else 0
    moment = time.replace(microsecond=micros, tzinfo=UTC) - EPOCH - timedelta(minutes=minutes)
    assert read(text) == moment // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-03-02", "2026-03-02T06:45:00", "2026-03-02T06:45Z", "2026-3-2T06:45:00Z", "06:45:00Z",
        "+2026-03-02T06:45:00Z", "2026-02-29T06:45:00Z", "2026-13-01T06:45:00Z", "2026-03-00T06:45:00Z",
        "2026-03-02T24:00:00Z", "2026-03-02T06:60:00Z", "2026-03-02T06:45:60Z", "2026-03-02T06:45:00.Z",
        "2026-03-02T06:45:00.1234567Z", "2026-03-02T06:45:00z", "2026-03-02T06:45:00ZZ", "2026-03-02T06:45:00+01:00Z",
        "2026-03-02T06:45:00+1:00", "2026-03-02T06:45:00+14:00", "2026-03-02T06:45:00+01:60",
        "2026-03-02T06:45:00 UTC", "2026-03-02X06:45:00Z", "2026/03/02T06:45:00Z", "2026-03-02T06-45:00Z",
        "2026-03-02T06:45-00Z", "0000-03-02T06:45:00Z", "20a6-03-02T06:45:00Z", "2026-03-02T06:45:00.",
        " 2026-03-02T06:45:00Z",
    ],
)  # fmt: skip
def test_other_forms_are_left_to_others(text):
    assert read(text) is None
