"""The local view of a SERVICE pattern: what its endpoint said, entry by entry, and which entries to ask for again.

An entry has the solutions for one combination of values of the joining variables; a pattern that is joined with
nothing has one entry, of all its solutions. Answers that come too late for one evaluation are there for the next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic, time_ns
from typing import NamedTuple

import numpy as np

from freshet.federation.candidates import Candidates, Flags, Ids
from freshet.federation.client import Columns, ServiceClient, columns, rows_of_terms, stack_columns
from freshet.federation.entry_index import EntryIndex
from freshet.federation.errors import ServiceError
from freshet.federation.learnt import Learnt, nothing_learnt
from freshet.federation.refresh_policy import RefreshPolicy
from freshet.federation.service_query import ServiceQuery
from freshet.federation.settings import show_url
from freshet.federation.view_entries import ViewEntry
from freshet.federation.view_rows import ViewRows, without_blanks
from freshet.kernels.joins import number_rows
from freshet.rdf.arrow import read_only
from freshet.rdf.dictionary import Dictionary
from freshet.results.table import Table

_log = logging.getLogger(__name__)
_USED = 0.8  # the share of the time that requests are planned for, as some take longer than the mean
_HEADROOM = 0.02  # what the accuracy loses while answers are waited for
_SURE = 0.999  # an entry that is as likely as this to be right is not asked for

Resting = Callable[[], AbstractContextManager[None]]


class Needed(NamedTuple):
    """What an evaluation needs: keys, all different; for how many evaluations each; by how many rows."""

    keys: Ids
    lives: Ids
    uses: Ids
    slide_ms: int


class Refreshed(NamedTuple):
    """What an evaluation got: the share of its uses that is expected to be right, and what that took."""

    right: float
    used: int
    refreshes: int
    oldest_ms: int
    failing: str | None


class Asked(NamedTuple):
    """What an evaluation has asked of a view: for which entries, for how many anew, and what there is to wait for."""

    candidates: Candidates
    refreshes: int
    waiting: list[Future[Table]]


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A request that is on its way: for which entries, and since when."""

    future: Future[Table]
    entries: Ids
    sent_ms: int
    single: bool


class LocalView:
    """One pattern at one endpoint, for all queries that join with it on the same variables."""

    def __init__(
        self,
        client: ServiceClient,
        iri: str,
        query: ServiceQuery,
        keys: tuple[str, ...],
        dictionary: Dictionary,
        slide_ms: int,
        learnt: Learnt | None = None,
    ) -> None:
        """With what was `learnt` in an earlier view; its entries are known when they have been asked for again."""
        self.endpoint = client.endpoint(iri)
        self.query = query
        self.keys = keys
        self.failing: str | None = None
        self._settings = client.settings
        self._dictionary = dictionary
        self._lock = Lock()
        self._inside = 0  # evaluations that hold numbers of entries
        usual = client.settings.usual_change_seconds(self.endpoint.url)
        self.learnt = learnt or nothing_learnt(len(keys), slide_ms, now_ms(), usual)
        count = len(self._key_rows)
        self._rows = ViewRows(query.variables)
        self._index = EntryIndex()
        self._known: Flags = np.zeros(count, np.bool_)
        self._asked: Flags = np.zeros(count, np.bool_)
        self._fetched_ms: Ids = np.zeros(count, np.int64)
        self._needed_ms: Ids = np.zeros(count, np.int64)
        self._policy = RefreshPolicy(client.settings.proposer, client.settings.ranker)
        self._ranker = self.learnt.ranker
        self._requests: list[_Request] = []

    def join(
        self,
        needed: Needed,
        *,
        seconds: float | None,
        accuracy: float | None,
        silent: bool = False,
        resting: Resting = nullcontext,
    ) -> tuple[Refreshed, Columns]:
        """The solutions for the keys that an evaluation needs, refreshed as far as the time goes.

        It waits within `resting`.
        """
        end = None if seconds is None else monotonic() + seconds
        with self.asking(needed, seconds=seconds, accuracy=accuracy) as asked:
            with resting():
                wait_until(asked.waiting, end)
            return self.answer(asked, silent=silent)

    @contextmanager
    def asking(self, needed: Needed, *, seconds: float | None, accuracy: float | None) -> Iterator[Asked]:
        """Ask for what an evaluation needs; within, the caller waits while there is time, and takes the `answer`.

        What is missing is asked for, then the stale entries that matter most. Without `seconds` it takes the time it
        needs. Where the accuracy asked for is reached without, nothing is refreshed.
        """
        with self._lock:
            self._collect()
            if len(self._key_rows) > self._settings.most_entries and not self._requests and not self._inside:
                self._shrink(self._settings.most_entries // 2)
            entries = self._entries(needed.keys)
            candidates = Candidates(now_ms(), needed.slide_ms, entries, needed.lives, needed.uses)
            chosen = self._choose_entries(candidates, self._budget(seconds), accuracy)
            spent = 0 if self.endpoint.breaker.is_open else len(chosen)  # else they fail before any request
            self._send(chosen)
            asked = Asked(candidates, spent, [each.future for each in self._requests])
            self._inside += 1  # last, when nothing can fail any more: else it would never be decremented
        try:
            yield asked
        finally:
            with self._lock:
                self._inside -= 1

    def answer(self, asked: Asked, *, silent: bool = False) -> tuple[Refreshed, Columns]:
        """What is known by now. With `silent` an entry that is not known has one solution, of its keys only."""
        with self._lock:
            self._collect()
            return self._refreshed(asked.candidates, asked.refreshes), self._solutions(asked.candidates.entries, silent)

    def load(self) -> None:
        """Begin to fetch all there is, where that is wanted, or where the view has no keys."""
        with self._lock:
            if not self.keys:
                self._send(self._entries(np.empty((1, 0), np.int64)))
            elif self._settings.load_whole and not self._known.any():
                self._submit(self.query.whole_query(), np.empty(0, np.int64), single=False)

    def entries(self) -> list[ViewEntry]:
        """The entries that are known by now, with their best-before times."""
        with self._lock:
            self._collect()
            known = np.flatnonzero(self._known)
            keys = rows_of_terms(self._key_rows[known], self._dictionary) if self.keys else [()] * len(known)
            counts = self._rows.counts(known).tolist()
            best_before_ms = self._ranker.best_before_ms(known).astype(np.int64).tolist()
            about = zip(keys, counts, self._fetched_ms[known].tolist(), best_before_ms, strict=True)
            where = show_url(self.endpoint.url)
            return [ViewEntry(where, dict(zip(self.keys, key, strict=True)), *rest) for key, *rest in about]

    @property
    def _key_rows(self) -> Ids:
        return self.learnt.key_rows

    def _entries(self, key_rows: Ids) -> Ids:
        """The numbers of the entries with these keys, which are all different; new ones are added."""
        if not self.keys:
            key_rows = key_rows[:1]
            found: Ids = np.zeros(len(key_rows), np.int64)
        else:
            found = self._index.numbers(self._key_rows, key_rows)
        new = np.flatnonzero(found >= len(self._key_rows))
        if len(new):
            self._grow(key_rows[new])
        self._needed_ms[found] = now_ms()
        return found

    def _solutions(self, entries: Ids, silent: bool) -> Columns:
        found = self._rows.solutions_of(entries)
        missing = entries[~self._known[entries]]
        if not silent or not len(missing):
            return found
        alone = {name: np.zeros(len(missing), np.int64) for name in self.query.variables}
        alone |= {name: self._key_rows[missing, at] for at, name in enumerate(self.keys)}
        ids = {name: np.concatenate([found.ids[name], alone[name]]) for name in self.query.variables}
        return Columns(ids, found.count + len(missing))

    def _grow(self, key_rows: Ids) -> None:
        added = len(key_rows)
        self.learnt.key_rows = np.concatenate([self._key_rows, key_rows])
        self._known, self._asked = (
            np.concatenate([flags, np.zeros(added, np.bool_)]) for flags in (self._known, self._asked)
        )
        self._fetched_ms, self._needed_ms = (
            np.concatenate([times, np.zeros(added, np.int64)]) for times in (self._fetched_ms, self._needed_ms)
        )
        self._ranker.grow(len(self._key_rows), now_ms())

    def _shrink(self, count: int) -> None:
        """Keep the entries that were needed last. Nothing is on its way, and no caller holds numbers of entries."""
        kept = np.sort(np.argsort(self._needed_ms, kind="stable")[-count:])
        self._rows.keep(kept)
        self._index = EntryIndex()
        self._ranker.keep(kept)
        self.learnt.key_rows = self._key_rows[kept]
        self._known, self._asked = self._known[kept], self._asked[kept]
        self._fetched_ms, self._needed_ms = self._fetched_ms[kept], self._needed_ms[kept]

    # ---- which entries

    def _budget(self, seconds: float | None) -> int:
        """How many entries can be asked for in a time, going by how long requests have taken."""
        a_request = self._settings.batch if self.endpoint.knows_values and self.keys else 1
        rounds = 1
        took = self.endpoint.request_seconds
        if seconds is None:
            rounds = 1 << 16
        elif took is not None:
            rounds = max(1, int(_USED * seconds / max(took, 1e-4)))
        return rounds * self._settings.requests_at_once * a_request

    def _choose_entries(self, candidates: Candidates, budget: int, accuracy: float | None) -> Ids:
        """The entries to ask for: the missing ones, then by gain until the accuracy is reached."""
        known = self._known[candidates.entries]
        missing = candidates.entries[~known & ~self._asked[candidates.entries]]
        proposed = self._policy.propose(candidates, len(self._key_rows))
        order = self._policy.order(self._ranker, proposed)
        order = order[(self._known & ~self._asked)[proposed.entries[order]]]
        chances = self._ranker.fresh_chances(proposed.entries[order], candidates.time_ms)
        order, chances = order[chances < _SURE], chances[chances < _SURE]
        target = _SURE if accuracy is None else min(_SURE, accuracy + _HEADROOM)
        lacking = target * candidates.uses[known].sum() - self._right(candidates)
        won = np.cumsum((1 - chances) * proposed.uses[order])
        enough = int(np.searchsorted(won, lacking)) + 1 if lacking > 0 else 0
        return np.concatenate([missing, proposed.entries[order[:enough]]])[:budget]

    def _right(self, candidates: Candidates) -> float:
        """How many uses of known entries are expected to be right."""
        known = self._known[candidates.entries]
        chances = self._ranker.fresh_chances(candidates.entries[known], candidates.time_ms)
        return float((chances * candidates.uses[known]).sum())

    def _refreshed(self, candidates: Candidates, refreshes: int) -> Refreshed:
        known = candidates.entries[self._known[candidates.entries]]
        oldest = now_ms() - int(self._fetched_ms[known].min()) if len(known) else 0
        failing = self.failing or (self.endpoint.trouble if self._requests else None)  # it is tried again meanwhile
        right = self._right(replace(candidates, time_ms=now_ms()))
        return Refreshed(right, int(candidates.uses.sum()), refreshes, oldest, failing)

    # ---- requests

    def _send(self, entries: Ids) -> None:
        if not len(entries):
            return
        if not self.keys:
            self._submit(self.query.whole_query(), entries, single=False)
            return
        terms = rows_of_terms(self._key_rows[entries], self._dictionary)
        if self.endpoint.knows_values:
            size = self._settings.batch
            for first in range(0, len(entries), size):
                rows = terms[first : first + size]
                texts = list(self.query.batches(self.keys, rows, size))
                singles = (self.query.single_query(self.keys, row) for row in rows)
                one = next((text for text in singles if text is not None), None)
                self._submit(texts[0] if texts else None, entries[first : first + size], single=False, one=one)
            return
        for at, row in enumerate(terms):
            self._submit(self.query.single_query(self.keys, row), entries[at : at + 1], single=True)

    def _submit(self, text: str | None, entries: Ids, *, single: bool, one: str | None = None) -> None:
        """Ask; where nothing can fit, the answer is known to be empty. `one` finds out whether VALUES is known."""
        if text is None:
            self._take(_columns_of_nothing(self.query.variables), entries, np.full(len(entries), now_ms()))
            return
        future = self.endpoint.submit(text, self._dictionary.fresh_scope(), single=one)
        self._asked[entries] = True
        self._requests.append(_Request(future, entries, now_ms(), single))

    def _collect(self) -> None:
        """Take in the answers that have come, all at once: a thousand of them may have."""
        done = [each for each in self._requests if each.future.done()]
        taken = set(done)  # others may be done by now
        self._requests = [each for each in self._requests if each not in taken]
        answered: list[tuple[_Request, Columns]] = []
        for request in done:
            try:
                answered.append((request, self._columns(request.future.result(), request)))
            except Exception as error:
                self._failed(request, error)
        whole = [each for each in answered if self.keys and not len(each[0].entries)]
        for some in (*([each] for each in whole), [each for each in answered if each not in whole]):
            try:  # one whole load at a time, since it may have entries that others were asked for too
                self._take_together(some)
            except Exception as error:
                for request, _ in some:
                    self._failed(request, error)

    def _take_together(self, answered: Sequence[tuple[_Request, Columns]]) -> None:
        if not answered:
            return
        self.failing = None
        found = stack_columns([columns for _, columns in answered], self.query.variables)
        requests = [request for request, _ in answered]
        if self.keys and not len(requests[0].entries):
            requests = [replace(requests[0], entries=self._entries(self._keys_of(found)))]
        entries = np.concatenate([each.entries for each in requests])
        sent_ms = np.repeat([each.sent_ms for each in requests], [len(each.entries) for each in requests])
        self._take(found, entries, sent_ms)

    def _failed(self, request: _Request, error: Exception) -> None:
        """Its entries may be asked for again. An error of ours is reported like one of the endpoint."""
        self._asked[request.entries] = False
        if isinstance(error, ServiceError):
            self.failing = error.message
        else:
            where = show_url(self.endpoint.url)
            self.failing = f"an answer of {where} could not be taken in: {type(error).__name__}"
            _log.error("an answer of %s could not be taken in", where, exc_info=error)

    def _columns(self, table: Table, request: _Request) -> Columns:
        found = columns([table], self.query.variables, self._dictionary)
        if request.single:
            for at, name in enumerate(self.keys):
                found.ids[name] = np.full(found.count, self._key_rows[request.entries[0], at])
        return found

    def _keys_of(self, found: Columns) -> Ids:
        """The different keys of some solutions."""
        keys = np.stack([found.ids[name] for name in self.keys], axis=1)
        different: Ids = keys[number_rows(read_only(np.ascontiguousarray(keys)))[1]]
        return different

    def _take(self, found: Columns, entries: Ids, sent_ms: Ids) -> None:
        """The solutions of entries are these now."""
        answer = self._rows.answer(found, self._owners(found, entries))
        comparable = without_blanks(self._dictionary)
        changed = self._rows.differs(answer, entries, comparable)
        changed |= ~self._known[entries]
        self._rows.replace(entries[changed], answer)
        known = self._known[entries]
        self._ranker.record_refresh(entries[known], changed[known], sent_ms[known])
        self._ranker.record_load(entries[~known], sent_ms[~known])
        self._known[entries] = True
        self._asked[entries] = False
        self._fetched_ms[entries] = sent_ms

    def _owners(self, found: Columns, entries: Ids) -> Ids:
        """The entry that each solution belongs to; -1 where it was not asked for."""
        if not self.keys:
            return np.full(found.count, entries[0])
        asked = self._key_rows[entries]
        came = np.stack([found.ids[name] for name in self.keys], axis=1)
        numbers = number_rows(read_only(np.concatenate([asked, came])))[0][len(asked) :]
        return np.where(numbers < len(entries), entries[np.minimum(numbers, len(entries) - 1)], -1)


def _columns_of_nothing(names: Sequence[str]) -> Columns:
    return Columns({name: np.empty(0, np.int64) for name in names}, 0)


def wait_until(waiting: Sequence[Future[Table]], end: float | None) -> None:
    """Wait until all are done, or until a time of the clock (`monotonic`)."""
    wait(waiting, None if end is None else max(0.0, end - monotonic()))


def now_ms() -> int:
    """The time of day; remote data change by it, not by the time of the streams."""
    return time_ns() // 1_000_000
