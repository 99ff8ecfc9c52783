"""Documents are parsed within the time of the call, and none ends the process."""

import io

import pyoxigraph
import pytest

from freshet.rdf import documents
from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.documents import parse_document
from freshet.rdf.errors import InputError
from freshet.rdf.messages import MessageReader
from freshet.rdf.ntriples import scan_timed

_XML = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">%b</rdf:RDF>'
_DEEP = _XML % (b'<rdf:Description><p xmlns="x:">' * 3000 + b"1" + b"</p></rdf:Description>" * 3000)
_TURTLE = b"".join(b"<http://e/%d> <http://e/p> 1 .\n" % number for number in range(20000))


def test_bytes_and_files_are_the_same():
    for form, text in ((pyoxigraph.RdfFormat.TURTLE, _TURTLE), (pyoxigraph.RdfFormat.RDF_XML, _DEEP)):
        parsers = (parse_document(given, form, "f") for given in (text, io.BytesIO(text)))
        found = [[str(quad.predicate) for quad in parser] for parser in parsers]
        assert len(found[0]) == (20000 if form == pyoxigraph.RdfFormat.TURTLE else 3000)
        assert found[0] == found[1]


def test_large_json_is_read_piece_by_piece(monkeypatch):
    monkeypatch.setattr(documents, "_MOST_CHECKED", 1000)
    text = b"[%b]" % b",".join(b'{"@id": "x:%d", "x:p": 1}' % number for number in range(5000))
    file = io.BytesIO(text)
    parser = parse_document(file, pyoxigraph.RdfFormat.JSON_LD, "f")
    assert file.tell() <= 1001
    assert len(list(parser)) == 5000


class _Clock:
    """A second for each look."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1
        return self.seconds


@pytest.mark.parametrize(
    ("text", "form"), [(_TURTLE, "ttl"), (_DEEP, "rdfxml"), (b"[%b1]" % (b'{"@id": "x:y"},' * 9000), "jsonld")]
)
def test_parsing_stops_with_its_deadline(text, form):
    clock = _Clock()
    reader = MessageReader(Dictionary(), "", "body")
    deadline, says = Deadline(10, clock=clock, subject="reading"), "reading took longer than its time limit of 10 s"
    with deadline.running(), pytest.raises(QueryStoppedError, match=says):
        reader.read(text, form)
    assert clock.seconds < 20


def test_millions_of_bad_lines_are_refused_by_the_first():
    elements, errors = scan_timed(b"1\t<x:s> <x:p> <x:o> .\n" + b"x\n" * 3_000_000, Dictionary(), "body")
    assert (errors[0].line, len(elements.times)) == (2, 1)
    assert len(errors) < 10_000


def test_a_document_that_is_too_deep_is_refused():
    with pytest.raises(InputError, match="body: the document is nested more than 256 deep"):
        MessageReader(Dictionary(), "", "body").read(b'{"x:p":' * 20000 + b"1" + b"}" * 20000, "jsonld")


def test_a_term_that_is_too_long_is_refused():
    with pytest.raises(InputError, match="body: a term is longer than 16 MiB"):
        MessageReader(Dictionary(), "", "body").read(b"<http://e/%b> <x:p> 1 ." % (b"a" * (17 << 20)), "ttl")
    _, errors = scan_timed(b'1\t<x:s> <x:p> "%b\\u0061" .\n' % (b"a" * (17 << 20)), Dictionary(), "body")
    assert [str(error) for error in errors] == ["body:1:3: a term is longer than 16 MiB"]
