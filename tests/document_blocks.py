"""The fenced code blocks of a Markdown page, with the marks that say how each is tested.

A block's info string says what it is, and so what the test does with it:

| info string | what the test does |
| --- | --- |
| `console` | runs each line after `$ `; the lines below it, if any, are the output |
| `sh` | runs the lines; their output is not compared |
| `python` | runs it; the names of earlier blocks of the page are known |
| `text` | right after a Python block: what that block prints; anywhere else it is not code |
| `sparql` | parses the query, and plans it where it is continuous |
| `yaml` | checks the pipeline file; where it has mappings, reads it as YARRRML |
| `turtle` | reads it; where it has a logical source, as a mapping |
| `json`, `csv`, `tnt`, `trig` | reads it |

In expected output `...` stands for anything, and on a line of its own for any number of lines. The rows of a report may
come in another order: a query without ORDER BY leaves it open.

Marks are HTML comments on the lines before a block, which readers of the page do not see:

| mark | meaning |
| --- | --- |
| `file: NAME` | the text around the block asks the reader to save it under this name |
| `part of: NAME` | the block shows some keys of a pipeline file: it is checked merged into that file |
| `spark` | the block needs Spark, or what a block with Spark has made |
| `not run: REASON` | the block cannot be run here |
| `run: COMMAND` | set up something first |
| `files of: PAGE` | first save the files of another page of `docs/` |
| `lines printed` | each line of the block, `...` aside, is among those that the last command printed |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from markdown_it import MarkdownIt

_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
_MARKS = ("file", "part of", "spark", "not run", "run", "files of", "lines printed")


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is, its text, the line of the page where it begins, and its marks."""

    kind: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict)


def page_blocks(page: Path) -> list[Block]:
    """The blocks of a page in order. MyST's directives (`{toctree}` and the like) are not code."""
    blocks: list[Block] = []
    marks: dict[str, str] = {}
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            marks |= _marks(token.content)
        elif token.type == "fence":
            assert token.map is not None
            kind = token.info.strip()
            if not kind.startswith("{"):
                blocks.append(Block(kind, token.content, token.map[0] + 1, marks))
            marks = {}
    return blocks


def _marks(comment: str) -> dict[str, str]:
    found = {}
    for text in _COMMENT.findall(comment):
        name, _, value = text.partition(":")
        if name.strip() in _MARKS:
            found[name.strip()] = value.strip()
    return found


_ROWS_OF_A_LINE = re.compile(r"( rows: )(.*)")
_ROW = re.compile(r"  (?=\?)|\s*\d+ (?:m?s\b)?")


def with_sorted_rows(text: str) -> str:
    """The text with the rows of each report in one order, as solutions have none: lines that begin with two spaces and
    a variable, or with the same time, and what a line about some rows has between semicolons.

    >>> with_sorted_rows("q at 1 ms\\n  ?a=2\\n  ?a=1\\n20 s b\\n20 s a\\n30 s a\\n").split("\\n")
    ['q at 1 ms', '  ?a=1', '  ?a=2', '20 s a', '20 s b', '30 s a', '']
    >>> with_sorted_rows("q at 1 ms, 2 rows: a=2 b=1; a=1 b=2\\n")
    'q at 1 ms, 2 rows: a=1 b=2; a=2 b=1\\n'
    """
    text = _ROWS_OF_A_LINE.sub(lambda found: found[1] + "; ".join(sorted(found[2].split("; "))), text)
    groups = groupby(text.splitlines(keepends=True), lambda line: found[0] if (found := _ROW.match(line)) else "")
    return "".join(line for key, lines in groups for line in (sorted(lines) if key else lines))


def output_pattern(expected: str) -> re.Pattern[str]:
    """What the output must match: `...` stands for anything, alone on a line for any number of lines.

    >>> bool(output_pattern("one\\n...\\nlast ...\\n").fullmatch("one\\ntwo\\nthree\\nlast 4\\n"))
    True
    """
    lines = []
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(re.escape(line.rstrip()).replace(r"\.\.\.", ".*?") + r"[ ]*\n")
    return re.compile("".join(lines))
