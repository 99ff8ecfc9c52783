"""The ordered index beside a list of rows that is gone through."""

from __future__ import annotations

from random import Random

import numpy as np

from freshet.kernels.ordered_index import DATE_TIMES, NEVER, NUMBERS, OTHERS
from freshet.native.buffers.ordered_index import OrderedIndex
from freshet.native.buffers.ring_index import Lives
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD, Iri, Literal, Term

ROWS = 300


def random_term(dice: Random) -> tuple[Term, int, float]:
    """A term, its class and the number that orders it."""
    kind, number = dice.randrange(8), dice.randrange(-40, 40)
    if kind == 0:
        return Iri(f"http://example.org/{number}"), OTHERS, 0.0
    if kind == 1:
        return Literal("NaN", Iri(XSD + "double")), NEVER, 0.0
    if kind == 2:
        second = number % 40 + 10
        return Literal(f"1970-01-01T00:00:{second}Z", Iri(XSD + "dateTime")), DATE_TIMES, float(second)
    datatype = dice.choice(("integer", "double", "float"))
    return Literal(str(number), Iri(XSD + datatype)), NUMBERS, float(number)


def test_rows_within_ranges() -> None:
    for seed in range(30):
        dice, dictionary = Random(seed), Dictionary()
        index = OrderedIndex(1, dictionary)
        terms = [random_term(dice) for _ in range(ROWS)]
        values = np.array([(0, dictionary.encode(term)) for term, _, _ in terms], np.int64)
        lives = Lives(
            np.array([dice.randrange(10) for _ in terms]), np.array([dice.randrange(5, 20) for _ in terms]), False
        )
        linked: set[int] = set()
        for _ in range(12):
            new = [row for row in range(ROWS) if row not in linked and dice.random() < 0.3]
            gone = [row for row in linked if dice.random() < 0.3]
            index.unlink(np.array(gone, np.int32))
            index.link(np.array(new, np.int32), values)
            linked = (linked - set(gone)) | set(new)
            assert index.rows == len(linked)
            assert index.held_bytes == len(linked) * index.row_bytes
            asked = np.array([dice.choice((NUMBERS, NUMBERS, DATE_TIMES, OTHERS, NEVER)) for _ in range(9)], np.uint8)
            lows = np.array([[dice.randrange(-50, 50) - 0.5] * 2 for _ in asked])  # seconds may be rounded
            highs = lows + dice.randrange(20)
            lows[asked == OTHERS], highs[asked == OTHERS] = -np.inf, np.inf
            moments, ties = np.array([dice.randrange(12) for _ in asked]), dice.randrange(2)
            lefts, rows = index.probe(asked, lows, highs, moments, ties, lives)
            assert (np.diff(lefts) >= 0).all()
            assert sorted(zip(lefts.tolist(), rows.tolist(), strict=True)) == [
                (at, row)
                for at in range(len(asked))
                for row in sorted(linked)
                if terms[row][1] == asked[at] != NEVER
                and lows[at, 0] <= terms[row][2] <= highs[at, 0]
                and lives.born[row] < moments[at] + ties
                and moments[at] < lives.died[row]
            ]
