"""The newest reports, with ids: resuming after each of them, dropping the oldest, and going on after a restart."""

import json
import os
import shutil
import warnings

import pytest

from freshet import InputError, Iri, Session
from freshet.runtime.report_log import ReportsGoneError

_QUERY = """REGISTER RSTREAM <{name}> AS SELECT ?s (COUNT(*) AS ?n)
FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S] WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }} GROUP BY ?s"""


def _push(session, first, end):
    for second in range(first, end):
        session.push("http://e/s", f"<http://e/{second}> <http://e/p> 1 .", time_ms=second * 1000)


def _taken(reports):
    return [json.loads(line) for each in reports for line in each.lines]


def _times(reports):
    return [report["time"] for report in _taken(reports)]


def _session(**options):
    session = Session(**options)
    log = session.keep_reports()
    if not session.streams():
        session.stream("http://e/s")
    return session, log


def test_reports_go_on_after_any_id():
    session, log = _session()
    session.register(_QUERY.format(name="q"))
    assert log.last_id("q") is None
    _push(session, 0, 6)
    reports = _taken(log.after("q", "start"))
    assert [report["time"] for report in reports] == [1000, 2000, 3000, 4000, 5000]
    for number, report in enumerate(reports):
        assert _taken(log.after("q", report["id"])) == reports[number + 1 :]
    assert log.last_id("q") == reports[-1]["id"]
    assert list(reports[0]) == ["id", "query", "time", "stream", "bindings"]


def test_reports_of_one_push_are_told_apart():
    session, log = _session()
    session.register(_QUERY.format(name="q"))
    text = "".join(f"{second * 1000}\t<http://e/a> <http://e/p> <http://e/b> .\n" for second in range(5))
    session.push("http://e/s", text)
    reports = _taken(log.after("q", "start"))
    assert len(log.after("q", "start")) == 1
    assert _taken(log.after("q", reports[1]["id"])) == reports[2:]
    [logged] = log.after("q", "start")
    assert logged.events.decode().count("\n\n") == 4
    assert logged.events.decode().startswith(f"id: {reports[0]['id']}\ndata: {{")


def test_ids_of_another_registration_and_dropped_ones_are_gone():
    session, log = _session()
    session.register(_QUERY.format(name="q"))
    _push(session, 0, 3)
    [first, second] = _taken(log.after("q", "start"))
    session.unregister("q")
    with pytest.raises(ReportsGoneError, match="no query"):
        log.after("q", first["id"])
    session.register(_QUERY.format(name="q"))
    with pytest.raises(ReportsGoneError, match="registered again"):
        log.after("q", second["id"])
    for wrong in ("", "x", "1", "1-x"):
        with pytest.raises(InputError, match="not the id"):
            log.after("q", wrong)


def test_the_oldest_reports_are_dropped():
    session = Session()
    log = session.keep_reports(2000)
    session.stream("http://e/s")
    session.register(_QUERY.format(name="q"))
    _push(session, 0, 3)
    first = _taken(log.after("q", "start"))[0]["id"]
    _push(session, 3, 60)
    assert log.nbytes <= 2000
    kept = _times(log.after("q", "start"))
    assert kept[-1] == 59_000
    assert 0 < len(kept) < 59
    with pytest.raises(ReportsGoneError, match="dropped"):
        log.after("q", first)


def test_a_restart_goes_on_with_the_same_ids(tmp_path):
    session, log = _session(checkpoint=tmp_path)
    session.register(_QUERY.format(name="q"))
    _push(session, 0, 4)
    before = _taken(log.after("q", "start"))
    session.close()
    for _ in range(2):
        with Session(checkpoint=tmp_path) as session:
            log = session.keep_reports()
            assert _taken(log.after("q", "start")) == before
            session.stream("http://e/s")
            session.register(_QUERY.format(name="q"))
            _push(session, len(before) + 1, len(before) + 3)
            after = _taken(log.after("q", before[-1]["id"]))
            assert [report["time"] for report in after] == [before[-1]["time"] + 1000, before[-1]["time"] + 2000]
            before += after


def test_a_small_log_survives_restarts_in_few_files(tmp_path):
    newest = None
    for life in range(4):
        with Session(checkpoint=tmp_path) as session:
            log = session.keep_reports(4000)
            if life == 0:
                session.stream("http://e/s")
                session.register(_QUERY.format(name="q"))
            else:
                assert log.last_id("q") == newest
                assert log.after("q", newest) == []
            _push(session, life * 100, life * 100 + 100)
            newest = log.last_id("q")
            assert _times(log.after("q", "start"))[-1] == (life * 100 + 99) * 1000
    assert sum(file.stat().st_size for file in (tmp_path / "reports").iterdir()) < 40_000


def test_a_query_that_fails_ends():
    session, log = _session()
    ends = []
    log.on_end = lambda query, reason: ends.append((query, reason))
    session.register(_QUERY.format(name="q"), on_report=lambda report: 1 / 0)
    session.register(_QUERY.format(name="r"))
    _push(session, 0, 3)
    assert [name for name, _ in ends] == ["q"]
    assert "failed" in ends[0][1]
    assert _times(log.after("r", "start")) == [1000, 2000]


def test_bound_queries_report_only_their_value_and_come_back(tmp_path):
    def times(session, user):
        return _times(session.report_log.after(user, "start"))

    with Session(checkpoint=tmp_path) as session:
        session.keep_reports()
        session.stream("http://e/s")
        for user in ("1", "2"):
            session.register(
                _QUERY.format(name="x").replace("REGISTER RSTREAM <x> AS ", ""),
                name=user,
                bindings={"s": Iri(f"http://e/{user}")},
            )
        _push(session, 0, 3)
        assert (times(session, "1"), times(session, "2")) == ([2000], [])
        with pytest.raises(InputError, match="no such variable"):
            session.register(_QUERY.format(name="y"), bindings={"zzz": Iri("http://e/a")})
    with Session(checkpoint=tmp_path) as session:
        session.keep_reports()
        _push(session, 3, 4)
        assert (times(session, "1"), times(session, "2")) == ([2000], [3000])


def test_a_measured_query_explains_what_its_operators_did(tmp_path):
    for options in ({}, {"checkpoint": tmp_path}):
        with Session(**options) as session:
            session.stream("http://e/s")
            query = session.register(_QUERY.format(name="q"), measure=True)
            _push(session, 0, 3)
            assert "with what each operator did" in str(query.explain())


def test_a_push_with_a_key_counts_once(tmp_path):
    triple = "5\t<http://e/a> <http://e/p> <http://e/b> ."
    for options in ({}, {"checkpoint": tmp_path}):
        with Session(**options) as session:
            session.stream("http://e/s")
            assert session.push_text("http://e/s", triple, key="k") == 1
            assert session.push_text("http://e/s", triple, key="k") == 0
            with pytest.raises(InputError, match="something else"):
                session.push_text("http://e/s", triple.replace("5", "6"), key="k")
            assert session.streams()[0].elements == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for checkpointed in (False, True):
            with Session(checkpoint=tmp_path) as session:
                assert session.push_text("http://e/s", triple, key="k") == 0
                assert session.streams()[0].elements == 1
                if checkpointed:
                    session.push("http://e/s", "7\t<http://e/a> <http://e/p> <http://e/b> .")
                session.checkpoint()


def test_a_loss_of_power_keeps_the_ids(tmp_path, monkeypatch):
    synced = {}

    def noting(sync):
        def noted(descriptor):
            sync(descriptor)
            synced[os.readlink(f"/proc/self/fd/{descriptor}")] = os.fstat(descriptor).st_size

        return noted

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, noting(getattr(os, name)))
    folder, left = tmp_path / "checkpoint", tmp_path / "left"
    session, log = _session(checkpoint=folder)
    session.register(_QUERY.format(name="q"))
    _push(session, 0, 6)
    before = _taken(log.after("q", "start"))
    assert len(before) == 5
    shutil.copytree(folder, left)
    for file in (left / "reports").iterdir():  # what was not brought to the disk is gone
        os.truncate(file, synced.get(str(folder / "reports" / file.name), 0))
    assert sum(file.stat().st_size for file in (left / "reports").iterdir()) < sum(
        file.stat().st_size for file in (folder / "reports").iterdir()
    )
    session.close()
    session, log = _session(checkpoint=left)
    assert _taken(log.after("q", "start")) == before
    session.close()
