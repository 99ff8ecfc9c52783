"""Asking for memory before it is needed: the processor goes on meanwhile, however many requests are on their way."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from freshet.kernels.jit import leaf

_BYTE_POINTER = ir.IntType(8).as_pointer()
_NUMBER = ir.IntType(32)
_FOR_WRITING, _KEEP, _DATA = _NUMBER(1), _NUMBER(3), _NUMBER(1)


def _fetch(typing_context, array, place):
    """Bring what stands at a place of a contiguous array, counted over all its dimensions, into the cache."""

    def generate(context, builder, signature, arguments):
        pointer = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        form = ir.FunctionType(ir.VoidType(), [_BYTE_POINTER, _NUMBER, _NUMBER, _NUMBER])
        prefetch = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0i8")
        address = builder.bitcast(builder.gep(pointer, [arguments[1]]), _BYTE_POINTER)
        builder.call(prefetch, [address, _FOR_WRITING, _KEEP, _DATA])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


fetch: Any = intrinsic(_fetch)


@leaf
def fetch_rows(array, rows, count):
    """Bring the rows of an array of one or two dimensions into the cache; negative numbers mean none."""
    width = array.size // max(array.shape[0], 1)
    for at in range(count):
        if rows[at] >= 0:
            fetch(array, rows[at] * width)
