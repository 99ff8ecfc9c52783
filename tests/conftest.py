"""What all tests have in common.

Hypothesis tries the same examples every time, so that a run says something about the change and not about luck;
FRESHET_RANDOM=1 lets it try others. However long an example takes, that is no failure: the machine may be busy. Spark
and brokers are started once for all tests that need them, SPARQL endpoints once for a module.

A test that hangs fails when its time is over: that in pyproject.toml, or that of a mark of its own. Code that hears no
signal, as compiled code, cannot be made to fail, and Hypothesis tries what failed again: some minutes later the process
says where all its threads are, and ends.
"""

import faulthandler
import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

ERRORS, LIMITED = pytest.StashKey[int](), pytest.StashKey[bool]()
LAST_SECONDS = 300
if not os.environ.get("FRESHET_RANDOM"):
    # Else it also draws from the constants in all modules of ours that are imported by then: examples would be others
    # with every change anywhere, and with every order in which files of tests come to a process.
    providers._get_local_constants = lambda: providers._local_constants
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", PATIENT, derandomize=True, database=None)
settings.register_profile("others", PATIENT)
settings.load_profile("others" if os.environ.get("FRESHET_RANDOM") else "same")


def pytest_configure(config):
    config.stash[ERRORS] = os.dup(2)  # it is not captured yet


def _end_later(item, seconds):
    faulthandler.dump_traceback_later(seconds, file=item.config.stash[ERRORS], exit=True)


def pytest_timeout_set_timer(item, settings):
    item.stash[LIMITED] = True
    _end_later(item, settings.timeout + LAST_SECONDS)


def pytest_timeout_cancel_timer(item):
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    if LIMITED in item.stash:  # its time may be over by now
        _end_later(item, LAST_SECONDS)


@pytest.fixture(scope="session")
def spark():
    """A Spark session. What runs in it is small: it is not worth compiling well."""
    from freshet.spark.session import spark_session

    settings = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    session = spark_session(settings, master="local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def endpoint_process(request):
    """A SPARQL endpoint in a second process, which has what the module calls REMOTE."""
    from sparql_endpoint import EndpointProcess

    process = EndpointProcess(getattr(request.module, "REMOTE", ""))
    yield process
    process.stop()


@pytest.fixture
def endpoint(endpoint_process):
    """That endpoint, well behaved."""
    endpoint_process.does()
    return endpoint_process


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    """A Kafka broker that runs."""
    from live_servers import KafkaBroker

    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def mosquitto(tmp_path_factory):
    """A Mosquitto that runs."""
    from live_servers import Mosquitto

    broker = Mosquitto(tmp_path_factory.mktemp("mosquitto"))
    broker.start()
    yield broker
    broker.stop()
