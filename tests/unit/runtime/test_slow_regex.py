"""A regular expression that would take for ever: its query fails with a reason, and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest

import freshet
from command_line import CommandLine
from freshet.expressions import timed_regex
from freshet.expressions.timed_regex import RegexLimitError

EX = "http://example.org/"
EVIL, VALUE = "^(a|aa)+$", "a" * 90 + "!"
REASON = f'the regular expression "{EVIL}" takes longer than 0.05 s over a value of 91 characters'
FILTERS = {
    "filter": f'FILTER(REGEX(?b, "{EVIL}"))',
    "bind": f'BIND(REPLACE(?b, "{EVIL}", "") AS ?c)',
    "optional": f'OPTIONAL {{ WINDOW <w> {{ ?a <{EX}p> ?c }} FILTER(REGEX(?c, "{EVIL}")) }}',
    "exists": f'FILTER NOT EXISTS {{ WINDOW <w> {{ ?a <{EX}p> ?c }} FILTER(REGEX(?c, "{EVIL}")) }}',
}


@pytest.fixture(autouse=True)
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_regex, "SECONDS", 0.05)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


def query(name: str, window: str, more: str) -> str:
    return (
        f"REGISTER RSTREAM <{name}> AS SELECT ?a FROM NAMED WINDOW <w> ON <{EX}s> [{window}] "
        f"WHERE {{ WINDOW <w> {{ ?a <{EX}p> ?b }} {more} }}"
    )


@pytest.mark.parametrize("window", ["RANGE PT1S STEP PT1S", "COUNT 1"])
@pytest.mark.parametrize("more", list(FILTERS.values()), ids=list(FILTERS))
def test_the_other_queries_go_on(window: str, more: str) -> None:
    session = freshet.Session(on_failure=lambda failure: None)
    session.stream(EX + "s")
    before, bad, after = (
        session.register(query(name, window, part)) for name, part in (("x", ""), ("bad", more), ("y", ""))
    )
    for time_ms, value in ((100, "b"), (1100, VALUE), (2100, "b"), (3100, "b")):
        session.push(EX + "s", f'{time_ms}\t<{EX}a> <{EX}p> "{value}" .\n')
    session.finish()
    assert [(failure.query, failure.reason) for failure in session.failures] == [("bad", REASON)]
    assert [len(one.take()) for one in (before, after)] == [4, 4]
    assert len(bad.take()) <= 1
    assert set(session.engine.names) == {"x", "y"}


def test_a_session_asked_once() -> None:
    session = freshet.Session()
    with pytest.raises(RegexLimitError) as caught:
        session.query(f'ASK {{ VALUES ?b {{ "{VALUE}" }} FILTER(REGEX(?b, "{EVIL}")) }}')
    assert str(caught.value) == REASON


def test_the_command_line(cli: CommandLine, tmp_path: Path) -> None:
    data = tmp_path / "data.ttl"
    data.write_text(f'<{EX}a> <{EX}p> "{VALUE}" .')
    finished = cli("query", "-d", data, "-q", f'SELECT ?a {{ ?a ?p ?b FILTER(REGEX(?b, "{EVIL}")) }}')
    assert (finished.status, finished.error_line) == (1, f"freshet: {REASON}")
