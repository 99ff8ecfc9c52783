"""Long queries are read in time that grows with their length, and deep ones are refused with a place."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import thread_time

import pytest

from freshet.algebra.nodes import Query
from freshet.algebra.updates import Update
from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax import driver as module
from freshet.syntax.parser import parse_query, parse_update
from freshet.syntax.tables import UPDATE
from freshet.syntax.tree import Cells, Tree, trees

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


def both_ways(
    text: str, monkeypatch: pytest.MonkeyPatch, parse: Callable[[str], Query | Update] = parse_query
) -> tuple[Query | Update | str, Query | Update | str]:
    """What is found with cells read at once, and token by token."""
    found: list[Query | Update | str] = []
    for longest in (-2, 1 << 40):
        monkeypatch.setattr(module, "_LONG_DATA", longest)
        try:
            found.append(parse(text))
        except QuerySyntaxError as error:
            found.append(f"{error} {error.line} {error.column} {error.excerpt}")
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


NODES = (
    "<http://example.org/1>",
    "<>",
    "<\\u0041>",
    "ex:a",
    "ex:",
    ":b",
    "ex:a.b",
    "ex:a\\-b",
    "a:a",
    "_:a",
    "_:b.c",
    "_:1",
)
OBJECTS = (*(cell for cell in CELLS if cell.upper() != "UNDEF"), *NODES)
WRONG = (
    *OTHERS,
    "undef",
    "a",
    "[]",
    "[ :b 1 ]",
    "(1 2)",
    "()",
    ".",
    ";",
    ",",
    ", ,",
    "; ;",
    "GRAPH :g { :a :b :c }",
    "{",
)


@pytest.mark.parametrize("seed", range(200))
def test_data_of_updates_at_once_are_what_they_are_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    some_wrong = random.random() < 0.5

    def term(terms: tuple[str, ...]) -> str:
        chosen = WRONG if some_wrong and random.random() < 0.03 else terms
        return random.choice(chosen) + random.choice(SEPARATORS)

    def objects() -> str:
        more = "".join(f",{random.choice(SEPARATORS)}{term(OBJECTS)}" for _ in range(random.choice([0, 0, 0, 1, 2])))
        verb = random.choice(["a ", term(tuple(node for node in NODES if node[0] != "_"))])
        return f"{verb}{term(OBJECTS)}{more}"

    def triples() -> str:
        more = "".join(f";{random.choice(SEPARATORS)}{objects()}" for _ in range(random.choice([0, 0, 0, 1, 2])))
        return f"{term(NODES)}{objects()}{more}"

    def operation() -> str:
        dots = random.choice(["", "."])
        data = random.choice([".", ". "]).join(triples() for _ in range(random.randrange(6))) + dots
        return f"{random.choice(['INSERT DATA', 'INSERT DATA', 'delete data'])} {{{random.choice(SEPARATORS)}{data}}}"

    operations = " ; ".join(operation() for _ in range(random.choice([1, 1, 1, 2])))
    text = f"{PROLOGUE} PREFIX a: <http://a/> {operations}"
    at_once, one_by_one = both_ways(text, monkeypatch, parse_update)
    assert at_once == one_by_one, text


@pytest.mark.parametrize("wrong", ["", "ex2:a :b 1", ":a _:b 1", ":a :b ?x", ":a :b 1 . ."])
@pytest.mark.parametrize("end", ["", " ."])
def test_data_of_updates_that_are_read_in_pieces(wrong: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = ".\n".join(f":a{at} ex:p {at % 7}, 'x'".replace("'", '"') for at in range(module._ROWS_AT_ONCE + 50))
    text = (
        f"{PROLOGUE} INSERT DATA {{ {data} . {wrong}{end} }}" if wrong else f"{PROLOGUE} INSERT DATA {{ {data}{end} }}"
    )
    at_once, one_by_one = both_ways(text, monkeypatch, parse_update)
    assert at_once == one_by_one
    assert isinstance(at_once, str) == bool(wrong)


@pytest.mark.parametrize("end", ["", " ."])
def test_long_data_are_not_read_token_by_token(end: str) -> None:
    data = ".\n".join(f":a{at} ex:p {at}" for at in range(2 * module._ROWS_AT_ONCE + 50))
    tree = module.driver(UPDATE).parse(f"{PROLOGUE} INSERT DATA {{ {data}{end} }}")
    assert tree is not None
    inserted = tree.children[-1]
    assert isinstance(inserted, Tree)
    (quads,) = trees(inserted)
    assert isinstance(quads.children[0], Cells)


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
