"""GROUP BY against slow twins, which aggregate all rows that are there from scratch: pyoxigraph after every change, the
one-shot evaluator at every moment of batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import fsum, isclose, isinf, isnan

import numpy as np
import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from freshet.expressions.aggregates import aggregate
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD, Iri, Literal, Term
from group_runs import AGGREGATES, MORE, PROPERTY, Groups, Row, Run, integer
from oxigraph_expressions import PREFIX, from_oxigraph, in_query
from random_groups import (
    BLANK_NODES,
    FAMILIES,
    LAST,
    LONG_DECIMALS,
    MIXED,
    STRINGS,
    Life,
    events,
    histories,
    lives,
)

# What aggregates are without rows.
NOTHING = [integer(0)] * 7 + [None] * 4 + [Literal("")] * 3 + [integer(0)]
DOUBLE, FLOAT = Iri(XSD + "double"), Iri(XSD + "float")


def from_scratch(rows: list[Row]) -> Groups:
    heads = " ".join(f"({text} AS ?x{at})" for at, text in enumerate(AGGREGATES))
    table = " ".join(f"({in_query(key)} {in_query(value)})" for key, value in rows)
    query = f"{PREFIX}SELECT ?k {heads} {{ VALUES (?k ?v) {{ {table} }} }} GROUP BY ?k"
    if not rows:
        return {}
    return {
        from_oxigraph(solution["k"]): [from_oxigraph(solution[f"x{at}"]) for at in range(len(AGGREGATES))]
        for solution in ox.Store().query(query)
    }


def family(term: Term | None) -> str:
    if isinstance(term, Iri):
        return "iri"
    name = term.datatype.value.removeprefix(XSD) if isinstance(term, Literal) else "unbound"
    return "number" if name in ("integer", "decimal", "double", "float") else name


def close(found: Term | None, expected: Term | None, size: float) -> bool:
    if found == expected:
        return True
    if not (isinstance(found, Literal) and isinstance(expected, Literal) and found.datatype == expected.datatype):
        return False
    if expected.datatype not in (DOUBLE, FLOAT):
        return False
    one, other = float(found.lexical), float(expected.lexical)
    if isnan(one) or isinf(one) or isnan(other) or isinf(other):
        return str(one) == str(other)
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12 * size)


def check(run: Run, rows: list[Row]) -> None:
    found, expected = run.groups(), from_scratch(rows)
    assert found.keys() == expected.keys()
    values: dict[Term | None, list[Term | None]] = defaultdict(list)
    for key, value in rows:
        values[key].append(value)
    for key, results in expected.items():
        members = values[key]
        families = {family(term) for term in members}
        numeric = [float(term.lexical) for term in members if family(term) == "number" and isinstance(term, Literal)]
        size = fsum(abs(number) for number in numeric if abs(number) < 1e300)
        huge = any(abs(number) > 1e300 for number in numeric)
        for text, wanted, got in zip(AGGREGATES, results, found[key], strict=True):
            if text.startswith("SAMPLE"):
                assert got in members or (got is None and set(members) == {None})
            elif text.startswith(("MIN", "MAX")):
                if "unbound" in families:
                    assert got is None
                elif families == {"number"}:
                    assert got in members
                    assert float(got.lexical) == float(wanted.lexical) or isnan(float(wanted.lexical)), text
                elif len(families) == 1:
                    assert got == wanted, text
                else:
                    assert got in members
            elif huge and text.startswith(("SUM", "AVG")):
                assert (got is None) == (wanted is None), text  # oxigraph overflows on the way, see below
            else:
                assert close(got, wanted, size), f"{text} of {members}: {got}, not {wanted}"


@PROPERTY
@given(histories(FAMILIES))
def test_group_equals_aggregation_from_scratch(history: list[tuple[int, list[Row]]]) -> None:
    run = Run(list(AGGREGATES.values()))
    present: list[Row] = []
    for sign, rows in history:
        run.update(rows, sign)
        if sign > 0:
            present = present + rows
        else:
            for row in rows:
                present.remove(row)
        check(run, present)
    if present:
        run.update(present, -1)
    assert run.groups() == {}


def one_shot(rows: list[Row]) -> Groups:
    """What the one-shot evaluator makes of rows in order of arrival; None for COUNT(DISTINCT *)."""
    dictionary = Dictionary()
    keys = list(dict.fromkeys(key for key, _ in rows))
    groups = np.array([keys.index(key) for key, _ in rows], np.int64)
    ids = np.array([dictionary.encode(term) if term else 0 for _, term in rows], np.int64)
    columns = []
    for function in MORE.values():
        if function.operand is None and function.distinct:
            columns.append([integer(len({term for other, term in rows if other == key})) for key in keys])
        else:
            operand = None if function.operand is None else ids
            columns.append(dictionary.decode_many(aggregate(function, operand, groups, len(keys), dictionary)))
    return {key: list(row) for key, row in zip(keys, zip(*columns, strict=True), strict=True)}


def same_groups(found: Groups, expected: Groups, rows: list[Row]) -> None:
    assert found.keys() == expected.keys()
    for key, results in expected.items():
        members = [term for other, term in rows if other == key]
        size = fsum(abs(float(term.lexical)) for term in members if family(term) == "number" and finite(term))
        for text, wanted, got in zip(MORE, results, found[key], strict=True):
            if text.startswith("SAMPLE"):
                assert got in members or (got is None and set(members) == {None})
            else:
                assert close(got, wanted, size), f"{text} of {members}: {got}, not {wanted}"


def finite(term: Term | None) -> bool:
    return isinstance(term, Literal) and abs(float(term.lexical)) < 1e300


def replayed(lives: list[Life]) -> Iterator[tuple[int, list[Row]]]:
    """The rows at each moment, in order of arrival. Of equal rows the oldest goes."""
    present: list[Row] = []
    for moment in range(1, LAST + 1):
        present += [row for _, row in events(lives, 0, moment, moment)]
        for _, row in events(lives, 1, moment, moment):
            present.remove(row)
        yield moment, present


@PROPERTY
@given(
    lives([*FAMILIES, MIXED | BLANK_NODES | LONG_DECIMALS, BLANK_NODES, LONG_DECIMALS | STRINGS]),
    st.sets(st.integers(1, LAST - 1), max_size=6),
    st.sets(st.integers(1, LAST)),
)
def test_group_equals_its_naive_twin_at_every_moment_that_is_due(
    lives: list[Life], cuts: set[int], looks: set[int]
) -> None:
    """In batches that end anywhere, some moments of which are due: the twin makes groups of all rows that live at one.

    Behind the last moment of a batch that is due, every moment is right; there is nothing left when all have gone.
    """
    run = Run(list(MORE.values()))
    first, right = 1, set[int]()
    for last in [*sorted(cuts), LAST]:
        due = sorted(moment for moment in looks if first <= moment <= last)
        run.batch(events(lives, 0, first, last), events(lives, 1, first, last), last, due)
        right |= {*due, *range(max(due, default=first), last + 1)}
        first = last + 1
    now: Groups = {}
    for moment, present in replayed(lives):
        now = run.reported.get(moment, now)
        if moment in right:
            same_groups(now, one_shot(present), present)
    assert run.groups() == {}


@PROPERTY
@given(lives(FAMILIES), st.sets(st.integers(1, LAST - 1), max_size=6))
def test_without_keys_there_is_one_group_from_the_first_moment_on(lives: list[Life], cuts: set[int]) -> None:
    run = Run(list(MORE.values()), ())
    first = 1
    for last in [*sorted(cuts), LAST]:
        run.batch(events(lives, 0, first, last), events(lives, 1, first, last), last, list(range(first, last + 1)))
        first = last + 1
    assert 1 in run.reported
    now: Groups = {}
    values = [(birth, death, (None, value)) for birth, death, (_, value) in lives]
    for (moment, whole), (_, present) in zip(replayed(lives), replayed(values), strict=True):
        now = run.reported.get(moment, now)
        if present:
            expected = one_shot(present)
            expected[None][-1] = integer(len(set(whole)))
            same_groups(now, expected, present)
        else:
            assert now == {None: NOTHING}
