"""One Spark session for all tests here. Those of Kafka need Spark's connector; others run without it."""

import pytest

from freshet.rdf.errors import InputError
from freshet.spark.live.connector import kafka_settings
from freshet.spark.session import spark_session
from required import lacking


@pytest.fixture(scope="session")
def spark():
    settings = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    session = spark_session(settings, master="local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connector():
    """Kafka's connector is there to be added to a session."""
    try:
        kafka_settings({})
    except InputError as error:
        lacking("kafka", str(error))
