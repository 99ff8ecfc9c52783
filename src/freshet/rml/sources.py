"""Where records come from, as mappings describe it: files, tables, live streams."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Formulation(StrEnum):
    """How references and iterators are written, and so what a record is."""

    JSON = "JSONPath"
    CSV = "CSV"
    XML = "XPath"
    TABLE = "SQL2008Table"
    QUERY = "SQL2008Query"
    SPARQL = "SPARQL"
    ROWS = "Rows"  # of files with typed columns, which mappings call CSV
    VIEW = "LogicalView"


SQLITE = "jdbc:sqlite:"  # how the address of a database begins that is a file

# How the names of files with typed columns end.
ARROW_FORMS = (".parquet", ".orc", ".arrow", ".feather")
AVRO_FORMS = (".avro",)
SHEET_FORMS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
TABLE_FORMS = (*ARROW_FORMS, *AVRO_FORMS, *SHEET_FORMS)


class Compression(StrEnum):
    """How a file is packed."""

    NONE = "none"
    GZIP = "gzip"
    ZIP = "zip"
    TAR_GZIP = "targzip"
    TAR_XZ = "tarxz"


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How the text of a CSV file is cut, where a mapping (CSVW) says something else than the usual."""

    delimiter: str = ","
    quote: str = '"'
    comment: str | None = None
    header: bool = True
    trim: str = "none"  # or start, end, both
    skip_rows: int = 0  # lines before the header
    skip_columns: int = 0  # columns at the start that have no names


@dataclass(frozen=True, slots=True)
class WebPlace:
    """A document on the Web, or what a SPARQL endpoint answers to a query. `headers` go with the request."""

    url: str
    accept: str = "*/*"
    headers: tuple[tuple[str, str], ...] = ()
    query: str | None = None


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file, or a pattern of files, or all files of a folder. The path is absolute once the mapping is read.

    What is on the `web` is a file once it was fetched; until then the path is only its name.
    """

    path: Path
    encoding: str = "UTF-8"
    compression: Compression = Compression.NONE
    dialect: CsvDialect = CsvDialect()
    web: WebPlace | None = None


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """A relational database, by its JDBC name; `jdbc:sqlite:FILE` needs no driver."""

    url: str
    driver: str | None = None
    user: str | None = None
    password: str | None = None


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """A Kafka topic; each message is a document.

    `start` is where a first run begins: earliest or latest. `options` go to Kafka's client as they are. With a
    `registry`, the address of a schema registry, messages have headers with the numbers of their schemas.
    """

    brokers: str
    topic: str
    group: str | None = None
    start: str = "earliest"
    options: tuple[tuple[str, str], ...] = ()
    registry: str | None = None
    registry_headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SocketSource:
    """A TCP server; each line is a document, or what stands between two delimiters."""

    host: str
    port: int
    delimiter: str = "\n"


@dataclass(frozen=True, slots=True)
class MqttSource:
    """An MQTT topic filter; each message is a document."""

    host: str
    topic: str
    port: int = 1883
    quality: int = 1
    client: str | None = None  # the name of the session
    user: str | None = None
    password: str | None = None
    tls: bool = False


@dataclass(frozen=True, slots=True)
class EventSource:
    """Server-sent events of an address; the data of each is a document. `event` is the kind to read, None for all."""

    url: str
    event: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class WebSocketSource:
    """A WebSocket server; each message is a document. The messages of `send` go to the server after connecting."""

    url: str
    send: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    protocols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LdesSource:
    """A linked data event stream, from one of its pages on; each member is a document of timed N-Triples.

    `time_path` is the predicate with the times, where the stream does not say it; `every_ms` is how often a page is
    asked for that may change and does not say when.
    """

    url: str
    time_path: str | None = None
    every_ms: int = 10_000
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder whose new files are read as they appear; each line is a document."""

    folder: Path
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class UnreadStream:
    """A stream that a mapping describes and Freshet cannot read: a pipeline file may say where else it is."""

    what: str


@dataclass(frozen=True, slots=True)
class DerivedSource:
    """Records that are made of other records; `freshet.rml.views` has them."""

    name: str


StreamSource = (
    KafkaSource | SocketSource | MqttSource | EventSource | WebSocketSource | LdesSource | FolderSource | UnreadStream
)
Source = FileSource | DatabaseSource | StreamSource | DerivedSource


def source_name(source: Source) -> str:
    """The name by which people know a source."""
    match source:
        case KafkaSource(topic=topic) | MqttSource(topic=topic):
            return topic
        case SocketSource(host, port):
            return f"{host}:{port}"
        case EventSource(url) | WebSocketSource(url) | LdesSource(url):
            return url
        case FolderSource(folder, pattern):
            return pattern or folder.name
        case FileSource(path):
            return path.name
        case DatabaseSource(url):
            return url
        case UnreadStream(what):
            return what
        case DerivedSource(name):
            return name


@dataclass(frozen=True, slots=True)
class LogicalSource:
    """Records: what a source gives, cut by an iterator (JSONPath, XPath, a table's name, an SQL or SPARQL query).

    `nulls` are the texts that stand for nothing. `namespaces` are the prefixes that XPath references use.
    """

    source: Source
    formulation: Formulation
    iterator: str | None = None
    nulls: frozenset[str] = frozenset()
    namespaces: tuple[tuple[str, str], ...] = ()
