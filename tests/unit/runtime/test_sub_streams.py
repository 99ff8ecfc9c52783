"""Streams of a pipeline file with live sources: what is read from where, and what is wrong, with its place."""

from pathlib import Path

import pytest

from freshet.rml.mapping_slices import JoinSlice, MappingSlice
from freshet.rml.sources import FolderSource, KafkaSource, MqttSource, SocketSource
from freshet.rml.windows import JoinWindow, WindowKind
from freshet.runtime.pipeline_file import PipelineErrors, read_pipeline
from freshet.runtime.sub_streams import carried_predicates, split_stream

PREFIXES = """
@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rmls: <http://semweb.mmlab.be/ns/rmls#> .
@prefix : <http://example.org/> . @base <http://example.org/> .
"""
SPEED_AND_FLOW = (
    PREFIXES
    + """
_:speed a rmls:KafkaStream ; rmls:broker "b:9092" ; rmls:groupId "1" ; rmls:topic "ndwspeed" .
_:flow a rmls:KafkaStream ; rmls:broker "b:9092" ; rmls:groupId "1" ; rmls:topic "ndwflow" .
<Join> a rmls:JoinConfigMap ; rmls:joinType rmls:TumblingJoin .
<Speed> rml:logicalSource [ rml:source _:speed ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/{id}" ; rr:class :Speed ] ;
  rr:predicateObjectMap [ rr:predicate :flow ; rr:objectMap [
    rr:parentTriplesMap <Flow> ; rmls:joinConfig <Join> ; rmls:windowType rmls:Tumbling ;
    rr:joinCondition [ rr:child "id,at" ; rr:parent "id,at" ] ] ] .
<Flow> rml:logicalSource [ rml:source _:flow ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/flow/{id}" ] .
"""
)
ONE = (
    PREFIXES
    + """
<One> rml:logicalSource [ rml:source SOURCE ; rml:referenceFormulation ql:FORM ] ;
  rr:subjectMap [ rr:template "http://example.org/{id}" ; rr:class :One ] .
"""
)
VIEW = (
    PREFIXES.replace("http://semweb.mmlab.be/ns/rml#", "http://w3id.org/rml/")
    + """
<View> a rml:LogicalView ; rml:viewOn [ rml:source "orders" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:field [ rml:fieldName "id" ; rml:reference "$.id" ] .
<One> rml:logicalSource <View> ; rml:subjectMap [ rml:template "http://example.org/{id}" ; rml:class :One ] .
"""
)
JOINED_VIEW = VIEW.replace(
    '"$.id" ] .',
    """"$.id" ] ; rml:leftJoin [ rml:parentLogicalView <Other> ;
    rml:joinCondition [ rml:child "id" ; rml:parent "id" ] ;
    rml:field [ rml:fieldName "name" ; rml:reference "name" ] ] .
<Other> a rml:LogicalView ; rml:viewOn [ rml:source "others" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:field [ rml:fieldName "id" ; rml:reference "$.id" ] , [ rml:fieldName "name" ; rml:reference "$.name" ] .""",
)
QUERY = """
  q:
    text: |
      PREFIX : <http://example.org/>
      REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]
      WHERE { WINDOW <w> { ?s ?p ?o } }
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(stream: str, mapping: str = SPEED_AND_FLOW) -> Path:
        (tmp_path / "m.ttl").write_text(mapping)
        lines = "".join(f"    {line}\n" for line in stream.strip().splitlines())
        file = tmp_path / "pipeline.yaml"
        file.write_text(f"streams:\n  s:\n    iri: http://example.org/s\n{lines}queries:{QUERY}")
        return file

    return write


def sub_streams(file: Path):
    stream = read_pipeline(file).streams["s"]
    return split_stream(stream)


def problem(file: Path) -> str:
    with pytest.raises(PipelineErrors) as caught:
        read_pipeline("pipeline.yaml")
    (line,) = str(caught.value).splitlines()
    return line


def test_a_batch_has_a_bound_also_where_nobody_says_so(write):
    given = [sub_stream.inputs[0] for sub_stream in sub_streams(write("mapping: m.ttl\ntime: {reference: at}"))]
    assert {each.records_per_batch for each in given} == {200_000}
    socket = "source: {socket: {host: h, port: 1}, format: json%s}\nmapping: m.ttl\ntime: {reference: at}"
    one = ONE.replace("SOURCE", '"x"').replace("FORM", "JSONPath")
    assert [sub_stream.inputs[0].records_per_batch for sub_stream in sub_streams(write(socket % "", one))] == [200_000]
    assert [
        sub_stream.inputs[0].records_per_batch
        for sub_stream in sub_streams(write(socket % ", records_per_batch: 7", one))
    ] == [7]


def test_a_mapping_that_describes_its_sources(write):
    own, speed, joined = sub_streams(write("mapping: m.ttl\ntime: {reference: at}"))
    flow = KafkaSource("b:9092", "ndwflow", "1")
    assert (type(own.mapping_slice), own.inputs[0].source, own.mapping_slice.triples) == (MappingSlice, flow, ()), (
        "it reports bad records"
    )
    assert speed.inputs[0].source == KafkaSource("b:9092", "ndwspeed", "1")
    assert isinstance(joined.mapping_slice, JoinSlice)
    assert [given.source for given in joined.inputs] == [speed.inputs[0].source, flow]
    assert joined.window == JoinWindow(WindowKind.TUMBLING, size=2_000)
    assert [given.time_reference for given in joined.inputs] == ["at", "at"]


def test_some_sources_are_elsewhere(write):
    for name in ("Flow", "ndwflow"):
        given = (
            f"mapping: m.ttl\ntime: {{reference: at}}\nsources:\n  {name}:\n"
            "    mqtt: {host: h, topic: t, quality: 0}\n    time: {as: arrival}"
        )
        *_, joined = sub_streams(write(given))
        assert joined.inputs[0].source == KafkaSource("b:9092", "ndwspeed", "1")
        assert joined.inputs[1].source == MqttSource("h", "t", quality=0)
        assert (joined.inputs[1].time_form, joined.inputs[1].time_reference) == ("arrival", "")


def test_one_source_stands_for_all(write):
    *own, joined = sub_streams(
        write("mapping: m.ttl\ntime: {as: arrival}\nsource: {socket: {host: h, port: 7}, format: json}")
    )
    assert len(own) == 1, "two triples maps of one source are one sub-stream"
    assert [given.source for given in joined.inputs] == [SocketSource("h", 7)] * 2


def test_windows_of_the_pipeline_file(write):
    given = "mapping: m.ttl\ntime: {reference: at}\njoin: {window: dynamic, size: 3s, upper: 4s, grow_below: 0.2}"
    *_, joined = sub_streams(write(given))
    assert joined.window == JoinWindow(WindowKind.DYNAMIC, size=3000, upper=4000, grow_below=0.2)
    *_, joined = sub_streams(
        write("mapping: m.ttl\ntime: {as: arrival}\njoin: {window: dynamic-count, size: 9, lower: 1, upper: 99}")
    )
    assert (joined.window.kind, joined.window.size, joined.window.upper) == (WindowKind.DYNAMIC_COUNT, 9, 99)


def test_a_view_is_read_from_what_it_is_on(write):
    stream = "mapping: m.ttl\ntime: {reference: $.at, as: iso}\nsources: {orders: {kafka: {brokers: b, topic: t}}}"
    (only,) = sub_streams(write(stream, VIEW))
    (given,) = only.inputs
    assert given.source == KafkaSource("b", "t")
    assert only.mapping_slice.source is given.logical_source
    assert given.logical_source.source.on.source == given.source


def test_csv_documents_of_a_socket_end_with_an_empty_line(write):
    csv = ONE.replace("FORM", "CSV").replace("SOURCE", '"x"')
    stream = "mapping: m.ttl\ntime: {as: arrival}\nsource: {socket: {host: h, port: 7}, format: csv}"
    assert sub_streams(write(stream, csv))[0].inputs[0].source.delimiter == "\n\n"
    described = '[ a rmls:TCPSocketStream ; rmls:hostName "h" ; rmls:port "7" ]'
    csv = ONE.replace("FORM", "CSV").replace("SOURCE", described)
    assert sub_streams(write("mapping: m.ttl\ntime: {as: arrival}", csv))[0].inputs[0].source.delimiter == "\n\n"


def test_timed_triples_come_from_anywhere(write):
    (sub_stream,) = sub_streams(
        write("source: {kafka: {brokers: [a, b], topic: t, start: latest}, format: timed-ntriples}")
    )
    assert sub_stream.mapping_slice is None
    assert sub_stream.inputs[0].source == KafkaSource("a,b", "t", start="latest")


def test_a_topic_with_a_schema_registry(write):
    registry = 'registry: {url: "http://r:8081", headers: {Authorization: Basic x}}'
    (sub_stream,) = sub_streams(
        write(f"source: {{kafka: {{brokers: a, topic: t, {registry}}}, format: jsonld}}\ntime: {{as: arrival}}")
    )
    wanted = KafkaSource("a", "t", registry="http://r:8081", registry_headers=(("Authorization", "Basic x"),))
    assert sub_stream.inputs[0].source == wanted


def test_how_a_source_is_read(write, tmp_path):
    (tmp_path / "in").mkdir()
    json = ONE.replace("FORM", "JSONPath").replace("SOURCE", '"x"')
    stream = (
        "mapping: m.ttl\ntime: {as: arrival}\nsource: {folder: in, format: json, whole_files: true, pattern: '*.j'}"
    )
    (sub_stream,) = sub_streams(write(stream, json))
    assert sub_stream.inputs[0].source == FolderSource(tmp_path / "in", "*.j")
    assert sub_stream.inputs[0].whole_files


FILE = ONE.replace("FORM", "JSONPath").replace("SOURCE", '"x.json"')
PUSHED = ONE.replace("FORM", "JSONPath").replace(
    "SOURCE", '[ a rmls:TCPSocketStream ; rmls:hostName "h" ; rmls:port "7" ; rmls:type "PUSH" ]'
)
TARGETED = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://example.org/> . @base <http://example.org/> .
<One> rml:logicalSource [ rml:source "x" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ; rml:class :One ] ;
  rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ rml:reference "p" ;
    rml:logicalTarget [ rml:target [ a rml:FilePath ; rml:path "dump.nq" ] ] ] ] .
"""
ARRIVALS = "mapping: m.ttl\ntime: {as: arrival}\n"
WRONG = {
    "no source at all": ("time: {as: arrival}", FILE, "2:3: 'source' is missing in 's'"),
    "two places": (
        ARRIVALS + "source: {kafka: {brokers: b, topic: t}, mqtt: {host: h, topic: t}, format: json}",
        FILE,
        "6:5: one of folder, kafka, mqtt, sse, websocket, ldes, socket says where the stream is,"
        " not 'kafka' and 'mqtt'",
    ),
    "no place": (
        "mapping: m.ttl\ntime: {as: arrival}\nsource: {format: json}", FILE,
        "6:5: one of folder, kafka, mqtt, sse, websocket, ldes, socket says where the stream is",
    ),
    "no topic": (
        "mapping: m.ttl\ntime: {as: arrival}\nsource: {kafka: {brokers: b}, format: json}", FILE,
        "6:14: 'topic' is missing in 'kafka'",
    ),
    "a misspelt key": (
        "mapping: m.ttl\ntime: {as: arrival}\nsource: {kafka: {broker: b, topic: t}, format: json}", FILE,
        "6:22: unknown key 'broker'; did you mean 'brokers'?",
    ),
    "no port": (
        "mapping: m.ttl\ntime: {as: arrival}\nsource: {socket: {host: h, port: 99999}, format: json}", FILE,
        "6:38: 99999 is not a port",
    ),
    "files of Kafka": (
        ARRIVALS + "source: {kafka: {brokers: b, topic: t}, format: json, files_per_batch: 3}",
        FILE, "6:59: 'files_per_batch' is for folders",
    ),
    "another format": (
        "mapping: m.ttl\ntime: {as: arrival}\nsource: {kafka: {brokers: b, topic: t}, format: xml}", FILE,
        "6:45: it is xml, but the references of One are JSONPath",
    ),
    "a time without a reference": (
        "mapping: m.ttl\ntime: {as: iso}\nsource: {kafka: {brokers: b, topic: t}, format: json}", FILE,
        "5:5: 'reference' is missing in 'time'",
    ),
    "no time": (
        "mapping: m.ttl\nsource: {kafka: {brokers: b, topic: t}, format: json}", FILE,
        "2:3: 'time' is missing in 's': json records need it",
    ),
    "a file is no stream": (
        "mapping: m.ttl\ntime: {as: arrival}", FILE,
        "2:3: the mapping's source of One is no stream: 'x.json';"
        " say in 'source' or 'sources' where its records come from",
    ),
    "a socket that others connect to": (
        "mapping: m.ttl\ntime: {as: arrival}", PUSHED,
        "2:3: the mapping's source of One cannot be read: a TCP socket that others connect to (h:7, rmls:type PUSH);"
        " say in 'source' or 'sources' where else it is",
    ),
    "a source that is none": (
        "mapping: m.ttl\ntime: {as: arrival}\nsources: {ndwflaw: {socket: {host: h, port: 7}}}", SPEED_AND_FLOW,
        "6:15: no triples map and no source of the mapping is called 'ndwflaw'; did you mean 'ndwflow'?",
    ),
    "functions that are not there": (
        "mapping: m.ttl\ntime: {as: arrival}\nfunctions: f.py", SPEED_AND_FLOW,
        "6:16: there is no file f.py",
    ),
    "a target": (
        ARRIVALS + "source: {kafka: {brokers: b, topic: t}, format: json}", TARGETED,
        "4:5: One has the logical target dump.nq, and streams write to none;"
        " write a query with a sink, or use `freshet map`",
    ),
    "a view that joins others": (
        ARRIVALS + "source: {kafka: {brokers: b, topic: t}, format: json}", JOINED_VIEW,
        "4:5: the view View of One joins records of several sources; streams are joined by join conditions of objects",
    ),
    "limits of a window": (
        "mapping: m.ttl\ntime: {as: arrival}\njoin: {window: dynamic, lower: 9s, size: 2s}", SPEED_AND_FLOW,
        "6:5: the sizes of a DynamicWindow do not ascend from at least 1: lower 9000, size 2000, upper 5000",
    ),
    "limits of a window that does not adapt": (
        ARRIVALS + "join: {window: tumbling, upper: 9s}", SPEED_AND_FLOW,
        "6:5: a tumbling window has one size, so 'upper' says nothing of it",
    ),
    "a sizing policy that is not there": (
        ARRIVALS + "join: {window: dynamic, policy: 'freshet.rml.sizing:wait'}", SPEED_AND_FLOW,
        "6:5: there is no function wait in freshet.rml.sizing for the sizing policy freshet.rml.sizing:wait",
    ),
    "a window without a join": (
        ARRIVALS + "source: {kafka: {brokers: b, topic: t}, format: json}\njoin: {size: 2s}", FILE,
        "7:5: the mapping joins no records: none of its objects has a join condition",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_has_its_place(write, name):
    stream, mapping, expected = WRONG[name]
    assert problem(write(stream, mapping)) == f"pipeline.yaml:{expected}"


def test_the_predicates_that_a_mapping_can_make(write):
    def carried(mapping: str) -> set[str] | None:
        file = write("mapping: m.ttl\ntime: {as: arrival}", mapping)
        found = carried_predicates(split_stream(read_pipeline(file).streams["s"]))
        return None if found is None else {predicate.value for predicate in found}

    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert carried(SPEED_AND_FLOW) == {rdf_type, "http://example.org/flow"}
    of_the_record = SPEED_AND_FLOW.replace(
        "rr:class :Speed ]",
        'rr:class :Speed ] ; rr:predicateObjectMap [ rr:predicateMap [ rr:template "http://example.org/{name}" ] ;'
        ' rr:objectMap [ rml:reference "value" ] ]',
    )
    assert carried(of_the_record) is None
