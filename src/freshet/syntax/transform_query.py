"""Whole queries: their form, datasets, windows and registration."""

from __future__ import annotations

from dataclasses import replace

from lark import Token, Tree

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Node, Query, QueryForm, StreamOperator, TriplePattern
from freshet.algebra.scope import visible_variables
from freshet.algebra.windows import SlidingWindow, WindowDeclaration
from freshet.rdf.terms import Iri
from freshet.syntax.durations import duration_ms
from freshet.syntax.transform_patterns import EMPTY
from freshet.syntax.transform_solutions import SolutionTransformer
from freshet.syntax.transform_terms import Branch, Part, offset, tokens, trees


class QueryTransformer(SolutionTransformer):
    """Reads the parse tree of a whole query."""

    def query(self, branch: Branch) -> Query:
        """The query that the tree is of."""
        before, register, after, body = branch.children
        for prologue in (before, after):
            if isinstance(prologue, Tree):
                self.prologue(prologue)
        name, output = self._register(register) if isinstance(register, Tree) else (None, StreamOperator.RSTREAM)
        assert isinstance(body, Tree)
        datasets = next(tree for tree in trees(body) if tree.data == "datasets")
        windows = self._windows(datasets)
        return replace(
            self._form(body),
            name=name,
            output=output,
            windows=windows,
            default_graphs=self._graphs(datasets, "from_graph"),
            named_graphs=self._graphs(datasets, "from_named"),
            base=self.base,
            prefixes=tuple(self.prefixes.items()),
        )

    def _register(self, branch: Branch) -> tuple[str, StreamOperator]:
        operator, name = branch.children
        assert isinstance(operator, Tree)
        assert isinstance(name, Token)
        return self.iri(name).value, StreamOperator(tokens(operator)[0].lower())

    def _form(self, branch: Branch) -> Query:
        """The query without what stands before its pattern."""
        parts, values = trees(branch), branch.children[-1]
        modifiers = next(part for part in parts if part.data == "modifiers")
        match branch.data:
            case "select_query":
                return Query(QueryForm.SELECT, self.select(parts[0], self.group(parts[2]), modifiers, values))
            case "ask_query":
                return Query(QueryForm.ASK, self.modified(self.group(parts[1]), modifiers, values))
            case "construct_query":
                template = self.template(parts[0])
                root = self.modified(self.group(parts[2]), modifiers, values)
                return Query(QueryForm.CONSTRUCT, root, template=template)
            case "construct_where_query":
                template = self.template(parts[1])
                root = self.modified(self._template_pattern(parts[1]), modifiers, values)
                return Query(QueryForm.CONSTRUCT, root, template=template)
            case _:
                pattern = self.group(parts[2]) if parts[2].data == "group" else EMPTY
                resources = self._resources(parts[0], pattern)
                return Query(QueryForm.DESCRIBE, self.modified(pattern, modifiers, values), resources=resources)

    def _template_pattern(self, branch: Branch) -> Node:
        """The pattern of CONSTRUCT WHERE: its template once more, where paths have been refused already."""
        steps = [step for block in trees(branch) for step in self.triples_block(block)]
        return BGP(tuple(step for step in steps if isinstance(step, TriplePattern)))

    def _resources(self, branch: Branch, pattern: Node) -> tuple[Iri | Variable, ...]:
        names = tokens(branch)
        if names[0].type == "STAR":
            return visible_variables(pattern)
        return tuple(dict.fromkeys(self.variable_or_iri(name) for name in names))

    def _graphs(self, branch: Branch, kind: str) -> tuple[Iri, ...]:
        found = [tokens(clause)[0] for clause in trees(branch) if clause.data == kind]
        return tuple(dict.fromkeys(self.iri(token) for token in found))

    # ---- windows

    def _windows(self, branch: Branch) -> tuple[WindowDeclaration, ...]:
        declarations: list[WindowDeclaration] = []
        for clause in trees(branch):
            if clause.data != "window_declaration":
                continue
            name, stream = tokens(clause)
            window = self._sliding_window(self.iri(stream), trees(clause)[0])
            declared = WindowDeclaration(self.iri(name), window)
            if declared.name in self.window_names:
                raise self.source.error(f"the window {name} is declared already", offset(name))
            self.window_names.add(declared.name)
            declarations.append(declared)
        return tuple(declarations)

    def _sliding_window(self, stream: Iri, branch: Branch) -> SlidingWindow:
        if branch.data == "count_window":
            raise self.source.unsupported("count windows ([COUNT n]) are not supported yet", offset(branch))
        if branch.data == "sliding_window_by_predicate":
            message = "windows over the time that a predicate gives ([RANGE ... @predicate]) are not supported yet"
            raise self.source.unsupported(message, offset(trees(branch)[0]))
        width, slide = branch.children
        width_ms = self._duration_ms(width, "RANGE")
        return SlidingWindow(stream, width_ms, width_ms if slide is None else self._duration_ms(slide, "STEP"))

    def _duration_ms(self, part: Part, what: str) -> int:
        assert isinstance(part, Token)
        try:
            duration = duration_ms(part)
        except ValueError as problem:
            raise self.source.error(str(problem), offset(part)) from None
        if duration == 0:
            raise self.source.error(f"{what} must be longer than 0", offset(part))
        return duration
