"""`Session.stream`: what a stream leaves in the graph, and options that cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import freshet
from freshet.rdf.errors import InputError
from freshet.results.report import Solutions

S, P, Q = "http://example.org/s", "http://example.org/p", "http://example.org/q"
ELEMENTS = f"1\t<{S}> <{P}> <{P}> .\n2\t<{S}> <{Q}> <{Q}> .\n3\t<{S}> <{P}> <{P}> ."


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize(
    ("absorb", "left"),
    [
        (True, {P, Q}),
        ("all", {P, Q}),
        (False, set()),
        ("none", set()),
        ([], set()),
        ([Q], {Q}),
        ((P, Q, P), {P, Q}),
    ],
)
def test_what_a_stream_leaves_in_the_graph(
    tmp_path: Path, *, durable: bool, absorb: bool | str | list[str], left: set[str]
) -> None:
    with freshet.Session(checkpoint=tmp_path / "c" if durable else None) as session:
        session.stream(S, absorb=absorb)
        session.push(S, ELEMENTS)
        answer = session.query("SELECT ?p { ?s ?p ?o }")
        assert isinstance(answer, Solutions)
        found = [str(row["p"]) for row in session.bindings(answer)]
        assert sorted(found) == sorted(f"<{predicate}>" for predicate in left)


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"absorb": P},  # its letters are no predicates
        {"absorb": "some"},
        {"absorb": None},
        {"absorb": ["p"]},
        {"absorb": [f"<{P}>"]},
        {"absorb": [7]},
        {"lateness_ms": -1},  # the watermark would be ahead of what has come
        {"lateness_ms": 1.5},
        {"lateness_ms": "1"},
        {"keep_ms": -1},
        {"keep_ms": 1, "keep_bytes": -1},
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, *, durable: bool, options: dict[str, object]) -> None:
    with freshet.Session(checkpoint=tmp_path / "c" if durable else None) as session:
        with pytest.raises(InputError):
            session.stream(S, **options)
        assert S not in session.engine.streams


@pytest.mark.parametrize("seconds", [0, -1, "soon", float("nan"), float("inf")])
def test_a_time_between_checkpoints_that_cannot_be_waited_for(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(InputError, match="the time between checkpoints must be a"):
        freshet.Session(checkpoint=tmp_path / "c", checkpoint_seconds=seconds)
    assert not (tmp_path / "c").exists()
