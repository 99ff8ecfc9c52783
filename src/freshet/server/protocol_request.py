"""What a request of the SPARQL Protocol asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProtocolRequest:
    """A query or an update, with the dataset that the request names."""

    text: str
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    timeout: float | None
    is_update: bool = False
    at: str | None = None  # a time of the past
