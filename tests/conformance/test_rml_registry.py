"""RML's registry of sources: databases that the tests start, dialects of CSV, documents and endpoints on the Web."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.known_failures import parameters
from conformance.rml_registry import OUT_OF_REACH, SUITE, check_registry, registry_cases
from conformance.rml_suite import KNOWN_FAILURES, RmlCase
from shared_data import shared

CASES = registry_cases()


@pytest.mark.parametrize("case", parameters(CASES, KNOWN_FAILURES))
def test_registry(
    case: RmlCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    check_registry(case, tmp_path, request.getfixturevalue)


def test_the_suite_is_complete() -> None:
    folders = [folder.name for folder in shared(SUITE).glob("*/")]
    assert len(CASES) == sum(not name.startswith(tuple(f"RMLIOREGTC{n}" for n in OUT_OF_REACH)) for name in folders)
