"""UUID, STRUUID, RAND and BNODE in continuous queries: drawn when a solution comes, kept until it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

import freshet
from counts import count
from freshet.results.live_change import LiveChange

EX = "http://example.org/"
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT{}S STEP PT1S]"
CASES = count(60)

Reported = list[tuple[int, Counter[tuple[str, ...]]]]


def run(head: str, output: str, window: str, elements: Sequence[tuple[int, str]], batch: int) -> Reported:
    session = freshet.Session()
    session.stream(EX + "s")
    query = session.register(
        f"PREFIX : <{EX}> REGISTER {output} :q AS SELECT {head} {window} WHERE {{ WINDOW :w {{ ?s :p ?v }} }}"
    )
    for first in range(0, len(elements), batch):
        session.push(EX + "s", "".join(f"{time}\t{line}\n" for time, line in elements[first : first + batch]))
    session.finish()
    assert not session.failures
    return [
        (report.time_ms, Counter(tuple(map(str, row.values())) for row in report.bindings())) for report in query.take()
    ]


def random_elements(dice: Random) -> list[tuple[int, str]]:
    """Triples that come again, and overlap, so that solutions stay, go and come back."""
    times = sorted(dice.randrange(0, 12_000) for _ in range(dice.randint(1, 25)))
    return [(time, f"<{EX}{dice.choice('abc')}> <{EX}p> <{EX}{dice.choice('xy')}> .") for time in times]


@pytest.mark.parametrize("function", ["UUID()", "STRUUID()", "RAND()", "BNODE()", "BNODE(STR(?v))"])
@pytest.mark.parametrize("seed", range(CASES))
def test_a_value_comes_and_goes_with_its_solution(function: str, seed: int) -> None:
    dice = Random(seed)
    elements, window, batch = random_elements(dice), WINDOW.format(dice.randint(1, 4)), dice.choice([1, 3, 100])
    for output in ("RSTREAM", "ISTREAM", "DSTREAM"):
        plain = run("?s ?v", output, window, elements, 100)
        drawn = run(f"?s ?v ({function} AS ?drawn)", output, window, elements, batch)
        assert [(time, _without_last(rows)) for time, rows in drawn] == plain
        values = [row[-1] for _, rows in drawn for row in rows]
        if output == "RSTREAM":
            _check_stays(drawn)
        else:
            assert len(set(values)) == len(values), "each comes and goes once"


def _without_last(rows: Counter[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for row, times in rows.items():
        found[row[:-1]] += times
    return found


def _check_stays(reported: Reported) -> None:
    """A solution that is there at the next close, too, has the value that it had."""
    for (time, rows), (next_time, next_rows) in pairwise(reported):
        assert len({row[-1] for row in rows}) == len(rows)
        if next_time == time + 1000:
            before = {row[:-1]: row[-1] for row in rows}
            assert all(before.get(row[:-1], row[-1]) == row[-1] for row in next_rows)


def test_equal_solutions_have_values_of_their_own() -> None:
    elements = [(1, f'<{EX}a> <{EX}p> "1" .'), (2, f'<{EX}b> <{EX}p> "1" .')]
    [(_, rows)] = run("(UUID() AS ?u)", "RSTREAM", WINDOW.format(1), elements, 10)
    assert sorted(rows.values()) == [1, 1]


def test_labels_name_one_node_in_a_solution() -> None:
    elements = [(1, f'<{EX}a> <{EX}p> "1" .'), (2, f'<{EX}b> <{EX}p> "1" .')]
    head = "(BNODE('x') AS ?a) (BNODE('x') AS ?b) (BNODE('y') AS ?c)"
    [(_, rows)] = run(head, "RSTREAM", WINDOW.format(1), elements, 10)
    assert all(a == b != c for a, b, c in rows)
    assert len({a for a, _, _ in rows}) == 2


def test_a_filter_keeps_what_it_has_let_through() -> None:
    elements = [(time, f'<{EX}s{time}> <{EX}p> "{time}" .') for time in range(400)]
    session = freshet.Session()
    session.stream(EX + "s")
    query = session.register(
        f"PREFIX : <{EX}> REGISTER RSTREAM :q AS SELECT ?s {WINDOW.format(3)} "
        "WHERE { WINDOW :w { ?s :p ?v } FILTER (RAND() < 0.5) }"
    )
    session.push(EX + "s", "".join(f"{time}\t{line}\n" for time, line in elements))
    session.finish()
    first, second, third = ({str(row["s"]) for row in report.bindings()} for report in query.take())
    assert 100 < len(first) < 300
    assert first == second == third


@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM", "DSTREAM"])
def test_values_stay_where_stored_triples_are_deleted(output: str) -> None:
    """What still holds keeps its value, whatever goes beside it."""
    session = freshet.Session()
    session.stream(EX + "s")
    session.update(f"PREFIX : <{EX}> INSERT DATA {{ :a :q 1 . :b :q 1, 2 }}")
    head = f"PREFIX : <{EX}> REGISTER {output} :q AS SELECT ?s ?o (UUID() AS ?u) {WINDOW.format(10)}"
    query = session.register(f"{head} WHERE {{ WINDOW :w {{ ?s :p ?v }} ?s :q ?o }}")
    session.push(EX + "s", "".join(f"100\t<{EX}{name}> <{EX}p> <{EX}x> .\n" for name in "ab"))
    session.advance(EX + "s", 1000)
    session.update(f"PREFIX : <{EX}> DELETE DATA {{ :b :q 1 }}")
    session.advance(EX + "s", 2000)
    session.finish()
    assert not session.failures
    found = [{(row["s"].value[-1], row["o"].lexical): row["u"] for row in each.bindings()} for each in query.take()]
    if output == "RSTREAM":
        assert found[0].keys() == {("a", "1"), ("b", "1"), ("b", "2")}
        assert all(each == {key: found[0][key] for key in (("a", "1"), ("b", "2"))} for each in found[1:])
    elif output == "ISTREAM":
        assert [set(each) for each in found] == [{("a", "1"), ("b", "1"), ("b", "2")}]
    else:
        assert [set(each) for each in found] == [{("b", "1")}, {("a", "1"), ("b", "2")}]


def test_values_stay_in_live_queries() -> None:
    session = freshet.Session()
    session.update(f"PREFIX : <{EX}> INSERT DATA {{ :a :q 1 . :b :q 1, 2 }}")
    changes: list[LiveChange] = []
    session.follow(f"PREFIX : <{EX}> SELECT ?s ?o (UUID() AS ?u) {{ ?s :q ?o }}", changes.append, name="live")
    session.update(f"PREFIX : <{EX}> DELETE DATA {{ :b :q 1 }}")
    answer, change = changes
    assert len(change.added) == 0
    assert len(change.removed) == 1
    assert change.removed.tolist()[0] in answer.added.tolist()
