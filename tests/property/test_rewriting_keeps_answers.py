"""Random query, random graph: pyoxigraph gives the same bag of answers before and after rewriting.

Both are written out from the algebra. `FRESHET_EXAMPLES` says how many, `FRESHET_SEED` where to start counting.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pyoxigraph
import pytest

from counts import count
from freshet.algebra.describing import describe
from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Graph, Group, LeftJoin, Minus, Node, Project
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.sparql import query_text
from freshet.oneshot.answer import answer
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import FreshetError
from freshet.results.report import Answer, BooleanAnswer, Solutions
from freshet.syntax.parser import parse_query
from plain_dataset import dataset_of
from random_queries import RandomQuery, random_graph

EXAMPLES = count(400, "FRESHET_EXAMPLES")
FIRST_SEED = int(os.environ.get("FRESHET_SEED", "0"))
BLOCKS = 5
GRAPHS = 2


def answers(store: pyoxigraph.Store, text: str) -> object:
    found = store.query(text)
    if isinstance(found, pyoxigraph.QueryBoolean):
        return bool(found)
    names = sorted(each.value for each in found.variables if not each.value.startswith("own_"))
    return Counter(tuple(f"{name}={row[name]}" for name in names if row[name] is not None) for row in found)


def beyond_judge(node: Node, by_variable: bool = False, optional: bool = False) -> bool:
    """Whether pyoxigraph leaves the specification, and is no judge.

    A sub-select in GRAPH ?g forgets which graph it is in; a MINUS in an OPTIONAL sees variables from without.
    """
    if (by_variable and isinstance(node, Project | Group)) or (optional and isinstance(node, Minus)):
        return True
    by_variable = by_variable or (isinstance(node, Graph) and isinstance(node.name, Variable))
    if isinstance(node, LeftJoin):
        return beyond_judge(node.left, by_variable, optional) or beyond_judge(node.right, by_variable, True)
    return any(beyond_judge(child, by_variable, optional) for child in describe(node).children)


def check(seed: int) -> None:
    random = Random(seed)
    text = RandomQuery(random).text()
    try:
        query = parse_query(text)
    except FreshetError:
        return  # such as a variable that is selected and not grouped
    rewritten = rewrite(query)
    if beyond_judge(rewritten.root) or beyond_judge(query.root):
        return
    before, after = query_text(query), query_text(rewritten)
    for _ in range(GRAPHS):
        graph = random_graph(random)
        store = pyoxigraph.Store()
        store.load(graph.encode(), pyoxigraph.RdfFormat.N_QUADS)
        expected, found = answers(store, before), answers(store, after)
        if found != expected:
            pytest.fail(f"seed {seed}\n{text}\n{before}\n{after}\n{graph}\n{expected}\n{found}", pytrace=False)


@pytest.mark.parametrize("number", range(BLOCKS))
def test_rewriting_keeps_answers(number: int) -> None:
    for seed in range(FIRST_SEED + number * EXAMPLES // BLOCKS, FIRST_SEED + (number + 1) * EXAMPLES // BLOCKS):
        check(seed)


@pytest.mark.parametrize("number", range(BLOCKS))
def test_rewriting_keeps_freshets_own_answers(number: int) -> None:
    """Where pyoxigraph is no judge, one-shot evaluation is: of the query as it was written."""
    for seed in range(FIRST_SEED + number * EXAMPLES // BLOCKS, FIRST_SEED + (number + 1) * EXAMPLES // BLOCKS):
        random = Random(seed)
        text = RandomQuery(random).text()
        try:
            query = parse_query(text)
        except FreshetError:
            continue
        dictionary = Dictionary()
        graph = random_graph(random)
        quads = list(pyoxigraph.parse(graph.encode(), pyoxigraph.RdfFormat.N_QUADS))
        dataset = dataset_of(quads, dictionary)
        expected, found = (_bag(answer(each, dataset, dictionary)) for each in (query, rewrite(query)))
        if found != expected:
            pytest.fail(f"seed {seed}\n{text}\n{query_text(rewrite(query))}\n{graph}", pytrace=False)


def _bag(found: Answer) -> object:
    if isinstance(found, BooleanAnswer):
        return found.value
    assert isinstance(found, Solutions)
    order = sorted(range(len(found.variables)), key=found.variables.__getitem__)
    return Counter(map(tuple, found.rows[:, order].tolist()))
