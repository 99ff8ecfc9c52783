"""Every case of `cases/`, on the reference (is the expectation right?) and on every back end (is the engine?)."""

from __future__ import annotations

import tomllib

import pyoxigraph as ox
import pytest

from case_files import CASES, Case, all_cases
from comparing import differences, reports_of
from freshet.rdf.errors import UnsupportedError
from reference.evaluator import evaluate
from reference.rewriting import rewrite
from session_runs import one_by_one, run_session, whole_streams

# Cases that an engine refuses for now, by name, with a word of its reason. A case that begins to work fails here.
UNSUPPORTED = tomllib.loads((CASES / "unsupported.toml").read_text(encoding="utf-8"))


def stored(case: Case) -> list[ox.Quad]:
    if case.data_path is None:
        return []
    return list(ox.parse(path=str(case.data_path), rename_blank_nodes=True))


@pytest.mark.parametrize(
    "case", [case for case in all_cases() if not case.beyond_reference], ids=lambda case: case.name
)
def test_expectation_agrees_with_reference(case: Case) -> None:
    asked = rewrite(case.query, case.streams)
    answers = evaluate(
        case.query,
        case.streams,
        lateness_ms=case.lateness_ms,
        stored=stored(case),
        absorb=case.absorb,
        report=case.report,
    )
    found = reports_of(answers, asked.name or case.query_path.stem, asked.output, ordered=asked.ordered)
    assert not (wrong := differences(found, case.expected)), wrong


@pytest.mark.parametrize("schedule", [whole_streams, one_by_one], ids=["whole_streams", "one_by_one"])
@pytest.mark.parametrize("case", list(all_cases()), ids=lambda case: case.name)
def test_native(case: Case, schedule) -> None:
    def run():
        return run_session(
            case.query,
            schedule(case.streams),
            streams=case.streams,
            name=case.query_path.stem,
            lateness_ms=case.lateness_ms,
            data=case.data_path,
            absorb=case.absorb,
            report=case.report,
            graphs=case.graphs,
        )

    if reason := UNSUPPORTED["native"].get(case.name):
        with pytest.raises(UnsupportedError, match=reason):
            run()
        return
    assert not (wrong := differences(run(), case.expected)), wrong
