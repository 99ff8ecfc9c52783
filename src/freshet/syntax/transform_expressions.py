"""Expressions (section 17), and aggregates as they are met."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

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
    Negate,
    Not,
    Or,
    Variable,
)
from freshet.algebra.nodes import Node
from freshet.rdf.deadline import current
from freshet.rdf.terms import Iri, Literal, TripleTerm
from freshet.syntax.functions import BY_IRI, SYNONYMS, similar, wrong_count, wrong_count_by_iri
from freshet.syntax.source import Source
from freshet.syntax.transform_terms import TermTransformer
from freshet.syntax.tree import Child, Token, Tree, offset, tokens, trees

_MISPLACED = "an aggregate can only stand in SELECT, HAVING and ORDER BY"
_NESTED = "an aggregate cannot stand inside another aggregate"
_LONGEST_LEFT_DEEP = 16

Operand = TypeVar("Operand")


@dataclass(slots=True)
class Grouping:
    """What the expressions of one SELECT, HAVING and ORDER BY use: aggregates, and variables outside of aggregates."""

    aggregates: dict[Aggregate, Variable] = field(default_factory=dict)
    variables: list[tuple[Variable, int]] = field(default_factory=list)


def chain(make: Callable[[Operand, Operand], Operand], operands: Sequence[Operand]) -> Operand:
    """Operands of an associative operator as a tree: as written up to sixteen, in halves where there are more.

    Programs write filters and unions of a thousand operands; a tree as deep as that would be too deep to walk.
    """
    if len(operands) > _LONGEST_LEFT_DEEP:
        middle = len(operands) // 2
        return make(chain(make, operands[:middle]), chain(make, operands[middle:]))
    result = operands[0]
    for operand in operands[1:]:
        result = make(result, operand)
    return result


class ExpressionTransformer(TermTransformer, ABC):
    """Reads expressions. `grouping` is where aggregates may stand, None elsewhere."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.grouping: Grouping | None = None
        self._no_aggregate = _MISPLACED

    @abstractmethod
    def group(self, branch: Tree) -> Node:
        """The group graph pattern of EXISTS."""

    def expression(self, child: Child) -> Expression:
        """Any expression."""
        current().check()
        if isinstance(child, Token):
            return self._operand(child)
        match child.data:
            case "or_expression":
                return chain(Or, [self.expression(each) for each in _children(child)])
            case "and_expression":
                return chain(And, [self.expression(each) for each in _children(child)])
            case "compare":
                left, operator, right = _children(child)
                return Compare(str(operator), self.expression(left), self.expression(right))
            case "in_list" | "not_in_list":
                operand, choices = _children(child)
                return In(self.expression(operand), self._expressions(choices), child.data == "not_in_list")
            case "additive" | "multiplicative":
                return self._arithmetic(child)
            case "not":
                return Not(self.expression(_children(child)[0]))
            case "negate":
                return Negate(self.expression(_children(child)[-1]))
            case "plus":
                return Negate(Negate(self.expression(_children(child)[-1])))
            case "function_call":
                return self._function_call(child)
            case "iri_call":
                return self._iri_call(child)
            case "aggregate":
                return self._aggregate(child)
            case "expression_triple_term":
                return self._triple_term(child)
            case "exists" | "not_exists":
                return Exists(self.group(trees(child)[0]), child.data == "not_exists")
            case _:
                return Constant(self.literal(child))

    def _operand(self, token: Token) -> Expression:
        if token.type != "VAR":
            return Constant(self.constant(token))
        variable = self.variable(token)
        if self.grouping is not None:
            self.grouping.variables.append((variable, offset(token)))
        return variable

    def _expressions(self, child: Child) -> tuple[Expression, ...]:
        assert not isinstance(child, Token)
        return tuple(self.expression(each) for each in _children(child))

    def _arithmetic(self, branch: Tree) -> Expression:
        """`a + b - c`; a sign that has stuck to a number, as in `a -1`, is the operator all the same."""
        children = iter(_children(branch))
        result = self.expression(next(children))
        for child in children:
            if isinstance(child, Token):
                result = Arithmetic(str(child), result, self.expression(next(children)))
            else:
                sign, operand = self._signed_product(child)
                result = Arithmetic(sign, result, operand)
        return result

    def _signed_product(self, branch: Tree) -> tuple[str, Expression]:
        number, *rest = _children(branch)
        assert isinstance(number, Token)
        literal = self.literal(number)
        operand: Expression = Constant(Literal(literal.lexical[1:], literal.datatype))
        for operator, factor in zip(rest[::2], rest[1::2], strict=True):
            operand = Arithmetic(str(operator), operand, self.expression(factor))
        return literal.lexical[0], operand

    def _function_call(self, branch: Tree) -> Expression:
        name, arguments = _children(branch)
        assert isinstance(name, Token)
        if name.type == "WORD":
            near = similar(name)
            hint = f"did you mean {near}?" if near else None
            raise self.source.error(f"there is no function {name[:40]}", offset(name), hint)
        function = SYNONYMS.get(name.upper(), name.upper())
        operands = self._expressions(arguments)
        if message := wrong_count(function, len(operands)):
            raise self.source.error(message, offset(name))
        if function == "BOUND" and not isinstance(operands[0], Variable):
            raise self.source.error("BOUND takes a variable", offset(arguments))
        return Call(function, operands)

    def _iri_call(self, branch: Tree) -> Expression:
        name, arguments = _children(branch)
        assert isinstance(name, Token)
        if not isinstance(arguments, Token) and arguments.data == "distinct_list":
            message = "DISTINCT in the call of an extension function is not supported"
            raise self.source.unsupported(message, offset(tokens(arguments)[0]))
        iri, operands = self.iri(name).value, self._expressions(arguments)
        function = BY_IRI.get(iri, iri)
        wrong = wrong_count_by_iri if function is iri else wrong_count
        if problem := wrong(function, len(operands)):
            raise self.source.error(problem, offset(name))
        return Call(function, operands)

    def _triple_term(self, branch: Tree) -> Expression:
        subject, predicate, object_ = operands = self._expressions(branch)
        match subject, predicate, object_:
            case Constant(Iri() as first), Constant(Iri() as second), Constant(third):
                return Constant(TripleTerm(first, second, third))
        return Call("TRIPLE", operands)

    def _aggregate(self, branch: Tree) -> Expression:
        name, distinct, child, *separator = branch.children
        assert isinstance(name, Token)
        grouping, reason = self.grouping, self._no_aggregate
        if grouping is None:
            raise self.source.error(reason, offset(name))
        operand = None
        if not (isinstance(child, Token) and child.type == "STAR"):
            self.grouping, self._no_aggregate = None, _NESTED
            operand = self.expression(child)
            self.grouping, self._no_aggregate = grouping, reason
        between = separator[-1] if separator else None
        aggregate = Aggregate(
            name.upper(),
            operand,
            distinct is not None,
            self.string(between) if isinstance(between, Token) else " ",
        )
        return grouping.aggregates.setdefault(aggregate, Variable(f".agg{len(grouping.aggregates)}"))


def _children(branch: Tree) -> list[Child]:
    """The children, without the gaps that optional children leave."""
    return [child for child in branch.children if child is not None]
