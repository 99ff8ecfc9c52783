"""Logical views as mappings describe them (RML-LV): fields, nested fields, joins and structural annotations."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from freshet.rdf.terms import Iri, Literal
from freshet.rml.functions import Functions
from freshet.rml.mapping_graph import MappingGraph, Value, name_of
from freshet.rml.model import Expression, JoinCondition, TermType
from freshet.rml.reader_sources import namespaces_of, read_formulation, read_logical_source, read_logical_table
from freshet.rml.reader_terms import WAYS, TermMapReader
from freshet.rml.reference_checks import check_iterator
from freshet.rml.sources import FileSource, Formulation, LogicalSource
from freshet.rml.views import ExpressionField, Field, IterableField, ViewJoin, ViewSource, view_records
from freshet.rml.vocabulary import short

_IN_VIEW = {"viewOn", "field", "leftJoin", "innerJoin", "structuralAnnotation"}
_IN_FIELD = {*WAYS, "fieldName", "field", "iterator", "referenceFormulation", "return", "returnMap"}
_IN_JOIN = {"parentLogicalView", "joinCondition", "field"}
_IN_CONDITION = {"child", "parent", "childMap", "parentMap"}
_UNIQUE = {"PrimaryKeyAnnotation", "UniqueAnnotation"}
_INCLUDED = {"ForeignKeyAnnotation", "InclusionAnnotation"}
_ANNOTATIONS = {*_UNIQUE, *_INCLUDED, "NotNullAnnotation", "IRISafeAnnotation"}


class SourceReader:
    """Reads what records come from: logical sources, and views on them. Each node is read once."""

    def __init__(self, graph: MappingGraph, base: str | None, functions: Functions, database: str | None) -> None:
        self._graph = graph
        self._database = database
        self._base = base
        self._functions = functions
        self._read: dict[Value, LogicalSource] = {}
        self._open: list[Value] = []  # the views and fields that are being read

    def read(self, node: Value) -> LogicalSource:
        """The logical source, or view, that a node describes."""
        if node not in self._read:
            view = bool(self._graph.get(node, "viewOn")) or "LogicalView" in self._graph.types(node)
            self._read[node] = self._view(node) if view else read_logical_source(self._graph, node)
        return self._read[node]

    def read_table(self, node: Value) -> LogicalSource:
        """The logical table of R2RML that a node describes."""
        if node not in self._read:
            self._read[node] = read_logical_table(self._graph, node, self._database)
        return self._read[node]

    def _enter(self, node: Value) -> None:
        if node in self._open:
            raise self._graph.wrong(f"reads {name_of(node)}, which is made of itself")
        self._open.append(node)

    def _view(self, node: Value) -> LogicalSource:
        graph = self._graph
        self._enter(node)
        graph.check_properties(node, _IN_VIEW)
        on = self.read(graph.single(node, "viewOn"))
        fields = self._fields(node, on)
        alone = view_records(ViewSource(name_of(node), on, fields))
        joins = [
            self._join(each, alone, left=key == "leftJoin")
            for key in ("innerJoin", "leftJoin")
            for each in graph.get(node, key)
        ]
        self._refuse_equal_names([*fields, *(field for join in joins for field in join.fields)], name_of(node))
        unique, included = self._annotations(node)
        self._open.pop()
        return view_records(ViewSource(name_of(node), on, fields, tuple(joins), unique, included))

    def _refuse_equal_names(self, fields: list[Field] | tuple[Field, ...], where: str) -> None:
        twice = [name for name, times in Counter(field.name for field in fields).items() if times > 1]
        if twice:
            raise self._graph.wrong(f"has two fields with the name {twice[0]} in {where}")

    def _terms(self, source: LogicalSource) -> TermMapReader:
        return TermMapReader(self._graph, source, self._base, self._functions)

    def _fields(self, node: Value, source: LogicalSource) -> tuple[Field, ...]:
        fields = tuple(self._field(each, source) for each in self._graph.get(node, "field"))
        self._refuse_equal_names(fields, name_of(node))
        return fields

    def _field(self, node: Value, source: LogicalSource) -> Field:
        graph = self._graph
        self._enter(node)
        graph.check_properties(node, _IN_FIELD)
        name = graph.single(node, "fieldName").value
        if any(graph.get(node, way) for way in WAYS):
            made: Field = ExpressionField(name, self._terms(source).expression(node), self._documents(node, source))
        elif graph.get(node, "iterator", "field"):
            made = self._iterable(node, name, source)
        else:
            raise graph.wrong(f"has the field {name} without an expression or an iterator")
        self._open.pop()
        return made

    def _documents(self, node: Value, source: LogicalSource) -> tuple[IterableField, ...]:
        """The fields below an expression field, which read its values as documents."""
        made = []
        for field in self._fields(node, source):
            if not isinstance(field, IterableField):
                raise self._graph.wrong(f"has the field {field.name} below one whose values are no records")
            made.append(field)
        return tuple(made)

    def _iterable(self, node: Value, name: str, around: LogicalSource) -> IterableField:
        graph = self._graph
        formulation, namespaces = around.formulation, around.namespaces
        if graph.get(node, "referenceFormulation"):
            formulation, namespaces = read_formulation(graph, node), namespaces_of(graph, node)
        if formulation not in (Formulation.JSON, Formulation.XML, Formulation.CSV):
            raise graph.wrong(f"has the iterable field {name} in records that have no records inside")
        place = FileSource(Path(name))
        records = LogicalSource(place, formulation, graph.text(node, "iterator"), around.nulls, namespaces)
        check_iterator(records)
        return IterableField(name, records, self._fields(node, records))

    def _join(self, node: Value, child: LogicalSource, *, left: bool) -> ViewJoin:
        graph = self._graph
        graph.check_properties(node, _IN_JOIN)
        parent = self.read(graph.single(node, "parentLogicalView"))
        if not isinstance(parent.source, ViewSource):
            raise graph.wrong("joins a view with something that is none")
        conditions = tuple(self._condition(each, child, parent) for each in graph.get(node, "joinCondition"))
        if not conditions:
            raise graph.wrong("has a join of views without a condition")
        fields = [field for field in self._fields(node, parent) if isinstance(field, ExpressionField)]
        if not fields or len(fields) != len(graph.get(node, "field")):
            raise graph.wrong("has a join of views whose fields are no expressions")
        return ViewJoin(parent, conditions, tuple(fields), left)

    def _condition(self, node: Value, child: LogicalSource, parent: LogicalSource) -> JoinCondition:
        self._graph.check_properties(node, _IN_CONDITION)
        return JoinCondition(self._side(node, "child", child), self._side(node, "parent", parent))

    def _side(self, node: Value, role: str, source: LogicalSource) -> Expression:
        terms = self._terms(source)
        if self._graph.get(node, role):
            return terms.reference(self._graph.single(node, role).value, "join condition")
        made = terms.read(self._graph.single(node, f"{role}Map"), TermType.LITERAL).expression
        return Literal(made.value) if isinstance(made, Iri) else made

    def _annotations(self, node: Value) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
        unique, included = set(), set()
        for each in self._graph.get(node, "structuralAnnotation"):
            kinds = {short(kind) for kind in self._graph.types(each)} & _ANNOTATIONS
            if not kinds:
                raise self._graph.refusal("a structural annotation without a type that RML-LV has")
            fields = frozenset(value.value for value in self._listed(each, "onFields"))
            if kinds & _UNIQUE:
                unique.add(fields)
            if kinds & _INCLUDED:
                included.add(fields)
        return frozenset(unique), frozenset(included)

    def _listed(self, node: Value, key: str) -> list[Value]:
        """The values of a property, given one by one or as a list."""
        found = []
        for value in self._graph.get(node, key):
            found += self._graph.list_at(value) if self._graph.get(value, "rdf:first") else [value]
        return found
