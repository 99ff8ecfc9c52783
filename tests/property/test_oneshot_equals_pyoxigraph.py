"""Random graph, random query: one-shot evaluation answers as pyoxigraph does.

`FRESHET_EXAMPLES` says how many (twice as many are made here), `FRESHET_SEED` where to start counting.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pyoxigraph as ox
import pytest

from counts import count
from freshet.algebra.nodes import QueryForm, Slice
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.sparql import query_text
from freshet.oneshot.answer import answer
from freshet.oneshot.operators import bgp
from freshet.oneshot.operators import slice as slice_operator
from freshet.rdf.deadline import Deadline
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.oxigraph import parsed_key
from freshet.results.report import Answer, BooleanAnswer, Solutions
from plain_dataset import dataset_of
from random_algebra import Quad, random_quads, random_query

EXAMPLES = 2 * count(500, "FRESHET_EXAMPLES")
FIRST_SEED = int(os.environ.get("FRESHET_SEED", "0"))
BLOCKS = 10

Bag = Counter[tuple[str | None, ...]]


def oxigraph_quads(quads: list[Quad]) -> list[ox.Quad]:
    lines = [f"{s} {p} {o} {'' if name is None else name} ." for s, p, o, name in quads]
    return list(ox.parse("\n".join(lines), ox.RdfFormat.N_QUADS))


def oxigraph_answer(text: str, quads: list[ox.Quad]) -> tuple[tuple[str, ...], Bag] | bool:
    store = ox.Store()
    store.extend(quads)
    found = store.query(text)
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    names = tuple(variable.value for variable in found.variables)
    rows = (tuple(None if (term := row[name]) is None else parsed_key(term, "") for name in names) for row in found)
    return names, Counter(rows)


def check(seed: int) -> None:
    random = Random(seed)
    quads = oxigraph_quads(random_quads(random))
    query = random_query(random)
    text = query_text(query)
    dictionary = Dictionary()
    dataset = dataset_of(quads, dictionary)
    expected = oxigraph_answer(text, quads)
    about = f"seed {seed}\n{text}\n" + "\n".join(map(str, quads))
    with Deadline(30).running():
        compare(answer(query, dataset, dictionary), expected, dictionary, about)
        rewritten = answer(rewrite(query), dataset, dictionary)
    compare(rewritten, expected, dictionary, f"rewritten\n{about}")


def compare(found: Answer, expected: tuple[tuple[str, ...], Bag] | bool, dictionary: Dictionary, about: str) -> None:
    if isinstance(found, BooleanAnswer):
        assert found.value == expected, about
        return
    assert isinstance(found, Solutions)
    assert isinstance(expected, tuple)
    names, bag = expected
    assert set(names) == set(found.variables), about
    rows = rows_of(found, names, dictionary)
    assert rows == bag, f"{about}\ntoo many: {rows - bag}\nmissing: {bag - rows}"


def check_limit(seed: int) -> None:
    """LIMIT gives as many of the solutions as it says, whichever they are."""
    random = Random(seed)
    quads, query = oxigraph_quads(random_quads(random)), random_query(random)
    if query.form is not QueryForm.SELECT:
        return
    offset, limit = random.randint(0, 2), random.randint(0, 5)
    dictionary = Dictionary()
    found = answer(replace(query, root=Slice(query.root, offset, limit)), dataset_of(quads, dictionary), dictionary)
    expected = oxigraph_answer(query_text(query), quads)
    assert isinstance(found, Solutions)
    assert isinstance(expected, tuple)
    names, bag = expected
    rows = rows_of(found, names, dictionary)
    assert rows <= bag, f"seed {seed}"
    assert rows.total() == min(limit, max(0, bag.total() - offset)), f"seed {seed}"


def rows_of(found: Solutions, names: tuple[str, ...], dictionary: Dictionary) -> Bag:
    columns = [dictionary.keys(found.rows[:, found.variables.index(name)].copy()).to_pylist() for name in names]
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_limit(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bgp, "_SLICE", 2)
    monkeypatch.setattr(slice_operator, "_FIRST_TRY", 1)
    for seed in range(FIRST_SEED + block * EXAMPLES // BLOCKS // 2, FIRST_SEED + (block + 1) * EXAMPLES // BLOCKS // 2):
        check_limit(seed)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_oneshot_equals_pyoxigraph(block: int) -> None:
    for seed in range(FIRST_SEED + block * EXAMPLES // BLOCKS, FIRST_SEED + (block + 1) * EXAMPLES // BLOCKS):
        check(seed)
