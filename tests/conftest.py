"""What all tests have in common.

`pytest --quick` leaves out the tests with a marker in LEFT_OUT and tries fewer examples; without it everything runs.
Hypothesis tries the same examples every time, so that a run says something about the change and not about luck;
FRESHET_RANDOM=1 lets it try others. However long an example takes, that is no failure: the machine may be busy.

Spark and brokers are started once for all tests that need them, SPARQL endpoints once for a module. With several
processes (`-n 2`) all tests that share Spark go to one of them, and the others file by file.

A test that hangs fails when its time is over: that in pyproject.toml, or that of a mark of its own. Code that hears no
signal, as compiled code, cannot be made to fail, and Hypothesis tries what failed again: some minutes later the process
says where all its threads are, and ends.
"""

import faulthandler
import json
import os
import tempfile
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).parent
FOLDERS = {"browser", "conformance", "live", "recovery", "soak"}  # whose tests have the marker of that name
LEFT_OUT = {*FOLDERS, "slow"}  # by --quick
BROKERS = {"kafka", "mosquitto", "own_kafka", "own_mosquitto", "postgresql", "mysql"}  # fixtures
QUICK_SHARE, QUICK_LEAST = 5, 20  # of Hypothesis's examples

ERRORS, LIMITED = pytest.StashKey[int](), pytest.StashKey[bool]()
SPARK_TESTS = pytest.StashKey()
LAST_SECONDS = 300
if not os.environ.get("FRESHET_RANDOM"):
    # Else it also draws from the constants in all modules of ours that are imported by then: examples would be others
    # with every change anywhere, and with every order in which files of tests come to a process.
    providers._get_local_constants = lambda: providers._local_constants
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", PATIENT, derandomize=True, database=None)
settings.register_profile("others", PATIENT)
settings.load_profile("others" if os.environ.get("FRESHET_RANDOM") else "same")


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help=f"leave out {', '.join(sorted(LEFT_OUT))}; fewer examples")


def pytest_configure(config):
    config.stash[ERRORS] = os.dup(2)  # it is not captured yet
    config.stash[SPARK_TESTS] = tempfile.NamedTemporaryFile()  # noqa: SIM115 (gone when the run ends)
    if config.option.quick:
        os.environ["FRESHET_QUICK"] = "1"  # for counts.py


def _mark(item):
    folder = item.path.relative_to(TESTS).parts[0]
    if folder in FOLDERS:
        item.add_marker(folder)
    fixtures = set(getattr(item, "fixturenames", ()))
    if BROKERS & fixtures:
        item.add_marker("live")
    if "spark" in fixtures:
        item.add_marker("spark")


def _try_fewer(test):
    """Hypothesis has no other way to change the count that a test asks for."""
    asked = getattr(test, "_hypothesis_internal_use_settings", None)
    if asked is not None:
        fewer = min(asked.max_examples, max(QUICK_LEAST, asked.max_examples // QUICK_SHARE))
        test._hypothesis_internal_use_settings = settings(asked, max_examples=fewer)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        _mark(item)
    if config.option.quick:
        left_out = [item for item in items if any(mark.name in LEFT_OUT for mark in item.iter_markers())]
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        for test in {item.obj for item in items if isinstance(item, pytest.Function)}:
            _try_fewer(test)
    # What takes longest as a whole begins first: the end is then shared well.
    items.sort(key=lambda item: not _shares_spark(item))
    if worker := getattr(config, "workerinput", None):
        Path(worker["spark_tests"]).write_text(json.dumps([item.nodeid for item in items if _shares_spark(item)]))


def _shares_spark(item):
    return "spark" in getattr(item, "fixturenames", ())


class SparkInOneProcess(LoadScopeScheduling):
    """File by file, but for the tests that share Spark.

    The processes collect the tests and this one does not, so they write the names of those tests to a file. (xdist's
    loadgroup would have them in the tests' ids, which pytest 9.2 does not let it change.)
    """

    @cached_property
    def _spark_tests(self):
        return set(json.loads(Path(self.config.stash[SPARK_TESTS].name).read_text()))

    def _split_scope(self, nodeid):
        return "spark" if nodeid in self._spark_tests else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["spark_tests"] = node.config.stash[SPARK_TESTS].name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return SparkInOneProcess(config, log)


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
def postgresql():
    """A PostgreSQL server that runs."""
    yield from _database_server("PostgreSql", "psycopg")


@pytest.fixture(scope="session")
def mysql():
    """A MariaDB server that runs."""
    yield from _database_server("MariaDb", "pymysql")


def _database_server(name, driver):
    import database_servers
    from required import lacking

    if find_spec(driver) is None:
        lacking(getattr(database_servers, name).name, f"{driver} is not installed")
    server = getattr(database_servers, name)()
    yield server
    server.stop()


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
