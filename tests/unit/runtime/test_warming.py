"""Warming up goes through the whole engine: both of its queries have something to report."""

from freshet.runtime.warming import warm_kernels


def test_warming_reaches_the_reports():
    assert warm_kernels() > 6
