"""Typed Arrow batches as data frames of pandas and polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def pandas_frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """A DataFrame whose columns have a missing value, so that integers with unbound rows stay integers."""
    import pandas as pd

    if not batch.num_columns:  # its rows are all alike, but they are counted
        return pd.DataFrame(index=pd.RangeIndex(batch.num_rows))
    whole = {
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.float32(): pd.Float32Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.large_string(): pd.StringDtype("pyarrow"),
    }

    def dtype(kind: pa.DataType) -> Any:
        if pa.types.is_decimal(kind) or pa.types.is_date(kind):
            return pd.ArrowDtype(kind)
        return whole.get(kind)

    frame: pd.DataFrame = batch.to_pandas(types_mapper=dtype)
    return frame


def polars_frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """A polars DataFrame; ImportError names the package where it is not installed."""
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("to_polars() needs the package polars: pip install polars") from error
    return pl.DataFrame(pa.Table.from_batches([batch]))
