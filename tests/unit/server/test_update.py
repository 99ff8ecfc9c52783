"""SPARQL Update over HTTP: both ways to send one, the dataset that a request names, rights, and what is refused."""

import json
import threading

import pytest

from freshet import Session
from freshet.server.settings import make_token
from http_server import server

_UPDATE, _FORM = "application/sparql-update", "application/x-www-form-urlencoded"
_INSERT = "INSERT DATA { <http://e/a> <http://e/p> 1, 2 }"


@pytest.fixture(scope="module")
def http():
    with server() as found:
        yield found


def _ask(http, query: str) -> bool:
    return json.loads(http.send("POST", "/sparql", query, Content_Type="application/sparql-query").data)["boolean"]


@pytest.mark.parametrize(("media", "start"), [(_UPDATE, ""), (_FORM, "update=")])
def test_an_update_is_sent_directly_or_as_a_form(http, media, start):
    http.send("POST", "/sparql", "DROP ALL", Content_Type=_UPDATE)
    answer = http.send("POST", "/sparql", start + _INSERT, Content_Type=media)
    assert (answer.status, json.loads(answer.data)) == (200, {"inserted": 2, "deleted": 0})
    assert _ask(http, "ASK { <http://e/a> <http://e/p> 1 }")


def test_the_request_names_the_dataset(http):
    setup = f"DROP ALL ; {_INSERT} ; COPY DEFAULT TO <http://e/g> ; CLEAR DEFAULT"
    http.send("POST", "/sparql", setup, Content_Type=_UPDATE)
    text = "INSERT { ?s <http://e/q> ?o } WHERE { ?s <http://e/p> ?o }"
    assert json.loads(http.send("POST", "/sparql", text, Content_Type=_UPDATE).data)["inserted"] == 0
    path = "/sparql?using-graph-uri=http://e/g"
    assert json.loads(http.send("POST", path, text, Content_Type=_UPDATE).data)["inserted"] == 2
    for named in ("WITH <http://e/g> " + text, text.replace("WHERE", "USING <http://e/g> WHERE")):
        answer = http.send("POST", path, named, Content_Type=_UPDATE)
        assert answer.status == 400
        assert "USING" in answer.data.decode()


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("INSERT DATA { ?x <http://e/p> 1 }", 400, "line 1:15"),
        ("DROP GRAPH <http://e/missing>", 400, "there is no graph"),
        ("LOAD <file:///etc/hosts>", 400, "files of the server are not loaded"),
        ("LOAD <http://e/data.ttl>", 502, "e"),
        ("LOAD <http://[x/a.ttl>", 400, "<http://[x/a.ttl> cannot be loaded: it is no URL"),
        ("LOAD SILENT <http://[x/a.ttl>", 200, "inserted"),
    ],
)
def test_what_is_refused(http, text, status, said):
    answer = http.send("POST", "/sparql", text, Content_Type=_UPDATE)
    assert answer.status == status, answer.data
    assert said in answer.data.decode()


def test_a_query_sent_by_the_method_query_is_no_update(http):
    assert http.send("QUERY", "/sparql", "CLEAR ALL", Content_Type=_UPDATE).status == 400


def test_rights():
    rights = ("ask", "ask,feed", "admin")
    secrets = {right: f"token-that-may-{right.replace(',', '-')}" for right in rights}
    tokens = tuple(make_token(secret, frozenset(right.split(","))) for right, secret in secrets.items())
    with server(tokens=tokens) as http:

        def status(right: str, text: str) -> int:
            headers = {"Authorization": f"Bearer {secrets[right]}", "Content_Type": _UPDATE}
            return http.send("POST", "/sparql", text, **headers).status

        assert http.send("POST", "/sparql", _INSERT, Content_Type=_UPDATE).status == 401
        assert [status(right, _INSERT) for right in rights] == [403, 200, 200]
        for text in ("CLEAR ALL", "DELETE WHERE { ?s ?p ?o }", "MOVE DEFAULT TO <http://e/g>"):
            assert [status(right, text) for right in rights] == [403, 403, 200]


def test_updates_are_on_the_disk_when_they_are_answered(tmp_path):
    session = Session(checkpoint=tmp_path / "c")
    with server(session) as http:
        assert http.send("POST", "/sparql", _INSERT, Content_Type=_UPDATE).status == 200
        assert http.send("POST", "/sparql", "DELETE WHERE { ?s ?p 1 }", Content_Type=_UPDATE).status == 200
    session.close()
    with Session(checkpoint=tmp_path / "c") as again:
        assert len(again.dataset().graph(0)) == 1


def test_a_long_update_is_parsed_within_the_time(http):
    text = "INSERT DATA { " + " ".join(f"<http://e/s{at}> <http://e/late> {at} ." for at in range(20_000)) + " }"
    assert http.send("POST", "/sparql?timeout=0.05", text, Content_Type=_UPDATE).status == 503
    assert not _ask(http, "ASK { ?s <http://e/late> ?o }")


def test_updates_are_parsed_in_a_thread(http, monkeypatch):
    names, parse = [], http.session.prepare_update

    def noted(*args, **kwargs):
        names.append(threading.current_thread().name)
        return parse(*args, **kwargs)

    monkeypatch.setattr(http.session, "prepare_update", noted)
    assert http.send("POST", "/sparql", _INSERT, Content_Type=_UPDATE).status == 200
    assert [name.startswith("freshet-ask") for name in names] == [True]
