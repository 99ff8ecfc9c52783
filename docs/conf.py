"""The documentation as a site: `make docs` writes it to build/site. Nothing is fetched, and warnings are errors.

Pages are plain Markdown that also reads well in a file browser. Links to files of the repository lead to pages with
their source, which are made here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygments.lexer import bygroups, inherit
from pygments.lexers.rdf import SparqlLexer, TurtleLexer
from pygments.lexers.special import TextLexer
from pygments.token import Keyword, Number, Text

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

project = "Freshet"
author = "The Freshet authors"
copyright = "The Freshet authors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["site"]
html_theme = "furo"
html_title = "Freshet"
html_static_path = ["_static"]
html_css_files = ["freshet.css"]
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"

LANGUAGES = {
    ".lark": "text",
    ".md": "markdown",
    ".py": "python",
    ".rq": "sparql",
    ".toml": "toml",
    ".ttl": "turtle",
    ".yaml": "yaml",
}
_LINK = re.compile(r"\]\((?P<up>(?:\.\./)*)(?P<path>(?:src|benchmarks|tests|tools|examples)/[^)#\s]*)\)")
_sources: set[str] = set()


def _links_to_sources(text: str, folder: Path) -> str:
    """Links to files of the repository become links to the pages that `_source_pages` makes."""
    depth = "../" * len(folder.relative_to(ROOT / "docs").parts)

    def page(link: re.Match[str]) -> str:
        path = link["path"].rstrip("/")
        if not (ROOT / path).is_file():
            return "]" + f"({depth}index.md)" if not (ROOT / path).exists() else f"]({depth}{_folder(path)})"
        _sources.add(path)
        return f"]({depth}{_file(path)})"

    return _LINK.sub(page, text)


def _file(path: str) -> str:
    """Links to pages that no document makes are written as links to elsewhere, so that MyST leaves them alone."""
    return f"source/{path}.html"


def _folder(path: str) -> str:
    _sources.update(str(file.relative_to(ROOT)) for file in sorted((ROOT / path).glob("*")) if file.suffix in LANGUAGES)
    return f"source/{path}.html"


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    text = source[0]
    if name == "explanation/architecture":  # one page, kept where people look for it in a repository
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        text = text.replace("](docs/", "](../").replace("](README.md", "](../index.md")
    source[0] = _raw_links(_links_to_sources(_name_links(text, page.parent), page.parent))


def _name_links(text: str, folder: Path) -> str:
    """Names of modules become links to their source: `native/plan/lower.py`. Code blocks stay as they are."""
    up = "../" * (len(folder.relative_to(ROOT).parts))

    def link(name: re.Match[str]) -> str:
        for path in (f"src/freshet/{name[1]}", name[1]):
            if (ROOT / path).is_file():
                return f"[`{name[1]}`]({up}{path})"
        return name[0]

    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(r"(?<!\[)`([a-z_0-9]+(?:/[a-z_0-9]+)+\.py)`", link, part) for part in parts[::2]]
    return "".join(parts)


def _raw_links(text: str) -> str:
    """Inline HTML, as MyST checks Markdown links against the documents it knows."""
    return re.sub(r"\[([^\]]+)\]\(((?:\.\./)*source/[^)]+\.html)\)", _anchor, text)


def _anchor(link: re.Match[str]) -> str:
    shown = re.sub(r"`([^`]+)`", r'<code class="docutils literal notranslate">\1</code>', link[1])
    return f'<a class="reference internal" href="{link[2]}">{shown}</a>'


def _source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file that is linked, and one for each folder of such files."""
    folders: dict[str, list[str]] = {}
    for path in sorted(_sources):
        text = (ROOT / path).read_text(encoding="utf-8")
        language = LANGUAGES.get(Path(path).suffix, "text")
        body = app.builder.highlighter.highlight_block(text, language, linenos=False)  # type: ignore[attr-defined]
        folders.setdefault(str(Path(path).parent), []).append(path)
        yield f"source/{path}", {"title": path, "body": f"<h1>{path}</h1>{body}", "parents": []}, "page.html"
    for folder, paths in folders.items():
        items = "".join(f'<li><a href="{Path(folder).name}/{Path(path).name}.html">{path}</a></li>' for path in paths)
        yield f"source/{folder}", {"title": folder, "body": f"<h1>{folder}/</h1><ul>{items}</ul>"}, "page.html"


class StreamingSparqlLexer(SparqlLexer):
    """SPARQL with the words of RSP-QL, C-SPARQL and CQELS-QL."""

    name = "Streaming SPARQL"
    tokens = {  # noqa: RUF012 (Pygments reads it so)
        "root": [
            (r"(?i)(register\s+(?:query|stream))(\s+)(\w+)", bygroups(Keyword, Text, Text)),
            (
                r"(?i)\b(register|rstream|istream|dstream|query|stream|computed|every|window|on|range|step|slide|now|"
                r"triples|all|count|accuracy|latency|with)\b(?!\s*\()",
                Keyword,
            ),
            (r"\b(PT?[0-9][0-9A-Z.]*|[0-9]+\s*(?i:ms|s|m|h|milliseconds?|seconds?|minutes?|hours?|days?))\b", Number),
            (r"(<=|>=)(\s*)([0-9.]+)(\s*)(ms|s)?", bygroups(Keyword, Text, Number, Text, Keyword)),
            inherit,
        ],
    }


LEXERS = {"csv": TextLexer, "sparql": StreamingSparqlLexer, "tnt": TextLexer, "trig": TurtleLexer}  # of our own blocks


def _docstring(app: Sphinx, what: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    """Docstrings are written as Markdown: code in single backticks, tables with bars."""
    text = re.sub(r"(?<![`\\:\w])`([^`\n]+(?:\n\s*[^`\n]+)?)`(?![`_])", r"``\1``", "\n".join(lines))
    text = re.sub(r"\bdocs/([a-z/-]+)\.md", r":doc:`/\1`", text)
    text = re.sub(r"(?:^[ ]*\|.*\|[ ]*\n?)+", _rst_table, text, flags=re.MULTILINE)
    lines[:] = text.split("\n")


def _rst_table(table: re.Match[str]) -> str:
    rows = [line.strip().strip("|").split("|") for line in table[0].splitlines()]
    indent = re.match(r" *", table[0])[0]  # type: ignore[index]
    made = [f"{indent}.. list-table::", f"{indent}   :header-rows: 1", ""]
    for row in (row for row in rows if not all(set(cell.strip()) <= set("-:") for cell in row)):
        made += [f"{indent}   {'*' if at == 0 else ' '} - {cell.strip()}" for at, cell in enumerate(row)]
    return "\n".join([*made, "", ""])


def setup(app: Sphinx) -> None:
    for kind, lexer in LEXERS.items():
        app.add_lexer(kind, lexer)
    app.connect("autodoc-process-docstring", _docstring, priority=400)  # before napoleon
    app.connect("source-read", _read)
    app.connect("html-collect-pages", _source_pages)
