"""The files of the web page, and what its editor asks."""

import json
from importlib.resources import files

import pytest

from freshet import Session
from http_server import server

DATA = "@prefix ex: <http://example.org/> . ex:a ex:knows ex:b ; ex:age 7 ."


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    data = tmp_path_factory.mktemp("page") / "data.ttl"
    data.write_text(DATA)
    session = Session()
    session.load(data)
    session.stream("http://example.org/s")
    with server(session) as running:
        yield running


def test_every_file_is_served_with_its_type_and_a_policy(http):
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    names = [each.name for each in files("freshet.server").joinpath("page").iterdir()]
    assert "index.html" in names
    for name in names:
        answer = http.get(f"/page/{name}")
        assert answer.status == 200
        assert answer.headers["content-type"] == f"{types[name.rpartition('.')[2]]}; charset=utf-8"
        assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert http.get("/").data == http.get("/page/index.html").data


def test_a_file_that_has_not_changed_is_not_sent_again(http):
    tag = http.get("/page/main.js").headers["etag"]
    again = http.get("/page/main.js", If_None_Match=tag)
    assert (again.status, again.data) == (304, b"")


@pytest.mark.parametrize("path", ["/page/nothing.js", "/page/..%2fapp.py", "/page/%2e%2e/app.py", "/page/"])
def test_nothing_else_is_served(http, path):
    assert http.get(path).status == 404


def test_vocabulary_has_streams_predicates_and_prefixes(http):
    found = json.loads(http.get("/vocabulary").data)
    assert found["streams"] == ["http://example.org/s"]
    assert found["predicates"] == ["http://example.org/age", "http://example.org/knows"]
    assert found["prefixes"]["xsd"] == "http://www.w3.org/2001/XMLSchema#"


def test_explain_says_how_a_query_is_understood(http):
    answer = http.send("POST", "/explain", b"SELECT * { ?a ?b ?c }")
    assert json.loads(answer.data)["form"] == "select"
    wrong = http.send("POST", "/explain", b"SELECT *\n{ ?a ?b }")
    assert wrong.status == 400
    assert (json.loads(wrong.data)["line"], json.loads(wrong.data)["column"]) == (2, 9)


def test_rejects_have_the_line_and_the_reason(http):
    body = b"1\t<http://e/a> <http://e/b> <http://e/c> .\n2\t<http://e/a> nonsense .\n"
    refused = http.send("POST", "/streams/s", body, Content_Type="application/x-timed-n-triples")
    assert refused.status == 400
    found = json.loads(http.get("/rejects").data)
    assert found["total"] == 1
    [only] = found["rejects"]
    assert only["stream"] == "http://example.org/s"
    assert only["record"] == "2\t<http://e/a> nonsense ."
    assert only["source"].startswith("line 2")
    assert only["reason"]


def test_the_newest_reports_come_first_to_a_page_that_opens(http):
    query = b"""REGISTER RSTREAM <every> AS SELECT ?a
    FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
    WHERE { WINDOW <w> { ?a ?b ?c } }"""
    assert http.send("PUT", "/queries/every", query).status == 201
    lines = "".join(f"{second * 1000}\t<http://e/{second}> <http://e/b> <http://e/c> .\n" for second in range(1, 9))
    sent = http.send("POST", "/streams/s", lines.encode(), Content_Type="application/x-timed-n-triples")
    assert sent.status == 200
    answer = http.get("/queries/every/answers?newest=2&limit=2", Accept="application/x-ndjson")
    times = [json.loads(line)["time"] for line in answer.data.splitlines()]
    assert times == [7000, 8000]
    [listed] = json.loads(http.get("/queries").data)["queries"]
    assert listed["newest"]["time"] == 8000
    assert http.get("/queries/every/answers?newest=none").status == 400
