"""Group graph patterns to algebra (section 18.2.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import groupby, repeat
from typing import cast

from freshet.algebra.expressions import And, Expression, Variable
from freshet.algebra.nodes import (
    BGP,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    PathPattern,
    Service,
    TriplePattern,
    Union,
    Values,
    Window,
)
from freshet.algebra.scope import variables_in_scope
from freshet.rdf.collector import collector_paused
from freshet.rdf.deadline import current
from freshet.rdf.errors import QuerySyntaxError
from freshet.rdf.ids import XSD_INTEGER
from freshet.rdf.terms import Iri, Literal, Term
from freshet.syntax.dialects import Dialect
from freshet.syntax.source import Source
from freshet.syntax.transform_expressions import chain
from freshet.syntax.transform_triples import Step
from freshet.syntax.transform_windows import WindowTransformer
from freshet.syntax.tree import Cells, Child, Token, Tree, offset, tokens, trees
from freshet.syntax.triple_terms import TripleTermStep, matched

_LONG_QUOTES = ('"""', "'''")
_PUNCTUATION = "().,;"
_CELLS_AT_ONCE = 1 << 14  # between two looks at the deadline

EMPTY = BGP(())


def join(left: Node, right: Node) -> Node:
    """Join, where the empty pattern adds nothing (section 18.2.2.8)."""
    if left == EMPTY:
        return right
    return left if right == EMPTY else Join(left, right)


def with_filters(node: Node, conditions: list[Expression]) -> Node:
    """The filters of a group hold for the whole of it, so they are one condition on top."""
    return Filter(chain(And, conditions), node) if conditions else node


class PatternTransformer(WindowTransformer, ABC):
    """Reads graph patterns."""

    def __init__(self, source: Source, dialect: Dialect | None = None) -> None:
        super().__init__(source, dialect)
        self._basic_graph_patterns = 0

    @abstractmethod
    def sub_select(self, branch: Tree) -> Node:
        """A SELECT inside a pattern."""

    def group(self, branch: Tree) -> Node:
        """`{ ... }`"""
        return with_filters(*self._elements(branch))

    def _elements(self, branch: Tree) -> tuple[Node, list[Expression]]:
        """A group before its filters, and its filters: OPTIONAL needs them apart."""
        outer, self.grouping = self.grouping, None
        node: Node = EMPTY
        steps: list[Step] = []
        conditions: list[Expression] = []
        current = self._begin_basic_graph_pattern()
        for element in trees(branch):
            if element.data == "triples_block":
                self.basic_graph_pattern = current
                steps += self.triples_block(element)
            elif element.data == "filter":
                conditions.append(self.expression(element.children[0]))
            else:
                node = self._add(with_steps(node, steps), element)
                steps = []
                current = self._begin_basic_graph_pattern()
        self.grouping = outer
        return with_steps(node, steps), conditions

    def _begin_basic_graph_pattern(self) -> int:
        self._basic_graph_patterns += 1
        return self._basic_graph_patterns

    def _add(self, node: Node, element: Tree) -> Node:
        """Section 18.2.2.6: one more element of a group."""
        match element.data:
            case "optional":
                inner, conditions = self._elements(trees(element)[0])
                return LeftJoin(node, inner, chain(And, conditions) if conditions else None)
            case "minus":
                return Minus(node, self.group(trees(element)[0]))
            case "bind":
                return self._bind(node, element)
            case _:
                return join(node, self._pattern(element))

    def _pattern(self, branch: Tree) -> Node:
        match branch.data:
            case "group":
                return self.group(branch)
            case "union":
                return chain(Union, [self.group(child) for child in trees(branch)])
            case "graph":
                return Graph(self.variable_or_iri(tokens(branch)[0]), self.group(trees(branch)[0]))
            case "window":
                self.mark(Dialect.RSPQL, "WINDOW", branch)
                token = tokens(branch)[0]
                name = self._window_name(token)
                return Window(name, self.group(trees(branch)[0]), self._stream_variable(token))
            case "stream":
                name, variable = self.stream_window(branch)
                return Window(name, self.group(trees(branch)[-1]), variable)
            case "declared_stream":
                return Window(self.declared_stream(branch), self.group(trees(branch)[-1]))
            case "service":
                silent, endpoint, child = branch.children
                assert isinstance(endpoint, Token)
                assert isinstance(child, Tree)
                return Service(self.variable_or_iri(endpoint), self.group(child), silent is not None)
            case "values":
                return self.values(branch)
            case _:
                return self.sub_select(branch)

    def _bind(self, node: Node, branch: Tree) -> Node:
        child, token = branch.children
        assert isinstance(token, Token)
        expression, variable = self.expression(child), self.variable(token)
        if variable in variables_in_scope(node):
            raise self.source.error(f"{variable} is bound in this group already", offset(token))
        return Extend(node, variable, expression)

    def _window_name(self, token: Token) -> Iri | Variable:
        name = self.variable_or_iri(token)
        if isinstance(name, Iri) and name not in self.windows:
            hint = f"declare it with FROM NAMED WINDOW {token} ON <stream> [RANGE PT10S STEP PT5S]"
            raise self.source.error(f"the window {token} is not declared", offset(token), hint)
        if not self.windows:
            raise self.source.error("the query declares no window", offset(token))
        return name

    def _stream_variable(self, token: Token) -> Variable | None:
        """The variable of `FROM NAMED WINDOW name ON ?stream [...]`."""
        name = self.variable_or_iri(token)
        if isinstance(name, Iri):
            stream = self.windows[name].window.stream
            return stream if isinstance(stream, Variable) else None
        if any(isinstance(declared.window.stream, Variable) for declared in self.windows.values()):
            raise self.source.unsupported(f"WINDOW {token} with windows on any stream is not supported", offset(token))
        return None

    def values(self, branch: Tree) -> Values:
        """Inline data."""
        data = trees(branch)[0]
        if data.data == "one_variable":
            name, *cells = data.children
            assert isinstance(name, Token)
            if cells and isinstance(cells[0], Cells):
                return Values((self.variable(name),), tuple(zip(self.cell_terms(cells[0]), strict=True)))
            return Values((self.variable(name),), tuple((self._cell(cell),) for cell in cells))
        names, *rows = trees(data)
        variables = self._distinct_variables(names)
        if isinstance(data.children[-1], Cells):
            return Values(variables, self._rows(data.children[-1], len(variables)))
        for row in rows:
            if len(row.children) != len(variables):
                message = f"values in this row: {len(row.children)}, variables: {len(variables)}"
                raise self.source.error(message, offset(row))
        return Values(variables, tuple(tuple(self._cell(cell) for cell in row.children) for row in rows))

    def _rows(self, cells: Cells, width: int) -> tuple[tuple[Term | None, ...], ...]:
        """The rows of a long VALUES."""
        step, texts = width + 2, cells.texts
        if len(texts) % step or {*texts[::step]} - {"("} or {*texts[width + 1 :: step]} - {")"}:
            ends = [at for at, text in enumerate(texts) if text == ")"]
            first = 0
            for end in ends:
                if end - first != width + 1:
                    message = f"values in this row: {end - first - 1}, variables: {width}"
                    raise self.source.error(message, cells.offset(first))
                first = end + 1
        terms = self.cell_terms(cells)
        columns = [terms[at + 1 :: step] for at in range(width)]
        with collector_paused():
            return tuple(zip(*columns, strict=True)) if width else ((),) * (len(texts) // step)

    def cell_terms(self, cells: Cells) -> list[Term | None]:
        """What cells are, each different text read once; punctuation is nothing."""
        with collector_paused():
            known: dict[str, Term | None] = dict.fromkeys(_PUNCTUATION)
            texts, deadline = [text for text in dict.fromkeys(cells.texts) if text not in known], current()
            for first in range(0, len(texts), _CELLS_AT_ONCE):
                deadline.check()
                self._read_cells(texts[first : first + _CELLS_AT_ONCE], cells, known)
            return list(map(known.__getitem__, cells.texts))

    def _read_cells(self, texts: list[str], cells: Cells, known: dict[str, Term | None]) -> None:
        """Read different texts: those that cannot be wrong by kinds, the others in order."""
        plain = [text for text in texts if "\\" not in text] if "\\" in cells else texts
        iris = [text for text in plain if text[0] == "<"] if self.base is None else []
        known.update(zip(iris, map(Iri, [text[1:-1] for text in iris]), strict=True))
        integers = [text for text in plain if text.isdecimal() and text.isascii()]
        known.update(zip(integers, map(Literal, integers, repeat(XSD_INTEGER)), strict=False))
        if len(iris) + len(integers) == len(texts):
            return
        prefixes = self.prefixes
        kinds: dict[str, tuple[Iri, str | None, str | None]] = {}  # what datatypes and languages stand for
        for text in texts:
            if text in known:
                continue
            if "\\" in text or text[:3] in _LONG_QUOTES:
                known[text] = self._cell_text(text, cells)
            elif text[0] == '"':
                end = text.rindex('"')
                if (kind := kinds.get(text[end:])) is None:
                    first = cast(Literal, self._cell_text(text, cells))
                    kind = kinds[text[end:]] = first.datatype, first.language, first.direction
                known[text] = Literal(text[1:end], *kind)
            else:
                prefix, colon, local = text.partition(":")
                is_name = colon and prefix in prefixes
                known[text] = Iri(prefixes[prefix] + local) if is_name else self._cell_text(text, cells)

    def _cell_text(self, text: str, cells: Cells) -> Term | None:
        try:
            return self.cell(text, 0)
        except QuerySyntaxError:  # once more, with its place, which takes long to find
            return self.cell(text, cells.offset(cells.texts.index(text)))

    def _distinct_variables(self, branch: Tree) -> tuple[Variable, ...]:
        variables: dict[Variable, None] = {}
        for token in tokens(branch):
            variable = self.variable(token)
            if variable in variables:
                raise self.source.error(f"{variable} stands twice in VALUES", offset(token))
            variables[variable] = None
        return tuple(variables)

    def _cell(self, child: Child) -> Term | None:
        return None if isinstance(child, Token) and child.type == "UNDEF" else self.constant(child)


def with_steps(node: Node, steps: list[Step]) -> Node:
    """Adjacent triple patterns are one basic graph pattern; a path stands by itself."""
    for is_path, run in groupby(steps, key=lambda step: isinstance(step, PathPattern)):
        steps = list(run)
        if is_path:
            for path in steps:
                assert isinstance(path, PathPattern)
                node = join(node, path)
        else:
            patterns = [step for step in steps if isinstance(step, TriplePattern)]
            node = join(node, matched(patterns, [step for step in steps if isinstance(step, TripleTermStep)]))
    return node
