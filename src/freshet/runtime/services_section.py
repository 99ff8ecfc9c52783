"""The section `services` of a pipeline file: whom SERVICE may ask, and how local views of what they have are kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from freshet.federation.settings import EVERY_HOST, ServiceSettings
from freshet.runtime.section import Section, duration, one_or_more


def _by_host(value: object) -> object:
    return value if isinstance(value, dict) else {EVERY_HOST: value}


Milliseconds = Annotated[int, BeforeValidator(duration), Field(gt=0)]


class Services(Section):
    """`hosts` may be asked, and nobody else. Where only they are given, they may stand for the whole section.

    `change_interval` is how often an entry changes on average, for all hosts or by host, with `*` for the others.
    """

    hosts: Annotated[tuple[str, ...], BeforeValidator(one_or_more)] = ()
    proposer: Literal["wsj", "gnr"] = "wsj"
    ranker: Literal["gain", "wbm", "lru", "rnd"] = "gain"
    change_interval_ms: Annotated[dict[str, Milliseconds], BeforeValidator(_by_host)] = Field(
        default_factory=dict, alias="change_interval"
    )

    def settings(self) -> ServiceSettings:
        """What a session needs to know of it."""
        seconds = {host: interval / 1000 for host, interval in self.change_interval_ms.items()}
        return ServiceSettings(self.hosts, proposer=self.proposer, ranker=self.ranker, change_seconds=seconds)


def only_hosts(value: object) -> object:
    """One host or a list of them, where the section may stand."""
    return {"hosts": value} if isinstance(value, str | list | tuple) else value
