"""Triples and property paths (sections 4.2 and 9), in patterns and in templates."""

from __future__ import annotations

from abc import ABC

from freshet.algebra.expressions import Call, Expression, Variable
from freshet.algebra.nodes import (
    Alternative,
    Extend,
    Inverse,
    Link,
    NegatedPropertySet,
    Node,
    Path,
    PathPattern,
    PatternTerm,
    QuadPattern,
    Repeat,
    Sequence,
    TriplePattern,
)
from freshet.rdf.deadline import current
from freshet.rdf.terms import RDF_REIFIES, BlankNode, Iri, TripleTerm
from freshet.syntax.source import Source
from freshet.syntax.transform_expressions import ExpressionTransformer, chain
from freshet.syntax.transform_terms import RDF_FIRST, RDF_NIL, RDF_REST
from freshet.syntax.tree import Child, Token, Tree, offset, tokens, trees
from freshet.syntax.triple_terms import TripleTermPattern, TripleTermStep, made, triple_term

Step = TriplePattern | PathPattern | TripleTermStep


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
        self._triple_term_count = 0
        # Of templates: what makes triple terms that are not the same in every solution, and the variables of blank
        # nodes in them.
        self._made_terms: list[tuple[Variable, Expression]] = []
        self._made_nodes: dict[str, Variable] = {}

    def triples_block(self, branch: Tree) -> list[Step]:
        """The triple patterns and path patterns of one block, in order."""
        return [step for triples in trees(branch) for step in self._triples(triples)]

    def quads(self, branch: Tree) -> tuple[QuadPattern, ...]:
        """The triples of a template; its blank node labels belong to all of its graphs."""
        found: list[QuadPattern] = []
        self._made_nodes = {}
        self._in_template = True
        for part in trees(branch):
            is_graph = part.data == "quads_graph"
            graph = self._graph_of(tokens(part)[0]) if is_graph else None
            steps = [step for block in (trees(part) if is_graph else [part]) for step in self.triples_block(block)]
            found += [QuadPattern(graph, step) for step in steps if isinstance(step, TriplePattern)]
        self._in_template = False
        self._made_terms[:0] = [(variable, Call("BNODE", ())) for variable in self._made_nodes.values()]
        return tuple(self._with_made_nodes(quad) for quad in found) if self._made_nodes else tuple(found)

    def _with_made_nodes(self, quad: QuadPattern) -> QuadPattern:
        """A quad in which the blank nodes that are in triple terms too are variables."""

        def term(each: PatternTerm) -> PatternTerm:
            return self._made_nodes.get(each.label, each) if isinstance(each, BlankNode) else each

        triple = quad.triple
        return QuadPattern(quad.graph, TriplePattern(term(triple.subject), triple.predicate, term(triple.object)))

    def with_made_terms(self, node: Node) -> Node:
        """The pattern of templates that have been read, with the triple terms that they make of a solution."""
        for variable, expression in self._made_terms:
            node = Extend(node, variable, expression)
        self._made_terms = []
        return node

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
            term: PatternTerm = subject
            reifier: PatternTerm | None = None  # that an annotation is about
            for node in objects:
                if isinstance(node, Token) or node.data not in ("reifier", "annotation"):
                    term, inner = self._node(node)
                    steps += self._connect(subject, verb, term)
                    steps += inner
                    reifier = None
                elif node.data == "reifier" or reifier is None:
                    reifier = self._reifier(node if node.data == "reifier" else None)
                    steps += self._reified(subject, self._simple(verb, node), term, reifier)
                if isinstance(node, Tree) and node.data == "annotation":
                    assert reifier is not None
                    steps += self._properties(reifier, trees(node)[0])
                    reifier = None
        return steps

    # ---- triple terms and reifiers (RDF 1.2)

    def _simple(self, verb: Variable | Path, child: Child) -> PatternTerm:
        """The predicate of a triple that is annotated."""
        if isinstance(verb, Variable):
            return verb
        if not isinstance(verb, Link):
            raise self.source.error("a property path cannot be annotated: it is no triple", offset(child))
        return verb.predicate

    def _reifier(self, branch: Tree | None) -> PatternTerm:
        """The node of `~ node`, a new one where there is none."""
        if branch is None or not branch.children:
            return self._fresh_blank()
        term, _ = self._node(branch.children[0])
        return term

    def _reified(
        self,
        subject: PatternTerm | TripleTermPattern,
        predicate: PatternTerm,
        object_: PatternTerm | TripleTermPattern,
        reifier: PatternTerm,
    ) -> list[Step]:
        term, steps = self._as_term(triple_term(subject, predicate, object_))
        return [TriplePattern(reifier, RDF_REIFIES, term), *steps]

    def _as_term(self, term: TripleTerm | TripleTermPattern) -> tuple[PatternTerm, list[Step]]:
        """A triple term as a term of a pattern or template: where it has variables, one of Freshet's own."""
        if isinstance(term, TripleTerm):
            return term, []
        variable = Variable(f".t{self._triple_term_count}")
        self._triple_term_count += 1
        if self._in_template:
            self._made_terms.append((variable, made(term, self._made_nodes)))
            return variable, []
        return variable, [TripleTermStep(variable, term)]

    def _reified_triple(self, branch: Tree) -> tuple[PatternTerm, list[Step]]:
        """`<< s p o ~ r >>` is r, of which it is said that it reifies the triple."""
        parts = [child for child in branch.children if isinstance(child, Token) or child.data != "reifier"]
        subject, predicate, object_ = parts
        steps: list[Step] = []
        ends: list[PatternTerm | TripleTermPattern] = []
        for part in (subject, object_):
            if isinstance(part, Tree) and part.data == "triple_term":
                ends.append(self._pattern_triple_term(part))
                continue
            term, inner = self._node(part)
            ends.append(term)
            steps += inner
        assert isinstance(predicate, Token)
        written = next((each for each in trees(branch) if each.data == "reifier"), None)
        reifier = self._reifier(written)
        return reifier, [*self._reified(ends[0], self._simple_verb(predicate), ends[1], reifier), *steps]

    def _simple_verb(self, token: Token) -> Variable | Iri:
        return self.variable(token) if token.type == "VAR" else self.iri(token)

    def _pattern_triple_term(self, branch: Tree) -> TripleTerm | TripleTermPattern:
        subject, predicate, object_ = branch.children
        assert isinstance(predicate, Token)
        return triple_term(self._part(subject), self._simple_verb(predicate), self._part(object_))

    def _part(self, child: Child) -> PatternTerm | TripleTermPattern:
        """A part of a triple term."""
        if isinstance(child, Tree) and child.data == "triple_term":
            return self._pattern_triple_term(child)
        return self._node(child)[0]

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
            case "triple_term":
                return self._as_term(self._pattern_triple_term(child))
            case "reified_triple":
                return self._reified_triple(child)
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
