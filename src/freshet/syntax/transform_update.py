"""SPARQL 1.1 Update: the operations of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import cast

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Graph, Node, QuadPattern, TriplePattern
from freshet.algebra.updates import (
    Clear,
    Create,
    GraphKind,
    GraphTarget,
    Load,
    Modify,
    Operation,
    Transfer,
    TransferKind,
    Update,
)
from freshet.rdf.collector import collector_paused
from freshet.rdf.terms import BlankNode, Iri, Term
from freshet.syntax.dialects import Dialect
from freshet.syntax.source import Source
from freshet.syntax.transform_patterns import EMPTY, join, with_steps
from freshet.syntax.transform_query import QueryTransformer
from freshet.syntax.tree import Cells, Child, Token, Tree, offset, tokens, trees

_Row = tuple[Term | None, Term | None, Term | None]
_Terms = tuple[Term, Term, Term]
_NO_BLANK_NODES = "what is deleted has no blank nodes"
_BLANK_NODES = frozenset({"anon", "blank_node_property_list", "collection"})


class UpdateTransformer(QueryTransformer):
    """Reads the parse tree of a whole request."""

    def __init__(self, source: Source, base: str | None = None) -> None:
        super().__init__(source, Dialect.SPARQL)
        self.base = base
        self._data_labels: dict[str, int] = {}  # labels in INSERT DATA, with the operation that has them

    def update(self, branch: Tree) -> Update:
        """The request that the tree is of. A prologue holds for all operations after it."""
        operations: list[Operation] = []
        for child in trees(branch):
            if child.data == "prologue":
                self.prologue(child)
            else:
                operations.append(self._operation(child, len(operations)))
        return Update(tuple(operations), self.base)

    def _operation(self, branch: Tree, number: int) -> Operation:
        match branch.data:
            case "insert_data":
                self._check_labels(branch, number)
                inserted = self._data(branch)
                return Modify((), inserted, self.with_made_terms(EMPTY))
            case "delete_data":
                self._check_no_blank_nodes(branch)
                return Modify(self._deleted(branch, self._data), (), EMPTY)
            case "delete_where":
                self._check_no_blank_nodes(branch)
                (quads,) = trees(branch)
                deleted = self._deleted(quads, self.quads)
                return Modify(deleted, (), self.with_made_terms(self._quads_pattern(quads)))
            case "modify":
                return self._modify(branch)
            case "load":
                silent, source, into = branch.children
                assert isinstance(source, Token)
                return Load(self.iri(source), self.iri(into) if isinstance(into, Token) else None, silent is not None)
            case "clear" | "drop":
                return Clear(self._target(trees(branch)[0]), _is_silent(branch), branch.data == "drop")
            case "create":
                return Create(self.iri(tokens(branch)[-1]), _is_silent(branch))
            case _:
                kind, source_branch, destination = trees(branch)
                word = TransferKind(tokens(kind)[0].lower())
                return Transfer(word, self._graph(source_branch), self._graph(destination), _is_silent(branch))

    def _modify(self, branch: Tree) -> Modify:
        with_graph, parts = branch.children[0], {each.data: each for each in trees(branch)}
        written = self.iri(with_graph) if isinstance(with_graph, Token) else None
        deleted = parts.get("delete_clause")
        if deleted is not None:
            self._check_no_blank_nodes(deleted)
        used = trees(parts["using"])
        deletes = () if deleted is None else self._deleted(trees(deleted)[0], self.quads)
        inserts = self.quads(trees(parts["insert_clause"])[0]) if "insert_clause" in parts else ()
        return Modify(
            deletes,
            inserts,
            self.with_made_terms(self.group(parts["group"])),
            written,
            tuple(self.iri(tokens(each)[0]) for each in used if each.data == "using_graph"),
            tuple(self.iri(tokens(each)[0]) for each in used if each.data == "using_named"),
        )

    def _deleted(self, branch: Tree, read: Callable[[Tree], tuple[QuadPattern, ...]]) -> tuple[QuadPattern, ...]:
        """What is deleted: annotations without a reifier would make blank nodes."""
        before = self._blank_count
        found = read(branch)
        if self._blank_count > before:
            raise self.source.error(_NO_BLANK_NODES, offset(branch), "name the reifier: ~ :node")
        return found

    def _quads_pattern(self, branch: Tree) -> Node:
        """A template as a pattern, which is what DELETE WHERE matches."""
        node: Node = EMPTY
        for part in trees(branch):
            if part.data == "quads_graph":
                name = self.variable_or_iri(tokens(part)[0])
                steps = [step for block in trees(part) for step in self.triples_block(block)]
                node = join(node, Graph(name, with_steps(EMPTY, steps)))
            else:
                node = with_steps(node, self.triples_block(part))
        return node

    def _target(self, branch: Tree) -> GraphTarget:
        word, *names = tokens(branch)
        return self.iri(names[0]) if names else GraphKind(word.lower())

    def _graph(self, branch: Tree) -> Iri | None:
        name = tokens(branch)[-1]
        return None if name.type == "DEFAULT" else self.iri(name)

    # ---- templates

    def _graph_of(self, token: Token) -> Iri | Variable | BlankNode:
        if token.type == "BLANK_NODE_LABEL":
            raise self.source.error("a graph of an update is an IRI or a variable", offset(token))
        return super()._graph_of(token)

    def _data(self, branch: Tree) -> tuple[QuadPattern, ...]:
        if (cells := _cells_of(branch)) is not None:
            return self._data_of_cells(cells)
        for token in _all_tokens(branch):
            if token.type == "VAR":
                raise self.source.error(f"data have no variables, and {token} is one", offset(token))
        return self.quads(trees(branch)[0])

    def _data_of_cells(self, cells: Cells) -> tuple[QuadPattern, ...]:
        """The triples of a long block of data, which has no brackets and no GRAPH."""
        terms, texts = self.cell_terms(cells), cells.texts
        with collector_paused():
            rows: Iterable[_Row]
            if not {*texts[3::4]} - {"."} and "," not in texts and ";" not in texts:
                rows = zip(terms[0::4], terms[1::4], terms[2::4], strict=True)
            else:
                rows = _rows_of(texts, terms)
            return tuple([QuadPattern(None, TriplePattern(*cast(_Terms, row))) for row in rows])

    def _check_no_blank_nodes(self, branch: Tree) -> None:
        if (cells := _cells_of(branch)) is not None:
            for number, text in enumerate(cells.texts):
                if text.startswith("_:"):
                    raise self.source.error(_NO_BLANK_NODES, cells.offset(number), "use a variable")
        for child in _all_children(branch):
            is_blank = child.data in _BLANK_NODES if isinstance(child, Tree) else child.type == "BLANK_NODE_LABEL"
            if is_blank:
                raise self.source.error(_NO_BLANK_NODES, offset(child), "use a variable")

    def _check_labels(self, branch: Tree, number: int) -> None:
        """A label stands in one INSERT DATA only."""
        if (cells := _cells_of(branch)) is not None:
            for text in dict.fromkeys(cells.texts):
                if text.startswith("_:") and self._data_labels.setdefault(text[2:], number) != number:
                    message = f"the blank node {text} is used in another INSERT DATA already"
                    raise self.source.error(message, cells.offset(cells.texts.index(text)))
            return
        for token in _all_tokens(branch):
            if token.type == "BLANK_NODE_LABEL" and self._data_labels.setdefault(token[2:], number) != number:
                message = f"the blank node {token} is used in another INSERT DATA already"
                raise self.source.error(message, offset(token))


def _cells_of(branch: Tree) -> Cells | None:
    """The cells of INSERT DATA or DELETE DATA, where the data are long and plain."""
    (quads,) = trees(branch)
    first = quads.children[0] if quads.children else None
    return first if isinstance(first, Cells) else None


def _rows_of(texts: list[str], terms: list[Term | None]) -> Iterator[_Row]:
    """The triples of cells with punctuation: `.` ends a subject, `;` a predicate, `,` an object."""
    subject = predicate = None
    place = 0  # of the next term in its triple
    for text, term in zip(texts, terms, strict=True):
        if text == ".":
            place = 0
        elif text == ";":
            place = 1
        elif text == ",":
            place = 2
        elif place == 0:
            subject, place = term, 1
        elif place == 1:
            predicate, place = term, 2
        else:
            yield subject, predicate, term


def _is_silent(branch: Tree) -> bool:
    return any(token.type == "SILENT" for token in tokens(branch))


def _all_children(branch: Tree) -> Iterator[Child]:
    """What stands in a tree, at any depth, in order."""
    waiting: list[Child | None] = [branch]
    while waiting:
        child = waiting.pop()
        if child is not None:
            yield child
        if isinstance(child, Tree):
            waiting += reversed(child.children)


def _all_tokens(branch: Tree) -> Iterator[Token]:
    return (child for child in _all_children(branch) if isinstance(child, Token))
