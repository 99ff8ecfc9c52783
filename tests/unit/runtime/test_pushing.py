"""`Session.push` of everything it takes: what the stream gets is the same, however it was given."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import freshet
from declaring import register
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal
from freshet.runtime.pushing import Pushing

S = "http://example.org/s"
QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM :all AS SELECT ?s ?p ?o FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]
WHERE { WINDOW :w { ?s ?p ?o } }"""
A, P = Iri("http://example.org/a"), Iri("http://example.org/p")
OBJECTS = [
    Iri("http://example.org/o"),
    BlankNode("b"),
    Literal('say "x"\n'),
    Literal("Grüezi", RDF_LANG_STRING, "de-CH"),
    Literal("21", Iri(XSD + "integer")),
]
TEXTS = ["<http://example.org/o>", "_:b", '"say \\"x\\"\\n"', '"Grüezi"@de-CH', f'"21"^^<{XSD}integer>']
LINES = "".join(f"{A} {P} {text} .\n" for text in TEXTS)


def answers(*pushes, **options) -> list[dict[str, object]]:
    session = freshet.Session()
    registered = register(session, QUERY)
    for elements in pushes:
        session.push(S, elements, **options)
    session.finish()
    rows = [row for report in registered for row in session.bindings(report)]
    return sorted(rows, key=str)


def table(**columns) -> pa.Table:
    count = len(TEXTS)
    whole = {
        "time": pa.array([1000] * count),
        "subject": [str(A)] * count,
        "predicate": [str(P)] * count,
        "object": TEXTS,
    }
    return pa.table(whole | columns)


def encoded(strings: list[str], others: int = 1) -> pa.Array:
    """A dictionary-encoded column, whose dictionary has values besides that no row has, which are no terms."""
    values = list(dict.fromkeys(strings))
    places = [others // 2 + values.index(each) for each in strings]
    unused = [f"no term {number}" for number in range(others)]
    return pa.DictionaryArray.from_arrays(places, [*unused[: others // 2], *values, *unused[others // 2 :]])


@pytest.mark.parametrize(
    "pushed",
    [
        [table(subject=encoded([str(A)] * len(TEXTS)), object=encoded(TEXTS))],
        [table(subject=encoded([str(A)] * len(TEXTS), others=0), object=encoded(TEXTS, others=10))],
        [table(subject=encoded([str(A)] * len(TEXTS), others=100), object=encoded(TEXTS, others=100))],
        [[(1000, A, P, term) for term in OBJECTS]],
        [(1000, A, P, term) for term in OBJECTS],
        [iter([(np.int64(1000), A, P, term) for term in OBJECTS])],
        [[(1000, A, P, term) for term in OBJECTS] * 10],
        [table()],
        [table().to_batches()[0]],
        [pa.concat_tables([table().slice(0, 2), table().slice(2)])],
        [LINES.replace("<http://example.org/a>", "1000\t<http://example.org/a>")],
        [bytearray(LINES.replace("<http://example.org/a>", "1000\t<http://example.org/a>").encode())],
    ],
)
def test_every_way_gives_the_same(pushed) -> None:
    expected = answers(LINES, time_ms=1000)
    assert len(expected) == 5
    assert {"s": A, "p": P, "o": BlankNode("s0.b")} in expected
    assert {"s": A, "p": P, "o": Literal("Grüezi", RDF_LANG_STRING, "de-ch")} in expected
    assert answers(*pushed) == expected


def test_text_with_one_time() -> None:
    turtle = 'PREFIX : <http://example.org/>\n:a :p :o , _:b , 21 , "say \\"x\\"\\n" , "Grüezi"@de-CH .'
    quads = LINES.replace(" .\n", " <http://example.org/g> .\n")
    expected = answers(LINES, time_ms=7)
    assert answers(turtle, time_ms=7) == expected
    assert answers(quads.encode(), time_ms=7) == expected


def test_terms_that_are_known_are_found_by_their_texts() -> None:
    dictionary = Dictionary(hash_bits=5)  # some ask for the same id
    pushing = Pushing(dictionary, "s0", "pushed data")
    objects = [
        *(f"<http://example.org/{number}>" for number in range(20)),
        *(f'"{number}"' for number in range(20)),
        "_:b", "_:s0.b", '"x"@EN', '"x"@en', '"a\\tb"', '"\\u0041"', '"A"', '"5"^^<http://www.w3.org/2001/XMLSchema#integer>',
        '"05"^^<http://www.w3.org/2001/XMLSchema#integer>', "<http://example.org/\\u0041>", "<http://example.org/A>",
    ]  # fmt: skip
    lines = "".join(f"1\t{A} {P} {text} .\n" for text in objects)
    whole = pa.table({"time": [1] * len(objects), "subject": [str(A)] * len(objects),
                      "predicate": [str(P)] * len(objects), "object": objects})  # fmt: skip
    first, again = (pushing.elements(whole, None).elements for _ in range(2))
    text = pushing.elements(lines, None).elements
    for column, other, expected in zip(first, again, text, strict=True):
        assert column.tolist() == other.tolist() == expected.tolist()


def test_ids_in_a_table() -> None:
    session = freshet.Session()
    registered = register(session, QUERY)
    a, p = session.dictionary.encode(A), session.dictionary.encode(P)
    ids = pa.table({"time": [1, 2], "subject": [a, a], "predicate": [p, p], "object": [a, p]})
    session.push(S, ids)
    with pytest.raises(InputError, match="the id 12345, which no term has"):
        session.push(S, ids.set_column(3, "object", pa.array([a, 12345])))
    session.finish()
    assert [row["o"] for report in registered for row in session.bindings(report)] == [A, P]


@pytest.mark.parametrize(
    ("pushed", "words"),
    [
        (17, "a int cannot be pushed"),
        (None, "a NoneType cannot be pushed"),
        ((1000, A, P), "element 1 of pushed data is not"),
        ([(1000, A, P, A), (1000, A, A)], "element 2 of pushed data is not"),
        ([3], "element 1 of pushed data is not"),
        ((True, A, P, A), "its time"),
        ((1.5, A, P, A), "its time"),
        ((1000, Literal("x"), P, A), "its subject"),
        ((1000, A, BlankNode("b"), A), "its predicate"),
        ((1000, A, P, "o"), "its object"),
        ((2**61 + 1, A, P, A), "out of range"),
        ([(0, A, P, A), (-(2**63), A, P, A)], "out of range"),
        ((2**63, A, P, A), "out of range"),
        (f"1\t{A} {P} {A} .\n{2**62}\t{A} {P} {A} .", "pushed data:2:1: the time is out of range"),
        (table(time=pa.array([0, 1, 2, 3, 2**62])), "out of range"),
        ((1000, Iri(5), P, A), "an IRI is a string, not 5"),
        ((1000, A, Iri("http://example.org/a b"), A), "has ' ' in it"),
        ((1000, A, P, Iri("http://example.org/\ud800")), "in it"),
        ((1000, BlankNode("a b"), P, A), "'a b' is no label"),
        ((1000, A, P, BlankNode("")), "'' is no label"),
        ((1000, A, P, Literal(5)), "a string, not 5"),
        ([(1000, A, P, A), (1000, A, P, Literal("\ud800"))], "element 2 of pushed data: '\\ud800' has half"),
        ((1000, A, P, Literal("5", XSD + "integer")), "the datatype of a literal is an Iri, not 'http"),
        ((1000, A, P, Literal("5", Iri("a>b"))), "has '>' in it"),
        ((1000, A, P, Literal("x", RDF_LANG_STRING, "e n")), "'e n' is no language tag"),
        ((1000, A, P, Literal("x", Iri(XSD + "integer"), "en")), "has no other datatype"),
        ('1000\t<http://a> <http://b> "\ud800" .', "character 29 is half of one"),
        (Elements(*[np.array([1000.0])] * 4), "four arrays of int64"),
        (Elements(*[[1000]] * 4), "four arrays of int64"),
        (Elements(np.array([1000, 1000]), *[np.array([1000])] * 3), "all of one length"),
        (Elements(*[np.array([[1000]])] * 4), "2 dimensions"),
        (Elements(*[np.array([2**62])] * 4), "out of range"),
        (table().drop(["object"]), "no single column 'object'"),
        (table(time=["1"] * 5), "the column 'time' is string, not int64"),
        (table(object=pa.array([1.5] * 5)), "the column 'object' is double"),
        (table(object=[None, *TEXTS[1:]]), "the column 'object' has nulls"),
        (table(subject=[str(A)] * 4 + ['"x"']), "row 5 of the column 'subject' cannot be"),
        (table(predicate=["_:b"] * 5), "row 1 of the column 'predicate' cannot be"),
        (table(object=[*TEXTS[:3], "<http://o> . #", '"x"']), "row 4 of the column 'object' is not one term"),
        (
            table(subject=pa.array([str(A), str(A), '"x"', str(A), '"x"']).dictionary_encode()),
            "row 3 of the column 'subject'",
        ),
        (
            table(object=pa.array([*TEXTS[:2], "x", "y", "x"]).dictionary_encode()),
            "row 3 of the column 'object' is not",
        ),
        (table(object=[*TEXTS[:3], "", '"x"']), "row 4 of the column 'object' is not one term"),
        (table(object=[*TEXTS[:3], "<http://o> <http://g>", '"x"']), "row 4 of the column 'object' is not one term"),
        (table(object=[*TEXTS[:4], '"x" <u:g> .\n<u:s> <u:p> "y"']), "row 5 of the column 'object' is not one term"),
    ],
)
def test_what_cannot_be_pushed(pushed, words: str) -> None:
    session = freshet.Session()
    register(session, QUERY)
    with pytest.raises(InputError) as caught:
        session.push(S, pushed)
    assert words in str(caught.value)
    assert session.engine.streams[S].elements == 0


@pytest.mark.parametrize("unknown", [12345, 0, -1, -(2**63)])
@pytest.mark.parametrize(("count", "step"), [(1, 1), (3, 1), (3, 2)])
def test_ids_that_no_term_has(unknown: int, count: int, step: int) -> None:
    session = freshet.Session()
    registered = register(session, QUERY)
    with session.dictionary.pins:
        known = [1000, *session.dictionary.encode_many([A, P, Literal("5", Iri(XSD + "integer"))]).tolist()]
        for role, name in enumerate(("subject", "predicate", "object"), 1):
            columns = [np.full(count * step, each)[::step] for each in known]  # with gaps where the step is 2
            columns[role][-1] = unknown
            with pytest.raises(InputError) as caught:
                session.push(S, Elements(*columns))
            message = f"pushed elements: row {count} has as {name} the id {unknown}, which no term has"
            assert str(caught.value) == message
        session.push(S, Elements(*(np.full(count * step, each)[::step] for each in known)))
    session.finish()
    [report] = registered
    assert len(list(session.bindings(report))) == 1


@pytest.mark.parametrize("time_ms", ["5", 5.5, True, 2**63])
def test_one_time_that_is_none(time_ms) -> None:
    session = freshet.Session()
    session.stream(S)
    with pytest.raises(InputError, match=r"time_ms is a whole number|out of range"):
        session.push(S, LINES, time_ms=time_ms)
    assert session.engine.streams[S].elements == 0


def test_errors_in_text_are_those_of_the_reading_that_came_further() -> None:
    session = freshet.Session()
    register(session, QUERY)
    with pytest.raises(InputError, match="pushed data:2:"):
        session.push(S, "PREFIX : <http://example.org/>\n:a :p 21 ;; . :", time_ms=0)
    with pytest.raises(InputError, match="pushed data:3:"):
        session.push(S, f"{A} {P} {A} <http://g> .\n{A} {P} {A} <http://g> .\n{A} {P} oops .", time_ms=0)
    with pytest.raises(InputError, match="time_ms goes with RDF text"):
        session.push(S, [(1, A, P, A)], time_ms=0)


def test_reports_are_taken_once() -> None:
    session = freshet.Session()
    registered = register(session, QUERY)
    for time_ms in (1000, 6000, 11_000):
        session.push(S, (time_ms, A, P, A))
    assert [report.time_ms for report in registered] == [5000, 10_000]
    assert registered.take() == []


def test_arrays_that_were_pushed_can_be_filled_anew():
    session = freshet.Session()
    registered = register(session, QUERY)
    subject, predicate = (session.dictionary.encode(term) for term in (A, P))
    numbers = [session.dictionary.encode(Literal(str(number))) for number in range(12)]
    elements = Elements(*(np.empty(1, np.int64) for _ in range(4)))
    for number, object_ in enumerate(numbers):
        for column, value in zip(elements, (number * 500, subject, predicate, object_), strict=True):
            column[0] = value
        session.push(S, elements)
    session.finish()
    found = [row["o"].lexical for report in registered for row in session.bindings(report)]
    assert sorted(found, key=int) == [str(number) for number in range(12)]
