"""A real PostgreSQL and a real MariaDB, started by the tests, on free ports of this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from debian_packages import program
from freshet_benchmarks.local_servers import free_ports

_PATIENCE = 60  # seconds, for which only a failure waits


class DatabaseServer:
    """A server in a folder of its own. As root it runs as the user that its package has made."""

    name: str
    user: str  # of the system

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"freshet-{self.name}-"))
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            shutil.chown(self.folder, self.user)
            self._as = {"user": self.user}
        self.log = (self.folder / "server.log").open("ab")

    def _run(self, *command: str | Path) -> None:
        done = subprocess.run(
            [str(each) for each in command], cwd=self.folder, capture_output=True, text=True, check=False, **self._as
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    def _start(self, *command: str | Path) -> None:
        self._process = subprocess.Popen(
            [str(each) for each in command], cwd=self.folder, stdout=self.log, stderr=self.log, **self._as
        )
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self.run("SELECT 1")
                return
            except Exception:
                if time.monotonic() > end or self._process.poll() is not None:
                    text = (self.folder / "server.log").read_text(errors="replace")
                    pytest.fail(f"{self.name} does not start: {text[-2000:]}")
                time.sleep(0.1)

    def run(self, *statements: str, database: str = "") -> None:
        """Run statements that give nothing back."""
        raise NotImplementedError

    def renew(self, statements: Sequence[str] = ()) -> None:
        """An empty database `test`, with what these statements make in it."""
        self.run("DROP DATABASE IF EXISTS test", "CREATE DATABASE test")
        self.run(*statements, database="test")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)
            self._process.kill()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgreSql(DatabaseServer):
    name, user, login = "postgresql", "postgres", "postgres"

    def __init__(self) -> None:
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not folders:
            program("pg_ctlcluster", "postgresql", "postgresql")
            folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        programs = folders[-1]
        super().__init__()
        data = self.folder / "data"
        self._run(programs / "initdb", "-D", data, "-U", self.login, "-A", "trust", "--no-sync", "--locale=C.UTF-8")
        self._start(programs / "postgres", "-D", data, "-p", str(self.port), "-h", "127.0.0.1", "-k", self.folder, "-F")

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/test"

    def run(self, *statements: str, database: str = "") -> None:
        import psycopg

        address = {"host": "127.0.0.1", "port": self.port, "user": self.login, "dbname": database or "postgres"}
        with psycopg.connect(**address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


class MariaDb(DatabaseServer):
    name, user, login = "mysql", "mysql", "root"

    def __init__(self) -> None:
        server = program("mariadbd", "mysql", "mariadb-server")
        install = program("mariadb-install-db", "mysql", "mariadb-server")
        super().__init__()
        data = self.folder / "data"
        options = ["--no-defaults", f"--datadir={data}"]
        self._run(install, *options, "--auth-root-authentication-method=normal", "--skip-test-db")
        self._start(
            server, *options, f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self.folder}/socket",
            f"--pid-file={self.folder}/pid", "--innodb-flush-log-at-trx-commit=0",
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"jdbc:mysql://127.0.0.1:{self.port}/test"

    def run(self, *statements: str, database: str = "") -> None:
        import pymysql

        address = {"host": "127.0.0.1", "port": self.port, "user": self.login, "database": database or None}
        connection = pymysql.connect(**address, autocommit=True, charset="utf8mb4")
        with contextlib.closing(connection), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
