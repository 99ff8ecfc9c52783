"""RML's registry of sources: databases that the tests start, dialects of CSV, documents and endpoints on the Web."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.known_failures import parameters
from conformance.rml_registry import OUT_OF_REACH, SUITE, fill, is_on_the_web, publish, registry_cases, server_of
from conformance.rml_run import check, mapped, prepare
from conformance.rml_suite import KNOWN_FAILURES, RmlCase
from freshet.federation.downloads import Downloads
from freshet.federation.settings import ServiceSettings
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from shared_data import shared
from web_documents import web_server

CASES = registry_cases()


@pytest.mark.parametrize("case", parameters(CASES, KNOWN_FAILURES))
def test_registry(
    case: RmlCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    prepare(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    if (name := server_of(case)) is not None:
        fill(case, request.getfixturevalue(name), tmp_path)
    options = MapOptions(tmp_path / "found.nq", rejects=tmp_path / "rejects", base=case.base)
    with web_server() if is_on_the_web(case) else nullcontext() as web:
        if web is not None:
            publish(case, web, tmp_path)
            fetch = Downloads(ServiceSettings((web.host,)), tmp_path / "fetched").fetch
            options = replace(options, fetch=fetch)
        check(case, mapped(lambda: run_map_here(tmp_path / "mapping.ttl", options)), tmp_path)


def test_the_suite_is_complete() -> None:
    folders = [folder.name for folder in shared(SUITE).glob("*/")]
    assert len(CASES) == sum(not name.startswith(tuple(f"RMLIOREGTC{n}" for n in OUT_OF_REACH)) for name in folders)
