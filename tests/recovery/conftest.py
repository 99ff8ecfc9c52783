"""What sessions are compared with that are stopped, killed or find damage."""

import pytest

from session_lives import undisturbed


@pytest.fixture(scope="session")
def whole():
    """What an undisturbed session reports of 120 batches, and what its graph is."""
    return undisturbed(120)
