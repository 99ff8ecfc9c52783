"""Logical views: random nested documents give what a naive flattening gives; joins, XML, annotations, bad documents."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.mapper.operations import FunctionTable
from freshet.mapper.record_mapper import RecordMapper, StreamMapping
from freshet.mapper.views import view_tasks
from freshet.rdf.batch import elements_of
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.reader import read_mapping
from freshet.rml.sources import Formulation
from freshet.sources.columns import Plan, text_name

HEAD = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/ns#> . @base <http://example.org/base/> .
"""
NESTED = """
<S> rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ; rml:path "data.json" ] ;
  rml:referenceFormulation rml:JSONPath ; rml:iterator "$[*]" .
<V> a rml:LogicalView ; rml:viewOn <S> ;
  rml:field [ rml:fieldName "id" ; rml:reference "$.id" ] , [ rml:fieldName "tag" ; rml:reference "$.tags[*]" ] ,
    [ rml:fieldName "item" ; rml:iterator "$.items[*]" ;
      rml:field [ rml:fieldName "type" ; rml:reference "$.type" ] ,
        [ rml:fieldName "part" ; rml:iterator "$.parts[*]" ; rml:field [ rml:fieldName "is" ; rml:reference "$" ] ] ] .
<T> rml:logicalSource <V> ; rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:of ; rml:objectMap [ rml:template
    "{#} {tag} {tag.#} {item.#} {item.type} {item.part.#} {item.part.is}" ; rml:termType rml:Literal ] ] .
"""
KEYS = ("#", "id", "tag", "tag.#", "item.#", "item.type", "item.part.#", "item.part.is")

texts = st.sampled_from(["a", "b c", 'q"u', "ö", "5"])
scalars = st.one_of(texts, st.integers(0, 9), st.booleans())
items = st.fixed_dictionaries({}, optional={"type": scalars, "parts": st.lists(scalars, max_size=3)})
records = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 99)},
        optional={
            "tags": st.lists(scalars, max_size=3),
            "items": st.lists(
                st.fixed_dictionaries({}, optional={"type": scalars, "parts": st.lists(scalars, max_size=3)}),
                max_size=3,
            ),
        },
    ),
    max_size=6,
)


def text_of(value):
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def flattened(documents):
    """Every choice of one value of each field, or of nothing where there is none."""
    rows = []
    for number, record in enumerate(documents):
        tags = [(value, str(at)) for at, value in enumerate(record.get("tags", ()))] or [(None, None)]
        items = []
        for at, item in enumerate(record.get("items", ())):
            parts = [(str(k), part) for k, part in enumerate(item.get("parts", ()))] or [(None, None)]
            items += [(str(at), item.get("type"), *part) for part in parts]
        for (tag, place), item in product(tags, items or [(None,) * 4]):
            rows.append(tuple(text_of(value) for value in (str(number), record["id"], tag, place, *item)))
    return rows


def rows_of(folder, keys, mapping="mapping.ttl"):
    (triples_map,) = read_mapping(folder / mapping).triples_maps
    _, tasks = view_tasks(triples_map.source.source, Plan(tuple(keys)), FunctionTable())
    columns = [[batch.column(text_name(key)).to_pylist() for key in keys] for task in tasks for batch in task()]
    return [row for batch in columns for row in zip(*batch, strict=True)]


@settings(max_examples=60, deadline=None)
@given(records)
def test_rows_are_those_of_a_naive_flattening(tmp_path_factory, documents):
    folder = tmp_path_factory.mktemp("view")
    (folder / "data.json").write_text(json.dumps(documents), encoding="utf-8")
    (folder / "mapping.ttl").write_text(HEAD + NESTED, encoding="utf-8")
    assert rows_of(folder, KEYS) == flattened(documents)


XML = """
<S> rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ; rml:path "data.xml" ] ;
  rml:referenceFormulation rml:XPath ; rml:iterator "/people/person" .
<V> a rml:LogicalView ; rml:viewOn <S> ; rml:field [ rml:fieldName "name" ; rml:reference "@name" ] ,
  [ rml:fieldName "item" ; rml:iterator "items/item" ;
    rml:field [ rml:fieldName "kind" ; rml:reference "@kind" ] , [ rml:fieldName "part" ; rml:reference "part" ] ] .
<T> rml:logicalSource <V> ; rml:subjectMap [ rml:template "http://example.org/{name}" ] .
"""


def test_records_inside_of_xml_records(tmp_path):
    (tmp_path / "data.xml").write_text(
        '<people><person name="a"><items><item kind="x"><part>1</part><part>2</part></item><item kind="y"/></items>'
        '</person><person name="b"/></people>',
        encoding="utf-8",
    )
    (tmp_path / "mapping.ttl").write_text(HEAD + XML, encoding="utf-8")
    keys = ("name", "item.#", "item.kind", "item.part", "item.part.#")
    assert rows_of(tmp_path, keys) == [
        ("a", "0", "x", "1", "0"),
        ("a", "0", "x", "2", "1"),
        ("a", "1", "y", None, None),
        ("b", None, None, None, None),
    ]


JOINED = """
<A> rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ; rml:path "a.csv" ] ;
  rml:referenceFormulation rml:CSV .
<B> rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ; rml:path "b.csv" ] ;
  rml:referenceFormulation rml:CSV .
<W> a rml:LogicalView ; rml:viewOn <B> ; ANNOTATION
  rml:field [ rml:fieldName "k" ; rml:reference "k" ] , [ rml:fieldName "v" ; rml:reference "v" ] .
<V> a rml:LogicalView ; rml:viewOn <A> ; rml:field [ rml:fieldName "k" ; rml:reference "k" ] ;
  rml:KIND [ rml:parentLogicalView <W> ; rml:joinCondition [ rml:child "k" ; rml:parent "k" ] ;
    rml:field [ rml:fieldName "w" ; rml:reference "v" ] ] .
<T> rml:logicalSource <V> ; rml:subjectMap [ rml:template "http://example.org/{k}" ] .
"""
UNIQUE = 'rml:structuralAnnotation [ a rml:PrimaryKeyAnnotation ; rml:onFields ( "k" ) ] ;'


def joined(folder, kind, annotation=""):
    (folder / "a.csv").write_text("k\n1\n2\n3\n2\n", encoding="utf-8")
    (folder / "b.csv").write_text("k,v\n2,x\n1,y\n2,z\n", encoding="utf-8")
    text = JOINED.replace("KIND", kind).replace("ANNOTATION", annotation)
    (folder / "mapping.ttl").write_text(HEAD + text, encoding="utf-8")


@pytest.mark.parametrize("kind", ["leftJoin", "innerJoin"])
def test_joins_keep_the_order_of_the_child(tmp_path, kind):
    joined(tmp_path, kind)
    found = [("0", "1", "y", "0"), ("1", "2", "x", "0"), ("1", "2", "z", "1"), ("2", "3", None, None)]
    found += [("3", "2", "x", "0"), ("3", "2", "z", "1")]
    expected = found if kind == "leftJoin" else [row for row in found if row[2] is not None]
    assert rows_of(tmp_path, ("#", "k", "w", "w.#")) == expected


def test_a_left_join_that_changes_nothing_is_not_done(tmp_path):
    """The annotation says that keys are there once, which is not true here: so that it shows."""
    joined(tmp_path, "leftJoin", UNIQUE)
    assert len(rows_of(tmp_path, ("k",))) == 4
    assert len(rows_of(tmp_path, ("k", "w"))) == 6


def test_a_document_that_cannot_be_read_rejects_the_record(tmp_path):
    (tmp_path / "data.json").write_text('[{"id": 1, "text": "[1, 2]"}, {"id": 2, "text": "[1,"}]', encoding="utf-8")
    (tmp_path / "mapping.ttl").write_text(
        HEAD
        + """
<S> rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ; rml:path "data.json" ] ;
  rml:referenceFormulation rml:JSONPath ; rml:iterator "$[*]" .
<V> a rml:LogicalView ; rml:viewOn <S> ; rml:field [ rml:fieldName "id" ; rml:reference "$.id" ] ,
  [ rml:fieldName "text" ; rml:reference "$.text" ; rml:field [ rml:fieldName "n" ; rml:iterator "$[*]" ;
    rml:referenceFormulation rml:JSONPath ; rml:field [ rml:fieldName "is" ; rml:reference "$" ] ] ] .
<T> rml:logicalSource <V> ; rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:n ; rml:objectMap [ rml:reference "text.n.is" ] ] .
""",
        encoding="utf-8",
    )
    done = run_map_here(tmp_path / "mapping.ttl", MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects"))
    lines = (tmp_path / "out.nq").read_text(encoding="utf-8").splitlines()
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert lines == [f'<http://example.org/1> <http://example.org/ns#n> "{n}"{integer} .' for n in (1, 2)]
    assert (done.records, done.rejected) == (3, 1)


def test_a_join_without_fields_is_an_error(tmp_path):
    joined(tmp_path, "leftJoin")
    text = (tmp_path / "mapping.ttl").read_text(encoding="utf-8")
    (tmp_path / "mapping.ttl").write_text(text.replace('rml:reference "v" ] ] .', 'rml:iterator "v" ] ] .'), "utf-8")
    with pytest.raises(InputError, match="records that have no records inside"):
        read_mapping(tmp_path / "mapping.ttl")


POSTED = """
<S> rml:source "posted" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" .
<V> a rml:LogicalView ; rml:viewOn <S> ;
  rml:field [ rml:fieldName "id" ; rml:reference "$.id" ] , [ rml:fieldName "tag" ; rml:reference "$.tags[*]" ] ,
    [ rml:fieldName "item" ; rml:iterator "$.items[*]" ;
      rml:field [ rml:fieldName "type" ; rml:reference "$.type" ] ,
        [ rml:fieldName "part" ; rml:iterator "$.parts[*]" ; rml:field [ rml:fieldName "is" ; rml:reference "$" ] ] ] .
<T> rml:logicalSource <V> ; rml:subjectMap [ rml:template "http://example.org/{id}" ] ; PAIRS .
"""
PAIRS = [(one, other) for at, one in enumerate(KEYS[1:]) for other in KEYS[at + 2 :]]


def pairs_mapping():
    """A predicate for each two fields, which says how they are combined."""
    made = [f'[ rml:template "{{{one}}} {{{other}}}" ; rml:termType rml:Literal ]' for one, other in PAIRS]
    pairs = " , ".join(f"[ rml:predicate ex:p{at} ; rml:objectMap {each} ]" for at, each in enumerate(made))
    return HEAD + POSTED.replace("PAIRS", f"rml:predicateObjectMap {pairs}")


def mapped_terms(found):
    dictionary = Dictionary()
    return {
        tuple(getattr(term, "value", None) or term.lexical for term in dictionary.decode_many(ids))
        for made in found
        for table, layout in made.tables
        for _, *ids in zip(*elements_of(table, layout, dictionary), strict=True)
    }


@settings(max_examples=30, deadline=None)
@given(records)
def test_records_that_are_posted_are_flattened(documents):
    mapper = RecordMapper(StreamMapping(pairs_mapping()), "x")
    expected = set()
    for row in flattened(documents):
        values = dict(zip(KEYS, row, strict=True))
        expected |= {
            (f"http://example.org/{values['id']}", f"http://example.org/ns#p{at}", f"{values[one]} {values[other]}")
            for at, (one, other) in enumerate(PAIRS)
            if values[one] is not None and values[other] is not None
        }
    texts = [json.dumps(each, ensure_ascii=False) for each in documents]
    assert mapped_terms([mapper.map(texts, Formulation.JSON, 0)]) == expected


def test_a_view_of_records_in_a_file_has_their_times(tmp_path):
    file = tmp_path / "records.json"
    file.write_text('{"id": 1, "at": 5, "tags": ["a", "b"]}\n{"id": 2, "at": 6}\n{"id": 3}\nno JSON\n')
    mapper = RecordMapper(StreamMapping(pairs_mapping(), "$.at", "epoch_ms"), "x")
    found = list(mapper.map_file(file, Formulation.JSON, numbered=True))
    times = [time for made in found for table, _ in made.tables for time in table.column("time").to_pylist()]
    assert sorted(times) == [5, 5, 6]
    rejected = [reject.reason for made in found for reject in made.rejected]
    assert rejected[0] == "no event time in $.at"
    assert len(rejected) == 2
    assert ("http://example.org/1", "http://example.org/ns#p0", "1 a") in mapped_terms(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('ex:p0 ; rml:objectMap [ rml:template "{id}', 'ex:p0 ; rml:objectMap [ rml:template "{#}'),
            "the positions of",
        ),
        (
            (
                "<V> a rml:LogicalView ;",
                '<W> a rml:LogicalView ; rml:viewOn <S> ; rml:field [ rml:fieldName "w" ; rml:reference "$.id" ] .\n'
                "<V> a rml:LogicalView ; rml:leftJoin [ rml:parentLogicalView <W> ;"
                ' rml:joinCondition [ rml:child "id" ; rml:parent "w" ] ;'
                ' rml:field [ rml:fieldName "w" ; rml:reference "w" ] ] ;',
            ),
            "joins records of several sources",
        ),
    ],
    ids=["positions", "joins"],
)
def test_what_views_of_streams_do_not_have(change, message):
    with pytest.raises(UnsupportedError, match=message):
        RecordMapper(StreamMapping(pairs_mapping().replace(*change)), "x")
