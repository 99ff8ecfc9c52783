"""Durations: ISO 8601, and numbers with units."""

from __future__ import annotations

import pytest

from freshet.syntax.durations import LONGEST_MS, duration_ms, unit_duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT10S", 10_000),
        ("PT1M30S", 90_000),
        ("PT0.5S", 500),
        ("PT0,25S", 250),
        ("PT2H", 7_200_000),
        ("P1D", 86_400_000),
        ("P1W", 604_800_000),
        ("P1DT12H", 129_600_000),
        ("PT1.5M", 90_000),
        ("pt10s", 10_000),
        ("PT0S", 0),
        (f"PT{LONGEST_MS // 1000}S", LONGEST_MS // 1000 * 1000),
    ],
)
def test_durations(text, milliseconds):
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P", "not an ISO 8601 duration"),
        ("PT", "not an ISO 8601 duration"),
        ("P1DT", "not an ISO 8601 duration"),
        ("PT10", "not an ISO 8601 duration"),
        ("P10S", "not an ISO 8601 duration"),
        ("PT5S3M", "not an ISO 8601 duration"),
        ("P1Y", "years or months"),
        ("P2M", "years or months"),
        ("PT0.0005S", "whole number of milliseconds"),
        ("PT1.5M30S", "only the last number"),
        (f"PT{LONGEST_MS}S", "too long"),
        ("P" + "9" * 10_000 + "D", "too many digits"),
    ],
)
def test_what_is_no_duration_of_a_window(text, message):
    with pytest.raises(ValueError, match=message):
        duration_ms(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("10s", 10_000),
        ("3000ms", 3_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("2weeks", 1_209_600_000),
        ("2d", 172_800_000),
        ("1.5s", 1_500),
        ("10S", 10_000),
        ("3000000ns", 3),
        ("0s", 0),
    ],
)
def test_durations_with_units(text, milliseconds):
    assert unit_duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10", "10 is not a duration such as"),
        ("s", "s is not a duration such as"),
        ("", "is not a duration such as"),
        ("10 s", "10 s is not a duration such as"),
        ("10months", "months is no unit of time"),
        ("1ns", "1ns is not a whole number of milliseconds"),
        ("9" * 41 + "s", "has too many digits"),
        ("9" * 20 + "d", "is too long"),
    ],
)
def test_what_is_no_duration_with_units(text, problem):
    with pytest.raises(ValueError, match=problem):
        unit_duration_ms(text)
