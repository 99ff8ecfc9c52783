"""One Spark session for all tests here, with Kafka's connector."""

import pytest

from freshet.spark.live.connector import add_connector
from freshet.spark.session import spark_session


@pytest.fixture(scope="session")
def spark():
    settings = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    session = spark_session(settings, master="local[2]")
    add_connector(session)
    yield session
    session.stop()
