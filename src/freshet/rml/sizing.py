"""How the windows of joins are sized by something else than algorithm 1: a function that is called once a batch.

A policy is `MODULE:NAME` in a mapping or a pipeline file. It must be a function of its arguments alone: what it wants
to keep in mind goes into `memory`, which is stored with the state of the join and so survives a restart.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.errors import InputError
from freshet.rml.windows import JoinWindow

if TYPE_CHECKING:  # reading a mapping needs no kernels
    from freshet.kernels.join_windows import Ended

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

_ROOM = 1.1  # of what pairs needed, lest the next one that needs a little more is lost
_FADES = 0.9999  # how much of the longest wait is still believed a subwindow later
_UNPAIRED = 0.05  # the share of subwindows without a pair above which windows may be too small to find them


class Sizes(NamedTuple):
    """What a policy answers: the size that new keys start with, the next size of each key whose subwindow ended (in the
    order of `Ended`; the last one counts), and what to keep in mind."""

    first: int
    sizes: Ids
    memory: Floats


class SizingPolicy(Protocol):
    """Called for the keys of a bucket after each batch. `memory` is empty at first. Sizes are brought between the
    limits of the window."""

    def __call__(self, ended: Ended, window: JoinWindow, memory: Floats) -> Sizes: ...


def waits(ended: Ended, window: JoinWindow, memory: Floats) -> Sizes:
    """All keys of a bucket wait as long as the pairs of late needed, and a tenth longer.

    For keys that hardly ever come back, as where the time of the measurement is part of the key: what one has taught
    serves the next. Windows grow while many of them end without a pair, as they may have been too small for it.
    """
    longest, first = memory if len(memory) else (0.0, float(window.size))
    paired = ended.needed[ended.needed >= 0]
    if len(paired):
        longest = max(float(paired.max()), _FADES ** len(ended.keys) * longest)
        unpaired = 1 - len(paired) / len(ended.keys)
        first = max(_ROOM * longest, 2 * first if unpaired > _UNPAIRED and longest > first / 2 else 0)
    elif len(ended.keys):
        first = 2 * first
    first = min(max(first, window.lower), window.upper)
    return Sizes(round(first), np.full(len(ended.keys), round(first), np.int64), np.array((longest, first)))


@cache
def load_policy(name: str) -> SizingPolicy:
    """The policy that `MODULE:NAME` names; an InputError where there is none."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise InputError(f"a sizing policy is written MODULE:NAME, not {name!r}")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a module of the user's own can fail in any way
        reason = f"{error}; its folder belongs in PYTHONPATH"
        raise InputError(f"the sizing policy {name} cannot be imported: {reason}") from error
    policy = getattr(module, attribute, None)
    if not callable(policy):
        raise InputError(f"there is no function {attribute} in {module_name} for the sizing policy {name}")
    return policy  # type: ignore[no-any-return]


def check_sizes(policy: SizingPolicy, ended: Ended, window: JoinWindow, memory: Floats) -> Sizes:
    """What a policy answers, brought between the limits of the window."""
    first, sizes, kept = policy(ended, window, memory)
    sizes = np.asarray(sizes, np.int64)
    if sizes.shape != ended.keys.shape:
        raise InputError(f"the sizing policy {window.policy} gave {sizes.shape} sizes for {len(ended.keys)} windows")
    lower, upper = window.lower, window.upper
    return Sizes(min(max(int(first), lower), upper), np.clip(sizes, lower, upper), np.asarray(kept, np.float64))
