"""A query of an old name starts anew, checkpoints go on after whatever went wrong, and files that cannot be read."""

import warnings

import pytest

from freshet import Session
from freshet.native.moments import BEFORE_ALL_TIME, close_at
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.checkpoint_manifest import Manifests
from freshet.runtime.durable_files import DamagedError, write_whole
from short_lives import IRI, QUERY, begun, killed, line
from waiting import wait_until

OTHER = QUERY.replace("?s :p ?o", "?s ?q ?o")


@pytest.fixture
def many_marks(monkeypatch):
    """A checkpoint may be of any entry."""
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)


def seen(query) -> list[int]:
    return [report.time_ms for report in query.take()]


def lived(folder) -> Session:
    """A session that has reported up to 5000, which is in its checkpoint."""
    session = begun(folder)
    session.stream(IRI, lateness_ms=100_000)
    query = session.register(QUERY)
    for time_ms in range(500, 6000, 500):
        session.push(IRI, line(time_ms))
    session.advance(IRI, 5500)
    assert seen(query)[-1] == 5000
    query.take()
    session.push(IRI, line(5600))
    assert session.checkpoint()
    return session


@pytest.mark.usefixtures("many_marks")
@pytest.mark.parametrize("replaced", ["before", "after"])
def test_a_query_of_an_old_name_starts_anew(tmp_path, replaced):
    """Before the process ends, so that it is done again, or after."""
    session = lived(tmp_path)
    if replaced == "before":
        session.unregister("q")
        session.register(OTHER)
    killed(session)
    session = begun(tmp_path)
    if replaced == "after":
        session.unregister("q")
        session.register(OTHER)
    assert session._durable._checkpoint.delivered_until("q") == close_at(BEFORE_ALL_TIME)
    session.push(IRI, line(5700))
    session.finish()
    assert seen(session.registered("q"))
    session.close()


@pytest.mark.usefixtures("many_marks")
def test_a_query_of_the_name_of_one_that_failed_starts_anew(tmp_path):
    session = lived(tmp_path)
    killed(session)
    session = begun(tmp_path)
    session._durable.drop_failed_query("q")
    assert "q" not in session._durable._checkpoint._passed
    session.close()


def test_a_checkpoint_of_the_moment_before_a_registration(tmp_path, monkeypatch):
    session = begun(tmp_path)
    session.stream(IRI)
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)
    session.register(QUERY)
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 1e6)
    session.push(IRI, line(500))
    assert session.checkpoint()
    killed(session)
    again = begun(tmp_path)
    assert again.engine.names == ["q"]
    again.finish()
    assert seen(again.registered("q")) == [1000]
    again.close()


@pytest.mark.parametrize("error", [ValueError("odd"), KeyError("odd"), OSError(5, "Input/output error")])
def test_checkpoints_go_on_after_an_error_that_is_told_once(tmp_path, monkeypatch, error):
    with Session(checkpoint=tmp_path, checkpoint_seconds=0.01) as session:
        session.stream(IRI, absorb=True)
        checkpoint, real, tries = session._durable._checkpoint, Checkpoint.make, []

        def make(self):
            tries.append(1)
            raise error

        monkeypatch.setattr(Checkpoint, "make", make)
        wait_until(lambda: len(tries) > 3)
        with pytest.warns(UserWarning, match="a checkpoint could not be made"):
            session.push(IRI, line(1))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.push(IRI, line(2))
        monkeypatch.setattr(Checkpoint, "make", real)
        wait_until(lambda: not checkpoint.trouble)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.push(IRI, line(3))

        def made():
            session.push(IRI, line(4))
            return list((tmp_path / "manifests").glob("*.json"))

        wait_until(made)


def test_a_manifest_that_cannot_be_read_is_a_damaged_one(tmp_path):
    (tmp_path / "m" / "000000000001.json").mkdir(parents=True)
    (problem,) = Manifests(tmp_path / "m", tmp_path).recover()
    assert str(problem).endswith("000000000001.json: a file of the checkpoint cannot be read: Is a directory")


def test_a_segment_that_cannot_be_opened_is_a_damaged_one(tmp_path, monkeypatch):
    stored = write_whole(tmp_path, "a", b"data")

    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "open", refused)
    with pytest.raises(DamagedError, match="a: a file of the checkpoint cannot be read: Permission denied"):
        stored.check(tmp_path)
