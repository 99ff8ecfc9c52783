"""How often the engine refused a random query, by reason; reported at the end of a run."""

from __future__ import annotations

from collections import Counter

refused: Counter[str] = Counter()
