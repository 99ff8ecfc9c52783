"""The rows of a local view: which entries have changed, and what they are now."""

from __future__ import annotations

import numpy as np

from freshet.federation.client import Columns
from freshet.federation.moment import Ids
from freshet.federation.view_rows import ViewRows, without_blanks
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri


def rows(*triples: tuple[int, int, int]) -> ViewRows:
    """Rows of ?a and ?b with their entry in front."""
    made = ViewRows(("a", "b"))
    table = np.array(triples, np.int64).reshape(-1, 3)
    found = Columns({"a": table[:, 1], "b": table[:, 2]}, len(table))
    made.add(found, table[:, 0], np.arange(len(table)))
    return made


def same(values: Ids) -> Ids:
    return values


def table(view: ViewRows, *entries: int) -> list[tuple[int, int]]:
    found = view.of(np.array(entries, np.int64))
    return sorted(zip(found.ids["a"].tolist(), found.ids["b"].tolist(), strict=True))


def test_entries_differ_as_bags() -> None:
    before = rows((0, 1, 2), (0, 1, 3), (1, 5, 5), (2, 7, 7), (2, 7, 7), (4, 8, 8))
    after = rows((0, 1, 3), (0, 1, 2), (1, 5, 6), (2, 7, 7), (3, 9, 9), (4, 8, 8))
    entries = np.array([4, 3, 0, 2, 1, 6])
    assert before.differs(after, entries, same).tolist() == [False, True, False, True, True, False]


def test_replacing_leaves_the_others() -> None:
    view = rows((0, 1, 2), (1, 5, 5), (2, 7, 7))
    view.replace(np.array([1, 2]), rows((1, 6, 6), (1, 6, 7), (0, 9, 9)))
    assert table(view, 0, 1, 2) == [(1, 2), (6, 6), (6, 7)]
    assert table(view, 2) == []


def test_blank_nodes_are_no_change() -> None:
    dictionary = Dictionary()
    first, second, iri = (dictionary.encode(term) for term in (BlankNode("x1"), BlankNode("x2"), Iri("http://e/")))
    comparable = without_blanks(dictionary)
    entries = np.array([0])
    assert not rows((0, iri, first)).differs(rows((0, iri, second)), entries, comparable)[0]
    assert rows((0, iri, first)).differs(rows((0, iri, iri)), entries, comparable)[0]
    assert not rows().differs(rows(), entries, comparable)[0]
