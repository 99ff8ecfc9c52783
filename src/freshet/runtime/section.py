"""What the sections of a pipeline file have in common, and the kinds of values in them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo

from freshet.runtime.durations import setting_ms


class Section(BaseModel):
    """Any part of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _absolute(path: Path, info: ValidationInfo) -> Path:
    return Path(os.path.abspath(info.context["folder"] / path)) if info.context else path


_SHIFTS = {"k": 10, "m": 20, "g": 30, "t": 40}
_MEMORY = re.compile(r"([0-9]{1,9})\s*([kmgt])b?")

FilePath = Annotated[Path, AfterValidator(_absolute)]


def duration(value: object) -> object:
    """Milliseconds of what is written as a duration."""
    if isinstance(value, str):
        return setting_ms(value)
    if isinstance(value, int | float) and value != 0:
        raise ValueError(f"{value} has no unit: write {value}s, {value}ms, {value}m or {value}h")
    return value


def memory_text(text: str) -> int:
    """Bytes of what is written as `512m` or `2g`, as Spark writes them too."""
    written = _MEMORY.fullmatch(text.strip().lower())
    if written is None:
        raise ValueError(f"'{text}' is no amount of memory: write 512m or 2g")
    return int(written[1]) << _SHIFTS[written[2]]


def memory(value: object) -> object:
    """Bytes of an amount of memory with its unit."""
    if isinstance(value, str):
        return memory_text(value)
    if isinstance(value, bool):
        raise ValueError(f"'{str(value).lower()}' is no amount of memory: write 512m or 2g")
    if isinstance(value, int | float):
        raise ValueError(f"{value} has no unit: write {value}m or {value}g")
    return value


def one_or_more(value: object) -> object:
    """One text where a list of them may stand."""
    return [value] if isinstance(value, str) else value


def as_text(value: object) -> object:
    """Spark and Kafka take text for every setting; YAML may have made it a number or a boolean."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
