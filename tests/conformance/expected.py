"""What the suite expects: result files in the W3C formats, graphs, and result sets written as RDF."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pyoxigraph as ox

from conformance.isomorphism import Row
from conformance.manifests import RDF, Node, Statements
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.formats import rdf_format
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.terms import Term, term_from_key
from freshet.results.read import read_answer
from freshet.results.report import Answer, BooleanAnswer, GraphAnswer

RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
FORMATS = {".srx": "xml", ".srj": "json", ".csv": "csv", ".tsv": "tsv"}


@dataclass(frozen=True, slots=True)
class TermAnswer:
    """An answer as terms: a truth, or rows. The rows of a graph are its triples, and have no variables."""

    truth: bool | None = None
    variables: frozenset[str] | None = None
    rows: tuple[Row, ...] = ()
    ordered: bool = False


def read_expected(path: Path, *, ordered: bool = False) -> TermAnswer:
    """What a result file says, and in which order where that counts (a result set in RDF says so itself)."""
    if path.suffix in FORMATS:
        dictionary = Dictionary()
        answer = read_answer(path.read_bytes(), FORMATS[path.suffix], dictionary, file=str(path))
        return replace(terms_of(answer, dictionary), ordered=ordered)
    statements = Statements(path)
    if sets := [one for one in statements.subjects(RDF + "type") if _is_result_set(statements, one)]:
        return _result_set(statements, sets[0])
    quads = ox.parse(path.read_bytes(), rdf_format(path), base_iri=path.as_uri())
    return TermAnswer(rows=tuple({(_term(q.subject), _term(q.predicate), _term(q.object)) for q in quads}))


def terms_of(answer: Answer, dictionary: Dictionary) -> TermAnswer:
    """An answer of ids as terms."""
    if isinstance(answer, BooleanAnswer):
        return TermAnswer(truth=answer.value)
    if isinstance(answer, GraphAnswer):
        columns = (answer.subjects, answer.predicates, answer.objects)
        return TermAnswer(rows=tuple(zip(*map(dictionary.decode_many, columns), strict=True)))
    # a solution may bind nothing: variables in order of name, so that rows compare
    order = sorted(range(len(answer.variables)), key=lambda place: answer.variables[place])
    columns = [dictionary.decode_many(answer.rows[:, place]) for place in order]
    rows = tuple(zip(*columns, strict=True)) if columns else ((),) * len(answer.rows)
    return TermAnswer(variables=frozenset(answer.variables), rows=rows)


def _is_result_set(statements: Statements, node: Node) -> bool:
    return ox.NamedNode(RS + "ResultSet") in statements.objects(node, RDF + "type")


def _result_set(statements: Statements, node: Node) -> TermAnswer:
    if (truth := statements.object(node, RS + "boolean")) is not None:
        return TermAnswer(truth=truth.value == "true")
    names = sorted(name.value for name in statements.objects(node, RS + "resultVariable"))
    solutions = statements.objects(node, RS + "solution")
    indexes = [statements.object(solution, RS + "index") for solution in solutions]
    ordered = bool(indexes) and all(index is not None for index in indexes)
    if ordered:
        numbers = {solution: int(index.value) for solution, index in zip(solutions, indexes, strict=True)}
        solutions = sorted(solutions, key=numbers.__getitem__)
    rows = tuple(_row(statements, solution, names) for solution in solutions)
    return TermAnswer(variables=frozenset(names), rows=rows, ordered=ordered)


def _row(statements: Statements, solution: Node, names: list[str]) -> Row:
    bound = {
        statements.object(binding, RS + "variable").value: _term(statements.object(binding, RS + "value"))
        for binding in statements.objects(solution, RS + "binding")
    }
    assert bound.keys() <= set(names), f"{solution} binds a variable that the result set has not"
    return tuple(bound.get(name) for name in names)


def _term(term: Node) -> Term:
    return term_from_key(parsed_key(term, ""))
