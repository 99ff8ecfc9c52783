"""Results that are read: what was written comes back, what others write is understood, what is broken is named."""

from __future__ import annotations

import contextlib

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.ids import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal, Term, TripleTerm, term_key
from freshet.results.read import READERS, read_answer, read_solutions
from freshet.results.report import BooleanAnswer
from freshet.results.write import write_answer
from result_tables import TERMS, XML_TERMS, Row, solutions_of, tables, terms_of

XML_START = '<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
ONE = '{"head":{"vars":["x"]},"results":{"bindings":[%s]}}'
XML_ROW = f'{XML_START}<head><variable name="x"/></head><results><result><binding name="x">'
URI = '{"type":"uri","value":"a:b"}'
PART = f'{{"type":"triple","value":{{"subject":{URI},"predicate":{URI},"object":'
NESTED = ONE % f'{{"x":{PART * 101}{URI}{"}}" * 101}}}'
BREAKS = [b"", b'"', b"\\", b"\n", b"<", b"\xc3", b"{"]


def as_csv_says(term: Term | None) -> Term | None:
    """What is left of a term in CSV."""
    match term:
        case Iri(value):
            return Literal(value)
        case Literal("_:b0"):
            return BlankNode("b0")
        case Literal(lexical):
            return Literal(lexical)
        case TripleTerm():
            return Literal(term_key(term))
    return term


def read(data: bytes | str, form: str) -> tuple[tuple[str, ...], list[Row]]:
    dictionary = Dictionary()
    data = data.encode() if isinstance(data, str) else data
    solutions = read_solutions(data, form, dictionary, file=f"r.{form}", blank_scope="")
    return solutions.variables, terms_of(solutions, dictionary)


@pytest.mark.parametrize("form", READERS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_was_written_comes_back(form: str, data: st.DataObject) -> None:
    variables, rows = data.draw(tables(XML_TERMS if form == "xml" else TERMS, least=0))
    dictionary = Dictionary()
    text = write_answer(solutions_of(variables, rows, dictionary), dictionary, form)
    expected = [[as_csv_says(term) for term in row] for row in rows] if form == "csv" else rows
    assert read(text, form) == (variables, expected)


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("value", [True, False])
def test_the_answer_to_ask_comes_back(form: str, value: bool) -> None:
    text = write_answer(BooleanAnswer(value), Dictionary(), form)
    answer = read_answer(text, form, Dictionary())
    assert isinstance(answer, BooleanAnswer)
    assert answer.value is value
    with pytest.raises(InputError, match="is the answer to ASK"):
        read_solutions(text, form, Dictionary())


@settings(max_examples=100, deadline=None)
@given(tables(XML_TERMS), st.sampled_from(["json", "xml", "tsv"]))
def test_what_pyoxigraph_writes(table: tuple[tuple[str, ...], list[Row]], form: str) -> None:
    variables, rows = table
    if form == "xml":  # its XML holds a carriage return as it is, which a parser must take for a line feed
        rows = [[None if term is not None and "\\r" in str(term) else term for term in row] for row in rows]
    dictionary = Dictionary()
    text = write_answer(solutions_of(variables, rows, dictionary), dictionary, "tsv")
    parsed = pyoxigraph.parse_query_results(text, pyoxigraph.QueryResultsFormat.TSV)
    theirs = parsed.serialize(format=pyoxigraph.QueryResultsFormat.from_extension(form))
    assert read(theirs, form) == (variables, rows)


def test_blank_nodes_belong_to_one_reading() -> None:
    dictionary = Dictionary()
    first, second = (read_solutions(b"?x\n_:a\n_:a\n", "tsv", dictionary).rows for _ in range(2))
    assert first[0] == first[1] != second[0] == second[1]


def test_labels_that_turtle_cannot_write() -> None:
    labels = ["nodeID://b1", "b·1", "b1", "b.", "-b", "b", "b.1", "b·b7·1", "é"]
    bindings = ",".join(f'{{"x":{{"type":"bnode","value":"{label}"}}}}' for label in labels)
    variables, rows = read(ONE % bindings, "json")
    dictionary = Dictionary()
    text = write_answer(solutions_of(variables, rows, dictionary), dictionary, "tsv")
    parsed = pyoxigraph.parse_query_results(text, pyoxigraph.QueryResultsFormat.TSV)
    assert len({solution["x"].value for solution in parsed}) == len(labels)


def test_json_of_others() -> None:
    text = """{"head": {"link": [], "vars": ["x", "y"]}, "extra": 1, "results": {"distinct": false, "bindings": [
        {"x": {"type": "typed-literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
         "y": {"type": "literal", "value": "a", "xml:lang": "EN"}},
        {"y": {"type": "literal", "value": "\\ud835\\udcb3", "datatype": "http://www.w3.org/2001/XMLSchema#string"}},
        {"x": {"type": "literal", "value": "b", "xml:lang": "de", "datatype":
               "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"}}]}}"""
    english, german = Literal("a", RDF_LANG_STRING, "en"), Literal("b", RDF_LANG_STRING, "de")
    rows: list[Row] = [[Literal("1", XSD_INTEGER), english], [None, Literal("𝒳")], [german, None]]
    assert read(b"\xef\xbb\xbf" + text.encode(), "json") == (("x", "y"), rows)


def test_xml_of_others() -> None:
    text = """<?xml version="1.0"?><!-- a comment -->
    <s:sparql xmlns:s="http://www.w3.org/2005/sparql-results#" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
      <s:head><s:variable name="x"/><s:variable name="y"/><s:link href="more.rdf"/></s:head>
      <s:results ordered="true" distinct="false">
        <s:result index="1"><s:binding name="y">
          <s:literal xml:lang="EN"> <![CDATA[<a>]]> &amp; b&#13;
</s:literal></s:binding></s:result>
        <s:result><s:binding name="x"><s:unbound/></s:binding><s:binding name="y"><s:uri>
          http://example.org/ </s:uri></s:binding></s:result>
      </s:results>
    </s:sparql>"""
    rows: list[Row] = [[None, Literal(" <a> & b\r\n", RDF_LANG_STRING, "en")], [None, Iri("http://example.org/")]]
    assert read(text, "xml") == (("x", "y"), rows)
    assert read(text.replace('"1.0"', '"1.0" encoding="utf-16"').encode("utf-16"), "xml") == (("x", "y"), rows)


def test_csv_of_others() -> None:
    text = 'x,"y"\n1,"a ""b"",\nc"\n,"";\n'.replace(";", "") + "_:a,_:not a label"
    rows: list[Row] = [
        [Literal("1"), Literal('a "b",\nc')],
        [None, Literal("")],
        [BlankNode("a"), Literal("_:not a label")],
    ]
    assert read(text, "csv") == (("x", "y"), rows)
    assert read("x,y\r\n1,", "csv") == (("x", "y"), [[Literal("1"), None]])


def test_tsv_of_others() -> None:
    text = "?x\t$y\r\n'it\\'s'@EN-us\t-.5\r\ntrue\t1.e3\r\n<http://example.org/\\u00e9>\t\"\\U0001D4B3\\b\"\r\n"
    rows: list[Row] = [
        [Literal("it's", RDF_LANG_STRING, "en-us"), Literal("-.5", XSD_DECIMAL)],
        [Literal("true", XSD_BOOLEAN), Literal("1.e3", XSD_DOUBLE)],
        [Iri("http://example.org/é"), Literal("𝒳\b")],
    ]
    assert read(text, "tsv") == (("x", "y"), rows)


@pytest.mark.parametrize(
    ("form", "data", "message"),
    [
        ("json", '{"head":\n {"vars": [}', r"r.json:2:\d+: is not JSON"),
        ("json", "[]", 'r.json: is no SPARQL result: it has neither "boolean"'),
        (
            "json",
            '{"head":{"vars":["x"]},"results":{"bindings":[{"y":{"type":"bnode","value":"b"}}]}}',
            "solution 1 .*y",
        ),
        (
            "json",
            '{"head":{"vars":["x"]},"results":{"bindings":[{},{"x":{"type":"triple"}}]}}',
            "x of solution 2: .* term",
        ),
        ("json", '{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"uri","value":"a b"}}]}}', "IRI .*' '"),
        ("json", '{"head":{"vars":["x","x"]},"results":{"bindings":[]}}', "twice"),
        ("json", ONE % "1", "solution 1 is no object"),
        ("xml", f"{XML_START}\n<head>", "r.xml:2:7: is not XML: no element found"),
        (
            "xml",
            f"{XML_START}<head/>\n  <results><uri/></results></sparql>",
            "r.xml:2:12: <uri> cannot stand in <results>",
        ),
        ("xml", '<?xml version="1.0" encoding="TF-8"?><a/>', "r.xml:1: its encoding cannot be read: .*TF-8"),
        ("xml", '<?xml version="1.0" encoding="shift_jis"?><a/>', "r.xml:1: its encoding cannot be read"),
        ("xml", "<html/>", "r.xml:1:1: <html> is no element of SPARQL results"),
        ("xml", f"{XML_START}<head/></sparql>", "neither <results> nor <boolean>"),
        ("xml", f"{XML_START}<boolean>maybe</boolean></sparql>", "true or false, not 'maybe'"),
        ("xml", f"{XML_START}<head><variable/></head></sparql>", "<variable> needs the attribute name"),
        (
            "xml",
            f'{XML_START}<head><variable name="x"/></head><results><result><binding name="x">a</binding></result>'
            "</results></sparql>",
            "text where only elements can stand: 'a'",
        ),
        (
            "xml",
            f'{XML_START}<head><variable name="x"/></head><results><result>\n<binding name="x"/></result>'
            "</results></sparql>",
            r"r.xml:2:\d+: the variable \?x has no term",
        ),
        ("csv", "", "r.csv: is empty"),
        ("csv", 'x,y\n"a\nb",c\n1\n', "r.csv:4: 1 fields, where the header has 2"),
        ("csv", 'x\n\n"a\n', "r.csv:3: a quotation mark"),
        ("csv", "x,\n", "r.csv:1: a variable has no name"),
        ("tsv", "x\n", "r.tsv:1: a variable in the header starts with `.`"),
        ("tsv", "?x\n1\n1\t2\n", "r.tsv:3: 2 fields, where the header has 1"),
        ("tsv", "?x\nex:a\n", "r.tsv:2: this is no term as Turtle writes it: ex:a"),
        ("tsv", '?x\n"\\q"\n', r"r.tsv:2: \\q is no escape"),
        ("tsv", '?x\n"\\ud800"\n', r"r.tsv:2: \\ud800 is no character"),
        ("tsv", '?x\n"a"@en--us\n', "r.tsv:2: 'us' is no base direction: ltr or rtl"),
        ("tsv", "?x\n<<( 1 <urn:p> 1 )>>\n", "r.tsv:2: the subject of a triple term"),
        ("tsv", "?x\n<<( <urn:s> <urn:p> )>>\n", "r.tsv:2: this is no triple term"),
        ("json", NESTED, "x of solution 1: more than 100 triple terms"),
        ("xml", f"{XML_ROW}<triple><subject><uri>a:b</uri></subject></triple>", "<triple> has no <predicate>"),
        ("xml", f"{XML_ROW}<triple><subject/>", "<subject> has no term"),
        ("yaml", "", "cannot be read as `yaml`"),
    ],
)
def test_what_is_broken_is_named(form: str, data: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(data, form)


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_not_utf_8(form: str) -> None:
    with pytest.raises(InputError, match=rf"r.{form}:2: is not UTF-8"):
        read(b"?x\n\xff\n", form)


@pytest.mark.parametrize("form", READERS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_nothing_but_its_own_error(form: str, data: st.DataObject) -> None:
    """Files that were cut, or had bytes changed, are read or refused."""
    variables, rows = data.draw(tables())
    dictionary = Dictionary()
    text = bytearray(write_answer(solutions_of(variables, rows, dictionary), dictionary, form))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"\n", b"<", b"\xc3", b"{"])
        )
    with contextlib.suppress(InputError):
        read(bytes(text), form)


def test_numbers_keep_their_types() -> None:
    literal = Literal("-3", Iri(XSD + "negativeInteger"))
    dictionary = Dictionary()
    for form in ("json", "xml", "tsv"):
        assert read(write_answer(solutions_of(("x",), [[literal]], dictionary), dictionary, form), form)[1] == [
            [literal]
        ]
