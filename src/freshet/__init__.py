"""Freshet: continuous SPARQL over live streams, a growing graph and remote endpoints."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freshet.runtime.session import Session

__version__ = "0.2.0"  # the one place: pyproject.toml reads it here

__all__ = ["Session", "__version__"]


def __getattr__(name: str) -> Any:
    # Session brings Numba along, which Spark's workers and `freshet --help` need not wait for.
    if name == "Session":
        from freshet.runtime.session import Session

        return Session
    raise AttributeError(f"module 'freshet' has no attribute {name!r}")
