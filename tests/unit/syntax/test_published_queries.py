"""The queries in the pages of LSBench's wiki and of Wukong+S, cut out of the pages."""

from __future__ import annotations

import re

import pytest

from freshet.algebra.nodes import StreamOperator
from freshet.algebra.windows import RangeWindow, SlidingWindow
from freshet.rdf.errors import QuerySyntaxError
from freshet.rdf.terms import Iri
from freshet.syntax.parser import parse_query
from shared_data import shared

PREFIXES = "".join(
    f"PREFIX {prefix}: <http://example.org/{prefix}/>\n"
    for prefix in ("sib", "sibu", "sibp", "sibg", "sioc", "foaf", "dbp")
)


def wiki_blocks(page: str) -> list[str]:
    """What stands between triple braces that have lines of their own."""
    text = shared(f"data/lsbench/wiki/{page}").read_text(encoding="utf-8")
    return re.findall(r"^\{\{\{\n(.*?)^\}\}\}", text, re.DOTALL | re.MULTILINE)


def markdown_blocks(page: str) -> list[str]:
    """What stands between fences."""
    text = shared(f"data/wukong-s/{page}").read_text(encoding="utf-8")
    return re.findall(r"^```sql\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def refused(text: str) -> tuple[int | None, int | None, str]:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text)
    return caught.value.line, caught.value.column, caught.value.message


def test_lsbench_in_cqels():
    queries = [parse_query(text) for text in wiki_blocks("qe_cqels.wiki")]
    assert len(queries) == 6
    assert {query.output for query in queries} == {StreamOperator.ISTREAM}
    windows = [declared.window for query in queries for declared in query.windows]
    stream = Iri("http://deri.org/poststream")
    assert windows[:3] == [RangeWindow(stream, 1000), RangeWindow(stream, 1000), RangeWindow(stream, 5000)]
    assert {window.width_ms for window in windows} == {100, 1000, 5000, 15_000, 60_000}


def test_lsbench_in_csparql():
    queries = [parse_query(text) for text in wiki_blocks("qe_csparql.wiki")]
    assert [query.name for query in queries] == [f"Query{number}" for number in range(1, 7)]
    assert all(query.merged for query in queries)
    [declared] = queries[0].windows
    assert declared.window == SlidingWindow(Iri("http://deri.org/poststream"), width_ms=1000, slide_ms=100)
    assert [declared.window.width_ms for declared in queries[5].windows] == [60_000, 100]


def test_lsbench_in_etalis_is_no_sparql():
    """The page has rules of Prolog, which none of the dialects is."""
    for text in wiki_blocks("qe_etalis.wiki"):
        line, column, message = refused(text)
        assert (line, column) == (1, 1)
        assert message.startswith(("expected a query (SELECT, ", "the character '%' cannot stand here"))


@pytest.mark.parametrize("page", ["howto_cqels.wiki", "howto_csparql.wiki"])
def test_the_pages_on_how_to_run_lsbench_have_scripts_only(page):
    assert all(block.startswith("export MINMEM") for block in wiki_blocks(page))


@pytest.mark.parametrize(
    "page",
    ["benchmark_usecase", "experimentation_charts", "experimentation_tables", "howto_jtalis", "queries_list"],
)
def test_the_other_pages_of_lsbench_have_no_queries(page):
    assert wiki_blocks(f"{page}.wiki") == []


def test_wukong_citybench():
    queries = [parse_query(text) for text in markdown_blocks("continuous/citybench/CityBench.md")]
    assert [query.name for query in queries] == [f"citybench_query{number}" for number in range(1, 12)]
    assert all(query.merged for query in queries)
    windows = {declared.window for query in queries for declared in query.windows}
    assert {(window.width_ms, window.slide_ms) for window in windows} == {(3000, 1000)}


def test_wukong_lsbench_continuous():
    """The page names its streams with bare words, and declares no prefix."""
    texts = markdown_blocks("continuous/lsbench/LSBench.md")
    found = [refused(text) for text in texts]
    words = ["poststream"] * 4 + ["photostream", "poststream"]
    assert found == [(4, 6, f"expected an IRI, NAMED or STREAM, but found '{word}'") for word in words]
    for text in texts:
        mended = re.sub(r"FROM (\w+)\n", r"FROM STREAM <\1>\n", text).replace(" AS\n", f" AS\n{PREFIXES}", 1)
        query = parse_query(mended)
        assert query.merged
        assert {(each.window.width_ms, each.window.slide_ms) for each in query.windows} == {(1000, 100)}


def test_wukong_lsbench_one_shot():
    """The page declares no prefix; with prefixes its queries are SPARQL."""
    texts = markdown_blocks("one-shot/LSBench.md")
    prefixes = ["sibu", "sioc", "sioc", "sibg", "sibu", "foaf"]
    assert [refused(text)[2] for text in texts] == [f"the prefix {prefix}: is not declared" for prefix in prefixes]
    assert all(parse_query(PREFIXES + text, dialect="sparql").windows == () for text in texts)
