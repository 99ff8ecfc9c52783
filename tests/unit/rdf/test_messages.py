"""RDF messages in every format: what each message has, and where errors are."""

from __future__ import annotations

import pyoxigraph
import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.messages import MessageReader
from freshet.rdf.terms import BlankNode

E = "http://example.org/"
LOG = 'VERSION "1.2-messages"\n'


def read(text: str, form: str | None) -> list[list[str]]:
    """The statements of each message that has any, as text; blank nodes by their label in order of appearance."""
    dictionary = Dictionary()
    messages = MessageReader(dictionary, "s0", "in").read(text.encode(), form)
    found: dict[int, list[str]] = {}
    labels: dict[str, str] = {}
    for number, *ids in zip(messages.numbers.tolist(), *(column.tolist() for column in messages.quads), strict=True):
        terms = []
        for each in ids:
            if each:
                term = dictionary.decode(each)
                named = labels.setdefault(str(term), f"_:{len(labels)}") if isinstance(term, BlankNode) else str(term)
                terms.append(named.replace(E, ""))
        found.setdefault(number, []).append(" ".join(terms))
    return list(found.values())


ONE, TWO = "<s1> <p> <o1>", "<s2> <p> <o2>"


def full(statement: str) -> str:
    return " ".join(f"<{E}{term[1:-1]}>" for term in statement.split()) + " .\n"


@pytest.mark.parametrize("form", ["nt", "nq", "ttl", "trig", "n3", None])
@pytest.mark.parametrize(
    ("written", "messages"),
    [
        (full(ONE), [[ONE]]),
        (full(ONE) + "MESSAGE\n" + full(TWO), [[ONE], [TWO]]),
        (full(ONE) + "message # a note\n" + full(TWO), [[ONE], [TWO]]),
        ("MESSAGE\n" + full(ONE), [[ONE]]),
        (full(ONE) + "MESSAGE\nMESSAGE\n" + full(TWO), [[ONE], [TWO]]),
        (full(ONE) + "MESSAGE\n", [[ONE]]),
        (full(ONE) + "# MESSAGE\n" + full(TWO), [[ONE, TWO]]),
        (f'<{E}s> <{E}p> " MESSAGE " .\n', [['<s> <p> " MESSAGE "']]),
    ],
)
def test_a_log_of_messages(form: str | None, written: str, messages: list[list[str]]) -> None:
    assert read(LOG + written, form) == messages


def test_turtle_keeps_prefixes_and_long_strings() -> None:
    text = f'@version "1.2-messages" .\n@prefix : <{E}> . :a :p """x\nMESSAGE\n""" .\n@message .\n:b :p :MESSAGE .\n'
    assert read(text, "ttl") == [['<a> <p> "x\\nMESSAGE\\n"'], ["<b> <p> <MESSAGE>"]]
    text = f"{LOG}PREFIX e: <{E}one/>\ne:s e:p e:o .\nMESSAGE PREFIX e: <{E}two/>\ne:s e:p e:o ."
    assert read(text, "trig") == [["<one/s> <one/p> <one/o>"], ["<two/s> <two/p> <two/o>"]]


def test_graphs_are_kept() -> None:
    text = f"{LOG}PREFIX : <{E}>\n:a :p :o .\n:g {{ :b :p :o }}\nMESSAGE\n:g {{ :c :p :o }}"
    assert read(text, "trig") == [["<a> <p> <o>", "<b> <p> <o> <g>"], ["<c> <p> <o> <g>"]]


def test_labels_of_blank_nodes_belong_to_their_message_in_a_log_only() -> None:
    both = f"_:b <{E}p> <{E}o1> .\n{{}}_:b <{E}p> <{E}o2> .\n"
    assert read(LOG + both.format("MESSAGE\n"), "nq") == [["_:0 <p> <o1>"], ["_:1 <p> <o2>"]]
    assert read(both.format(""), "nq") == [["_:0 <p> <o1>", "_:0 <p> <o2>"]]


@pytest.mark.parametrize(
    ("form", "text", "message", "line"),
    [
        ("ttl", f"<{E}s> <{E}p> <{E}o> .\nMESSAGE\n", "MESSAGE", 2),
        ("ttl", f"{LOG}<{E}s> <{E}p> <{E}o> .\nMESSAGE\n\n<{E}s> <{E}p> .\n", "object", 5),
        ("nq", f"{LOG}<{E}s> <{E}p> <{E}o> .\nMESSAGE\n<{E}s> <{E}p> .\n", "", 4),
        ("trig", f"{LOG}<{E}g> {{\n<{E}a> <{E}b> <{E}c> .\nMESSAGE\n<{E}d> <{E}e> <{E}f> . }}", "", 4),
        ("ttl", f"{LOG}<{E}s> <{E}p> <{E}o> .\n@message <{E}x>\n", "", 3),
        ("jsonld-lines", '{"@id": "http://example.org/a"}\n{"@id": \n', "", 2),
        ("jsonld", '{"@context": "http://example.org/c"}', "contexts are not fetched", None),
        ("n3", f"@prefix : <{E}> . {{ :a :b ?c }} => {{ ?c :d :e }} .", "N3 is read as Turtle", 1),
        (
            "patch",
            f"TX .\nA <{E}s> <{E}p> <{E}o> .\nD <{E}s> <{E}p> <{E}x> .\nTC .\n",
            "was not declared to retract",
            3,
        ),
        ("patch", f"A <{E}s> <{E}p> .\n", "", 1),
        ("patch", "X <s> .\n", "no line of an RDF Patch", 1),
        ("patch", f'PA "e" <{E}> .\nA e:s e:p other:o .\n', "the prefix other: is not declared", 2),
    ],
)
def test_errors_name_the_line_of_the_file(form: str, text: str, message: str, line: int | None) -> None:
    with pytest.raises(InputError) as caught:
        read(text, form)
    assert message in str(caught.value)
    assert caught.value.line == line


def test_a_json_ld_message_a_line() -> None:
    lines = (
        '{"@id": "http://example.org/g", "http://example.org/t": 5, '
        '"@graph": {"@id": "_:b", "http://example.org/p": "x"}}\n\n'
        '{"@id": "_:b", "http://example.org/p": "y"}\n'
    )
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    assert read(lines, "jsonld-lines") == [[f'<g> <t> "5"^^{integer}', '_:0 <p> "x" <g>'], ['_:0 <p> "y"']]


def test_additions_of_an_rdf_patch() -> None:
    text = f"""H id <uuid:1> .
# a comment
TX .
PA "e" <{E}> .
A <{E}s1> e:p "a: \\"b\\" e:c"@en .
A e:s e:p "5"^^e:five e:g .
TC .
TX .
A e:gone e:p e:o .
TA .
TX .
A _:b e:p e:o.
TC .
"""
    expected = [['<s1> <p> "a: \\"b\\" e:c"@en', '<s> <p> "5"^^<five> <g>'], ["_:0 <p> <o>"]]
    assert read(text, "patch") == expected


def test_prefixes_and_blank_nodes_as_jena_writes_them() -> None:
    text = f"""TX .
PA "e" "{E}" .
PA "none" "http://none/" .
PD "none" .
A <_:b1-2> e:p "<_:b1-2>" .
A e:s e:p <_:b1-2> .
TC .
"""
    assert read(text, "patch") == [['_:0 <p> "<_:b1-2>"', "<s> <p> _:0"]]


@pytest.mark.parametrize("form", ["ttl", "trig", "jsonld", "rdfxml"])
def test_a_document_is_one_message(form: str) -> None:
    formats = {"ttl": "TURTLE", "trig": "TRIG", "jsonld": "JSON_LD", "rdfxml": "RDF_XML"}
    node = pyoxigraph.NamedNode
    triples = [pyoxigraph.Triple(node(E + s), node(E + "p"), node(E + "o")) for s in "ab"]
    text = pyoxigraph.serialize(triples, format=getattr(pyoxigraph.RdfFormat, formats[form]))
    assert text is not None
    assert [sorted(each) for each in read(text.decode(), form)] == [["<a> <p> <o>", "<b> <p> <o>"]]
