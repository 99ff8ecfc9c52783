"""What can go wrong with a remote endpoint. SERVICE SILENT ignores all of it."""

from __future__ import annotations

from freshet.rdf.errors import FreshetError


class ServiceError(FreshetError):
    """An endpoint gave no answer that can be used. Neither credentials nor a URL's query are in the message."""

    exit_status = 1


class RefusedError(ServiceError):
    """An endpoint may not be asked: no allow-list has its host."""

    exit_status = 2


class RejectedError(ServiceError):
    """An endpoint understood the request and would not answer the query (4xx, 501)."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def may_be_for_values(self) -> bool:
        """Whether an endpoint that does not know VALUES would answer like this."""
        return self.status in {400, 501}
