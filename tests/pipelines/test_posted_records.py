"""The records of a pipeline's files, posted to a server, give the reports that the pipeline gives on Spark: both are
compared with the reference."""

import json
from urllib.parse import quote

import pyoxigraph as ox

from comparing import differences, reports_of
from freshet import Session
from http_server import server
from pipeline_world import EX, GRAPH, QUERIES, write_world
from reference.evaluator import evaluate

OUTPUTS = {"warmFloors": "rstream", "noted": "istream"}
STREAMS = {
    "temperature": ("$.at", "iso", "application/x-ndjson"),
    "doors": ("ms", "epoch_ms", "text/csv"),
}


def test_posted_records_give_what_the_pipeline_gives(tmp_path):
    world = write_world(tmp_path, bad=True)
    found: dict[str, list[dict]] = {query: [] for query in QUERIES}
    with Session() as session, server(session) as http:
        session.load(tmp_path / "house.nt")
        for name, (time, form, _) in STREAMS.items():
            mapping = (tmp_path / f"{name}.rml.ttl").read_text(encoding="utf-8")
            place = f"/streams/{name}?iri={quote(EX + name)}&lateness=2s&time={quote(time)}&time-form={form}"
            assert http.send("PUT", place, mapping, Content_Type="text/turtle").status == 201
        session.stream(EX + "notes", lateness_ms=2000)
        for query, text in QUERIES.items():

            def take(batch, into=found[query]):
                into += [json.loads(line) for line in session.ndjson(batch).splitlines()]

            session.register(text, name=query, on_batch=take)
        rejected = 0
        for file in sorted((tmp_path / "in" / "temperature").iterdir()):
            for name, (_, _, media) in STREAMS.items():
                body = (tmp_path / "in" / name / file.name).read_bytes()
                done = http.send("POST", f"/streams/{name}", body, Content_Type=media)
                assert done.status == 200, done.data
                rejected += json.loads(done.data)["rejected"]["count"]
            notes = (tmp_path / "in" / "notes" / file.name).read_text(encoding="utf-8").splitlines(keepends=True)
            session.push(EX + "notes", "".join(line for line in notes if "only-two" not in line))
        session.finish()
    assert rejected == 6
    stored = list(ox.parse(GRAPH.encode(), format=ox.RdfFormat.N_TRIPLES))
    streams = {iri: sorted(lines) for iri, lines in world.streams.items()}
    for query, output in OUTPUTS.items():
        wanted = reports_of(evaluate(QUERIES[query], streams, stored=stored), query, output)
        assert len(wanted) > 5
        assert not (wrong := differences(found[query], wanted)), wrong
