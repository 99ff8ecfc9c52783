"""Cases as data: `cases/<topic>/<name>/` holds a query, its streams, what is stored and what must come out.

`query.rq`; a `<name>.tnt` a stream (the stream's IRI is `http://example.org/<name>`); `data.ttl` or `data.trig`, if
anything is stored; `streams.json`, if a stream is late or absorbed, or keeps graphs; `report.txt`, if the query is
registered with conditions on when to report; `expected.ndjson`, worked out by hand; and `reference.txt`, if the
reference cannot do the case, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"
EXAMPLE = "http://example.org/"


@dataclass(frozen=True)
class Case:
    """One directory of `cases/`."""

    path: Path

    @property
    def name(self) -> str:
        """`topic/name`"""
        return self.path.relative_to(CASES).as_posix()

    @property
    def query_path(self) -> Path:
        return self.path / "query.rq"

    @property
    def query(self) -> str:
        return self.query_path.read_text(encoding="utf-8")

    @property
    def data_path(self) -> Path | None:
        return next(iter(sorted(self.path.glob("data.*"))), None)

    @property
    def stream_paths(self) -> dict[str, Path]:
        """The file of every stream, by IRI."""
        return {EXAMPLE + path.stem: path for path in sorted(self.path.glob("*.tnt"))}

    @property
    def streams(self) -> dict[str, list[tuple[int, str]]]:
        """The lines of every stream, by IRI, in order of arrival."""
        return {iri: read_timed(path.read_text(encoding="utf-8")) for iri, path in self.stream_paths.items()}

    @property
    def lateness_ms(self) -> dict[str, int]:
        return {EXAMPLE + name: options.get("lateness_ms", 0) for name, options in self._options().items()}

    @property
    def absorb(self) -> dict[str, bool]:
        return {EXAMPLE + name: options.get("absorb", False) for name, options in self._options().items()}

    @property
    def graphs(self) -> set[str]:
        """The streams that keep the graphs of their elements."""
        return {EXAMPLE + name for name, options in self._options().items() if options.get("graphs")}

    @property
    def expected(self) -> list[dict[str, Any]]:
        text = (self.path / "expected.ndjson").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def report(self) -> tuple[str, ...]:
        """The conditions that a moment must meet to be reported."""
        path = self.path / "report.txt"
        return tuple(path.read_text(encoding="utf-8").split()) if path.exists() else ()

    @property
    def beyond_reference(self) -> str | None:
        """Why the reference cannot do this case, or None."""
        path = self.path / "reference.txt"
        return path.read_text(encoding="utf-8").strip() if path.exists() else None

    def _options(self) -> dict[str, dict[str, Any]]:
        path = self.path / "streams.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_timed(text: str) -> list[tuple[int, str]]:
    """Timed N-Triples: milliseconds, a tab, a statement."""
    pairs = (line.split("\t", 1) for line in text.split("\n") if line)
    return [(int(time), statement) for time, statement in pairs]


def all_cases() -> Iterator[Case]:
    """Every case there is, in the order of their names."""
    return (Case(path.parent) for path in sorted(CASES.glob("*/*/query.rq")))
