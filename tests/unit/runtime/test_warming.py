"""Warming up goes through the whole engine and leaves nothing behind."""

from freshet.runtime.warming import warm_kernels


def test_kernels_are_warmed_without_error():
    warm_kernels()
