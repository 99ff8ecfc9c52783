"""Tests of Kafka need Spark's connector; others run without it."""

import pytest

from freshet.rdf.errors import InputError
from freshet.spark.live.connector import kafka_settings
from freshet_benchmarks.local_servers import fetched
from required import lacking


@pytest.fixture(scope="session")
def connector():
    """Kafka's connector is there to be added to a session."""
    try:
        fetched(lambda: kafka_settings({}))
    except InputError as error:
        lacking("kafka", str(error))
