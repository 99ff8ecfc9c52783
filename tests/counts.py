"""How many random cases a test tries."""

import os

_QUICK = bool(os.environ.get("FRESHET_QUICK"))  # which `pytest --quick` sets
_SHARE = 8


def count(usual: int, variable: str = "") -> int:
    """What an environment variable says, else the usual count; a share of it in a quick run."""
    if given := os.environ.get(variable):
        return int(given)
    return max(1, usual // _SHARE) if _QUICK else usual
