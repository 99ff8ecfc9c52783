"""An array as those functions take it that read what Python may not write to.

Bytes of Arrow and of files are read-only. To Numba that is another type, and what reads such bytes would be compiled
again for those that a kernel has written.
"""

from typing import Any

from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic


def _read_only(typing_context, array):
    """The same array, of the type of one that is only read."""

    def generate(context, builder, signature, arguments):
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return array.copy(readonly=True)(array), generate


read_only: Any = intrinsic(_read_only)
