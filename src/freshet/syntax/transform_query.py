"""Whole queries: their form, datasets, windows and registration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import (
    Node,
    QuadPattern,
    Query,
    QueryForm,
    StreamOperator,
    TriplePattern,
    Window,
)
from freshet.algebra.scope import visible_variables
from freshet.rdf.terms import Iri
from freshet.syntax.dialects import Dialect
from freshet.syntax.transform_patterns import EMPTY, with_steps
from freshet.syntax.transform_solutions import SolutionTransformer
from freshet.syntax.tree import Token, Tree, offset, tokens, trees

_COMPARISONS = {"ACCURACY": ">=", "LATENCY": "<="}


@dataclass(frozen=True, slots=True)
class RegisterClause:
    """What REGISTER says."""

    name: str | None = None
    output: StreamOperator | None = None
    period_ms: int | None = None


class QueryTransformer(SolutionTransformer):
    """Reads the parse tree of a whole query."""

    _implicit_window: Iri | None = None

    def query(self, branch: Tree) -> Query:
        """The query that the tree is of."""
        before, register, after, body = branch.children
        for prologue in (before, after):
            if isinstance(prologue, Tree):
                self.prologue(prologue)
        registered = self._register(register) if isinstance(register, Tree) else RegisterClause()
        assert isinstance(body, Tree)
        datasets = next(tree for tree in trees(body) if tree.data == "datasets")
        self._declare_windows(datasets, body)
        query = self._form(body)
        output = self._stream_operator(body) or registered.output  # once the windows of CQELS-QL are known too
        if registered.period_ms is not None and self.dialect is Dialect.CQELS:
            message = "COMPUTED EVERY is for windows that close, and those of CQELS-QL move with every element"
            assert isinstance(register, Tree)
            raise self.source.error(message, offset(trees(register)[-1]))
        accuracy, latency_ms = self._constraints(datasets)
        return replace(
            query,
            name=registered.name,
            output=output or (StreamOperator.ISTREAM if self.dialect is Dialect.CQELS else StreamOperator.RSTREAM),
            windows=tuple(self.windows.values()),
            merged=self.dialect in (Dialect.CSPARQL, Dialect.SPARQLSTREAM) and bool(self.windows) and self.merges,
            period_ms=registered.period_ms,
            accuracy=accuracy,
            latency_ms=latency_ms,
            default_graphs=self._graphs(datasets, "from_graph"),
            named_graphs=self._graphs(datasets, "from_named"),
            base=self.base,
            prefixes=tuple(self.prefixes.items()),
        )

    def _register(self, branch: Tree) -> RegisterClause:
        if self.dialect is Dialect.SPARQL:
            raise self.source.error("REGISTER is not SPARQL 1.1, as which the query is to be read", offset(branch))
        *operators, name, computed = branch.children
        assert isinstance(name, Token)
        chosen = self.iri(name).value if name.type in ("IRIREF", "PNAME") else str(name)
        output = None
        if branch.data == "register":
            (operator,) = operators
            assert isinstance(operator, Tree)
            output = StreamOperator(tokens(operator)[0].lower())  # of RSP-QL, and others take it too
        return RegisterClause(chosen, output, self.period_ms(computed) if isinstance(computed, Tree) else None)

    def _stream_operator(self, body: Tree) -> StreamOperator | None:
        """`SELECT ISTREAM ...`, `CONSTRUCT ISTREAM ...`"""
        clause = body.children[0]
        if isinstance(clause, Tree) and clause.data == "stream_select_clause":
            clause = clause.children[0]
        if not isinstance(clause, Tree) or clause.data != "stream_operator":
            return None
        word = tokens(clause)[0]
        if not self.windows:
            raise self.source.error(
                f"{word.upper()} is for continuous queries, and this one has no window", offset(clause)
            )
        return StreamOperator(word.lower())

    def _constraints(self, branch: Tree) -> tuple[float | None, int | None]:
        """`WITH ACCURACY >= 0.75` and `WITH LATENCY <= 200 ms`"""
        found: dict[str, float | int] = {}
        for clause in (each for each in trees(branch) if each.data == "constraint"):
            word, comparison, *_ = tokens(clause)
            what = word.upper()
            if not self.windows:
                message = f"WITH {what} is for continuous queries, and this one has no window"
                raise self.source.error(message, offset(clause))
            if what in found:
                raise self.source.error(f"WITH {what} stands twice", offset(clause))
            if comparison != _COMPARISONS[what]:
                raise self.source.error(f"WITH {what} takes {_COMPARISONS[what]}", offset(comparison))
            found[what] = self._latency_ms(clause) if what == "LATENCY" else self._accuracy(clause)
        latency_ms = found.get("LATENCY")
        return found.get("ACCURACY"), None if latency_ms is None else int(latency_ms)

    def _accuracy(self, clause: Tree) -> float:
        number = clause.children[-1]
        if not isinstance(number, Token):
            raise self.source.error("WITH ACCURACY takes a number such as 0.75", offset(clause))
        if not 0 < float(number) <= 1:
            raise self.source.error(f"an accuracy is more than 0 and at most 1, not {number}", offset(number))
        return float(number)

    def _latency_ms(self, clause: Tree) -> int:
        duration = clause.children[-1]
        if not isinstance(duration, Tree):
            raise self.source.error("WITH LATENCY takes a duration such as 200ms", offset(clause))
        return self._duration_ms(duration, "LATENCY")

    def _declare_windows(self, branch: Tree, body: Tree) -> None:
        """The windows of the clauses before the pattern."""
        has_stream_patterns = _has(body, "declared_stream")
        only_stream = _only_instant_stream(branch)
        for clause in trees(branch):
            if clause.data in ("window_declaration", "window_declaration_as"):
                self.declare_window(clause)
            elif clause.data == "stream_declaration" and (has_stream_patterns or clause is only_stream):
                construct = "STREAM name { }" if has_stream_patterns else "this window of FROM STREAM"
                name = self.declare_cqels_stream(clause, construct)
                self._implicit_window = None if has_stream_patterns else name
            elif clause.data in ("stream_declaration", "named_stream_declaration"):
                self.declare_stream(clause)
            elif clause.data == "lookup" or (clause.data == "from_graph" and tokens(clause)[0].type == "STATIC"):
                self.mark(Dialect.CQELS, f"{tokens(clause)[0].upper()}", clause)

    def _where(self, branch: Tree) -> Node:
        """The pattern; in CQELS-QL all of it is of the one stream that there is, unless it says which part is."""
        if self._implicit_window is None:
            return self.group(branch)
        return self._in_implicit_window(self.group(branch))

    def _in_implicit_window(self, pattern: Node) -> Node:
        return pattern if self._implicit_window is None else Window(self._implicit_window, pattern)

    def _form(self, branch: Tree) -> Query:
        """The query without what stands before its pattern."""
        children, values = [tree for tree in trees(branch) if tree.data != "stream_operator"], branch.children[-1]
        modifiers = next(child for child in children if child.data == "modifiers")
        match branch.data:
            case "select_query":
                return Query(QueryForm.SELECT, self.select(children[0], self._where(children[2]), modifiers, values))
            case "ask_query":
                return Query(QueryForm.ASK, self.modified(self._where(children[1]), modifiers, values))
            case "construct_query":
                template = _template(self.quads(children[0]))
                root = self.with_made_terms(self.modified(self._where(children[2]), modifiers, values))
                return Query(QueryForm.CONSTRUCT, root, template=template)
            case "construct_where_query":
                template = _template(self.quads(children[1]))
                pattern = self._in_implicit_window(self._template_pattern(children[1]))
                root = self.with_made_terms(self.modified(pattern, modifiers, values))
                return Query(QueryForm.CONSTRUCT, root, template=template)
            case _:
                pattern = self._where(children[2]) if children[2].data == "group" else EMPTY
                resources = self._resources(children[0], pattern)
                return Query(QueryForm.DESCRIBE, self.modified(pattern, modifiers, values), resources=resources)

    def _template_pattern(self, branch: Tree) -> Node:
        """The pattern of CONSTRUCT WHERE: its template once more, where paths have been refused already."""
        graph = next((part for part in trees(branch) if part.data == "quads_graph"), None)
        if graph is not None:
            hint = "CONSTRUCT WHERE has no GRAPH: write CONSTRUCT { ... } WHERE { GRAPH ... }"
            raise self.source.error(hint, offset(graph))
        steps = [step for block in trees(branch) for step in self.triples_block(block)]
        return with_steps(EMPTY, steps)

    def _resources(self, branch: Tree, pattern: Node) -> tuple[Iri | Variable, ...]:
        names = tokens(branch)
        if names[0].type == "STAR":
            return visible_variables(pattern)
        return tuple(dict.fromkeys(self.variable_or_iri(name) for name in names))

    def _graphs(self, branch: Tree, kind: str) -> tuple[Iri, ...]:
        found = [tokens(clause)[-1] for clause in trees(branch) if clause.data == kind]
        return tuple(dict.fromkeys(self.iri(token) for token in found))


def _template(quads: Iterable[QuadPattern]) -> tuple[TriplePattern | QuadPattern, ...]:
    return tuple(quad.triple if quad.graph is None else quad for quad in quads)


def _only_instant_stream(datasets: Tree) -> Tree | None:
    """The one FROM STREAM of a query without FROM, if its window moves with every element, as only CQELS-QL's do."""
    clauses = [clause for clause in trees(datasets) if clause.data not in ("constraint", "lookup")]
    if len(clauses) != 1 or clauses[0].data != "stream_declaration":
        return None
    is_instant = trees(clauses[0])[0].data in ("now_window", "triples_window", "all_window")
    return clauses[0] if is_instant else None


def _has(branch: Tree, data: str) -> bool:
    return any(child.data == data or _has(child, data) for child in trees(branch))
