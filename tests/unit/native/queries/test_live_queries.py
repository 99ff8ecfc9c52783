"""Live queries: the whole answer first, then what changes of the stored graphs add and remove."""

from __future__ import annotations

import gc
import json
import threading
from pathlib import Path

import pytest

from freshet import Deadline, InputError, QueryStoppedError, Session, UnsupportedError
from freshet.native.queries import live_queries
from freshet.native.queries.live_query import LiveQuery
from freshet.results.live_change import LiveChange

PREFIX = "PREFIX : <http://e/> "
STREAM = "http://e/s"


def make_session() -> Session:
    session = Session()
    session.stream(STREAM, absorb=True, lateness_ms=1000)
    return session


def push(session: Session, *triples: str, time_ms: int = 10) -> None:
    session.push(STREAM, f"@prefix : <http://e/> . {' '.join(f'{each} .' for each in triples)}", time_ms=time_ms)


class Taken:
    """The changes of one query, with terms as they are written."""

    def __init__(self, session: Session, text: str, name: str = "live") -> None:
        self.changes: list[LiveChange] = []
        self.session = session
        session.follow(PREFIX + text, self.changes.append, name=name)

    def take(self) -> list[tuple[list[str], list[str]]]:
        """What was added and what was removed by each change since."""
        taken = [(self._rows(each.added), self._rows(each.removed)) for each in self.changes]
        self.changes.clear()
        return taken

    def _rows(self, rows) -> list[str]:
        decode = self.session.dictionary.decode_many
        shown = [" ".join("-" if term is None else _short(str(term)) for term in decode(row)) for row in rows]
        return sorted(shown)


def _short(term: str) -> str:
    return term.removeprefix("<http://e/").removesuffix(">").partition("^^")[0].strip('"')


def test_the_whole_answer_comes_first_also_where_it_is_empty() -> None:
    taken = Taken(make_session(), "SELECT ?x { ?x :p :a }")
    assert [change.is_answer for change in taken.changes] == [True]
    assert taken.take() == [([], [])]


def test_an_aggregate_of_nothing_has_a_row() -> None:
    session = make_session()
    taken = Taken(session, "SELECT (COUNT(*) AS ?n) { ?x :p ?y }")
    push(session, ":a :p :b", ":b :p :c")
    assert taken.take() == [(["0"], []), (["2"], ["0"])]


def test_joins_are_probed_from_both_sides() -> None:
    session = make_session()
    push(session, ":a :p :b")
    taken = Taken(session, "SELECT * { ?x :p ?y . ?y :q ?z }")
    push(session, ":b :q :c")
    push(session, ":d :p :b", ":b :q :e")
    assert taken.take() == [([], []), (["a b c"], []), (["a b e", "d b c", "d b e"], [])]


def test_negation_and_optional_remove_rows() -> None:
    session = make_session()
    push(session, ":a :p :b")
    without = Taken(session, "SELECT ?x { ?x :p ?y FILTER NOT EXISTS { ?x :q ?z } }", "without")
    perhaps = Taken(session, "SELECT * { ?x :p ?y OPTIONAL { ?x :q ?z } }", "perhaps")
    push(session, ":a :q 1")
    assert without.take() == [(["a"], []), ([], ["a"])]
    assert perhaps.take() == [(["a b -"], []), (["a b 1"], ["a b -"])]


def test_a_slice_loses_its_last_row() -> None:
    session = make_session()
    push(session, ":a :v 3", ":b :v 5")
    taken = Taken(session, "SELECT ?v { ?x :v ?v } ORDER BY ?v LIMIT 2")
    push(session, ":c :v 4")
    assert taken.take() == [(["3", "5"], []), (["4"], ["5"])]


def test_what_does_not_change_the_answer_is_not_reported() -> None:
    session = make_session()
    push(session, ":a :p 1")
    taken = Taken(session, "SELECT DISTINCT ?y { ?x :p ?y }")
    push(session, ":a :p 1")  # the same triple
    push(session, ":b :p 1")  # another row with the same value
    push(session, ":b :q 2")  # nothing that it reads
    assert len(taken.take()) == 1


def test_a_push_with_other_predicates_does_not_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    session = make_session()
    taken = Taken(session, "SELECT ?x { ?x :p ?y }")
    monkeypatch.setattr(LiveQuery, "step", lambda self, **_: pytest.fail("it is not asked"))
    push(session, ":a :q 1")
    assert len(taken.take()) == 1


def test_event_time_does_not_matter() -> None:
    """A triple counts from the push on that brings it, as in a one-shot query, however old it is or far ahead."""
    session = make_session()
    taken = Taken(session, "SELECT ?x { ?x :p ?y }")
    push(session, ":a :p 1", time_ms=10_000)
    push(session, ":b :p 1", time_ms=9_500)
    assert taken.take() == [([], []), (["a"], []), (["b"], [])]


def test_the_time_is_the_latest_that_was_absorbed() -> None:
    session = make_session()
    changes: list[LiveChange] = []
    session.follow(PREFIX + "SELECT ?x { ?x :p ?y }", changes.append, name="live")
    push(session, ":a :p 1", time_ms=10_000)
    push(session, ":b :p 1", time_ms=9_500)
    assert [change.time_ms for change in changes] == [0, 10_000, 10_000]
    numbers = [change.snapshot for change in changes]
    assert numbers == sorted(set(numbers)), "each snapshot has a number of its own"


def test_loads_that_belong_together_are_one_change(tmp_path: Path) -> None:
    session = make_session()
    taken = Taken(session, "SELECT * { GRAPH ?g { ?x :p ?y } }")
    (tmp_path / "data.nq").write_text(
        "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n<http://e/a> <http://e/p> <http://e/b> <http://e/h> .\n"
    )
    session.load(tmp_path / "data.nq")
    assert taken.take() == [([], []), (["g a b", "h a b"], [])]


def test_a_path_is_evaluated_again() -> None:
    session = make_session()
    push(session, ":a :p :b")
    taken = Taken(session, "SELECT ?y { :a :p+ ?y }")
    push(session, ":b :p :c", ":c :p :a")
    push(session, ":d :p :e")
    assert taken.take() == [(["b"], []), (["a", "c"], [])]


def test_from_names_the_graphs(tmp_path: Path) -> None:
    session = make_session()
    (tmp_path / "g.nt").write_text("<http://e/x> <http://e/p> <http://e/y> .\n")
    session.load(tmp_path / "g.nt", graph="http://e/g")
    push(session, ":a :p :b")
    assert Taken(session, "SELECT ?x FROM :g { ?x :p ?y }", "1").take() == [(["x"], [])]
    assert Taken(session, "SELECT ?x FROM NAMED :g { ?x :p ?y }", "2").take() == [([], [])]
    assert Taken(session, "SELECT ?x FROM NAMED :g { GRAPH :g { ?x :p ?y } }", "3").take() == [(["x"], [])]


def test_equal_queries_share_one_plan() -> None:
    session = make_session()
    push(session, ":a :p 1")
    one = Taken(session, "SELECT ?x { ?x :p ?y }", "one")
    push(session, ":b :p 1")
    two = Taken(session, "SELECT  ?x { ?x  :p ?y . }", "two")
    push(session, ":c :p 1")
    assert session.engine.live.plans == 1
    assert one.changes[-1] is two.changes[-1], "a change is made once"
    assert one.take() == [(["a"], []), (["b"], []), (["c"], [])]
    assert two.take() == [(["a", "b"], []), (["c"], [])]
    session.unregister("one")
    push(session, ":d :p 1")
    assert (one.take(), two.take()) == ([], [(["d"], [])])
    session.unregister("two")
    assert len(session.engine.live) == session.engine.live.plans == 0


def test_queries_that_differ_in_constants_share_a_plan_from_the_second_on() -> None:
    session = make_session()
    push(session, *(f":x{number} :p :c{number % 3}" for number in range(6)))
    text = "SELECT ?x (COUNT(*) AS ?n) {{ ?x :p :c{} OPTIONAL {{ ?x :q ?y }} }} GROUP BY ?x"
    taken = [Taken(session, text.format(number), f"live{number}") for number in range(4)]
    assert session.engine.live.plans == 2, "the first has one of its own"
    assert [each.take() for each in taken] == [
        [(["x0 1", "x3 1"], [])],
        [(["x1 1", "x4 1"], [])],
        [(["x2 1", "x5 1"], [])],
        [([], [])],
    ]
    push(session, ":x1 :q 1", ":x1 :q 2", ":x2 :q 1", ":x9 :p :c3")
    assert [each.take() for each in taken] == [[], [(["x1 2"], ["x1 1"])], [], [(["x9 1"], [])]]
    session.unregister("live1")
    again = Taken(session, text.format(2), "again")
    push(session, ":x1 :q 3", ":x2 :q 3")
    assert taken[1].take() == []
    assert taken[2].take() == [(["x2 2"], ["x2 1"])]
    assert again.take() == [(["x2 1", "x5 1"], []), (["x2 2"], ["x2 1"])]
    for name in session.engine.live.names:
        session.unregister(name)
    assert session.engine.live.plans == 0


def test_one_whose_answer_takes_long_has_a_plan_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_queries, "_QUICK_SECONDS", -1.0)
    session = make_session()
    taken = [Taken(session, f"SELECT ?x {{ ?x :p :c{number} }}", f"live{number}") for number in range(3)]
    push(session, ":a :p :c1")
    assert session.engine.live.plans == 3
    assert taken[1].take() == [([], []), (["a"], [])]


def test_who_takes_a_change_may_go_and_push() -> None:
    session = make_session()
    seen: list[int] = []

    def take(change: LiveChange) -> None:
        seen.append(len(change.added))
        if len(seen) == 2:
            push(session, ":c :p 1", ":d :p 1")
        if len(seen) == 3:
            session.unregister("live")

    session.follow(PREFIX + "SELECT ?x { ?x :p ?y }", take, name="live")
    push(session, ":a :p 1")
    push(session, ":e :p 1")
    assert seen == [0, 1, 2]
    assert session.failures == []


def test_one_that_fails_does_not_stop_the_others() -> None:
    session = make_session()

    def fail(change: LiveChange) -> None:
        if not change.is_answer:
            raise RuntimeError("no")

    session.follow(PREFIX + "SELECT ?x { ?x :p ?y }", fail, name="failing")
    taken = Taken(session, "SELECT ?x { ?x :p ?y }", "other")
    push(session, ":a :p 1")
    push(session, ":b :p 1")
    assert [(failure.query, failure.reason) for failure in session.failures] == [("failing", "RuntimeError: no")]
    assert taken.take() == [([], []), (["a"], []), (["b"], [])]


def test_one_whose_first_taker_raises_is_not_there() -> None:
    session = make_session()

    def fail(change: LiveChange) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        session.follow("SELECT * { ?x ?p ?y }", fail, name="failing")
    assert session.engine.names == []


def test_a_step_that_takes_too_much_ends_the_query() -> None:
    session = make_session()
    push(session, *(f":a{number} :p {number}" for number in range(2000)))
    cross = "SELECT * { ?a :p ?b . ?c :p ?d . ?e :q ?f }"
    with pytest.raises(QueryStoppedError):
        session.register(PREFIX + cross.replace(". ?e :q ?f", ""), limit_bytes=1 << 20)
    deadline = Deadline(memory_bytes=1 << 20)
    with pytest.raises(QueryStoppedError):
        session.follow(PREFIX + cross.replace(". ?e :q ?f", ""), print, name="now", deadline=deadline)
    session.follow(PREFIX + cross, lambda change: None, name="later", limit_bytes=1 << 20)
    push(session, ":x :q 1")
    [failure] = session.failures
    assert failure.query == "later"
    assert "memory" in failure.reason
    assert session.engine.names == []


def test_what_is_stored_while_the_first_answer_is_made_comes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer is made without the engine's lock, so that nobody waits for it."""
    session = make_session()
    push(session, ":a :p 1")
    first, reached, go_on = LiveQuery.step, threading.Event(), threading.Event()

    def slow(self: LiveQuery, **asked: bool):
        rows = first(self, **asked)
        reached.set()
        assert go_on.wait(30)
        return rows

    monkeypatch.setattr(LiveQuery, "step", slow)
    changes: list[LiveChange] = []
    thread = threading.Thread(
        target=lambda: session.follow(PREFIX + "SELECT ?x { ?x :p ?y }", changes.append, name="live")
    )
    thread.start()
    assert reached.wait(30)
    push(session, ":b :p 1")  # does not wait
    go_on.set()
    thread.join(30)
    assert [(change.is_answer, len(change.added)) for change in changes] == [(True, 1), (False, 1)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "CONSTRUCT { ?s :p [] } WHERE { ?s ?p ?o }",
            "a blank node in the template of a live CONSTRUCT is not supported yet",
        ),
        (
            "CONSTRUCT { GRAPH :g { ?s :p ?o } } WHERE { ?s ?p ?o }",
            "GRAPH in the template of a live CONSTRUCT is not supported yet",
        ),
        ("SELECT * { SERVICE :e { ?s ?p ?o } }", "SERVICE in a live query is not supported yet"),
    ],
)
def test_refused_by_name(text: str, says: str) -> None:
    session = make_session()
    with pytest.raises(UnsupportedError, match=says):
        session.follow(PREFIX + text, lambda change: None, name="live")
    assert session.engine.names == []


def test_triples_of_a_template_are_a_set_without_what_is_none() -> None:
    session = make_session()
    changes: list[LiveChange] = []
    text = "CONSTRUCT { ?o :from ?s . :all :has ?s . ?s ?o 1 } { ?s :p ?o }"
    session.follow(PREFIX + text, changes.append, name="live")
    push(session, ":a :p :b , 'x'")
    push(session, ":c :p 'y'")
    written = [json.loads(change.event.decode().partition("data: ")[2]) for change in changes]
    assert written[0]["triples"] == ""
    assert [sorted(each["added"].replace("http://e/", ":").splitlines()) for each in written[1:]] == [
        ['<:a> <:b> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .', "<:all> <:has> <:a> .", "<:b> <:from> <:a> ."],
        ["<:all> <:has> <:c> ."],
    ]
    push(session, ":a :p 'z'")  # gives :all :has :a once more
    assert len(changes) == 3


def test_ask_is_one_answer() -> None:
    session = make_session()
    changes: list[LiveChange] = []
    session.follow(PREFIX + "ASK { ?s :p ?o }", changes.append, name="live")
    for _ in range(2):
        push(session, ":a :p :b")
    push(session, ":c :p :b")
    assert [change.event.decode().partition("data: ")[2].strip() for change in changes] == [
        '{"time":0,"head":{},"boolean":false}',
        '{"time":10,"boolean":true}',
    ]


def test_a_registered_construct_reports_graphs() -> None:
    session = make_session()
    query = session.register(PREFIX + "CONSTRUCT { ?o :from ?s } { ?s :p ?o }", name="live")
    push(session, ":a :p :b")
    reports = query.take()
    assert [(report.stream, len(report.shown.rows)) for report in reports] == [("rstream", 0), ("istream", 1)]
    assert reports[1].graph is not None


def test_a_name_is_taken_once() -> None:
    session = make_session()
    Taken(session, "SELECT * { ?x :p ?y }")
    with pytest.raises(InputError, match="a query named live is registered already"):
        Taken(session, "SELECT * { ?x :q ?y }")


def test_terms_of_operators_survive_a_sweep() -> None:
    """What a group and its last report hold is kept when the dictionary is swept."""
    session = make_session()
    push(session, ':a :p "one"')
    taken = Taken(session, 'SELECT ?x (GROUP_CONCAT(?y; separator=" ") AS ?all) { ?x :p ?y } GROUP BY ?x')
    before = taken.take()
    gc.collect()
    engine = session.engine
    engine.collector.sweep(engine.streams, session.stored, engine.live)
    push(session, ':a :p "two"')
    assert before == [(["a one"], [])]
    assert taken.take() == [(["a one two"], ["a one"])]


def test_a_follower_is_no_registered_query() -> None:
    session = make_session()
    Taken(session, "SELECT * { ?x ?p ?y }")
    assert session.engine.names == ["live"]
    assert session.queries() == []
