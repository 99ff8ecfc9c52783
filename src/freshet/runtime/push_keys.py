"""Keys of pushes, so that one that is sent again counts once."""

from __future__ import annotations

from collections.abc import Iterable

from freshet.rdf.errors import InputError

MOST_KEYS = 4096


class RepeatedKeyError(InputError):
    """A key has been used before, for a push of something else."""


class PushKeys:
    """The newest keys, each with the stream and a digest of what was pushed."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def is_known(self, key: str, digest: str) -> bool:
        """Whether the same was pushed under a key; an error where it was something else."""
        known = self._digests.get(key)
        if known is not None and known != digest:
            raise RepeatedKeyError(f"the key '{key[:80]}' was used for something else")
        return known is not None

    def add(self, key: str, digest: str) -> None:
        """Something is in under a key."""
        self._digests[key] = digest
        if len(self._digests) > MOST_KEYS:
            del self._digests[next(iter(self._digests))]

    def state(self) -> list[tuple[str, str]]:
        """All of them, the oldest first."""
        return [*self._digests.items()]

    def restore(self, state: Iterable[tuple[str, str]]) -> None:
        """Take up what a checkpoint has."""
        self._digests = dict(state)
