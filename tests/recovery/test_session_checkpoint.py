"""A session with a checkpoint: what survives, and what is received again."""

import pytest

from freshet import Session
from freshet.native.engine import Engine
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.reading import read_rdf
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.durable_records import StreamOptions
from freshet.runtime.durable_session import DurableSession
from freshet.store.dataset import StoredDataset
from session_lives import IRI, QUERY, Life, batch, finished, lived, reopened


def test_everything_survives(tmp_path, whole):
    received: dict = {}
    lived(tmp_path / "c", received)
    life = reopened(tmp_path / "c", received)
    assert life.taken == 80
    assert life.session.engine.names == ["q"]
    finished(life, whole)
    again = Life(tmp_path / "c", {})
    assert again.taken == 120
    assert again.query.take() == []
    again.session.close()


def test_the_graph_is_in_segments_and_the_journal_is_short(tmp_path, whole):
    received: dict = {}
    lived(tmp_path / "c", received, until=100)
    segments, journal = tmp_path / "c" / "graph", tmp_path / "c" / "journal"
    assert list(segments.glob("*-triples.parquet"))
    assert min(int(file.stem) for file in journal.glob("*.log")) > 20
    life = reopened(tmp_path / "c", received)
    stored = life.session.stored
    assert len(stored.base()) > len(stored.added().times)  # what streams left is part of the base after a restart
    finished(life, whole)


def test_what_is_opened_elsewhere_is_opened_there_again(tmp_path):
    """As graph directories are: they are not copied to the checkpoint."""
    (tmp_path / "a.nt").write_text('<http://e/a> <http://e/p> "1" .\n<http://e/b> <http://e/p> "2" .\n')
    opened: list[str] = []

    def life() -> tuple[DurableSession, StoredDataset]:
        dictionary, checkpoint = Dictionary(), Checkpoint(tmp_path / "c", every_seconds=1e6)
        engine = Engine(dictionary, checkpoint.dataset)

        def open_graph(path: str, graph: str | None) -> int:
            quads = read_rdf(path, dictionary)
            home = DEFAULT_GRAPH if graph is None else dictionary.encode(Iri(graph))
            engine.load(*quads[:3], home)
            opened.append(path)
            return len(quads.graphs)

        durable = DurableSession(engine, dictionary, checkpoint, open_graph)
        durable.restore()
        return durable, checkpoint.dataset

    for number in range(3):
        durable, dataset = life()
        if number == 0:
            durable.declare(StreamOptions(IRI, 0, (), held=False))
            assert durable.open(str(tmp_path / "a.nt"), None) == 2
            assert durable.open(str(tmp_path / "a.nt"), "http://e/g") == 2
        assert len(opened) == 2 * number + 2
        assert len(dataset.elements().times) == 2
        (graph,) = dataset.snapshot().names().tolist()
        assert len(dataset.elements(graph).times) == 2
        if number == 1:
            assert list((tmp_path / "c" / "manifests").iterdir())  # the journal is not needed for it any more
            assert not list((tmp_path / "c" / "graph").iterdir())
        durable.close()


def test_reports_that_nobody_took_come_again(tmp_path, whole, monkeypatch):
    # No marks as time goes by: one before the first report could be cut at.
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 1e9)
    life = Life(tmp_path / "c", {})
    for number in range(60):
        life.session.push(IRI, batch(number))
        if number == 30:
            assert not life.session.checkpoint()  # as all reports are still to be taken, nothing can be cut off
    life.kill()
    again = Life(tmp_path / "c", {})
    assert len(again.query.waiting) > 10
    again.take()
    finished(again, whole)


def test_reports_that_were_received_do_not_come_again(tmp_path):
    received: dict = {}
    life = Life(tmp_path / "c", received)
    life.push(0, 60)
    assert received
    life.session.close()
    again = Life(tmp_path / "c", {})
    assert again.query.take() == []
    again.session.close()


def test_a_callback_gets_what_waits_and_what_comes(tmp_path):
    life = Life(tmp_path / "c", {})
    life.session.push(IRI, "\n".join(batch(number) for number in range(40)))
    life.kill()
    session, found = Session(checkpoint=tmp_path / "c"), []
    query = session.registered("q", on_report=found.append)
    before = len(found)
    assert before > 0
    assert query.take() == []
    session.finish()
    assert len(found) > before
    with pytest.raises(InputError, match="there is no query named p"):
        session.registered("p")
    session.close()


def test_another_process_keeps_out(tmp_path):
    first = Life(tmp_path / "c", {})
    with pytest.raises(InputError, match="another process uses this checkpoint folder"):
        Session(checkpoint=tmp_path / "c")
    first.session.close()
    Session(checkpoint=tmp_path / "c").close()


def test_a_closed_session_refuses(tmp_path):
    life = Life(tmp_path / "c", {})
    life.session.close()
    with pytest.raises(InputError, match="closed"):
        life.session.push(IRI, batch(0))


def test_other_words_for_a_known_query_are_refused(tmp_path):
    Life(tmp_path / "c", {}).session.close()
    session = Session(checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match="a query named q is registered already, with other words"):
        session.register(QUERY.replace("PT4S", "PT5S"))
    with pytest.raises(InputError, match="in the checkpoint, declared otherwise"):
        session.stream(IRI, lateness_ms=7)
    session.close()


def test_loads_and_blank_nodes_survive(tmp_path):
    (tmp_path / "a.ttl").write_text("[] <http://e/p> [] . <http://e/x> <http://e/p> 1, 2.5 .")
    folder = tmp_path / "c"
    session = Session(checkpoint=folder, checkpoint_seconds=1e6)
    for graph in (None, "http://e/g"):
        session.load(tmp_path / "a.ttl", graph=graph)
    (tmp_path / "none.nt").write_text("")
    session.load(tmp_path / "none.nt", graph="http://e/empty")
    session.stream(IRI, absorb=True)
    for round_number in range(3):
        session.push(IRI, f"{round_number}\t_:a <http://e/q> _:b{round_number} .")
        session.checkpoint()
        session.close()
        session = Session(checkpoint=folder, checkpoint_seconds=1e6)
    session.load(tmp_path / "a.ttl")
    text = "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?d) { ?s ?p ?o }"
    (row,) = session.bindings(session.query(text))
    assert (row["n"].lexical, row["d"].lexical) == ("7", "4")  # two readings, each with a node of its own; _:a; :x
    graphs = [row["g"].value for row in session.bindings(session.query("SELECT ?g { GRAPH ?g {} }"))]
    assert sorted(graphs) == ["http://e/empty", "http://e/g"]
    session.close()


def test_batches_go_on_being_counted(tmp_path):
    stream = "http://e/s"
    line = "{0}\t<http://e/{0}> <http://e/p> <http://e/o> .\n"
    data = tmp_path / "a.nt"
    data.write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    session = Session(checkpoint=tmp_path / "c")
    session.load(data)
    session.stream(stream, absorb=True)
    for time_ms in (1, 2, 3):
        session.push(stream, line.format(time_ms))
    assert session.stored.vector_timestamp()[stream] == 3
    session.checkpoint()
    session.push(stream, line.format(4))
    session.close()
    again = Session(checkpoint=tmp_path / "c")
    assert again.stored.vector_timestamp()[stream] == 4
    assert len(again.query("SELECT * { ?s <http://e/p> ?o }").rows) == 5
    again.close()


@pytest.mark.parametrize("is_made", [False, True])
def test_what_was_received_is_known_after_a_checkpoint_and_a_close(tmp_path, is_made):
    """With or without a call in between, and whether or not that call made one."""
    received = []

    def opened() -> Session:
        session = Session(checkpoint=tmp_path, checkpoint_seconds=1e6, sync=False)
        session.stream(IRI)
        session.register(
            QUERY.replace("?s :name ?name .", ""), on_report=lambda report: received.append(report.time_ms)
        )
        return session

    session = opened()
    session.push(IRI, "500\t<http://e/a> <http://e/p> <http://e/b> .")
    if is_made:
        session.advance(IRI, 900)
        session.checkpoint()
    session.push(IRI, "1500\t<http://e/a> <http://e/p> <http://e/b> .")
    session.checkpoint()
    session.close()
    opened().close()
    assert received == [1000]
