"""What a pipeline rejects: counted as its batches come in, and the newest records as its files of rejects have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from freshet.runtime.metrics import Metrics, StreamCounts

_BATCH = re.compile(r"batch-[0-9]+\.json")
_PART = re.compile(r"\.[0-9]+$")  # of a stream whose mapping has several sources
_LONGEST = 500  # characters of a record


class _File(NamedTuple):
    """A file of rejects, and when it was written."""

    written_ms: int
    path: Path


class PipelineRejects:
    """The rejects of a pipeline since its start. `streams` are the IRIs of streams by their names in the pipeline."""

    def __init__(self, folder: Path, streams: Mapping[str, str], counts: Metrics, began_ms: int) -> None:
        self._folder = folder
        self._streams = streams
        self._counts = counts
        self._began_ms = began_ms

    def counts(self) -> dict[str, int]:
        """How many records of each stream were rejected, by its IRI."""
        return {iri: counts.rejected for iri, counts in self._counted()}

    def records(self) -> dict[str, int]:
        """How many records of each stream were read, rejected ones included, by its IRI."""
        return {iri: counts.records for iri, counts in self._counted()}

    def _counted(self) -> Iterator[tuple[str, StreamCounts]]:
        for name, counts in self._counts.snapshot().streams.items():
            yield self._streams.get(name, name), counts

    def newest(self, most: int) -> list[dict[str, Any]]:
        """The newest records, those of the newest batch first."""
        found: list[dict[str, Any]] = []
        for file in nlargest(most, self._files()):
            if len(found) < most:
                found += self._records(file, most - len(found))
        return found

    def _files(self) -> Iterator[_File]:
        for path in self._folder.glob("*/batch-*.json"):
            with suppress(FileNotFoundError):  # a batch that is repeated replaces its file
                written_ms = path.stat().st_mtime_ns // 1_000_000
                if _BATCH.fullmatch(path.name) and written_ms >= self._began_ms:
                    yield _File(written_ms, path)

    def _records(self, file: _File, most: int) -> Iterator[dict[str, Any]]:
        name = file.path.parent.name
        stream = self._streams.get(name) or self._streams.get(_PART.sub("", name), name)
        with suppress(FileNotFoundError), file.path.open("rb") as lines:
            for kept in map(orjson.loads, islice(lines, most)):
                line = "" if kept["line"] is None else f", line {kept['line']}"
                yield {
                    "time_ms": file.written_ms,
                    "stream": stream,
                    "reason": kept["reason"],
                    "source": f"{kept['file'] or ''}{line}",
                    "record": (kept["record"] or "")[:_LONGEST],
                }
