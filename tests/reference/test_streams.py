"""What the reference keeps of a stream, and what it makes of the time that a triple gives."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from reference.streams import XSD, derive, moment_ms, receive

E = "http://e/"


def line(time_ms: int, subject: str, predicate: str, value: int | str) -> tuple[int, str]:
    literal = f'"{value}"^^<{XSD}integer>' if isinstance(value, int) else f'"{value}"'
    return time_ms, f"<{E}{subject}> <{E}{predicate}> {literal} ."


def test_behind_the_watermark_is_dropped() -> None:
    lines = [
        line(3000, "a", "p", 1),
        line(1000, "b", "p", 2),
        line(999, "c", "p", 3),
        (2000, None),
        line(1500, "d", "p", 4),
    ]
    received = receive(lines, 2000)
    assert [(element.time_ms, element.triple.subject.value) for element in received.elements] == [
        (1000, E + "b"),
        (3000, E + "a"),
    ]
    assert (received.dropped, received.watermark_ms) == (2, 2000)


def test_the_stream_by_another_time() -> None:
    lines = [
        line(1, "a", "p", 1),
        line(1, "a", "at", 5000),
        line(2, "b", "p", 2),
        line(3, "c", "at", 4999),
        line(4, "d", "at", 6000),
    ]
    derived = derive(receive(lines, 0), E + "at")
    assert [(element.time_ms, element.triple.subject.value) for element in derived.elements] == [
        (5000, E + "a"),
        (5000, E + "a"),
        (6000, E + "d"),
    ]
    # b has no time, c is behind a; d enters at the end only, when the watermark is of no use any more.
    assert (derived.untimed, derived.dropped, derived.watermark_ms) == (1, 1, 5000)


@pytest.mark.parametrize(
    ("text", "datatype", "milliseconds"),
    [
        ("1500", "integer", 1500),
        ("1970-01-01T00:00:01.5", "dateTime", 1500),
        ("1970-01-01T01:00:01.5678+01:00", "dateTime", 1567),
        ("1970-01-02T00:00:00Z", "dateTimeStamp", 86_400_000),
        ("1500", "string", None),
        ("1.5", "decimal", None),
        ("noon", "dateTime", None),
    ],
)
def test_times(text: str, datatype: str, milliseconds: int | None) -> None:
    assert moment_ms(ox.Literal(text, datatype=ox.NamedNode(XSD + datatype))) == milliseconds
