"""Typed columns: one type where all terms of a variable have one datatype, terms as text where they differ."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freshet
from declaring import register
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import XSD, BlankNode, Iri, Literal, Term
from freshet.results.column_reader import ColumnReader
from freshet.results.report import Report

S = "http://example.org/s"
QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM <typed> AS SELECT ?o ?nothing FROM NAMED WINDOW <w> ON :s [RANGE PT100S STEP PT100S]
WHERE { WINDOW <w> { ?s ?p ?o } }"""


def xsd(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, Iri(XSD + datatype))


def report_of(*terms: Term) -> Report:
    """A report with one column of terms, one a row, and one that is never bound."""
    session = freshet.Session()
    registered = register(session, QUERY)
    session.push(S, [(at, Iri(f"http://a/{at}"), Iri("http://p"), term) for at, term in enumerate(terms)])
    session.finish()
    [report] = registered.take()
    return report


COLUMNS = [
    ("integer", pa.int64(), ["1", "-20", "+007", str(2**63 - 1), str(-(2**63))], [1, -20, 7, 2**63 - 1, -(2**63)]),
    ("int", pa.int64(), ["1", "2"], [1, 2]),
    ("integer", pa.large_string(), ["1", str(2**63)], ["1", str(2**63)]),
    ("integer", pa.large_string(), ["1", "one"], ["1", "one"]),
    ("decimal", pa.decimal128(38, 2), ["21.50", "-0.5", "+3"], [Decimal("21.5"), Decimal("-0.5"), Decimal(3)]),
    ("decimal", pa.decimal128(38, 18), ["19.833333333333333333"], [Decimal("19.833333333333333333")]),
    ("decimal", pa.decimal128(38, 0), ["9999999999999999999"], [Decimal("9999999999999999999")]),
    ("decimal", pa.large_string(), ["0.0000000000000000001"], ["0.0000000000000000001"]),
    ("decimal", pa.large_string(), ["120000000000000000000"], ["120000000000000000000"]),
    ("double", pa.float64(), ["1.5", "1.0E3", "-INF", "0.1"], [1.5, 1000.0, float("-inf"), 0.1]),
    ("double", pa.float64(), ["1.0E3", "072", "1E400"], [1000.0, 72.0, float("inf")]),
    ("double", pa.large_string(), ["1.50", "one"], ["1.50", "one"]),
    ("float", pa.float32(), ["1.5", "2.25"], [1.5, 2.25]),
    ("boolean", pa.bool_(), ["true", "false", "1"], [True, False, True]),
    ("string", pa.large_string(), ["x", "", 'say "x"\n'], ["x", "", 'say "x"\n']),
    ("duration", pa.large_string(), ["PT1S", "PT2S"], ["PT1S", "PT2S"]),
    ("dateTime", pa.timestamp("us", "UTC"), ["2024-05-06T07:08:09.25Z", "2024-05-06T07:08:09+02:00"],
     [datetime(2024, 5, 6, 7, 8, 9, 250_000, UTC), datetime(2024, 5, 6, 5, 8, 9, 0, UTC)]),
    ("dateTime", pa.timestamp("us"), ["1924-05-06T07:08:09"], [datetime(1924, 5, 6, 7, 8, 9)]),
    ("dateTime", pa.large_string(), ["2024-05-06T07:08:09Z", "2024-05-06T07:08:09"],
     ["2024-05-06T07:08:09Z", "2024-05-06T07:08:09"]),
    ("date", pa.date32(), ["2024-05-06", "1960-01-01"], [date(2024, 5, 6), date(1960, 1, 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("datatype", "kind", "lexical", "expected"), COLUMNS)
def test_terms_of_one_datatype_are_values(datatype: str, kind: pa.DataType, lexical: list[str], expected: list) -> None:
    batch = report_of(*(xsd(text, datatype) for text in lexical)).to_arrow()
    assert batch.column("o").type == kind
    assert batch.column("o").to_pylist() == expected
    about = {b"type": b"literal", b"datatype": (XSD + datatype).encode()}
    assert batch.schema.field("o").metadata == (about if datatype != "string" else {b"type": b"literal"})


def test_a_dateTime_with_nanoseconds_keeps_them() -> None:
    [column, _] = report_of(xsd("2024-05-06T07:08:09.123456789Z", "dateTime")).to_arrow().columns
    assert column.type == pa.timestamp("ns", "UTC")
    assert column[0].value % 10**9 == 123456789


def test_iris_have_no_brackets_and_one_language_is_metadata() -> None:
    batch = report_of(Iri("http://example.org/o"), Iri("http://example.org/p")).to_arrow()
    assert batch.column("o").to_pylist() == ["http://example.org/o", "http://example.org/p"]
    batch = report_of(Literal("a", language="en"), Literal("b", language="en")).to_arrow()
    assert batch.column("o").to_pylist() == ["a", "b"]
    assert batch.schema.field("o").metadata == {b"type": b"literal", b"language": b"en"}


def test_mixed_columns_are_terms_as_text() -> None:
    terms = [
        xsd("1", "integer"),
        xsd("1.5", "decimal"),
        Iri("http://example.org/o"),
        BlankNode("b"),
        Literal('tab\t"quote" \\ line\n'),
        Literal("x", language="en"),
    ]
    column = report_of(*terms).to_arrow().column("o")
    expected = [str(term) for term in terms]
    expected[3] = "_:s0.b"
    expected[4] = '"tab\\t\\"quote\\" \\\\ line\\n"'
    assert column.to_pylist() == expected
    column = report_of(Literal("a", language="en"), Literal("a", language="de")).to_arrow().column("o")
    assert column.to_pylist() == ['"a"@en', '"a"@de']
    assert report_of(BlankNode("a")).to_arrow().column("o").to_pylist() == ["_:s0.a"]


KINDS: list[list[Term]] = [
    [Iri("http://a"), Iri("http://b")],
    [Literal("a"), Literal("b\t")],
    [Literal("a", language="en")],
    [BlankNode("a"), BlankNode("b")],
    [xsd("1", "integer"), xsd("+02", "integer")],
    [xsd("1.5", "decimal")],
    [xsd("1.5", "double"), xsd("0.12345678901234567", "double")],
    [xsd("2020-01-01", "date")],
]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sets(st.integers(0, 7), min_size=1, max_size=2), st.randoms()), min_size=1, max_size=8))
def test_what_a_column_is_does_not_depend_on_those_before(columns: list[tuple[set[int], Random]]) -> None:
    dictionary, reader = Dictionary(), ColumnReader()
    for kinds, dice in columns:
        terms = [dice.choice(KINDS[dice.choice(sorted(kinds))]) for _ in range(dice.randint(1, 6))]
        ids = np.array([dictionary.encode(term) for term in terms] + [0] * dice.randint(0, 1), np.int64)
        field, values = reader.read(ids, dictionary)
        fresh_field, fresh_values = ColumnReader().read(ids, dictionary)
        assert field.equals(fresh_field, check_metadata=True)
        assert values.to_pylist() == fresh_values.to_pylist()
        if dice.random() < 0.1:
            dictionary.sweep([])


def test_unbound_is_null_and_a_column_of_nothing_has_no_type() -> None:
    answer = freshet.Session().query(
        "SELECT ?x ?y ?z { VALUES (?x ?y) { (1 <http://a>) (UNDEF UNDEF) (1 <http://b>) (-7 <http://a>) } }"
    )
    batch = answer.to_arrow()
    assert batch.to_pydict() == {
        "x": [1, None, 1, -7],
        "y": ["http://a", None, "http://b", "http://a"],
        "z": [None, None, None, None],
    }
    assert batch.schema.field("z").type == pa.null()


def test_doubles_that_are_unbound_or_beside_others() -> None:
    form = 'SELECT ?x { VALUES ?x { "01.5"^^<http://www.w3.org/2001/XMLSchema#double> UNDEF 2.5E0 %s } }'
    assert freshet.Session().query(form % "").to_arrow().column("x").to_pylist() == [1.5, None, 2.5]
    mixed = freshet.Session().query(form % "7").to_arrow().column("x").to_pylist()
    assert [text and text.partition("^^")[0] for text in mixed] == ['"01.5"', None, '"2.5E0"', '"7"']


def test_pandas_columns_have_missing_values() -> None:
    frame = freshet.Session().query(
        """SELECT * { VALUES (?i ?d ?e ?b ?t ?s ?a) {
          (1 1.5 2.5e0 true "2024-05-06T07:08:09Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> "x"
           "2024-05-06"^^<http://www.w3.org/2001/XMLSchema#date>)
          (UNDEF UNDEF UNDEF UNDEF UNDEF UNDEF UNDEF) } }"""
    )
    frame = frame.to_pandas()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "i": "Int64",
        "d": "decimal128(38, 1)[pyarrow]",
        "e": "Float64",
        "b": "boolean",
        "t": "datetime64[us, UTC]",
        "s": "string",
        "a": "date32[day][pyarrow]",
    }
    assert frame.isna().to_numpy().tolist() == [[False] * 7, [True] * 7]
    assert frame.loc[0].tolist() == [
        1, Decimal("1.5"), 2.5, True, pd.Timestamp("2024-05-06T07:08:09Z"), "x", date(2024, 5, 6)
    ]  # fmt: skip


def test_polars_columns() -> None:
    polars = pytest.importorskip("polars", reason="polars is optional")
    answer = freshet.Session().query("SELECT * { VALUES (?i ?d ?s ?n) { (1 1.5 'x' UNDEF) (UNDEF 2.25 'y' UNDEF) } }")
    frame = answer.to_polars()
    assert frame.schema == {
        "i": polars.Int64,
        "d": polars.Decimal(38, 2),
        "s": polars.String,
        "n": polars.Null,
    }
    assert frame.rows() == [(1, Decimal("1.50"), "x", None), (None, Decimal("2.25"), "y", None)]


def test_polars_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="needs the package polars"):
        freshet.Session().query("SELECT * {}").to_polars()


def test_empty_answers() -> None:
    answer = freshet.Session().query("SELECT ?s ?p { ?s ?p ?o }")
    assert answer.to_arrow().to_pydict() == {"s": [], "p": []}
    assert answer.to_pandas().shape == (0, 2)
    assert list(answer.bindings()) == []


def test_solutions_without_variables_are_counted() -> None:
    answer = freshet.Session().query("SELECT * {}")
    assert answer.to_arrow().num_rows == 1
    assert answer.to_pandas().shape == (1, 0)
    assert list(answer.bindings()) == [{}]


def test_ask_has_one_column() -> None:
    answer = freshet.Session().query("ASK {}")
    assert answer
    assert answer.to_arrow().to_pydict() == {"boolean": [True]}
    assert answer.to_pandas()["boolean"].tolist() == [True]
    assert not freshet.Session().query("ASK { FILTER (false) }")
    with pytest.raises(InputError, match="no bindings"):
        answer.bindings()


def test_construct_has_a_row_for_each_triple() -> None:
    answer = freshet.Session().query("CONSTRUCT { <http://a> <http://p> ?n } { VALUES ?n { 1 2 } }")
    assert answer.to_arrow().to_pydict() == {
        "subject": ["http://a"] * 2,
        "predicate": ["http://p"] * 2,
        "object": [1, 2],
    }
    assert [str(row["subject"]) for row in answer.bindings()] == ["<http://a>"] * 2
    empty = freshet.Session().query("CONSTRUCT { ?s <http://p> 1 } { ?s <http://p> 2 }")
    assert empty.to_arrow().to_pydict() == {"subject": [], "predicate": [], "object": []}


def test_reports_of_construct_and_of_shared_plans() -> None:
    session = freshet.Session()
    window = "FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]"
    made = register(
        session,
        f"REGISTER RSTREAM <made> AS CONSTRUCT {{ ?s <http://q> ?o }} {window} WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }}",
    )
    shared = [
        register(
            session,
            f"REGISTER RSTREAM <r{at}> AS SELECT ?o {window} "
            f"WHERE {{ WINDOW <w> {{ <http://a/{at}> <http://p> ?o }} }}",
        )
        for at in range(3)
    ]
    arriving = register(session, "SELECT ?o WHERE { STREAM <http://example.org/s> [NOW] { ?s <http://p> ?o } }")
    session.push(S, [(at, Iri(f"http://a/{at}"), Iri("http://p"), xsd(str(at), "integer")) for at in range(3)])
    session.finish()
    [report] = made.take()
    assert report.to_arrow().to_pydict() == {
        "subject": [f"http://a/{at}" for at in range(3)],
        "predicate": ["http://q"] * 3,
        "object": [0, 1, 2],
    }
    assert report.to_arrow().schema.metadata == {b"query": b"made", b"time": b"1000", b"stream": b"rstream"}
    assert [query.take()[0].to_arrow().to_pydict() for query in shared] == [{"o": [0]}, {"o": [1]}, {"o": [2]}]
    assert [report.to_arrow().to_pydict() for report in arriving.take()] == [{"o": [0]}, {"o": [1]}, {"o": [2]}]
