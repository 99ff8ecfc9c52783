"""Parts that a machine may lack: a test skips without them, and fails where FRESHET_REQUIRE names them."""

import os
from typing import NoReturn

import pytest


def lacking(name: str, reason: str) -> NoReturn:
    """Skip, or fail where FRESHET_REQUIRE has this name in its list."""
    if name in os.environ.get("FRESHET_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required: {reason}")
    pytest.skip(f"needs {name}: {reason}")
