"""Logical sources as mappings describe them: files (RML-IO, DCAT, CSVW, plain paths), databases (D2RQ), streams."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

from freshet.rdf.errors import InputError
from freshet.rml.mapping_graph import MappingGraph, Value
from freshet.rml.reader_web import endpoint_of, file_name, place_of, thing_of
from freshet.rml.reference_checks import check_iterator
from freshet.rml.sources import (
    SQLITE,
    TABLE_FORMS,
    Compression,
    CsvDialect,
    DatabaseSource,
    FileSource,
    Formulation,
    LogicalSource,
    Source,
    WebPlace,
)
from freshet.rml.stream_sources import read_stream_source
from freshet.rml.vocabulary import short

_IN_LOGICAL_SOURCE = {
    "source", "referenceFormulation", "iterator", "query", "tableName", "sqlQuery", "sqlVersion", "null", "encoding",
    "compression",
}  # fmt: skip
_IN_LOGICAL_TABLE = {"tableName", "sqlQuery", "sqlVersion"}
_IN_FILE = {"path", "root", "encoding", "compression", "null"}
_IN_TABLE = {"csvw:url", "csvw:dialect", "csvw:null", "encoding", "compression", "null"}
_IN_DIALECT = {
    "csvw:delimiter", "csvw:quoteChar", "csvw:commentPrefix", "csvw:header", "csvw:headerRowCount", "csvw:trim",
    "csvw:encoding", "csvw:skipRows", "csvw:skipColumns", "csvw:lineTerminators", "csvw:doubleQuote",
    "csvw:skipBlankRows", "csvw:skipInitialSpace",
}  # fmt: skip
# What has one meaning only here: other values are refused.
_FIXED = {
    "csvw:doubleQuote": ("true", "1"),
    "csvw:skipBlankRows": ("true", "1"),
    "csvw:skipInitialSpace": ("false", "0"),
    "csvw:lineTerminators": ("\n", "\r\n", "\r", "\\n", "\\r\\n", "\\r"),
}
_TRIMS = {"true": "both", "1": "both", "false": "none", "0": "none", "start": "start", "end": "end"}
_COMPRESSIONS = {
    "none": Compression.NONE,
    "gzip": Compression.GZIP,
    "zip": Compression.ZIP,
    "targz": Compression.TAR_GZIP,
    "targzip": Compression.TAR_GZIP,
    "tarxz": Compression.TAR_XZ,
}
_FORMULATIONS = {
    **{form.value: form for form in Formulation if form not in (Formulation.VIEW, Formulation.ROWS)},
    "XPathReferenceFormulation": Formulation.XML,
    "JSONPathReferenceFormulation": Formulation.JSON,
    "formats:SPARQL_Results_CSV": Formulation.SPARQL,
    "formats:SPARQL_Results_JSON": Formulation.SPARQL,
    "formats:SPARQL_Results_XML": Formulation.SPARQL,
    "formats:SPARQL_Results_TSV": Formulation.SPARQL,
}


def read_logical_source(graph: MappingGraph, node: Value) -> LogicalSource:
    """The logical source that a node of the mapping describes; views are `freshet.rml.reader_views`'s."""
    graph.check_properties(node, _IN_LOGICAL_SOURCE)
    source = graph.optional(node, "source")
    if source is None:
        raise graph.wrong("has a logical source without a source")
    formulation = read_formulation(graph, node)
    if (asked := endpoint_of(graph, node, source, formulation)) is not None:
        return _of_endpoint(graph, node, asked, formulation)
    iterator = graph.text(node, "iterator", "query", "sqlQuery", "tableName")
    nulls = {value.value for value in graph.get(node, "null") + graph.get(source, "null", "csvw:null")}
    if formulation is Formulation.CSV and "http://semweb.mmlab.be/ns/rml#source" in graph.full[node]:
        nulls.add("")  # as the cases of the old vocabulary want it
    given = _source(graph, node, source)
    if formulation is Formulation.CSV and isinstance(given, FileSource) and has_typed_columns(given):
        formulation = Formulation.ROWS
    read = LogicalSource(
        given,
        formulation,
        iterator=iterator or None,
        nulls=frozenset(nulls),
        namespaces=namespaces_of(graph, node),
    )
    _check_iterator(graph, read)
    return read


def _check_iterator(graph: MappingGraph, source: LogicalSource) -> None:
    try:
        check_iterator(source)
    except InputError as error:
        raise graph.wrong(f"has an iterator that cannot be followed: {error.message}") from None


def _of_endpoint(graph: MappingGraph, node: Value, asked: WebPlace, formulation: Formulation) -> LogicalSource:
    """The solutions that an endpoint gives: variables are referred to, or the document that has them is cut."""
    nulls = frozenset(value.value for value in graph.get(node, "null"))
    given = FileSource(file_name(asked), web=asked)
    if formulation not in (Formulation.JSON, Formulation.XML):
        return LogicalSource(given, Formulation.SPARQL, iterator=asked.query, nulls=nulls)
    read = LogicalSource(
        given, formulation, graph.text(node, "iterator"), nulls=nulls, namespaces=namespaces_of(graph, node)
    )
    _check_iterator(graph, read)
    return read


def has_typed_columns(given: FileSource) -> bool:
    """Whether a source is a file, or a folder of files, whose columns have types."""
    if given.compression is not Compression.NONE:
        return False
    if given.path.suffix.lower() in TABLE_FORMS or given.web is not None or not given.path.is_dir():
        return given.path.suffix.lower() in TABLE_FORMS
    return any(file.suffix.lower() in TABLE_FORMS for file in given.path.iterdir())


def read_logical_table(graph: MappingGraph, node: Value, database: str | None) -> LogicalSource:
    """The table or query of an R2RML mapping, which does not say of which database it is."""
    graph.check_properties(node, _IN_LOGICAL_TABLE)
    if database is None:
        raise graph.wrong("reads a table, and R2RML does not say of which database: --database names it")
    name, query = graph.text(node, "tableName"), graph.text(node, "sqlQuery")
    if (name is None) == (query is None):
        raise graph.wrong("needs a logical table with one of rr:tableName and rr:sqlQuery")
    url = _database_url(graph, database) if database.startswith("jdbc:") else f"{SQLITE}{Path(database).resolve()}"
    if name is not None:
        return LogicalSource(DatabaseSource(url), Formulation.TABLE, iterator=name)
    return LogicalSource(DatabaseSource(url), Formulation.QUERY, iterator=query)


def read_formulation(graph: MappingGraph, node: Value) -> Formulation:
    """The reference formulation of a logical source, or of a field."""
    found = graph.optional(node, "referenceFormulation")
    if found is None or short(found.value) == "CSV":
        if graph.get(node, "tableName"):
            return Formulation.TABLE
        if graph.get(node, "query", "sqlQuery"):
            return Formulation.QUERY
    if found is None:
        raise graph.wrong("has a logical source without a reference formulation")
    for name in (short(found.value), *sorted(graph.types(found))):
        if name in _FORMULATIONS:
            return _FORMULATIONS[name]
    raise graph.refusal(f"the reference formulation {short(found.value)}")


def namespaces_of(graph: MappingGraph, node: Value) -> tuple[tuple[str, str], ...]:
    """The prefixes that its reference formulation declares."""
    found = graph.optional(node, "referenceFormulation")
    declared = [] if found is None else graph.get(found, "namespace")
    return tuple(
        (graph.single(each, "namespacePrefix").value, graph.single(each, "namespaceURL").value) for each in declared
    )


def _source(graph: MappingGraph, node: Value, source: Value) -> Source:
    if isinstance(source, ox.Literal):
        return _file_at(graph, node, source, source.value)
    if graph.get(source, "path"):
        graph.check_properties(source, _IN_FILE)
        path = graph.single(source, "path").value
        return _file(graph, node, source, file_path(graph, path, graph.optional(source, "root")))
    if graph.get(source, "d2rq:jdbcDSN"):
        return DatabaseSource(
            _database_url(graph, graph.single(source, "d2rq:jdbcDSN").value),
            graph.text(source, "d2rq:jdbcDriver"),
            graph.text(source, "d2rq:username"),
            graph.text(source, "d2rq:password"),
        )
    place = graph.optional(source, "csvw:url", "dcat:downloadURL", "dcat:accessURL")
    if place is None:
        place = next((found for each in graph.get(source, "dcat:distribution") for found in _urls(graph, each)), None)
    if graph.get(source, "csvw:url"):
        graph.check_properties(source, _IN_TABLE, "csvw:")
    if place is not None:
        return _file_at(graph, node, source, place.value)
    if (thing := thing_of(graph, source)) is not None:
        return _file(graph, node, source, file_name(thing), thing)
    try:
        stream = read_stream_source(source, graph.full, graph.file)
    except InputError as error:
        raise graph.wrong(f"cannot be mapped: {error.message}") from None
    if stream is None:
        kinds = ", ".join(sorted(graph.types(source))) or "without a type"
        raise graph.refusal(f"a source that is no file, database or stream ({kinds})")
    return stream


def _database_url(graph: MappingGraph, url: str) -> str:
    """The address of a database; a file of SQLite is looked for where other files are."""
    if not url.startswith(SQLITE):
        return url
    return f"{SQLITE}{file_path(graph, url.removeprefix(SQLITE), None)}"


def _urls(graph: MappingGraph, distribution: Value) -> list[Value]:
    return graph.get(distribution, "dcat:downloadURL", "dcat:accessURL")


def _file_at(graph: MappingGraph, node: Value, source: Value, address: str) -> FileSource:
    """A file of this machine or of the Web."""
    web = place_of(address)
    return _file(graph, node, source, file_path(graph, address, None) if web is None else file_name(web), web)


def _file(graph: MappingGraph, node: Value, source: Value, path: Path, web: WebPlace | None = None) -> FileSource:
    """A file, with what the mapping says of its encoding, compression and dialect."""
    dialect = graph.optional(source, "csvw:dialect")
    encoding = graph.get(source, "encoding") + graph.get(node, "encoding")
    encoding += [] if dialect is None else graph.get(dialect, "csvw:encoding")
    compression = graph.get(source, "compression") + graph.get(node, "compression")
    return FileSource(
        path,
        short(encoding[0].value) if encoding else "UTF-8",
        compression_of(graph, compression[0]) if compression else Compression.NONE,
        CsvDialect() if dialect is None else _dialect(graph, dialect),
        web,
    )


def compression_of(graph: MappingGraph, value: Value) -> Compression:
    name = short(value.value)
    if name not in _COMPRESSIONS:
        raise graph.refusal(f"the compression {name}")
    return _COMPRESSIONS[name]


def _dialect(graph: MappingGraph, given: Value) -> CsvDialect:
    graph.check_properties(given, _IN_DIALECT, "csvw:")
    for name, known in _FIXED.items():
        if other := [value.value for value in graph.get(given, name) if value.value not in known]:
            raise graph.refusal(f"{name} {other[0]}")
    usual = CsvDialect()
    trim = graph.text(given, "csvw:trim") or "false"
    if trim not in _TRIMS:
        raise graph.refusal(f"csvw:trim {trim}")
    header_rows = _count(graph, given, "csvw:headerRowCount")
    if header_rows not in (None, 0, 1):
        raise graph.refusal(f"csvw:headerRowCount {header_rows}")
    quote = graph.text(given, "csvw:quoteChar")
    return CsvDialect(
        delimiter=graph.text(given, "csvw:delimiter") or usual.delimiter,
        quote=usual.quote if quote is None else quote,
        comment=graph.text(given, "csvw:commentPrefix") or None,
        header=graph.text(given, "csvw:header") not in ("false", "0") and header_rows != 0,
        trim=_TRIMS[trim],
        skip_rows=_count(graph, given, "csvw:skipRows") or 0,
        skip_columns=_count(graph, given, "csvw:skipColumns") or 0,
    )


def _count(graph: MappingGraph, node: Value, name: str) -> int | None:
    text = graph.text(node, name)
    if text is not None and not (text.isascii() and text.isdecimal()):
        raise graph.wrong(f"has {name} {text}, which is no count")
    return None if text is None else int(text)


def file_path(graph: MappingGraph, text: str, root: Value | None) -> Path:
    """The path that a mapping means: from its own folder, the current one, or another that it names.

    Without a root it is the mapping's own folder, unless the file is only in the current one.
    """
    if text.startswith(("http://", "https://", "ftp://", "ws://")):
        raise graph.refusal(f"the address {text} as a file")
    plain = Path(unquote(urlsplit(text).path)) if text.startswith("file:") else Path(text)
    if graph.sent is not None:
        return plain
    own = graph.path.resolve().parent
    name = None if root is None else short(root.value)
    if name is None:
        beside = own / plain
        return beside if beside.exists() or not plain.resolve().exists() else plain.resolve()
    if name == "MappingDirectory":
        return own / plain
    if name == "CurrentWorkingDirectory":
        return Path.cwd() / plain
    if isinstance(root, ox.Literal):
        return (own / root.value / plain).resolve()
    raise graph.refusal(f"the root {name}")
