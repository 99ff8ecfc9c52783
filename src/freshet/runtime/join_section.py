"""How long records of a stream's sources wait for each other, where the pipeline file says something else than the
mapping."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from freshet.rdf.errors import InputError
from freshet.rml.sizing import load_policy
from freshet.rml.windows import FIXED, JoinWindow, WindowKind, default_window, window_with
from freshet.runtime.durations import setting_ms
from freshet.runtime.section import Section, duration

_KINDS = {
    "tumbling": WindowKind.TUMBLING,
    "sliding": WindowKind.SLIDING,
    "dynamic": WindowKind.DYNAMIC,
    "dynamic-count": WindowKind.DYNAMIC_COUNT,
    "lossless": WindowKind.LOSSLESS,
}

_ADAPTING = frozenset({"lower", "upper", "shrink_above", "grow_below", "list_size", "policy"})


def _size(value: object) -> object:
    return setting_ms(value) if isinstance(value, str) else value


Size = Annotated[int | None, BeforeValidator(_size), Field(gt=0)]


class JoinSection(Section):
    """What is given replaces what the mapping says. Sizes are durations, or numbers of records for `dynamic-count`.

    `on` says where pairs are found: in the driver's process, or in Spark's state store; `auto` is the driver where
    Spark is local.
    """

    window: Literal["tumbling", "sliding", "dynamic", "dynamic-count", "lossless"] | None = None
    size: Size = None
    lower: Size = None
    upper: Size = None
    shrink_above: float | None = Field(default=None, gt=0)
    grow_below: float | None = Field(default=None, ge=0)
    list_size: float | None = Field(default=None, ge=1)
    idle_ms: Annotated[int | None, BeforeValidator(duration)] = Field(default=None, alias="idle", gt=0)
    silent_ms: Annotated[int | None, BeforeValidator(duration)] = Field(default=None, alias="silent", gt=0)
    most_waiting: int | None = Field(default=None, ge=1)
    policy: str | None = None
    on: Literal["auto", "driver", "spark"] = "auto"

    def apply_to(self, window: JoinWindow) -> JoinWindow:
        """A window with these settings in place of its own; an InputError where they do not go together."""
        given = {key: value for key, value in self.model_dump(exclude={"window", "on"}).items() if value is not None}
        if self.window is not None and _KINDS[self.window] in FIXED and (adapting := _ADAPTING.intersection(given)):
            raise InputError(f"a {self.window} window has one size, so '{min(adapting)}' says nothing of it")
        if self.policy is not None:
            load_policy(self.policy)
        if self.window is not None and _KINDS[self.window] is not window.kind:
            window = default_window(_KINDS[self.window])  # sizes of another kind mean something else
        return window_with(window, given)
