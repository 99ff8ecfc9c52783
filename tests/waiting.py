"""Wait for another thread or process without guessing how long it takes: only a failure waits to the end."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], *, seconds: float = 300.0) -> None:
    """Look again and again until the condition holds; fail after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
