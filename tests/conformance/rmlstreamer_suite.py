"""RMLStreamer's own test cases for streams: mappings over Kafka topics and TCP sockets, with the messages to send."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.known_failures import known_failures
from shared_data import ROOT

SUITE = "data/rmlstreamer/stream"
# `inapplicable` has joins of two sources, which RMLStreamer's main branch does not do over streams. The cases of its
# branch with window joins that have messages are those of `joins`, the same to the byte. The last is a case itself.
FOLDERS = (
    "kafka", "tcp", "fno-testcases/kafka", "fno-testcases/tcp", "fno-testcases-negative", "kafka_json_ld", "joins",
    "inapplicable", "",
)  # fmt: skip
DATA = (".csv", ".json", ".xml")
KNOWN_FAILURES = known_failures("rmlstreamer")


@dataclass(frozen=True, slots=True)
class StreamCase:
    """A mapping, the messages of each of its topics, and what they make; nothing where the mapping is wrong."""

    name: str
    mapping: Path
    messages: dict[str, list[str]]  # by topic, or file where the mapping has one
    output: Path | None


def all_cases() -> list[StreamCase]:
    root = ROOT.parent / "shared" / SUITE
    return [case for folder in FOLDERS if root.exists() for case in _cases(root, root / folder)]


def _cases(root: Path, folder: Path) -> Iterator[StreamCase]:
    for mapping in sorted(folder.glob("*/mapping.ttl" if folder != root else "mapping.ttl")):
        outputs = sorted(mapping.parent.glob("output.*"))
        data = [file for file in sorted(mapping.parent.iterdir()) if file.suffix in DATA and file not in outputs]
        name = f"rmlstreamer/{mapping.parent.relative_to(root)}"
        if data:
            messages = {file.stem: _messages(file) for file in data}
            yield StreamCase(name, mapping, messages, outputs[0] if outputs else None)


def _messages(file: Path) -> list[str]:
    """What is sent: the whole file, or the pieces between lines of `===`."""
    pieces = re.split(r"^==+$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [piece.strip() for piece in pieces if piece.strip()]


CASES = all_cases()
