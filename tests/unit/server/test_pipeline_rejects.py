"""What a pipeline rejects, as its files have it."""

import os

import orjson

from freshet.rdf.errors import InputError
from freshet.runtime.metrics import Metrics
from freshet.server.pipeline_rejects import PipelineRejects
from freshet.server.rejects import Rejects

_A, _B = "http://e/a", "http://e/b"


def _write(folder, name, batch, seconds, *records):
    file = folder / name / f"batch-{batch}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = [{"reason": "not JSON", "file": "/in/1.json", "line": line, "record": record} for line, record in records]
    file.write_bytes(b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in kept))
    os.utime(file, (seconds, seconds))


def test_the_newest_records_since_the_start_come_first(tmp_path):
    _write(tmp_path, "a", 1, 99, (1, "before the start"))
    _write(tmp_path, "a", 2, 101, (1, "x"), (2, "y" * 9000))
    _write(tmp_path, "b.2", 1, 103, (None, "z"))
    counts = Metrics(["a", "b"])
    found = PipelineRejects(tmp_path, {"a": _A, "b": _B}, counts, 100_000)
    shown = [(each["stream"], each["time_ms"], each["source"], each["record"]) for each in found.newest(10)]
    of_b = (_B, 103_000, "/in/1.json", "z")
    assert shown == [of_b, (_A, 101_000, "/in/1.json, line 1", "x"), (_A, 101_000, "/in/1.json, line 2", "y" * 500)]
    assert [each["record"] for each in found.newest(2)] == ["z", "x"]
    counts.batch("a", records=5, rejected=2)
    assert found.counts() == {_A: 2, _B: 0}


def test_they_stand_among_those_of_posts(tmp_path):
    _write(tmp_path, "a", 1, 101, (1, "x"))
    counts, rejects = Metrics(["a"]), Rejects()
    rejects.add("http://e/posted", InputError("not RDF", line=1), b"nonsense")
    assert rejects.json()["total"] == 1
    counts.batch("a", records=1, rejected=1)
    rejects.pipeline = PipelineRejects(tmp_path, {"a": _A}, counts, 0)
    found = rejects.json()
    assert (found["total"], [each["record"] for each in found["rejects"]]) == (2, ["nonsense", "x"])
    assert rejects.counts() == {"http://e/posted": 1, _A: 1}


def test_a_pipeline_that_has_rejected_nothing(tmp_path):
    found = PipelineRejects(tmp_path / "none", {"a": _A}, Metrics(["a"]), 0)
    assert found.newest(10) == []
