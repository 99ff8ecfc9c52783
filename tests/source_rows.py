"""Records of a source as plain values, for comparing."""

from freshet.sources.columns import LINE, REASON, Plan
from freshet.sources.open import tasks_of
from freshet.spark.sources.open import open_records


def values(batches, references):
    """What each good record has, and the reasons of the others with what is shown of them."""
    return _split([row for batch in batches for row in batch.to_pylist()], references)


def rows(source, references, **options):
    """The same for a source, read here."""
    _, tasks = tasks_of(source, Plan(tuple(sorted(set(references))), **options))
    return values([batch for task in tasks for batch in task()], references)


def spark_rows(spark, source, references, **options):
    """The same, read by Spark."""
    found = open_records(spark, source, references, **options)
    return _split([row.asDict() for row in found.frame.collect()], references)


def _split(found, references):
    good = [tuple(row[f"text of {each}"] for each in references) for row in found if row[REASON] is None]
    return good, [(row[REASON], row[LINE]) for row in found if row[REASON] is not None]
