"""Numbers of five thousand digits are literals like any other, though Python refuses to read them."""

from __future__ import annotations

from pathlib import Path

import pytest

import freshet

BIG = "1" + "0" * 5000
XSD = "http://www.w3.org/2001/XMLSchema#"


def column(text: str, session: freshet.Session | None = None) -> list[object]:
    answer = (session or freshet.Session()).query(f"PREFIX xsd: <{XSD}> {text}")
    return answer.to_arrow().to_pydict()["x"]  # type: ignore[union-attr,no-any-return]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"STR({BIG})", BIG),
        (f"STR(-{BIG})", f"-{BIG}"),
        (f"STRLEN(STR({BIG}.5))", 5003),
        (f"STR(xsd:string({BIG}))", BIG),
        (f"{BIG} = {BIG}", True),
        (f'SUBSTR("abc", {BIG})', ""),
        (f'SUBSTR("abc", -{BIG})', "abc"),
        (f'SUBSTR("abc", 2, {BIG})', "bc"),
        ('SUBSTR("abc", "1E999999999"^^xsd:double)', ""),
        (f'REPLACE("abc", "b", "-$0{BIG}")', f"a-b{BIG}c"),
        (f'COALESCE(REGEX("abc", "b{{{BIG}}}"), "error")', "error"),
        (f'COALESCE(REGEX("abc", "(b)\\\\{BIG}"), "error")', False),
        (f'YEAR("{BIG}-01-01T00:00:00Z"^^xsd:dateTime)', None),
    ],
)
def test_in_expressions(expression: str, value: object) -> None:
    assert column(f"SELECT ({expression} AS ?x) {{}}") == [value]


@pytest.mark.parametrize(
    "expression",
    [
        f"{BIG} + 1",
        f"{BIG}.5 * 2",
        f"ROUND({BIG}.5)",
        f"xsd:int({BIG})",
        f'xsd:integer("{BIG}")',
        f'xsd:decimal("{BIG}.5")',
        f"xsd:double({BIG})",
        f"{BIG} > 5",
        f"ABS(-{BIG})",
        f"SUM({BIG})",
        f"AVG({BIG})",
        f"MAX({BIG})",
    ],
)
def test_arithmetic_gives_an_answer_or_an_error_of_sparql(expression: str) -> None:
    assert len(column(f"SELECT ({expression} AS ?x) {{}}")) == 1


@pytest.mark.parametrize("suffix", ["nt", "ttl"])
def test_in_files(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"data.{suffix}"
    file.write_text(
        f'<http://e/a> <http://e/b> "{BIG}"^^<{XSD}integer>, "1"^^<{XSD}integer> .'.replace(
            ", ", " .\n<http://e/a> <http://e/b> "
        )
    )
    session = freshet.Session()
    session.load(file)
    assert len(column("SELECT ?x { ?s ?p ?x } ORDER BY ?x", session)) == 2
    assert len(column("SELECT (SUM(?o) AS ?x) { ?s ?p ?o }", session)) == 1


def test_what_is_no_text_is_no_query() -> None:
    with pytest.raises(freshet.FreshetError, match="not bytes"):
        freshet.Session().query(b"ASK {}")  # type: ignore[arg-type]
