"""The W3C's manifests: which tests there are, of what type, and on which files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ENTAILMENT_REGIME = "http://www.w3.org/ns/sparql-service-description#entailmentRegime"
SIMPLE = "http://www.w3.org/ns/entailment/Simple"

Node = ox.NamedNode | ox.BlankNode | ox.Literal


@dataclass(frozen=True, slots=True)
class GraphStore:
    """The graphs before or after an update: files of the default graph, and files by the names of graphs."""

    default: tuple[Path, ...] = ()
    named: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class W3cTest:
    """One entry of a manifest. `name` is its place in the suite, such as `sparql11/bind/bind01`."""

    name: str
    kind: str
    query: Path | None = None
    data: tuple[Path, ...] = ()
    graph_data: tuple[Path, ...] = ()
    result: Path | None = None
    services: tuple[tuple[str, Path], ...] = ()
    lax_cardinality: bool = False
    entailment: bool = False
    before: GraphStore = GraphStore()  # of an update, as what follows
    after: GraphStore = GraphStore()


class Statements:
    """The triples of one file, by subject and predicate."""

    def __init__(self, path: Path) -> None:
        self.base = path.as_uri()
        self._objects: dict[tuple[Node, str], list[Node]] = defaultdict(list)
        form = ox.RdfFormat.RDF_XML if path.suffix == ".rdf" else ox.RdfFormat.TURTLE
        for quad in ox.parse(path.read_bytes(), form, base_iri=self.base):
            self._objects[quad.subject, quad.predicate.value].append(quad.object)

    def objects(self, subject: Node, predicate: str) -> list[Node]:
        return self._objects.get((subject, predicate), [])

    def object(self, subject: Node, predicate: str) -> Node | None:
        """The only object, or None."""
        found = self.objects(subject, predicate)
        assert len(found) <= 1, f"{subject} has several {predicate}"
        return found[0] if found else None

    def subjects(self, predicate: str) -> list[Node]:
        return [subject for subject, known in self._objects if known == predicate]

    def members(self, predicate: str) -> list[Node]:
        """The members of all collections that a predicate leads to."""
        heads = [head for subject in self.subjects(predicate) for head in self.objects(subject, predicate)]
        return [member for head in heads for member in self.collection(head)]

    def collection(self, head: Node | None) -> Iterator[Node]:
        """The members of an RDF collection."""
        while head is not None and head.value != RDF + "nil":
            yield from self.objects(head, RDF + "first")
            head = self.object(head, RDF + "rest")


def read_tests(manifest: Path, root: Path) -> Iterator[W3cTest]:
    """The tests of a manifest and of those that it includes."""
    statements = Statements(manifest)
    for included in statements.members(MF + "include"):
        yield from read_tests(file_of(included.value), root)
    folder = manifest.parent.relative_to(root).as_posix()
    for entry in statements.members(MF + "entries"):
        yield _test(entry, statements, folder)


def _test(entry: Node, statements: Statements, folder: str) -> W3cTest:
    [kind] = statements.objects(entry, RDF + "type")
    test = W3cTest(f"{folder}/{entry.value.rpartition('#')[2]}", kind.value.rpartition("#")[2])
    action = statements.object(entry, MF + "action")
    if isinstance(action, ox.NamedNode):
        return replace(test, query=file_of(action.value))
    if action is not None and (request := statements.object(action, UT + "request")) is not None:
        before, after = (_graph_store(statements, node) for node in (action, statements.object(entry, MF + "result")))
        return replace(test, query=file_of(request.value), before=before, after=after)
    query = statements.object(action, QT + "query") if action else None
    if query is None:
        return test
    result = statements.object(entry, MF + "result")
    return replace(
        test,
        query=file_of(query.value),
        data=tuple(file_of(file.value) for file in statements.objects(action, QT + "data")),
        graph_data=tuple(file_of(file.value) for file in statements.objects(action, QT + "graphData")),
        services=tuple(_service(each, statements) for each in statements.objects(action, QT + "serviceData")),
        result=file_of(result.value) if isinstance(result, ox.NamedNode) else None,
        lax_cardinality=statements.object(entry, MF + "resultCardinality") == ox.NamedNode(MF + "LaxCardinality"),
        entailment=_needs_entailment(statements, action),
    )


def _graph_store(statements: Statements, node: Node | None) -> GraphStore:
    assert node is not None
    named = [
        (statements.object(each, RDFS_LABEL).value, file_of(statements.object(each, UT + "graph").value))
        for each in statements.objects(node, UT + "graphData")
    ]
    return GraphStore(tuple(file_of(file.value) for file in statements.objects(node, UT + "data")), tuple(named))


def _service(node: Node, statements: Statements) -> tuple[str, Path]:
    """An endpoint and its data."""
    endpoint, data = statements.object(node, QT + "endpoint"), statements.object(node, QT + "data")
    assert endpoint is not None
    assert data is not None
    return endpoint.value, file_of(data.value)


def _needs_entailment(statements: Statements, action: Node) -> bool:
    """Whether all regimes that an action names say more than simple entailment."""
    named = statements.objects(action, ENTAILMENT_REGIME)
    regimes = [
        regime.value
        for one in named
        for regime in ([one] if isinstance(one, ox.NamedNode) else statements.collection(one))
    ]
    return bool(regimes) and SIMPLE not in regimes


def file_of(iri: str) -> Path:
    """The file that an IRI names."""
    return Path(unquote(urlsplit(iri).path))
