"""The cases that are known to fail, with a reason each: `known_failures.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import pytest


class Case(Protocol):
    @property
    def name(self) -> str: ...


def known_failures(start: str) -> dict[str, str]:
    """Those of suites whose names start so."""
    reasons = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: reason for name, reason in reasons.items() if name.startswith(start)}


def parameters(cases: Iterable[Case], known: Mapping[str, str]) -> list[object]:
    """Cases for pytest, of which the known failures must fail."""

    def marks(name: str) -> list[pytest.MarkDecorator]:
        return [pytest.mark.xfail(reason=known[name], strict=True)] if name in known else []

    return [pytest.param(case, id=case.name, marks=marks(case.name)) for case in cases]
