"""What users see of joins of live streams: what they found, and that they found nothing, with what is known of
why."""

from __future__ import annotations

from freshet.rdf.wording import show_count
from freshet.rml.join_counts import JoinCounts
from freshet.runtime.metrics import Metrics

_FIRST_NOTE = 10  # records that met nothing, before the first note; the next comes at ten times as many


def join_line(counts: JoinCounts) -> str:
    """What a join has done, in a line."""
    reasons = {
        "that could not be read": counts.unread,
        "without a key": counts.keyless,
        "too late": counts.late,
        "given up": counts.given_up,
        "waiting": counts.waiting,
    }
    shown = "".join(f", {count:,} {what}" for what, count in reasons.items() if count)
    records = f"{counts.children:,} and {show_count(counts.parents, 'record')}"
    return f"{show_count(counts.pairs, 'pair')} of {records}{shown}"


class JoinNotes:
    """Counts the joins of a run, and has a note for those in which nothing meets.

    A join says so when ten records have gone without a pair, and again at ten times as many.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._next: dict[str, int] = {}

    def add_counts(self, name: str, more: JoinCounts) -> str:
        """Add the counts of a join; returns a note, empty where there is nothing to report."""
        counts = self._metrics.add_join_counts(name, more)
        least = self._next.get(name, _FIRST_NOTE)
        if counts.pairs or counts.gone < least:
            return ""
        while least <= counts.gone:
            least *= 10
        self._next[name] = least
        return f"join of {name}: nothing was joined yet: {join_line(counts)}"
