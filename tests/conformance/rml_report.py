"""The results of RML's test cases as a table: what an implementation report wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from conformance.rml_run import check, mapped, prepare
from conformance.rml_suite import RmlCase
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here

COLUMNS = ("suite", "test", "result", "reason")


def report(cases: Iterable[RmlCase], reasons: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """Suite, test, `passed` or `failed`, and why it fails, if that is known."""
    return list(_rows(cases, reasons))


def _rows(cases: Iterable[RmlCase], reasons: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for case in cases:
        suite, _, name = case.name.partition("/")
        passed = passes(case)
        yield suite, name, "passed" if passed else "failed", "" if passed else reasons.get(case.name, "")


def passes(case: RmlCase) -> bool:
    """Whether a case makes what it expects, in this process."""
    with TemporaryDirectory(prefix="freshet-rml-") as name:
        folder = Path(name)
        prepare(case, folder)
        options = MapOptions(folder / "found.nq", rejects=folder / "rejects", base=case.base)
        with chdir(folder):
            done = mapped(lambda: run_map_here(folder / "mapping.ttl", options))
            try:
                check(case, done, folder)
            except AssertionError:
                return False
    return True
