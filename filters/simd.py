"""Vector instructions that numba does not generate: sums of colours, four at a time, and memory prefetches.

LLVM compiles the vectors for the processor at hand. Each number is computed as it would be alone, in the same order,
so the bits are the same. Positions are not checked.
"""

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

CACHE_LINE = 64  # bytes, of most processors
AHEAD = 4096  # one page: processors do not prefetch across pages by themselves

_FOUR = ir.VectorType(ir.FloatType(), 4)
_COLOURS = 3


@intrinsic
def prefetch(_context, numbers, _at):  # type: ignore[no-untyped-def]
    """Prefetch memory that is read soon; the position may lie beyond the end of the array."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        numbers, at = arguments
        place = builder.gep(context.make_array(signature.args[0])(context, builder, numbers).data, [at])
        place = builder.bitcast(place, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(
            call, [place, *(ir.Constant(number, one) for one in (0, 3, 1))]
        )  # for reading, high locality, data cache
        return context.get_dummy_value()

    return types.void(numbers, types.intp), code


@intrinsic
def add_three(_context, sums, _at, _first, _second, _third, wide, _to):  # type: ignore[no-untyped-def]
    """Write 0.5 and the weighted colours of three neighbours to `wide`, and a fourth number that the next overwrites.

    Reads ten numbers of `sums` from `at` on, and writes four of `wide` from `to` on.
    """

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        sums, at, *weights, wide, to = arguments
        source = context.make_array(signature.args[0])(context, builder, sums).data
        target = context.make_array(signature.args[5])(context, builder, wide).data

        def four(start: ir.Value, offset: ir.Value) -> ir.Value:
            return builder.bitcast(builder.gep(start, [offset]), _FOUR.as_pointer())

        def all_of(weight: ir.Value) -> ir.Value:
            lane = ir.Constant(ir.IntType(32), 0)
            one = builder.insert_element(ir.Constant(_FOUR, ir.Undefined), weight, lane)
            return builder.shuffle_vector(
                one, ir.Constant(_FOUR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
            )

        total = ir.Constant(_FOUR, [0.5] * 4)
        for number, weight in enumerate(weights):
            place = builder.add(at, ir.Constant(at.type, number * _COLOURS))
            found = builder.load(four(source, place))
            found.align = 4
            total = builder.fadd(total, builder.fmul(all_of(weight), found))
        stored = builder.store(total, four(target, to))
        stored.align = 4
        return context.get_dummy_value()

    number = types.float32
    return types.void(sums, types.intp, number, number, number, wide, types.intp), code
