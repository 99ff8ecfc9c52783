"""Reports in files: each once, also where a run is cut off and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from freshet.algebra.nodes import StreamOperator
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Literal
from freshet.results.answers import AnswerBatch, joined
from freshet.runtime.sinks import FileSink

DICTIONARY = Dictionary()


def report(time_ms: int, value: str) -> AnswerBatch:
    rows = np.array([[DICTIONARY.encode(Literal(value))]], np.int64)
    is_instant = value == "instant"
    moments = np.array([2 * time_ms + is_instant])
    return AnswerBatch("q", StreamOperator.RSTREAM, ("v",), moments, np.array([0, 1]), rows, DICTIONARY)


def written(folder: Path) -> list[tuple[int, str]]:
    (part,) = folder.iterdir()
    lines = [json.loads(line) for line in part.read_text(encoding="utf-8").splitlines()]
    return [(line["time"], line["bindings"][0]["v"]["value"]) for line in lines]


def batches(made: list[AnswerBatch], size: int) -> list[AnswerBatch]:
    return [joined(made[first : first + size]) for first in range(0, len(made), size)]


MADE = [report(5, "a"), report(10, "close"), report(10, "instant"), report(11, "b" * 100_000), report(12, "c")]


@pytest.mark.parametrize("given", range(len(MADE) + 1))
@pytest.mark.parametrize("cut", [0, 7])
@pytest.mark.parametrize("passed", range(3))
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_run_that_goes_on_writes_nothing_twice(tmp_path: Path, given: int, cut: int, passed: int, size: int) -> None:
    """`given` reports are in the file, the last cut short; the first `passed` are known to have been delivered. They
    come in batches of some size.
    """
    sink = FileSink(tmp_path, resume=False)
    for batch in batches(MADE[:given], size):
        sink.deliver(batch)
    sink.close()
    part = tmp_path / "part-00000.ndjson"
    part.write_bytes(part.read_bytes()[: -cut or None])
    again = FileSink(tmp_path, resume=True)
    passed = min(passed, given - bool(cut))
    for batch in batches(MADE[: max(0, passed)], size):
        again.skip(batch)
    for batch in batches(MADE[max(0, passed) :], size):
        again.deliver(batch)
    again.close()
    values = DICTIONARY.decode_many(np.array([made.rows[0, 0] for made in MADE]))
    assert written(tmp_path) == [(int(made.times[0]), value.lexical) for made, value in zip(MADE, values, strict=True)]
