"""Load and store eight bytes of an array in one instruction, where numba would make eight from Python code.

Positions are not checked. The first byte is the lowest of the number, as on all processors that numba supports.
"""

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic


@intrinsic
def eight_bytes(_context, buffer, _at):  # type: ignore[no-untyped-def]
    """Load eight bytes from this position."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place = _pointer(context, builder, signature, arguments)  # type: ignore[no-untyped-call]
        loaded = builder.load(place)
        loaded.align = 1
        return loaded

    return types.uint64(buffer, types.intp), code


@intrinsic
def put_eight_bytes(_context, buffer, _at, _value):  # type: ignore[no-untyped-def]
    """Store a number's eight bytes at this position."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place = _pointer(context, builder, signature, arguments)  # type: ignore[no-untyped-call]
        builder.store(arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(buffer, types.intp, types.uint64), code


def _pointer(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
