"""Graph Store Protocol: stored graphs as resources."""

from concurrent.futures import Future
from threading import Thread
from urllib.parse import quote

import pyoxigraph as ox
import pytest

from freshet import Session
from freshet.server.settings import make_token
from http_server import ServerProcess, server

_G = f"/graphs?graph={quote('http://e/g')}"
_TTL = "text/turtle; charset=utf-8"
_FORMATS = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
    "application/ld+json": ox.RdfFormat.JSON_LD,
}


def _graph(answer) -> ox.Dataset:
    form = _FORMATS[answer.headers["content-type"].partition(";")[0]]
    found = ox.Dataset(ox.Quad(*quad.triple) for quad in ox.parse(answer.data, form, base_iri="http://m/"))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def _same(text: str) -> ox.Dataset:
    found = ox.Dataset(ox.Quad(*quad.triple) for quad in ox.parse(text, ox.RdfFormat.TURTLE, base_iri="http://e/g"))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


@pytest.fixture
def http():
    with server() as running:
        yield running


def test_a_graph_is_made_read_and_added_to(http):
    assert http.get(_G).status == 404
    assert http.send("HEAD", _G).status == 404
    first = "<a> <http://e/p> [ <http://e/q> 'x'@en ] ."
    made = http.send("PUT", _G, first, Content_Type=_TTL)
    assert (made.status, made.headers["location"]) == (201, "http://e/g")
    added = http.send("POST", _G, "<http://e/b> <http://e/p> 1 .", Content_Type="application/n-triples")
    assert added.status == 400  # that is Turtle: the line and column are said
    added = http.send("POST", _G, "<b> <http://e/p> 1 .", Content_Type=_TTL)
    assert (added.status, added.data) == (204, b"")
    for media in _FORMATS:
        answer = http.get(_G, Accept=media)
        assert answer.headers["content-type"].startswith(media)
        assert _graph(answer) == _same(f"{first} <b> <http://e/p> 1 .")
    head = http.send("HEAD", _G, Accept="text/turtle")
    assert (head.status, head.headers["content-type"], head.data) == (200, _TTL, b"")
    assert int(head.headers["content-length"]) > 0
    asked = http.ask("SELECT ?s { GRAPH <http://e/g> { ?s <http://e/p> ?o } }", Accept="text/csv")
    assert sorted(asked.data.split()) == [b"http://e/a", b"http://e/b", b"s"]


def test_the_default_graph_is_always_there(http):
    assert http.get("/graphs?default").status == 200
    assert http.send("PUT", "/graphs?default", "<a> <http://e/p> 1 .", Content_Type=_TTL).status == 204
    assert _graph(http.get("/graphs?default", Accept="application/n-triples")) == _same(
        f"<{http.url}/a> <http://e/p> 1 ."
    )
    assert http.send("PUT", "/graphs?default", "<b> <http://e/p> 2 .", Content_Type=_TTL).status == 204
    assert _graph(http.get("/graphs?default", Accept="application/n-triples")) == _same(
        f"<{http.url}/b> <http://e/p> 2 ."
    )
    assert http.send("DELETE", "/graphs?default").status == 204
    assert http.get("/graphs?default").status == 200
    assert not len(_graph(http.get("/graphs?default", Accept="application/n-triples")))


def test_a_url_of_the_server_names_a_graph(http):
    url = f"{http.url}/graphs/person/1.ttl"
    made = http.send("PUT", "/graphs/person/1.ttl", "<> <http://e/p> <x> .", Content_Type=_TTL)
    assert (made.status, made.headers["location"]) == (201, url)
    assert _graph(http.get(f"/graphs?graph={quote(url)}")) == _same(
        f"<{url}> <http://e/p> <{http.url}/graphs/person/x> ."
    )
    assert http.get("/graphs/person/1.ttl").status == 200
    assert http.get("/graphs/person/2.ttl").status == 404


def test_the_store_makes_a_graph_of_a_post(http):
    made = http.send("POST", "/graphs", "<a> <http://e/p> 1 .", Content_Type=_TTL)
    assert made.status == 201
    path = made.headers["location"].removeprefix(http.url)
    assert path.startswith("/graphs/")
    assert b"http://e/p" in http.get(path).data
    other = http.send("POST", "/graphs", "", Content_Type=_TTL).headers["location"]
    assert other != made.headers["location"]
    assert http.get(other.removeprefix(http.url)).status == 200  # an empty graph is one
    assert http.send("PUT", "/graphs", "", Content_Type=_TTL).status == 400
    assert b"sparql-service-description" in http.get("/graphs").data


def test_a_form_sends_several_documents_or_none(http):
    def form(second: str) -> bytes:
        parts = [("1.ttl", "text/turtle", "<a> <http://e/p> _:x ."), ("2.nt", "application/n-triples", second)]
        lines = [
            f'--xx\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\nContent-Type: {media}\r\n\r\n'
            f"{text}\r\n"
            for name, media, text in parts
        ]
        return "".join([*lines, "--xx--\r\n"]).encode()

    sent = {"Content_Type": "multipart/form-data; boundary=xx"}
    refused = http.send("POST", _G, form("<http://e/b> nothing ."), **sent)
    assert refused.status == 400
    assert "2.nt:1:" in refused.data.decode()
    assert http.get(_G).status == 404
    assert http.send("POST", _G, form("<http://e/b> <http://e/p> _:x ."), **sent).status == 201
    assert _graph(http.get(_G)) == _same("<a> <http://e/p> _:x . <http://e/b> <http://e/p> _:y .")


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "said"),
    [
        ("PUT", _G, "<a> <b", {"Content_Type": _TTL}, 400, '"line":1,"column":'),
        ("POST", _G, "", {"Content_Type": "application/json"}, 415, "application/json"),
        ("POST", _G, "", {}, 415, "says nothing"),
        ("POST", _G, b"\xff", {"Content_Type": "text/turtle"}, 400, "not UTF-8"),
        ("POST", _G, "", {"Content_Type": "text/turtle; charset=latin-1"}, 415, "latin-1"),
        (
            "POST",
            _G,
            '{"@id": "http://e/x", "@graph": [{"@id": "http://e/a", "http://e/p": 1}]}',
            {"Content_Type": "application/ld+json"},
            400,
            "names graphs",
        ),
        ("GET", "/graphs?default", None, {"Accept": "image/png"}, 406, "text/turtle"),
        ("GET", "/graphs?default&graph=http://e/g", None, {}, 400, "one graph"),
        ("GET", "/graphs?graph=g", None, {}, 400, "not an absolute IRI"),
        ("GET", "/graphs?query=x", None, {}, 400, "one graph"),
        ("DELETE", _G, None, {}, 404, "there is no graph"),
        ("PATCH", "/graphs?default", "", {}, 405, "PATCH"),
    ],
)
def test_what_is_refused(http, method, path, body, headers, status, said):
    answer = http.send(method, path, body, **headers)
    assert answer.status == status
    assert said in answer.data.decode()


def test_a_graph_is_replaced_and_dropped(http):
    assert http.send("PUT", _G, "", Content_Type=_TTL).status == 201
    for text in ("<a> <http://e/p> 1 .", "<a> <http://e/p> 2, 3 .", ""):
        assert http.send("PUT", _G, text, Content_Type=_TTL).status == 204
        assert _graph(http.get(_G)) == _same(text)
    assert http.send("PUT", _G, "<a> <http://e/p> 1", Content_Type=_TTL).status == 400
    assert http.send("DELETE", _G).status == 204
    assert http.get(_G).status == 404
    assert http.send("DELETE", _G).status == 404


def test_rights():
    secrets = {right: f"token-that-may-{right}" for right in ("ask", "feed", "admin")}
    tokens = tuple(make_token(secret, frozenset({right})) for right, secret in secrets.items())
    with server(tokens=tokens) as http:

        def status(right: str, method: str, text: str = "") -> int:
            headers = {"Authorization": f"Bearer {secrets[right]}", "Content_Type": _TTL}
            return http.send(method, _G, text, **headers).status

        assert http.get(_G).status == 401
        assert [status("ask", method) for method in ("GET", "POST", "PUT", "DELETE")] == [404, 403, 403, 403]
        assert [status("feed", method) for method in ("POST", "GET", "DELETE")] == [201, 403, 403]
        assert [status("feed", "PUT", "<a> <http://e/p> 1 .") for _ in range(2)] == [204, 403]  # which would delete
        assert [status("admin", method) for method in ("GET", "PUT", "DELETE")] == [200, 204, 204]


def test_triples_that_come_while_a_put_waits_are_not_replaced_without_the_right():
    secret = "token-that-may-feed"
    headers = {"Authorization": f"Bearer {secret}", "Content_Type": _TTL}
    with server(tokens=(make_token(secret, frozenset({"feed"})),)) as http:
        http.shared.started, answers = Future(), []
        sending = Thread(
            target=lambda: answers.append(http.send("PUT", _G, "<http://e/new> <http://e/p> 1 .", **headers))
        )
        sending.start()
        sending.join(0.5)
        http.session.update("INSERT DATA { GRAPH <http://e/g> { <http://e/old> <http://e/p> 1 } }")
        http.shared.started.set_result(None)
        sending.join()
        assert (answers[0].status, "'admin'" in answers[0].data.decode()) == (403, True)
        assert http.session.query("ASK { GRAPH <http://e/g> { <http://e/old> ?p ?o } }")
        assert not http.session.query("ASK { GRAPH <http://e/g> { <http://e/new> ?p ?o } }")


def test_queries_see_what_is_added():
    session = Session()
    session.stream("http://e/s")
    query = session.register(
        """SELECT ?name FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S]
        WHERE { WINDOW <w> { ?s <http://e/seen> ?o } ?s <http://e/name> ?name }"""
    )
    with server(session) as http:
        http.send("POST", "/graphs?default", "<http://e/a> <http://e/name> 'Ann' .", Content_Type=_TTL)
        session.push("http://e/s", "5\t<http://e/a> <http://e/seen> <http://e/b> .")
        session.finish()
    assert [row["name"].lexical for report in query for row in report.bindings()] == ["Ann"]


@pytest.mark.slow
def test_a_graph_is_there_after_a_kill(tmp_path):
    with ServerProcess("--checkpoint", tmp_path / "checkpoint") as http:
        assert http.send("PUT", _G, "<a> <http://e/p> [] .", Content_Type=_TTL).status == 201
        assert http.send("POST", _G, "<b> <http://e/p> [] .", Content_Type=_TTL).status == 204
        assert http.send("PUT", "/graphs?graph=http://e/empty", "", Content_Type=_TTL).status == 201
        http.kill()
    with ServerProcess("--checkpoint", tmp_path / "checkpoint") as http:
        assert _graph(http.get(_G)) == _same("<a> <http://e/p> [] . <b> <http://e/p> [] .")
        assert http.get("/graphs?graph=http://e/empty").status == 200
