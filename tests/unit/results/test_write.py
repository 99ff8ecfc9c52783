import csv
import io
import json
from xml.etree import ElementTree

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.nodes import StreamOperator
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.terms import BlankNode, Iri, Literal, term_key, triple_key
from freshet.results.report import Answer, BooleanAnswer, GraphAnswer, Report
from freshet.results.write import report_json, write_answer
from result_tables import TERMS, XML_TERMS, Row, solutions_of, tables

FORMATS = {"json": pyoxigraph.QueryResultsFormat.JSON, "tsv": pyoxigraph.QueryResultsFormat.TSV, "xml": None}


def read_xml(data: bytes) -> tuple[list[str], list[list[str | None]]]:
    """Not pyoxigraph, which drops white space at the ends of literals in XML."""
    space = "{http://www.w3.org/2005/sparql-results#}"
    root = ElementTree.fromstring(data)
    names = [variable.get("name") or "" for variable in root.iter(f"{space}variable")]
    rows = []
    for result in root.iter(f"{space}result"):
        terms = {binding.get("name"): binding[0] for binding in result}
        rows.append([element_key(terms[name]) if name in terms else None for name in names])
    return names, rows


def element_key(element: ElementTree.Element) -> str:
    kind, text = element.tag.partition("}")[2], element.text or ""
    if kind == "triple":
        return triple_key(*(element_key(part[0]) for part in element))
    if kind == "literal":
        language = element.get("{http://www.w3.org/XML/1998/namespace}lang")
        datatype = element.get("datatype")
        direction = element.get("{http://www.w3.org/2005/11/its}dir")
        language = f"{language}--{direction}" if direction else language
        return f'"{text}"' + (f"@{language}" if language else f"^^<{datatype}>" if datatype else "")
    return f"<{text}>" if kind == "uri" else f"_:{text}"


def read_back(data: bytes, form: str) -> tuple[list[str], list[list[str | None]]]:
    if form == "xml":
        return read_xml(data)
    parsed = pyoxigraph.parse_query_results(data, FORMATS[form])
    assert isinstance(parsed, pyoxigraph.QuerySolutions)
    names = [variable.value for variable in parsed.variables]
    return names, [[None if term is None else parsed_key(term, "") for term in row] for row in parsed]


@settings(max_examples=200, deadline=None)
@given(tables(XML_TERMS), st.sampled_from(list(FORMATS)))
def test_another_reader_gets_the_same_solutions(table: tuple[tuple[str, ...], list[Row]], form: str) -> None:
    variables, rows = table
    dictionary = Dictionary()
    data = write_answer(solutions_of(variables, rows, dictionary), dictionary, form)
    expected = [[None if term is None else term_key(term) for term in row] for row in rows]
    assert read_back(data, form) == (list(variables), expected)


def test_json() -> None:
    dictionary = Dictionary()
    rows: list[Row] = [[TERMS[0], None], [TERMS[1], TERMS[4]], [None, TERMS[5]], [None, None]]
    document = json.loads(write_answer(solutions_of(("x", "y"), rows, dictionary), dictionary, "json"))
    assert document == {
        "head": {"vars": ["x", "y"]},
        "results": {
            "bindings": [
                {"x": {"type": "uri", "value": "http://example.org/é?a&b"}},
                {
                    "x": {"type": "bnode", "value": "s0.b1"},
                    "y": {"type": "literal", "value": "x", "xml:lang": "en-gb"},
                },
                {"y": {"type": "literal", "value": "5", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}},
                {},
            ]
        },
    }


def test_csv() -> None:
    dictionary = Dictionary()
    rows: list[Row] = [[term, None] for term in TERMS] + [[None, TERMS[5]]]
    data = write_answer(solutions_of(("x", "y"), rows, dictionary), dictionary, "csv").decode()
    lines = list(csv.reader(io.StringIO(data, newline="")))
    plain = {Iri: "value", BlankNode: "label", Literal: "lexical"}
    values = [term_key(term) if type(term) not in plain else getattr(term, plain[type(term)]) for term in TERMS]
    values[1] = "_:s0.b1"
    assert lines == [["x", "y"], *([value, ""] for value in values), ["", "5"]]
    assert data.startswith("x,y\r\nhttp://example.org/é?a&b,\r\n_:s0.b1,\r\n")
    assert data.endswith("\r\n")


def test_tsv() -> None:
    dictionary = Dictionary()
    rows: list[Row] = [[term] for term in TERMS[:12]]
    data = write_answer(solutions_of(("x",), rows, dictionary), dictionary, "tsv").decode()
    assert data.split("\n") == [
        "?x",
        "<http://example.org/é?a&b>",
        "_:s0.b1",
        '""',
        r'"a,\"b\"\r\n\t\\ <&> ]]>"',
        '"x"@en-gb',
        "5",
        "+05",
        "2.50",
        '"5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
        "1.0E6",
        '"1.5"^^<http://www.w3.org/2001/XMLSchema#double>',
        '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>',
        "",
    ]


def test_xml_stands_characters_that_it_cannot_hold() -> None:
    dictionary = Dictionary()
    data = write_answer(solutions_of(("x",), [[Literal("a\x00b\uffffc")]], dictionary), dictionary, "xml")
    assert read_back(data, "xml")[1] == [['"a\ufffdb\ufffdc"']]


@pytest.mark.parametrize("form", ["json", "csv", "tsv", "xml"])
def test_no_rows_and_no_variables(form: str) -> None:
    dictionary = Dictionary()
    empty = write_answer(solutions_of(("x",), [], dictionary), dictionary, form)
    nothing = write_answer(solutions_of((), [[], []], dictionary), dictionary, form)
    if form in FORMATS:
        assert read_back(empty, form) == (["x"], [])
    if form == "json":
        assert json.loads(nothing)["results"]["bindings"] == [{}, {}]
    if form == "csv":
        assert (empty, nothing) == (b"x\r\n", b"\r\n\r\n\r\n")


@pytest.mark.parametrize("value", [True, False])
def test_the_answer_to_ask(value: bool) -> None:
    answer, word = BooleanAnswer(value), str(value).lower()
    assert json.loads(write_answer(answer, Dictionary())) == {"head": {}, "boolean": value}
    for form in ("json", "xml", "tsv"):
        parsed = pyoxigraph.parse_query_results(
            write_answer(answer, Dictionary(), form), pyoxigraph.QueryResultsFormat.from_extension(form)
        )
        assert isinstance(parsed, pyoxigraph.QueryBoolean)
        assert bool(parsed) == value
    assert write_answer(answer, Dictionary(), "csv") == f"{word}\r\n".encode()
    assert write_answer(answer, Dictionary(), "tsv") == f"{word}\n".encode()


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("yaml", BooleanAnswer(True)),
        ("nt", BooleanAnswer(True)),
        ("ttl", solutions_of((), [], Dictionary())),
        ("json", GraphAnswer(*[np.empty(0, np.int64)] * 3)),
    ],
)
def test_a_format_that_does_not_fit(form: str, answer: Answer) -> None:
    with pytest.raises(InputError, match=f"cannot be written as `{form}` .one of "):
        write_answer(answer, Dictionary(), form)


def test_a_report_is_one_line_of_json() -> None:
    dictionary = Dictionary()
    rows = solutions_of(("x", "y"), [[TERMS[3], None], [None, TERMS[7]]], dictionary).rows
    line = report_json(Report('q"1"', 12000, StreamOperator.ISTREAM, ("x", "y"), rows), dictionary)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "query": 'q"1"',
        "time": 12000,
        "stream": "istream",
        "bindings": [
            {"x": {"type": "literal", "value": 'a,"b"\r\n\t\\ <&> ]]>'}},
            {"y": {"type": "literal", "value": "2.50", "datatype": "http://www.w3.org/2001/XMLSchema#decimal"}},
        ],
    }
