"""The rows of a local view: which entries have changed, and what they are now."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.federation import entry_index, view_rows
from freshet.federation.candidates import Ids
from freshet.federation.client import Columns
from freshet.federation.entry_index import EntryIndex
from freshet.federation.view_rows import AnswerRows, ViewRows, without_blanks
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri


def came(*triples: tuple[int, int, int]) -> AnswerRows:
    """Rows of ?a and ?b with their entry in front."""
    table = np.array(triples, np.int64).reshape(-1, 3)
    return ViewRows(("a", "b")).answer(Columns({"a": table[:, 1], "b": table[:, 2]}, len(table)), table[:, 0])


def rows(*triples: tuple[int, int, int]) -> ViewRows:
    made = ViewRows(("a", "b"))
    made.replace(np.arange(10), came(*triples))
    return made


def same(values: Ids) -> Ids:
    return values


def table(view: ViewRows, *entries: int) -> list[tuple[int, int]]:
    found = view.solutions_of(np.array(entries, np.int64))
    return sorted(zip(found.ids["a"].tolist(), found.ids["b"].tolist(), strict=True))


def test_entries_differ_as_bags() -> None:
    before = rows((0, 1, 2), (0, 1, 3), (1, 5, 5), (2, 7, 7), (2, 7, 7), (4, 8, 8))
    after = came((0, 1, 3), (0, 1, 2), (1, 5, 6), (2, 7, 7), (3, 9, 9), (4, 8, 8))
    entries = np.array([4, 3, 0, 2, 1, 6])
    assert before.differs(after, entries, same).tolist() == [False, True, False, True, True, False]


def test_replacing_leaves_the_others() -> None:
    view = rows((0, 1, 2), (1, 5, 5), (2, 7, 7))
    view.replace(np.array([1, 2]), came((1, 6, 6), (1, 6, 7), (0, 9, 9)))
    assert table(view, 0, 1, 2) == [(1, 2), (6, 6), (6, 7)]
    assert table(view, 2) == []


def test_blank_nodes_are_no_change() -> None:
    dictionary = Dictionary()
    first, second, iri = (dictionary.encode(term) for term in (BlankNode("x1"), BlankNode("x2"), Iri("http://e/")))
    comparable = without_blanks(dictionary)
    entries = np.array([0])
    assert not rows((0, iri, first)).differs(came((0, iri, second)), entries, comparable)[0]
    assert rows((0, iri, first)).differs(came((0, iri, iri)), entries, comparable)[0]
    assert not rows().differs(came(), entries, comparable)[0]


def test_solutions_that_nobody_asked_for_are_left_out() -> None:
    view = rows((0, 1, 2))
    view.replace(np.array([0, 3]), came((-1, 5, 5), (3, 7, 7)))
    assert table(view, 0, 3) == [(7, 7)]
    assert view.counts(np.array([3, 0, 100])).tolist() == [1, 0, 0]


def test_rows_are_those_of_a_dictionary_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_rows, "_LEAST_DEAD", 5)  # so that rows are cleared away too
    random = np.random.default_rng(0)
    view, naive = ViewRows(("a", "b")), dict[int, list[tuple[int, int]]]()
    count = 0
    for step in range(200):
        count += int(random.integers(0, 4))
        entries = np.flatnonzero(random.random(count) < 0.3)
        random.shuffle(entries)
        new = {int(each): [tuple(map(int, random.integers(1, 5, 2))) for _ in range(step % 4)] for each in entries}
        answer = came(*((each, *row) for each, some in new.items() for row in some))
        changed = [sorted(naive.get(each, [])) != sorted(new[each]) for each in entries.tolist()]
        assert view.differs(answer, entries, same).tolist() == changed
        view.replace(entries, answer)
        naive |= new
        if step % 50 == 49:
            kept = np.flatnonzero(random.random(count) < 0.5)
            view.keep(kept)
            naive = {at: naive.get(each, []) for at, each in enumerate(kept.tolist())}
            count = len(kept)
        asked = np.flatnonzero(random.random(count) < 0.5)
        assert table(view, *asked.tolist()) == sorted(row for each in asked.tolist() for row in naive.get(each, []))


@pytest.mark.parametrize("width", [1, 2])
def test_entries_are_found_by_their_keys(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(entry_index, "_MOST_BESIDE", 10)
    random = np.random.default_rng(0)
    index, keys = EntryIndex(), np.empty((0, width), np.int64)
    naive: dict[tuple[int, ...], int] = {}
    for _ in range(60):
        wanted = np.unique(random.integers(0, 40, (8, width)), axis=0)
        random.shuffle(wanted)
        found = index.numbers(keys, wanted)
        rows = [tuple(row) for row in wanted.tolist()]
        assert found.tolist() == [naive.setdefault(row, len(naive)) for row in rows]
        keys = np.concatenate([keys, wanted[found >= len(keys)]])
