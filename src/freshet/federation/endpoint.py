"""One endpoint: its threads, its circuit breaker, and what was seen of it."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from freshet.federation.breaker import Breaker
from freshet.federation.daemon_threads import DaemonThreads
from freshet.federation.errors import RejectedError, ServiceError
from freshet.federation.settings import show_url
from freshet.rdf.errors import InputError
from freshet.results.read import READERS
from freshet.results.table import Table, TermKeys

if TYPE_CHECKING:
    from freshet.federation.http import Requests

_NEWEST = 0.2  # the weight of the newest request in the mean time


class Endpoint:
    """Asks one URL, some requests at a time. An answer is read in the thread that asked, terms as keys."""

    def __init__(self, url: str, requests: Requests) -> None:
        settings = requests.settings
        self.url = url
        self.breaker = Breaker(settings.failures_to_open, settings.open_seconds)
        self.requests = 0
        self.failures = 0
        self.request_seconds: float | None = None
        self.last_error: str | None = None
        self.trouble: str | None = None  # why the last attempt failed; None where it did not
        self._requests = requests
        self._binds_singly = settings.binds_singly(url)
        self._values_again = 0.0  # when VALUES may be tried again
        self._lock = Lock()
        self._threads = DaemonThreads(settings.requests_at_once, "freshet service")

    @property
    def knows_values(self) -> bool:
        """Whether several bindings may be sent in one request."""
        return not self._binds_singly and monotonic() >= self._values_again

    def refuses_values(self) -> None:
        """A query with VALUES was refused, one without was answered: for a while there is no other."""
        self._values_again = monotonic() + self._requests.settings.values_again_seconds

    def submit(
        self, query: str, blank_scope: str, seconds: float | None = None, single: str | None = None
    ) -> Future[Table]:
        """Ask in a thread. The future fails with ServiceError only.

        Where `single` is given the query has VALUES. If it is refused, `single`, which has one of its bindings filled
        in, is asked to find out whether VALUES is the reason.
        """
        return self._threads.submit(lambda: self._ask_or_find_out(query, blank_scope, seconds, single))

    def close(self) -> None:
        """Cancel what has not begun; nothing is asked any more."""
        self._threads.close()

    def _ask_or_find_out(self, query: str, blank_scope: str, seconds: float | None, single: str | None) -> Table:
        try:
            return self._ask(query, blank_scope, seconds)
        except RejectedError as error:
            if single is not None and error.may_be_for_values and self._answers(single, blank_scope, seconds):
                self.refuses_values()
            raise

    def _answers(self, query: str, blank_scope: str, seconds: float | None) -> bool:
        try:
            self._ask(query, blank_scope, seconds)
        except ServiceError:
            return False
        return True

    def _ask(self, query: str, blank_scope: str, seconds: float | None) -> Table:
        if not self.breaker.allows():
            raise ServiceError(f"{show_url(self.url)} has failed too often and is left alone for a while")
        start = monotonic()
        try:
            table = self._read(query, blank_scope, seconds)
        except RejectedError as error:
            self.breaker.record_success()  # it is there, and does not like the query
            self._note(monotonic() - start, error)
            raise
        except ServiceError as error:
            self.breaker.record_failure()
            self._note(None, error)
            raise
        except Exception as error:  # what it says may have the headers in it: only its kind is reported
            self.breaker.record_failure()
            problem = ServiceError(f"asking {show_url(self.url)} failed: {type(error).__name__}")
            self._note(None, problem)
            raise problem from None
        except BaseException:
            self.breaker.record_failure()
            raise
        self.breaker.record_success()
        self._note(monotonic() - start, None)
        return table

    def _read(self, query: str, blank_scope: str, seconds: float | None) -> Table:
        body = self._requests.ask(self.url, query, seconds, self._set_trouble)
        try:
            found = READERS[body.format](body.data, TermKeys(blank_scope), None)
        except InputError as error:
            raise ServiceError(f"{show_url(self.url)} answers with what is no SPARQL result: {error}") from None
        if isinstance(found, bool):
            raise ServiceError(f"{show_url(self.url)} answers SELECT as if it were ASK")
        return found

    def _set_trouble(self, message: str) -> None:
        self.trouble = message

    def _note(self, seconds: float | None, error: ServiceError | None) -> None:
        with self._lock:
            self.requests += 1
            self.trouble = None if error is None else error.message
            if error is not None:
                self.failures += 1
                self.last_error = error.message
            if seconds is not None:
                before = seconds if self.request_seconds is None else self.request_seconds
                self.request_seconds = before + _NEWEST * (seconds - before)
