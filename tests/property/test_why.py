"""Random query, random streams: what `why` returns is enough to get the row again, and was in the windows.

For each reported row the reference evaluates the query over only the elements and stored triples that `why` returned,
which must give the row. That also holds for OPTIONAL and negation, since nothing is added; it does not where a row
depends on others: with OFFSET, and for groups above a negation.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random, SystemRandom

import pyoxigraph as ox
import pytest

import freshet
from comparing import APPROXIMATE
from counts import count
from freshet.rdf.errors import UnsupportedError
from random_continuous import RandomQuery
from reference.evaluator import Contents, World, solve, stored_at, world_of
from reference.rewriting import Rewritten, rewrite
from reference.streams import Element
from reference.templates import instantiate
from reference.windows import Moment, source
from scenario_answers import schedule_of
from scenarios import Scenario, scenario
from session_runs import hand_over

CASES = count(300, "FRESHET_CASES")
ANYWHERE = SystemRandom().randrange(10**9) if os.environ.get("FRESHET_RANDOM") else 0
FIRST_SEED = int(os.environ.get("FRESHET_SEED", ANYWHERE))
BLOCKS = 5
ROWS = 6  # of a case that are asked about
AGGREGATE = re.compile(r"\b(GROUP BY|COUNT|SUM|AVG|MIN|MAX|SAMPLE|GROUP_CONCAT)\b")
NOT_MONOTONE = re.compile(r"MINUS|EXISTS|OPTIONAL|LIMIT")


def is_made_of_its_parts(text: str) -> bool:
    """Whether a row needs nothing but what it was derived from."""
    return "OFFSET" not in text and not (AGGREGATE.search(text) and NOT_MONOTONE.search(text))


def term(given: freshet.Iri | freshet.BlankNode | freshet.Literal) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    match given:
        case freshet.Iri(value):
            return ox.NamedNode(value)
        case freshet.BlankNode(label):
            return ox.BlankNode(label)
        case freshet.Literal(lexical, _, str(language)):
            return ox.Literal(lexical, language=language)
        case freshet.Literal(lexical, datatype, _):
            return ox.Literal(lexical, datatype=ox.NamedNode(datatype.value))


def is_local(given: object) -> bool:
    """Whether a blank node has a label of its own in each evaluator: those of stored data and of templates."""
    return isinstance(given, freshet.BlankNode) and not given.label.startswith("s")


def check_row(
    why: freshet.Why, query: RandomQuery, asked: Rewritten, world: World, moments: list[Moment], wanted: dict
) -> None:
    """The elements were in the windows at one of the moments, and give the row again."""
    found = {(each.stream, each.time_ms, tuple(map(term, each.triple))) for each in why.elements}
    problems = []
    for moment in moments:
        contents: Contents = {}
        held = set()
        for clause in asked.windows:
            inside = clause.window.content(moment, world.received[source(clause.window)].elements)
            named = [(clause.window.stream, each.time_ms, tuple(each.triple)) for each in inside]
            contents[clause.graph] = [each for each, name in zip(inside, named, strict=True) if name in found]
            held |= set(named)
        if not found <= held:
            problems.append(f"not in a window at {moment}: {found - held}")
            continue
        if not is_made_of_its_parts(query.text):
            return
        stored = [quad_of(each) for each in why.stored]
        if gives_row(asked, contents, stored, wanted, moment):
            return
        problems.append(f"does not give the row again at {moment}: {contents} {stored}")
    pytest.fail("\n".join(problems), pytrace=False)


def quad_of(stored: freshet.StoredTriple) -> ox.Quad:
    graph = ox.DefaultGraph() if stored.graph is None else ox.NamedNode(stored.graph)
    return ox.Quad(*map(term, stored.triple), graph)


def gives_row(
    asked: Rewritten, contents: dict[str, list[Element]], stored: list[ox.Quad], wanted: dict, moment: Moment
) -> bool:
    solutions = solve(asked, contents, stored, moment.time_ms)
    if asked.template is None:
        row = frozenset((name, by_value(each)) for name, each in wanted.items())
        return row in {frozenset((name, by_value(each)) for name, each in solution) for solution in solutions}
    graphless = ox.DefaultGraph()
    made = {
        tuple(by_value(each) for each in row if each != graphless) for row in instantiate(asked.template, solutions)
    }
    return tuple(map(by_value, wanted.values())) in made


def by_value(given: object) -> object:
    """Doubles go by value, as everywhere where the reference is compared with."""
    if isinstance(given, ox.Literal) and given.datatype.value in APPROXIMATE:
        return round(float(given.value.replace("INF", "inf")), 9)
    return given


def check(seed: int, directory: Path) -> int:
    """How many rows of a case were asked about."""
    case = scenario(seed)
    [query] = case.queries
    session, registered, reports = run(case, seed, directory)
    asked = rewrite(query.text, case.streams)
    stored = list(ox.parse("\n".join(case.stored), ox.RdfFormat.N_QUADS))
    world = world_of(asked, case.streams, case.lateness_ms, stored, case.absorb)
    dice = Random(seed)
    rows = [(report, at) for report in reports for at in range(len(report.shown.rows))]
    for report, at in dice.sample(rows, min(ROWS, len(rows))):
        why = registered.why(report, at)
        assert why.total >= 1
        assert why.derivations
        wanted = {name: term(each) for name, each in why.row.items()}
        assert list(session.bindings(report))[at] == why.row
        instant = bool(report.moment & 1)
        moments = [Moment(why.time_ms, instant)]
        if asked.output == "dstream":
            moments.append(Moment(why.time_ms, not instant))
        for each in why.stored:
            if not any(map(is_local, each.triple)):
                moments_stored = [quad for moment in moments for quad in stored_at(moment, world)]
                assert quad_of(each) in moments_stored, (seed, each)
        if any(map(is_local, why.row.values())):
            continue
        try:
            check_row(why, query, asked, world, moments, wanted)
        except BaseException:
            print(f"scenario({seed})\n{case}\nrow {why.row} at {report.time_ms}\n{why}")
            raise
    return len(rows)


def run(case: Scenario, batching: int, directory: Path):
    data = directory / "stored.nq"
    data.write_text("".join(f"{statement}\n" for statement in case.stored), encoding="utf-8")
    session = freshet.Session()
    session.load(data)
    for iri in case.streams:
        session.stream(iri, lateness_ms=case.lateness_ms.get(iri, 0), absorb=case.absorb.get(iri, False))
    [query] = case.queries
    registered = session.register(query.text, name=query.name, **({"report": query.report} if query.report else {}))
    for iri, lines in schedule_of(case, batching):
        hand_over(session, iri, lines)
    session.finish()
    return session, registered, registered.take()


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_why_returns_gives_the_row_again(block: int, tmp_path: Path) -> None:
    seed = FIRST_SEED + block * 1_000_000
    asked = 0
    for at in range(CASES // BLOCKS + 1):
        try:
            asked += check(seed + at, tmp_path)
        except UnsupportedError:
            continue
    assert asked > 0
