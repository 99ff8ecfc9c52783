"""The parser's tables on disk: whole, up to date, and no trouble where they cannot be kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from freshet.syntax import tables

PARSE = "from freshet.syntax.parser import parse_query; parse_query('ASK { ?s ?p ?o }')"


@pytest.fixture
def directories(monkeypatch, tmp_path):
    """Two directories of the test's own in place of the real ones, and no parser remembered."""
    found = [tmp_path / "first", tmp_path / "second"]
    monkeypatch.setattr(tables, "_directories", lambda: iter(found))
    tables.parser.cache_clear()
    yield found
    tables.parser.cache_clear()


def built(monkeypatch) -> list[int]:
    """Counts how often tables are worked out."""
    calls: list[int] = []
    build = tables.build

    def counted(*asked):
        calls.append(1)
        return build(*asked)

    monkeypatch.setattr(tables, "build", counted)
    return calls


def test_tables_are_worked_out_once(directories, monkeypatch):
    calls = built(monkeypatch)
    first = tables.parser().parse("ASK { ?s ?p ?o }")
    tables.parser.cache_clear()
    assert tables.parser().parse("ASK { ?s ?p ?o }") == first
    assert len(calls) == 1
    assert [path.suffix for path in directories[0].iterdir()] == [".tables"]


def test_half_a_file_is_worked_out_again(directories, monkeypatch):
    calls = built(monkeypatch)
    tables.parser()
    [path] = directories[0].iterdir()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    tables.parser.cache_clear()
    assert tables.parser().parse("ASK {}")
    assert len(calls) == 2


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x80\x04N."])
def test_a_file_of_something_else_is_worked_out_again(directories, content):
    tables.parser()
    [path] = directories[0].iterdir()
    path.write_bytes(content)
    tables.parser.cache_clear()
    assert tables.parser().parse("ASK {}")


def test_the_second_directory_serves_where_the_first_cannot_be_written(directories, tmp_path):
    directories[0].write_text("a file where a directory should be")
    assert tables.parser().parse("ASK {}")
    assert list(directories[1].iterdir())


def test_nowhere_to_write_is_no_error(directories):
    for directory in directories:
        directory.write_text("a file where a directory should be")
    assert tables.parser().parse("ASK {}")


def test_processes_that_start_at_once_do_not_disturb_each_other(tmp_path):
    """Several processes find no tables at the same moment: all parse, one file is left, nothing is said."""
    package = Path(tables.__file__).parents[1]
    code = (
        "from pathlib import Path; import freshet.syntax.tables as tables; "
        f"tables._directories = lambda: iter([Path({str(tmp_path / 'kept')!r})]); {PARSE}"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, cwd=package.parent) for _ in range(3)
    ]
    for process in started:
        _, said = process.communicate(timeout=600)
        assert (process.returncode, said) == (0, b"")
    assert len(list((tmp_path / "kept").iterdir())) == 1


@pytest.mark.parametrize("start", [tables.QUERY, tables.UPDATE])
def test_the_grammar_has_no_conflicts(caplog, start):
    """Lark settles a shift/reduce conflict in silence, except when it is asked to log."""
    import logging

    from lark import Lark, logger

    with caplog.at_level(logging.DEBUG, logger=logger.name):
        Lark(tables._grammar(start), start=start, parser="lalr", lexer="basic", debug=True)
    assert "onflict" not in caplog.text
