"""The one place that says how kernels are compiled."""

from numba import njit as _njit

# cache: compiled code survives the process; nogil: other threads run on while a kernel does.
# Python decides the types once per call, so arrays are always C-contiguous int64/float64/uint8 where it can be helped:
# every further signature is compile time that a user waits for.
njit = _njit(cache=True, nogil=True)

# For small functions called in the innermost loops: an array is nine arguments of a call, which can cost more than what
# the function does.
inlined = _njit(cache=True, nogil=True, inline="always")

# For functions that read and write the arrays they are given, and neither make nor give back any: without the counts of
# references, which Numba otherwise keeps on every way in and out, with atomic operations that cost more than the work.
leaf = _njit(cache=True, nogil=True, _nrt=False)  # type: ignore[call-overload]
