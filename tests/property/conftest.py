"""Reports at the end of a run which random queries the engine refused."""

from __future__ import annotations

import pytest

from refusals import refused


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if refused:
        terminalreporter.section("random queries that the native engine refused")
        terminalreporter.write_line(f"{refused.total()} in all")
        for reason, count in refused.most_common():
            terminalreporter.write_line(f"{count:6}  {reason}")
