"""`/queries/NAME/why`: a row of an event, explained by a real server."""

import json
from urllib.parse import quote, urlencode

import pytest

from freshet import Session
from http_server import server

_S = "http://e/s"
_WINDOW = f"FROM NAMED WINDOW <w> ON <{_S}> [RANGE PT1S STEP PT1S]"
_PAIRS = f"SELECT ?x ?z {_WINDOW} WHERE {{ WINDOW <w> {{ ?x <http://e/p> ?y . ?y <http://e/q> ?z }} }}"
_GROUP = f"SELECT (COUNT(*) AS ?n) {_WINDOW} WHERE {{ WINDOW <w> {{ ?x <http://e/p> ?y }} }}"
_MADE = f"CONSTRUCT {{ ?x <http://e/made> ?y }} {_WINDOW} WHERE {{ WINDOW <w> {{ ?x <http://e/p> ?y }} }}"
_SECOND = """SELECT ?x FROM NAMED WINDOW <w> ON <http://e/made> [RANGE PT2S STEP PT2S]
WHERE { WINDOW <w> { ?x <http://e/made> <http://e/b> } }"""
_POSTED = "100\t<http://e/a> <http://e/p> <http://e/b> .\n200\t<http://e/b> <http://e/q> <http://e/c> .\n"
_TIMED = "application/x-timed-n-triples"


@pytest.fixture
def http():
    session = Session(why_elements=50)
    session.stream(_S)
    with server(session) as running:
        yield running


def _put(http, name, text):
    assert http.send("PUT", f"/queries/{quote(name, safe='')}", text).status == 201


def _post(http, text, **headers):
    return http.send("POST", f"/streams/{quote(_S, safe='')}", text, Content_Type=_TIMED, **headers)


def _newest(http, name):
    path = f"/queries/{quote(name, safe='')}/answers?newest=1&limit=1"
    return json.loads(http.send("GET", path, Accept="application/x-ndjson").data)


def _why(http, name, **parameters):
    response = http.get(f"/queries/{quote(name, safe='')}/why?{urlencode(parameters)}")
    return response.status, json.loads(response.data)


def test_a_row_has_its_elements_and_the_request_that_brought_them(http):
    _put(http, "pairs", _PAIRS)
    assert _post(http, _POSTED, Idempotency_Key="k1").status == 200
    http.session.advance(_S, 1000)
    event = _newest(http, "pairs")
    status, found = _why(http, "pairs", id=event["id"], row=0)
    assert status == 200
    assert (found["id"], found["row_number"], found["time"], found["total"]) == (event["id"], 0, 1000, 1)
    assert found["row"] == event["bindings"][0]
    [derivation] = found["derivations"]
    assert [(each["time"], each["stream"], each["record"]) for each in derivation["elements"]] == [
        (100, _S, "post:k1/1"),
        (200, _S, "post:k1/2"),
    ]
    assert json.loads(http.get("/queries/pairs").data)["why"] == "/queries/pairs/why"


def test_a_request_without_a_key_has_its_number(http):
    _put(http, "pairs", _PAIRS)
    _post(http, _POSTED)
    http.session.advance(_S, 1000)
    found = _why(http, "pairs", id=_newest(http, "pairs")["id"])[1]
    assert [each["record"] for each in found["derivations"][0]["elements"]] == ["post:1/1", "post:1/2"]


def test_members_are_bounded(http):
    _put(http, "group", _GROUP)
    _post(http, "".join(f"{at}\t<http://e/a> <http://e/p> <http://e/{at}> .\n" for at in range(20)))
    http.session.advance(_S, 1000)
    found = _why(http, "group", id=_newest(http, "group")["id"], members=3)[1]
    [members] = found["derivations"][0]["members"]
    assert (members["total"], len(members["derivations"])) == (20, 3)


def test_an_answer_of_another_query_has_a_link_to_its_own(http):
    _put(http, "http://e/made", _MADE)
    _put(http, "second", _SECOND)
    _post(http, _POSTED)
    http.session.advance(_S, 3000)
    found = _why(http, "second", id=_newest(http, "second")["id"])[1]
    [element] = found["derivations"][0]["elements"]
    assert element["query"] == "http://e/made"
    further = json.loads(http.get(element["why"]).data)
    assert [each["record"] for each in further["derivations"][0]["elements"]] == ["post:1/1"]


def test_with_parameters(http):
    text = f"SELECT ?x ?y {_WINDOW} WHERE {{ WINDOW <w> {{ ?x <http://e/p> ?y }} }}"
    assert http.send("PUT", "/queries/of?parameters=x", text).status == 201
    answers = http.send("GET", "/queries/of/answers?x=http://e/a&limit=1", stream=True, Accept="application/x-ndjson")
    _post(http, _POSTED)
    http.session.advance(_S, 1000)
    event = json.loads(answers.data)
    status, found = _why(http, "of", id=event["id"], x="http://e/a")
    assert (status, found["row"]) == (200, event["bindings"][0])


def test_what_is_gone_is_410_with_the_reason(http):
    _put(http, "pairs", _PAIRS)
    _post(http, _POSTED)
    http.session.advance(_S, 1000)
    event = _newest(http, "pairs")
    _post(http, "".join(f"{2000 + at}\t<http://e/a> <http://e/p> <http://e/{at}> .\n" for at in range(60)))
    status, found = _why(http, "pairs", id=event["id"])
    assert status == 410
    assert "the newest 50 of a stream are kept" in found["detail"]
    status, found = _why(http, "pairs", id=event["id"].partition("-")[0] + "-17")
    assert status == 410
    assert "is not there any more" in found["detail"]
    assert _why(http, "pairs", id="1-2000")[0] == 410


@pytest.mark.parametrize(
    ("parameters", "status", "part"),
    [
        ({}, 400, "id is missing"),
        ({"id": "x"}, 400, "not the id of a report"),
        ({"id": "1-2", "row": "-1"}, 400, "row is a whole number"),
        ({"id": "1-2", "members": "0"}, 400, "members is a whole number from 1 on"),
    ],
)
def test_what_cannot_be_asked(http, parameters, status, part):
    _put(http, "pairs", _PAIRS)
    found = _why(http, "pairs", **parameters)
    assert found[0] == status
    assert part in found[1]["detail"]


def test_a_row_that_is_not_there_and_a_query_that_is_not(http):
    _put(http, "pairs", _PAIRS)
    _post(http, _POSTED)
    http.session.advance(_S, 1000)
    status, found = _why(http, "pairs", id=_newest(http, "pairs")["id"], row=1)
    assert (status, "there is no row 1" in found["detail"]) == (400, True)
    assert _why(http, "nothing", id="1-2")[0] == 404


def test_what_a_checkpoint_has_let_go_of_is_said_after_a_restart(tmp_path):
    with _kept(tmp_path) as session, server(session) as http:
        _put(http, "pairs", _PAIRS)
        for second in range(1, 9):
            _post(http, "".join(f"{second}{line}\n" for line in _POSTED.splitlines()))
            session.checkpoint()
        answers = http.get("/queries/pairs/answers?after=start&limit=3", Accept="application/x-ndjson").data
        events = [json.loads(line) for line in answers.splitlines()]
        assert [event["time"] for event in events] == [2000, 3000, 4000]
        assert _why(http, "pairs", id=events[0]["id"])[0] == 200
    with _kept(tmp_path) as session, server(session) as http:
        status, found = _why(http, "pairs", id=events[0]["id"])
        assert (status, "are gone" in found["detail"]) == (410, True)
        session.advance(_S, 9000)
        status, found = _why(http, "pairs", id=_newest(http, "pairs")["id"])
        assert [each["record"] for each in found["derivations"][0]["elements"]] == ["post:8/1", "post:8/2"]


def _kept(folder):
    session = Session(checkpoint=folder)
    session.stream(_S)
    return session


def test_after_a_restart(tmp_path):
    with _kept(tmp_path) as session, server(session) as http:
        _put(http, "pairs", _PAIRS)
        _post(http, f"# a comment\n{_POSTED}", Idempotency_Key="k1")
        _post(http, "300\t<http://e/a> <http://e/p> <http://e/b> .\n")
        session.advance(_S, 1000)
        event = _newest(http, "pairs")
        before = _why(http, "pairs", id=event["id"])
        assert before[0] == 200
    with _kept(tmp_path) as session, server(session) as http:
        assert _why(http, "pairs", id=event["id"]) == before
        records = [each["record"] for each in before[1]["derivations"][0]["elements"]]
        assert records == ["post:k1/2", "post:2/1", "post:k1/3"]
