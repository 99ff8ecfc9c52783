"""Reports in columns: what a batch holds, as reports, as Arrow and as lines of JSON."""

from __future__ import annotations

import gc
from collections import deque
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import freshet
from declaring import register
from freshet.algebra.nodes import StreamOperator
from freshet.native.memory.term_collector import TermCollector
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import XSD, BlankNode, Iri, Literal, Term
from freshet.results.answers import AnswerBatch, ArrowMemory, hand_over, joined
from freshet.results.report import Freshness, Report
from freshet.results.write import batch_json, report_json
from freshet.runtime.registered_query import RegisteredQuery

DICTIONARY = Dictionary()
S = "http://example.org/s"
WINDOW = "FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }"
SELECT = f"REGISTER RSTREAM <q> AS SELECT ?o {WINDOW}"
CONSTRUCT = f"REGISTER RSTREAM <made> AS CONSTRUCT {{ ?s <http://q> [ <http://r> ?o ] }} {WINDOW}"


def xsd(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, Iri(XSD + datatype))


def batch_of(counts: list[int], columns: dict[str, list[Term | None]], *, first: int = 0) -> AnswerBatch:
    """Reports at 10, 20, ... with so many rows each, which begin at a row of a longer array."""
    rows = np.array(
        [[0 if term is None else DICTIONARY.encode(term) for term in column] for column in columns.values()], np.int64
    ).T.reshape(-1, len(columns))
    rows = np.concatenate([np.full((first, len(columns)), DICTIONARY.encode(Literal("other"))), rows])
    moments = 20 * np.arange(1, len(counts) + 1)
    offsets = first + np.concatenate(([0], np.cumsum(counts)))
    return AnswerBatch("q", StreamOperator.ISTREAM, tuple(columns), moments, offsets, rows, DICTIONARY)


NUMBERS = [xsd("1", "integer"), xsd("-7", "integer"), xsd(str(2**62), "integer")]


@pytest.mark.parametrize("first", [0, 3])
def test_a_row_for_each_solution_with_the_time_of_its_report(first: int) -> None:
    names = [Iri("http://a"), Iri("http://b"), Iri("http://a")]
    arrow = batch_of([2, 1], {"n": NUMBERS, "s": names}, first=first).to_arrow()
    assert arrow.schema.names == ["time", "n", "s"]
    assert arrow.schema.field("time").type == pa.timestamp("ms")
    assert arrow.schema.metadata == {b"query": b"q", b"stream": b"istream"}
    assert arrow.column("time").cast(pa.int64()).to_pylist() == [10, 10, 20]
    assert arrow.column("n").to_pylist() == [1, -7, 2**62]
    assert arrow.column("s").to_pylist() == ["http://a", "http://b", "http://a"]


TYPED = [
    (pa.int64(), ["1", "-20", str(2**57)], "integer", [1, -20, 2**57]),
    (pa.decimal128(38, 2), ["21.50", "-0.5", "3"], "decimal", [Decimal("21.50"), Decimal("-0.5"), Decimal(3)]),
    (pa.decimal128(38, 18), ["0.000000000000000001", "4000000000000000", "1"], "decimal",
     [Decimal("1e-18"), Decimal("4e15"), Decimal(1)]),
    (pa.large_string(), ["0.1", "999999999999999999999.9", "1"], "decimal", ["0.1", "999999999999999999999.9", "1"]),
    (pa.large_string(), ["0.0000000000000000000001", "1", "2"], "decimal",
     ["0.0000000000000000000001", "1", "2"]),
    (pa.float64(), ["0.1", "1.5E-20", "-2.0E5"], "double", [0.1, 1.5e-20, -2e5]),
    (pa.float64(), ["0.1", "3.4558419206478604E1", "INF"], "double", [0.1, 34.558419206478604, float("inf")]),
    (pa.large_string(), ["0.1", "abc", "1"], "double", ["0.1", "abc", "1"]),
    (pa.float32(), ["0.1", "2.5", "7"], "float", [float(np.float32(0.1)), 2.5, 7.0]),
    (pa.bool_(), ["true", "false", "true"], "boolean", [True, False, True]),
    (pa.timestamp("us", "UTC"), ["2024-05-06T07:08:09Z", "1924-05-06T07:08:09.250Z", "2024-05-06T07:08:09.000Z"],
     "dateTime", [datetime(2024, 5, 6, 7, 8, 9, 0, UTC), datetime(1924, 5, 6, 7, 8, 9, 250_000, UTC),
                  datetime(2024, 5, 6, 7, 8, 9, 0, UTC)]),
    (pa.timestamp("us"), ["2024-05-06T07:08:09", "2024-05-06T07:08:10", "0001-01-01T00:00:00"], "dateTime",
     [datetime(2024, 5, 6, 7, 8, 9), datetime(2024, 5, 6, 7, 8, 10), datetime(1, 1, 1)]),
    (pa.large_string(), ["2024-05-06T07:08:09Z", "2024-05-06T07:08:09", "x"], "dateTime",
     ["2024-05-06T07:08:09Z", "2024-05-06T07:08:09", "x"]),
    (pa.large_string(), ["x", "", 'say "x"\n'], "string", ["x", "", 'say "x"\n']),
]  # fmt: skip


@pytest.mark.parametrize("unbound", [False, True])
@pytest.mark.parametrize(("kind", "lexical", "datatype", "expected"), TYPED)
def test_values_of_one_datatype_are_typed(
    kind: pa.DataType, lexical: list[str], datatype: str, expected: list, unbound: bool
) -> None:
    terms: list[Term | None] = [xsd(text, datatype) for text in lexical]
    nothing: list = [None] if unbound else []
    arrow = batch_of([1, 2 + unbound], {"v": terms + nothing}).to_arrow()
    expected_kind = pa.dictionary(pa.int32(), kind) if kind == pa.large_string() else kind
    assert arrow.schema.field("v").type == expected_kind
    assert arrow.column("v").to_pylist() == [*expected, *nothing]
    about = {b"type": b"literal"} | ({} if datatype == "string" else {b"datatype": (XSD + datatype).encode()})
    assert arrow.schema.field("v").metadata == about


def test_mixed_and_unbound_columns() -> None:
    mixed = [xsd("1", "integer"), xsd("true", "boolean"), Literal('a "b"\t', language="en"), Iri("http://a")]
    blank = [BlankNode("b"), None, None, BlankNode("c")]
    arrow = batch_of([1, 3], {"m": mixed, "b": blank, "u": [None] * 4}).to_arrow()
    assert arrow.column("m").to_pylist() == [
        f'"1"^^<{XSD}integer>', f'"true"^^<{XSD}boolean>', '"a \\"b\\"\\t"@en', "<http://a>"
    ]  # fmt: skip
    assert arrow.column("b").to_pylist() == ["_:b", None, None, "_:c"]
    assert arrow.schema.field("u").type == pa.null()


@pytest.mark.parametrize("count", [1, 5, 3000])
def test_texts_of_batches_before_are_found_again(count: int) -> None:
    memory = ArrowMemory()
    iris: list[Term | None] = [Iri(f"http://a/{number}") for number in range(count)]
    columns = [
        iris,
        [Iri("http://b"), None, *iris],
        [None, *iris[:1]],
        [Literal("a"), Literal("b"), *[Literal(str(number)) for number in range(count)]],
        iris,
        [*iris, Literal("a")],
        [xsd(f"{number}.1234567890123456789", "decimal") for number in range(count)],
        [*iris, BlankNode("b")],
        [Literal("a", language="en")],
        [Literal("b", language="de")],
        [*iris[:1], xsd("7", "integer")],
        [xsd("7", "integer"), *iris[:1]],
        [xsd("7", "integer"), None],
    ]
    for column in columns:
        batch = batch_of([len(column)], {"v": column})
        alone = batch.to_arrow()
        batch.memory = memory
        again = batch.to_arrow()
        assert again.schema.equals(alone.schema, check_metadata=True)
        assert again.to_pydict() == alone.to_pydict()


def test_texts_are_read_again_when_terms_were_dropped() -> None:
    dictionary, memory = Dictionary(hash_bits=3), ArrowMemory()
    for names in (["a", "b"], ["c", "a"], ["d", "b"]):
        ids = dictionary.encode_many([Iri(f"http://{name}") for name in names])
        batch = AnswerBatch("q", StreamOperator.RSTREAM, ("v",), np.array([20]), np.array([0, 2]), ids.reshape(-1, 1),
                            dictionary, memory=memory)  # fmt: skip
        assert batch.to_arrow().column("v").to_pylist() == [f"http://{name}" for name in names]
        assert dictionary.sweep([]) == 2


def test_few_of_many_texts_leave_those_that_are_gone_behind() -> None:
    memory = ArrowMemory()
    for count in (10_000, 20):
        column: list[Term | None] = [Iri(f"http://a/{number}") for number in range(count)]
        batch = batch_of([count], {"v": column})
        batch.memory = memory
        assert len(batch.to_arrow().column("v").dictionary) == count


def test_the_name_of_the_times_is_no_variables() -> None:
    arrow = batch_of([1], {"time": NUMBERS[:1], "report_time": NUMBERS[:1]}).to_arrow()
    assert arrow.schema.names == ["report_report_time", "time", "report_time"]


def test_solutions_without_variables_are_counted() -> None:
    batch = AnswerBatch("q", StreamOperator.RSTREAM, (), np.array([20]), np.array([0, 3]), np.empty((3, 0), np.int64),
                        DICTIONARY)  # fmt: skip
    assert batch.to_arrow().num_rows == 3
    assert batch_json(batch) == b'{"query":"q","time":10,"stream":"rstream","bindings":[{},{},{}]}\n'


TEXTS = [
    Literal('say "x" \\ \n\t\r\b\f\x01\x7f'),
    Literal("plain ü €"),
    Literal("x", language="en-gb"),
    xsd("1", "integer"),
    Iri("http://a/ü"),
    Iri("http://a/\\"),
    Literal("1", Iri("http://odd\\type")),
    BlankNode("b.1"),
    None,
]


@pytest.mark.parametrize("count", [2, 400])
def test_lines_of_a_batch_are_those_of_its_reports(count: int) -> None:
    many = [*TEXTS, *(Literal(f"{number}") for number in range(count))]
    others = [*(Iri(f"http://{number}") for number in range(len(many) - 1)), None]
    counts = [1 + number % 3 for number in range(len(many))]
    counts = counts[: int(np.searchsorted(np.cumsum(counts), len(many) - 3))]
    counts.append(len(many) - sum(counts))
    batch = batch_of(counts, {"a": many, 'b"': others}, first=1)
    expected = b"".join(report_json(report, DICTIONARY) for report in batch.reports())
    assert batch_json(batch) == expected
    assert batch_json(batch).count(b"\n") == len(batch) == len(counts)


def test_lines_of_freshness_and_of_reports_without_rows() -> None:
    batch = batch_of([1], {"n": NUMBERS[:1]})
    batch.freshness = Freshness(0.5, 1, 2.0, 3)
    [report] = batch.reports()
    assert report.freshness is batch.freshness
    assert batch_json(batch) == report_json(report, DICTIONARY)
    empty = batch_of([0, 1], {"n": NUMBERS[:1]})
    assert batch_json(empty) == b"".join(report_json(report, DICTIONARY) for report in empty.reports())
    assert batch_json(empty.part(0, 0)) == b""


def seen(report: Report) -> tuple:
    triples = None if report.graph is None else report.graph.shown.rows.tolist()
    return report.query, report.time_ms, report.stream, report.variables, report.rows.tolist(), triples


def test_parts_and_joined_batches_have_the_same_reports() -> None:
    batch = batch_of([2, 1, 3, 1], {"n": [*NUMBERS, *NUMBERS, None]}, first=2)
    everything = [seen(report) for report in batch.reports()]
    parts = [batch.part(0, 1), batch.part(1, 3), batch.part(3, 4)]
    assert [seen(report) for part in parts for report in part.reports()] == everything
    together = joined(parts)
    assert [seen(report) for report in together.reports()] == everything
    assert together.to_arrow().equals(batch.to_arrow())
    for moment, left in ((0, 4), (20, 3), (21, 3), (39, 3), (40, 2), (80, 0)):
        assert [seen(report) for report in batch.after(moment).reports()] == everything[4 - left :]


def test_closes_and_instants_have_one_time() -> None:
    batch = batch_of([1, 1], {"n": NUMBERS[:2]})
    batch.moments = np.array([20, 21])
    assert batch.times.tolist() == [10, 10]
    assert batch.after(20).times.tolist() == [10]


def test_nothing_more_is_handed_over_once_it_is_not_wanted() -> None:
    got: list[Report] = []
    hand_over(batch_of([1, 1, 1], {"n": NUMBERS}), got.append, lambda: len(got) < 2)
    assert [report.time_ms for report in got] == [10, 20]


# ---- in a session


def pushed(session: freshet.Session, *times: int) -> None:
    p = Iri("http://p")
    session.push(S, [(time, Iri(f"http://a/{time}"), p, xsd(str(time), "integer")) for time in times])


def test_take_arrow_gives_everything_since_the_last_take() -> None:
    session = freshet.Session()
    query = register(session, SELECT)
    empty = query.take_arrow()
    assert empty.schema.names == ["time", "o"]
    assert empty.num_rows == 0
    pushed(session, 100, 200, 1500, 2500)
    table = query.take_arrow()
    assert table.column("time").cast(pa.int64()).to_pylist() == [1000, 1000, 2000]
    assert table.column("o").to_pylist() == [100, 200, 1500]
    assert table.to_pandas()["o"].sum() == 1800
    assert query.take_arrow().num_rows == 0
    session.finish()
    assert [report.time_ms for report in query] == [3000]
    assert query.take() == []


def test_polars_reads_the_table() -> None:
    polars = pytest.importorskip("polars", reason="polars is optional")
    session = freshet.Session()
    query = register(session, SELECT)
    pushed(session, 100, 1100)
    frame = polars.from_arrow(query.take_arrow())
    assert frame.schema == {"time": polars.Datetime("ms"), "o": polars.Int64}


def test_construct_has_triples() -> None:
    session = freshet.Session()
    batches: list[AnswerBatch] = []
    register(session, CONSTRUCT, on_batch=batches.append)
    waiting = register(session, CONSTRUCT.replace("<made>", "<waiting>"))
    assert waiting.take_arrow().schema.names == ["time", "subject", "predicate", "object"]
    pushed(session, 100, 200, 1500)
    session.finish()
    batch = joined(batches)
    arrow = batch.to_arrow()
    assert arrow.schema.names == ["time", "subject", "predicate", "object"]
    assert sorted(set(zip(arrow.column("time").cast(pa.int64()).to_pylist(), arrow.column("predicate").to_pylist(),
                          strict=True))) == [(1000, "http://q"), (1000, "http://r"), (2000, "http://q"),
                                             (2000, "http://r")]  # fmt: skip
    assert session.ndjson(batch) == b"".join(session.ndjson(report) for report in batch.reports())
    assert [len(report.graph.subjects) for report in batch.reports()] == [4, 2]
    assert waiting.take_arrow().num_rows == 6


def test_a_loop_takes_the_reports_of_a_batch_one_by_one() -> None:
    batch = batch_of([1, 1, 1], {"n": NUMBERS})
    query = RegisteredQuery("q", ("n",), deque([batch]), deque([7]))
    for report in query:
        assert list(query.made) == [7]  # until all of them have been received
        if report.time_ms == 20:
            break
    assert [report.time_ms for report in query.take()] == [30]
    query.acknowledge()
    assert not query.made


def test_reports_go_to_one_callback() -> None:
    session = freshet.Session()
    with pytest.raises(InputError, match="'on_report' or 'on_batch'"):
        register(session, SELECT, on_report=print, on_batch=print)
    assert session.engine.names == []


@pytest.mark.parametrize("held", ["batch", "part", "report", "graph"])
def test_the_terms_of_what_somebody_holds_stay(held: str) -> None:
    session = freshet.Session(why_elements=0)  # else the newest elements are held as well
    session.engine.collector = TermCollector(session.dictionary, 100)
    batches: list[AnswerBatch] = []
    register(session, CONSTRUCT, on_batch=batches.append)
    text = "".join(f'{time}\t<http://a/{time}> <http://p> "text {time}" .\n' for time in range(20))
    session.push(S, text)
    session.advance(S, 1000)
    [batch] = batches
    batches.clear()
    kept: object = batch
    if held != "batch":
        part = batch.part(0, 1)
        report = next(part.reports())
        kept = {"part": part, "report": report, "graph": report.graph}[held]
        del part, report
    del batch
    for second in range(2, 60):
        base = 1000 * second
        session.push(S, "".join(f'{base + n}\t<http://a/{base + n}> <http://p> "x {base + n}" .\n' for n in range(20)))
        batches.clear()
    gc.collect()
    assert session.dictionary.generation > 0
    assert len(session.dictionary) < 2000
    shown = kept.to_arrow()  # type: ignore[attr-defined]
    assert [text for text in shown.column("object").to_pylist() if "text" in text] == [
        f'"text {time}"' for time in range(20)
    ]


def test_a_session_with_a_checkpoint_hands_over_batches(tmp_path) -> None:
    with freshet.Session(checkpoint=tmp_path / "c") as session:
        query = register(session, SELECT)
        pushed(session, 100, 1100, 2100)
        assert query.take_arrow().column("o").to_pylist() == [100, 1100]
        pushed(session, 3100)
    again: list[int] = []
    with freshet.Session(checkpoint=tmp_path / "c") as session:
        session.registered("q", on_batch=lambda batch: again.extend(batch.times.tolist()))
        pushed(session, 4100)
        assert again == [3000, 4000]
