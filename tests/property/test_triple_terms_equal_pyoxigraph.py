"""Random graph with triple terms, random patterns and expressions over them: answers are those of pyoxigraph."""

from __future__ import annotations

from random import Random

import pyoxigraph as ox
import pytest

from counts import count
from freshet import Session
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.terms import Term, term_key

BLOCKS = 10
PROLOGUE = "PREFIX : <urn:> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
NODES = (":a", ":b", ":c")
PREDICATES = (":p", ":q", "rdf:reifies")
LITERALS = ("1", "2", "1.5", '"x"', '"x"@en', '"x"@en--ltr', '"x"@ar--rtl', '"\\"\\\\"', "true")
VARIABLES = ("?x", "?y", "?z", "?w")


def triple_term(random: Random, some, depth: int = 0) -> str:
    object_ = some(NODES + LITERALS)
    if depth < 2 and random.random() < 0.3:
        object_ = triple_term(random, some, depth + 1)
    return f"<<( {some(NODES)} {some(PREDICATES)} {object_} )>>"


def data(random: Random) -> str:
    lines = []
    for _ in range(random.randint(3, 25)):
        object_ = triple_term(random, random.choice) if random.random() < 0.6 else random.choice(NODES + LITERALS)
        lines.append(f"{random.choice(NODES)} {random.choice(PREDICATES)} {object_} .")
    return PROLOGUE + "\n".join(lines)


def pattern(random: Random) -> str:
    def some(terms: tuple[str, ...]) -> str:
        return random.choice(VARIABLES) if random.random() < 0.6 else random.choice(terms)

    steps = []
    for _ in range(random.randint(1, 3)):
        subject, predicate, object_ = some(NODES), some(PREDICATES), some(NODES + LITERALS)
        match random.randrange(4):
            case 0:
                steps.append(f"{subject} {predicate} {triple_term(random, some)} .")
            case 1:
                steps.append(f"<< {subject} {predicate} {object_} >> {some(PREDICATES)} {some(NODES)} .")
            case 2:
                reifier = f"~ {some(NODES)} " if random.random() < 0.5 else ""
                steps.append(f"{subject} {predicate} {object_} {reifier}{{| {some(PREDICATES)} {some(NODES)} |}} .")
            case _:
                steps.append(f"{subject} {predicate} {object_} .")
    return " ".join(steps)


def expression(random: Random) -> str:
    one, other, third = (random.choice((*VARIABLES, random.choice(LITERALS), random.choice(NODES))) for _ in range(3))
    written = triple_term(random, lambda terms: random.choice((*VARIABLES, random.choice(terms))))
    return random.choice(
        (
            f"isTRIPLE({one})",
            f"SUBJECT({one}) = {other}",
            f"sameTerm(OBJECT({one}), {other})",
            f"PREDICATE({one}) != {other}",
            f"{one} = {other}",
            f"{one} != {written}",
            f"{one} = TRIPLE({one}, {other}, {third})",
            f"isTRIPLE(TRIPLE({one}, {other}, {third}))",
            f"LANGDIR({one}) = 'rtl'",
            f"hasLANG({one}) || hasLANGDIR({other})",
            f"{one} IN ({other}, {third})",
            f"isLITERAL({one}) || isIRI({other})",
            f"STRLANGDIR(STR({one}), LANG({other}), LANGDIR({third})) = {one}",
        )
    )


def query(random: Random) -> str:
    group = pattern(random)
    match random.randrange(4):
        case 0:
            group += f" OPTIONAL {{ {pattern(random)} }}"
        case 1:
            group = f"{{ {group} }} UNION {{ {pattern(random)} }}"
        case 2:
            group += f" MINUS {{ {pattern(random)} }}"
    if random.random() < 0.6:
        group += f" FILTER ({'!' if random.random() < 0.3 else ''}({expression(random)}))"
    return f"SELECT {' '.join(VARIABLES)} ({expression(random)} AS ?v) {{ {group} }}"


def keys(terms: list[Term | None]) -> tuple[str | None, ...]:
    return tuple(None if term is None else term_key(term) for term in terms)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_answers(block: int, tmp_path) -> None:
    for seed in range(block, count(300, "FRESHET_EXAMPLES"), BLOCKS):
        random = Random(seed)
        stored = data(random)
        (tmp_path / "data.ttl").write_text(stored)
        session, store = Session(), ox.Store()
        session.load(tmp_path / "data.ttl")
        store.load(stored.encode(), ox.RdfFormat.TURTLE)
        for _ in range(3):
            text = PROLOGUE + query(random)
            solutions = store.query(text)
            names = [variable.value for variable in solutions.variables]
            try:
                rows = [[row[name] for name in names] for row in solutions]
            except RuntimeError:  # pyoxigraph has made a triple term that is none
                continue
            expected = sorted(
                (tuple(None if term is None else parsed_key(term, "") for term in row) for row in rows), key=str
            )
            found = sorted((keys([row.get(name) for name in names]) for row in session.query(text).bindings()), key=str)
            assert found == expected, f"seed {seed}\n{text}\n{stored}"
