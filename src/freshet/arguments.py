"""What arguments of the command line stand for: recordings of streams, durations, queries and their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from freshet.rdf.errors import InputError
from freshet.runtime.durations import setting_ms

if TYPE_CHECKING:
    from freshet.mapper.record_mapper import StreamMapping
    from freshet.runtime.recordings import Recordings

_LONGEST_NAME = 1024  # of a file; what is longer is a query


class DataFile(NamedTuple):
    """A file or graph directory, and the named graph that it goes to, if any."""

    path: Path
    graph: str | None


def data_files(given: Iterable[str]) -> list[DataFile]:
    """What -d names: FILE, or IRI=FILE for a named graph. A file of the whole name comes first."""
    found = []
    for each in given:
        if Path(each).exists() or "=" not in each:
            found.append(DataFile(Path(each), None))
        else:
            iri, file = _split(each)
            found.append(DataFile(Path(file), iri))
    return found


def _split(given: str) -> tuple[str, str]:
    """The IRI and the file of IRI=FILE. An IRI may hold an equals sign; a file that is there decides where it ends."""
    iri, _, file = given.partition("=")
    while "=" in file and not Path(file).exists():
        more, _, file = file.partition("=")
        iri = f"{iri}={more}"
    return iri.removeprefix("<").removesuffix(">"), file


def recordings_of(
    given: Iterable[str],
    *,
    mapping: Iterable[str] = (),
    time: str | None = None,
    time_form: str = "iso",
    time_predicate: str | None = None,
) -> Recordings:
    """The files of each stream, from IRI=FILE. They are read once, from start to end, so a pipe is as good.

    Each `mapping` is FILE or IRI=FILE, for records of all streams or one; `time` is a reference into them.
    """
    from freshet.runtime.recordings import Recordings

    recordings: dict[str, list[Path]] = {}
    for each in given:
        if "=" not in each:
            for iri, described in _described(each):
                recordings.setdefault(iri, []).append(described)
            continue
        iri, file = _split(each)
        if Path(file).is_dir():
            raise InputError("is a folder", file=file)
        if not Path(file).exists():
            raise InputError("there is no such file", file=file)
        recordings.setdefault(iri, []).append(Path(file))
    mappings = _mappings(mapping, recordings, time, time_form)
    if time is not None and not mappings:
        raise InputError("--time is a reference into records, and goes with -m MAPPING.ttl")
    return Recordings(recordings, time_predicate, mappings)


def _described(given: str) -> Iterator[tuple[str, Path]]:
    """The files of the streams that a VoCaLS description has; of a stream that is elsewhere, none."""
    from freshet.rdf.formats import format_name
    from freshet.sources.stream_descriptions import read_endpoints

    path = Path(given)
    if not path.is_file() or format_name(path) is None:
        raise InputError(f"-s takes IRI=FILE, or a file that describes streams, not {given!r}")
    streams = read_endpoints(path)
    found = [
        (iri, file)
        for iri, endpoints in streams.items()
        for endpoint in endpoints
        if (file := endpoint.file(path.parent)) is not None
    ]
    if not found:
        addresses = ", ".join(endpoint.address for endpoints in streams.values() for endpoint in endpoints)
        raise InputError(f"no stream that it describes is a file: {addresses}", file=given)
    for iri, file in found:
        if not file.is_file():
            raise InputError(f"there is no such file, which {given} has for <{iri}>", file=str(file))
        yield iri, file


def _mappings(
    given: Iterable[str], streams: Iterable[str], time: str | None, time_form: str
) -> dict[str, StreamMapping]:
    found: dict[str, StreamMapping] = {}
    for path, iri in data_files(given):
        from freshet.mapper.record_mapper import StreamMapping

        if time is None:
            raise InputError("--time says which column or path of a record has its time", file=str(path))
        if iri is not None and iri not in streams:
            raise InputError(f"-m: no recording is given for the stream <{iri}>")
        declared = StreamMapping(text_of(path), time, time_form)
        found |= dict.fromkeys(streams if iri is None else [iri], declared)
    return found


def milliseconds(duration: str, option: str = "--lateness") -> int:
    """A duration that an option has."""
    try:
        return setting_ms(duration)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


def memory_bytes(amount: str, option: str) -> int:
    """An amount of memory that an option has."""
    from freshet.runtime.section import memory_text  # brings pydantic along

    try:
        return memory_text(amount)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


def text_of(file: Path) -> str:
    """The text of a file."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", file=str(file)) from error


def text_or_file(query: str) -> tuple[str, str | None]:
    """A query as given on the command line: the name of a file where there is one, or else the text.

    A word without a brace is no query, but the name of a file that is missing.
    """
    is_name = len(query.split()) == 1 and "{" not in query
    if is_name or ("\n" not in query and len(query) < _LONGEST_NAME and Path(query).is_file()):
        return text_of(Path(query)), query
    return query, None
