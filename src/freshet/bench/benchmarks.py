"""The benchmarks that `freshet bench` knows, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from freshet.bench.figures import Figure
from freshet.rdf.errors import InputError


def _pipeline() -> Sequence[Figure]:
    from freshet.bench.pipeline import pipeline_figures

    return pipeline_figures()


def _oneshot() -> Sequence[Figure]:
    from freshet.bench.oneshot import oneshot_figures

    return oneshot_figures()


def _operators() -> Sequence[Figure]:
    from freshet.bench.operators import operators_figures

    return operators_figures()


def _index() -> Sequence[Figure]:
    from freshet.bench.index import index_figures

    return index_figures()


def _windows() -> Sequence[Figure]:
    from freshet.bench.windows import windows_figures

    return windows_figures()


def _rml() -> Sequence[Figure]:
    from freshet.bench.rml import rml_figures

    return rml_figures()


def _federation() -> Sequence[Figure]:
    from freshet.bench.federation import federation_figures

    return federation_figures()


BENCHMARKS: dict[str, Callable[[], Sequence[Figure]]] = {
    "pipeline": _pipeline,
    "oneshot": _oneshot,
    "operators": _operators,
    "index": _index,
    "windows": _windows,
    "rml": _rml,
    "federation": _federation,
}


def measure(name: str) -> Sequence[Figure]:
    """Run a benchmark."""
    if name not in BENCHMARKS:
        raise InputError(f"there is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]()
