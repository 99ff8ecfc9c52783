"""Groups by their keys: none, one or two; they come and go, and what never entered cannot leave."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.algebra.expressions import Aggregate
from freshet.native.operators.group import GroupOp
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Literal
from group_runs import AGGREGATES, MORE, Run, V, integer, one_group, rows_of
from oxigraph_expressions import typed


def test_without_keys_there_is_always_one_row() -> None:
    dictionary = Dictionary()
    op = GroupOp(0, list(MORE.values()), dictionary)
    zero, empty = integer(0), Literal("")
    nothing = [zero] * 7 + [None] * 4 + [empty] * 3 + [zero]
    assert [dictionary.decode_many(row) for row in op.rows()[1]] == [nothing]
    for given_up in range(2):
        went_keys, went, came_keys, came = op.changed()
        assert (went_keys.shape, came_keys.shape) == ((given_up, 0), (1, 0))
        assert [dictionary.decode_many(row) for row in came] == [nothing]
        ids = np.array([dictionary.encode(integer(7))] * 2, np.int64)
        arguments = [
            (ids.reshape(2, 1) if function.distinct else None) if function.operand is None else ids
            for function in MORE.values()
        ]
        op.update(np.empty((2, 0), np.int64), arguments, 1)
        seven, mean = integer(7), typed("decimal", "7")
        wanted = [integer(2), integer(2), integer(1), integer(14), seven, mean, mean, *[seven] * 4]
        wanted += [Literal("7 7"), Literal("7, 7"), Literal("7"), integer(1)]
        went_keys, went, came_keys, came = op.changed()
        assert [dictionary.decode_many(row) for row in went] == [nothing]
        assert [dictionary.decode_many(row) for row in came] == [wanted]
        op.update(np.empty((2, 0), np.int64), arguments, -1)


def test_groups_that_were_told_of_keep_their_keys_until_they_are_told_gone() -> None:
    """Numbers of groups are used again only after `changed` has named what had them."""
    dictionary = Dictionary()
    op = GroupOp(1, [AGGREGATES["COUNT(*)"]], dictionary)
    op.changed()
    gone: list[int] = []
    for round_ in range(30):
        keys = np.arange(1000 * round_ + 1, 1000 * round_ + 1001).reshape(-1, 1)
        op.update(keys, [None], 1)
        if round_ % 3:  # every third comes and goes between two calls
            went_keys, went, came_keys, _ = op.changed()
            assert sorted(went_keys[:, 0].tolist()) == gone
            assert sorted(came_keys[:, 0].tolist()) == keys[:, 0].tolist()
            assert set(went[:, 0].tolist()) <= {dictionary.encode(integer(1))}
            gone = keys[:, 0].tolist()
        op.update(keys, [None], -1)
    assert op._groups.capacity < 1 << 13


def test_two_keys_and_no_key() -> None:
    dictionary = Dictionary()
    count = [Aggregate("COUNT", None)]
    pairs = GroupOp(2, count, dictionary)
    pairs.update(np.array([[1, 2], [2, 1], [1, 2]], np.int64), [None], 1)
    keys, values = pairs.rows()
    assert dict(zip(map(tuple, keys.tolist()), dictionary.decode_many(values[:, 0]), strict=True)) == {
        (1, 2): integer(2),
        (2, 1): integer(1),
    }
    everything = GroupOp(0, count, dictionary)
    for rows in (0, 3):
        everything.update(np.empty((rows, 0), np.int64), [None], 1)
        keys, values = everything.rows()
        assert keys.shape == (1, 0)
        assert dictionary.decode_many(values[:, 0]) == [integer(rows)]


def test_many_groups_come_and_go() -> None:
    """Numbers of groups and members are used again, and nothing of the old ones shows."""
    dictionary = Dictionary()
    aggregates = [AGGREGATES[text] for text in ("COUNT(*)", "SUM(?v)", "MIN(?v)", "COUNT(DISTINCT ?v)")]
    op = GroupOp(1, aggregates, dictionary)
    ids = np.array([dictionary.encode(integer(number)) for number in range(1000)], np.int64)
    for round_ in range(20):
        keys = (np.arange(40_000) % 700 + 1000 * round_ + 1).reshape(-1, 1)
        values = ids[np.arange(40_000) % 1000]
        arguments = [None, values, values, values]
        op.update(keys, arguments, 1)
        found_keys, found = op.rows()
        assert len(found_keys) == 700
        assert set(found_keys[:, 0].tolist()) == set(range(1000 * round_ + 1, 1000 * round_ + 701))
        assert sum(int(term.lexical) for term in dictionary.decode_many(found[:, 0])) == 40_000
        total = sum(int(term.lexical) for term in dictionary.decode_many(found[:, 1]))
        assert total == int((np.arange(40_000) % 1000).sum())
        op.update(keys, arguments, -1)
        assert len(op.rows()[0]) == 0
    assert op._groups.capacity < 1 << 17


def test_what_is_no_aggregate_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="MEDIAN"):
        GroupOp(0, [Aggregate("MEDIAN", V)], Dictionary())


def test_a_row_that_never_entered_cannot_leave() -> None:
    run = one_group("COUNT(*)")
    with pytest.raises(ValueError, match="never entered"):
        run.update(rows_of(integer(1)), -1)
    run = one_group("COUNT(*)")
    run.op.changed()
    run.update(rows_of(integer(1)), 1)
    run.op.changed()
    with pytest.raises(ValueError, match="never entered"):
        run.update(rows_of(integer(1), integer(1)), -1)
    for text in ("MIN(?v)", "GROUP_CONCAT(?v)", "COUNT(DISTINCT *)"):
        run = Run([MORE[text]])
        run.update(rows_of(integer(1)), 1)
        with pytest.raises(ValueError, match="never entered"):
            run.update(rows_of(integer(2)), -1)
