"""A Spark session for the cases of RML; and at the end of a run, how many of the W3C's and RML's tests pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.rml_suite import KNOWN_FAILURES as KNOWN_RML_FAILURES
from conformance.rmlstreamer_suite import KNOWN_FAILURES as KNOWN_STREAM_FAILURES
from conformance.suite import OUT_OF_SCOPE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "conformance/test_w3c.py::test_w3c["
RML_FILE = "conformance/test_rml.py::test_rml["
STREAM_FILE = "conformance/test_rmlstreamer.py::test_rmlstreamer["


@pytest.fixture(scope="session")
def rml_spark(spark: SparkSession) -> SparkSession:
    """The cases are tiny: what Spark would compile for them takes longer than to run them without."""
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return session


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if outcomes := _outcomes(terminalreporter, FILE):
        terminalreporter.section("W3C SPARQL tests")
        reasons = ", ".join(f"{reason} {count}" for reason, count in OUT_OF_SCOPE.most_common())
        terminalreporter.write_line(f"{outcomes}; {OUT_OF_SCOPE.total()} out of scope ({reasons})")
    if outcomes := _outcomes(terminalreporter, RML_FILE):
        terminalreporter.section("RML test cases")
        terminalreporter.write_line(f"{outcomes} ({len(KNOWN_RML_FAILURES)} in known_failures.toml)")
    if outcomes := _outcomes(terminalreporter, STREAM_FILE):
        terminalreporter.section("RMLStreamer test cases of streams")
        terminalreporter.write_line(f"{outcomes} ({len(KNOWN_STREAM_FAILURES)} in known_failures.toml)")


def _outcomes(terminalreporter: pytest.TerminalReporter, file: str) -> str:
    """How many tests of a file passed and failed; empty where none ran."""
    counts = {
        outcome: sum(file in getattr(report, "nodeid", "") for report in terminalreporter.stats.get(outcome, []))
        for outcome in ("passed", "failed", "xfailed")
    }
    if not any(counts.values()):
        return ""
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['xfailed']} known failures"
