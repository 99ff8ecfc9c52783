"""PostgreSQL and MySQL (MariaDB) through drivers of Python: how an address is connected to, and what values become."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from freshet.rml.kinds import BOOLEAN, TIME
from freshet.rml.sources import DatabaseSource
from freshet.sources.columns import ROWS
from freshet.sources.typed import NONE, Typed

_CONNECT_SECONDS = 20
_ROW_BYTES = 100  # of a row whose width the planner does not give
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a database is, and as whom it is read."""

    host: str
    port: int
    database: str
    user: str | None = None
    password: str | None = None


class DatabaseDriver(ABC):
    """Reads from one kind of database."""

    module: str
    port: int
    quote: str  # around names of tables

    @property
    @abstractmethod
    def failures(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    @abstractmethod
    def query(self, address: ServerAddress, query: str) -> Any:
        """A context with the names of a query's columns and its rows, which the server keeps until they are taken."""

    @abstractmethod
    def estimated_bytes(self, address: ServerAddress, query: str) -> int:
        """How much a query gives, as far as the server's planner knows."""

    @abstractmethod
    def has_table(self, address: ServerAddress, name: str) -> bool:
        """Whether there is a table that is spelt just like this."""


class PostgreSqlDriver(DatabaseDriver):
    module, port, quote = "psycopg", 5432, '"'
    # The types that Python has values for: booleans, numbers, dates and times, bytes. Others stay as the server
    # writes them.
    _KNOWN = frozenset({16, 17, 20, 21, 23, 26, 700, 701, 1082, 1083, 1114, 1184, 1266, 1700})

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.Error,)

    @contextmanager
    def query(self, address: ServerAddress, query: str) -> Iterator[tuple[list[str], Iterator[list[Row]]]]:
        from psycopg.types.string import TextLoader

        with self._connection(address) as connection:
            with connection.cursor() as probe:
                probe.execute(f"SELECT * FROM ({query}) AS asked LIMIT 0".encode())
                described = probe.description or []
            for column in described:
                if column.type_code not in self._KNOWN:
                    connection.adapters.register_loader(column.type_code, TextLoader)
            with connection.cursor("freshet") as cursor:
                cursor.execute(query.encode())
                yield [column.name for column in described], _pieces(cursor)

    def estimated_bytes(self, address: ServerAddress, query: str) -> int:
        with self._connection(address) as connection:
            (planned,) = connection.execute(f"EXPLAIN (FORMAT JSON) {query}".encode()).fetchone()
            plan = planned[0]["Plan"]
            return int(plan["Plan Rows"] * plan["Plan Width"])

    def has_table(self, address: ServerAddress, name: str) -> bool:
        with self._connection(address) as connection:
            found = connection.execute("SELECT to_regclass(quote_ident(%s)) IS NOT NULL", (name,)).fetchone()
            return bool(found and found[0])

    @contextmanager
    def _connection(self, address: ServerAddress) -> Iterator[Any]:
        import psycopg

        with psycopg.connect(
            host=address.host,
            port=address.port,
            dbname=address.database,
            user=address.user,
            password=address.password,
            connect_timeout=_CONNECT_SECONDS,
            application_name="freshet",
        ) as connection:
            connection.read_only = True
            yield connection


class MySqlDriver(DatabaseDriver):
    module, port, quote = "pymysql", 3306, "`"

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        import pymysql

        return (pymysql.Error,)

    @contextmanager
    def query(self, address: ServerAddress, query: str) -> Iterator[tuple[list[str], Iterator[list[Row]]]]:
        from pymysql.constants import FIELD_TYPE

        with self._connection(address) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            described = cursor.description or ()
            names = [column[0] for column in described]
            # BOOLEAN is TINYINT(1) there.
            truths = [place for place, column in enumerate(described) if (column[1], column[3]) == (FIELD_TYPE.TINY, 1)]
            yield names, (_with_truths(rows, truths) for rows in _pieces(cursor))

    def estimated_bytes(self, address: ServerAddress, query: str) -> int:
        with self._connection(address) as connection, connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {query}")
            place = [column[0] for column in cursor.description].index("rows")
            return max((int(row[place] or 0) for row in cursor.fetchall()), default=0) * _ROW_BYTES

    def has_table(self, address: ServerAddress, name: str) -> bool:
        return True  # quoted or not, a name is the same

    @contextmanager
    def _connection(self, address: ServerAddress) -> Iterator[Any]:
        import pymysql
        from pymysql.constants import FIELD_TYPE
        from pymysql.converters import conversions
        from pymysql.cursors import SSCursor

        connection = pymysql.connect(
            host=address.host,
            port=address.port,
            database=address.database,
            user=address.user,
            password=address.password or "",
            connect_timeout=_CONNECT_SECONDS,
            charset="utf8mb4",
            cursorclass=SSCursor,
            conv={**conversions, FIELD_TYPE.TIME: _time},
            init_command="SET SESSION TRANSACTION READ ONLY",
        )
        try:
            yield connection
        finally:
            connection._force_close()  # `close` would read what is left of the answer


def _time(text: str) -> Typed:
    return Typed(text.rstrip("0").removesuffix(".") if "." in text else text, TIME)


def _pieces(cursor: Any) -> Iterator[list[Row]]:
    while rows := cursor.fetchmany(ROWS):
        yield list(rows)


def _with_truths(rows: list[Row], places: list[int]) -> list[Row]:
    """Rows whose numbers at some places are truth values."""
    if not places:
        return rows
    changed: list[Row] = []
    for row in rows:
        cells = list(row)
        for place in places:
            cells[place] = NONE if cells[place] is None else Typed("true" if cells[place] else "false", BOOLEAN)
        changed.append(cells)
    return changed


DRIVERS: dict[str, DatabaseDriver] = {
    "jdbc:postgresql": PostgreSqlDriver(),
    "jdbc:mysql": MySqlDriver(),
    "jdbc:mariadb": MySqlDriver(),
}


def driver_of(url: str) -> DatabaseDriver | None:
    """The driver for a JDBC address, where it is installed. An address with options is for Java's drivers."""
    driver = DRIVERS.get(url.partition("://")[0])
    if driver is None or find_spec(driver.module) is None:
        return None
    options = {name for name, _ in parse_qsl(urlsplit(url.removeprefix("jdbc:")).query, keep_blank_values=True)}
    return driver if options <= {"user", "password"} else None


def address_of(given: DatabaseSource, driver: DatabaseDriver) -> ServerAddress:
    parts = urlsplit(given.url.removeprefix("jdbc:"))
    options = dict(parse_qsl(parts.query))
    return ServerAddress(
        parts.hostname or "localhost",
        parts.port or driver.port,
        unquote(parts.path.lstrip("/")),
        given.user or options.get("user"),
        given.password if given.password is not None else options.get("password"),
    )


def show_address(url: str) -> str:
    """An address as errors show it: without a password that is in it."""
    return url.partition("?")[0]
