"""Where records come from: files, databases and documents of streams, as columns of texts."""

from freshet.spark.sources.columns import Limits, Records
from freshet.spark.sources.documents import parse_documents
from freshet.spark.sources.open import open_records

__all__ = ["Limits", "Records", "open_records", "parse_documents"]
