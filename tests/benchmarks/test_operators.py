"""What `freshet bench operators` relies on: the registered queries answer what the baseline answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from freshet.runtime.session import Session
from freshet_benchmarks import registered
from freshet_benchmarks.independent_streams import independent_figures
from freshet_benchmarks.operator_forms import Data, Form, Top, from_scratch
from freshet_benchmarks.operators import SHORT, forms, measure_form, operators_figures
from freshet_benchmarks.registered import push_batch, register
from freshet_benchmarks.social_columns import Encoder

SMALL = forms(200)


def plain(value: object) -> object:
    """The number of a generated term, or a number as it is."""
    if isinstance(value, str):
        return int(value.rpartition("x")[2])
    return round(float(str(value)), 6)


@pytest.mark.parametrize("form", [form for form in SMALL if not form.closing], ids=lambda form: form.name)
def test_answers_are_those_of_the_baseline(form: Form) -> None:
    """As RSTREAM, the last report has the whole answer."""
    form = replace(form, rstream=True, firsts=min(form.firsts, 20))
    session = Session()
    with session.dictionary.pins:
        query = register(session, form.query(), form.name)
        data = Data(form, Encoder(session.dictionary))
        push_batch(session, data.fill())
        batches = data.batches(50)
        for _ in range(6):
            push_batch(session, next(batches))
        session.finish()
        last = [report for report in query.take() if len(report.rows)][-1].to_arrow()
    expected = from_scratch(form, data.contents)
    found = Counter(tuple(map(plain, row)) for row in zip(*last.to_pydict().values(), strict=True))
    order = ["v0", "v1_mean"] if form.top is Top.AVERAGE else expected.column_names
    wanted = zip(*(expected[name].to_pylist() for name in order), strict=True)
    assert found == Counter(
        tuple(round(float(value), 6) if isinstance(value, float) else value for value in row) for row in wanted
    )
    assert found


def test_every_element_is_an_instant() -> None:
    """A query that puts out everything reports once for every element."""
    form = next(form for form in SMALL if form.rstream)
    session = Session()
    with session.dictionary.pins:
        query = register(session, form.query(), form.name)
        data = Data(form, Encoder(session.dictionary))
        push_batch(session, data.fill())
        push_batch(session, next(data.batches(100)))
        for single in data.singles(30):
            push_batch(session, single)
        session.finish()
        assert [report.time_ms for report in query.take()] == list(range(1, 132))


@pytest.mark.parametrize("form", SMALL, ids=lambda form: form.name)
def test_a_form_is_measured(form: Form) -> None:
    *rates, latency, arrow = measure_form(form, SHORT)
    assert latency.name == f"{form.name}_one_element_microseconds"
    assert arrow.name == f"{form.name}_one_element_arrow_microseconds"
    assert latency.value > 0
    assert arrow.value > 0
    if not form.closing:
        rate, rows = rates
        assert rate.name == f"{form.name}_elements_per_second"
        assert rate.ratio
        assert rows.value >= 0


def test_the_size_is_among_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freshet_benchmarks.operators.measure_form", lambda *_: [])
    monkeypatch.setattr("freshet_benchmarks.operators.independent_figures", lambda *_, **__: [])
    assert [figure.value for figure in operators_figures(500)] == [500]


def test_two_threads_are_measured_beside_one() -> None:
    cores, rate = independent_figures(50, window=20, rounds=1, pushes=2)
    assert cores.name == "independent_streams_batches_of_50_cores"
    assert cores.value > 0
    assert rate.ratio


def test_rows_are_counted_in_what_arrow_gives() -> None:
    class Batch:
        num_rows = 3

    assert registered._row_count(None) == 0
    assert registered._row_count(Batch()) == 3
    assert registered._row_count([Batch(), Batch()]) == 6
