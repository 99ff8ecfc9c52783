"""The folder of a pipeline that was stopped or killed: a session asks it, and the pipeline goes on with it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from freshet import Iri, Session
from freshet.rdf.errors import InputError
from pipeline_lives import BATCHES, QUERIES, M, PipelineLife, S, finished, lived, reports
from session_lives import Life, newest
from session_lives import finished as finished_session

NAMES = "SELECT ?s ?name { ?s <http://e/name> ?name }"
FOLDERS = Path(__file__).parent / "folders"
ASK_BOTH = QUERIES["both"].replace("REGISTER RSTREAM <both> AS ", "")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, list[str]]:
    """What an undisturbed run reports."""
    folder = tmp_path_factory.mktemp("whole")
    finished(folder)
    return reports(folder)


@pytest.fixture(autouse=True)
def many_marks(monkeypatch):
    """A checkpoint may be of any entry."""
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def rows(session: Session, text: str) -> list[str]:
    return sorted(str(sorted(row.items())) for row in session.bindings(session.query(text)))


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("until", [3, 40])  # before the first checkpoint, and after some
def test_a_session_asks_the_folder(tmp_path, whole, end, until):
    graph = tmp_path / "more.ttl"
    graph.write_text("<http://e/x> <http://e/name> 'x' . _:n <http://e/name> 'nobody' .")
    life = lived(tmp_path, until=until, graph=(graph,))
    stored, watermarks = rows(life.session, NAMES), {i: s.watermark_ms for i, s in life.session.engine.streams.items()}
    held = life.session.sizes()["windows"]
    getattr(life, end)()
    before = contents(tmp_path / "checkpoint")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = Session(checkpoint=tmp_path / "checkpoint")
    assert rows(session, NAMES) == stored
    assert len(stored) == 2 + (until + 3) // 4
    assert {query.name: query.text for query in session.queries()} == QUERIES
    assert {iri: state.watermark_ms for iri, state in session.engine.streams.items()} == watermarks
    assert session.positions()[S].batches == until
    assert (session.sizes()["windows"] > 0) == (held > 0)
    session.close()
    assert contents(tmp_path / "checkpoint") == before
    graph.write_text("")
    finished(tmp_path)
    assert reports(tmp_path)["both"] == whole["both"]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_windows_of_registered_queries_can_be_asked(tmp_path, end):
    getattr(lived(tmp_path), end)()
    with Session(checkpoint=tmp_path / "checkpoint") as session:
        watermark_ms = session.engine.streams[M].watermark_ms
        close_ms = watermark_ms - watermark_ms % 1000
        inside = sum(close_ms - 2000 <= number * 500 < close_ms for number in range(BATCHES))
        assert inside == 4
        answer = session.query(ASK_BOTH)
        assert [int(row["n"].lexical) for row in session.bindings(answer)] == [inside]
        named = QUERIES["named"].replace("REGISTER ISTREAM <named> AS ", "")
        assert len(session.query(named).rows) > 0
        with pytest.raises(InputError, match="keeps 3000 ms of its elements"):
            session.query(ASK_BOTH.replace("PT2S", "PT20S"))


def test_another_process_asks_without_what_pipelines_need(tmp_path):
    lived(tmp_path).kill()
    code = f"""
import sys, freshet
with freshet.Session(checkpoint={str(tmp_path / "checkpoint")!r}) as session:
    print(*(query.name for query in session.queries()), len(session.query({NAMES!r}).rows))
print(*[name for name in sys.modules if name.startswith(("pyspark", "pydantic", "freshet.spark", "freshet.rml"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["named", "both", "10"]


def test_nothing_can_be_changed(tmp_path):
    lived(tmp_path).kill()
    with Session(checkpoint=tmp_path / "checkpoint") as session:
        (tmp_path / "a.ttl").write_text("<http://e/a> <http://e/b> 1 .")
        changes = [
            lambda: session.push(S, "99000\t<http://e/a> <http://e/p> <http://e/b> ."),
            lambda: session.advance(S, 99_000),
            lambda: session.load(tmp_path / "a.ttl"),
            lambda: session.stream("http://e/new"),
            lambda: session.register(QUERIES["both"].replace("<both>", "<other>")),
            lambda: session.unregister("both"),
            session.finish,
        ]
        for change in changes:
            with pytest.raises(InputError, match="is a pipeline's: it can be asked, and only the pipeline changes it"):
                change()
        assert not session.checkpoint()
        assert [query.name for query in session.queries()] == list(QUERIES)
        assert session.registered("both").name == "both"


def test_reports_that_sinks_may_not_have_wait_and_reach_the_sinks_all_the_same(tmp_path, whole, monkeypatch):
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 1e9)  # so that nothing is noted as delivered
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_ENTRIES", 1e9)
    lived(tmp_path, until=20).kill()
    for part in (tmp_path / "out").rglob("*.ndjson"):
        part.unlink()
    with Session(checkpoint=tmp_path / "checkpoint") as session:
        taken = session.registered("both").take()
        assert [report.time_ms for report in taken] == list(range(1000, 10_000, 1000))
    finished(tmp_path)
    assert reports(tmp_path) == whole


def test_after_a_stop_nothing_is_delivered_again(tmp_path, monkeypatch):
    """Also to sinks that would not recognise it, such as the console."""
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 1e9)  # so that only the end notes it
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_ENTRIES", 1e9)
    lived(tmp_path, until=20).stop()
    for part in (tmp_path / "out").rglob("*.ndjson"):
        assert part.read_bytes()
        part.unlink()
    PipelineLife(tmp_path).stop()
    assert reports(tmp_path) == {"named": [], "both": []}


def test_the_queries_of_the_last_run_count(tmp_path):
    """They begin with what the journal has for those before, also where the process is killed before a checkpoint."""
    lived(tmp_path).stop()
    wider = {"both": QUERIES["both"].replace("PT2S", "PT3S")}
    life = PipelineLife(tmp_path, queries=wider)
    assert life.ingest.changed_queries() == ["both"]
    life.kill()
    with Session(checkpoint=tmp_path / "checkpoint") as session:
        assert {query.name: query.text for query in session.queries()} == wider
        assert len(session.query(wider["both"]).rows) == 1


def test_a_query_that_cannot_be_registered_here_is_left_out(tmp_path):
    """As one that asks hosts which this session may not."""
    lived(tmp_path).stop()
    asking = QUERIES["both"].replace("{ ?s :p ?o } }", "{ ?s :p ?o } SERVICE <http://localhost:1/> { ?s :q ?r } }")
    # A run with leave to ask writes this; here it is written by hand, since no endpoint is there.
    life = PipelineLife(tmp_path)
    run = life.session._durable._contents.define_run(life.ingest._sources)
    run["queries"] = [replace(run["queries"][1], text=asking)]
    life.checkpoint.append(run)
    life.kill()
    with Session(checkpoint=tmp_path / "checkpoint") as session:
        assert session.queries() == []
        (failure,) = session.failures
        assert failure.query == "both"
        assert "may not ask" in failure.reason
        assert rows(session, NAMES)


def test_what_a_mapping_says_of_predicates_is_known(tmp_path):
    """Else a query here would wait for an absorbing stream that it did not wait for in the run."""
    life = lived(tmp_path)
    carries = life.session.engine.streams[S].carries = frozenset({Iri("http://e/p"), Iri("http://e/name")})
    life.checkpoint.append(life.session._durable._contents.define_run(life.ingest._sources))
    life.kill()
    with Session(checkpoint=tmp_path / "checkpoint") as session:
        assert [stream.carries for stream in session.engine.streams.values()] == [carries, None]


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_a_run_goes_on_wherever_it_was(tmp_path, whole, ends):
    for until in (7, 8, 21, 40):
        getattr(lived(tmp_path, until=until), ends)()
        Session(checkpoint=tmp_path / "checkpoint").close()
    finished(tmp_path)
    assert reports(tmp_path) == whole


# ---- damage


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 0x10
    file.write_bytes(data)


def asked(folder: Path, *said: str) -> Session:
    """A session on the folder, which warns of these, a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session = Session(checkpoint=folder / "checkpoint")
    found = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    assert len(found) == len(said), found
    assert all(part in line and "\n" not in line for part, line in zip(said, found, strict=True)), found
    return session


def test_a_damaged_manifest(tmp_path, whole):
    life = lived(tmp_path)
    stored = rows(life.session, NAMES)
    life.kill()
    flip(newest(tmp_path / "checkpoint" / "manifests", "*.json"), -30)
    with asked(tmp_path, "recovery uses the checkpoint before it") as session:
        assert rows(session, NAMES) == stored
    finished(tmp_path)
    assert reports(tmp_path) == whole


def test_a_damaged_journal(tmp_path, whole):
    lived(tmp_path).kill()
    flip(newest(tmp_path / "checkpoint" / "journal", "*.log"), -200)
    with asked(tmp_path, "recovery ends with the entry before it") as session:
        assert 30 <= session.positions()[S].batches <= 40
        assert session.query(ASK_BOTH).rows
    finished(tmp_path)  # which brings what is missing again
    assert reports(tmp_path) == whole


def test_an_incomplete_last_entry(tmp_path, whole):
    lived(tmp_path).kill()
    journal = newest(tmp_path / "checkpoint" / "journal", "*.log")
    with journal.open("ab") as opened:
        opened.write(b"FRJ1 and not more")
    with asked(tmp_path, "the last entry is not whole, and was not acknowledged") as session:
        assert session.positions()[S].batches == 40
    finished(tmp_path)
    assert reports(tmp_path) == whole


def test_a_segment_that_both_manifests_name(tmp_path):
    lived(tmp_path, until=60).kill()
    flip(min((tmp_path / "checkpoint" / "graph").glob("*-triples.parquet")), 20)
    with pytest.raises(InputError, match="damaged"):
        Session(checkpoint=tmp_path / "checkpoint")
    with pytest.raises(InputError, match="damaged"):
        PipelineLife(tmp_path)


def test_a_file_of_the_graph_that_is_gone(tmp_path):
    graph = tmp_path / "more.ttl"
    graph.write_text("<http://e/x> <http://e/name> 'x' .")
    lived(tmp_path, graph=(graph,)).stop()
    graph.unlink()
    with pytest.raises(InputError, match=r"more\.ttl"):
        Session(checkpoint=tmp_path / "checkpoint")
    graph.write_text("<http://e/x> <http://e/name> 'y' .")
    with Session(checkpoint=tmp_path / "checkpoint") as session:  # the lock was given back
        assert any("Literal(lexical='y'" in row for row in rows(session, NAMES))


# ---- folders that are another's


def unpacked(name: str, folder: Path) -> None:
    with tarfile.open(FOLDERS / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")


def test_a_pipeline_goes_on_with_a_folder_of_an_earlier_version(tmp_path, whole):
    unpacked("pipeline-0.2.0", tmp_path)
    folder = tmp_path / "pipeline"
    with pytest.raises(InputError, match=r"a pipeline of Freshet 0\.2\.0 wrote this .* run the pipeline once"):
        Session(checkpoint=folder / "checkpoint")
    life = PipelineLife(folder)
    assert life.ingest.changed_queries() == []
    life.kill()
    with Session(checkpoint=folder / "checkpoint") as session:  # now it can be asked
        assert session.positions()[M].elements == 80
        assert session.query(ASK_BOTH).rows
    finished(folder)
    assert reports(folder) == whole


def test_a_session_goes_on_with_a_folder_of_an_earlier_version(tmp_path):
    unpacked("session-0.2.0", tmp_path)
    received: dict = {}
    whole_session = Life(None, {})
    whole_session.push(0, 120)
    whole_session.session.finish()
    whole_session.take()
    life = Life(tmp_path / "session", received)
    assert life.taken == 80
    life.take()
    for time_ms in set(whole_session.received) - set(received):
        if time_ms <= 38_000:
            received[time_ms] = whole_session.received[time_ms]  # which were received before
    finished_session(life, (whole_session.received, whole_session.triples()))


def test_a_pipeline_refuses_the_folder_of_a_session(tmp_path):
    for seconds in (1e6, 0.01):
        session = Session(checkpoint=tmp_path / "checkpoint", checkpoint_seconds=seconds)
        session.stream(f"http://e/{seconds}")
        session.close()
        with pytest.raises(InputError, match="a session wrote this checkpoint: choose another"):
            PipelineLife(tmp_path)


def test_a_later_version_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("freshet.runtime.durable_contents.FORMAT", 99)
    monkeypatch.setattr("freshet.runtime.durable_contents.__version__", "9.9.9")
    lived(tmp_path).stop()
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"Freshet 9\.9\.9 wrote this checkpoint, and \S+ cannot read it"):
        Session(checkpoint=tmp_path / "checkpoint")
    with pytest.raises(InputError, match=r"Freshet 9\.9\.9 wrote this checkpoint"):
        PipelineLife(tmp_path)
