"""Sources and targets of YARRRML as RML describes them."""

from __future__ import annotations

import pyoxigraph as ox

from freshet.rml.yarrrml_parts import Part
from freshet.rml.yarrrml_triples import Node, Triples, name

_FORMULATIONS = {"csv": "CSV", "jsonpath": "JSONPath", "xpath": "XPath"}
_DATABASES = ("mysql", "mariadb", "postgresql", "sqlite", "oracle", "sqlserver", "db2")
_FILES = ("localfile", "local", "csvw", "dcat", "void")
_SERIALIZATIONS = {
    "nquads": "N-Quads",
    "ntriples": "N-Triples",
    "turtle": "Turtle",
    "trig": "TriG",
    "n3": "N3",
    "jsonld": "JSON-LD",
    "rdfxml": "RDF_XML",
}
_COMPRESSIONS = ("gzip", "zip", "targzip", "tarxz")
_IN_SOURCE = (
    "access", "type", "referenceFormulation", "iterator", "delimiter", "encoding", "query", "queryFormulation",
    "credentials", "driver", "table",
)  # fmt: skip


class SourceWriter:
    """Writes each source once, by its name or by where it is described."""

    def __init__(self, triples: Triples, named: Part | None) -> None:
        self._triples = triples
        self._named = dict(named.named()) if named is not None else {}
        self._written: dict[tuple[str | int, ...], Node] = {}

    def is_short(self, part: Part) -> bool:
        """Whether a list is one source: where it is and, behind a tilde, how it is read; then its iterator."""
        return part.is_list and bool(part.data) and isinstance(part.data[0], str) and "~" in part.data[0]

    def node(self, part: Part) -> Node:
        """The logical source that a mapping names or describes."""
        if not part.is_map and not part.is_list:
            if part.text not in self._named:
                raise part.error(f"there is no source {part.text}")
            part = self._named[part.text]
        if part.path not in self._written:
            self._written[part.path] = self._short(part) if part.is_list else self._described(part)
        return self._written[part.path]

    def _short(self, part: Part) -> Node:
        if not self.is_short(part) or len(part.data) > 2:
            raise part.error("a source is wanted here: [access~formulation, iterator]")
        access, _, formulation = part.data[0].rpartition("~")
        first, *rest = part.items()
        node = self._logical_source(first, formulation)
        self._triples.add(node, "source", ox.Literal(access))
        if rest:
            self._triples.add(node, "iterator", ox.Literal(rest[0].text))
        return node

    def _described(self, part: Part) -> Node:
        keys = part.keys(*_IN_SOURCE)
        if "access" not in keys:
            raise part.error("a source has an access")
        access = keys["access"].text
        kind = keys["type"].text.lower() if "type" in keys else "localfile"
        if access.startswith("jdbc:") or kind in _DATABASES:
            return self._database(part, keys, access, kind)
        queried = keys["queryFormulation"].text.lower() if "queryFormulation" in keys else ""
        if kind == "sparql" or queried.startswith("sparql"):
            return self._endpoint(part, keys, access)
        if kind not in _FILES:
            raise keys["type"].error(f"sources of the type {kind} are not supported")
        if "query" in keys:
            raise keys["query"].error("a query is for databases and SPARQL endpoints")
        return self._file(part, keys, access)

    def _logical_source(self, part: Part, formulation: str) -> Node:
        if formulation.lower() not in _FORMULATIONS:
            known = ", ".join(_FORMULATIONS)
            raise part.error(f"there is no reference formulation {formulation or 'here'}: there are {known}")
        node = self._triples.new()
        self._triples.add(node, "referenceFormulation", _FORMULATIONS[formulation.lower()])
        return node

    def _formulated(self, part: Part, keys: dict[str, Part]) -> Node:
        given = keys.get("referenceFormulation")
        node = self._logical_source(given or part, given.text if given is not None else "")
        if "iterator" in keys:
            self._triples.add(node, "iterator", ox.Literal(keys["iterator"].text))
        return node

    def _file(self, part: Part, keys: dict[str, Part], access: str) -> Node:
        node = self._formulated(part, keys)
        if "delimiter" not in keys and "encoding" not in keys:
            self._triples.add(node, "source", ox.Literal(access))
            return node
        table, dialect = self._triples.new(), self._triples.new()
        self._triples.add(node, "source", table)
        self._triples.add(table, "csvw:url", ox.Literal(access))
        self._triples.add(table, "csvw:dialect", dialect)
        for key in ("delimiter", "encoding"):
            if key in keys:
                self._triples.add(dialect, f"csvw:{key}", ox.Literal(keys[key].text))
        return node

    def _database(self, part: Part, keys: dict[str, Part], access: str, kind: str) -> Node:
        node, database = self._triples.new(), self._triples.new()
        where = access if access.startswith("jdbc:") else f"jdbc:{kind}:{'' if kind == 'sqlite' else '//'}"
        if where != access:
            where += access.partition("://")[2] or access
        self._triples.add(node, "source", database)
        self._triples.add(database, "d2rq:jdbcDSN", ox.Literal(where))
        if "driver" in keys:
            self._triples.add(database, "d2rq:jdbcDriver", ox.Literal(keys["driver"].text))
        if "credentials" in keys:
            for key, given in keys["credentials"].keys("username", "password").items():
                self._triples.add(database, f"d2rq:{key}", ox.Literal(given.text))
        asked = keys.get("query") or keys.get("table") or keys.get("iterator")
        if asked is None:
            raise part.error("a source of a database has a query or a table")
        form = "SQL2008Query" if asked is keys.get("query") else "SQL2008Table"
        self._triples.add(node, "referenceFormulation", form)
        self._triples.add(node, "iterator", ox.Literal(asked.text))
        return node

    def _endpoint(self, part: Part, keys: dict[str, Part], access: str) -> Node:
        node, service = self._formulated(part, keys), self._triples.new()
        if "query" not in keys:
            raise part.error("a source that is a SPARQL endpoint has a query")
        self._triples.add(node, "source", service)
        self._triples.add(service, "sd:endpoint", ox.NamedNode(access))
        self._triples.add(node, "query", ox.Literal(keys["query"].text))
        return node


class TargetWriter:
    """Writes each target once."""

    def __init__(self, triples: Triples, named: Part | None) -> None:
        self._triples = triples
        self._named = dict(named.named()) if named is not None else {}
        self._written: dict[tuple[str | int, ...], Node] = {}

    def parts(self, part: Part | None) -> list[Part]:
        """The targets that a term map names: one, a list of them, or one that is described in a list."""
        if part is None:
            return []
        described = part.is_list and part.data and isinstance(part.data[0], str) and "~" in part.data[0]
        return [part] if described else part.each()

    def node(self, part: Part) -> Node:
        if not part.is_map and not part.is_list:
            if part.text not in self._named:
                raise part.error(f"there is no target {part.text}")
            part = self._named[part.text]
        if part.path not in self._written:
            self._written[part.path] = self._target(part)
        return self._written[part.path]

    def _target(self, part: Part) -> Node:
        if part.is_list:
            names = ("access", "serialization", "compression")
            keys = dict(zip(names, part.items(), strict=False))
        else:
            keys = part.keys("access", "type", "serialization", "compression")
        if "access" not in keys:
            raise part.error("a target has an access")
        access, _, short_kind = keys["access"].text.partition("~")
        kind = (keys["type"].text if "type" in keys else short_kind or "localfile").lower()
        if kind not in _FILES:
            raise part.error(f"targets of the type {kind} are not supported")
        node, place = self._triples.new(), self._triples.new()
        self._triples.add(node, "target", place)
        self._triples.add(place, "path", ox.Literal(access))
        if "serialization" in keys:
            form = _SERIALIZATIONS.get(keys["serialization"].text.lower())
            if form is None:
                raise keys["serialization"].error(f"there is no serialization {keys['serialization'].text}")
            self._triples.add(node, "serialization", name(f"formats:{form}"))
        if "compression" in keys:
            packed = keys["compression"].text.lower()
            if packed not in _COMPRESSIONS:
                raise keys["compression"].error(f"there is no compression {packed}")
            self._triples.add(node, "compression", packed)
        return node
