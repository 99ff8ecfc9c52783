"""Hypothesis tries the same examples every time, so that a run says something about the change and not about luck.

FRESHET_RANDOM=1 lets it try others.
"""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, database=None)
if not os.environ.get("FRESHET_RANDOM"):
    settings.load_profile("same")
