"""The results of RML's test cases as a table: what an implementation report wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from conformance.rml_registry import check_registry
from conformance.rml_run import check, mapped, prepare
from conformance.rml_suite import RmlCase
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here

COLUMNS = ("suite", "test", "result", "reason")


def report(cases: Iterable[RmlCase], reasons: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """Suite, test, `passed`, `failed` or `untested`, and why, if that is known."""
    with Servers() as servers:
        return list(_rows(cases, reasons, servers))


class Servers:
    """The database servers of cases, started when they are asked for."""

    def __enter__(self) -> Servers:
        self._started: dict[str, Any] = {}
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._started.values():
            server.stop()

    def __call__(self, name: str) -> Any:
        from database_servers import MariaDb, PostgreSql

        if name not in self._started:
            self._started[name] = {"mysql": MariaDb, "postgresql": PostgreSql}[name]()
        return self._started[name]


def _rows(
    cases: Iterable[RmlCase], reasons: Mapping[str, str], servers: Servers
) -> Iterator[tuple[str, str, str, str]]:
    for case in cases:
        suite, _, name = case.name.partition("/")
        try:
            passed = passes(case, servers)
        except (pytest.skip.Exception, pytest.fail.Exception) as error:
            yield suite, name, "untested", str(error)
            continue
        yield suite, name, "passed" if passed else "failed", "" if passed else reasons.get(case.name, "")


def passes(case: RmlCase, servers: Servers) -> bool:
    """Whether a case makes what it expects, in this process."""
    with TemporaryDirectory(prefix="freshet-rml-") as name, chdir(name):
        try:
            if case.name.startswith("rml-io-registry/"):
                check_registry(case, Path(name), servers)
                return True
            prepare(case, Path(name))
            options = MapOptions(Path("found.nq").absolute(), rejects=Path("rejects").absolute(), base=case.base)
            check(case, mapped(lambda: run_map_here(Path("mapping.ttl").absolute(), options)), Path(name))
        except AssertionError:
            return False
    return True
