"""Expressions over constants are computed once, and filters that are always true or never true are taken out."""

from __future__ import annotations

from freshet.algebra.expressions import (
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
    UserCall,
)
from freshet.algebra.nodes import BGP, Filter, LeftJoin, Node, Values
from freshet.algebra.rewrite.conditions import conjunction, conjuncts
from freshet.algebra.rewrite.constants import (
    FALSE,
    TRUE,
    boolean,
    effective_boolean_value,
    fold_arithmetic,
    fold_call,
    fold_comparison,
    fold_negation,
    is_error,
)
from freshet.algebra.rewrite.walk import with_expressions, with_operands
from freshet.algebra.scope import variables_in_scope
from freshet.rdf.terms import Term

_BOOLEAN_FUNCTIONS = {"BOUND", "ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "SAMETERM", "REGEX", "CONTAINS"}


def fold_constants(node: Node) -> Node:
    """`e -> its value`, where e holds no variable and its value is beyond doubt; `Filter(true, P) -> P`.

    An expression that is an error stays where it stands, since `1/0 || true` is true and `BIND(1/0 AS ?x)` leaves ?x
    unbound. Only where a whole conjunct of a filter is false or an error does the filter keep nothing, and becomes
    VALUES without rows; a LeftJoin under such a condition is its left side. `true && e` is e only where e is a
    boolean or an error: `true && "a"` is true.

    >>> from freshet.algebra.text import expression_text
    >>> from freshet.algebra.expressions import Variable
    >>> from freshet.algebra.rewrite.constants import whole_number
    >>> one, two, x = whole_number(1), whole_number(2), Variable("x")
    >>> condition = And(Compare("<", one, two), Compare("<", x, Arithmetic("+", one, two)))
    >>> expression_text(fold_constants(Filter(condition, BGP(()))).condition)
    '?x < 3'
    """
    node = with_expressions(node, _fold)
    match node:
        case Filter(condition, child):
            kept = _open_conjuncts(condition)
            if kept is None:
                return Values(variables_in_scope(child), ())
            return node if kept == [condition] else Filter(conjunction(kept), child) if kept else child
        case LeftJoin(left, right, Expression() as condition):
            kept = _open_conjuncts(condition)
            if kept is None:
                return left
            return node if kept == [condition] else LeftJoin(left, right, conjunction(kept) if kept else None)
        case _:
            return node


def _open_conjuncts(condition: Expression) -> list[Expression] | None:
    """The conjuncts that are not certainly true; None where one of them is certainly false or an error."""
    if not isinstance(condition, And | Constant | Arithmetic):
        return [condition]
    kept = []
    for each in conjuncts(condition):
        value = effective_boolean_value(each)
        if value is False or is_error(each):
            return None
        if value is None:
            kept.append(each)
    return kept if len(kept) != 1 or kept[0] is not condition else [condition]


def _fold(expression: Expression) -> Expression:
    """One expression, what is below it first."""
    expression = with_operands(expression, _fold)
    match expression:
        case Compare(symbol, Constant(left), Constant(right)):
            return fold_comparison(symbol, left, right) or expression
        case Arithmetic(symbol, Constant(left), Constant(right)):
            return fold_arithmetic(symbol, left, right) or expression
        case Negate(Constant(term)):
            return fold_negation(term) or expression
        case Not(operand):
            value = effective_boolean_value(operand)
            return expression if value is None else boolean(not value)
        case And(one, other):
            return _fold_logic(expression, one, other, absorbing=False)
        case Or(one, other):
            return _fold_logic(expression, one, other, absorbing=True)
        case In(Constant(), ()):
            return boolean(expression.negated)
        case In(Constant(term)):
            return _fold_in(expression, term)
        case UserCall():
            return expression
        case Call("IF", (condition, then, otherwise)):
            value = effective_boolean_value(condition)
            return expression if value is None else then if value else otherwise
        case Call("COALESCE", (Constant() as first, *_)):
            return first
        case Call(_, arguments) if arguments:
            terms = tuple(each.term for each in arguments if isinstance(each, Constant))
            return (len(terms) == len(arguments) and fold_call(expression, terms)) or expression
        case Exists(Values(_, ()), is_negated):
            return boolean(is_negated)
        case Exists(BGP(()), is_negated):
            return boolean(not is_negated)
        case _:
            return expression


def _fold_logic(expression: Expression, left: Expression, right: Expression, *, absorbing: bool) -> Expression:
    """`&&` where false decides, `||` where true does: for any other side, also an error (17.2)."""
    one, other = effective_boolean_value(left), effective_boolean_value(right)
    if absorbing in (one, other):
        return boolean(absorbing)
    if one is not None and other is not None:
        return boolean(not absorbing)
    if one is not None and _is_boolean(right):
        return right
    if other is not None and _is_boolean(left):
        return left
    return expression


def _fold_in(expression: In, term: Term) -> Expression:
    """`IN` is a chain of `=` with `||`: one that is true decides, all must be known to be false."""
    equal = [
        fold_comparison("=", term, each.term) if isinstance(each, Constant) else None for each in expression.choices
    ]
    if TRUE in equal:
        return boolean(not expression.negated)
    return boolean(expression.negated) if all(each == FALSE for each in equal) else expression


def _is_boolean(expression: Expression) -> bool:
    """Whether the value can only be a boolean or an error."""
    match expression:
        case Compare() | And() | Or() | Not() | In() | Exists():
            return True
        case Call(function):
            return function in _BOOLEAN_FUNCTIONS
        case _:
            return False
