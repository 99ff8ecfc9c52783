"""How far apart the numbers of a column are."""

from freshet.kernels.jit import leaf as no_arrays


@no_arrays
def span(column):
    """The least and the largest number of a column that is not empty."""
    least = largest = column[0]
    for number in column:
        least = min(least, number)
        largest = max(largest, number)
    return least, largest
