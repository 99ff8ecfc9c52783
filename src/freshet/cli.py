"""The command line. Thin: every command reads its options and calls the library."""

from __future__ import annotations

import os

# NumPy asks the system for huge pages, which it must find and clear before the first byte is written: the engine's
# time doubled. It reads this when it is imported.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from freshet import __version__
from freshet.arguments import milliseconds, recordings_of, text_of, text_or_file
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.wording import show_count

app = typer.Typer(
    name="freshet",
    help="Continuous SPARQL over live streams, a growing graph and remote endpoints.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"freshet {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


DataOption = Annotated[
    list[Path], typer.Option("-d", "--data", help="RDF file or graph directory of the stored graph; may be repeated.")
]


ServiceOption = Annotated[
    list[str], typer.Option("--service", help="Host that SERVICE may ask; may be repeated.", metavar="HOST[:PORT]")
]


DialectOption = Annotated[
    str | None,
    typer.Option(metavar="sparql|rspql|csparql|cqels", help="The query language; recognised where it is not given."),
]


class AnswerFormat(StrEnum):
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    XML = "xml"
    NT = "nt"
    TTL = "ttl"


class RdfOutput(StrEnum):
    NQ = "nq"
    NT = "nt"
    TTL = "ttl"
    TRIG = "trig"
    JSONLD = "jsonld"
    RDFXML = "rdfxml"


class ReportFormat(StrEnum):
    TEXT = "text"
    NDJSON = "ndjson"


class PlanFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command()
def run(
    pipeline: Annotated[Path, typer.Argument(help="The pipeline file (YAML).")],
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Stop at the end of the input that is there.")
    ] = False,
) -> None:
    """Run a pipeline on Spark until it is stopped."""
    from freshet.runtime.run import run_pipeline

    if not run_pipeline(pipeline, until_done=until_done):
        raise typer.Exit(1)


@app.command(name="map")
def map_(
    mapping: Annotated[Path, typer.Option("-m", "--mapping", help="The RML mapping (Turtle).")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the RDF goes; standard output if not given.")
    ] = None,
    format: Annotated[RdfOutput, typer.Option(help="How the RDF is written.")] = RdfOutput.NQ,
    functions: Annotated[
        Path | None, typer.Option(help="A Python file of functions that the mapping calls.", metavar="FILE.py")
    ] = None,
    base: Annotated[str | None, typer.Option(help="What relative IRIs are resolved against.", metavar="IRI")] = None,
    distinct: Annotated[bool, typer.Option("--distinct", help="Each statement once, sorted.")] = False,
    rejects: Annotated[
        Path | None,
        typer.Option(help="Folder of the records that could not be mapped.", show_default="rejects, beside the output"),
    ] = None,
) -> None:
    """Map files and databases to RDF with an RML mapping. The exit status is 1 where records were rejected."""
    from freshet.spark.map_run import MapOptions, check_map, run_map
    from freshet.spark.session import spark_session

    beside = Path() if output is None else output.parent
    options = MapOptions(output, format.value, rejects or beside / "rejects", base, functions, distinct)
    check_map(mapping, options)  # before the seconds that Spark needs to start
    spark = spark_session()
    try:
        done = run_map(spark, mapping, options)
    finally:
        spark.stop()
    for join in done.unjoined:
        print(f"freshet: no two records were joined of {join}", file=sys.stderr)
    rejected = f", {done.rejected:,} rejected, see {done.rejects}" if done.rejected else ""
    print(f"freshet: {show_count(done.records, 'record')} mapped{rejected}", file=sys.stderr)
    if done.rejected:
        raise typer.Exit(1)


@app.command()
def load(
    files: Annotated[list[Path], typer.Argument(help="RDF files; with --check, graph directories.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The graph directory: made, or added to.", metavar="GRAPH")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Load nothing; read graph directories and say if whole.")
    ] = False,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
) -> None:
    """Load RDF files into a graph directory, on Spark."""
    if check:
        _check_graphs(files, output)
        return
    if output is None:
        raise InputError("-o GRAPH says where the graph goes")
    from freshet.spark.bulk_load import check_load, load_files, warm
    from freshet.spark.session import spark_session

    check_load(files, output)  # before the seconds that Spark needs to start
    warm()
    spark = spark_session(master=master)
    try:
        done = load_files(spark, files, output)
    finally:
        spark.stop()
    counts = done.counts
    print(
        f"freshet: {show_count(done.statements, 'statement')} read; {output} has {show_count(counts.triples, 'triple')}"
        f" and {show_count(counts.terms, 'term')} in {show_count(counts.graphs, 'graph')}",
        file=sys.stderr,
    )


def _check_graphs(graphs: list[Path], output: Path | None) -> None:
    from freshet.store.graph_directory import GraphDirectory

    if output is not None:
        raise InputError("--check takes the names of graph directories, and no -o")
    for graph in graphs:
        directory = GraphDirectory(graph)
        directory.check()
        print(f"freshet: {graph} is whole: {show_count(directory.counts.triples, 'triple')}", file=sys.stderr)


@app.command()
def replay(
    stream: Annotated[list[str], typer.Option("-s", "--stream", help="IRI=FILE of timed N-Triples.")],
    query: Annotated[list[Path], typer.Option("-q", "--query", help="File of a continuous query.")],
    data: DataOption = [],  # noqa: B006 (typer reads it once)
    lateness: Annotated[str, typer.Option(help="How late elements may come: 500ms, 2s, PT1M.")] = "0ms",
    format: Annotated[ReportFormat, typer.Option(help="How reports are printed.")] = ReportFormat.TEXT,
    dialect: DialectOption = None,
    service: ServiceOption = [],  # noqa: B006 (typer reads it once)
    report: Annotated[
        list[str], typer.Option(help="Evaluate only where this holds: change, non-empty; may be repeated.")
    ] = [],  # noqa: B006
    every: Annotated[str | None, typer.Option(help="Evaluate every so often, not when windows move: 2s, PT1M.")] = None,
    absorb: Annotated[
        list[str], typer.Option(help="Stream that leaves its triples in the stored graph.", metavar="IRI")
    ] = [],  # noqa: B006
) -> None:
    """Run continuous queries over recorded streams, in event time, without Spark."""
    from freshet.results.report import Report
    from freshet.runtime.display import show_dropped, show_report
    from freshet.runtime.replay import replay as replay_streams
    from freshet.runtime.session import Session

    with Session(services=service) as session:
        recordings = recordings_of(stream)
        left = {iri.removeprefix("<").removesuffix(">") for iri in absorb}
        if unknown := sorted(left - recordings.keys()):
            raise InputError(f"--absorb: no recording is given for the stream <{unknown[0]}>")
        session.load(*data)
        for iri in recordings:
            session.stream(iri, lateness_ms=milliseconds(lateness), absorb=iri in left)

        def show(report: Report) -> None:
            if format is ReportFormat.NDJSON:
                sys.stdout.buffer.write(session.ndjson(report))
            else:
                print(show_report(report, session.dictionary))

        every_ms = None if every is None else milliseconds(every, "--every")
        for written in query:
            session.register(
                text_of(written),
                name=written.stem,
                file=str(written),
                dialect=dialect,
                on_report=show,
                report=report,
                every_ms=every_ms,
            )
        replay_streams(session, recordings)
        for iri, state in session.engine.streams.items():
            if state.late:
                print(f"freshet: dropped {show_count(state.late, 'late element')} of <{iri}>", file=sys.stderr)
            for line in show_dropped(state):
                print(f"freshet: {line}", file=sys.stderr)
        for failure in session.failures:
            print(f"freshet: {failure}", file=sys.stderr)
        if session.failures:
            raise typer.Exit(1)


@app.command()
def query(
    query: Annotated[str, typer.Option("-q", "--query", help="A query, or the file that holds it.")],
    data: DataOption = [],  # noqa: B006 (typer reads it once)
    format: Annotated[
        AnswerFormat | None,
        typer.Option(help="How the answer is printed: nt or ttl where it is a graph.", show_default="json, ttl"),
    ] = None,
    dialect: DialectOption = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which to give up.")] = None,
    service: ServiceOption = [],  # noqa: B006 (typer reads it once)
) -> None:
    """Answer SPARQL over files or a graph directory once."""
    from freshet.results.write import write_answer
    from freshet.runtime.session import Session

    text, file = text_or_file(query)
    with Session(services=service) as session:
        session.load(*data)
        answer = session.query(text, file=file, dialect=dialect, timeout_seconds=timeout)
        sys.stdout.buffer.write(write_answer(answer, session.dictionary, format))


@app.command()
def explain(
    query: Annotated[str, typer.Option("-q", "--query", help="A query, or the file that holds it.")],
    format: Annotated[PlanFormat, typer.Option(help="For people or for programs.")] = PlanFormat.TEXT,
    optimized: Annotated[
        bool | None, typer.Option(help="Also show the plan after rewriting.", show_default="unless it has windows")
    ] = None,
    dialect: DialectOption = None,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="Replay recorded streams, and show what each operator did.")
    ] = False,
    stream: Annotated[list[str], typer.Option("-s", "--stream", help="IRI=FILE of timed N-Triples.")] = [],  # noqa: B006
    data: DataOption = [],  # noqa: B006 (typer reads it once)
    lateness: Annotated[str, typer.Option(help="How late elements may come: 500ms, 2s, PT1M.")] = "0ms",
    service: ServiceOption = [],  # noqa: B006 (typer reads it once)
) -> None:
    """Show how a query is understood, and how it is answered."""
    import orjson

    from freshet.runtime.explaining import analyze as analyze_query
    from freshet.runtime.explaining import explain as explain_query

    text, file = text_or_file(query)
    if analyze:
        explained = analyze_query(
            text,
            recordings_of(stream),
            data,
            lateness_ms=milliseconds(lateness),
            file=file,
            dialect=dialect,
            services=service,
        )
    else:
        explained = explain_query(text, file=file, dialect=dialect, optimized=optimized)
    if format is PlanFormat.JSON:
        sys.stdout.buffer.write(orjson.dumps(explained.json(), option=orjson.OPT_APPEND_NEWLINE))
    else:
        print(explained.text())


@app.command()
def demo(
    seconds: Annotated[float, typer.Option(help="How long the town lives.")] = 20.0,
    folder: Annotated[Path, typer.Option(help="Where its files go.")] = Path("demo-out"),
) -> None:
    """Watch a generated town: traffic, parking and weather, and three queries over them."""
    from freshet.demo.run import run_demo

    run_demo(folder, seconds=seconds)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    triples: Annotated[
        str | None, typer.Option(help="How many triples are stored: 500K, 10M. For lsbench.", metavar="COUNT")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="How many triples a second come in streams. For lsbench.", metavar="COUNT")
    ] = None,
) -> None:
    """Run a benchmark. They are in the source repository only."""
    from rich.console import Console

    try:
        from freshet_benchmarks.benchmarks import measure
        from freshet_benchmarks.figures import figures_json, figures_table
    except ModuleNotFoundError as error:
        if error.name != "freshet_benchmarks":
            raise
        raise InputError(
            "the benchmarks are not installed: they are in the folder benchmarks/ of Freshet's source repository",
            hint="in a clone: pip install --editable .",
        ) from None

    figures = measure(name, triples=triples, rate=rate)
    if json:
        print(figures_json(name, figures))
    else:
        Console().print(figures_table(name, figures))


def main() -> NoReturn:
    """Run a command; an error that the user can mend is one line, where it is in a query a terminal shows it too."""
    try:
        app(standalone_mode=True)
    except FreshetError as error:
        for one in getattr(error, "errors", [error]):
            print(f"freshet: {one}" if not one.place else str(one), file=sys.stderr)
            if sys.stderr.isatty() and one.excerpt:
                print(one.excerpt, file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("FRESHET_TRACEBACK"):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"freshet: the run failed: {reason} (FRESHET_TRACEBACK=1 shows where)", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)
