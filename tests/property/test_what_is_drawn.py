"""What random queries are made of: every operator and output over windows that move with every element."""

from __future__ import annotations

import re
from collections import Counter

from random_continuous import RandomQuery
from scenarios import scenario

QUERIES = 600
LEAST = 0.04  # of all queries

OPERATORS = {
    "GROUP BY": r"^GROUP BY",
    "OPTIONAL": r"OPTIONAL",
    "MINUS": r"MINUS",
    "UNION": r"UNION",
    "sub-select": r"\{ SELECT",
    "EXISTS": r"EXISTS",
    "ORDER BY": r"ORDER BY",
    "LIMIT": r"LIMIT",
    "DISTINCT": r"SELECT DISTINCT",
}


def moves(query: RandomQuery) -> bool:
    """Whether all windows that it has move with every element."""
    spans = re.findall(r"\[(.*?)\]", query.text)
    return bool(spans) and all(
        re.fullmatch(
            r"COUNT \d+|TRIPLES \d+|RANGE TRIPLES \d+|NOW|RANGE \d+m?s|RANGE \S+ @\S+|RANGE \S+ STEP PT0.25S", span
        )
        for span in spans
        if span.strip()
    )


def test_nothing_is_rare_over_windows_that_move() -> None:
    queries = [scenario(seed).queries[0] for seed in range(QUERIES)]
    moving = [query for query in queries if moves(query)]
    assert len(moving) > 0.35 * QUERIES
    drawn = Counter(
        name for query in moving for name, pattern in OPERATORS.items() if re.search(pattern, query.text, re.MULTILINE)
    )
    drawn.update(query.output for query in moving)
    drawn.update(
        word
        for query in moving
        for word in ("RANGE", "TRIPLES", "COUNT", "NOW")
        if f"[{word}" in query.text or f"[RANGE {word}" in query.text  # as C-SPARQL writes windows of triples
    )
    wanted = [*OPERATORS, "RSTREAM", "ISTREAM", "DSTREAM", "RANGE", "TRIPLES", "COUNT", "NOW"]
    assert {name: drawn[name] for name in wanted if drawn[name] < LEAST * QUERIES} == {}


def test_every_operator_is_as_common_there_as_elsewhere() -> None:
    queries = [scenario(seed).queries[0] for seed in range(QUERIES)]
    shares = {}
    for kind in (True, False):
        chosen = [query.text for query in queries if moves(query) == kind]
        shares[kind] = {
            name: sum(bool(re.search(pattern, text, re.MULTILINE)) for text in chosen) / len(chosen)
            for name, pattern in OPERATORS.items()
        }
    assert all(shares[True][name] > 0.6 * shares[False][name] for name in OPERATORS), shares
