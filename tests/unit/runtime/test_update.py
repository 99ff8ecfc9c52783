"""SPARQL Update in a session: every form, all or nothing, and what readers see."""

from __future__ import annotations

import gc
import time
from collections import Counter
from pathlib import Path
from random import Random

import pyoxigraph as ox
import pytest

from counts import count
from freshet import InputError, QueryStoppedError, QuerySyntaxError, RegisteredQuery, Session
from freshet.algebra.updates import Load
from freshet.oneshot.update import changes_of
from freshet.rdf.reading import Quads
from freshet.results.write import write_answer
from sparql_endpoint import port_of, served

E = "http://e/"
PREFIX = "PREFIX : <http://e/> "


def quads_of(session: Session) -> ox.Dataset:
    names = [each["g"].value for each in session.bindings(session.query("SELECT ?g { GRAPH ?g {} }"))]
    found = ox.Dataset()
    for name in ("", *names):
        source, graph = ("", ox.DefaultGraph()) if not name else (f"FROM <{name}>", ox.NamedNode(name))
        answer = session.query(f"CONSTRUCT {{ ?s ?p ?o }} {source} {{ ?s ?p ?o }}")
        for quad in ox.parse(write_answer(answer, session.dictionary, "nt"), ox.RdfFormat.N_TRIPLES):
            found.add(ox.Quad(*quad.triple, graph))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def quads(text: str) -> ox.Dataset:
    text = text if text.endswith("}") else f"{text} ."
    found = ox.Dataset(ox.parse(f"@prefix : <http://e/> . {text}", ox.RdfFormat.TRIG))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def updated(*texts: str) -> Session:
    session = Session()
    for text in texts:
        session.update(PREFIX + text)
    return session


def test_counts_are_of_what_has_changed() -> None:
    session = updated("INSERT DATA { :a :p 1, 2 GRAPH :g { :a :p 1 } }")
    assert session.update(PREFIX + "INSERT DATA { :a :p 2, 3 }") == (1, 0)
    assert session.update(PREFIX + "DELETE DATA { :a :p 3, 4 GRAPH :h { :a :p 1 } }") == (0, 1)
    assert session.update(PREFIX + "DELETE { ?s ?p ?o } INSERT { ?s ?p 7 } WHERE { ?s ?p ?o }") == (1, 2)
    assert quads_of(session) == quads(":a :p 7 . :g { :a :p 1 }")


def test_operations_see_those_before() -> None:
    session = updated(
        "INSERT DATA { :a :p 1 } ; DELETE { ?s :p ?o } INSERT { ?s :q ?o } WHERE { ?s :p ?o } ;"
        "INSERT { GRAPH :g { ?s :r ?o } } WHERE { ?s :q ?o } ; DELETE WHERE { ?s :q ?o } ; COPY :g TO :h"
    )
    assert quads_of(session) == quads(":g { :a :r 1 } :h { :a :r 1 }")


def test_what_is_deleted_and_inserted_again_is_there() -> None:
    session = updated("INSERT DATA { :a :p 1 }")
    counts = session.update(PREFIX + "DELETE DATA { :a :p 1 } ; INSERT DATA { :a :p 1 } ; DELETE DATA { :a :p 2 }")
    assert counts == (0, 0)
    assert quads_of(session) == quads(":a :p 1")


def test_an_update_is_done_whole_or_not_at_all() -> None:
    session = updated("INSERT DATA { :a :p 1 }")
    with pytest.raises(InputError, match=r"operation 2 of the update: there is no graph <http://e/missing>"):
        session.update(PREFIX + "CLEAR DEFAULT ; DROP GRAPH :missing ; INSERT DATA { :a :p 2 }")
    assert quads_of(session) == quads(":a :p 1")


def test_readers_keep_what_they_had() -> None:
    session = updated("INSERT DATA { :a :p 1 GRAPH :g { :a :p 1 } }")
    before = session.dataset()
    session.update(PREFIX + "DROP ALL ; INSERT DATA { :a :p 2 }")
    assert len(before.graph(0)) == 1
    assert len(before.names()) == 1
    assert quads_of(session) == quads(":a :p 2")


def test_graphs_that_are_empty_are_there() -> None:
    session = updated("CREATE GRAPH :g ; INSERT DATA { GRAPH :h { :a :p 1 } } ; DELETE WHERE { GRAPH :h { ?s ?p ?o } }")
    names = {each["g"].value for each in session.query("SELECT ?g { GRAPH ?g {} }").bindings()}
    assert names == {E + "g", E + "h"}
    for text in ("CREATE GRAPH :g", "CREATE GRAPH :h"):
        with pytest.raises(InputError, match="already"):
            session.update(PREFIX + text)
        session.update(PREFIX + text.replace("CREATE", "CREATE SILENT"))
    session.update("DROP NAMED")
    assert not len(session.dataset().names())


@pytest.mark.parametrize(
    "text", ["CLEAR GRAPH :g", "DROP GRAPH :g", "ADD :g TO :h", "MOVE :g TO DEFAULT", "COPY :g TO :h"]
)
def test_a_graph_that_is_missing(text: str) -> None:
    session = updated("INSERT DATA { :a :p 1 }")
    with pytest.raises(InputError, match="there is no graph <http://e/g>"):
        session.update(PREFIX + text, file="u.ru")
    word = text.split()[0]
    session.update(PREFIX + text.replace(word, f"{word} SILENT"))
    assert quads_of(session) == quads(":a :p 1")


def test_blank_nodes_are_new_for_each_solution_and_one_in_all_graphs() -> None:
    session = updated(
        "INSERT DATA { :a :p 1, 2 }",
        "INSERT { _:x :of ?o GRAPH :g { _:x :in :g } } WHERE { :a :p ?o }",
    )
    shared = "SELECT ?o { ?x :of ?o GRAPH :g { ?x :in :g } }"
    assert sorted(each["o"].lexical for each in session.query(PREFIX + shared).bindings()) == ["1", "2"]


def test_what_is_no_triple_is_left_out() -> None:
    session = updated(
        "INSERT DATA { :a :p 1 }",
        "INSERT { ?o :p ?s . ?s ?o ?s . ?s :p ?missing GRAPH ?o { ?s :p ?s } } WHERE { ?s :p ?o }",
    )
    assert quads_of(session) == quads(":a :p 1")


def test_load_reads_files_and_documents_of_named_hosts(tmp_path: Path) -> None:
    file = tmp_path / "d ata.ttl"
    file.write_text("<http://e/a> <http://e/p> 1 .")
    session = Session()
    assert session.update(f"LOAD <{file.as_uri()}>") == (1, 0)
    with pytest.raises(InputError, match="files of the server are not loaded"):
        session.update(f"LOAD <{file.as_uri()}>", files=False)
    with pytest.raises(InputError, match="no such file"):
        session.update("LOAD <file:///missing.ttl>")
    with served(lambda path, query: (b"<a> <http://e/p> 2 .", "text/turtle")) as server:
        url = f"http://127.0.0.1:{port_of(server)}/doc"
        asking = Session(services=["127.0.0.1"])
        assert asking.update(f"LOAD <{url}> INTO GRAPH <http://e/g>") == (1, 0)
        ((row),) = asking.query("SELECT * { GRAPH ?g { ?s ?p ?o } }").bindings()
        assert row["s"].value == url.replace("/doc", "/a")
        before = len(asking.dataset().names())
        session.update(f"LOAD SILENT <{url}>")  # its host may not be asked
        with pytest.raises(Exception, match=r"127\.0\.0\.1"):
            session.update(f"LOAD <{url}>")
        assert len(asking.dataset().names()) == before


@pytest.mark.parametrize("silent", ["", "SILENT "])
def test_load_keeps_the_time_limit(silent: str) -> None:
    with served(lambda path, query: (b"<a> <http://e/p> 2 .", "text/turtle")) as server:
        server.behaviour = {"delay_seconds": 1}
        session = Session(services=["127.0.0.1"])
        loads = (f"LOAD {silent}<http://127.0.0.1:{port_of(server)}/{at}>" for at in range(8))
        began = time.monotonic()
        with pytest.raises(QueryStoppedError, match="time limit"):
            session.update(" ; ".join(loads), timeout_seconds=0.3)
        assert time.monotonic() - began < 6
        assert len(server.seen) == 1
    assert not len(session.dataset().graph(0))


def test_load_silent_does_not_hide_that_the_update_was_stopped() -> None:
    def read_document(operation: Load) -> Quads:
        raise QueryStoppedError("the query was cancelled")

    session = Session()
    update = session.prepare_update("LOAD SILENT <http://e/a>")
    with session.dictionary.pins, pytest.raises(QueryStoppedError):
        changes_of(update, session.dataset(), session.dictionary, None, read_document)


def test_errors_name_the_file() -> None:
    with pytest.raises(QuerySyntaxError, match=r"^u.ru:1:8: "):
        Session().update("INSERT SOMETHING", file="u.ru")
    with pytest.raises(InputError, match="an update is a text"):
        Session().update(7)  # type: ignore[arg-type]


def test_limits_hold_and_nothing_is_changed() -> None:
    session = updated("INSERT DATA { " + " ".join(f":a :p {at} ." for at in range(300)) + " }")
    with pytest.raises(QueryStoppedError):
        session.update(PREFIX + "INSERT { ?x :q ?y, ?z } WHERE { ?x :p ?y, ?z, ?v }", memory_bytes=1 << 20)
    assert len(session.dataset().graph(0)) == 300


def test_live_queries_follow() -> None:
    session = updated("INSERT DATA { :a :p 1, 2 . :a :q 1 }")
    query = session.register(PREFIX + "SELECT ?o { :a :p ?o FILTER NOT EXISTS { ?x :q ?o } }", name="live")
    session.update(PREFIX + "DELETE DATA { :a :q 1 }")
    session.update(PREFIX + "DELETE WHERE { :a :p ?o } ; INSERT DATA { :a :p 2, 3 }")
    session.update(PREFIX + "DROP ALL")
    found = [(report.stream.value, sorted(each["o"].lexical for each in report.bindings())) for report in query.take()]
    assert found == [
        ("rstream", ["2"]),
        ("istream", ["1"]),
        ("dstream", ["1"]),
        ("istream", ["3"]),
        ("dstream", ["2", "3"]),
    ]


@pytest.mark.parametrize("head", ["*", "DISTINCT ?x", "?x (COUNT(*) AS ?count)"])
@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize(
    ("pattern", "deleted"),
    [
        ("?x :p ?o", ":a :p 1"),
        ("?x :p ?o", ":a :q 1"),
        ("?x ?p ?o", ":a :q 1"),
        ("?x :p ?o . ?z :q ?o", ":a :q 1"),
        ("?x :p ?o", "GRAPH :g { :a :p 1 }"),
        ("GRAPH :g { ?x :p ?o }", "GRAPH :g { :a :p 1 }"),
        ("GRAPH ?g { ?x :p ?o }", "GRAPH :g { :a :p 1 }"),
        ("OPTIONAL { ?x :p+ ?o }", ":a :p 1"),
        ("OPTIONAL { ?x :p ?o }", ":a :p 1"),
        ("FILTER NOT EXISTS { ?x :p ?o }", ":a :p 1"),
        ("MINUS { ?x :p ?o }", ":a :p 1"),
        ("{ SELECT ?x { ?x :p ?o } ORDER BY ?o LIMIT 1 }", ":a :p 1"),
        ("{ SELECT (MAX(?o) AS ?most) { ?x :p ?o } }", ":a :p 1"),
    ],
)
def test_queries_over_windows_follow(pattern: str, deleted: str, output: str, head: str) -> None:
    """RSTREAM reports what a one-shot query gives, the others by what its answers before and after differ."""
    session = updated("INSERT DATA { :a :p 1 . :b :p 2 . :a :q 1 . :b :q 1 GRAPH :g { :a :p 1 . :b :p 1 } }")
    session.stream(E + "s")
    tail = " GROUP BY ?x" if "COUNT" in head else ""
    query = session.register(
        f"{PREFIX} REGISTER {output} <w> AS SELECT {head} FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT1S] "
        f"WHERE {{ WINDOW :w {{ ?x :seen ?y }} {pattern} }} {tail}"
    )
    asked = f"{PREFIX} SELECT {head} {{ VALUES (?x ?y) {{ (:a :a) (:b :a) (:c :a) }} {pattern} }} {tail}"
    session.push(E + "s", "".join(f"100\t<{E}{name}> <{E}seen> <{E}a> .\n" for name in "abc"))
    session.advance(E + "s", 1000)
    before = Counter(map(str, session.query(asked).bindings()))
    assert rows_of(query) == (Counter() if output == "DSTREAM" else before)
    assert session.update(PREFIX + f"DELETE DATA {{ {deleted} }}").deleted == 1
    session.advance(E + "s", 2000)
    after = Counter(map(str, session.query(asked).bindings()))
    expected = {"RSTREAM": after, "ISTREAM": after - before, "DSTREAM": before - after}
    assert not session.failures
    assert rows_of(query) == expected[output]


def test_graphs_that_are_dropped_leave_nothing_behind() -> None:
    """Whatever reads them, and however often they come again."""
    session = updated("INSERT DATA { :a :q 1 }")
    session.stream(E + "s")
    windows = f"{PREFIX} REGISTER DSTREAM <w> AS SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE PT100S STEP PT1S]"
    query = session.register(f"{windows} WHERE {{ WINDOW :w {{ ?x :seen ?y }} GRAPH :g {{ ?x :p ?o }} }}")
    live = session.register(PREFIX + "SELECT ?o { GRAPH :g { ?x :p ?o } }", name="live")
    session.push(E + "s", f"100\t<{E}a> <{E}seen> <{E}a> .")
    live.take()
    sizes = []
    for at in range(1, 9):
        values = ", ".join(map(str, range(at, at + 50)))
        session.update(PREFIX + f"INSERT DATA {{ GRAPH :g {{ :a :p {values} }} }}")
        session.advance(E + "s", 2000 * at)
        session.update(PREFIX + "DROP GRAPH :g")
        session.advance(E + "s", 2000 * at + 1000)
        sizes.append(sum(session.stored.nbytes()))
        expected = {str(value) for value in range(at, at + 50)}
        assert [{row["o"].lexical for row in each.bindings()} for each in query.take()] == [expected]
        added, removed = live.take()
        assert {row["o"].lexical for row in added.bindings()} == expected
        assert {row["o"].lexical for row in removed.bindings()} == expected
        assert not list(session.query("SELECT ?g { GRAPH ?g {} }").bindings())
    assert max(sizes) == sizes[0]
    session.unregister(query.name)
    session.unregister(live.name)
    gc.collect()
    session.update(PREFIX + "INSERT DATA { :a :q 2 }")
    assert session.stored._named == {}


def rows_of(query: RegisteredQuery) -> Counter[str]:
    """What a query has reported since it was asked last."""
    return Counter(str(row) for report in query.take() for row in report.bindings())


def random_update(random: Random) -> str:
    def term() -> str:
        return random.choice((":a", ":b", ":c", "1", "2"))

    def node() -> str:
        return random.choice((":a", ":b", ":c"))

    def triple(variables: bool) -> str:
        subject, predicate, other = node(), random.choice((":p", ":q")), term()
        if variables:
            subject, other = random.choice((subject, "?x", "?y")), random.choice((other, "?x", "?y"))
            predicate = random.choice((predicate, predicate, "?z"))
        return f"{subject} {predicate} {other} ."

    def block(variables: bool) -> str:
        found = []
        for _ in range(random.randint(1, 3)):
            inside = triple(variables)
            graph = random.choice((":g", ":h", "?g") if variables else (":g", ":h"))
            found.append(inside if random.random() < 0.6 else f"GRAPH {graph} {{ {inside} }}")
        return "{ " + " ".join(found) + " }"

    graph = random.choice((":g", ":h"))
    match random.randrange(9):
        case 0 | 1:
            return f"INSERT DATA {block(False)}"
        case 2:
            return f"DELETE DATA {block(False)}"
        case 3:
            return f"DELETE WHERE {block(True)}"
        case 4:
            return f"{random.choice(('CLEAR', 'DROP'))} SILENT {random.choice(('DEFAULT', 'NAMED', 'ALL', 'GRAPH :g'))}"
        case 5:
            made = (
                "CREATE SILENT GRAPH :g ; CREATE SILENT GRAPH :h"  # pyoxigraph takes a missing source for an empty one
            )
            ends = random.sample(("DEFAULT", ":g", ":h"), 2)
            return f"{made} ; {random.choice(('ADD', 'COPY', 'MOVE'))} {ends[0]} TO {ends[1]}"
        case 6:
            return f"CREATE SILENT GRAPH {graph}"
        case _:
            using = random.choice(("", f"WITH {graph} ", ""))
            delete = f"DELETE {block(True)} " if random.random() < 0.6 else ""
            insert = f"INSERT {block(True)} " if not delete or random.random() < 0.6 else ""
            used = random.choice(("", "", f"USING {graph} USING NAMED :h "))
            return f"{using}{delete}{insert}{used}WHERE {block(True)}"


@pytest.mark.parametrize("seed", range(count(40)))
def test_random_updates_do_what_oxigraph_does(seed: int) -> None:
    """Also where several operations are one request."""
    random = Random(seed)
    session, store = Session(), ox.Store()
    for _ in range(8):
        text = PREFIX + " ; ".join(random_update(random) for _ in range(random.choice((1, 1, 2, 4))))
        session.update(text)
        store.update(text)
        expected = ox.Dataset(store)
        expected.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
        assert quads_of(session) == expected, text
