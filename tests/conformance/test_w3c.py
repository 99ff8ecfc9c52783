"""The W3C's tests of SPARQL 1.0, 1.1 and 1.2: a handler for each type, a pytest parameter for each test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urljoin

import pyoxigraph as ox
import pytest

from conformance.comparing import difference
from conformance.engine import answer, endpoints
from conformance.expected import FORMATS, read_expected, terms_of
from conformance.known_failures import parameters
from conformance.manifests import W3cTest, file_of
from conformance.suite import KNOWN_FAILURES, OUT_OF_SCOPE, SUITE, TESTS
from freshet.algebra.nodes import Distinct, Node, OrderBy, Project, Query, Reduced, Slice
from freshet.rdf.errors import QuerySyntaxError
from freshet.rdf.formats import rdf_format
from freshet.results.read import read_answer
from freshet.results.write import write_answer
from freshet.runtime.session import Session
from freshet.syntax.parser import parse_query, parse_update
from shared_data import shared

# Folders whose expected files write decimals and doubles now one way, now another: "0E0", "0.0", "0" for a double.
BY_VALUE = tuple(
    f"{folder}/"
    for folder in (
        "sparql10/expr-ops",
        "sparql11/aggregates",
        "sparql11/cast",
        "sparql11/csv-tsv-res",
        "sparql11/functions",
    )
)
COUNTS = {
    ("sparql10", "PositiveSyntaxTest"): 149,
    ("sparql10", "NegativeSyntaxTest"): 50,
    ("sparql10", "QueryEvaluationTest"): 283,
    ("sparql11", "PositiveSyntaxTest11"): 66,
    ("sparql11", "NegativeSyntaxTest11"): 48,
    ("sparql11", "QueryEvaluationTest"): 239,
    ("sparql11", "CSVResultFormatTest"): 3,
    ("sparql11", "PositiveUpdateSyntaxTest11"): 42,
    ("sparql11", "NegativeUpdateSyntaxTest11"): 13,
    ("sparql11", "UpdateEvaluationTest"): 94,
    ("sparql12", "PositiveSyntaxTest"): 102,
    ("sparql12", "NegativeSyntaxTest"): 81,
    ("sparql12", "QueryEvaluationTest"): 63,
    ("sparql12", "PositiveUpdateSyntaxTest"): 18,
    ("sparql12", "NegativeUpdateSyntaxTest"): 2,
    ("sparql12", "UpdateEvaluationTest"): 3,
}


def positive_syntax(test: W3cTest) -> None:
    parse_query(text_of(test.query))


def negative_syntax(test: W3cTest) -> None:
    """Some updates are of this type too."""
    parse = parse_update if test.query.suffix == ".ru" else parse_query
    with pytest.raises(QuerySyntaxError):
        parse(text_of(test.query))


def evaluation(test: W3cTest) -> None:
    """The answer goes through the format in which the expected one is given: that format is tested too."""
    text, base = text_of(test.query), test.query.as_uri()
    query = parse_query(text)
    graphs = dict.fromkeys([*test.graph_data, *graphs_of(query, base)])
    with endpoints(test.services) as services:
        found, dictionary = answer(text, base, test.data, tuple(graphs), services)
    form = FORMATS.get(test.result.suffix)
    if form is not None:
        found = read_answer(write_answer(found, dictionary, form), form, dictionary)
    expected = read_expected(test.result, ordered=is_ordered(query.root))
    by_value = test.name.startswith(BY_VALUE)
    wrong = difference(terms_of(found, dictionary), expected, lax=test.lax_cardinality, by_value=by_value)
    assert not wrong, wrong


def positive_update_syntax(test: W3cTest) -> None:
    parse_update(text_of(test.query))


def update_evaluation(test: W3cTest) -> None:
    """All graphs are what they should be, and no others have triples."""
    session = Session()
    session.load(*test.before.default)
    for name, path in test.before.named:
        session.load(path, graph=name)
    session.update(f"BASE <{test.query.as_uri()}>\n{text_of(test.query)}")
    found, expected = quads_in(session), expected_quads(test)
    assert found == expected


def quads_in(session: Session) -> ox.Dataset:
    """All that is stored, blank nodes with one label in all graphs."""
    names = [
        each["g"].value for each in session.bindings(session.query("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"))
    ]
    graphs = [("", ox.DefaultGraph()), *((f"FROM <{name}>", ox.NamedNode(name)) for name in names)]
    return canonical(
        ox.Quad(*quad.triple, graph)
        for source, graph in graphs
        for quad in ox.parse(
            write_answer(session.query(f"CONSTRUCT {{ ?s ?p ?o }} {source} {{ ?s ?p ?o }}"), session.dictionary, "nt"),
            ox.RdfFormat.N_TRIPLES,
        )
    )


def expected_quads(test: W3cTest) -> ox.Dataset:
    files = [(path, ox.DefaultGraph()) for path in test.after.default]
    files += [(path, ox.NamedNode(name)) for name, path in test.after.named]
    return canonical(
        ox.Quad(*quad.triple, quad.graph_name if graph == ox.DefaultGraph() else graph)
        for path, graph in files
        for quad in ox.parse(path.read_bytes(), rdf_format(path), base_iri=path.as_uri())
    )


def canonical(quads: Iterable[ox.Quad]) -> ox.Dataset:
    found = ox.Dataset(quads)
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def graphs_of(query: Query, base: str) -> list[Path]:
    """The files that FROM and FROM NAMED mean: some tests name their data nowhere else."""
    return [file_of(urljoin(base, graph.value)) for graph in (*query.default_graphs, *query.named_graphs)]


def is_ordered(root: Node) -> bool:
    """Whether ORDER BY gives the solutions their order."""
    while isinstance(root, Project | Distinct | Reduced | Slice):
        root = root.child
    return isinstance(root, OrderBy)


HANDLERS: dict[str, Callable[[W3cTest], None]] = {
    "PositiveSyntaxTest": positive_syntax,
    "PositiveSyntaxTest11": positive_syntax,
    "NegativeSyntaxTest": negative_syntax,
    "NegativeSyntaxTest11": negative_syntax,
    "QueryEvaluationTest": evaluation,
    "CSVResultFormatTest": evaluation,
    "PositiveUpdateSyntaxTest11": positive_update_syntax,
    "NegativeUpdateSyntaxTest11": negative_syntax,
    "PositiveUpdateSyntaxTest": positive_update_syntax,
    "NegativeUpdateSyntaxTest": negative_syntax,
    "UpdateEvaluationTest": update_evaluation,
}


def text_of(path: Path) -> str:
    # not read_text, which would change the ends of lines
    return path.read_bytes().decode()


@pytest.mark.parametrize("test", parameters(TESTS, KNOWN_FAILURES))
def test_w3c(test: W3cTest) -> None:
    HANDLERS[test.kind](test)


def test_the_suite_is_complete() -> None:
    """No test is lost on the way from the manifests, and no known failure names one that is not there."""
    shared(SUITE)
    assert Counter((test.name.split("/")[0], test.kind) for test in TESTS) == COUNTS
    assert KNOWN_FAILURES.keys() <= {test.name for test in TESTS}
    assert OUT_OF_SCOPE == {
        "entailment regimes": 70,
        "Protocol": 34,
        "Graph Store Protocol": 13,
        "Service Description": 3,
    }
