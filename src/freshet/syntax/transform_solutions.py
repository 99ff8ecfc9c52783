"""SELECT and the solution modifiers (sections 18.2.4 and 18.2.5)."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from freshet.algebra.expressions import Aggregate, Expression, Variable
from freshet.algebra.nodes import (
    Distinct,
    Extend,
    Group,
    Node,
    OrderBy,
    OrderCondition,
    Project,
    Reduced,
    Slice,
)
from freshet.algebra.scope import variables_in_scope, visible_variables
from freshet.syntax.transform_expressions import Grouping
from freshet.syntax.transform_patterns import PatternTransformer, join, with_filters
from freshet.syntax.tree import Child, Token, Tree, offset, tokens, trees


@dataclass(frozen=True, slots=True)
class Item:
    """One item of SELECT: a variable, the expression that AS gives it or None, and where the variable stands."""

    variable: Variable
    expression: Expression | None
    at: int


@dataclass(frozen=True, slots=True)
class Modifiers:
    """All that follows a pattern. `keys` is None where nothing is grouped; `computed` are keys that are expressions."""

    keys: tuple[Variable, ...] | None
    computed: tuple[tuple[Variable, Expression], ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]
    having: list[Expression]
    order: tuple[OrderCondition, ...]
    offset: int
    limit: int | None

    def grouped(self, pattern: Node) -> Node:
        """The pattern under GROUP BY and HAVING."""
        node = pattern
        for variable, expression in self.computed:
            node = Extend(node, variable, expression)
        if self.keys is not None:
            node = Group(node, self.keys, self.aggregates)
        return with_filters(node, self.having)

    def ordered(self, node: Node) -> Node:
        """The node under ORDER BY."""
        return OrderBy(node, self.order) if self.order else node

    def sliced(self, node: Node) -> Node:
        """The node under OFFSET and LIMIT."""
        return Slice(node, self.offset, self.limit) if self.offset or self.limit is not None else node


class SolutionTransformer(PatternTransformer, ABC):
    """Puts SELECT's expressions, grouping, order and slices on top of a pattern."""

    def sub_select(self, branch: Tree) -> Node:
        """A SELECT inside a pattern."""
        values = branch.children[-1]
        clause, where, modifiers, *_ = trees(branch)
        return self.select(clause, self.group(where), modifiers, values)

    def select(self, clause: Tree, pattern: Node, modifiers: Tree, values: Child | None) -> Node:
        """A SELECT query over a pattern."""
        how, *children = clause.children[1:] if clause.data == "stream_select_clause" else clause.children
        star = children[0] if isinstance(children[0], Token) and children[0].type == "STAR" else None
        outer, self.grouping = self.grouping, Grouping()
        items = [] if star else [self._item(child) for child in children]
        uses = list(self.grouping.variables)
        read = self._modifiers(modifiers, pattern, self.grouping)
        self.grouping = outer
        if read.keys is None:
            self._check_aliases(items, set(variables_in_scope(pattern)))
        elif star is not None:
            raise self.source.error("SELECT * cannot be used with GROUP BY or aggregates", offset(star))
        else:
            self._check_aliases(items, set(read.keys))
            self._check_grouped(items, set(read.keys), uses)
        node = self._with_values(read.grouped(pattern), values)
        selected = visible_variables(node) if star else tuple(dict.fromkeys(item.variable for item in items))
        for item in items:
            if item.expression is not None:
                node = Extend(node, item.variable, item.expression)
        node = Project(read.ordered(node), selected)
        if isinstance(how, Token):
            node = Distinct(node) if how.type == "DISTINCT" else Reduced(node)
        return read.sliced(node)

    def modified(self, pattern: Node, modifiers: Tree, values: Child | None) -> Node:
        """The pattern of a query that is no SELECT, with its modifiers."""
        self.grouping = Grouping()
        read = self._modifiers(modifiers, pattern, self.grouping)
        self.grouping = None
        return read.sliced(read.ordered(self._with_values(read.grouped(pattern), values)))

    def _with_values(self, node: Node, values: Child | None) -> Node:
        return join(node, self.values(values)) if isinstance(values, Tree) else node

    # ---- SELECT

    def _item(self, child: Child) -> Item:
        if isinstance(child, Token):
            return Item(self.variable(child), None, offset(child))
        expression, name = child.children
        assert isinstance(name, Token)
        return Item(self.variable(name), self.expression(expression), offset(name))

    def _check_aliases(self, items: list[Item], in_scope: set[Variable]) -> None:
        selected: set[Variable] = set()
        for item in items:
            if item.expression is not None and item.variable in in_scope:
                raise self.source.error(f"{item.variable} is in scope already and cannot be given by AS", item.at)
            if item.expression is not None and item.variable in selected:
                raise self.source.error(f"{item.variable} is selected already and cannot be given by AS", item.at)
            selected.add(item.variable)

    def _check_grouped(self, items: list[Item], keys: set[Variable], uses: list[tuple[Variable, int]]) -> None:
        """Only keys, aggregates and what AS has named before can be selected from groups."""
        aliases = {item.variable: item.at for item in items if item.expression is not None}
        plain = [(item.variable, item.at) for item in items if item.expression is None]
        for variable, at in sorted(uses + plain, key=lambda use: use[1]):
            if variable not in keys and aliases.get(variable, at) >= at:
                hint = f"add it to GROUP BY, or select an aggregate such as SAMPLE({variable})"
                raise self.source.error(f"{variable} is neither a key of GROUP BY nor aggregated", at, hint)

    # ---- modifiers

    def _modifiers(self, branch: Tree, pattern: Node, grouping: Grouping) -> Modifiers:
        """All modifiers; afterwards `grouping` has every aggregate, so this comes after the items of SELECT."""
        group_by, having, order_by, slice_ = branch.children
        keys, computed = self._keys(group_by, pattern) if isinstance(group_by, Tree) else (None, ())
        conditions = [self.expression(child) for child in having.children] if isinstance(having, Tree) else []
        order = tuple(self._order_condition(each) for each in trees(order_by)) if isinstance(order_by, Tree) else ()
        if keys is None and grouping.aggregates:
            keys = ()
        aggregates = tuple((variable, aggregate) for aggregate, variable in grouping.aggregates.items())
        clauses = trees(slice_) if isinstance(slice_, Tree) else []
        bounds = {each.data: self.integer(tokens(each)[0]) for each in clauses}
        return Modifiers(keys, computed, aggregates, conditions, order, bounds.get("offset", 0), bounds.get("limit"))

    def _keys(
        self, branch: Tree, pattern: Node
    ) -> tuple[tuple[Variable, ...], tuple[tuple[Variable, Expression], ...]]:
        outer, self.grouping = self.grouping, None
        in_scope = set(variables_in_scope(pattern))
        keys: dict[Variable, None] = {}
        computed: list[tuple[Variable, Expression]] = []
        for child in branch.children:
            if isinstance(child, Token):
                keys[self.variable(child)] = None
                continue
            expression, name = child.children if child.data == "group_expression" else (child, None)
            if isinstance(expression, Token) and expression.type == "VAR" and name is None:
                keys[self.variable(expression)] = None
                continue
            variable = self.variable(name) if isinstance(name, Token) else Variable(f".key{len(computed)}")
            if isinstance(name, Token) and (variable in in_scope or variable in keys):
                raise self.source.error(f"{variable} is in scope already and cannot be given by AS", offset(name))
            computed.append((variable, self.expression(expression)))
            keys[variable] = None
        self.grouping = outer
        return tuple(keys), tuple(computed)

    def _order_condition(self, branch: Tree) -> OrderCondition:
        direction = branch.children[0] if len(branch.children) == 2 else None
        descending = isinstance(direction, Token) and direction.type == "DESC"
        return OrderCondition(self.expression(branch.children[-1]), descending)
