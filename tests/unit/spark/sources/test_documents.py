"""Documents of streams: what each becomes, and what stays beside it."""

import pyarrow as pa
import pytest

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.sources import Formulation, KafkaSource, LogicalSource
from freshet.sources.columns import Plan
from freshet.sources.documents import parsed_batch, parser_of
from freshet.spark.sources.documents import parse_documents

TOPIC = KafkaSource("localhost:9092", "t")


def parse(formulation, documents, references, iterator=None, header=None, keep=True):
    """For each record the number of its document, its values, and its reason."""
    source = LogicalSource(TOPIC, formulation, iterator)
    shape, parser = parser_of(source, Plan(tuple(references)), header)
    arrived = list(range(len(documents)))
    names = ["line", "file", "arrived"]
    files = [f"f{number}" for number in arrived]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(documents, pa.string()), pa.array(files), pa.array(arrived)], names=names
    )
    found = []
    for row in parsed_batch(batch, shape, parser, keep).to_pylist():
        if keep:
            assert (row["line"], row["file"]) == (documents[row["arrived"]], f"f{row['arrived']}")
        else:
            assert (row["line"] is None) == (row["reason"] is None)
        found.append((row["arrived"], *(row[f"text of {each}"] for each in references), row["reason"]))
    return found


@pytest.mark.parametrize("keep", [True, False])
def test_json(keep):
    documents = ['{"a": 1}', " ", '{"a": "x"}', "[1]", None]
    assert parse(Formulation.JSON, documents, ["a"], keep=keep) == [
        (0, "1", None), (2, "x", None), (3, None, "not a JSON object"),
    ]  # fmt: skip


def test_json_with_an_iterator():
    documents = ['{"l": [{"a": 1}, {"a": 2}]}', "{", '{"l": []}', '{"l": [{"a": [3, 4]}]}']
    assert parse(Formulation.JSON, documents, ["a", "a[*]"], "$.l[*]") == [
        (0, "1", [], None), (0, "2", [], None), (3, "[3, 4]", ["3", "4"], None), (1, None, [], "not JSON"),
    ]  # fmt: skip
    assert parse(Formulation.JSON, documents, ["a"], "$.l[?@.a == 2]") == [(0, "2", None), (1, None, "not JSON")]


def test_xml():
    documents = [
        ' <?xml version="1.0" encoding="latin-1"?><r><a>é</a></r>',
        "<r>",
        "<!DOCTYPE r [<!ENTITY x 'y'>]><r/>",
    ]
    found = parse(Formulation.XML, documents, ["a"])
    assert found[0] == (0, ["é"], None)
    assert [reason[:10] for _, _, reason in found[1:]] == ["not XML: P", "the docume"]
    assert parse(Formulation.XML, ["<r><a>1</a><a>2</a></r>"], ["."], "/r/a") == [(0, ["1"], None), (0, ["2"], None)]


def test_csv_with_a_header_in_each():
    documents = ["a,b\n1,2\n3,4\n", "b,a\n5,6", "a,b", "a\n1", 'a,b\n"x\ny",7\n8']
    found = parse(Formulation.CSV, documents, ["a", "b"])
    assert found == [
        (0, "1", "2", None),
        (0, "3", "4", None),
        (1, "6", "5", None),
        (2, None, None, "a header without a record below it"),
        (3, None, None, "there is no column b; the header has a"),
        (4, "x\ny", "7", None),
        (4, None, None, "1 field where the header has 2"),
    ]
    assert parse(Formulation.CSV, [" "], ["a"]) == []


def test_csv_with_a_header_that_is_known():
    documents = ["a,b", "1,2", '3,"x\ny"\n', "4", "5,6\n7,8", "a,x", '"9,8']
    assert parse(Formulation.CSV, documents, ["a", "b"], header=["a", "b"]) == [
        (1, "1", "2", None),
        (2, "3", "x\ny", None),
        (3, None, None, "1 field where the header has 2"),
        (4, None, None, "more than one line"),
        (5, "a", "x", None),
        (6, None, None, "a quote that is not closed"),
    ]
    with pytest.raises(InputError, match="there is no column c"):
        parse(Formulation.CSV, [], ["c"], header=["a", "b"])


def test_what_no_stream_has():
    with pytest.raises(UnsupportedError, match="SQL2008Table in a stream"):
        parse(Formulation.TABLE, [], ["a"])


def test_in_spark(spark):
    rows = [('{"l": [{"a": "x"}, {"a": 2}]}', "f", 5), ("{", "g", 6)]
    documents = spark.createDataFrame(rows, "line STRING, file STRING, arrived BIGINT")
    found = parse_documents(documents, LogicalSource(TOPIC, Formulation.JSON, "$.l[*]"), ["a"])
    assert found.many == frozenset()
    assert [(row["text of a"], row["kind of a"], row["arrived"]) for row in found.frame.collect()] == [
        ("x", 7, 5), ("2", 3, 5), (None, 0, 6),
    ]  # fmt: skip
