"""Random graphs and random queries over them, as algebra, for one-shot evaluation.

Nothing is made on which pyoxigraph departs from the specification: ways of no steps from a term that the graph does not
hold, the number of ways of alternative paths, variables of GRAPH in places where it sees them
too early, VALUES and paths inside GRAPH.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from freshet.algebra.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Not,
    Or,
    Variable,
)
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedPropertySet,
    Node,
    Path,
    PathPattern,
    PatternTerm,
    Project,
    Query,
    QueryForm,
    Repeat,
    TriplePattern,
    Union,
    Values,
)
from freshet.algebra.nodes import (
    Sequence as PathSequence,
)
from freshet.algebra.scope import variables_in_scope
from freshet.rdf.ids import XSD_INTEGER
from freshet.rdf.terms import Iri, Literal, Term

EXAMPLE = "http://example.org/"
NODES = tuple(Iri(f"{EXAMPLE}n{number}") for number in range(6))
PREDICATES = tuple(Iri(f"{EXAMPLE}p{number}") for number in range(3))
NAMES = tuple(Iri(f"{EXAMPLE}g{number}") for number in range(2))
LITERALS = (*(Literal(str(number), XSD_INTEGER) for number in range(1, 4)), Literal("x"))
VARIABLES = tuple(map(Variable, "abcde"))

Quad = tuple[Iri, Iri, Term, Iri | None]


def random_quads(random: Random) -> list[Quad]:
    """A few triples in the default graph and fewer in named ones."""
    quads: list[Quad] = []
    for name, most in ((None, 18), *((name, 6) for name in NAMES)):
        for _ in range(random.randint(0, most)):
            object_ = random.choice(NODES if random.random() < 0.7 else LITERALS)
            quads.append((random.choice(NODES), random.choice(PREDICATES), object_, name))
    return quads


def random_query(random: Random) -> Query:
    """A SELECT query of everything that its pattern binds, or an ASK query."""
    return Queries(random).query()


class Queries:
    """Makes one query."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._fresh = 0
        self._in_graph = False

    def query(self) -> Query:
        root = self.pattern(self._random.choice((1, 2, 2, 3)))
        if self._random.random() < 0.1:
            return Query(QueryForm.ASK, root)
        variables = variables_in_scope(root)
        if not variables:
            root, variables = Extend(root, Variable("one"), Constant(LITERALS[0])), (Variable("one"),)
        selected: Node = Project(root, variables)
        return Query(QueryForm.SELECT, Distinct(selected) if self._random.random() < 0.2 else selected)

    def pattern(self, depth: int, *, plain: bool = False) -> Node:
        """A graph pattern; a plain one has neither MINUS nor a sub-select nor GRAPH in it."""
        if depth == 0:
            return self._leaf()
        kinds = [self._join, self._join, self._left_join, self._left_join, self._union, self._filter, self._filter]
        kinds += [self._extend] if plain else [self._minus, self._graph, self._sub_select, self._extend]
        return self._random.choice(kinds)(depth - 1, plain)

    # ---- leaves

    def _leaf(self) -> Node:
        kind = self._random.random()
        if kind < 0.15 and not self._in_graph:
            return self._values()
        if kind < 0.3 and not self._in_graph:
            return PathPattern(self._variable(), self._path(2), self._variable())
        return BGP(tuple(self._triple() for _ in range(self._random.choice((1, 1, 2, 3)))))

    def _triple(self) -> TriplePattern:
        predicate: PatternTerm = self._variable() if self._random.random() < 0.1 else self._random.choice(PREDICATES)
        return TriplePattern(self._end(NODES), predicate, self._end((*NODES, *LITERALS)))

    def _end(self, terms: Sequence[Term]) -> PatternTerm:
        return self._variable() if self._random.random() < 0.8 else self._random.choice(terms)

    def _variable(self) -> Variable:
        return self._random.choice(VARIABLES)

    def _path(self, depth: int) -> Path:
        kind = self._random.random() if depth else 0.0
        if kind < 0.3:
            return Link(self._random.choice(PREDICATES))
        if kind < 0.4:
            return NegatedPropertySet((self._random.choice(PREDICATES),))
        if kind < 0.55:
            return Inverse(self._path(depth - 1))
        if kind < 0.75:
            return PathSequence(self._path(depth - 1), self._path(depth - 1))
        least, once = self._random.choice(((0, False), (1, False), (0, True)))
        return Repeat(self._path(depth - 1), least, once)

    def _values(self) -> Values:
        variables = tuple(self._random.sample(VARIABLES, self._random.randint(1, 2)))
        terms = (*NODES, *LITERALS, None)
        rows = tuple(tuple(self._random.choice(terms) for _ in variables) for _ in range(self._random.randint(0, 3)))
        return Values(variables, rows)

    # ---- operators

    def _join(self, depth: int, plain: bool) -> Node:
        return Join(self.pattern(depth, plain=plain), self.pattern(self._random.randint(0, depth), plain=plain))

    def _left_join(self, depth: int, plain: bool) -> Node:
        left, right = self.pattern(depth, plain=plain), self.pattern(self._random.randint(0, depth), plain=plain)
        condition = self._condition(Join(left, right), plain) if self._random.random() < 0.5 else None
        return LeftJoin(left, right, condition)

    def _union(self, depth: int, plain: bool) -> Node:
        return Union(self.pattern(depth, plain=plain), self.pattern(self._random.randint(0, depth), plain=plain))

    def _minus(self, depth: int, plain: bool) -> Node:
        return Minus(self.pattern(depth), self.pattern(self._random.randint(0, depth)))

    def _filter(self, depth: int, plain: bool) -> Node:
        child = self.pattern(depth, plain=plain)
        return Filter(self._condition(child, plain), child)

    def _extend(self, depth: int, plain: bool) -> Node:
        child = self.pattern(depth, plain=plain)
        self._fresh += 1
        return Extend(child, Variable(f"new{self._fresh}"), self._value(self._scope(child)))

    def _graph(self, depth: int, plain: bool) -> Node:
        name = Variable("g") if self._random.random() < 0.5 else self._random.choice((*NAMES, *NODES[:1]))
        self._in_graph = True
        child = self.pattern(min(depth, 1), plain=True)
        self._in_graph = False
        return Graph(name, child)

    def _sub_select(self, depth: int, plain: bool) -> Node:
        child = self.pattern(depth)
        variables = self._scope(child)
        some = tuple(self._random.sample(variables, self._random.randint(0, min(2, len(variables)))))
        if self._random.random() < 0.4 and some:
            return Distinct(Project(child, some))
        self._fresh += 1
        counted = self._random.choice(variables) if variables and self._random.random() < 0.8 else None
        function = self._random.choice(("COUNT", "SUM")) if counted else "COUNT"
        distinct = self._random.random() < 0.4 and counted is not None
        aggregate = Aggregate(function, counted, distinct)
        computed = Variable(f"new{self._fresh}")
        return Project(Group(child, some, ((computed, aggregate),)), (*some, computed))

    # ---- expressions

    def _scope(self, node: Node) -> tuple[Variable, ...]:
        """The variables to use on top of a node: not the names of graphs, nor what is hidden from one engine."""
        return tuple(variable for variable in variables_in_scope(node) if variable.name != "g")

    def _value(self, variables: Sequence[Variable]) -> Expression:
        kind = self._random.random()
        operand = self._random.choice(variables) if variables else Constant(LITERALS[0])
        if kind < 0.4:
            return operand
        if kind < 0.7:
            return Arithmetic("+", operand, Constant(LITERALS[0]))
        return Constant(self._random.choice((*NODES, *LITERALS)))

    def _condition(self, node: Node, plain: bool, depth: int = 1) -> Expression:
        variables = self._scope(node) or VARIABLES[:1]
        kind = self._random.random()
        if depth and kind < 0.3:
            parts = (self._condition(node, plain, depth - 1), self._condition(node, plain, depth - 1))
            return self._random.choice((And(*parts), Or(*parts), Not(parts[0])))
        if kind < 0.45:
            return Call("BOUND", (self._random.choice(variables),))
        if kind < 0.6 and not plain:
            return Exists(self._exists_pattern(), self._random.random() < 0.5)
        if kind < 0.7:
            choices = tuple(Constant(term) for term in self._random.sample((*NODES, *LITERALS), 3))
            return In(self._random.choice(variables), choices, self._random.random() < 0.5)
        operator = self._random.choice(("=", "!=", "<"))
        return Compare(operator, self._random.choice(variables), self._value(variables))

    def _exists_pattern(self) -> Node:
        pattern = BGP(tuple(self._triple() for _ in range(self._random.choice((1, 1, 2)))))
        kind = self._random.random()
        if kind < 0.4:
            return pattern
        other = BGP((self._triple(),))
        if kind < 0.6:
            return Filter(self._condition(pattern, plain=True), pattern)
        if kind < 0.7:
            return Filter(Compare("!=", self._variable(), self._variable()), pattern)  # also of the outer solution
        if kind < 0.8:
            return Union(pattern, other)
        return Join(pattern, other) if kind < 0.9 else LeftJoin(pattern, other)
