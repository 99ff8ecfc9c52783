"""The benchmarks that `freshet bench` knows, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from freshet.rdf.errors import InputError
from freshet_benchmarks.figures import Figure


def _pipeline() -> Sequence[Figure]:
    from freshet_benchmarks.pipeline import pipeline_figures

    return pipeline_figures()


def _oneshot() -> Sequence[Figure]:
    from freshet_benchmarks.oneshot import oneshot_figures

    return oneshot_figures()


def _operators(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.operators import operators_figures

    return operators_figures(triples)


def _table1(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.table1 import table1_figures

    return table1_figures(triples)


def _closes(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.closes import closes_figures

    return closes_figures(triples, rate)


def _citybench() -> Sequence[Figure]:
    from freshet_benchmarks.citybench_latency import citybench_figures

    return citybench_figures()


def _sizes(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.sizes import sizes_figures

    return sizes_figures(triples)


def _scanner() -> Sequence[Figure]:
    from freshet_benchmarks.scanner import scanner_figures

    return scanner_figures()


def _index() -> Sequence[Figure]:
    from freshet_benchmarks.index import index_figures

    return index_figures()


def _windows() -> Sequence[Figure]:
    from freshet_benchmarks.windows import windows_figures

    return windows_figures()


def _joins() -> Sequence[Figure]:
    from freshet_benchmarks.joins import joins_figures

    return joins_figures()


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


def _serve(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.serve import serve_figures

    return serve_figures(triples)


def _latency(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.latency import latency_figures

    return latency_figures(rate)


def _mappings(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.mappings import mappings_figures

    return mappings_figures(triples)


def _update(triples: int | None, rate: int | None) -> Sequence[Figure]:
    from freshet_benchmarks.update import update_figures

    return update_figures(triples)


BENCHMARKS: dict[str, Callable[[], Sequence[Figure]]] = {
    "pipeline": _pipeline,
    "oneshot": _oneshot,
    "index": _index,
    "windows": _windows,
    "joins": _joins,
    "rml": _rml,
    "load": _load,
    "federation": _federation,
    "scanner": _scanner,
    "citybench": _citybench,
}


class Sized(NamedTuple):
    """A benchmark whose size can be chosen, and by which options."""

    run: Callable[[int | None, int | None], Sequence[Figure]]
    options: tuple[str, ...]


SIZED = {
    "lsbench": Sized(_lsbench, ("--triples", "--rate")),
    "operators": Sized(_operators, ("--triples",)),  # rows of the largest windows
    "table1": Sized(_table1, ("--triples",)),  # stored
    "sizes": Sized(_sizes, ("--triples",)),  # of the largest window and stored graph
    "closes": Sized(_closes, ("--triples", "--rate")),
    "serve": Sized(_serve, ("--triples",)),  # stored
    "update": Sized(_update, ("--triples",)),  # stored
    "latency": Sized(_latency, ("--rate",)),
    "mappings": Sized(_mappings, ("--triples",)),  # records of the largest inputs
}

_SUFFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def list_benchmarks() -> list[str]:
    """The names of all benchmarks."""
    return [*BENCHMARKS, *SIZED]


def measure(name: str, *, triples: str | None = None, rate: str | None = None) -> Sequence[Figure]:
    """Run a benchmark. Where its size can be chosen, `triples` and `rate` are numbers such as 133000 or 10M."""
    if name not in list_benchmarks():
        raise InputError(f"there is no benchmark {name!r}; there are: {', '.join(list_benchmarks())}")
    sizes = {"--triples": triples, "--rate": rate}
    taken = SIZED[name].options if name in SIZED else ()
    refused = [option for option, text in sizes.items() if text is not None and option not in taken]
    if refused and not taken:
        raise InputError(f"the benchmark {name} takes neither --triples nor --rate")
    if refused:
        raise InputError(f"the benchmark {name} takes no {refused[0]}")
    if name in SIZED:
        return SIZED[name].run(_count("--triples", triples), _count("--rate", rate))
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
