"""The command line. Thin: every command reads its options and calls the library."""

from __future__ import annotations

import functools
import os

# NumPy asks the system for huge pages, which it must find and clear before the first byte is written: the engine's
# time doubled. It reads this when it is imported.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")

import sys
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from freshet import __version__
from freshet.arguments import data_files, memory_bytes, milliseconds, recordings_of, text_of, text_or_file
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.wording import show_count

if TYPE_CHECKING:
    from freshet.runtime.recordings import Recordings

FILE = click.Path(path_type=Path)
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, message="freshet %(version)s", help="Print the version and exit.")
def app() -> None:
    """Continuous SPARQL over live streams, a growing graph and remote endpoints."""


def repeated(*names: str, **options: Any) -> Option:
    """An option that may be given several times."""
    return click.option(*names, multiple=True, **options)


data_option = repeated(
    "-d",
    "--data",
    metavar="[IRI=]FILE",
    help="RDF file or graph directory of the stored graph, or of the named graph IRI; repeatable.",
)
from_files_option = click.option(
    "--from-files", type=FILE, metavar="DIR", help="Folder of the files that FROM names by the last part of an IRI."
)
service_option = repeated("--service", metavar="HOST[:PORT]", help="Host that SERVICE may ask; repeatable.")
lateness_option = click.option("--lateness", default="0ms", help="How late elements may come: 500ms, 2s, PT1M.")
dialect_option = click.option(
    "--dialect", metavar="sparql|rspql|csparql|sparqlstream|cqels", help="The query language; recognised if not given."
)


_RECORDING_OPTIONS = (
    repeated(
        "-s",
        "--stream",
        metavar="IRI=FILE",
        help="A stream's recording: timed N-Triples, RDF or records. Or a VoCaLS file.",
    ),
    repeated("-m", "--mapping", metavar="[IRI=]FILE", help="The RML mapping of recorded CSV, JSON or XML; repeatable."),
    click.option("--time", metavar="REFERENCE", help="The column or path of a record that has its time."),
    click.option(
        "--time-form", type=click.Choice(["iso", "epoch_ms", "epoch_s"]), default="iso", help="How it is written."
    ),
    click.option("--time-predicate", metavar="IRI", help="The predicate that has the times of RDF without times."),
)


def recording_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what recorded streams are."""

    def with_recordings(
        stream: tuple[str, ...],
        mapping: tuple[str, ...],
        time: str | None,
        time_form: str,
        time_predicate: str | None,
        **options: Any,
    ) -> None:
        command(
            recordings=recordings_of(
                stream, mapping=mapping, time=time, time_form=time_form, time_predicate=time_predicate
            ),
            **options,
        )

    wrapped: Callable[..., Any] = functools.update_wrapper(with_recordings, command)
    for option in reversed(_RECORDING_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


@app.command()
@click.argument("pipeline", type=FILE)
@click.option("--until-done", is_flag=True, help="Stop at the end of the input that is there.")
def run(pipeline: Path, until_done: bool) -> None:
    """Run the pipeline file PIPELINE (YAML) on Spark until it is stopped."""
    from freshet.runtime.pipeline_file import read_pipeline
    from freshet.runtime.spark_start import starting_spark

    read = read_pipeline(pipeline)
    with starting_spark(read) as spark:
        from freshet.runtime.run import run_pipeline  # much to import, while the JVM starts

        succeeded = run_pipeline(read, spark, until_done=until_done)
    if not succeeded:
        sys.exit(1)


@app.command()
@click.argument("pipeline", type=FILE, required=False)
@click.option(
    "--listen", metavar="HOST:PORT", show_default="127.0.0.1:7022", help="Where to listen; port 0 is any that is free."
)
@click.option("--checkpoint", type=FILE, metavar="FOLDER", help="Folder in which everything survives a crash.")
@data_option
@service_option
@click.option("--tokens", type=FILE, metavar="FILE", help="File of tokens: rights and secret, one a line.")
@click.option("--certificate", type=FILE, metavar="FILE", help="Certificate (PEM), for TLS.")
@click.option("--key", type=FILE, metavar="FILE", help="Key of the certificate (PEM).")
@repeated("--host", metavar="NAME", help="Name by which requests may call this server; repeatable.")
@repeated("--origin", metavar="URL", help="Site whose pages may use this server, or *; repeatable.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="How logs are written.")
def serve(pipeline: Path | None, **options: Any) -> None:
    """Serve SPARQL, continuous queries and streams over HTTP, alone or for the pipeline file PIPELINE."""
    from freshet.server.command import ServeOptions, run_server

    run_server(pipeline, ServeOptions(**{**options, "data": tuple(data_files(options["data"]))}))


@app.command(name="map")
@click.option("-m", "--mapping", type=FILE, required=True, help="The RML or R2RML mapping (Turtle), or YARRRML.")
@click.option("-o", "--output", type=FILE, help="Where the RDF goes; standard output if not given.")
@click.option(
    "--format",
    type=click.Choice(["nq", "nt", "ttl", "trig", "jsonld", "rdfxml"]),
    default="nq",
    help="How the RDF is written.",
)
@click.option("--functions", type=FILE, metavar="FILE.py", help="A Python file of functions that the mapping calls.")
@click.option("--base", metavar="IRI", help="What relative IRIs are resolved against.")
@click.option(
    "--database",
    metavar="FILE|URL",
    help="The database of an R2RML mapping: a file of SQLite, or a JDBC address.",
)
@click.option("--distinct", is_flag=True, help="Each statement once, sorted.")
@click.option(
    "--on",
    type=click.Choice(["auto", "process", "spark"]),
    default="auto",
    help="Where the mapping runs: in this process, which starts at once, or on Spark; auto decides by the size.",
)
@click.option(
    "--rejects",
    type=FILE,
    show_default="rejects, beside the output",
    help="Folder of the records that could not be mapped.",
)
@repeated("--service", metavar="HOST[:PORT]", help="Host that sources and targets may be on; repeatable.")
def map_(
    mapping: Path,
    output: Path | None,
    format: str,
    functions: Path | None,
    base: str | None,
    database: str | None,
    distinct: bool,
    on: str,
    rejects: Path | None,
    service: tuple[str, ...],
) -> None:
    """Map files and databases to RDF with an RML or R2RML mapping.

    The exit status is 1 where records were rejected.
    """
    from freshet.mapper.map_options import MapOptions
    from freshet.runtime.mapping_run import run_mapping

    beside = Path() if output is None else output.parent
    options = MapOptions(output, format, rejects or beside / "rejects", base, functions, distinct, database)
    done = run_mapping(mapping, options, on, service, lambda where: print(f"freshet: {where}", file=sys.stderr))
    for join in done.unjoined:
        print(f"freshet: no two records were joined of {join}", file=sys.stderr)
    for join, pairs in done.crossed:
        print(f"freshet: {join}: without a join condition, {show_count(pairs, 'pair')} of records", file=sys.stderr)
    rejected = f", {done.rejected:,} rejected, see {done.rejects}" if done.rejected else ""
    print(f"freshet: {show_count(done.records, 'record')} mapped{rejected}", file=sys.stderr)
    if done.rejected:
        sys.exit(1)


@app.command()
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("-o", "--output", type=FILE, metavar="GRAPH", help="The graph directory: made, or added to.")
@click.option("--check", is_flag=True, help="Load nothing; read graph directories and say if whole.")
@click.option("--master", default="local[*]", help="Where Spark runs.")
def load(files: tuple[Path, ...], output: Path | None, check: bool, master: str) -> None:
    """Load RDF FILES into a graph directory, on Spark. With --check, FILES are graph directories."""
    if check:
        _check_graphs(files, output)
        return
    if output is None:
        raise InputError("-o GRAPH says where the graph goes")
    from freshet.spark.bulk_load import check_load, load_files, warm
    from freshet.spark.session import spark_session

    check_load(list(files), output)  # before the seconds that Spark needs to start
    warm()
    spark = spark_session(master=master)
    try:
        done = load_files(spark, list(files), output)
    finally:
        spark.stop()
    counts = done.counts
    print(
        f"freshet: {show_count(done.statements, 'statement')} read; {output} has {show_count(counts.triples, 'triple')}"
        f" and {show_count(counts.terms, 'term')} in {show_count(counts.graphs, 'graph')}",
        file=sys.stderr,
    )


@app.command()
@click.option("-d", "--data", type=FILE, metavar="GRAPH", required=True, help="The graph directory to change.")
@click.option("-u", "--update", required=True, help="A SPARQL update, or the file that holds it.")
@click.option("--timeout", type=float, help="Seconds after which to give up.")
@service_option
def update(data: Path, update: str, timeout: float | None, service: tuple[str, ...]) -> None:
    """Change a graph directory by SPARQL Update, all at once."""
    from freshet.rdf.deadline import Deadline
    from freshet.runtime.session import Session
    from freshet.runtime.update_directory import update_directory

    text, file = text_or_file(update)
    with Session(services=service) as session, Deadline(timeout).running():
        counts = update_directory(data, text, session, file=file)
    print(f"freshet: {counts.inserted:,} inserted, {counts.deleted:,} deleted", file=sys.stderr)


def _check_graphs(graphs: tuple[Path, ...], output: Path | None) -> None:
    from freshet.store.graph_directory import GraphDirectory

    if output is not None:
        raise InputError("--check takes the names of graph directories, and no -o")
    for graph in graphs:
        directory = GraphDirectory(graph)
        directory.check()
        print(f"freshet: {graph} is whole: {show_count(directory.counts.triples, 'triple')}", file=sys.stderr)


@app.command()
@recording_options
@repeated("-q", "--query", type=FILE, required=True, help="File of a continuous query.")
@data_option
@from_files_option
@lateness_option
@click.option(
    "--format",
    type=click.Choice(["text", "table", "ndjson", "csv", "rdf", "parquet"]),
    show_default="text",
    help="How reports are written.",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    show_default="standard output",
    help="Where reports go: a file; for parquet a folder, or FILE.parquet.",
)
@dialect_option
@service_option
@repeated("--report", help="Evaluate only where this holds: change, non-empty; repeatable.")
@click.option("--every", help="Evaluate at this period, not when windows move: 2s, PT1M.")
@click.option("--rsp4j", type=FILE, help="Properties file of RSP4J: base of names, format, when to report.")
@repeated("--absorb", metavar="IRI", help="Stream that leaves its triples in the stored graph.")
@repeated(
    "--retracts", metavar="IRI", help="Stream whose elements can delete: TIME TAB - STATEMENT, or D of RDF Patch."
)
@click.option("--why", is_flag=True, help="Below each row, the elements, files and lines that it was derived from.")
def replay(
    recordings: Recordings,
    query: tuple[Path, ...],
    data: tuple[str, ...],
    from_files: Path | None,
    lateness: str,
    format: str | None,
    output: Path | None,
    dialect: str | None,
    service: tuple[str, ...],
    report: tuple[str, ...],
    every: str | None,
    rsp4j: Path | None,
    absorb: tuple[str, ...],
    retracts: tuple[str, ...],
    why: bool,
) -> None:
    """Run continuous queries over recorded streams, in event time, without Spark."""
    from freshet.runtime.compile_ahead import announce_compilation
    from freshet.runtime.display import show_dropped
    from freshet.runtime.query_graphs import check_graphs
    from freshet.runtime.replay import REPLAYED_ELEMENTS, QueryFile, queries_in_order
    from freshet.runtime.replay import replay as replay_streams
    from freshet.runtime.report_output import ReportOutput, check_output, output_file, write_parquet
    from freshet.runtime.rsp4j_properties import Rsp4jSettings, read_rsp4j
    from freshet.runtime.session import Session

    settings = Rsp4jSettings() if rsp4j is None else read_rsp4j(rsp4j)
    texts = [QueryFile(text_of(written), written.stem, str(written)) for written in query]
    ordered = queries_in_order(texts, recordings.files, dialect, settings.base)
    format = format or settings.format_of(all_graphs=ordered.all_graphs)
    read = [*chain.from_iterable(recordings.files.values()), *query, *(each.path for each in data_files(data))]
    check_output(format, output, len(query), read, why=why)
    recordings.with_origins = why
    announce_compilation("session")
    with Session(services=service, why_elements=REPLAYED_ELEMENTS if why else 0) as session, ExitStack() as closing:
        if not recordings.files:
            raise InputError("-s IRI=FILE says which stream is recorded where")
        absorbed, retracting = (
            {iri.removeprefix("<").removesuffix(">") for iri in some} for some in (absorb, retracts)
        )
        for option, some in (("--absorb", absorbed), ("--retracts", retracting)):
            if unknown := sorted(some - recordings.files.keys()):
                raise InputError(f"{option}: no recording is given for the stream <{unknown[0]}>")
        for path, graph in data_files(data):
            session.load(path, graph=graph)
        with_graphs = ordered.streams_with_graphs(recordings.files)
        for iri in recordings.files:
            late_ms = milliseconds(lateness)
            session.stream(
                iri, lateness_ms=late_ms, absorb=iri in absorbed, retracts=iri in retracting, graphs=iri in with_graphs
            )

        every_ms = None if every is None else milliseconds(every, "--every")
        for note in (*settings.notes, *ordered.notes):
            print(f"freshet: {note}", file=sys.stderr)
        reports = None
        if format != "parquet":
            reports = ReportOutput(session.dictionary, format, closing.enter_context(output_file(output)), why=why)
        registered = []
        for each, parsed in ordered.queries:
            check_graphs(session, parsed, each.text, file=each.file, folder=from_files)
            if why:
                from freshet.runtime.why import check_explained

                check_explained(parsed, each.file)
            asked = session.register(
                each.text,
                name=each.name,
                rename=True,
                file=each.file,
                dialect=dialect,
                on_batch=None if reports is None else reports.take,
                report=report or settings.report,
                every_ms=every_ms,
            )
            registered.append(asked)
        if reports is not None:
            reports.begin(registered)
        replay_streams(session, recordings)
        if output is not None and reports is None:
            write_parquet(registered, output)
        if reports is not None and not reports.has_reports and not session.failures:
            print("freshet: nothing was reported: no evaluation had a solution", file=sys.stderr)
        for iri, count in recordings.rejected.items():
            reason = recordings.reasons[iri]
            print(f"freshet: rejected {show_count(count, 'record')} of <{iri}>, the first of {reason}", file=sys.stderr)
        for iri, state in session.engine.streams.items():
            if state.late:
                print(f"freshet: dropped {show_count(state.late, 'late element')} of <{iri}>", file=sys.stderr)
            for line in show_dropped(state):
                print(f"freshet: {line}", file=sys.stderr)
        for failure in session.failures:
            print(f"freshet: {failure}", file=sys.stderr)
        if session.failures:
            sys.exit(1)


@app.command()
@click.option("-q", "--query", required=True, help="A query, or the file that holds it.")
@data_option
@from_files_option
@click.option(
    "--format",
    type=click.Choice(["json", "csv", "tsv", "xml", "nt", "ttl", "nq", "trig", "jsonld", "rdfxml"]),
    show_default="json, ttl",
    help="How the answer is printed: nt or ttl where it is a graph.",
)
@dialect_option
@click.option("--timeout", type=float, help="Seconds after which to give up.")
@click.option("--memory", help="The most memory that intermediate results may take, such as 512m or 2g.")
@service_option
def query(
    query: str,
    data: tuple[str, ...],
    from_files: Path | None,
    format: str | None,
    dialect: str | None,
    timeout: float | None,
    memory: str | None,
    service: tuple[str, ...],
) -> None:
    """Answer SPARQL over files or a graph directory once."""
    from freshet.rdf.deadline import Deadline
    from freshet.results.write import write_answer
    from freshet.runtime.compile_ahead import announce_compilation
    from freshet.runtime.query_graphs import check_graphs
    from freshet.runtime.session import Session

    text, file = text_or_file(query)
    announce_compilation("session")
    with Session(services=service) as session:
        for path, graph in data_files(data):
            session.load(path, graph=graph)
        deadline = Deadline(timeout, None if memory is None else memory_bytes(memory, "--memory"))
        with deadline.running():
            prepared = session.prepare(text, file=file, dialect=dialect)
        check_graphs(session, prepared, text, file=file, folder=from_files)
        answer = session.query(prepared, file=file, deadline=deadline)
        sys.stdout.buffer.write(write_answer(answer, session.dictionary, format))


@app.command()
@click.option("-q", "--query", required=True, help="A query, or the file that holds it.")
@click.option("--format", type=click.Choice(["text", "json"]), default="text", help="For people or for programs.")
@click.option(
    "--optimized/--no-optimized",
    default=None,
    show_default="unless it has windows",
    help="Also show the plan after rewriting.",
)
@click.option("--live", is_flag=True, help="Show how a query without a window is kept answered as a live query.")
@dialect_option
@click.option("--analyze", is_flag=True, help="Replay recorded streams, and show what each operator did.")
@recording_options
@data_option
@from_files_option
@lateness_option
@service_option
def explain(
    query: str,
    format: str,
    optimized: bool | None,
    live: bool,
    dialect: str | None,
    analyze: bool,
    recordings: Recordings,
    data: tuple[str, ...],
    from_files: Path | None,
    lateness: str,
    service: tuple[str, ...],
) -> None:
    """Show how a query is understood, and how it is answered."""
    import orjson

    from freshet.runtime.explaining import analyze as analyze_query
    from freshet.runtime.explaining import explain as explain_query

    text, file = text_or_file(query)
    if analyze:
        explained = analyze_query(
            text,
            recordings,
            data_files(data),
            from_files=from_files,
            lateness_ms=milliseconds(lateness),
            file=file,
            dialect=dialect,
            services=list(service),
        )
    else:
        explained = explain_query(text, file=file, dialect=dialect, optimized=optimized, live=live)
    if format == "json":
        sys.stdout.buffer.write(orjson.dumps(explained.json(), option=orjson.OPT_APPEND_NEWLINE))
    else:
        print(explained.text())


@app.command()
@click.option("--seconds", type=float, default=20.0, help="How long the town lives.")
@click.option("--folder", type=FILE, default=Path("demo-out"), help="Where its files go.")
@click.option("--web", is_flag=True, help="Serve the town with the web page, until Ctrl-C.")
@click.option(
    "--listen", metavar="HOST:PORT", default="127.0.0.1", help="With --web: where.  [default: 127.0.0.1:7022]"
)
def demo(seconds: float, folder: Path, web: bool, listen: str) -> None:
    """Watch a generated town: traffic, parking and weather, and three queries over them."""
    if web:
        from freshet.demo.web import run_web_demo

        _warm("run")
        run_web_demo(folder, listen)
        return
    from freshet.demo.run import run_demo

    run_demo(folder, seconds=seconds, prepare=lambda: _warm("run"))


@app.command()
@click.option(
    "--for",
    "section",
    type=click.Choice(["session", "run", "all"]),
    default="all",
    help="What to compile: what a first query needs, what a pipeline needs, or everything.",
)
def warm(section: str) -> None:
    """Compile Freshet's kernels ahead, on all cores. They are kept for later runs."""
    if not _warm(section):
        print("freshet: all kernels are compiled", file=sys.stderr)


def _warm(section: str) -> bool:
    """Compile the kernels of a section, with a progress bar, unless they are; says whether any had to be."""
    from freshet.kernels.signatures import is_warm

    if is_warm(section):
        return False
    from freshet.runtime.compile_ahead import show_compilation

    show_compilation(section)
    return True


@app.command()
@click.argument("name", default="")
@click.option("--json", is_flag=True, help="Print one JSON object.")
@click.option("--triples", metavar="COUNT", help="How many triples are stored: 500K, 10M. For lsbench.")
@click.option("--rate", metavar="COUNT", help="How many triples a second come in streams. For lsbench.")
@click.option(
    "--repeat", type=click.IntRange(1), default=1, help="Run it COUNT times: medians and ranges.", metavar="COUNT"
)
def bench(name: str, json: bool, triples: str | None, rate: str | None, repeat: int) -> None:
    """Run the benchmark NAME; without a name, list them. They are in the source repository only."""
    from rich.console import Console

    try:
        from freshet_benchmarks.benchmarks import list_benchmarks, measure
        from freshet_benchmarks.figures import combine_runs, figures_json, figures_table
    except ModuleNotFoundError as error:
        if error.name != "freshet_benchmarks":
            raise
        raise InputError(
            "the benchmarks are not installed: they are in the folder benchmarks/ of Freshet's source repository",
            hint="in a clone: pip install --editable .",
        ) from None

    if not name:
        print("\n".join(list_benchmarks()))
        return
    runs = [measure(name, triples=triples, rate=rate) for _ in range(repeat)]
    figures = runs[0] if repeat == 1 else combine_runs(runs)
    if json:
        print(figures_json(name, figures))
    else:
        Console().print(figures_table(name, figures))


def main() -> NoReturn:
    """Run a command; an error that the user can mend is one line, where it is in a query a terminal shows it too."""
    try:
        app.main(prog_name="freshet", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except FreshetError as error:
        for one in getattr(error, "errors", [error]):
            print(f"freshet: {one}" if not one.place else str(one), file=sys.stderr)
            if sys.stderr.isatty() and one.excerpt:
                print(one.excerpt, file=sys.stderr)
        sys.exit(error.exit_status)
    except (KeyboardInterrupt, click.Abort):
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
