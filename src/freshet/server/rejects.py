"""What could not be read: counted by stream, and the newest kept with the reason and the record."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from freshet.rdf.errors import FreshetError
from freshet.server.pipeline_rejects import PipelineRejects

_NEWEST = 200
_LONGEST = 500  # characters of a record


class Rejects:
    """What was posted to streams and could not be read; and what a pipeline rejects, where there is one."""

    def __init__(self) -> None:
        self.pipeline: PipelineRejects | None = None
        self._counts: Counter[str] = Counter()
        self._newest: deque[dict[str, Any]] = deque(maxlen=_NEWEST)

    def add(self, stream: str, error: FreshetError, body: bytes) -> None:
        """Note a post, with the line of it that the error names, or its beginning."""
        lines = body.split(b"\n") if error.line is not None else [body]
        at = min((error.line or 1) - 1, len(lines) - 1)
        column = f", column {error.column}" if error.column else ""
        self._counts[stream] += 1
        self._newest.append(
            {
                "time_ms": time.time_ns() // 1_000_000,
                "stream": stream,
                "reason": error.message,
                "source": f"line {error.line}{column}" if error.line else "",
                "record": lines[at][:_LONGEST].decode(errors="replace"),
            }
        )

    def add_records(self, stream: str, rejected: Sequence[tuple[str, str]]) -> None:
        """Note records of a post that could not be mapped, each with its reason: there may be millions."""
        newest = rejected[-_NEWEST:]
        for reason, record in newest:
            self.add(stream, FreshetError(reason), record.encode())
        self._counts[stream] += len(rejected) - len(newest)

    def counts(self) -> Counter[str]:
        """How many there were, by the IRI of the stream."""
        return self._counts if self.pipeline is None else self._counts + Counter(self.pipeline.counts())

    def json(self) -> dict[str, Any]:
        """How many there were, and the newest, last come first. It may read files."""
        newest = [*reversed(self._newest)]
        if self.pipeline is not None:
            newest += self.pipeline.newest(_NEWEST)
            newest.sort(key=lambda each: each["time_ms"], reverse=True)
        return {"total": self.counts().total(), "rejects": newest[:_NEWEST]}
