"""Quick queries are answered by the event loop, others by threads; the answers are the same."""

import json
import threading

import pytest

from freshet import Session
from freshet.server import sparql
from freshet.server.quick import QuickQueries, shape_of
from http_server import server

_ONE = "SELECT ?o { <http://e/%d> <http://e/p> ?o }"


@pytest.fixture
def http(tmp_path):
    data = tmp_path / "data.nt"
    data.write_text("".join(f'<http://e/{number}> <http://e/p> "{number}" .\n' for number in range(300)))
    session = Session()
    session.load(data)
    with server(session) as running:
        yield running


@pytest.fixture
def threads(monkeypatch) -> list[str]:
    """The names of the threads that answer."""
    seen: list[str] = []
    answer = sparql._answer

    def noting(*arguments):
        seen.append(threading.current_thread().name)
        return answer(*arguments)

    monkeypatch.setattr(sparql, "_answer", noting)
    return seen


def test_a_shape_that_is_quick_needs_no_thread(http, threads):
    for number in range(40):
        [row] = json.loads(http.ask(_ONE % number).data)["results"]["bindings"]
        assert row["o"]["value"] == str(number)
    assert threads[0].startswith("freshet-ask")
    assert threads[-1] == "server"
    assert http.ask(_ONE % 1, Accept="image/png").status == 406
    assert http.ask("SELECT nothing").status == 400


def test_a_quick_shape_that_becomes_slow_goes_back_to_a_thread(http, threads):
    pairs = "SELECT (COUNT(*) AS ?n) { ?a ?p ?x . ?b ?p ?y FILTER (CONCAT(STR(?a), ?y) != ?x) }"
    http.shared.quick.note(shape_of(pairs), 0.0)
    assert http.shared.quick.is_quick(shape_of(pairs))
    [row] = json.loads(http.ask(pairs).data)["results"]["bindings"]
    assert row["n"]["value"] == "90000"
    assert (threads[0], threads[1].startswith("freshet-ask")) == ("server", True)
    assert not http.shared.quick.is_quick(shape_of(pairs))


def test_what_may_wait_for_others_has_no_shape():
    for text in ("SELECT * { SERVICE <http://e/> {} }", "SELECT * FROM named window <w>", "ASK {}" + " " * 2000):
        assert shape_of(text) is None
    assert shape_of("SELECT * { ?s ?p 'a' }") == shape_of('SELECT * { ?s ?p "b c" }')
    assert shape_of("SELECT * { ?s ?p ?o }") != shape_of("SELECT * { ?s ?p ?q }")


def test_the_number_of_shapes_is_bounded():
    quick = QuickQueries()
    for number in range(5000):
        quick.note(f"{number:b}".replace("0", "a").replace("1", "b"), 0.0001)
    assert not quick.is_quick("b")
    assert quick.is_quick(f"{4999:b}".replace("0", "a").replace("1", "b"))
