"""Kernels that a wheel for a platform has: compiled when it was built, for all processors with certain features.

They are used where the user's cache has no kernel for the processor at hand, if Python and Numba are those that they
were built with and the processor has the features. They are machine code, so that loading them does not change what
Numba compiles in this process. `tools/compile-kernels` makes the folder; a clone has none.
"""

import json
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba

FOLDER = Path(__file__).with_name("prebuilt")
_DESCRIPTION = "target.json"


class Target(NamedTuple):
    """What a folder of kernels was built with and for, and the state of each section that it has whole."""

    numba: str
    llvmlite: str
    python: str
    triple: str
    cpu: str
    features: str
    sections: Mapping[str, str]

    @property
    def code_generation(self) -> tuple[str, str, str]:
        """What Numba's `magic_tuple` was when the kernels were compiled: a part of the names of their files."""
        return self.triple, self.cpu, self.features


def current_target(cpu: str, features: str, sections: Mapping[str, str]) -> Target:
    """This Python and this Numba, and a processor."""
    return Target(
        numba.__version__,
        llvmlite.__version__,
        str(sysconfig.get_config_var("SOABI")),
        llvm.get_process_triple(),
        cpu,
        features,
        sections,
    )


def write_target(folder: Path, target: Target) -> None:
    """Describe the kernels of a folder."""
    (folder / _DESCRIPTION).write_text(json.dumps(target._asdict(), indent=1) + "\n")


def runs_here(target: Target) -> bool:
    """Whether this process can use kernels that were built for a target."""
    if target[:4] != current_target("", "", {})[:4]:
        return False
    settings: Any = numba.config
    if settings.CPU_NAME is not None or settings.CPU_FEATURES is not None or not settings.ENABLE_AVX:
        return False  # the user has chosen what to generate code for
    return _required(target.features) <= _host_features()


def _required(features: str) -> set[str]:
    return {each[1:] for each in features.split(",") if each.startswith("+")}


def _host_features() -> set[str]:
    try:
        return {name for name, present in llvm.get_host_cpu_features().items() if present}
    except RuntimeError:  # LLVM does not know them
        return set()


@cache
def usable_target() -> Target | None:
    """The target of the kernels that came with the package, if there are any and this process can use them."""
    try:
        target = Target(**json.loads((FOLDER / _DESCRIPTION).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return target if runs_here(target) else None
