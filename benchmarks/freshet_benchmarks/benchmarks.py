"""The benchmarks that `freshet bench` knows, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from freshet.rdf.errors import InputError
from freshet_benchmarks.figures import Figure


def _pipeline() -> Sequence[Figure]:
    from freshet_benchmarks.pipeline import pipeline_figures

    return pipeline_figures()


def _oneshot() -> Sequence[Figure]:
    from freshet_benchmarks.oneshot import oneshot_figures

    return oneshot_figures()


def _operators() -> Sequence[Figure]:
    from freshet_benchmarks.operators import operators_figures

    return operators_figures()


def _index() -> Sequence[Figure]:
    from freshet_benchmarks.index import index_figures

    return index_figures()


def _windows() -> Sequence[Figure]:
    from freshet_benchmarks.windows import windows_figures

    return windows_figures()


def _rml() -> Sequence[Figure]:
    from freshet_benchmarks.rml import rml_figures

    return rml_figures()


def _load() -> Sequence[Figure]:
    from freshet_benchmarks.load import load_figures

    return load_figures()


def _lsbench(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.lsbench import lsbench_figures

    return lsbench_figures(triples, rate)


def _federation() -> Sequence[Figure]:
    from freshet_benchmarks.federation import federation_figures

    return federation_figures()


BENCHMARKS: dict[str, Callable[[], Sequence[Figure]]] = {
    "pipeline": _pipeline,
    "oneshot": _oneshot,
    "operators": _operators,
    "index": _index,
    "windows": _windows,
    "rml": _rml,
    "load": _load,
    "federation": _federation,
}


# Those that are told how much there is to do.
SIZED: dict[str, Callable[[int | None, int | None], Sequence[Figure]]] = {"lsbench": _lsbench}

_SUFFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def measure(name: str, *, triples: str | None = None, rate: str | None = None) -> Sequence[Figure]:
    """Run a benchmark, where it can be told of so many stored triples and so many triples a second: 133000, 10M."""
    if name in SIZED:
        return SIZED[name](_count("--triples", triples), _count("--rate", rate))
    if name not in BENCHMARKS:
        raise InputError(f"there is no benchmark {name!r}; there are: {', '.join([*BENCHMARKS, *SIZED])}")
    if triples is not None or rate is not None:
        raise InputError(f"the benchmark {name} takes neither --triples nor --rate")
    return BENCHMARKS[name]()


def _count(option: str, text: str | None) -> int | None:
    """A number that may end in K, M or G."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMG]?)", text.strip().upper())
    number = round(float(found[1]) * _SUFFIXES[found[2]]) if found else 0
    if number < 1:
        raise InputError(f"{option} takes a number such as 133000, 500K or 10M, not {text!r}")
    return number
