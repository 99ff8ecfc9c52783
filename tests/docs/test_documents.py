"""Every code block of README.md, docs/ and examples/ runs as printed. `document_blocks` has the conventions.

The blocks of a page run in order in one folder, which starts with the files of its example, or of `examples/house`
where the page is in no example. Commands of Freshet run in this process, those on Spark in processes of their own.
Blocks that need Spark run only in the test marked `spark`.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pygments.token
import pyoxigraph
import pytest
from pygments.lexers import find_lexer_class_by_name
from ruamel.yaml import YAML

from command_line import CommandLine
from document_blocks import Block, output_pattern, page_blocks, with_sorted_rows
from example_folders import EXAMPLES, copy_of
from freshet.cli import app
from freshet.rml.reader import read_mapping
from freshet.runtime.explaining import explain
from freshet.runtime.pipeline_file import read_pipeline
from freshet.runtime.pipeline_model import SECTIONS, known_keys
from freshet.runtime.session import Session

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
DOCUMENTS = [*PAGES, ROOT / "ARCHITECTURE.md"]
HOUSE = ("house.ttl", "readings.tnt", "warmFloors.rq")
ON_SPARK = ("run", "map", "load")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
MODULE = re.compile(r"`((?:src/freshet/|tests/|tools/|benchmarks/)?[a-z_0-9/]+\.(?:py|toml|ttl))`")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_BLOCKS = [page for page in PAGES if page_blocks(page)]
WITH_SPARK = [page for page in PAGES if any("spark" in block.marks for block in page_blocks(page))]


class Reader:
    """A reader who types in a page from the top, in a folder of its own."""

    def __init__(self, page: Path, folder: Path, cli: CommandLine, *, spark: bool) -> None:
        self.page, self.folder, self.cli, self.spark = page, folder, cli, spark
        self.names: dict[str, Any] = {}
        self.servers: list[subprocess.Popen[str]] = []
        self.printed: str | None = None  # by the Python block just before
        self.last_output = ""  # of the last command
        self.kinds: dict[str, Callable[[Block], None]] = {
            "console": self.console,
            "sh": self.sh,
            "python": self.python,
            "text": self.output,
            "sparql": self.sparql,
            "yaml": self.yaml,
            "turtle": self.turtle,
            "json": lambda block: [orjson.loads(line) for line in block.text.splitlines()],
            "csv": lambda block: list(csv.reader(io.StringIO(block.text), strict=True)),
            "tnt": self.timed,
            "trig": lambda block: list(pyoxigraph.parse(block.text, pyoxigraph.RdfFormat.TRIG)),
        }
        if page.parent.parent == EXAMPLES:
            copy_of(page.parent.name, folder, here=True)
        else:
            (folder / "examples" / "house").mkdir(parents=True)  # for pages that start in a clone
            for file in HOUSE:
                for copy in (folder, folder / "examples" / "house"):
                    shutil.copy(EXAMPLES / "house" / file, copy)
        shims = folder / ".bin"  # for lines with pipes
        shims.mkdir()
        for name, command in (("freshet", f'"{sys.executable}" -m freshet'), ("python", f'"{sys.executable}"')):
            (shims / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (shims / name).chmod(0o755)
        self.environment = os.environ | {"PATH": f"{shims}:{os.environ['PATH']}"}

    def read(self) -> None:
        for block in page_blocks(self.page):
            if block.kind not in self.kinds:
                pytest.fail(f"{name_of(self.page)}:{block.line}: what is a block of {block.kind!r}?")
            if "not run" in block.marks:
                assert block.marks["not run"], f"{name_of(self.page)}:{block.line}: why is it not run?"
                continue
            if "spark" in block.marks and not self.spark:
                continue
            try:
                self.set_up(block)
                self.kinds[block.kind](block)
            except (Exception, SystemExit) as error:
                raise AssertionError(f"{name_of(self.page)}:{block.line}: {error}") from error
            if block.kind != "python":
                self.printed = None

    def set_up(self, block: Block) -> None:
        if other := block.marks.get("files of"):
            for each in page_blocks(ROOT / "docs" / other):
                self.save(each)
        if command := block.marks.get("run"):
            self.shell(command)
        self.save(block)

    def save(self, block: Block) -> None:
        if name := block.marks.get("file"):
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")

    def console(self, block: Block) -> None:
        for typed in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            lines = typed.splitlines(keepends=True)
            end = next(at for at, line in enumerate(lines, 1) if not line.endswith("\\\n"))
            command, expected = "".join(lines[:end]), "".join(lines[end:])
            printed = self.run(command.replace("\\\n", " ").strip())
            if expected.strip():
                wanted = output_pattern(with_sorted_rows(expected))
                assert wanted.fullmatch(with_sorted_rows(printed)), (
                    f"$ {command}printed\n{printed}\ninstead of\n{expected}"
                )

    def sh(self, block: Block) -> None:
        for line in block.text.replace("\\\n", " ").splitlines():
            if line.strip():
                self.run(line)

    def run(self, command: str) -> str:
        """What a command prints."""
        self.last_output = self.run_command(command)
        return self.last_output

    def run_command(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        if words[:1] == ["cd"]:
            self.folder = self.folder / words[1]
            os.chdir(self.folder)
            return ""
        if words[:2] == ["freshet", "serve"]:
            return self.serve(words[2:])
        if words[:1] == ["freshet"] and words[1] not in ON_SPARK and not for_the_shell(command):
            done = self.cli(*words[1:])
            assert done.status == 0, f"{command}: {done.err}"
            return (done.out + done.err).replace("\r\n", "\n")  # as CSV ends its lines
        return self.shell(command)

    def serve(self, arguments: list[str]) -> str:
        """Start a server that stays until the end of the page, once its port is free; gives its first line."""
        for _ in range(600):
            command = [sys.executable, "-m", "freshet", "serve", *arguments]
            process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
            line = process.stderr.readline()
            if "in use" not in line:
                self.servers.append(process)
                return line
            process.wait()
            time.sleep(0.5)
        raise AssertionError("the port stays in use")

    def stop_servers(self) -> None:
        for process in self.servers:
            process.terminate()
            process.wait(30)

    def shell(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def python(self, block: Block) -> None:
        if "spark" in block.marks:  # in a process of its own: it stops the Spark session that it starts
            (self.folder / "block.py").write_text(block.text, encoding="utf-8")
            self.printed = self.shell(f'"{sys.executable}" block.py 2> /dev/null')
            return
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, f"{name_of(self.page)}:{block.line}", "exec"), self.names)
        self.printed = printed.getvalue()

    def output(self, block: Block) -> None:
        if "lines printed" in block.marks:
            printed = {rows_of_line(line) for line in self.last_output.splitlines()}
            missing = [line for line in block.text.splitlines() if line != "..." and rows_of_line(line) not in printed]
            assert not missing, f"{missing} is not in\n{self.last_output}"
        if self.printed is not None:
            wanted = output_pattern(with_sorted_rows(block.text))
            assert wanted.fullmatch(with_sorted_rows(self.printed)), (
                f"printed\n{self.printed}\ninstead of\n{block.text}"
            )

    def sparql(self, block: Block) -> None:
        explained = explain(block.text, file=None, dialect=None, optimized=None)
        assert explained.refused is None, explained.refused

    def yaml(self, block: Block) -> None:
        name = block.marks.get("file", "block.yaml")
        text = block.text
        if whole := block.marks.get("part of"):
            reader = YAML(typ="safe")
            merged = merge(reader.load((self.folder / whole).read_text(encoding="utf-8")), reader.load(text))
            written = io.StringIO()
            YAML().dump(merged, written)
            text = written.getvalue()
        (self.folder / name).write_text(text, encoding="utf-8")
        if re.search(r"^mappings:", text, re.MULTILINE):
            read_mapping(self.folder / name)
            return
        read_pipeline(self.folder / name, is_served=True)

    def turtle(self, block: Block) -> None:
        list(pyoxigraph.parse(block.text, format=pyoxigraph.RdfFormat.TURTLE, base_iri="http://example.org/"))
        if "logicalSource" in block.text:
            (self.folder / "block.ttl").write_text(block.text, encoding="utf-8")
            read_mapping(self.folder / "block.ttl")

    def timed(self, block: Block) -> None:
        session = Session()
        session.stream("http://example.org/stream")
        session.push("http://example.org/stream", block.text)


def rows_of_line(line: str) -> tuple[str, ...]:
    """A report on one line: what comes before its rows, and its rows in one order."""
    before, _, rows = line.rstrip().partition(": ")
    return before, *sorted(rows.split("; "))


def for_the_shell(command: str) -> bool:
    """Whether a command has pipes, redirections and the like, outside of quotes."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|<>&;")
    words.whitespace_split = True
    return any(word.strip("|<>&;") == "" for word in words if word)


def merge(whole: Any, part: Any, depth: int = 3) -> Any:
    """A pipeline file with some keys of its streams and queries replaced."""
    if depth and isinstance(whole, dict) and isinstance(part, dict):
        return whole | {key: merge(whole.get(key), value, depth - 1) for key, value in part.items()}
    return part


def read_page(page: Path, folder: Path, cli: CommandLine, *, spark: bool) -> None:
    """Type in a page, and stop the servers that it starts."""
    reader = Reader(page, folder, cli, spark=spark)
    try:
        reader.read()
    finally:
        reader.stop_servers()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name_of)
def test_the_blocks_of_a_page_run(page, folder, monkeypatch, capfd):
    read_page(page, folder, CommandLine(monkeypatch, capfd), spark=False)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("page", WITH_SPARK, ids=name_of)
def test_the_blocks_of_a_page_run_with_spark(page, folder, monkeypatch, capfd):
    read_page(page, folder, CommandLine(monkeypatch, capfd), spark=True)


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(page):
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_modules_that_the_architecture_names_are_there():
    named = MODULE.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    places = (ROOT, ROOT / "src" / "freshet")
    assert named
    assert [module for module in named if not any((place / module).exists() for place in places)] == []


def test_the_site_has_colours_for_every_block():
    """`make docs` fails where it has none; this needs no Sphinx."""
    settings = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    conf = importlib.util.module_from_spec(settings)
    settings.loader.exec_module(conf)
    wrong = [
        (name_of(page), block.line, text)
        for page in WITH_BLOCKS
        for block in page_blocks(page)
        for kind, text in (conf.LEXERS.get(block.kind) or find_lexer_class_by_name(block.kind))().get_tokens(block.text)
        if kind is pygments.token.Error
    ]
    assert wrong == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_papers_are_cited_by_name(page):
    assert not re.search(r"\bseed 0", page.read_text(encoding="utf-8"))


def test_every_option_of_the_command_line_is_described():
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    sections = {part.split("\n", 1)[0]: part for part in page.split("## freshet ")[1:]}
    commands = app.commands
    assert [name for name in commands if name not in sections] == []
    assert [
        (name, option)
        for name, command in commands.items()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("-") and f"`{option}" not in sections[name]
    ] == []


def test_every_key_of_the_pipeline_file_is_described():
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    keys = {key for section in SECTIONS.values() for key in known_keys(section)}
    assert sorted(key for key in keys if not re.search(rf"`{key}[`:]", text)) == []
