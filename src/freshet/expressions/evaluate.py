"""Expressions over columns of ids (SPARQL 1.1, 17), a whole batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import singledispatch
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from freshet.algebra import expressions as algebra
from freshet.algebra.expressions import Expression
from freshet.expressions import user_functions
from freshet.expressions.columns import ROWS_AT_ONCE, Column, ColumnBatch, Keys, Truths
from freshet.expressions.comparisons import compare, compare_nodes
from freshet.expressions.context import Context
from freshet.expressions.functions import FUNCTIONS, VOLATILE
from freshet.kernels import numbers
from freshet.kernels.comparison import ERROR, FALSE, TRUE
from freshet.kernels.values import Values
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri
from freshet.rdf.values import Ids

AnyType = TypeVar("AnyType", bound=np.generic)

_ARITHMETIC = {"+": numbers.ADD, "-": numbers.SUBTRACT, "*": numbers.MULTIPLY, "/": numbers.DIVIDE}


def evaluate(
    expression: Expression,
    columns: Mapping[str, Ids],
    count: int,
    dictionary: Dictionary,
    context: Context | None = None,
) -> Ids:
    """The ids of an expression's values, 0 where it is an error or unbound. `columns` are keyed by variable name."""
    if count == 0:
        return np.empty(0, np.int64)
    batch = ColumnBatch(columns, count, dictionary, context)
    result = _in_blocks(lambda block: block.ids(_column(expression, block)), batch, np.int64)
    if batch.node_scope is not None and context is not None:
        context.solutions.record_result(result)
    return result


def test(
    expression: Expression,
    columns: Mapping[str, Ids],
    count: int,
    dictionary: Dictionary,
    context: Context | None = None,  # noqa: PT028 (no test of pytest's)
) -> NDArray[np.bool_]:
    """Where the effective boolean value is true; an error is not."""
    if count == 0:
        return np.empty(0, np.bool_)
    batch = ColumnBatch(columns, count, dictionary, context)
    return _in_blocks(lambda block: block.truths(_column(expression, block)) == TRUE, batch, np.bool_)


def _in_blocks(
    compute: Callable[[ColumnBatch], NDArray[AnyType]], batch: ColumnBatch, kind: type[AnyType]
) -> NDArray[AnyType]:
    """What a computation gives for each row, a block at a time. One row stands for all of its block."""
    deadline = current()
    if batch.count <= ROWS_AT_ONCE:
        with deadline.step():
            deadline.check()
            found = compute(batch)
        return found if found.size == batch.count else np.full(batch.count, found[0])
    deadline.reserve(batch.count * np.dtype(kind).itemsize)
    result = np.empty(batch.count, kind)
    for block in batch.blocks():
        result[block.first : block.first + block.count] = compute(block)
    return result


def evaluate_values(expression: Expression, batch: ColumnBatch) -> Values:
    """Kinds and values of an expression over a batch; one row where all are equal."""
    return batch.values(_column(expression, batch))


def unsupported_reason(expression: Expression, context: Context | None = None) -> str | None:
    """What the evaluator cannot do in an expression, for the user; None where it can do all.

    Without a context there is no EXISTS, and no function that gives something else each time: what is kept up to date
    as rows come and go must give a row the same value when it goes.
    """
    match expression:
        case algebra.Exists(_, negated) if context is None or context.exists is None:
            return "NOT EXISTS" if negated else "EXISTS"
        case algebra.UserCall():
            pass
        case algebra.Aggregate(function):
            return f"the aggregate {function} inside an expression"
        case algebra.Call(function) if function not in FUNCTIONS or (context is None and function in VOLATILE):
            return f"the function {function}" if function.isupper() else f"the function <{function}>"
    return next(filter(None, (unsupported_reason(operand, context) for operand in _operands(expression))), None)


def _operands(expression: Expression) -> Iterator[Expression]:
    match expression:
        case algebra.And(left, right) | algebra.Or(left, right):
            yield from (left, right)
        case algebra.Compare(_, left, right) | algebra.Arithmetic(_, left, right):
            yield from (left, right)
        case algebra.Not(operand) | algebra.Negate(operand):
            yield operand
        case algebra.In(operand, choices):
            yield from (operand, *choices)
        case algebra.Call(_, arguments):
            yield from arguments


@singledispatch
def _column(expression: Expression, batch: ColumnBatch) -> Column:
    """The column of an expression's values, in the form in which it comes about."""
    raise NotImplementedError(unsupported_reason(expression))


@_column.register
def _(expression: algebra.Variable, batch: ColumnBatch) -> Column:
    return batch.variable(expression.name)


@_column.register
def _(expression: algebra.Constant, batch: ColumnBatch) -> Column:
    return batch.constant(expression.term)


@_column.register
def _(expression: algebra.And, batch: ColumnBatch) -> Column:
    left, right = _column(expression.left, batch), _column(expression.right, batch)
    return Truths(np.minimum(batch.truths(left), batch.truths(right)))


@_column.register
def _(expression: algebra.Or, batch: ColumnBatch) -> Column:
    left, right = _column(expression.left, batch), _column(expression.right, batch)
    return Truths(np.maximum(batch.truths(left), batch.truths(right)))


@_column.register
def _(expression: algebra.Not, batch: ColumnBatch) -> Column:
    return Truths(TRUE - batch.truths(_column(expression.operand, batch)))


@_column.register
def _(expression: algebra.Compare, batch: ColumnBatch) -> Column:
    left, right = _column(expression.left, batch), _column(expression.right, batch)
    return _compare(expression.operator, expression.left, left, expression.right, right, batch)


@_column.register
def _(expression: algebra.Arithmetic, batch: ColumnBatch) -> Column:
    left, right = _values(expression.left, batch), _values(expression.right, batch)
    computed: Column = numbers.arithmetic(_ARITHMETIC[expression.operator], left, right)
    return computed


@_column.register
def _(expression: algebra.Negate, batch: ColumnBatch) -> Column:
    negated: Column = numbers.change(numbers.NEGATE, _values(expression.operand, batch))
    return negated


@_column.register
def _(expression: algebra.In, batch: ColumnBatch) -> Column:
    operand = _column(expression.operand, batch)
    if isinstance(operand, Keys) and not all(isinstance(choice, algebra.Constant) for choice in expression.choices):
        operand = batch.ids(operand)  # so that they enter the dictionary once
    known = _value_mask(operand, batch)
    codes = np.where(known != 0, np.uint8(FALSE), np.uint8(ERROR))
    deadline = current()
    for choice in expression.choices:
        deadline.check()
        found = _compare("=", expression.operand, operand, choice, _column(choice, batch), batch)
        codes = np.maximum(codes, found.codes)
    return Truths(TRUE - codes if expression.negated else codes)


@_column.register
def _(expression: algebra.Call, batch: ColumnBatch) -> Column:
    if batch.context is None and expression.function in VOLATILE:
        raise NotImplementedError(unsupported_reason(expression))
    return FUNCTIONS[expression.function](batch, *(_column(argument, batch) for argument in expression.arguments))


@_column.register
def _(expression: algebra.UserCall, batch: ColumnBatch) -> Column:
    arguments = [_column(argument, batch) for argument in expression.arguments]
    return user_functions.call(expression.function, expression.implementation, batch, arguments)


@_column.register
def _(expression: algebra.Exists, batch: ColumnBatch) -> Column:
    if batch.context is None or batch.context.exists is None:
        raise NotImplementedError(unsupported_reason(expression))
    found = batch.exists(expression)
    return Truths(np.where(found != expression.negated, np.uint8(TRUE), np.uint8(FALSE)))


def _value_mask(column: Column, batch: ColumnBatch) -> NDArray[np.generic]:
    """Not 0 where there is a value."""
    match column:
        case Values(kinds):
            return np.asarray(kinds)
        case Keys(keys, places):
            return np.array([key is not None for key in keys]).take(places)
    return batch.ids(column)


def _values(expression: Expression, batch: ColumnBatch) -> Values:
    if isinstance(expression, algebra.Constant):
        return batch.constant_values(expression.term)
    return batch.values(_column(expression, batch))


def _compare(
    operator: str, left: Expression, left_column: Column, right: Expression, right_column: Column, batch: ColumnBatch
) -> Truths:
    nodes = (_is_node(left) and not isinstance(right_column, Values)) or (
        _is_node(right) and not isinstance(left_column, Values)
    )
    if nodes and operator in ("=", "!="):
        return compare_nodes(batch, operator, left_column, right_column)
    return compare(batch, operator, left_column, right_column)


def _is_node(expression: Expression) -> bool:
    """Whether an expression is an IRI or a blank node that the query names."""
    return isinstance(expression, algebra.Constant) and isinstance(expression.term, Iri | BlankNode)
