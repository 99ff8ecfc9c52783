"""Freshet: continuous SPARQL over live streams, a growing graph and remote endpoints."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freshet.runtime.session import Session

__all__ = ["Session"]


def __getattr__(name: str) -> Any:
    # Session brings Numba along, which Spark's workers and `freshet --help` need not wait for.
    if name == "Session":
        from freshet.runtime.session import Session

        return Session
    raise AttributeError(f"module 'freshet' has no attribute {name!r}")
