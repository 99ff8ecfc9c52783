"""Groups by their keys: none, one or two; they come and go, and what never entered cannot leave."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.algebra.expressions import Aggregate
from freshet.native.change import MomentBatch
from freshet.native.operators.group import GroupOp
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri, Literal
from group_runs import AGGREGATES, MORE, Run, V, double, integer, one_group, rows_of
from oxigraph_expressions import typed


def test_without_keys_there_is_always_one_row() -> None:
    run = Run(list(MORE.values()), ())
    zero, empty = integer(0), Literal("")
    nothing = [zero] * 7 + [None] * 4 + [empty] * 3 + [zero]
    seven, mean = integer(7), typed("decimal", "7")
    some = [integer(2), integer(2), integer(1), integer(14), seven, mean, mean, *[seven] * 4]
    some += [Literal("7 7"), Literal("7, 7"), Literal("7"), integer(1)]
    run.batch([], [], 4, [])
    assert run.reported == {1: {None: nothing}}
    for _ in range(2):
        run.update(rows_of(seven, seven), 1)
        assert run.groups() == {None: some}
        run.update(rows_of(seven, seven), -1)
        assert run.groups() == {None: nothing}
    begun = Run(list(MORE.values()), ())
    begun.update(rows_of(seven, seven), 1)
    assert begun.reported == {1: {None: some}}


def test_changes_between_moments_that_are_due_are_one() -> None:
    run = one_group("SUM(?v)")
    key = Iri("urn:a")
    came = [(moment, (key, integer(moment))) for moment in (1, 2, 3, 5, 6, 9)]
    run.batch(came, [(3, (key, integer(1))), (6, (key, integer(2)))], 9, [4, 7])
    assert run.reported == {4: {key: [integer(5)]}, 7: {key: [integer(14)]}, 9: {key: [integer(23)]}}


def test_a_row_that_stays_the_same_neither_comes_nor_goes() -> None:
    run = one_group("MIN(?v)", "COUNT(DISTINCT ?v)")
    run.update(rows_of(integer(1)), 1)
    run.batch([(2, (None, integer(1))), (4, (None, integer(1)))], [(3, (None, integer(1)))], 5, [2, 3, 4, 5])
    assert list(run.reported) == [1]
    run.batch([(6, (None, integer(0)))], [(6, (None, integer(0)))], 6, [6])  # comes and goes at once
    assert list(run.reported) == [1]


def test_two_keys() -> None:
    dictionary = Dictionary()
    one, two = dictionary.encode(integer(1)), dictionary.encode(integer(2))
    op = GroupOp(2, [Aggregate("COUNT", None)], dictionary)
    keys, at = np.array([[1, 2], [2, 1], [1, 2]], np.int64), np.array([5, 5, 5], np.int64)
    changed, comes, goes = op.step(MomentBatch(1, 5, 5, at[:1]), keys, [None], at, at[:0])
    assert goes == 0
    assert sorted(changed[0, :, :comes].T.tolist()) == [[5, 1, 2, two], [5, 2, 1, one]]


def test_many_groups_come_and_go() -> None:
    """Numbers of groups and members are used again, and nothing of the old ones shows."""
    dictionary = Dictionary()
    aggregates = [AGGREGATES[text] for text in ("COUNT(*)", "SUM(?v)", "MIN(?v)", "COUNT(DISTINCT ?v)")]
    op = GroupOp(1, aggregates, dictionary)
    ids = np.array([dictionary.encode(integer(number)) for number in range(1000)], np.int64)
    values = ids[np.arange(40_000) % 1000]
    nothing = np.empty(0, np.int64)
    for round_ in range(20):
        keys = (np.arange(40_000) % 700 + 1000 * round_ + 1).reshape(-1, 1)
        at = np.full(40_000, round_)
        batch = MomentBatch(round_ + 1, round_, round_, at[:1])
        changed, comes, goes = op.step(batch, keys, [None, values, values, values], at, nothing)
        came = changed[0]
        assert (comes, goes) == (700, 0)
        assert set(came[1, :comes].tolist()) == set(range(1000 * round_ + 1, 1000 * round_ + 701))
        counted, summed = (dictionary.decode_many(came[row, :comes]) for row in (2, 3))
        assert sum(int(term.lexical) for term in counted if isinstance(term, Literal)) == 40_000
        total = sum(int(term.lexical) for term in summed if isinstance(term, Literal))
        assert total == int((np.arange(40_000) % 1000).sum())
        changed, comes, goes = op.step(batch, keys, [None, values, values, values], nothing, at)
        assert (comes, goes) == (0, 700)
        assert sorted(changed[1, :, :goes].T.tolist()) == sorted(came[:, :700].T.tolist())
    assert op._index.capacity < 1 << 17


def test_a_group_comes_and_goes_within_a_batch() -> None:
    run = one_group("COUNT(*)", "MAX(?v)", "SUM(?v)")
    one, two = Iri("urn:a"), Iri("urn:b")
    came = [(1, (one, integer(3))), (3, (two, integer(4))), (5, (one, double("1.5")))]
    run.batch(came, [(2, came[0][1]), (4, came[1][1]), (6, came[2][1])], 6, list(range(1, 7)))
    assert [run.reported[moment] for moment in (2, 4, 6)] == [{}, {}, {}]
    assert run.reported[5] == {one: [integer(1), double("1.5"), double("1.5E0")]}


def test_long_sequences_are_put_together_in_parts() -> None:
    """Each of two thousand moments lists up to two thousand terms."""
    run = Run([MORE["GROUP_CONCAT(?v)"], MORE["COUNT(*)"]])
    moments = range(1, 2_001)
    run.batch([(moment, (None, integer(moment))) for moment in moments], [], 2_000, [500, 1000, 2000])
    assert run.reported[1000] == {None: [Literal(" ".join(map(str, range(1, 1001)))), integer(1000)]}
    went = [(2_000 + moment, (None, integer(moment))) for moment in moments if moment <= 1_998]
    run.batch([], went, 4_000, list(range(2_001, 4_001)))
    for moment in (2_001, 2_900, 3_998):
        left = " ".join(str(number) for number in moments if number > moment - 2_000)
        assert run.reported[moment][None][0] == Literal(left)


def test_what_is_no_aggregate_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="MEDIAN"):
        GroupOp(0, [Aggregate("MEDIAN", V)], Dictionary())


def test_a_row_that_never_entered_cannot_leave() -> None:
    run = one_group("COUNT(*)")
    with pytest.raises(ValueError, match="never entered"):
        run.update(rows_of(integer(1)), -1)
    run = one_group("COUNT(*)")
    run.update(rows_of(integer(1)), 1)
    with pytest.raises(ValueError, match="never entered"):
        run.update(rows_of(integer(1), integer(1)), -1)
    run = one_group("COUNT(*)")
    with pytest.raises(ValueError, match="never entered"):
        run.batch([(2, (None, integer(1)))], [(1, (None, integer(1)))], 2, [1, 2])
    for text in ("MIN(?v)", "GROUP_CONCAT(?v)", "COUNT(DISTINCT *)"):
        run = Run([MORE[text]])
        run.update(rows_of(integer(1)), 1)
        with pytest.raises(ValueError, match="never entered"):
            run.update(rows_of(integer(2)), -1)
