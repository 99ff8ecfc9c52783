"""Each kind of window with answers worked out by hand: pushed one by one, at once, and out of order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import freshet
from declaring import register
from freshet.native.streams.stream import DerivedCounts
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Literal

S, T, AT = "http://example.org/s", "http://example.org/t", "http://example.org/at"
PREFIX = "PREFIX : <http://example.org/>\n"
RSPQL = (
    PREFIX + "REGISTER {r2s} :q AS SELECT ?v FROM NAMED WINDOW :w ON :s {window} WHERE {{ WINDOW :w {{ ?x :p ?v }} }}"
)
CQELS = PREFIX + "SELECT ?v WHERE {{ STREAM :s {window} {{ ?x :p ?v }} }}"

Line = tuple[int, str]


def line(time_ms: int, value: str, subject: str = "a", predicate: str = "p") -> str:
    return f"{time_ms}\t<http://example.org/{subject}> <http://example.org/{predicate}> {value} .\n"


def reports(session: freshet.Session, registered) -> list[tuple[int, str]]:
    """Each report as its time and its values, in order and without a space."""
    found = []
    for report in registered.take():
        values = sorted(row["v"].lexical for row in session.bindings(report) if isinstance(row["v"], Literal))
        found.append((report.time_ms, "".join(values)))
    return found


def run(query: str, batches: Sequence[Sequence[Line]], *, lateness_ms: int = 0, **how) -> list[tuple[int, str]]:
    session = freshet.Session()
    session.stream(S, lateness_ms=lateness_ms)
    registered = register(session, query, **how)
    for batch in batches:
        session.push(S, "".join(line(time_ms, f'"{value}"') for time_ms, value in batch))
    session.finish()
    assert not session.failures
    return reports(session, registered)


IN_ORDER = [(1, "a"), (3, "b"), (3, "c"), (4, "d"), (9, "e"), (20, "f")]
OUT_OF_ORDER = [(3, "b"), (1, "a"), (4, "d"), (3, "c"), (9, "e"), (20, "f")]

EXPECTED = [
    # The content at each instant, one after the other, and what was not there before: CQELS-QL reports what is new.
    (CQELS.format(window="[RANGE 5ms]"), [(1, "a"), (3, "bc"), (4, "d"), (9, "e"), (20, "f")]),
    (CQELS.format(window="[NOW]"), [(1, "a"), (3, "bc"), (4, "d"), (9, "e"), (20, "f")]),
    (CQELS.format(window="[TRIPLES 3]"), [(1, "a"), (3, "bc"), (4, "d"), (9, "e"), (20, "f")]),
    (CQELS.format(window="[ALL]"), [(1, "a"), (3, "bc"), (4, "d"), (9, "e"), (20, "f")]),
    (RSPQL.format(r2s="RSTREAM", window="[COUNT 3]"), [(1, "a"), (3, "abc"), (4, "bcd"), (9, "cde"), (20, "def")]),
    # N is 1, 3, 4, 5, 6 at the instants: a multiple of 2 is passed at 3, 4 and 20.
    (RSPQL.format(r2s="RSTREAM", window="[COUNT 3 STEP 2]"), [(3, "ab"), (4, "bcd"), (20, "def")]),
    (RSPQL.format(r2s="ISTREAM", window="[COUNT 3 STEP 2]"), [(3, "ab"), (4, "cd"), (20, "ef")]),
    (RSPQL.format(r2s="DSTREAM", window="[COUNT 3 STEP 2]"), [(4, "a"), (20, "bc")]),
    (RSPQL.format(r2s="RSTREAM", window="[COUNT 1 STEP 4]"), [(4, "d")]),
    (
        RSPQL.format(r2s="RSTREAM", window="[RANGE PT0.005S STEP PT0.005S]"),
        [(5, "abcd"), (10, "e"), (25, "f")],
    ),
    (
        RSPQL.format(r2s="RSTREAM", window="[RANGE PT0.005S STEP PT0.002S]"),
        [(2, "a"), (4, "abc"), (6, "abcd"), (8, "bcd"), (10, "e"), (12, "e"), (14, "e"), (22, "f"), (24, "f")],
    ),
]


@pytest.mark.parametrize(
    ("query", "expected"), EXPECTED, ids=lambda value: value[-60:] if isinstance(value, str) else ""
)
def test_windows(query: str, expected: list[tuple[int, str]]) -> None:
    assert run(query, [IN_ORDER]) == expected
    assert run(query, [[element] for element in IN_ORDER]) == expected
    assert run(query, [[element] for element in OUT_OF_ORDER], lateness_ms=2) == expected
    assert run(query, [OUT_OF_ORDER[:3], OUT_OF_ORDER[3:]], lateness_ms=2) == expected


def aggregated(window: str) -> str:
    return PREFIX + f"SELECT (COUNT(?y) AS ?v) WHERE {{ STREAM :s {window} {{ ?x :p ?y }} }}"


@pytest.mark.parametrize(
    ("window", "counts"),
    [
        # Contents at 1, 3, 4, 9 and 20; a count that is as before is not new.
        ("[RANGE 5ms]", [(1, "1"), (3, "3"), (4, "4"), (9, "2"), (20, "1")]),  # 9: 4 and 9
        ("[RANGE 6ms]", [(1, "1"), (3, "3"), (4, "4"), (20, "1")]),  # 9: 3, 3, 4 and 9
        ("[RANGE 5ms SLIDE 4ms]", [(1, "1"), (3, "3"), (4, "4"), (9, "2"), (20, "1")]),  # as without SLIDE
        ("[RANGE 4ms TUMBLING]", [(1, "1"), (3, "3"), (4, "1")]),  # 4: from 4; 9: from 8
        ("[NOW]", [(1, "1"), (3, "2"), (4, "1")]),
        ("[TRIPLES 3]", [(1, "1"), (3, "3")]),
        ("[ALL]", [(1, "1"), (3, "3"), (4, "4"), (9, "5"), (20, "6")]),
    ],
)
def test_contents_at_instants(window: str, counts: list[tuple[int, str]]) -> None:
    for batches in ([IN_ORDER], [[element] for element in IN_ORDER]):
        assert run(aggregated(window), batches) == counts


def test_an_instant_waits_until_its_millisecond_is_over() -> None:
    session = freshet.Session()
    registered = register(session, CQELS.format(window="[NOW]"))
    session.push(S, line(5, '"a"'))
    session.push(S, line(5, '"b"'))
    assert reports(session, registered) == []
    session.advance(S, 5)
    assert reports(session, registered) == []
    session.advance(S, 6)
    assert reports(session, registered) == [(5, "ab")]


def test_windows_of_two_streams_move_together() -> None:
    """An element of one stream is an instant for the window over the other, which loses what is too old by then."""
    session = freshet.Session()
    text = PREFIX + "SELECT ?v ?u WHERE { STREAM :s [RANGE 5ms] { ?x :p ?v } STREAM :t [RANGE 5ms] { ?x :p ?u } }"
    registered = register(session, text)
    session.push(S, line(1, '"a"') + line(20, '"b"'))
    session.push(T, line(6, '"x"') + line(7, '"y"') + line(22, '"z"'))
    session.finish()
    found = [
        (report.time_ms, [(row["v"].lexical, row["u"].lexical) for row in session.bindings(report)])
        for report in registered.take()
    ]
    assert found == [(6, [("a", "x")]), (22, [("b", "z")])]


def test_a_close_comes_before_the_instant_of_its_millisecond() -> None:
    text = PREFIX + (
        "REGISTER RSTREAM :q AS SELECT ?v ?u FROM NAMED WINDOW :w ON :s [RANGE PT0.01S STEP PT0.01S] "
        "FROM NAMED WINDOW :x ON :s [COUNT 1] WHERE { WINDOW :w { ?x :p ?v } WINDOW :x { ?x :p ?u } }"
    )
    session = freshet.Session()
    registered = register(session, text)
    session.push(S, line(5, '"a"') + line(10, '"b"') + line(11, '"c"'))
    session.finish()
    found = [
        (report.time_ms, [(row["v"].lexical, row["u"].lexical) for row in session.bindings(report)])
        for report in registered.take()
    ]
    # At 10 the window closes with a, when a is also the last that has come; then b comes, and c.
    assert [pair for pair in found if pair[0] <= 11] == [(10, [("a", "a")]), (10, [("a", "b")]), (11, [("a", "c")])]
    assert found[3:] == [(20, [("b", "c"), ("c", "c")])]


EVENT = PREFIX + (
    "REGISTER RSTREAM :q AS SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE PT0.01S @:at{step}] "
    "WHERE {{ WINDOW :w {{ ?x :p ?v }} }}"
)
INTEGER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
DATE_TIME = '"{}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
EVENTS = [
    line(100, '"a"', "x") + line(100, INTEGER.format(5), "x", "at"),
    line(101, '"b"', "x") + line(101, '"c"', "y") + line(101, INTEGER.format(3), "y", "at"),  # b has no time
    line(102, DATE_TIME.format("1970-01-01T00:00:00.0149Z"), "x", "at") + line(102, '"d"', "x"),
    line(103, DATE_TIME.format("1970-01-01T01:00:00.022+01:00"), "x", "at") + line(103, '"e"', "x"),
    line(103, INTEGER.format(21), "x", "at"),
]


@pytest.mark.parametrize(
    ("step", "lateness_ms", "expected"),
    [
        ("", 2, [(3, "c"), (5, "ac"), (14, "ad"), (22, "de")]),
        ("", 0, [(5, "a"), (14, "ad"), (22, "de")]),  # c is behind a
        (" STEP PT0.005S", 2, [(5, "c"), (10, "ac"), (15, "ad"), (20, "d"), (25, "e"), (30, "e")]),
    ],
)
def test_time_from_a_predicate(step: str, lateness_ms: int, expected: list[tuple[int, str]]) -> None:
    for batches in (EVENTS, ["".join(EVENTS)]):
        session = freshet.Session()
        session.stream(S, lateness_ms=lateness_ms)
        registered = register(session, EVENT.format(step=step))
        for batch in batches:
            session.push(S, batch)
        session.finish()
        assert reports(session, registered) == expected
        late = 0 if lateness_ms else 2  # with the triple that gives its time
        assert session.engine.streams[S].derived == {AT: DerivedCounts(late, untimed=1)}
        assert session.engine.streams[S].late == 0


def event(time_ms: int, at_ms: int) -> str:
    """An event whose value is its time in the derived stream."""
    return line(time_ms, f'"{at_ms}"', f"x{at_ms}") + line(time_ms, INTEGER.format(at_ms), f"x{at_ms}", "at")


@pytest.mark.parametrize("others", [[], ["before"], ["before", "meanwhile"]])
def test_time_from_a_predicate_begins_with_the_query(others: list[str]) -> None:
    """What waits for its event to be over, and how far another query has come, make no difference."""
    session = freshet.Session()
    session.stream(S, lateness_ms=1)
    registered = []
    for name, text in (("before", event(1, 1) + event(2, 50)), ("meanwhile", event(3, 60)), ("", event(4, 7))):
        if not name or name in others:
            registered.append(register(session, EVENT.format(step="").replace(":q", f":{name}q")))
        session.push(S, text)
    session.push(S, event(9, 9) + event(20, 12))
    session.finish()
    assert reports(session, registered[-1]) == [(7, "7"), (9, "79"), (12, "1279")]


def test_what_does_not_enter_a_derived_stream_is_counted_once() -> None:
    session = freshet.Session()
    session.stream(S)
    for name in (":one", ":two"):  # registered at different times, so their streams are two
        register(session, EVENT.format(step="").replace(":q", name))
        session.push(S, event(1, 50))
    other = "http://example.org/other"
    register(session, EVENT.format(step="").replace("@:at", "@:other"))
    session.push(S, event(2, 60) + event(3, 20) + line(4, '"none"'))
    session.finish()
    counted = session.engine.streams[S].derived
    assert counted == {AT: DerivedCounts(late=2, untimed=1), other: DerivedCounts(untimed=5)}


SLIDING = RSPQL.format(r2s="RSTREAM", window="[RANGE PT0.010S STEP PT0.005S]")


def test_report_conditions() -> None:
    elements = [(1, "a"), (12, "b"), (40, "c")]
    assert run(SLIDING, [elements]) == [(5, "a"), (10, "a"), (15, "b"), (20, "b"), (45, "c"), (50, "c")]
    assert run(SLIDING, [elements], report="change") == [(5, "a"), (15, "b"), (45, "c")]
    dstream = SLIDING.replace("RSTREAM", "DSTREAM")
    assert run(dstream, [elements]) == [(15, "a"), (25, "b"), (55, "c")]
    # Where it is passed over that everything is gone, that shows when something has come again.
    assert run(dstream, [elements], report=["non-empty", "change"]) == [(15, "a"), (45, "b")]
    with pytest.raises(InputError, match="'sometimes' is no report condition: write close, change, non-empty"):
        run(SLIDING, [elements], report="sometimes")


def test_period() -> None:
    elements = [(1, "a"), (12, "b"), (40, "c")]
    assert run(SLIDING, [elements], every_ms=7) == [(7, "a"), (14, "a"), (21, "b"), (49, "c")]
    count = RSPQL.format(r2s="RSTREAM", window="[COUNT 2]")
    assert run(count, [elements[:2]], every_ms=7) == [(7, "a"), (14, "ab")]
    with pytest.raises(InputError, match="every 0 ms"):
        run(SLIDING, [elements], every_ms=0)
