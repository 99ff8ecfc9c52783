"""One thing at a time: what a callback asks for while a push is being done waits until that is done.

Else a query would be taken further in the middle of a moment that others have not come to yet. What ends a call in the
middle (Ctrl-C, a closed pipe) leaves others where they are: nothing is done after that, since it would be wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from freshet.rdf.errors import FreshetError, InputError


class EndedError(InputError):
    """Something ended an earlier call in the middle, and what is there is not whole."""

    def __init__(self, error_name: str) -> None:
        super().__init__(
            f"{error_name} ended an earlier call in the middle: what the session holds is not whole",
            hint="start a new one, which a checkpoint makes whole again",
        )


class ReentrantCallQueue:
    """Calls that are done one after another. Whoever calls holds the lock of what they change."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self.is_busy = False
        self._ended_by = ""

    def run(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something now, or after what is being done, if this comes from within it."""
        if self._ended_by:
            raise EndedError(self._ended_by)
        if self.is_busy:
            self._waiting.append((work, arguments))
            return
        self.is_busy = True
        try:
            if self._waiting:  # what was behind a call that was refused
                self._waiting.append((work, arguments))
            else:
                work(*arguments)
            while self._waiting:
                work, arguments = self._waiting.popleft()
                work(*arguments)
        except FreshetError:  # it was refused, and has changed nothing
            raise
        except BaseException as error:
            self._ended_by = type(error).__name__
            raise
        finally:
            self.is_busy = False
