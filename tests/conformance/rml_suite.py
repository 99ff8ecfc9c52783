"""The test cases of RML: those of the W3C community group by module, and the older ones of rml.io."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.known_failures import known_failures
from shared_data import ROOT

SUITES = (
    *(f"data/rml-tests/rml-{module}" for module in ("cc", "core", "fnml", "io", "lv", "star")),
    "data/rml-legacy-tests",
)
_LEGACY_KINDS = ("-CSV", "-JSON", "-XML")
BASE = "http://example.com/"
_BASES = {"rml-cc": f"{BASE}base/"}  # where the table of a suite does not say it: as the expected files have it

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
    texts: tuple[tuple[str, str], ...] = ()  # of cases that are not in files: their names and what is in them

    @property
    def inputs(self) -> list[Path]:
        if self.texts:
            return []
        made = {self.output, *self.targets}
        return [file for file in sorted(self.folder.iterdir()) if file not in made and file.name != "README.md"]


def all_cases(shared: Path = ROOT.parent / "shared") -> list[RmlCase]:
    """Every case; none where the suites are not there."""
    roots = [shared / suite for suite in SUITES]
    return [case for root in roots if root.exists() for case in cases_in(root)]


_BLOCK = re.compile(r"\*\*(Input(?: \d)?|Mapping|Output)\*\*\n```\n(.*?)```", re.DOTALL)


def _described_cases(root: Path) -> Iterator[RmlCase]:
    """Cases that only their descriptions have."""
    for readme in sorted(root.glob("RMLSTAR*/README.md")):
        text = readme.read_text(encoding="utf-8")
        blocks = dict(_BLOCK.findall(text))
        inputs = [content for name, content in blocks.items() if name.startswith("Input")]
        names = ["data.csv"] if len(inputs) == 1 else [f"data{number + 1}.csv" for number in range(len(inputs))]
        files = dict(zip(names, inputs, strict=True)) | {"mapping.ttl": blocks["Mapping"]}
        if "Output" in blocks:
            files["expected.nt"] = blocks["Output"]
        wrong = "**Error expected?** Yes" in text
        name = f"{root.name}/{readme.parent.name}"
        yield RmlCase(name, readme.parent, None, (), wrong, None, tuple(files.items()))


def cases_in(root: Path) -> Iterator[RmlCase]:
    if root.name == "rml-star":
        yield from _described_cases(root)
        return
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
            None if legacy else row.get("base_iri") or _BASES.get(root.name),
        )


CASES = all_cases()
