"""The section `services` of a pipeline file: which hosts SERVICE may ask, how, and how local views are kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from freshet.federation.settings import EVERY_HOST, ServiceSettings
from freshet.rdf.errors import InputError
from freshet.runtime.section import Section, duration, memory, one_or_more


def _by_host(value: object) -> object:
    return value if isinstance(value, dict) else {EVERY_HOST: value}


Hosts = Annotated[tuple[str, ...], BeforeValidator(one_or_more)]
Milliseconds = Annotated[int, BeforeValidator(duration), Field(gt=0)]
Count = Annotated[int, Field(gt=0, strict=True)]
Bytes = Annotated[int, BeforeValidator(memory), Field(gt=0)]


class Services(Section):
    """Only `hosts` may be asked. Where only they are given, they may stand for the whole section.

    `change_interval` is how often an entry changes on average, for all hosts or by host, with `*` for the others. The
    rest are the settings of `ServiceSettings`, whose defaults hold for what is not given; durations have units.
    """

    hosts: Hosts = ()
    proposer: Literal["wsj", "gnr"] = "wsj"
    ranker: Literal["gain", "wbm", "lru", "rnd"] = "gain"
    change_interval_ms: Annotated[dict[str, Milliseconds], BeforeValidator(_by_host)] = Field(
        default_factory=dict, alias="change_interval"
    )
    timeout_ms: Milliseconds | None = Field(default=None, alias="timeout")
    connect_ms: Milliseconds | None = Field(default=None, alias="connect")
    most_bytes: Bytes | None = None
    requests_at_once: Count | None = None
    attempts: Count | None = None
    backoff_ms: Milliseconds | None = Field(default=None, alias="backoff")
    failures_to_open: Count | None = None
    open_ms: Milliseconds | None = Field(default=None, alias="open")
    batch: Count | None = None
    load_whole: bool | None = None
    most_entries: Count | None = None
    most_endpoints: Count | None = None
    most_behind: Count | None = None
    single_bindings: Hosts | None = None
    values_again_ms: Milliseconds | None = Field(default=None, alias="values_again")
    aliases: dict[str, str] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            self.settings()
        except InputError as error:
            raise ValueError(error.message) from None
        return self

    def settings(self) -> ServiceSettings:
        """What a session needs to know of it."""
        given: dict[str, Any] = {}
        for name, value in self.model_dump(exclude={"change_interval_ms"}, exclude_none=True).items():
            in_ms = name.removesuffix("_ms")
            given |= {name: value} if in_ms == name else {f"{in_ms}_seconds": value / 1000}
        seconds = {host: interval / 1000 for host, interval in self.change_interval_ms.items()}
        return ServiceSettings(**given, change_seconds=seconds)


def only_hosts(value: object) -> object:
    """One host or a list of them, where the section may stand."""
    return {"hosts": value} if isinstance(value, str | list | tuple) else value
