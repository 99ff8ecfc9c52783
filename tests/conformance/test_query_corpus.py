"""Every query file of `../shared/data`: how many are accepted, refused by name and broken. The counts do not fall."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from freshet.rdf.errors import QuerySyntaxError, UnsupportedError
from freshet.runtime.explaining import explain
from shared_data import shared

COUNTS = tomllib.loads(Path(__file__).with_name("query_corpus.toml").read_text(encoding="utf-8"))
# Pages hold queries between marks; other files are queries as a whole.
MARKS = {".wiki": r"\{\{\{\n(.*?)\}\}\}", ".md": r"```\w*\n(.*?)```"}


def texts(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    if marks := MARKS.get(path.suffix):
        yield from re.findall(marks, text, re.DOTALL)
    else:
        yield text


def outcome(text: str) -> str:
    try:
        explained = explain(text, file=None, dialect=None, optimized=False)
    except UnsupportedError:
        return "refused"
    except QuerySyntaxError:
        return "broken"
    return "accepted" if explained.refused is None else "refused"


@pytest.mark.parametrize("files", COUNTS)
def test_counts_do_not_fall(files: str) -> None:
    paths = sorted(shared("data").glob(files))
    found = Counter(outcome(text) for path in paths for text in texts(path))
    counts = {kind: found[kind] for kind in ("accepted", "refused", "broken")}
    recorded = COUNTS[files]
    assert sum(counts.values()) == sum(recorded.values()), "the files are not those that were counted"
    assert counts["accepted"] >= recorded["accepted"], f"{counts} where {recorded} is recorded"
    assert counts["broken"] <= recorded["broken"], f"{counts} where {recorded} is recorded"
