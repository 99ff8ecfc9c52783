"""Messages of RDF as timed statements."""

from __future__ import annotations

import pytest

from freshet.spark.messages import timed_statements

AT = "http://example.org/at"
TTL = "@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"


def test_a_message_happened_when_it_came() -> None:
    text = '{"@id": "http://example.org/a", "http://example.org/p": [{"@id": "_:b"}, 5]}'
    lines = timed_statements(text, "jsonld", None, 77)
    assert len(lines) == 2
    assert all(line.startswith("77\t<http://example.org/a> <http://example.org/p> ") for line in lines)


def test_one_time_is_that_of_the_whole_message() -> None:
    lines = timed_statements(f"{TTL} :a :at 5000 ; :p [ :q 1 ] .", "ttl", AT, 77)
    assert [line.split("\t")[0] for line in lines] == ["5000"] * 3


def test_several_times_are_those_of_graphs_and_subjects() -> None:
    text = f'{TTL} :g :at "1970-01-01T00:00:02Z"^^xsd:dateTime . :g {{ :x :p 1 }} :y :at 3 ; :p 2 .'
    lines = timed_statements(text, "trig", AT, 77)
    assert sorted(line.split("\t")[0] for line in lines) == ["2000", "2000", "3", "3"]


def test_labels_of_two_messages_are_two_nodes() -> None:
    one, two = (timed_statements("_:a <http://e/p> _:a .", "nt", None, 1)[0].split() for _ in range(2))
    assert one[1] == one[3] != two[1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (":a :p 1 .", "the message has no <http://example.org/at>"),
        (':a :at "soon" .', "is no date and no whole number"),
        (":a :at 1 . :b :at 2 . :c :p 3 .", "<http://example.org/c> has no"),
    ],
)
def test_messages_without_a_time(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        timed_statements(TTL + text, "ttl", AT, 77)


def test_what_cannot_be_read() -> None:
    with pytest.raises(SyntaxError):
        timed_statements("no RDF", "trig", None, 77)
