"""The folders of `examples/`, and what their READMEs print."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
WRITTEN = ("checkpoint", "out", "rejects", "__pycache__")  # by those who tried the examples


def copy_of(name: str, folder: Path, *, here: bool = False) -> Path:
    """A copy of an example, to run it in: in a folder of the folder, or `here` in the folder itself."""
    ignored = shutil.ignore_patterns(*WRITTEN)
    return Path(shutil.copytree(EXAMPLES / name, folder if here else folder / name, ignore=ignored, dirs_exist_ok=here))


def readme_blocks(name: str) -> list[str]:
    """The code blocks of an example's README."""
    return re.findall(r"^```\w*\n(.*?)^```$", (EXAMPLES / name / "README.md").read_text(), re.M | re.S)


def reports(folder: Path, query: str) -> list[tuple[int, list[dict[str, str]]]]:
    """The reports in a pipeline's folder of files: times, and rows as texts."""
    lines = [line for part in sorted((folder / "out" / query).iterdir()) for line in part.read_text().splitlines()]
    found = [json.loads(line) for line in lines]
    return [
        (report["time"], [{name: term["value"] for name, term in row.items()} for row in report["bindings"]])
        for report in found
    ]
