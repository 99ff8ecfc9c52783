"""One Spark session for all tests that look at columns."""

import pytest

from freshet.spark.session import spark_session


@pytest.fixture(scope="session")
def spark():
    session = spark_session(
        {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}, master="local[2]"
    )
    yield session
    session.stop()
