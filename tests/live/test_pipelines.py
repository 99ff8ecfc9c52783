"""Pipelines over real brokers: what a query counts is what was sent, once each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager, suppress

import pytest

from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_file import read_pipeline
from freshet.runtime.run import PipelineRun
from live_servers import KafkaBroker, LineServer
from pipeline_runs import Notes, run_to_the_end
from waiting import wait_until

EX = "http://example.org/"
PREFIXES = f"""
@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rmls: <http://semweb.mmlab.be/ns/rmls#> . @prefix ex: <{EX}> .
"""
MAPPING = (
    PREFIXES
    + f"""
<#Reading> rml:logicalSource [ rml:source "anywhere" ; rml:referenceFormulation ql:FORM ; ITERATOR ] ;
  rr:subjectMap [ rr:template "{EX}reading/{{n}}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:room ; rr:objectMap [ rr:template "{EX}room/{{room}}" ] ] .
"""
)
COUNT = f"""
PREFIX ex: <{EX}>
REGISTER RSTREAM <rooms> AS SELECT ?room (COUNT(?r) AS ?readings)
FROM NAMED WINDOW <w> ON ex:readings [RANGE PT10S STEP PT10S]
WHERE {{ WINDOW <w> {{ ?r ex:room ?room }} }} GROUP BY ?room
"""
SPARK = """
checkpoint: checkpoint
rejects: rejects
spark: {master: "local[2]", config: {spark.driver.memory: 1g, spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1"}}
"""


def reading(n: int) -> dict[str, object]:
    """One every second, in three rooms."""
    return {"n": n, "room": n * 7 % 3, "at": 1000 * n}


def as_json(first: int, last: int) -> list[str]:
    return [json.dumps(reading(n)) for n in range(first, last)]


def as_triples(first: int, last: int) -> list[str]:
    return [f"{1000 * n}\t<{EX}reading/{n}> <{EX}room> <{EX}room/{n * 7 % 3}> ." for n in range(first, last)]


def expected(last: int) -> dict[int, dict[str, int]]:
    """Close of a window -> room -> readings, for readings from 0."""
    counts: dict[int, Counter[str]] = {}
    for n in range(last):
        counts.setdefault(10_000 * (n // 10 + 1), Counter())[f"{EX}room/{n * 7 % 3}"] += 1
    return {close: dict(count) for close, count in counts.items()}


def counted(reports: list[dict]) -> dict[int, dict[str, int]]:
    found = {}
    for report in reports:
        assert report["time"] not in found, "a report came twice"
        found[report["time"]] = {row["room"]["value"]: int(row["readings"]["value"]) for row in report["bindings"]}
    return found


class World:
    """A pipeline in a folder."""

    def __init__(self, folder, streams, sinks="[{files: out}]", query=COUNT, **mappings):
        self.folder = folder
        self.pipeline = folder / "pipeline.yaml"
        (folder / "query.rq").write_text(query)
        for name, text in mappings.items():
            (folder / f"{name}.ttl").write_text(text)
        self.pipeline.write_text(f"streams:\n{streams}\nqueries:\n  q: {{file: query.rq, sinks: {sinks}}}\n{SPARK}")

    def reports(self):
        parts = sorted((self.folder / "out").glob("part-*.ndjson"))
        return [json.loads(line) for part in parts for line in part.read_bytes().split(b"\n")[:-1]]

    def rejects(self):
        files = sorted((self.folder / "rejects").rglob("*.json"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    @contextmanager
    def running(self, spark, view=None):
        """The pipeline while it runs; it is checked all the time, as `freshet run` does."""
        pipeline = read_pipeline(self.pipeline)
        with PipelineRun(pipeline, Metrics(pipeline.streams), view or Notes()) as run:
            run.start(spark, until_done=False)
            stopped, errors = threading.Event(), []

            def watch():
                try:
                    run.wait(stopped)
                except BaseException as error:
                    errors.append(error)

            watcher = threading.Thread(target=watch)
            watcher.start()
            try:
                yield run
            finally:
                stopped.set()
                watcher.join()
            assert not errors, errors


def stream(source, **keys):
    given = "".join(f"\n    {key}: {value}" for key, value in keys.items())
    return f"  readings:\n    iri: {EX}readings\n    source: {source}{given}"


TIME = "{reference: at, as: epoch_ms}"


def json_mapping(iterator='rml:iterator "$"'):
    return MAPPING.replace("FORM", "JSONPath").replace("ITERATOR", iterator)


def test_kafka_to_kafka(spark, kafka, connector, tmp_path):
    """Twice: the second run goes on where the first was, and writes nothing that is there."""
    topic, out = kafka.topic("json"), kafka.topic("reports")
    sinks = f"[{{files: out}}, {{kafka: {{brokers: '{kafka.address}', topic: {out}}}}}]"
    source = f"{{kafka: {{brokers: ['{kafka.address}'], topic: {topic}}}, format: json, records_per_batch: 20}}"
    world = World(tmp_path, stream(source, mapping="m.ttl", time=TIME), sinks, m=json_mapping())
    kafka.send(topic, [*as_json(0, 30), b"\xff\xfe\x00", "no JSON", *as_json(30, 55)])
    with world.running(spark):
        wait_until(lambda: len(world.reports()) >= 5)
    kafka.send(topic, as_json(55, 75))
    run_to_the_end(world.pipeline, spark)
    assert counted(world.reports()) == expected(75)
    messages = kafka.messages(out)
    assert [json.loads(value) for _, value, _ in messages] == world.reports()
    assert {key for key, _, _ in messages} == {b"rooms"}
    assert [headers["freshet-time"] for _, _, headers in messages] == [str(each["time"]) for each in world.reports()]
    assert [(reject["reason"], reject["file"]) for reject in world.rejects()] == [
        ("not UTF-8 text", "kafka:json/0/30"),
        ("not a JSON object", "kafka:json/0/31"),
    ]


def test_mqtt_with_timed_triples(spark, mosquitto, tmp_path):
    source = f"{{mqtt: {{host: 127.0.0.1, port: {mosquitto.port}, topic: triples}}, format: timed-ntriples}}"
    world = World(tmp_path, stream(source))
    with world.running(spark):
        wait_until(lambda: (tmp_path / "checkpoint" / "spool" / "readings" / "0" / "subscribed").exists())
        mosquitto.publish("triples", ["\n".join(as_triples(0, 17)), *as_triples(17, 40), "17\tno triple"])
        wait_until(lambda: len(world.reports()) >= 3 and world.rejects())
    mosquitto.publish("triples", as_triples(40, 60))
    run_to_the_end(world.pipeline, spark)
    assert counted(world.reports()) == expected(60)
    assert [reject["file"] for reject in world.rejects()] == ["mqtt:triples/24"]


def test_a_socket_with_csv_documents(spark, tmp_path):
    server = LineServer()
    source = f"{{socket: {{host: 127.0.0.1, port: {server.port}}}, format: csv}}"
    mapping = MAPPING.replace("FORM", "CSV").replace("; ITERATOR", "")
    world = World(tmp_path, stream(source, mapping="m.ttl", time=TIME), m=mapping)
    with world.running(spark):
        for first in range(0, 40, 8):
            rows = [",".join(map(str, reading(n).values())) for n in range(first, first + 8)]
            server.send("n,room,at\n" + "\n".join(rows) + "\n\n")
        wait_until(lambda: len(world.reports()) >= 3)
    server.stop()
    whole = expected(40)
    assert counted(world.reports()) == {close: whole[close] for close in list(whole)[:3]}


def test_a_mapping_describes_its_sources_and_joins_them(spark, kafka, connector, tmp_path):
    """Two topics, whose records wait for each other; the mapping says where they are (as in RMLStreamer)."""
    speed, flow = kafka.topic("speed"), kafka.topic("flow")
    mapping = (
        PREFIXES
        + f"""
_:speed a rmls:KafkaStream ; rmls:broker "{kafka.address}" ; rmls:groupId "1" ; rmls:topic "{speed}" .
_:flow a rmls:KafkaStream ; rmls:broker "{kafka.address}" ; rmls:groupId "1" ; rmls:topic "{flow}" .
<Join> a rmls:JoinConfigMap ; rmls:joinType rmls:DynamicWindowJoin .
<Speed> rml:logicalSource [ rml:source _:speed ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "{EX}speed/{{n}}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:flow ; rr:objectMap [
    rr:parentTriplesMap <Flow> ; rmls:joinConfig <Join> ; rmls:windowType rmls:DynamicWindow ;
    rr:joinCondition [ rr:child "lane,at" ; rr:parent "lane,at" ] ] ] ;
  rr:predicateObjectMap [ rr:predicate ex:speed ; rr:objectMap [ rml:reference "speed" ] ] .
<Flow> rml:logicalSource [ rml:source _:flow ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "{EX}flow/{{n}}" ] .
"""
    )
    query = f"""
PREFIX ex: <{EX}>
REGISTER RSTREAM <pairs> AS SELECT ?s ?f ?v
FROM NAMED WINDOW <w> ON ex:readings [RANGE PT10S STEP PT10S]
WHERE {{ WINDOW <w> {{ ?s ex:flow ?f ; ex:speed ?v }} }}
"""
    streams = (
        f"  readings:\n    iri: {EX}readings\n    mapping: m.ttl\n    time: {TIME}\n    idle: 3s\n    lateness: 1s"
    )
    world = World(tmp_path, streams, query=query, m=mapping)

    def records(kind, first, last):
        made = ({"n": n, "lane": f"l{n % 4}", kind: 60 + n, "at": 1000 * (n // 2)} for n in range(first, last))
        return [json.dumps(each) for each in made]

    kafka.send(speed, records("speed", 0, 60))
    kafka.send(flow, [*records("flow", 0, 60), "{"])
    run_to_the_end(world.pipeline, spark)
    found = {
        (row["s"]["value"], row["f"]["value"], row["v"]["value"])
        for each in world.reports()
        for row in each["bindings"]
    }
    assert found == {(f"{EX}speed/{n}", f"{EX}flow/{n}", str(60 + n)) for n in range(60)}
    assert [(reject["reason"], reject["file"]) for reject in world.rejects()] == [
        ("not a JSON object", f"kafka:{flow}/0/60")
    ]


def start(world, said):
    """A run in a process of its own, whose output goes to a file that is not read meanwhile."""
    with said.open("w") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "freshet", "run", str(world.pipeline)],
            stdout=subprocess.DEVNULL,
            stderr=err,
            start_new_session=True,
        )


def test_a_killed_run_neither_loses_nor_repeats(spark, kafka, connector, mosquitto, tmp_path):
    """Two streams, of which one is spooled; killed with all its processes in the middle of things."""
    topic, out = kafka.topic("killed"), kafka.topic("killed-reports")
    streams = stream(
        f"{{kafka: {{brokers: '{kafka.address}', topic: {topic}}}, format: json, records_per_batch: 9}}",
        mapping="m.ttl", time=TIME,
    )  # fmt: skip
    streams += (
        f"\n  triples:\n    iri: {EX}triples\n    source:"
        f" {{mqtt: {{host: 127.0.0.1, port: {mosquitto.port}, topic: killed}}, format: timed-ntriples}}"
    )
    sinks = f"[{{files: out}}, {{kafka: {{brokers: '{kafka.address}', topic: {out}}}}}]"
    query = COUNT.replace("WHERE", "FROM NAMED WINDOW <t> ON ex:triples [RANGE PT10S STEP PT10S]\nWHERE").replace(
        "?r ex:room ?room }", "?r ex:room ?room } WINDOW <t> { ?r ex:room ?room }"
    )
    world = World(tmp_path, streams, sinks, query, m=json_mapping())
    said = tmp_path / "said.txt"
    process = start(world, said)
    try:
        subscribed = tmp_path / "checkpoint" / "spool" / "triples" / "0" / "subscribed"
        wait_until(lambda: subscribed.exists() or process.poll() is not None)
        assert process.poll() is None, said.read_text()
        kafka.send(topic, as_json(0, 50))
        mosquitto.publish("killed", as_triples(0, 50))
        wait_until(lambda: len(world.reports()) >= 2 or process.poll() is not None)
        assert process.poll() is None, said.read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kafka.send(topic, as_json(50, 80))
    mosquitto.publish("killed", as_triples(50, 80))
    run_to_the_end(world.pipeline, spark)
    assert counted(world.reports()) == expected(80)
    assert [json.loads(value) for _, value, _ in kafka.messages(out)] == world.reports()


@pytest.fixture
def own_kafka(tmp_path):
    (tmp_path / "broker").mkdir()
    broker = KafkaBroker(tmp_path / "broker")
    yield broker
    broker.stop()


def test_a_broker_that_comes_late_and_goes_in_the_middle(spark, connector, own_kafka, tmp_path):
    source = f"{{kafka: {{brokers: '{own_kafka.address}', topic: t}}, format: json}}"
    world = World(tmp_path, stream(source, mapping="m.ttl", time=TIME), m=json_mapping())
    view = Notes()
    with world.running(spark, view):
        wait_until(lambda: any("no Kafka broker answers" in note for note in view.notes))
        own_kafka.start()
        own_kafka.topic("t")
        own_kafka.send("t", as_json(0, 25))
        wait_until(lambda: len(world.reports()) >= 2)
        own_kafka.stop()
        wait_until(lambda: "no Kafka broker answers" in view.notes[-1])
        own_kafka.start()
        own_kafka.send("t", as_json(25, 45))
        wait_until(lambda: len(world.reports()) >= 4)
    assert any("can be read again" in note for note in view.notes)
    whole = expected(45)
    assert counted(world.reports()) == {close: whole[close] for close in list(whole)[:4]}


def test_a_broker_that_is_not_there_is_an_error_where_the_input_is_to_end(spark, connector, tmp_path):
    source = "{kafka: {brokers: '127.0.0.1:1', topic: t}, format: json}"
    world = World(tmp_path, stream(source, mapping="m.ttl", time=TIME), m=json_mapping())
    with pytest.raises(Exception, match="the stream readings cannot be read: no Kafka broker answers"):
        run_to_the_end(world.pipeline, spark)
