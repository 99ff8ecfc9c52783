"""GRAPH in windows over random streams of quads: the native engine answers as the reference does.

`FRESHET_CASES`, `FRESHET_SEED` and `FRESHET_RANDOM` are as in `test_native_equals_reference`.
"""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest

from case_files import EXAMPLE
from comparing import differences, reports_of
from counts import count
from random_streams import DISORDER_MS, Lines, batches, n_triples, random_triple
from reference.evaluator import evaluate
from reference.rewriting import rewrite
from session_runs import run_session

CASES = count(400, "FRESHET_CASES")
ANYWHERE = SystemRandom().randrange(10**9) if os.environ.get("FRESHET_RANDOM") else 0
FIRST_SEED = int(os.environ.get("FRESHET_SEED", ANYWHERE))
BLOCKS = 4

STREAMS = ("s", "t")
SUBJECTS = (":r0", ":r1", ":g0", "_:b0")
GRAPHS = (":g0", ":g1", ":g2", "_:b1")
PREDICATES = (":p0", ":p1", ":v")
CLOSING = ("RANGE PT2S STEP PT1S", "RANGE PT3S STEP PT2S", "RANGE PT1S STEP PT1S", "COUNT 4", "COUNT 5 STEP 3")
INSTANT = ("RANGE 2s", "NOW", "TRIPLES 3", "ALL", "RANGE 1s")


@pytest.mark.parametrize("block", range(BLOCKS))
def test_graphs_in_windows(block: int) -> None:
    seed, done = FIRST_SEED + block * 1_000_000, 0
    while done < CASES // BLOCKS:
        done += check(seed)
        seed += 1


def check(seed: int) -> bool:
    """Whether there was a query to check: most of those without answers are left out."""
    dice = Random(f"graphs in windows {seed}")
    streams = {EXAMPLE + name: random_quads(dice) for name in STREAMS}
    query = random_query(dice)
    lateness_ms = dict.fromkeys(streams, dice.choice([0, 0, 1500]))
    asked = rewrite(query, streams)
    answers = evaluate(query, streams, lateness_ms=lateness_ms)
    if not answers and seed % 8:
        return False
    expected = reports_of(answers, asked.name or "query", asked.output, ordered=False)
    found = run_session(
        query, batches(streams, dice), streams=streams, lateness_ms=lateness_ms, graphs=list(streams), name="query"
    )
    assert not (wrong := differences(found, expected)), f"seed {seed}\n{query}\n{wrong}"
    return True


def random_quads(dice: Random) -> Lines:
    """Mostly messages: some statements of one graph at one time, or statements about a graph; now and then any."""
    lines: list[tuple[int, str | None]] = []
    now_ms = dice.choice([0, 700, 3000])
    for _ in range(dice.choice([4, 8, 12])):
        now_ms = max(0, now_ms + dice.choice(DISORDER_MS))
        graph = dice.choice([*GRAPHS, ""])
        for _ in range(dice.choice([1, 2, 4])):
            graph = dice.choice([*GRAPHS, ""]) if dice.random() < 0.2 else graph
            terms = [*random_triple(dice, SUBJECTS), graph]
            lines.append((now_ms, " ".join(map(n_triples, filter(None, terms))) + " ."))
    return tuple(lines)


def random_query(dice: Random) -> str:
    prefixes = f"PREFIX : <{EXAMPLE}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
    if dice.random() < 0.4:
        blocks = (f"STREAM :{dice.choice(STREAMS)} [{dice.choice(INSTANT)}] {{ {window_pattern(dice)} }}" for _ in "ab")
        return f"{prefixes}SELECT {head(dice)} WHERE {{ {' '.join(list(blocks)[: dice.choice([1, 1, 2])])} }}"
    output = dice.choice(["RSTREAM", "ISTREAM", "DSTREAM"])
    count_of_windows = dice.choice([1, 1, 2])
    declared = [
        f"FROM NAMED WINDOW :w{at} ON :{dice.choice(STREAMS)} [{dice.choice(CLOSING)}]"
        for at in range(count_of_windows)
    ]
    blocks = [f"WINDOW :w{at} {{ {window_pattern(dice)} }}" for at in range(count_of_windows)]
    asked = f"SELECT {head(dice)}\n{' '.join(declared)}\nWHERE {{ {' '.join(blocks)} }}"
    return f"{prefixes}REGISTER {output} <query> AS {asked}"


def head(dice: Random) -> str:
    return dice.choice(["*", "?g ?a ?c", "DISTINCT ?g ?a", "(COUNT(*) AS ?n) (COUNT(DISTINCT ?g) AS ?m)"])


def window_pattern(dice: Random) -> str:
    """One GRAPH, and perhaps something beside it."""
    pattern = graph(dice)
    kind = dice.random()
    if kind < 0.15:
        return f"{triples(dice)} {pattern}"
    if kind < 0.3:
        return f"?g {dice.choice(PREDICATES)} ?at . {pattern}"
    if kind < 0.4:
        return f"{pattern} {graph(dice)}"
    if kind < 0.5:
        return f"{pattern} OPTIONAL {{ {graph(dice)} }}"
    if kind < 0.6:
        return f"{{ {pattern} }} UNION {{ {graph(dice)} }}"
    if kind < 0.7:
        return f"{triples(dice)} FILTER {dice.choice(['', 'NOT '])}EXISTS {{ {graph(dice)} }}"
    if kind < 0.8:
        return f"{triples(dice)} MINUS {{ {pattern} }}"
    return pattern


def graph(dice: Random) -> str:
    name = dice.choice(["?g", "?g", "?g", "?h", ":g0", ":g1"])
    return f"GRAPH {name} {{ {graph_pattern(dice)} }}"


def graph_pattern(dice: Random) -> str:
    pattern, kind = triples(dice), dice.random()
    if kind < 0.1:
        return f"{pattern} OPTIONAL {{ {triples(dice)} }}"
    if kind < 0.2:
        return f"{{ {pattern} }} UNION {{ {triples(dice)} }}"
    if kind < 0.3:
        return f"{pattern} FILTER (ISIRI(?a) || BOUND(?a))"
    if kind < 0.4:
        return f"{pattern} FILTER {dice.choice(['', 'NOT '])}EXISTS {{ ?a {dice.choice(PREDICATES)} ?e }}"
    if kind < 0.5:
        return f"{pattern} MINUS {{ ?a :v ?e }}"
    if kind < 0.6:
        return f"?a ^:p0/:p1 ?c . {pattern}"
    return pattern


def triples(dice: Random) -> str:
    """One to three patterns, mostly with one subject."""
    found = []
    for _ in range(dice.choice([1, 1, 1, 2, 2, 3])):
        subject = dice.choice(["?a", "?a", "?a", "?b", ":r0"])
        predicate = dice.choice([*PREDICATES, "?p", "?p"])
        found.append(
            f"?a {predicate} {dice.choice(['?b', '?c', '?c', ':r1'])} ."
            if not found
            else f"{subject} {predicate} {dice.choice(['?b', '?c', '?d', ':r1'])} ."
        )
    return " ".join(found)
