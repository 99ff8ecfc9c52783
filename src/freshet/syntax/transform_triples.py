"""Triples and property paths (sections 4.2 and 9), in patterns and in templates."""

from __future__ import annotations

from abc import ABC

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedPropertySet,
    Path,
    PathPattern,
    PatternTerm,
    QuadPattern,
    Repeat,
    Sequence,
    TriplePattern,
)
from freshet.rdf.deadline import current
from freshet.rdf.terms import BlankNode, Iri
from freshet.syntax.source import Source
from freshet.syntax.transform_expressions import ExpressionTransformer, chain
from freshet.syntax.transform_terms import RDF_FIRST, RDF_NIL, RDF_REST
from freshet.syntax.tree import Child, Token, Tree, offset, tokens, trees

Step = TriplePattern | PathPattern


class TripleTransformer(ExpressionTransformer, ABC):
    """Reads triples. Blank nodes are variables of Freshet's own in a pattern, and stay what they are in a template.

    `basic_graph_pattern` numbers the basic graph pattern being read: a label belongs to the first that has it.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.basic_graph_pattern = 0
        self._labels: dict[str, int] = {}
        self._blank_count = 0
        self._path_count = 0
        self._in_template = False

    def triples_block(self, branch: Tree) -> list[Step]:
        """The triple patterns and path patterns of one block, in order."""
        return [step for triples in trees(branch) for step in self._triples(triples)]

    def quads(self, branch: Tree) -> tuple[QuadPattern, ...]:
        """The triples of a template; its blank node labels belong to all of its graphs."""
        found: list[QuadPattern] = []
        self._in_template = True
        for part in trees(branch):
            is_graph = part.data == "quads_graph"
            graph = self._graph_of(tokens(part)[0]) if is_graph else None
            steps = [step for block in (trees(part) if is_graph else [part]) for step in self.triples_block(block)]
            found += [QuadPattern(graph, step) for step in steps if isinstance(step, TriplePattern)]
        self._in_template = False
        return tuple(found)

    def _graph_of(self, token: Token) -> Iri | Variable | BlankNode:
        if token.type != "BLANK_NODE_LABEL":
            return self.variable_or_iri(token)
        return BlankNode(token[2:])

    def _triples(self, branch: Tree) -> list[Step]:
        current().check()  # there may be a million of them
        head, *lists = branch.children
        subject, steps = self._node(head)
        for properties in lists:
            assert not isinstance(properties, Token)
            steps += self._properties(subject, properties)
        return steps

    def _properties(self, subject: PatternTerm, branch: Tree) -> list[Step]:
        steps: list[Step] = []
        for each in trees(branch):
            child, *objects = each.children
            verb = self._verb(child)
            for node in objects:
                term, inner = self._node(node)
                steps += self._connect(subject, verb, term)
                steps += inner
        return steps

    def _node(self, child: Child) -> tuple[PatternTerm, list[Step]]:
        """A term, and the triples that its syntax stands for."""
        if isinstance(child, Token):
            match child.type:
                case "VAR":
                    return self.variable(child), []
                case "BLANK_NODE_LABEL":
                    return self._labelled(child), []
                case _:
                    return self.constant(child), []
        match child.data:
            case "nil":
                return RDF_NIL, []
            case "anon":
                return self._fresh_blank(), []
            case "blank_node_property_list":
                subject = self._fresh_blank()
                return subject, self._properties(subject, trees(child)[0])
            case "collection":
                return self._collection(child)
            case _:
                return self.literal(child), []

    def _collection(self, branch: Tree) -> tuple[PatternTerm, list[Step]]:
        cells = [self._fresh_blank() for _ in branch.children]
        steps: list[Step] = []
        for cell, following, child in zip(cells, [*cells[1:], RDF_NIL], branch.children, strict=True):
            member, inner = self._node(child)
            steps += [TriplePattern(cell, RDF_FIRST, member), *inner, TriplePattern(cell, RDF_REST, following)]
        return cells[0], steps

    def _fresh_blank(self) -> PatternTerm:
        name = f".b{self._blank_count}"
        self._blank_count += 1
        return BlankNode(name) if self._in_template else Variable(name)

    def _labelled(self, token: Token) -> PatternTerm:
        label = token[2:]
        if self._in_template:
            return BlankNode(label)
        if self._labels.setdefault(label, self.basic_graph_pattern) != self.basic_graph_pattern:
            message = f"the blank node {token} is used in another group or basic graph pattern already"
            raise self.source.error(message, offset(token), "use a variable to join patterns")
        return Variable(f"._{label}")

    # ---- property paths

    def _verb(self, child: Child) -> Variable | Path:
        if isinstance(child, Token) and child.type == "VAR":
            return self.variable(child)
        path = self._path(child)
        if self._in_template and not isinstance(path, Link):
            raise self.source.error("a template cannot have property paths", offset(child))
        return path

    def _connect(self, subject: PatternTerm, verb: Variable | Path, object_: PatternTerm) -> list[Step]:
        if isinstance(verb, Variable):
            return [TriplePattern(subject, verb, object_)]
        return self._expand(subject, verb, object_)

    def _expand(self, subject: PatternTerm, path: Path, object_: PatternTerm) -> list[Step]:
        """Section 18.2.2.4: what a path can be without being a path."""
        match path:
            case Link(predicate):
                return [TriplePattern(subject, predicate, object_)]
            case Inverse(inner):
                return self._expand(object_, inner, subject)
            case Sequence(left, right):
                between = Variable(f".p{self._path_count}")
                self._path_count += 1
                return [*self._expand(subject, left, between), *self._expand(between, right, object_)]
            case _:
                return [PathPattern(subject, path, object_)]

    def _path(self, child: Child) -> Path:
        if isinstance(child, Token):
            return Link(self.iri(child))
        match child.data:
            case "path_alternative":
                return chain(Alternative, [self._path(each) for each in child.children])
            case "path_sequence":
                return chain(Sequence, [self._path(each) for each in child.children])
            case "path_inverse":
                return Inverse(self._path(child.children[0]))
            case "path_repeat":
                path, sign = child.children
                return Repeat(self._path(path), least=1 if sign == "+" else 0, once=sign == "?")
            case _:
                return self._negated_property_set(child)

    def _negated_property_set(self, branch: Tree) -> Path:
        backward = [tokens(inverse)[0] for inverse in trees(branch)]
        return NegatedPropertySet(
            tuple(self.iri(token) for token in tokens(branch)),
            tuple(self.iri(token) for token in backward),
        )
