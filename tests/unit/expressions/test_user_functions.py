"""Functions of the user's own: what they are given, what becomes of what they give back, and where they may stand."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import freshet

F = "http://example.org/f"
XSD = "http://www.w3.org/2001/XMLSchema#"
XPATH = "http://www.w3.org/2005/xpath-functions"
UTC = datetime.UTC


def session_with(function: Callable[..., object]) -> freshet.Session:
    session = freshet.Session()
    session.function(F, function)
    return session


def values(function: Callable[..., object], written: str = "1 2") -> list[str]:
    """What a function gives for some values, a row each; unbound where it is an error."""
    answer = session_with(function).query(f"SELECT ?y {{ VALUES ?x {{ {written} }} BIND (<{F}>(?x) AS ?y) }}")
    return [str(row["y"]) if row else "" for row in answer.bindings()]


@pytest.mark.parametrize(
    ("written", "type", "given"),
    [
        ("1 2", pa.int64(), [1, 2]),
        ("1.5e0 2.0e0", pa.float64(), [1.5, 2.0]),
        ("1.5 2.25", pa.decimal128(18, 2), [Decimal("1.5"), Decimal("2.25")]),
        ("true false", pa.bool_(), [True, False]),
        ("'a' 'b'", pa.large_string(), ["a", "b"]),
        ("<http://e/a> <http://e/b>", pa.large_string(), ["http://e/a", "http://e/b"]),
        ("1 UNDEF", pa.int64(), [1, None]),
    ],
)
def test_what_it_is_given(written: str, type: pa.DataType, given: list[object]) -> None:
    seen: list[pa.Array] = []

    def function(column: pa.Array) -> pa.Array:
        seen.append(column)
        return column.is_null()

    values(function, written)
    [column] = seen
    assert column.to_pylist() == given
    assert pa.types.is_decimal(column.type) if pa.types.is_decimal(type) else column.type == type


@pytest.mark.parametrize(
    ("given", "terms"),
    [
        (pa.array([3, None]), [f'"3"^^<{XSD}integer>', ""]),
        ([2**62, -5], [f'"{2**62}"^^<{XSD}integer>', f'"-5"^^<{XSD}integer>']),
        (np.array([1.5, 2.0]), [f'"1.5E0"^^<{XSD}double>', f'"2.0E0"^^<{XSD}double>']),
        (pa.array([Decimal("1.50"), Decimal("2.00")]), [f'"1.50"^^<{XSD}decimal>', f'"2.00"^^<{XSD}decimal>']),
        (
            [Decimal("0.0000001"), Decimal("-12.5")],
            [f'"0.0000001"^^<{XSD}decimal>', f'"-12.5000000"^^<{XSD}decimal>'],
        ),
        (
            pa.array([Decimal("3000"), None]).cast(pa.decimal128(4, -3), safe=False),
            [f'"3000"^^<{XSD}decimal>', ""],
        ),
        ([True, None], [f'"true"^^<{XSD}boolean>', ""]),
        (["a", 'b"'], ['"a"', '"b\\""']),
        (pa.array(["a", "a"]).dictionary_encode(), ['"a"', '"a"']),
        (pa.chunked_array([["a"], ["b"]]), ['"a"', '"b"']),
        (pa.scalar(7), [f'"7"^^<{XSD}integer>'] * 2),
        ([datetime.date(2026, 1, 2), None], [f'"2026-01-02"^^<{XSD}date>', ""]),
        (
            pa.array([datetime.datetime(2026, 1, 2, 3, 4, 5, 120000, UTC), datetime.datetime(2026, 1, 2, tzinfo=UTC)]),
            [f'"2026-01-02T03:04:05.12Z"^^<{XSD}dateTime>', f'"2026-01-02T00:00:00Z"^^<{XSD}dateTime>'],
        ),
        (
            pa.array([datetime.datetime(2026, 1, 2, 3, 4, 10), None]),
            [f'"2026-01-02T03:04:10"^^<{XSD}dateTime>', ""],
        ),
        ([{"type": "uri", "value": "http://e/a"}, None], ["<http://e/a>", ""]),
        (
            [
                {"type": "literal", "value": "a", "datatype": None, "language": "EN"},
                {"type": "literal", "value": "a", "datatype": "http://e/t", "language": None},
            ],
            ['"a"@en', '"a"^^<http://e/t>'],
        ),
        ([None, None], ["", ""]),
    ],
    ids=str,
)
def test_what_it_gives_back(given: object, terms: list[str]) -> None:
    assert values(lambda column: given) == terms


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([1], "it has 1 rows for 2"),
        ([[1], [2]], "is none of boolean"),
        ([{"type": "iri", "value": "a"}] * 2, "'iri' is none of uri, bnode, literal"),
        ([{"kind": "uri", "value": "http://e/a"}] * 2, "a term has a type, a value,.* not kind, value"),
        ([{"type": "uri", "value": "http://e/a b"}] * 2, "'http://e/a b' is no IRI"),
        ([{"type": "uri", "value": "http://e/> <http://e/"}, None], "is no IRI"),
        ([{"type": "bnode", "value": "b 1"}, None], "'b 1' is no label of a blank node"),
        ([{"type": "literal", "value": "a", "datatype": "t>"}, None], "'t>' is no IRI"),
        ([{"type": "literal", "value": "a", "language": "e n"}, None], "'e n' is no language tag"),
        ([2**70, 1], f"the function <{F}> gave back no column of terms"),
        (None, f"the function <{F}> gave back no column of terms"),
    ],
)
def test_what_is_no_column(given: object, says: str) -> None:
    with pytest.raises(freshet.FreshetError, match=says):
        values(lambda column: given)


def test_one_that_raises() -> None:
    with pytest.raises(freshet.FreshetError, match=f"the function <{F}> raised ZeroDivisionError: division"):
        values(lambda column: 1 / 0)


@pytest.mark.parametrize(
    ("iri", "function", "says"),
    [
        ("f", len, "an absolute IRI"),
        (F, 3, "cannot be called"),
        (XSD + "integer", len, "there is a function"),
        (XSD + "hexadecimal", len, f"the functions under {XSD} are built in"),
        (XPATH + "/math#sinh", len, f"the functions under {XPATH}/math# are built in"),
        (XPATH + "#abs", len, "there is a function"),
        ("http://larkc.eu/csparql/sparql/jena/ext#timestamp", len, "there is a function"),
    ],
)
def test_what_is_refused(iri: str, function: Callable[..., object], says: str) -> None:
    with pytest.raises(freshet.InputError, match=says):
        freshet.Session().function(iri, function)
    with pytest.raises(freshet.UnsupportedError, match=f"the function <{F}>"):
        freshet.Session().query(f"SELECT (<{F}>(1) AS ?x) {{}}")


CONTINUOUS = """PREFIX : <http://example.org/>
REGISTER RSTREAM <q> AS SELECT ?s (SUM(:f(?v, 10)) AS ?sum)
FROM NAMED WINDOW <w> ON :s [RANGE PT2S STEP PT1S]
WHERE { WINDOW <w> { ?s :p ?v FILTER (:f(?v, 1) != 4) }
FILTER NOT EXISTS { WINDOW <w> { ?s :p ?x FILTER (:f(?x, 0) > 7) } } }
GROUP BY ?s"""
LINE = "{}\t<http://example.org/{}> <http://example.org/p> {} .\n"
ELEMENTS = [(100, "a", 1), (1100, "a", 2), (1200, "a", 3), (1300, "b", 8)]
PUSHED = "".join(LINE.format(time, s, f'"{v}"^^<{XSD}integer>') for time, s, v in ELEMENTS)


def sums(session: freshet.Session) -> list[tuple[int, dict[str, list[object]]]]:
    return [(report.time_ms, report.to_arrow().to_pydict()) for report in session.registered("q").take()]


EXPECTED = [
    (1000, {"s": ["http://example.org/a"], "sum": [11]}),
    (2000, {"s": ["http://example.org/a"], "sum": [23]}),
    (3000, {"s": ["http://example.org/a"], "sum": [12]}),
]


def test_continuous_queries() -> None:
    session = session_with(pc.add)
    session.stream("http://example.org/s")
    session.register(CONTINUOUS)
    session.push("http://example.org/s", PUSHED)
    session.finish()
    assert sums(session) == EXPECTED


def test_a_query_of_a_checkpoint(tmp_path: Path) -> None:
    with freshet.Session(checkpoint=tmp_path, functions={F: pc.add}) as session:
        session.stream("http://example.org/s")
        session.register(CONTINUOUS)
        session.push("http://example.org/s", PUSHED)
    with freshet.Session(checkpoint=tmp_path, functions={F: pc.add}) as session:
        session.finish()
        assert sums(session)[-1] == EXPECTED[-1]


def test_a_continuous_query_fails_where_its_function_raises() -> None:
    session = session_with(lambda *columns: 1 / 0)
    session.stream("http://example.org/s")
    session.register(CONTINUOUS)
    session.push("http://example.org/s", PUSHED)
    session.finish()
    assert [failure.query for failure in session.failures] == ["q"]
    assert "raised ZeroDivisionError" in session.failures[0].reason


def test_a_live_query() -> None:
    session = session_with(pc.negate)
    session.stream("http://example.org/s", absorb=True)
    query = session.register(f"SELECT ?v {{ ?s ?p ?v FILTER (<{F}>(?v) < -2) }}", name="q")
    session.push("http://example.org/s", PUSHED)
    found = [report.to_arrow().to_pydict() for report in query if len(report.rows)]
    assert sorted(value for report in found for value in report["v"]) == [3, 8]
