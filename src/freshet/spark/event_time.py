"""Event time in milliseconds, from what records say."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def milliseconds(text: Column, form: str) -> Column:
    """A time written as `iso`, `epoch_ms` or `epoch_s`; null where it cannot be read."""
    if form == "epoch_ms":
        return text.try_cast("bigint")
    if form == "epoch_s":
        return (text.try_cast("decimal(18,6)") * 1000).try_cast("bigint")
    # Spark would also read a time of day, as today's; a date and a time it must be.
    whole = F.substring(text, 11, 1).isin("T", " ")
    return F.when(whole, F.unix_millis(text.try_cast("timestamp")))
