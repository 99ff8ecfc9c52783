"""`freshet explain`: how a query is understood, how it is answered, and what that cost over recorded streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshet.algebra.names import ShortNames
from freshet.algebra.nodes import Query
from freshet.algebra.printing import explain_json, explain_text
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.window_text import adaptive_line
from freshet.federation.evaluation import Constraints
from freshet.native.measuring import Measurements
from freshet.native.plan.describing import plan_json, plan_text
from freshet.native.plan.lower import lower, lower_live
from freshet.native.plan.plan import Plan
from freshet.rdf.errors import FreshetError, InputError, UnsupportedError
from freshet.rdf.terms import Iri
from freshet.results.html import text_html
from freshet.runtime.query_graphs import check_graphs
from freshet.runtime.recordings import Recordings
from freshet.runtime.replay import replay
from freshet.runtime.session import Session
from freshet.syntax.parser import parse_query


class AnalysisError(FreshetError):
    """A query failed while it was looked at."""

    exit_status = 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """A query, what the rewrite rules make of it, and the plan by which a continuous query is kept answered.

    `str()` and `text()` give it as a tree to read, `json()` as objects. Notebooks show the tree.
    """

    query: Query
    rewritten: Query | None
    plan: Plan | None
    measured: Measurements | None = None
    refused: str | None = None

    def text(self) -> str:
        lines = [explain_text(self.query, self.rewritten)]
        short = ShortNames(self.query.prefixes)
        if self.plan is not None:
            title = "kept answered by" if self.measured is None else "kept answered by, with what each operator did"
            lines += [title, *(f"  {line}" for line in plan_text(self.plan, short, self.measured))]
            lines += [f"  Window on {short(Iri(name))}: {adaptive_line(counts)}" for name, counts in self._adaptive()]
        if self.refused is not None:
            lines += ["not kept answered", f"  {self.refused}"]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return text_html(self.text())

    def json(self) -> dict[str, Any]:
        found = explain_json(self.query, self.rewritten)
        if self.plan is not None:
            found["operators"] = plan_json(self.plan, self.measured)
        if adaptive := [{"stream": name, **counts} for name, counts in self._adaptive()]:
            found["adaptive_windows"] = adaptive
        return found | ({} if self.refused is None else {"refused": self.refused})

    def _adaptive(self) -> list[tuple[str, dict[str, int]]]:
        """What windows that adapt have done, by their streams."""
        known = () if self.measured is None else self.measured.adaptive
        return [(each.feed.stream, each.subwindows.counted()._asdict()) for each in dict.fromkeys(known)]


def explain(
    text: str, *, file: str | None, dialect: str | None, optimized: bool | None, live: bool = False
) -> Explanation:
    """What there is to say of a query without running it; of one without a window also how it is kept `live`."""
    query = parse_query(text, file=file, dialect=dialect)
    shown = not (query.windows or live) if optimized is None else optimized
    plan, refused = None, None
    if query.windows or live:
        try:
            plan = lower(query) if query.windows else lower_live(query)
        except UnsupportedError as error:
            refused = error.message
    return Explanation(query, rewrite(query) if shown else None, plan, refused=refused)


def analyze(
    text: str,
    recordings: Recordings,
    data: Iterable[tuple[Path, str | None]],
    *,
    from_files: Path | None = None,
    lateness_ms: int,
    file: str | None,
    dialect: str | None,
    services: Iterable[str] = (),
) -> Explanation:
    """The same of a continuous query, with what its operators did while recorded streams were replayed.

    `data` are files with their named graphs, `from_files` is a folder for those that FROM names, `services` are the
    hosts that SERVICE may ask. A query that fails is an error.
    """
    query = parse_query(text, file=file, dialect=dialect)
    if not query.windows:
        raise InputError("--analyze takes a continuous query", file=file)
    with Session(services=services) as session:
        for path, graph in data:
            session.load(path, graph=graph)
        check_graphs(session, query, text, file=file, folder=from_files)
        for stream in recordings.files:
            session.stream(stream, lateness_ms=lateness_ms)
        measured = Measurements()
        asked = Constraints(query.accuracy, query.latency_ms)
        plan = session.engine.register(
            "query", query, lambda report: None, file=file, measurements=measured, constraints=asked
        )
        replay(session, recordings)
        for failure in session.failures:
            raise AnalysisError(str(failure), file=file)
    return Explanation(query, None, plan, measured)
