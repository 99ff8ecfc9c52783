"""Brokers and Spark are started once for all tests here."""

import pytest

from freshet.spark.live.connector import kafka_settings
from freshet.spark.session import spark_session
from live_servers import KafkaBroker, Mosquitto

FAST_START = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def mosquitto(tmp_path_factory):
    broker = Mosquitto(tmp_path_factory.mktemp("mosquitto"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def spark(kafka):
    session = spark_session({**FAST_START, **kafka_settings({})}, master="local[2]")
    yield session
    session.stop()
