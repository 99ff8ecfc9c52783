"""What notebooks show."""

from __future__ import annotations

import re

import freshet
from declaring import register
from freshet.rdf.terms import XSD
from freshet.results.report import Freshness, Report


def cells(html: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", html)


def test_a_table_has_the_first_rows_and_a_note_of_the_others() -> None:
    values = " ".join(str(number) for number in range(45))
    html = freshet.Session().query(f"SELECT ?n {{ VALUES ?n {{ {values} }} }} ORDER BY ?n")._repr_html_()
    assert cells(html) == [str(number) for number in range(20)]
    assert "45 rows, 25 more not shown" in html
    assert "<th>n</th>" in html


def test_what_comes_from_data_is_escaped() -> None:
    html = (
        freshet.Session()
        .query("""SELECT ?x ?y ?z { BIND ("<script>alert('1')</script>" AS ?x) BIND ("a&b"@en AS ?z) }""")
        ._repr_html_()
    )
    assert "<script" not in html
    assert cells(html) == ["&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;", "", "a&amp;b"]
    assert 'title="&quot;a&amp;b&quot;@en"' in html


def test_answers_of_every_form() -> None:
    session = freshet.Session()
    assert "true" in session.query("ASK {}")._repr_html_()
    graph = session.query("CONSTRUCT { <http://a> <http://p> 1 } {}")._repr_html_()
    assert cells(graph) == ["http://a", "http://p", "1"]
    assert f'title="&quot;1&quot;^^&lt;{XSD}integer&gt;"' in graph
    empty = session.query("SELECT ?s { ?s ?p ?o }")._repr_html_()
    assert cells(empty) == []
    assert "0 rows" in empty
    assert "1 row<" in session.query("SELECT * {}")._repr_html_()


def test_a_report_says_its_query_its_time_and_how_fresh_it_is() -> None:
    session = freshet.Session()
    query = register(
        session,
        """REGISTER ISTREAM <a&b> AS SELECT ?s FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
        WHERE { WINDOW <w> { ?s ?p ?o } }""",
    )
    session.push("http://example.org/s", "1700000000100\t<http://a> <http://p> _:b .")
    session.finish()
    [report] = query.take()
    assert "<caption>a&amp;b at 2023-11-14T22:13:21.000Z, istream</caption>" in report._repr_html_()
    fresh = Report(
        "q", 1 << 60, report.stream, report.variables, report.rows, None,
        Freshness(0.5, 3, 12.25, 1000, ("latency",), "no <answer>"), report.dictionary,
    )  # fmt: skip
    assert "accuracy 0.50, 3 refreshed, 12.2 ms, latency missed, no &lt;answer&gt;" in fresh._repr_html_()
    assert f"q at {1 << 60} ms" in fresh._repr_html_()
