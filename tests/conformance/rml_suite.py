"""The test cases of RML: those of the W3C community group (core, io, fnml), and the older ones of rml.io."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.known_failures import known_failures
from shared_data import ROOT

SUITES = ("data/rml-tests/rml-core", "data/rml-tests/rml-fnml", "data/rml-tests/rml-io", "data/rml-legacy-tests")
_LEGACY_KINDS = ("-CSV", "-JSON", "-XML")
BASE = "http://example.com/"

KNOWN_FAILURES = known_failures("rml-")


@dataclass(frozen=True, slots=True)
class RmlCase:
    """A mapping, its input, and what it must make: the usual output and those of its targets, or an error."""

    name: str
    folder: Path
    output: Path | None
    targets: tuple[Path, ...]
    error: bool
    base: str | None

    @property
    def inputs(self) -> list[Path]:
        made = {self.output, *self.targets}
        return [file for file in sorted(self.folder.iterdir()) if file not in made and file.name != "README.md"]


def all_cases() -> list[RmlCase]:
    """Every case; none where the suites are not there."""
    roots = [ROOT.parent / "shared" / suite for suite in SUITES]
    return [case for root in roots if root.exists() for case in _cases(root)]


def _cases(root: Path) -> Iterator[RmlCase]:
    legacy = root.name == "rml-legacy-tests"
    with (root / "metadata.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row.get("ID") or row["RML id"]: row for row in csv.DictReader(lines)}
    for folder in sorted(file.parent for file in root.glob("*/mapping.ttl")):
        if legacy and not folder.name.endswith(_LEGACY_KINDS):
            continue
        row = rows.get(folder.name, {})
        usual = [folder / name for name in ("output.nq", "default.nq") if (folder / name).is_file()]
        said = (row.get("error") or row.get("error expected?")) == "true" or "is an error" in row.get("purpose", "")
        yield RmlCase(
            f"{root.name}/{folder.name}",
            folder,
            usual[0] if usual else None,
            tuple(sorted(folder.glob("dump*"))),
            # A case that the table does not know and that makes nothing is one of a mapping that is wrong.
            said or not usual or (not row and not usual[0].read_bytes().strip()),
            None if legacy else row.get("base_iri") or None,
        )


CASES = all_cases()
