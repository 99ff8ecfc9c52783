"""Records over HTTP: mapped in the server's process, once, with the reasons of those that are not."""

import json
from urllib.parse import quote

import pytest

from freshet import Session
from freshet.mapper import record_mapper
from freshet.server.settings import Limits
from http_server import server

_IRI = "http://e/house/rooms"
_S = f"/streams/{quote(_IRI, safe='')}"
_ROOMS = [("1", "Kitchen", "1970-01-01T00:00:01Z"), ("2", 'The "big" one', "1970-01-01T00:00:02Z")]


def mapping(form, iterator=""):
    cut = f'; rml:iterator "{iterator}"' if iterator else ""
    return f"""@prefix rml: <http://w3id.org/rml/> . @base <http://e/> .
<R> rml:logicalSource [ rml:source "rooms" ; rml:referenceFormulation rml:{form} {cut} ] ;
  rml:subjectMap [ rml:template "http://e/room/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate <http://e/name> ; rml:objectMap [ rml:reference "name" ] ] ,
    [ rml:predicate <http://e/page> ; rml:objectMap [ rml:reference "page" ; rml:termType rml:UnsafeIRI ] ] ."""


_JSON = [{"id": room, "name": name, "at": at, "page": "urn:a"} for room, name, at in _ROOMS]
_CSV = "id,name,at,page\n" + "".join(
    f'{room},"{name.replace(chr(34), chr(34) * 2)}",{at},urn:a\n' for room, name, at in _ROOMS
)
_XML = "".join(
    f"<room><id>{room}</id><name>{name}</name><at>{at}</at><page>urn:a</page></room>" for room, name, at in _ROOMS
)
_POSTS = {
    "application/json": ("JSONPath", "$.rooms[*]", json.dumps({"rooms": _JSON})),
    "application/x-ndjson": ("JSONPath", "$", "\n".join(map(json.dumps, _JSON)) + "\n"),
    "text/csv": ("CSV", "", _CSV),
    "application/xml": ("XPath", "/rooms/room", f"<rooms>{_XML}</rooms>"),
}


def put(http, form, iterator, **options):
    settings = "&".join(f"{name.replace('_', '-')}={quote(value)}" for name, value in options.items())
    return http.send("PUT", f"{_S}?absorb=all&{settings}", mapping(form, iterator), Content_Type="text/turtle")


def post(http, body, media="application/x-ndjson", query="", **headers):
    done = http.send("POST", f"{_S}{query}", body, Content_Type=media, **headers)
    return done.status, json.loads(done.data)


def stored(session):
    answer = session.query("SELECT ?s ?o { ?s <http://e/name> ?o } ORDER BY ?s")
    return [(str(row["s"]), str(row["o"])) for row in answer.bindings()]


@pytest.mark.parametrize("media", _POSTS)
def test_records_are_mapped(media):
    form, iterator, body = _POSTS[media]
    with server(Session()) as http:
        assert put(http, form, iterator, time="at").status == 201
        status, found = post(http, body, media)
        assert (status, found["records"], found["elements"], found["rejected"]["count"]) == (200, 2, 4, 0)
        assert http.session.streams()[0].watermark_ms == 2000
        assert stored(http.session) == [
            ("<http://e/room/1>", '"Kitchen"'),
            ("<http://e/room/2>", '"The \\"big\\" one"'),
        ]


def test_times_are_those_of_records_or_of_the_request_or_of_arrival():
    with server(Session()) as http:
        put(http, "JSONPath", "$")
        assert post(http, '{"id": 1, "name": "a"}', query="?time=5000")[0] == 200
        assert http.session.streams()[0].watermark_ms == 5000
        assert post(http, '{"id": 1, "name": "a"}', Event_Time="1970-01-01T00:00:07Z")[0] == 200
        assert http.session.streams()[0].watermark_ms == 7000
        assert post(http, '{"id": 1, "name": "a"}')[0] == 200
        assert http.session.streams()[0].watermark_ms > 1_000_000_000_000


def test_rejected_records_are_answered_counted_and_kept():
    lines = ['{"id": 1, "name": "a", "at": 5}', "{", '{"id": 2, "at": "x"}', '{"id": 3, "page": "<", "at": 6}']
    with server(Session()) as http:
        put(http, "JSONPath", "$", time="at", time_form="epoch_ms")
        status, found = post(http, "\n".join(lines))
        assert (status, found["records"], found["elements"]) == (200, 4, 1)
        reasons = ["not a JSON object", "no event time in at", "not an absolute IRI: http://e/<"]
        assert [each["reason"] for each in found["rejected"]["first"]] == reasons
        assert [each["record"] for each in found["rejected"]["first"]] == lines[1:]
        assert json.loads(http.get(_S).data)["rejected"] == 3
        kept = json.loads(http.get("/rejects").data)
        assert [each["reason"] for each in kept["rejects"]] == reasons[::-1]
        status, found = post(http, "{")
        assert (status, found["rejected"]["count"]) == (422, 1)


def test_documents_of_many_records():
    """Whole beside each of its records, the text of this document would be 6 GB."""
    rows = 20_000
    table = "id,name,page,at\n" + "".join(f"{row},x,urn:a,5\n" for row in range(rows))
    with server(Session()) as http:
        put(http, "CSV", "", time="at", time_form="epoch_ms")
        status, found = post(http, table.replace(",5\n", ",noon\n", 300), "text/csv")
        assert (status, found["records"], found["rejected"]["count"]) == (200, rows, 300)
        assert {each["record"] for each in found["rejected"]["first"]} == {table.replace(",5", ",noon", 300)[:500]}
        assert len(json.loads(http.get("/rejects").data)["rejects"]) == 200
        assert json.loads(http.get(_S).data)["rejected"] == 300


def test_a_repeated_post_counts_once():
    with server(Session()) as http:
        put(http, "JSONPath", "$", time="at", time_form="epoch_ms")
        record = '{"id": 1, "name": "a", "at": 5}'
        assert post(http, record, Idempotency_Key="k")[1]["elements"] == 1
        assert post(http, record, Idempotency_Key="k")[1]["repeated"]
        assert http.session.streams()[0].elements == 1
        assert post(http, '{"id": 2, "at": 6}', Idempotency_Key="k")[0] == 422


def test_what_cannot_be_declared_or_taken_is_refused():
    with server(Session()) as http:
        assert put(http, "JSONPath", "$", time="at").status == 201
        assert put(http, "JSONPath", "$", time="at").status == 200
        assert put(http, "JSONPath", "$").status == 409
        assert http.send("PUT", f"{_S}?absorb=all").status == 409
        assert post(http, "a,b\n", "text/csv")[0] == 415
        assert post(http, "x", "image/png")[0] == 415
        other = f"{_S}2"
        assert http.send("PUT", other).status == 201
        assert http.send("POST", other, "{}", Content_Type="application/json").status == 415
        for wrong, status in (
            ("<a> <b>", 400),
            (mapping("JSONPath", "$").replace("rml:template", "rml:tomplate"), 501),
            (mapping("JSONPath", "$["), 400),
        ):
            done = http.send("PUT", f"{_S}3", wrong, Content_Type="text/turtle")
            assert done.status == status, done.data
        assert http.send("PUT", f"{_S}3", "{}", Content_Type="application/json").status == 415
        assert http.get(f"{_S}3").status == 404


def test_a_mapping_survives_the_process(tmp_path):
    with Session(checkpoint=tmp_path / "c") as session, server(session) as http:
        put(http, "CSV", "", time="at")
        assert post(http, _CSV, "text/csv")[1]["elements"] == 4
    with Session(checkpoint=tmp_path / "c") as session, server(session) as http:
        assert json.loads(http.get(_S).data)["mapping"]["takes"] == ["text/csv"]
        assert put(http, "CSV", "", time="at").status == 200
        assert post(http, _CSV.replace("Kitchen", "Hall"), "text/csv", "?time=9000")[0] == 200
        assert ("<http://e/room/1>", '"Hall"') in stored(session)


@pytest.mark.parametrize("media", _POSTS)
def test_mapping_has_a_time_limit(media):
    form, iterator, body = _POSTS[media]
    with server(Session(), limits=Limits(query_seconds=1e-9)) as http:
        assert put(http, form, iterator).status == 201
        status, found = post(http, body, media)
        assert (status, "reading the body took longer" in found["detail"]) == (503, True)
        assert json.loads(http.get(_S).data)["elements"] == 0


@pytest.mark.parametrize("media", _POSTS)
def test_a_large_post_is_mapped_in_pieces(media, monkeypatch):
    monkeypatch.setattr(record_mapper, "_PIECE", 3)
    rooms = [(str(number), f"room {number}" if number % 4 else "", number) for number in range(20)]
    json_rooms = [{"id": room, "name": name, "at": at, "page": "urn:a"} for room, name, at in rooms]
    xml_rooms = "".join(f"<room><id>{r}</id><name>{n}</name><at>{a}</at></room>" for r, n, a in rooms)
    bodies = {
        "application/json": json.dumps({"rooms": json_rooms}),
        "application/x-ndjson": "\n".join(map(json.dumps, json_rooms)),
        "text/csv": "id,name,at,page\n" + "".join(f"{room},{name},{at},urn:a\n" for room, name, at in rooms),
        "application/xml": f"<rooms>{xml_rooms}</rooms>",
    }
    form, iterator, _ = _POSTS[media]
    with server(Session()) as http:
        put(http, form, iterator, time="at", time_form="epoch_ms")
        status, found = post(http, bodies[media], media)
        assert (status, found["records"], found["rejected"]["count"]) == (200, 20, 0)
        assert http.session.streams()[0].watermark_ms == 19
        named = {subject: name for subject, name in stored(http.session) if name != '""'}
        assert named == {f"<http://e/room/{number}>": f'"room {number}"' for number in range(20) if number % 4}
