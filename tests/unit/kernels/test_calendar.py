from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.calendar import date_from_days, days_from_date, days_in_month

EPOCH = date(1970, 1, 1)


@settings(deadline=None)
@given(st.dates())
def test_days_there_and_back(day: date) -> None:
    days = (day - EPOCH).days
    assert days_from_date(day.year, day.month, day.day) == days
    assert date_from_days(days) == (day.year, day.month, day.day)


@settings(deadline=None)
@given(st.integers(1, 9998), st.integers(1, 12))
def test_length_of_months(year: int, month: int) -> None:
    first_of_next = date(year + month // 12, month % 12 + 1, 1)
    assert days_in_month(year, month) == (first_of_next - timedelta(days=1)).day
