"""Operations on bits that numba does not offer: counting them, and classifying 64 bytes of UTF-8 at once, a bit each.

LLVM vectors compile to the processor's vector instructions, which numba does not produce for such loops. Positions are
not checked. Only ASCII is classified: no bit is set for bytes of other code points.
"""

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

_BYTES = ir.VectorType(ir.IntType(8), 64)
_JOINING = ":;,'."


@intrinsic
def word_bits(_context, buffer, _at):  # type: ignore[no-untyped-def]
    """Bits of the 64 bytes from here: letters, digits and underscores; joiners; all other ASCII."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        found = builder.load(builder.bitcast(place, _BYTES.as_pointer()))
        found.align = 1

        def all_of(byte: int) -> ir.Constant:
            return ir.Constant(_BYTES, [byte] * 64)

        def within(values: ir.Value, first: str, count: int) -> ir.Value:
            return builder.icmp_unsigned("<", builder.sub(values, all_of(ord(first))), all_of(count))

        words = within(builder.or_(found, all_of(0x20)), "a", 26)
        words = builder.or_(words, within(found, "0", 10))
        words = builder.or_(words, within(found, "_", 1))
        joining = within(found, _JOINING[0], 1)
        for one in _JOINING[1:]:
            joining = builder.or_(joining, within(found, one, 1))
        ascii_ = builder.icmp_unsigned("<", found, all_of(0x80))
        others = builder.and_(ascii_, builder.not_(builder.or_(words, joining)))
        bits = [builder.bitcast(one, ir.IntType(64)) for one in (words, joining, others)]
        return context.make_tuple(builder, signature.return_type, bits)

    return types.UniTuple(types.uint64, 3)(buffer, types.intp), code


@intrinsic
def trailing_zeros(_context, _value):  # type: ignore[no-untyped-def]
    """The number of trailing zero bits; 64 if no bit is set."""

    def code(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code


@intrinsic
def count_bits(_context, _value):  # type: ignore[no-untyped-def]
    """The number of bits that are set."""

    def code(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code
