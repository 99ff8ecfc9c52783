"""A stream that is silent for longer than its `idle` goes on with the wall clock."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import freshet
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.rdf.errors import InputError
from waiting import wait_until

EX = "http://example.org/"
S, T = EX + "s", EX + "t"
QUERY = f"""
    PREFIX : <{EX}> REGISTER RSTREAM <q> AS SELECT ?x FROM NAMED WINDOW <w> ON :s [RANGE PT5S STEP PT5S]
    WHERE {{ WINDOW <w> {{ ?x :p ?o }} }}"""
BOTH = f"""
    PREFIX : <{EX}> REGISTER RSTREAM <both> AS SELECT ?x FROM NAMED WINDOW <w> ON :s [RANGE PT5S STEP PT5S]
    FROM NAMED WINDOW <v> ON :t [RANGE PT5S STEP PT5S]
    WHERE {{ WINDOW <w> {{ ?x :p ?o }} OPTIONAL {{ WINDOW <v> {{ ?x :q ?r }} }} }}"""


def line(time_ms: int) -> str:
    return f"{time_ms}\t<{EX}{time_ms}> <{EX}p> <{EX}o> .\n"


class Silence:
    """A session whose stream S may be silent for 2 s; the query's reports are taken as times."""

    def __init__(self, *, lateness_ms: int = 0, held: bool = False, checkpoint: Path | None = None) -> None:
        self.clock = freshet.ManualClock()
        self.session = freshet.Session(clock=self.clock, checkpoint=checkpoint)
        self.session.stream(S, idle="2s", lateness_ms=lateness_ms, held=held)
        self.query = self.session.register(QUERY)

    @property
    def watermark_ms(self) -> int:
        return self.session.engine.streams[S].watermark_ms

    def push(self, *times: int) -> None:
        self.session.push(S, "".join(map(line, times)))

    def reports(self) -> list[tuple[int, list[str]]]:
        return [(each.time_ms, [row["x"].value[len(EX) :] for row in each.bindings()]) for each in self.query.take()]


def test_a_lone_element_is_answered() -> None:
    silence = Silence()
    silence.push(4000)
    silence.clock.advance(1.9)
    assert silence.watermark_ms == 4000
    assert silence.reports() == []
    silence.clock.advance(0.5)
    assert silence.watermark_ms >= 6000
    assert silence.reports() == [(5000, ["4000"])]


def test_the_time_is_its_own_plus_what_has_passed() -> None:
    silence = Silence(lateness_ms=1000)
    silence.push(4000)
    for seconds in (2, 3, 1):
        silence.clock.advance(seconds)
    assert silence.watermark_ms == 4000 - 1000 + 6000
    assert silence.reports() == [(5000, ["4000"])]


def test_what_comes_after_that_is_late_and_counted() -> None:
    silence = Silence()
    silence.push(4000)
    silence.clock.advance(10)
    silence.push(4500, 14_500)
    assert silence.session.engine.streams[S].late == 1
    silence.clock.advance(10)
    assert silence.reports() == [(5000, ["4000"]), (15_000, ["14500"])]


def test_silence_counts_from_the_last_element() -> None:
    silence = Silence()
    for at in range(10):
        silence.push(1000 + at)
        silence.clock.advance(1.9)
    assert silence.watermark_ms == 1009
    silence.clock.advance(2)
    assert silence.watermark_ms == 1009 + 3900
    silence.push(4990)
    silence.clock.advance(1.9)
    assert silence.watermark_ms == 4990


def test_a_push_finds_the_stream_where_the_wall_clock_has_brought_it() -> None:
    """Whether an element is late does not depend on when the timer looked last."""
    silence = Silence()
    silence.push(1000)
    silence.clock.pass_unseen(2.05)
    silence.push(3000)
    assert silence.session.engine.streams[S].late == 1
    assert silence.watermark_ms == 3050


def test_somebody_who_advances_a_stream_is_heard() -> None:
    silence = Silence(held=True)
    silence.push(1000)
    silence.clock.advance(1.5)
    silence.session.advance(S, 1500)
    silence.clock.advance(1.5)
    assert silence.watermark_ms == 1500
    silence.clock.advance(1)
    assert silence.watermark_ms == 4000


def test_without_idle_a_stream_waits() -> None:
    clock = freshet.ManualClock()
    session = freshet.Session(clock=clock)
    session.stream(S)
    query = session.register(QUERY)
    session.push(S, line(4000))
    clock.advance(1_000_000)
    assert query.take() == []


def test_a_silent_stream_does_not_hold_back_another() -> None:
    clock = freshet.ManualClock()
    session = freshet.Session(clock=clock)
    session.stream(S)
    session.stream(T, idle="2s")
    query = session.register(BOTH)
    session.push(T, f"1000\t<{EX}x> <{EX}q> _:b .")
    for second in range(20):
        session.push(S, line(1000 + 1000 * second))
        clock.advance(1)
    assert [report.time_ms for report in query.take()] == [5000, 10_000, 15_000, 20_000]


def test_a_stream_that_was_never_heard_goes_with_those_that_it_is_joined_with() -> None:
    clock = freshet.ManualClock()
    session = freshet.Session(clock=clock)
    session.stream(S)
    session.stream(T, idle="2s")
    query = session.register(BOTH)
    session.push(S, line(1000) + line(6000))
    clock.advance(1)
    assert query.take() == []
    clock.advance(1)
    assert [report.time_ms for report in query.take()] == [5000]
    assert session.engine.streams[T].watermark_ms == 6000
    clock.advance(50)
    assert session.engine.streams[T].watermark_ms == 6000
    session.push(S, line(11_000))
    clock.advance(1)
    assert [report.time_ms for report in query.take()] == [10_000]


def test_a_stream_that_nobody_has_time_for_stays_where_it_is() -> None:
    silence = Silence()
    silence.clock.advance(100)
    assert silence.watermark_ms == BEFORE_ALL_TIME
    silence.push(1000)
    silence.clock.advance(1)
    assert silence.watermark_ms == 1000


def test_nothing_goes_on_after_the_end() -> None:
    silence = Silence()
    silence.push(1000)
    silence.session.finish()
    silence.clock.advance(100)
    assert silence.reports() == [(5000, ["1000"])]
    silence.session.close()
    assert silence.clock.waiting == 0


@pytest.mark.parametrize("idle", ["3s", "PT3S", 3000, timedelta(seconds=3)])
def test_forms_of_durations(idle: object) -> None:
    session = freshet.Session(clock=freshet.ManualClock())
    session.stream(S, idle=idle)
    assert session.engine.streams[S].idle_ms == 3000


@pytest.mark.parametrize("idle", ["3", "soon", 0, -1, 2.5, "0s", timedelta(0), True])
def test_what_is_no_duration(idle: object) -> None:
    with pytest.raises(InputError, match="idle"):
        freshet.Session(clock=freshet.ManualClock()).stream(S, idle=idle)


def test_callbacks_may_push() -> None:
    clock = freshet.ManualClock()
    session = freshet.Session(clock=clock)
    session.stream(S, idle="2s")
    session.stream(T)
    session.register(QUERY, on_report=lambda report: session.push(T, line(report.time_ms)))
    session.push(S, line(4000))
    clock.advance(3)
    assert session.engine.streams[T].watermark_ms == 5000
    assert not session.failures


def test_the_system_clock_drives_it_without_a_call() -> None:
    with freshet.Session() as session:
        session.stream(S, idle="50ms")
        query = session.register(QUERY.replace("PT5S", "PT0.1S"))
        session.push(S, line(20))
        found: list[int] = []
        wait_until(lambda: found.extend(report.time_ms for report in query.take()) or found)
        assert found == [100]
