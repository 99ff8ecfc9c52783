"""Algebra back to SPARQL text, every operator as a group or sub-select of its own, for other engines to answer.

The text looks nothing like what was parsed and means the same. Remote endpoints get it, and tests judge the parser by
what another engine makes of it.
"""

from __future__ import annotations

from itertools import count

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
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    OrderCondition,
    PathPattern,
    PatternTerm,
    Project,
    QuadPattern,
    Query,
    QueryForm,
    Reduced,
    Service,
    Slice,
    TriplePattern,
    Union,
    Values,
    Window,
)
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.text import path_text
from freshet.rdf.terms import BlankNode, Literal

_NUMBERS = count()  # a variable that stands for none must be none that another part has
_SELECTS = (Slice, Distinct, Reduced, Project, OrderBy)
_LEVELS = {Slice: 0, Distinct: 1, Reduced: 1, Project: 2, OrderBy: 3}  # how deep each stands in one SELECT


def query_text(query: Query) -> str:
    """A SELECT, ASK or CONSTRUCT query as text."""
    return (f"BASE <{query.base}> " if query.base else "") + _form(query)


def _form(query: Query) -> str:
    if query.form is QueryForm.SELECT:
        return _select(query.root)
    if query.form is QueryForm.ASK:
        return f"ASK {_group(query.root)}"
    assert query.form is QueryForm.CONSTRUCT
    return f"CONSTRUCT {{ {' '.join(map(_template_triple, query.template))} }} WHERE {_group(query.root)}"


def pattern_text(node: Node) -> str:
    """A pattern as a group, in braces."""
    return _group(node)


def plain_text(term: PatternTerm) -> str:
    """A term or variable as SPARQL reads it; Freshet's own variables get names of their own."""
    return _term(term)


def _term(term: PatternTerm) -> str:
    if isinstance(term, Variable):
        return f"?own_{term.name[1:].encode().hex()}" if term.name.startswith(".") else f"?{term.name}"
    if isinstance(term, BlankNode):
        return f"_:own_{term.label.encode().hex()}"
    return str(term)


def _triple(triple: TriplePattern) -> str:
    return f"{_term(triple.subject)} {_term(triple.predicate)} {_term(triple.object)} ."


def _template_triple(pattern: TriplePattern | QuadPattern) -> str:
    if isinstance(pattern, TriplePattern):
        return _triple(pattern)
    inside = _triple(pattern.triple)
    return inside if pattern.graph is None else f"GRAPH {_term(pattern.graph)} {{ {inside} }}"


def _names(variables: tuple[Variable, ...]) -> str:
    return " ".join(_term(variable) for variable in variables)


def _select(node: Node) -> str:
    """The operators of one SELECT, outermost first: slice, distinct, projection, order."""
    tail, how, order, selected = "", "", "", None
    level = -1
    while isinstance(node, _SELECTS) and _LEVELS[type(node)] > level:
        level = _LEVELS[type(node)]
        if isinstance(node, Slice):
            tail = f" OFFSET {node.offset}" + ("" if node.limit is None else f" LIMIT {node.limit}")
        elif isinstance(node, Distinct | Reduced):
            how = type(node).__name__.upper()
        elif isinstance(node, Project):
            selected = node.variables
        else:
            order = f" ORDER BY {' '.join(map(_key, node.conditions))}"
        node = node.child
    names = _names(variables_in_scope(node) if selected is None else selected)
    return f"SELECT {how} {names or f'(1 AS ?own_nothing{next(_NUMBERS)})'} {{ {_group(node)} }}{order}{tail}"


def _key(condition: OrderCondition) -> str:
    return f"{'DESC' if condition.descending else 'ASC'}({_expression(condition.expression)})"


def _group(node: Node) -> str:
    return f"{{ {_body(node)} }}"


def _body(node: Node) -> str:
    match node:
        case BGP(patterns):
            return " ".join(map(_triple, patterns))
        case PathPattern(subject, path, object_):
            return f"{_term(subject)} {path_text(path)} {_term(object_)}"
        case Join(left, right):
            return f"{_group(left)} {_group(right)}"
        case LeftJoin(left, right, condition):
            test = "" if condition is None else f"FILTER ({_expression(condition)})"
            return f"{_group(left)} OPTIONAL {{ {_group(right)} {test} }}"
        case Filter(condition, child):
            return f"{_group(child)} FILTER ({_expression(condition)})"
        case Union(left, right):
            return f"{_group(left)} UNION {_group(right)}"
        case Minus(left, right):
            return f"{_group(left)} MINUS {_group(right)}"
        case Graph(name, child):
            return f"GRAPH {_term(name)} {_group(child)}"
        case Window(name, child):
            return f"WINDOW {_term(name)} {_group(child)}"
        case Service(endpoint, child, silent):
            return f"SERVICE {'SILENT' if silent else ''} {_term(endpoint)} {_group(child)}"
        case Extend(child, variable, expression):
            return f"{_group(child)} BIND ({_expression(expression)} AS {_term(variable)})"
        case Values(variables, rows):
            cells = [" ".join("UNDEF" if term is None else _term(term) for term in row) for row in rows]
            return f"VALUES ({_names(variables)}) {{ {' '.join(f'({row})' for row in cells)} }}"
        case Group(child, keys, aggregates):
            computed = " ".join(f"({_expression(aggregate)} AS {_term(name)})" for name, aggregate in aggregates)
            by = f"GROUP BY {_names(keys)}" if keys else "" if aggregates else "GROUP BY (1 AS ?own_group)"
            return f"SELECT {_names(keys)} {computed or f'(1 AS ?own_nothing{next(_NUMBERS)})'} {_group(child)} {by}"
        case _:
            return _select(node)


def _expression(expression: Expression) -> str:
    match expression:
        case Variable():
            return _term(expression)
        case Constant(term):
            return _term(term)
        case Or(left, right):
            return f"({_expression(left)} || {_expression(right)})"
        case And(left, right):
            return f"({_expression(left)} && {_expression(right)})"
        case Compare(operator, left, right) | Arithmetic(operator, left, right):
            return f"({_expression(left)} {operator} {_expression(right)})"
        case Not(operand):
            return f"(!({_expression(operand)}))"
        case Negate(operand):
            return f"(-({_expression(operand)}))"
        case In(operand, choices, negated):
            return f"({_expression(operand)} {'NOT' if negated else ''} IN ({_list(choices)}))"
        case Call(function, arguments):
            name = function if function.replace("_", "").isalnum() else f"<{function}>"
            return f"{name}({_list(arguments)})"
        case Exists(pattern, negated):
            return f"({'NOT' if negated else ''} EXISTS {_group(pattern)})"
        case Aggregate(function, operand, distinct, separator):
            last = f"; SEPARATOR={Literal(separator)}" if function == "GROUP_CONCAT" else ""
            inner = "*" if operand is None else _expression(operand)
            return f"{function}({'DISTINCT' if distinct else ''} {inner}{last})"
        case _:
            raise TypeError(type(expression).__name__)


def _list(expressions: tuple[Expression, ...]) -> str:
    return ", ".join(map(_expression, expressions))
