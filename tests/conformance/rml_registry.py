"""RML's registry of sources: cases that read files in dialects, databases, and what is on the Web."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from conformance.rml_suite import RmlCase, cases_in
from shared_data import ROOT

SUITE = "data/rml-tests/rml-io-registry"
_SERVERS = {"0004": "mysql", "0005": "postgresql"}
# What the cases of a number need that no test can have.
OUT_OF_REACH = {
    "0006": "SQL Server is not free to start here",
    "0009": "a stream, which `freshet map` refuses by name",
    "0010": "a stream, which `freshet map` refuses by name",
}


def registry_cases(shared: Path = ROOT.parent / "shared") -> list[RmlCase]:
    """Every case that can be run; none where the suite is not there."""
    root = shared / SUITE
    return [case for case in cases_in(root) if number_of(case) not in OUT_OF_REACH] if root.exists() else []


def number_of(case: RmlCase) -> str:
    """
    >>> number_of(RmlCase("rml-io-registry/RMLIOREGTC0004a", Path(), None, (), False, None))
    '0004'
    """
    return case.name[-5:-1]


def server_of(case: RmlCase) -> str | None:
    """The server that a case reads, by the name of its fixture."""
    return _SERVERS.get(number_of(case))


def fill(case: RmlCase, server: Any, folder: Path) -> None:
    """Make the tables of a case, and say in its mapping where they are."""
    text = (case.folder / "resource.sql").read_text(encoding="utf-8")
    statements = [each.strip() for each in re.split(r";\s*(?:\n|$)", text)]
    server.renew([each for each in statements if each and not each.upper().startswith(("DROP", "USE"))])
    mapping = folder / "mapping.ttl"
    mapping.write_text(mapping.read_text(encoding="utf-8").replace("CONNECTIONDSN", server.url), encoding="utf-8")
