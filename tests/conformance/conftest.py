"""Says at the end of a run how many of the W3C's tests pass."""

from __future__ import annotations

import pytest

from conformance.suite import OUT_OF_SCOPE

FILE = "conformance/test_w3c.py::test_w3c["


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    outcomes = {
        outcome: sum(FILE in getattr(report, "nodeid", "") for report in terminalreporter.stats.get(outcome, []))
        for outcome in ("passed", "failed", "xfailed")
    }
    if not any(outcomes.values()):
        return
    terminalreporter.section("W3C SPARQL tests")
    reasons = ", ".join(f"{reason} {count}" for reason, count in OUT_OF_SCOPE.most_common())
    terminalreporter.write_line(
        f"{outcomes['passed']} passed, {outcomes['failed']} failed, {outcomes['xfailed']} known failures; "
        f"{OUT_OF_SCOPE.total()} out of scope ({reasons})"
    )
