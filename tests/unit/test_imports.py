"""What commands import: modules that they do not use are time that a user waits for."""

import subprocess
import sys

import pytest

_HEAVY = {"pandas", "pyspark", "pydantic", "rich", "urllib3", "paho", "lxml", "ruamel", "jsonpath", "polars"}
_HEAVY |= {"starlette", "uvicorn", "uvloop", "httptools", "prometheus_client", "anyio"}  # of the server
_PRINT_MODULES = "\nimport sys\nprint('\\n'.join(sys.modules), file=sys.stderr)"


def _modules(code: str, *, folder) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code + _PRINT_MODULES], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def _command(*arguments: str) -> str:
    return f"""
import sys
sys.argv = ["freshet", *{arguments!r}]
from freshet.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.ttl").write_text('<http://e/a> <http://e/p> 1, "b", 2.5, <http://e/c> .')
    (tmp_path / "stream.tnt").write_text("5\t<http://e/a> <http://e/p> <http://e/b> .\n")
    (tmp_path / "q.rq").write_text(
        "REGISTER RSTREAM <q> AS SELECT ?s (COUNT(*) AS ?n)"
        " FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S]"
        " WHERE { WINDOW <w> { ?s ?p ?o } } GROUP BY ?s"
    )
    return tmp_path


_PIPELINES = ("freshet.spark", "freshet.rml")
_ENGINE = (
    "freshet.native.engine",
    "freshet.native.timing",
    "freshet.native.operators",
    "freshet.native.buffers.leaf_buffer",
)
_ADAPTIVE = {"freshet.rml", "freshet.rml.windows"}  # adaptive windows of queries have the sizes of those of joins


def _packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_help_and_version_load_no_library(folder):
    for option in ("--help", "--version"):
        assert not _packages(_modules(_command(option), folder=folder)) & {"numpy", "numba", "pyarrow", *_HEAVY}


def test_a_query_over_a_file_loads_neither_engine_nor_spark(folder):
    ask = _command("query", "-d", "data.ttl", "-q", "SELECT * { ?s ?p ?o FILTER (?o > 1) } ORDER BY ?o")
    modules = _modules(ask, folder=folder)
    assert not _packages(modules) & _HEAVY
    assert not {module for module in modules if module.startswith((*_PIPELINES, *_ENGINE))}
    assert "freshet.runtime.durable_session" not in modules


def test_a_session_loads_its_engine_with_the_first_query(folder):
    start = _modules("import freshet\nfreshet.Session()", folder=folder)
    assert not _packages(start) & _HEAVY
    assert not {module for module in start if module.startswith(_ENGINE)}
    registered = _modules(
        "import freshet\nsession = freshet.Session()\nsession.stream('http://e/s')\n"
        "session.register(open('q.rq').read())",
        folder=folder,
    )
    assert "freshet.native.engine" in registered
    assert not _packages(registered) & _HEAVY


def test_a_replay_loads_neither_spark_nor_what_pipelines_need(folder):
    modules = _modules(_command("replay", "-s", "http://e/s=stream.tnt", "-q", "q.rq"), folder=folder)
    assert not _packages(modules) & _HEAVY
    assert not {module for module in modules if module.startswith(_PIPELINES)} - _ADAPTIVE


MAPPING = """@prefix rml: <http://w3id.org/rml/> . @base <http://e/base/> .
<R> rml:logicalSource [ rml:source "rooms.FORM" ; rml:referenceFormulation rml:KIND ] ;
  rml:subjectMap [ rml:template "http://e/{room}" ; rml:class <http://e/Room> ] ;
  rml:predicateObjectMap [ rml:predicate <http://e/name> ; rml:objectMap [ rml:reference "name" ] ] ,
    [ rml:predicate <http://e/same> ; rml:objectMap [ rml:parentTriplesMap <S> ;
      rml:joinCondition [ rml:child "name" ; rml:parent "name" ] ] ] .
<S> rml:logicalSource [ rml:source "rooms.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://e/same/{room}" ] .
"""


@pytest.mark.parametrize(
    ("form", "kind", "needed"), [("csv", "CSV", set()), ("json", "JSONPath", set()), ("xml", "XPath", {"lxml"})]
)
def test_a_small_mapping_loads_neither_spark_nor_pandas(folder, form, kind, needed):
    iterator = '; rml:iterator "/a/b"' if form == "xml" else '; rml:iterator "$"' if form == "json" else ""
    (folder / "m.ttl").write_text(MAPPING.replace("FORM", form).replace("rml:KIND", f"rml:{kind} {iterator}"))
    (folder / "rooms.csv").write_text("room,name\n1,one\n2,two\n")
    (folder / "rooms.json").write_text('{"room": 1, "name": "one"}\n{"room": 2, "name": "two"}\n')
    (folder / "rooms.xml").write_text("<a><b><room>1</room><name>one</name></b></a>")
    modules = _modules(_command("map", "-m", "m.ttl", "-o", "out.nq"), folder=folder)
    assert not _packages(modules) & (_HEAVY - needed)
    assert not {module for module in modules if module.startswith(("freshet.spark", "freshet.native"))}
    assert "<http://e/1> <http://e/same> <http://e/same/1> ." in (folder / "out.nq").read_text()


def test_reports_in_columns_and_lines_need_no_pandas(folder):
    taken = _modules(
        """
import freshet
session = freshet.Session()
session.stream("http://e/s")
lines = []
query = session.register(open("q.rq").read())
session.register(open("q.rq").read().replace("<q>", "<r>"), on_batch=lambda batch: lines.append(session.ndjson(batch)))
query.take_arrow()
triples = (f"{number}\\t<http://e/{number}> <http://e/p> <http://e/b> .\\n" for number in range(50))
session.push("http://e/s", "".join(triples))
session.finish()
assert query.take_arrow().num_rows == 50
assert lines
""",
        folder=folder,
    )
    assert not _packages(taken) & _HEAVY
