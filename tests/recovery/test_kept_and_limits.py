"""What is kept of streams for one-shot queries outlives the process; doing entries again may take its time."""

import orjson
import pytest

from freshet.rdf.errors import InputError
from freshet.runtime.journal import Journal
from freshet.store.slices import BufferFullError, elements_within
from short_lives import IRI, QUERY, begun, killed, line

KEPT = {"keep_ms": 3000, "keep_bytes": 9 * 32}
ASKED = "SELECT ?s FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT2S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }"


def found(session) -> list[str]:
    return sorted(row["s"].value for row in session.bindings(session.query(ASKED)))


@pytest.mark.parametrize("absorb", [False, True])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_windows_of_one_shot_queries_are_there_again(tmp_path, monkeypatch, absorb, checkpoint):
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)
    session = begun(tmp_path)
    session.stream(IRI, absorb=absorb, **KEPT)
    for time_ms in range(500, 9500, 500):
        session.push(IRI, line(time_ms))
    if checkpoint:
        assert session.checkpoint()
        assert session.checkpoint() is False
    before = found(session)
    assert before == [f"http://e/{time_ms}" for time_ms in range(7000, 9000, 500)]
    killed(session)
    again = begun(tmp_path)
    assert (again._durable._checkpoint.state != {}) == checkpoint
    assert found(again) == before
    with pytest.raises(InputError, match="in the checkpoint, declared otherwise"):
        again.stream(IRI, absorb=absorb, keep_ms=3001)
    again.stream(IRI, absorb=absorb, **KEPT)
    if not absorb:
        with pytest.raises(BufferFullError):
            again.push(IRI, "\n".join(line(9000 + number) for number in range(10)))
    again.close()


OTHER = "http://e/t"
TOGETHER = """
PREFIX : <http://e/> SELECT ?s ?t FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]
FROM NAMED WINDOW <v> ON :t [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s :p ?o } WINDOW <v> { ?t :p ?o } }
"""


def test_windows_of_a_common_time_are_there_again(tmp_path, monkeypatch):
    """One stream is further than it keeps anything, and its window is wider than those of the registered query."""
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)
    asked = TOGETHER.replace(":s [RANGE PT1S", ":s [RANGE PT8S").replace("?t :p ?o", "?t :p ?q")
    session = begun(tmp_path)
    session.stream(IRI, keep_ms=9000)
    session.stream(OTHER, keep_ms=2000)
    session.register(TOGETHER, name="together", on_report=lambda report: None)
    for time_ms in range(500, 40_000, 500):
        session.push(IRI, line(time_ms))
        if time_ms < 21_000:
            session.push(OTHER, line(time_ms))
    before = sorted(row["s"].value for row in session.bindings(session.query(asked)))
    assert set(before) == {f"http://e/{time_ms}" for time_ms in range(12_000, 20_000, 500)}
    assert session.checkpoint()
    killed(session)
    again = begun(tmp_path)
    assert sorted(row["s"].value for row in again.bindings(again.query(asked))) == before
    again.close()


def test_a_stream_says_from_when_on_it_is_kept_after_a_restart(tmp_path, monkeypatch):
    """What is too old goes from time to time; a checkpoint leaves it out at once."""
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)
    session = begun(tmp_path)
    session.stream(IRI, keep_ms=8000)
    for time_ms in range(100, 21_000, 100):
        session.push(IRI, line(time_ms))
    assert kept_times(session) == list(range(11_900, 21_000, 100))
    assert session.checkpoint()
    killed(session)
    again = begun(tmp_path)
    assert kept_times(again) == list(range(12_900, 21_000, 100))
    again.close()


def kept_times(session) -> list[int]:
    """The times of the elements that a stream has from when on it says that it has all, which must be there."""
    kept = session.stored.snapshot().kept(IRI)
    times = sorted(elements_within(kept.slices, kept.from_ms, 10**9).times.tolist())
    assert times == list(range(kept.from_ms, 21_000, 100))
    return times


def test_a_journal_without_what_is_kept_is_read(tmp_path, monkeypatch):
    """As they were before there was anything to keep."""
    real = Journal.append

    def old(self, header, *body):
        return real(self, {name: header[name] for name in header if not name.startswith("keep_")}, *body)

    monkeypatch.setattr(Journal, "append", old)
    session = begun(tmp_path)
    session.stream(IRI, lateness_ms=7)
    killed(session)
    monkeypatch.setattr(Journal, "append", real)
    assert b"keep_" not in b"".join(file.read_bytes() for file in (tmp_path / "journal").glob("*.log"))
    again = begun(tmp_path)
    again.stream(IRI, lateness_ms=7)
    assert orjson.dumps(again._durable._contents.describe()["streams"])
    again.close()


def test_a_limit_does_not_count_for_what_is_done_again(tmp_path):
    session = begun(tmp_path)
    session.stream(IRI)
    session.register(QUERY, limit_seconds=50)
    for time_ms in (500, 1500, 2500):
        session.push(IRI, line(time_ms))
    killed(session)

    ticks = iter(range(0, 10**9, 1000))
    with pytest.MonkeyPatch.context() as slow:
        slow.setattr("freshet.rdf.deadline.monotonic", lambda: next(ticks))
        again = begun(tmp_path)
        assert again.failures == []
        assert len(again.registered("q").take()) == 2
        again.push(IRI, line(3500))
    assert [failure.query for failure in again.failures] == ["q"]
    again.close()
