"""What a checkpoint folder says of streams, queries and sources, whichever version of Freshet wrote it.

A session journals each declaration and registration. A pipeline's file says at every start what there is, so each run
journals that as one entry (`run`); the last one counts from the cut on, since a new query starts with what the journal
has for the others. What came while a pipeline went on (`added`) is journaled as that of a session is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from freshet import __version__
from freshet.rdf.errors import InputError
from freshet.runtime.checkpoint_manifest import State
from freshet.runtime.durable_records import DurableRegistration
from freshet.runtime.journal import Header

FORMAT = 3  # in 2, no segment had deletions; in 1, manifests of pipelines had another form, and no layouts of batches
_OF_SESSIONS = {"stream", "register", "unregister", "push", "load", "update", "open", "finish"}
_DEFINED = {"streams": "iri", "sources": "id", "queries": "name"}  # by what name each is known


def state_of_folder(state: State, headers: Sequence[tuple[int, Header]]) -> State:
    """The state of a manifest, with what the entries after its cut say of the last run of a pipeline.

    It has `sources` where the folder is a pipeline's.
    """
    if state.get("format", 1) > FORMAT:
        raise InputError(f"Freshet {state.get('version')} wrote this checkpoint, and {__version__} cannot read it")
    known = _upgrade(state)
    kinds = {header["kind"] for _, header in headers}
    if "batch" in kinds:
        known = {"sources": [], **known}
    runs = [header for _, header in headers if header["kind"] == "run"]
    return _with_run(known, runs[-1]) if runs else known


def check_of_pipeline(state: State, headers: Sequence[tuple[int, Header]]) -> None:
    """Refuse to run a pipeline in the folder of a session."""
    of_session = any(header["kind"] in _OF_SESSIONS and "after" not in header for _, header in headers)
    if of_session or (state and "sources" not in state):
        raise InputError("a session wrote this checkpoint: choose another checkpoint folder for the pipeline")


def check_layouts(state: State, headers: Sequence[tuple[int, Header]]) -> None:
    """Refuse to read batches of which only the pipeline file says what they mean."""
    known = {fields["id"] for fields in state.get("sources", ()) if "triples" in fields}
    asked = {fields["id"] for fields in state.get("sources", ())}
    asked |= {header["stream"] for _, header in headers if header["kind"] == "batch"}
    if not asked <= known:
        raise InputError(
            "a pipeline of Freshet 0.2.0 wrote this checkpoint, which only a pipeline can read: run the pipeline once"
            f" with Freshet {__version__}"
        )


def changed_queries(before: Iterable[State], now: Iterable[DurableRegistration]) -> list[str]:
    """The names of queries that a folder does not have, or has with other words."""
    known = {each["name"]: (each["text"], tuple(each["report"]), each["every_ms"]) for each in before}
    return [each.name for each in now if known.get(each.name) != (each.text, each.report, each.every_ms)]


def _with_run(state: State, run: Header) -> State:
    """The streams, sources and queries of a run, with how far those were that the state has."""
    merged = dict(state) | {"opened": run["opened"]}
    for section, key in _DEFINED.items():
        known = {fields[key]: fields for fields in state.get(section, ())}
        of_file = {fields[key]: {**known.get(fields[key], {}), **fields} for fields in run[section]}
        added = {name: known[name] for name in state.get("added", {}).get(section, ()) if name not in of_file}
        merged[section] = [*of_file.values(), *added.values()]
    return merged


def _upgrade(state: State) -> State:
    """A manifest's state in the form that is written now."""
    if "batches" not in state:
        return state
    names = ("watermark_ms", "elements", "late", "derived")
    streams = [{"iri": iri, **dict(zip(names, known, strict=False))} for iri, known in state["streams"].items()]
    sources: dict[str, State] = {}
    for name, number, fingerprint, watermark_ms in state["batches"]:
        sources[name] = {"fingerprint": fingerprint, "batch": number, "piece": None, "watermark_ms": watermark_ms}
    for name, number, until_ms, fingerprint, watermark_ms in state.get("pieces", ()):
        known = sources.setdefault(name, {"fingerprint": fingerprint, "batch": None, "watermark_ms": watermark_ms})
        known["piece"] = [number, until_ms]
    queries = [{"name": name, **orjson.loads(words)} for name, words in state.get("queries", {}).items() if words]
    return {
        **{name: state[name] for name in ("vector_timestamp",) if name in state},
        "streams": streams,
        "queries": queries,
        "sources": [{"id": name, **fields} for name, fields in sources.items()],
    }
