"""Files for the pipeline file that tests change."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline_text import MAPPING, QUERY


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that the pipeline file of `pipeline_text` names, as the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("in/traffic", "in/parking"):
        (tmp_path / name).mkdir(parents=True)
    files = {
        "town.ttl": "<http://example.org/a> a <http://example.org/Road> .",
        "slow.rq": QUERY,
        "traffic.rml.ttl": MAPPING,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path
