"""A session with a checkpoint: what survives, what damage does, and disks that cannot be written to."""

import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from freshet import Session
from freshet.native.coordinator import Engine
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.reading import read_rdf
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.durable_parts import StreamOptions
from freshet.runtime.durable_session import DurableSession
from freshet.store.dataset import StoredDataset
from small_disk import read_only, small_disk

IRI = "http://e/s"
QUERY = """
PREFIX : <http://e/> REGISTER ISTREAM <q> AS SELECT ?s ?name FROM NAMED WINDOW <w> ON :s [RANGE PT4S STEP PT1S]
WHERE { ?s :name ?name . WINDOW <w> { ?s :p ?o } }
"""
TRIPLES = "SELECT ?s ?p ?o { ?s ?p ?o }"


def batch(number: int) -> str:
    at = number * 500
    lines = [f'{at}\t<http://e/{number % 9}> <http://e/p> "{number}" .']
    if number % 4 == 0:
        lines.append(f'{at}\t<http://e/{number % 9}> <http://e/name> "name {number}" .')
        lines.append(f'{at}\t_:b{number % 3} <http://e/name> "blank {number}" .')
    return "\n".join(lines)


class Life:
    """A session from its start to its end, clean or not. Receives all reports."""

    def __init__(self, folder: Path | None, received: dict[int, list], *, seconds: float = 1e6) -> None:
        self.session = Session(checkpoint=folder, checkpoint_seconds=seconds)
        self.session.stream(IRI, lateness_ms=1000, absorb=["http://e/name"])
        self.received = received
        self.query = self.session.register(QUERY)

    def push(self, first: int, last: int) -> None:
        for number in range(first, last):
            self.session.push(IRI, batch(number))
            self.take()

    def take(self) -> None:
        for report in self.query:
            rows = sorted(sorted((k, str(v)) for k, v in row.items()) for row in self.session.bindings(report))
            assert self.received.setdefault(report.time_ms, rows) == rows  # what comes again is the same

    def triples(self) -> list[str]:
        return sorted(str(sorted(row.items())) for row in self.session.bindings(self.session.query(TRIPLES)))

    def kill(self) -> None:
        """As if the process had ended here: nothing is written any more, and the lock is gone."""
        checkpoint = self.session._durable._checkpoint
        checkpoint._stop.set()
        checkpoint._lock_file.release()

    @property
    def taken(self) -> int:
        positions = self.session.positions()
        return positions[IRI].batches


def undisturbed(batches: int) -> tuple[dict[int, list], list[str]]:
    received: dict[int, list] = {}
    life = Life(None, received)
    life.push(0, batches)
    life.session.finish()
    life.take()
    return received, life.triples()


@pytest.fixture(scope="module")
def whole():
    return undisturbed(120)


def finished(life: Life, whole) -> None:
    life.push(life.taken, 120)
    life.session.finish()
    life.take()
    assert life.received == whole[0]
    assert life.triples() == whole[1]
    life.session.close()


def lived(folder: Path, received: dict, *, until: int = 80) -> None:
    """A life that ends without a word, after some checkpoints."""
    life = Life(folder, received)
    life.push(0, 15)
    for number in range(15, until, 15):
        life.session.checkpoint()
        life.push(number, min(number + 15, until))
    assert int(newest(folder / "manifests", "*.json").stem) >= 2
    life.kill()


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern))


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 0x10
    file.write_bytes(data)


def reopened(folder: Path, received: dict, *names: str) -> Life:
    """A new life, which says that these files are damaged, a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        life = Life(folder, received)
    said = [str(warning.message) for warning in caught]
    assert len(said) == len(names), said
    for line, name in zip(said, names, strict=True):
        assert name in line, said
        assert "\n" not in line
    return life


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
    finished(reopened(tmp_path / "c", received), whole)


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


@pytest.mark.parametrize("place", [3, -30])
def test_a_damaged_manifest(tmp_path, whole, place):
    received: dict = {}
    lived(tmp_path / "c", received)
    file = newest(tmp_path / "c" / "manifests", "*.json")
    flip(file, place)
    finished(reopened(tmp_path / "c", received, file.name), whole)


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "empty"])
@pytest.mark.parametrize("kind", ["triples", "terms"])
def test_a_damaged_segment(tmp_path, whole, harm, kind):
    received: dict = {}
    lived(tmp_path / "c", received)
    file = newest(tmp_path / "c" / "graph", f"*-{kind}.parquet")
    harms = {
        "flip": lambda: flip(file, file.stat().st_size // 2),
        "cut": lambda: file.write_bytes(file.read_bytes()[:-7]),
        "remove": file.unlink,
        "empty": lambda: file.write_bytes(b""),
    }
    harms[harm]()
    finished(reopened(tmp_path / "c", received, file.name), whole)


def test_no_whole_checkpoint_is_an_error_that_names_the_file(tmp_path):
    lived(tmp_path / "c", {}, until=110)
    for file in (tmp_path / "c" / "manifests").glob("*.json"):
        flip(file, 40)
    for _ in range(2):
        with pytest.raises(InputError, match=r"manifests/.*\.json: .*damaged.*no checkpoint before it"):
            Session(checkpoint=tmp_path / "c")


@pytest.mark.parametrize("harm", ["flip", "cut", "zeros"])
def test_a_damaged_journal_ends_before_the_damage_and_the_source_sends_again(tmp_path, whole, harm):
    received: dict = {}
    lived(tmp_path / "c", received)
    file = newest(tmp_path / "c" / "journal", "*.log")
    size = file.stat().st_size
    if harm == "flip":
        flip(file, 2 * size // 3)
    else:
        file.write_bytes(file.read_bytes()[: 2 * size // 3] + (b"" if harm == "cut" else bytes(999)))
    life = reopened(tmp_path / "c", received, file.name)
    assert 60 <= life.taken < 80
    finished(life, whole)
    finished(reopened(tmp_path / "c", received), whole)


def test_a_lost_end_of_the_journal_is_told(tmp_path, whole):
    received: dict = {}
    lived(tmp_path / "c", received)
    files = sorted((tmp_path / "c" / "journal").glob("*.log"))
    for file in files[-2:]:
        file.unlink()
    finished(reopened(tmp_path / "c", received, "journal"), whole)


def test_reports_that_nobody_took_come_again(tmp_path, whole):
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


def fill(file: Path) -> None:
    """Write until there is no room left."""
    with file.open("wb", buffering=0) as opened, suppress(OSError):
        while True:
            opened.write(bytes(4096))


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path, whole):
    received: dict = {}
    with small_disk(tmp_path / "disk", "256k") as disk:
        life = Life(disk / "c", received, seconds=0.01)
        filler = disk / "filler"
        life.push(0, 40)
        with life.session._durable._checkpoint._making:  # which else might give room back afterwards
            fill(filler)
        for _ in range(3):
            with pytest.raises(
                InputError, match=r"journal/\d+\.log: the checkpoint cannot be written: No space"
            ) as full:
                life.push(life.taken, 90)
            assert "\n" not in str(full.value)
        refused = life.taken
        assert 40 <= refused < 90
        filler.unlink()
        life.push(refused, 100)  # the same session goes on
        life.kill()
        again = reopened(disk / "c", received)
        assert again.taken == 100
        finished(again, whole)


def test_a_folder_that_cannot_be_written_to(tmp_path, whole):
    received: dict = {}
    with small_disk(tmp_path / "disk", "4m") as disk:
        life = Life(disk / "c", received)
        life.push(0, 40)
        life.kill()
        life.session._durable._checkpoint.journal.close()
        with read_only(disk):
            with pytest.raises(InputError, match="cannot be written to: Read-only file system"):
                Session(checkpoint=disk / "c")
            with pytest.raises(InputError, match="cannot be made: Read-only file system"):
                Session(checkpoint=disk / "other")
        finished(reopened(disk / "c", received), whole)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the checkpoint folder cannot be made: File exists"):
        Session(checkpoint=tmp_path / "file")


def test_batches_go_on_being_counted(tmp_path):
    from freshet import Session

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
