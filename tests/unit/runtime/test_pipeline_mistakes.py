"""Every mistake in a pipeline file is reported at its place, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.runtime.pipeline_file import PipelineErrors, read_pipeline
from pipeline_text import MAPPING, PIPELINE, problems, replaced


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("2 metres", "'2 metres' is no amount of memory: write 512m or 2g"),
        ("true", "'true' is no amount of memory: write 512m or 2g"),
        ("2000000", "2000000 has no unit: write 2000000m or 2000000g"),
        ("0g", "must be more than 0"),
    ],
)
def test_no_memory_for_windows(folder: Path, written: str, said: str) -> None:
    (line,) = problems(f"{PIPELINE}\nwindow_memory: {written}\n", folder)
    assert line.endswith(said)


# what is written, what is written instead, and each line that is shown without the file's name
CASES = {
    "unknown key": (
        "rejects: rejects",
        "rejcts: rejects",
        ["21:1: unknown key 'rejcts'; did you mean 'rejects'?"],
    ),
    "unknown section, and nothing about what is thereby missing": (
        "streams:\n",
        "streems:\n",
        ["2:1: unknown key 'streems'; did you mean 'streams'?"],
    ),
    "unknown key with nothing like it": (
        "lateness: 2s",
        "zzz: 2s",
        [
            "8:5: unknown key 'zzz'; known here: iri, source, sources, description, mapping, functions, time, lateness,"
            " idle, join, absorb, origins, graphs, post"
        ],
    ),
    "a posted stream without a server": (
        'source: {folder: in/parking, format: timed-ntriples, pattern: "*.tnt", files_per_batch: 4}',
        "post: true",
        ["12:5: only `freshet serve` takes what clients post: run this file with it"],
    ),
    "a source of what clients post": (
        'pattern: "*.tnt", files_per_batch: 4}',
        'pattern: "*.tnt"}\n    post: true\n    time: {reference: $.at}',
        [
            "12:5: the stream is fed by POST: 'source' does not belong here",
            "13:5: only `freshet serve` takes what clients post: run this file with it",
            "14:5: 'time' is for records, which need a 'mapping'",
        ],
    ),
    "messages of a schema registry in another format": (
        "{folder: in/traffic, format: json}",
        "{kafka: {brokers: b, topic: t, registry: {url: 'http://r'}}, format: xml}",
        ["5:74: messages of a schema registry are read as JSON"],
    ),
    "address of a schema registry": (
        "{folder: in/traffic, format: json}",
        "{kafka: {brokers: b, topic: t, registry: {url: r}}}",
        ["5:60: 'r' is not an address that begins with http:// or https://"],
    ),
    "unknown key in a source": (
        "folder: in/traffic",
        "foldr: in/traffic",
        ["5:14: unknown key 'foldr'; did you mean 'folder'?"],
    ),
    "unknown key in a sink": (
        "{files: out/slow}",
        "{fils: out/slow}",
        ["14:43: unknown key 'fils'; did you mean 'files'?"],
    ),
    "unknown key in spark's section": (
        "{master:",
        "{mastr:",
        ["22:9: unknown key 'mastr'; did you mean 'master'?"],
    ),
    "unknown sink": (
        "[console, {files: out/slow}]",
        "[consol]",
        ["14:33: unknown sink 'consol'; write console, {files: FOLDER}, {kafka: ...} or {ldes: FOLDER}"],
    ),
    "no sinks": ("[console, {files: out/slow}]", "[]", ["14:32: 'sinks' must not be empty"]),
    "sinks not in a list": (
        "[console, {files: out/slow}]",
        "console",
        ["14:32: 'sinks' must be a list, as [a, b]"],
    ),
    "unknown format": (
        "format: json",
        "format: jsn",
        ["5:42: 'jsn' is not known here; did you mean 'json'?"],
    ),
    "a port above all": (
        "{folder: in/traffic, format: json}",
        "{sse: {url: 'http://h:99999/'}, format: json}",
        ["5:25: the port of 'http://h:99999/' is not a number from 1 to 65535"],
    ),
    "a port of letters": (
        "{folder: in/traffic, format: json}",
        "{sse: {url: 'http://h:abc/'}, format: json}",
        ["5:25: the port of 'http://h:abc/' is not a number from 1 to 65535"],
    ),
    "unknown form of time": (
        "as: iso",
        "as: unix",
        ["7:33: 'unix' is not known here; known here: iso, epoch_ms, epoch_s, arrival"],
    ),
    "a key missing": (
        "reference: $.at, ",
        "",
        ["7:5: 'reference' is missing in 'time'"],
    ),
    "a key twice": (
        "rejects: rejects",
        "checkpoint: elsewhere",
        ["21:1: the key 'checkpoint' comes twice; it stands first at line 20"],
    ),
    "a stream twice": (
        "  parking:\n",
        "  traffic:\n",
        [
            "10:3: the key 'traffic' comes twice; it stands first at line 3",
            "18:32: the stream <http://example.org/parking> is not declared; did you mean 'http://example.org/traffic'?",
        ],
    ),
    "a name that is none": (
        "  parking:\n",
        "  car parks:\n",
        ["10:3: 'car parks' is not a name: letters, digits, - and _, a letter first"],
    ),
    "an empty section": (
        "    time: {reference: $.at, as: iso}",
        "    time:",
        ["3:3: 'time' is missing in 'traffic': json records need it"],
    ),
    "an IRI that is none": (
        "iri: http://example.org/traffic",
        "iri: traffic",
        ["4:10: 'traffic' is not an absolute IRI, as http://example.org/traffic is"],
    ),
    "a predicate that is no IRI": (
        "absorb: none",
        "absorb: [http://example.org/p, speed]",
        ["9:36: 'speed' is not an absolute IRI, as http://example.org/traffic is"],
    ),
    "absorb what": (
        "absorb: none",
        "absorb: some",
        ["9:13: 'some' is not known here: write none, all, latest or a list of predicate IRIs"],
    ),
    "no unit": ("lateness: 2s", "lateness: 2", ["8:15: 2 has no unit: write 2s, 2ms, 2m or 2h"]),
    "no duration": (
        "lateness: 2s",
        "lateness: soon",
        ["8:15: 'soon' is not a duration: write 500ms, 2s, 5m, 1h, 7d or PT2S"],
    ),
    "no number": (
        "files_per_batch: 4",
        "files_per_batch: few",
        ["12:93: 'files_per_batch' must be a whole number"],
    ),
    "no batch": (
        "files_per_batch: 4",
        "files_per_batch: 0",
        ["12:93: 'files_per_batch' must be more than 0"],
    ),
    "a number for a path": (
        "checkpoint: checkpoint",
        "checkpoint: 7",
        ["20:13: 'checkpoint' must be a folder, or a section with 'folder' and 'every'"],
    ),
    "a checkpoint without a folder": (
        "checkpoint: checkpoint",
        "checkpoint: {evry: 5s}",
        [
            "20:1: 'folder' is missing in 'checkpoint'",
            "20:14: unknown key 'evry'; did you mean 'every'?",
        ],
    ),
    "checkpoints all the time": (
        "checkpoint: checkpoint",
        "checkpoint: {folder: kept, every: 0s}",
        ["20:35: 'every' must be more than 0"],
    ),
    "a checkpoint where there is a file": (
        "checkpoint: checkpoint",
        "checkpoint: {folder: slow.rq}",
        ["20:22: slow.rq is a file, not a folder"],
    ),
    "a list for a section": (
        'spark: {master: "local[2]", config:',
        "spark: [1]\nrest: {config:",
        [
            "22:8: 'spark' must be a section of keys and values",
            "23:1: unknown key 'rest'; known here: graph, from_files, streams, queries, checkpoint, rejects, history,"
            " services, window_memory, spark, server",
        ],
    ),
    "no graph": ("[town.ttl]", "[town.ttl, twon.ttl]", ["1:19: there is no file twon.ttl"]),
    "no graph, as text": ("[town.ttl]", "twon.ttl", ["1:8: there is no file twon.ttl"]),
    "no graph, under its name": (
        "[town.ttl]",
        "{http://e/g: [town.ttl, twon.ttl]}",
        ["1:32: there is no file twon.ttl"],
    ),
    "a graph's name": (
        "[town.ttl]",
        "{g: town.ttl}",
        ["1:8: 'g' is not an absolute IRI, as http://example.org/traffic is"],
    ),
    "a folder as graph": (
        "[town.ttl]",
        "[in]",
        [
            "1:9: in: this folder is not a graph directory"
            " (it has no manifest.json; a load that was not finished leaves none)"
        ],
    ),
    "a graph of unknown format": (
        "[town.ttl]",
        "[town.ttl, slow.rq]",
        [
            "1:19: the name does not say which RDF format this is"
            " (known suffixes: .ttl, .turtle, .n3, .nt, .nq, .trig, .jsonld, .rdf, .xml, .owl,"
            " each also with .gz, .bz2, .zst)"
        ],
    ),
    "no source": ("in/parking", "in/parkin", ["12:22: there is no folder in/parkin"]),
    "a file as source": ("in/parking", "slow.rq", ["12:22: there is no folder slow.rq (it is a file)"]),
    "no mapping file": (
        "mapping: traffic.rml.ttl",
        "mapping: trafic.rml.ttl",
        ["6:14: there is no file trafic.rml.ttl"],
    ),
    "no query file": ("file: slow.rq", "file: slwo.rq", ["14:16: there is no file slwo.rq"]),
    "neither file nor text": (
        "file: slow.rq, ",
        "",
        ["14:3: the query 'slow' needs either 'file' or 'text'"],
    ),
    "both file and text": (
        "file: slow.rq,",
        "file: slow.rq, text: x,",
        ["14:3: the query 'slow' needs either 'file' or 'text', not both"],
    ),
    "no mapping": (
        "    mapping: traffic.rml.ttl\n",
        "",
        ["3:3: 'mapping' is missing in 'traffic': json records need it"],
    ),
    "a mapping too many": (
        "  parking:\n",
        "  parking:\n    mapping: traffic.rml.ttl\n",
        ["11:5: timed-ntriples says all by itself: 'mapping' does not belong here"],
    ),
    "a time too many": (
        "  parking:\n",
        "  parking:\n    time: {reference: at}\n",
        ["11:5: timed-ntriples says all by itself: 'time' does not belong here"],
    ),
    "an undeclared stream, in the pipeline file": (
        "ON <http://example.org/parking>",
        "ON <http://example.org/parkng>",
        ["18:32: the stream <http://example.org/parkng> is not declared; did you mean 'http://example.org/parking'?"],
    ),
    "one IRI twice": (
        "iri: http://example.org/parking",
        "iri: http://example.org/traffic",
        [
            "11:10: the stream 'traffic' has this IRI already",
            "18:32: the stream <http://example.org/parking> is not declared; did you mean 'http://example.org/traffic'?",
        ],
    ),
    "one name that two queries are given": (
        "  full:\n",
        "  full:\n    name: slow\n",
        ["16:11: the query 'slow' reports under this name already"],
    ),
    "a query that is not continuous": (
        "      FROM NAMED WINDOW <w> ON <http://example.org/parking> [RANGE PT10S STEP PT5S]\n"
        "      WHERE { WINDOW <w> { ?place <http://example.org/free> 0 } }\n",
        "      WHERE { ?place <http://example.org/free> 0 }\n",
        ["16:11: the query 'full' is not continuous: it has no FROM NAMED WINDOW"],
    ),
    "one folder for two sinks": (
        "{files: out/slow}",
        "{files: out}, {files: ./out}",
        ["14:64: the query 'slow' goes to the same place as the query 'slow': out"],
    ),
    "one folder for sink and rejects": (
        "{files: out/slow}",
        "{files: rejects}",
        ["14:50: the query 'slow' goes to the same place as what is rejected: rejects"],
    ),
    "a sink into a source": (
        "{files: out/slow}",
        "{files: in/traffic/out}",
        ["14:50: the query 'slow' goes to where the stream 'traffic' is read from: in/traffic/out"],
    ),
    "a file where a folder is to be": (
        "checkpoint: checkpoint",
        "checkpoint: slow.rq",
        ["20:13: slow.rq is a file, not a folder"],
    ),
    "not YAML": ("graph: [town.ttl]", "graph: [town.ttl", None),
    "a star without quotation marks": (
        'pattern: "*.tnt"',
        "pattern: *.tnt",
        ["12:67: not YAML: found undefined alias '.tnt' (text that starts with * needs quotation marks)"],
    ),
    "an alias in itself": (
        "graph: [town.ttl]",
        "graph: &g [*g]",
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mistakes(folder: Path, name: str) -> None:
    old, new, expected = CASES[name]
    lines = problems(replaced(PIPELINE, old, new), folder)
    if expected is None:
        assert lines
        assert all(line.startswith("pipeline.yaml:") for line in lines)
    else:
        assert lines == [f"pipeline.yaml:{line}" for line in expected]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("{proposer: wsb}", "'wsb' is not known here; did you mean 'wsj'?"),
        ("{ranker: best}", "'best' is not known here; known here: gain, wbm, lru, rnd"),
        ("{change_interval: 5}", "5 has no unit: write 5s, 5ms, 5m or 5h"),
        ("{change_interval: {a.example: 0s}}", "'a.example' must be more than 0"),
        ("{host: a.example}", "unknown key 'host'; did you mean 'hosts'?"),
        ("{timeout: 5}", "5 has no unit: write 5s, 5ms, 5m or 5h"),
        ("{requests_at_once: 0}", "'requests_at_once' must be more than 0"),
        ("{attempts: often}", "'attempts' must be a whole number"),
        ("{hosts: ['http://a.example/sparql']}", "'http://a.example/sparql' is no host that SERVICE could ask"),
        ("'*.example'", "'*.example' is no host that SERVICE could ask"),
        (
            "{aliases: {http://a.example/: 'ftp://b.example/'}}",
            "an alias of SERVICE stands for what cannot be asked: SERVICE asks http and https endpoints,"
            " not <ftp://b.example>",
        ),
        ("[[a.example]]", "'services' must be text"),
        ("5", "'services' must be a section of keys and values"),
    ],
)
def test_mistakes_in_services(folder: Path, section: str, expected: str) -> None:
    [problem] = problems(f"{PIPELINE}services: {section}\n", folder)
    assert problem.partition(": ")[2] == expected


@pytest.mark.parametrize("text", ["", "just text", "[1, 2]", "# nothing\n"])
def test_no_sections_at_all(folder: Path, text: str) -> None:
    (line,) = problems(text, folder)
    assert line == "pipeline.yaml:1:1: a pipeline file must be a section of keys and values"


def test_nothing_to_do(folder: Path) -> None:
    text = PIPELINE[: PIPELINE.index("queries:")]
    assert problems(text, folder) == ["pipeline.yaml:1:1: nothing to do: no query, and no stream is absorbed"]


def test_no_file(folder: Path) -> None:
    with pytest.raises(PipelineErrors, match=r"^nowhere\.yaml: cannot be read: No such file or directory$"):
        read_pipeline("nowhere.yaml")


def test_not_utf_8(folder: Path) -> None:
    (folder / "pipeline.yaml").write_bytes(b"graph: x\n# \xff\n")
    with pytest.raises(PipelineErrors, match=r"^pipeline\.yaml:2:1: not UTF-8 text$"):
        read_pipeline("pipeline.yaml")


def test_all_problems_at_once(folder: Path) -> None:
    text = PIPELINE.replace("format: json", "format: jsn").replace("file: slow.rq", "file: gone.rq")
    text = text.replace("SELECT ?place", "SELEKT ?place").replace("rejects: rejects", "rejekts: x")
    lines = problems(text, folder)
    assert [line.split(": ")[0] for line in lines] == [
        f"pipeline.yaml:{at}" for at in ("5:42", "14:16", "17:7", "21:1")
    ]


def test_a_mapping_that_cannot_be_read(folder: Path) -> None:
    (folder / "traffic.rml.ttl").write_text(MAPPING + "\n<#Map> rr:subjectMap [")
    (line,) = problems(PIPELINE, folder)
    assert line.startswith("traffic.rml.ttl")
