"""Files in, triples and rejects out: streams run to their end on Spark."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from pyspark.sql import functions as F

from freshet.kernels.event_time import UNREAD, read_time
from freshet.rdf.batch import ORIGIN, elements_of
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import term_key
from freshet.rml.functions import FUNCTIONS as KNOWN_FUNCTIONS
from freshet.rml.mapping_slices import slice_mapping
from freshet.rml.reader import read_mapping
from freshet.rml.sources import FolderSource
from freshet.rml.stream_inputs import StreamInput
from freshet.rml.user_functions import load_functions
from freshet.sources.parts_of_lines import with_whole_lines
from freshet.spark.live.open import Reading
from freshet.spark.stream import EncodedStream, StreamSpec
from freshet.spark.stream_records import milliseconds

MAPPING = """
@prefix rml: <http://w3id.org/rml/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://example.org/> .
<#Reading> rml:logicalSource [ rml:source "s" ; rml:referenceFormulation rml:FORM ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ; rml:class :Reading ] ;
  rml:predicateObjectMap
    [ rml:predicate :level ; rml:objectMap [ rml:reference "level" ; rml:datatype xsd:decimal ] ] ,
    [ rml:predicate :label ; rml:objectMap [ rml:reference "label" ; rml:language "en" ] ] ,
    [ rml:predicate :page ; rml:objectMap [ rml:reference "page" ; rml:termType rml:IRI ] ] ,
    [ rml:predicate :plain ; rml:objectMap [ rml:reference "plain" ] ] .
"""
TEMPLATES = """
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://example.org/> .
<#Reading> rml:logicalSource [ rml:source "s" ; rml:referenceFormulation ql:FORM ] ;
  rr:subjectMap [ rr:template "http://example.org/{id}/{name}" ] ;
  rr:predicateObjectMap
    [ rr:predicate :level ; rr:objectMap [ rml:reference "level" ; rr:datatype xsd:decimal ] ] .
"""
FUNCTIONS = """
import pyarrow.compute as pc
from freshet.rml.user_functions import mapping_function

@mapping_function("http://example.org/shout", ["http://example.org/text"], "http://example.org/out")
def shout(text):
    return pc.binary_join_element_wise(pc.utf8_upper(text), "!", "")
"""
SHOUTED = """
@prefix rml: <http://w3id.org/rml/> .
@prefix : <http://example.org/> .
<#Reading> rml:logicalSource [ rml:source "s" ; rml:referenceFormulation rml:FORM ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :label ; rml:objectMap [ rml:functionExecution [
    rml:function :shout ; rml:input [ rml:parameter :text ; rml:inputValueMap [ rml:reference "label" ] ] ] ] ] .
"""
VIEW = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://example.org/> .
<#Orders> rml:source "s" ; rml:referenceFormulation rml:FORM .
<#View> a rml:LogicalView ; rml:viewOn <#Orders> ;
  rml:field [ rml:fieldName "id" ; rml:reference "id" ] , [ rml:fieldName "of" ; rml:reference "items" ; rml:field
    [ rml:fieldName "item" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$[*]" ;
      rml:field [ rml:fieldName "kind" ; rml:reference "$.kind" ] ,
        [ rml:fieldName "sizes" ; rml:reference "$.sizes[*]" ] ] ] .
<#Item> rml:logicalSource <#View> ; rml:subjectMap [ rml:template "http://example.org/{id}/{of.item.#}" ] ;
  rml:predicateObjectMap [ rml:predicate :size ; rml:objectMap [ rml:reference "of.item.sizes" ] ] ,
    [ rml:predicate :kind ; rml:objectMap [ rml:reference "of.item.kind" ] ] .
"""
LOUD_VIEW = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://example.org/> .
<#View> a rml:LogicalView ; rml:viewOn [ rml:source "s" ; rml:referenceFormulation rml:FORM ] ;
  rml:field [ rml:fieldName "id" ; rml:reference "id" ] , [ rml:fieldName "loud" ; rml:functionExecution [
    rml:function :shout ; rml:input [ rml:parameter :text ; rml:inputValueMap [ rml:reference "label" ] ] ] ] .
<#Reading> rml:logicalSource <#View> ; rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :label ; rml:objectMap [ rml:reference "loud" ] ] .
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture
def run(spark, tmp_path):
    """Runs a stream over files with these contents; gives its timed triples and its rejects, both sorted."""

    def run(form, *, time_form="epoch_ms", mapping=MAPPING, functions="", places=None, **files):
        folder = tmp_path / "in"
        folder.mkdir()
        for name, content in files.items():
            (folder / f"{name}.{form}").write_bytes(content if isinstance(content, bytes) else content.encode())
        users = {}
        if functions:
            (tmp_path / "functions.py").write_text(functions)
            users = load_functions(tmp_path / "functions.py")
        spec = _spec(tmp_path, form, time_form, mapping, users)
        stream = EncodedStream(replace(spec, origins=places is not None))
        dictionary, triples, counts = Dictionary(), [], []

        def on_batch(name, number, table, *, records, rejected, seconds, joined):
            counts.append((records, rejected))
            if places is not None:
                places.update(zip(table.column("time").to_pylist(), table.column(ORIGIN).to_pylist(), strict=True))
            elements = elements_of(table, stream.layout, dictionary)
            for time, *ids in zip(*elements, strict=True):
                triples.append((int(time), *(term_key(term) for term in dictionary.decode_many(ids))))

        running = stream.start(
            spark, on_batch, checkpoint=tmp_path / "checkpoint", rejects=tmp_path / "rejects", until_done=True
        )
        running.drain()
        running.stop()
        kept = [
            json.loads(line)
            for file in sorted((tmp_path / "rejects").rglob("*.json"))
            for line in file.read_text().splitlines()
        ]
        assert sum(rejected for _, rejected in counts) == len(kept)
        return sorted(triples), sorted(kept, key=lambda reject: (reject["file"], reject["line"]))

    return run


def test_lines_that_are_no_text_are_rejects(run):
    triples, rejects = run("json", mapping=TEMPLATES, a=b'{"at": 1, "id": "\xff", "name": "n", "level": 1}\n\xfe\xfe\n')
    assert triples == []
    assert [(reject["line"], reject["record"]) for reject in rejects] == [
        (1, '{"at": 1, "id": "\ufffd", "name": "n", "level": 1}'),
        (2, "\ufffd\ufffd"),
    ]


def test_csv_lines_that_are_no_text_are_rejects(run):
    triples, rejects = run("csv", mapping=TEMPLATES, a=b"at,id,name,level\n1,a,\xff,5\n2,b,n,6\n")
    level = "<http://example.org/level>"
    assert triples == [(2, "<http://example.org/b/n>", level, '"6"^^<http://www.w3.org/2001/XMLSchema#decimal>')]
    assert [(reject["line"], reject["reason"]) for reject in rejects] == [(2, "not UTF-8 text")]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_view_makes_several_records_of_one(run, form):
    items = '[{"kind": "k", "sizes": [4, 5.5]}, {"kind": "l"}]'
    if form == "json":
        lines = json.dumps({"at": 1, "id": "a", "items": items}) + '\n{"at": 2, "id": "b"}\n{"id": "c"}\nno JSON\n'
    else:
        lines = 'at,id,items\n1,a,"' + items.replace('"', '""') + '"\n2,b,\nx,c,\n'
    triples, rejects = run(form, mapping=VIEW, a=lines)
    integer, number = (f"^^<http://www.w3.org/2001/XMLSchema#{name}>" for name in ("integer", "double"))
    first, second = "<http://example.org/a/0>", "<http://example.org/a/1>"
    kind, size = "<http://example.org/kind>", "<http://example.org/size>"
    expected = {(1, first, kind, '"k"'), (1, first, size, f'"4"{integer}'), (1, first, size, f'"5.5"{number}')}
    assert set(triples) == {*expected, (1, second, kind, '"l"')}
    reasons = {reject["reason"] for reject in rejects}
    assert reasons == ({"no event time in $.at", "not a JSON object"} if form == "json" else {"no event time in at"})


def test_a_field_of_a_view_is_what_a_user_s_function_gives(run):
    triples, rejects = run("json", mapping=LOUD_VIEW, functions=FUNCTIONS, a='{"at": 1, "id": "a", "label": "hey"}\n')
    assert triples == [(1, "<http://example.org/a>", "<http://example.org/label>", '"HEY!"')]
    assert rejects == []


def test_a_user_s_function_runs_in_a_stream(run):
    triples, rejects = run(
        "json",
        mapping=SHOUTED,
        functions=FUNCTIONS,
        a='{"at": 1, "id": "a", "label": "hey"}\n{"at": 2, "id": "b"}\n{"at": 3, "id": "c", "label": "é"}\n',
    )
    label = "<http://example.org/label>"
    assert triples == [(1, "<http://example.org/a>", label, '"HEY!"'), (3, "<http://example.org/c>", label, '"É!"')]
    assert rejects == []


def _spec(folder, form, time_form="epoch_ms", content=MAPPING, users=None):
    mapping = folder / "mapping.ttl"
    mapping.write_text(content.replace("FORM", "JSONPath" if form == "json" else "CSV"))
    time = "$.at" if form == "json" else "at"
    declared = {iri: user.declared for iri, user in (users or {}).items()}
    (mapping_slice,) = slice_mapping(read_mapping(mapping, functions={**KNOWN_FUNCTIONS, **declared}))
    given = StreamInput(FolderSource(folder / "in"), mapping_slice.source, time, time_form)
    return StreamSpec("s", (given,), mapping_slice, functions=users or {})


def test_a_json_record_makes_its_triples(run):
    triples, rejects = run(
        "json",
        a='{"id":"a b","at":5,"level":1.50,"label":"wet \\"x\\"","page":"http://e/p","plain":7}\n\n{"id":1,"at":6}\n',
    )
    assert rejects == []
    subject = "<http://example.org/a%20b>"
    assert triples == sorted(
        [
            (5, subject, TYPE, "<http://example.org/Reading>"),
            (5, subject, "<http://example.org/level>", '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
            (5, subject, "<http://example.org/label>", '"wet "x""@en'),
            (5, subject, "<http://example.org/page>", "<http://e/p>"),
            (5, subject, "<http://example.org/plain>", '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'),
            (6, "<http://example.org/1>", TYPE, "<http://example.org/Reading>"),
        ]
    )


def test_json_that_cannot_be_taken_is_rejected_with_its_line(run):
    lines = {
        '{"id":1,"at":1}': None,
        '{"id":2,"at":2} and more': "not a JSON object",
        '{"id":3,"at":3}{"id":4,"at":4}': "not a JSON object",
        '{"id":5,"at":': "not a JSON object",
        "[1]": "not a JSON object",
        '"text"': "not a JSON object",
        '{"id":"\\ud800","at":4}': "not a JSON object",
        '{"id":6}': "no event time in $.at",
        '{"id":7,"at":"soon"}': "no event time in $.at",
        '{"id":8,"at":8,"page":"not an iri"}': "not an absolute IRI: not an iri",
        '{"id":9,"at":9,"extra":{"deep":"}"}}': None,
    }
    triples, rejects = run("json", a="\n".join(lines))
    assert [(reject["line"], reject["record"], reject["reason"]) for reject in rejects] == [
        (number, line, reason) for number, (line, reason) in enumerate(lines.items(), 1) if reason
    ]
    assert {triple[1] for triple in triples} == {"<http://example.org/1>", "<http://example.org/9>"}


def test_csv_that_cannot_be_taken_is_rejected_with_its_line(run):
    triples, rejects = run(
        "csv",
        a='id,at,level,label,page,plain\n1,1,2.0,"a, b",http://e/p,x\n2,2,3.0\n3,,1,l,http://e/p,x\n',
        b="id,level,at,label,page,plain\n4,1,4,l,http://e/p,x\n",
    )
    assert [(reject["file"][-5:], reject["line"], reject["reason"]) for reject in rejects] == [
        ("a.csv", 3, "not a CSV record of 6 fields"),
        ("a.csv", 4, "no event time in at"),
        ("b.csv", 1, "the file's header is not id,at,level,label,page,plain"),
        ("b.csv", 2, "the file's header is not id,at,level,label,page,plain"),
    ]
    assert {triple[1] for triple in triples} == {"<http://example.org/1>"}
    assert (1, "<http://example.org/1>", "<http://example.org/label>", '"a, b"@en') in triples


@pytest.mark.parametrize("form", ["json", "csv"])
def test_records_know_the_lines_of_their_files(run, form):
    if form == "json":
        files = {"a": '{"id":1,"at":1}\n\n{"id":\n{"id":2,"at":2}\n', "b": '{"id":3,"at":3}'}
        rejected = [("a.json", 3)]
    else:
        other = "id,level,at,label,page,plain\n4,1,4,l,http://e/p,x\n"
        files = {"a": "id,at,level,label,page,plain\n1,1,2.0,l,http://e/p,x\n2\n2,2,2.0,l,http://e/p,x\n", "b": other}
        rejected = [("a.csv", 3), ("b.csv", 1), ("b.csv", 2)]
    places = {}
    _, rejects = run(form, places=places, **files)
    assert [(reject["file"].rpartition("/")[2], reject["line"]) for reject in rejects] == rejected
    named = {time: place.rpartition("/")[2] for time, place in places.items()}
    if form == "json":
        assert named == {1: "a.json#L1", 2: "a.json#L4", 3: "b.json#L1"}
    else:
        assert named == {1: "a.csv#L2", 2: "a.csv#L4"}


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_a_file_that_tasks_share(run, spark, form, end):
    rows = [json.dumps({"id": n, "at": n}) if form == "json" else f"{n},{n},2.0,l,http://e/p,x" for n in range(200)]
    lines = ["id,at,level,label,page,plain" if form == "csv" else "", *rows[:90], "", *rows[90:]]
    setting = "spark.sql.files.maxPartitionBytes"
    spark.conf.set(setting, "301")  # parts begin anywhere in a line
    places = {}
    try:
        run(form, places=places, a=end.join(lines) + end)
    finally:
        spark.conf.unset(setting)
    assert sum("#B" in place for place in places.values()) > 100
    named = {time: with_whole_lines(place).partition("#L")[2] for time, place in places.items()}
    assert named == {n: str(n + 2 + (n >= 90)) for n in range(200)}


def test_lines_of_xml(run):
    mapping = MAPPING.replace(
        "rml:referenceFormulation rml:FORM", 'rml:referenceFormulation rml:XPath ; rml:iterator "/r/a"'
    )
    places = {}
    text = "<r>\n<a><id>1</id><at>1</at></a>\n\n<a>\n<id>2</id><at>2</at></a>\n</r>\n"
    run("xml", mapping=mapping, places=places, a=text)
    assert {time: place.rpartition("/")[2] for time, place in places.items()} == {1: "a.xml#L2", 2: "a.xml#L4"}


def _optimized(frame) -> str:
    return frame._jdf.queryExecution().optimizedPlan().toString()


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_mapping_runs_without_python(spark, tmp_path, form):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"a.{form}").write_text("id,at,level,label,page,plain\n")
    spark.conf.set("spark.sql.debug.maxToStringFields", 1_000)
    spark.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")  # or a stream has no plan until it runs
    encoded = EncodedStream(_spec(tmp_path, form))._encoded([Reading(spark, tmp_path / "spool")])
    assert "url_encode" in encoded._jdf.queryExecution().analyzed().toString()
    plan = _optimized(encoded)
    assert "EvalPython" not in plan
    assert "EvalPython" in _optimized(encoded.select(F.udf(lambda text: text)(encoded.columns[0]))), (
        "a function in Python would show"
    )
    assert plan.count("MapInArrow") == (form == "json"), "only the lines are read in Python, by a kernel"


TIMES = {
    ("iso", "2026-03-02T06:45:00.250Z"): 1772433900250,
    ("iso", "2026-03-02T06:45:00"): 1772433900000,
    ("iso", "2026-03-02 07:45:00+01:00"): 1772433900000,
    ("iso", "2026-03-02T06:45:00ZZ"): None,
    ("iso", "2026-03-02T06:45:00+01:00Z"): None,
    ("iso", "06:45:00"): None,
    ("iso", "2026-03-02"): None,
    ("iso", "soon"): None,
    ("iso", "2026-03-02T06:45:00.2509Z"): 1772433900250,
    ("iso", "2026-03-02T06:45:00.250999Z"): 1772433900250,
    ("iso", "1969-12-31T23:59:59.9991Z"): -1,
    ("iso", "2026-03-02T06:45:00.2-13:59"): 1772433900200 + 839 * 60_000,
    ("iso", "0001-01-01T00:00:00Z"): -62135596800000,
    ("iso", "9999-12-31T23:59:59.999Z"): 253402300799999,
    ("iso", "2026-02-29T06:45:00Z"): None,
    ("iso", "2026-03-02T24:00:00Z"): None,
    ("epoch_ms", "1772433900250"): 1772433900250,
    ("epoch_ms", "x"): None,
    ("epoch_s", "1772433900.25"): 1772433900250,
    ("epoch_s", "1772433900"): 1772433900000,
}


@pytest.mark.parametrize("form", ["iso", "epoch_ms", "epoch_s"])
def test_event_times(spark, form):
    expected = {text: time for (kind, text), time in TIMES.items() if kind == form}
    rows = spark.createDataFrame([(text,) for text in expected], "text STRING")
    read = rows.select("text", milliseconds(F.col("text"), form).alias("ms")).collect()
    assert {row.text: row.ms for row in read} == expected
    for text, time in expected.items() if form == "iso" else ():
        data = np.frombuffer(text.encode(), np.uint8)
        assert read_time(data, 0, data.size) in (time, UNREAD), text


def test_times_of_every_form_in_one_stream(run):
    form, times = _with_times("2026-03-02T06:45:00.250Z", "2026-03-02T06:45:00", "2026-03-02 07:45:00+01:00", "soon")
    triples, rejects = run("json", time_form="iso", mapping=TEMPLATES, a=form)
    assert [(reject["line"], reject["record"], reject["reason"]) for reject in rejects] == [
        (4, form.splitlines()[3], "no event time in $.at")
    ]
    level = '"1"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    assert triples == sorted(
        (
            time,
            f"<http://example.org/{number}/x%20é-_~>",
            "<http://example.org/level>",
            level,
        )
        for number, time in enumerate(times)
    )


def _with_times(*forms):
    lines = [json.dumps({"id": at, "name": "x é-_~", "at": form, "level": 1}) for at, form in enumerate(forms)]
    return "\n".join([*lines, "   ", ""]), [time for form in forms if (time := TIMES["iso", form]) is not None]
