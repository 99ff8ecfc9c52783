"""Long queries are read in time that grows with their length, and deep ones are refused with a place."""

from __future__ import annotations

from random import Random
from time import thread_time

import pytest

from freshet.algebra.nodes import Query
from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax import driver as module
from freshet.syntax.parser import parse_query

CELLS = (
    "<http://example.org/1>",
    "<>",
    "<\\u0041>",
    "ex:a",
    "ex:",
    ":b",
    "ex:a.b",
    "ex:a%20b",
    "ex:a\\-b",
    "true:x",
    "1",
    "-1",
    "+1.5",
    ".5",
    "1e3",
    "-1.5E-7",
    "true",
    "FALSE",
    "undef",
    "UNDEF",
    '""',
    '"a"',
    '"a b"@en-GB',
    '"a } b"',
    '"(1 2)"',
    '"a\\n\\u0041"^^<http://example.org/t>',
    '"1"^^ex:t',
    '"""a "b" } c"""',
)
OTHERS = ("'a'", '"a" @en', "ex2:a", "?x", "12s", '"\\q"', "<a b>", "_:a", "1.", "}", '"a"^^ex2:b', "undefined")
SEPARATORS = (" ", "\n", "  ", " # a comment with } and ) and 1\n")
PROLOGUE = "PREFIX ex: <http://example.org/> PREFIX : <http://example.org/> PREFIX true: <http://example.org/> "


def both_ways(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Query | str, Query | str]:
    """What is found with cells read at once, and token by token."""
    found: list[Query | str] = []
    for longest in (-2, 1 << 40):
        monkeypatch.setattr(module, "_LONG_DATA", longest)
        try:
            found.append(parse_query(text))
        except QuerySyntaxError as error:
            found.append(str(error))
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(80))
def test_cells_at_once_are_what_they_are_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    cells = CELLS if random.random() < 0.6 else (*CELLS, random.choice(OTHERS))
    width = random.randrange(4)

    def some(count: int) -> str:
        return "".join(random.choice(cells) + random.choice(SEPARATORS) for _ in range(count))

    def row() -> str:
        return f"({random.choice(SEPARATORS)}{some(width if random.random() < 0.97 else random.randrange(4))})"

    data = f"?a {{{some(random.randrange(20))}}}"
    if random.random() < 0.6:
        rows = random.choice(SEPARATORS).join(row() for _ in range(random.randrange(8)))
        data = f"({' '.join(f'?v{at}' for at in range(width))}) {{{rows}}}"
    at_once, one_by_one = both_ways(f"{PROLOGUE} SELECT * {{ ?s ?p ?o VALUES {data} FILTER(?s) }}", monkeypatch)
    assert at_once == one_by_one


@pytest.mark.parametrize("wrong", ["", " ex2:a", " (1)", " ?x"])
def test_rows_that_are_read_in_pieces(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(5)
    cells = [f"{random.choice(CELLS)}{random.choice(SEPARATORS)}" for _ in range(module._ROWS_AT_ONCE + 50)]
    row = f"({random.choice(CELLS)} 1)"
    for data in (f"?a {{{''.join(cells)}{wrong}}}", f"(?a ?b) {{{row * (module._ROWS_AT_ONCE + 1)}{wrong}}}"):
        at_once, one_by_one = both_ways(f"{PROLOGUE} SELECT * {{ VALUES {data} }}", monkeypatch)
        assert at_once == one_by_one
        assert isinstance(at_once, str) == bool(wrong)


SIZE = 2_000_000
LONG = {
    "literal": f'SELECT ("{"a" * SIZE}" AS ?x) {{}}',
    "long literal": f'SELECT ("""{"a " * (SIZE // 2)}""" AS ?x) {{}}',
    "IRI": f"SELECT * {{ <http://e/{'a' * SIZE}> ?p ?o }}",
    "comments": "SELECT * {}" + "# a\n" * (SIZE // 4),
    "VALUES": f"SELECT * {{ VALUES ?x {{ {' '.join(f'<http://e/{at}>' for at in range(50_000))} }} }}",
    "rows": f"SELECT * {{ VALUES (?x ?y) {{ {' '.join(f'(<http://e/{at}> {at})' for at in range(25_000))} }} }}",
}


@pytest.mark.parametrize("name", LONG)
def test_long_texts_take_little_time(name: str) -> None:
    parse_query("ASK {}")
    began = thread_time()
    parse_query(LONG[name])
    assert thread_time() - began < 2  # an eighth of that is usual


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * " + "{" * 10_000 + "}" * 10_000,
        "SELECT * { ?s ?p " + "[ ?p " * 10_000 + "1" + "]" * 10_000 + "}",
        "SELECT (" + "+".join("1" * 10_000) + " AS ?x) {}",
        "SELECT * {" + "OPTIONAL { ?s ?p ?o } " * 2000 + "}",
        "SELECT * { FILTER(" + "STR(" * 10_000 + "1" + ")" * 10_000 + ") }",
        "SELECT * { FILTER(" + "(" * 100_000,
    ],
)
def test_what_is_too_deep_is_refused_with_a_place(text: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text)
    assert caught.value.line
    assert caught.value.column


def test_parsing_is_part_of_the_time() -> None:
    text = "SELECT * {" + " ".join(f"?s{at} <http://e/{at}> ?o ." for at in range(50_000)) + "}"
    with Deadline(0.01).running(), pytest.raises(QueryStoppedError):
        parse_query(text)


ESCAPED = {
    "string": 'SELECT ("' + "\\n" * SIZE + '" AS ?x) {}',
    "IRI": "SELECT * { <http://e/" + "\\u0041" * (SIZE // 2) + "> ?p ?o }",
    "name": "PREFIX e: <http://e/> SELECT * { e:" + "\\-" * SIZE + " ?p ?o }",
    "codepoints": "SELECT * { ?s ?p ?" + "\\u0041" * SIZE + " }",
    "tokens": "SELECT * {" + "\\u0020 ''" * (SIZE // 2) + " }",
}


@pytest.mark.parametrize("name", ESCAPED)
def test_a_time_limit_holds_among_escapes(name: str) -> None:
    began = thread_time()
    with Deadline(0.05, clock=thread_time).running(), pytest.raises(QueryStoppedError):
        parse_query(ESCAPED[name])
    assert thread_time() - began < 0.05 + 0.5  # a few seconds without looks
