"""Order of columns of times."""

from freshet.kernels.jit import leaf as no_arrays


@no_arrays
def never_falls(times):
    """Whether no time is before the one in front of it."""
    falls = 0
    for at in range(1, times.shape[0]):
        falls += times[at] < times[at - 1]
    return falls == 0
