"""Match the rules of a language against the classes of a chunk's characters: prefixes, suffixes, infixes.

A chunk is `kinds[low:high]`, the class of each of its characters; rules see nothing outside it.
Every function is linear in the chunk over all its calls: `tried` remembers, for an alternative that repeats a set, how
far a run went after which it failed, since no later start inside that run can fare better. It
holds places of all chunks: `base` is the chunk's own.
"""

from winnow.filters.language.words.rules import (
    FLOATING_AT,
    INFIX_AT,
    PART_AHEAD,
    PART_AHEADS,
    PART_BEHIND,
    PART_BEHINDS,
    PART_BODIES,
    PART_BODY,
    PART_LOOP,
    PART_NOT_AHEAD,
    PARTS,
    PREFIX_AT,
    SUFFIX_AT,
)
from winnow.schemas.kernels import leaf


@leaf
def prefix_length(ints, octets, low, high, kinds, base, tried):  # type: ignore[no-untyped-def]
    """The number of characters of the first matching prefix, or 0."""
    row = ints[PREFIX_AT] + kinds[low]
    for index in range(ints[row], ints[row + 1]):
        end = _match(ints, octets, ints[index], low, low, high, kinds, base, tried)
        if end >= 0:
            return end - low
    return 0


@leaf
def floating_prefix(ints, octets, low, high, kinds, base, tried):  # type: ignore[no-untyped-def]
    """The start and end of the first match of a prefix that may be anywhere; both `high` if there is none.

    Rules search such a prefix in the whole chunk, and its length is cut off the front wherever it was found.
    """
    row = ints[FLOATING_AT]
    for at in range(low, high):
        for index in range(ints[row], ints[row + 1]):
            end = _match(ints, octets, ints[index], at, low, high, kinds, base, tried)
            if end >= 0:
                return at, end
    return high, high


@leaf
def infix_end(ints, octets, at, low, high, kinds, base, tried, empty):  # type: ignore[no-untyped-def]
    """The end of the first infix that matches here, or -1; `empty` allows an empty one."""
    row = ints[INFIX_AT] + kinds[at]
    for index in range(ints[row], ints[row + 1]):
        end = _match(ints, octets, ints[index], at, low, high, kinds, base, tried)
        if end > at or (end == at and empty):
            return end
    return -1


@leaf
def suffix_length(ints, octets, low, high, kinds):  # type: ignore[no-untyped-def]
    """The number of characters of the longest matching suffix, or 0."""
    longest = 0
    row = ints[SUFFIX_AT] + kinds[high - 1]
    for index in range(ints[row], ints[row + 1]):
        begin = _begin(ints, octets, ints[index], low, high, kinds)
        if begin >= 0:
            longest = max(longest, high - begin)
    return longest


@leaf
def _match(ints, octets, part, at, low, high, kinds, base, tried):  # type: ignore[no-untyped-def]
    """The end of an alternative that begins here, or -1."""
    behind = ints[part + PART_BEHINDS]
    if at - behind < low:
        return -1
    item = ints[part + PART_BEHIND]
    for place in range(at - behind, at):
        if octets[ints[item] + kinds[place]] == 0:
            return -1
        item += 1
    number = (part - ints[PARTS]) >> 3
    first = ints[part + PART_BODY]
    stop = first + ints[part + PART_BODIES]
    loop = ints[part + PART_LOOP]
    place = at
    ran = -1  # end of the first run
    done = -1  # end of the last whole round of a loop
    index = first
    while index < stop:
        item = ints[index]
        failed = place >= high
        if not failed and item >= 0:
            failed = octets[item + kinds[place]] == 0
            place += 1
        elif not failed:
            if ran < 0 and base + place < tried[number]:
                return -1
            begun = place
            while place < high and octets[~item + kinds[place]] != 0:
                place += 1
            failed = place == begun
            if ran < 0:
                ran = place
        if failed:
            if done >= 0:
                break
            if ran >= 0:
                tried[number] = base + ran
            return -1
        index += 1
        if index == stop and loop >= 0:
            done = place
            index = first + loop
    if done >= 0:
        place = done
    aheads = ints[part + PART_AHEADS]
    if place + aheads > high:
        return -1
    item = ints[part + PART_AHEAD]
    for offset in range(aheads):
        if octets[ints[item + offset] + kinds[place + offset]] == 0:
            return -1
    item = ints[part + PART_NOT_AHEAD]
    if item >= 0 and place < high and octets[item + kinds[place]] != 0:
        return -1
    return place


@leaf
def _begin(ints, octets, part, low, high, kinds):  # type: ignore[no-untyped-def]
    """The first position from which an alternative matches up to the end, or -1."""
    first = ints[part + PART_BODY]
    pieces = ints[part + PART_BODIES]
    last = ints[first + pieces - 1]
    if last < 0:  # a run, perhaps with one character before it: the rules have nothing else
        run = high
        while run > low and octets[~last + kinds[run - 1]] != 0:
            run -= 1
        if pieces == 1:
            return run if run < high else -1
        for start in range(max(run - 1, low), high - 1):
            if octets[ints[first] + kinds[start]] != 0:
                return start
        return -1
    begin = high - pieces
    behind = ints[part + PART_BEHINDS]
    if begin - behind < low:
        return -1
    for offset in range(pieces - 1, -1, -1):
        if octets[ints[first + offset] + kinds[begin + offset]] == 0:
            return -1
    item = ints[part + PART_BEHIND]
    for offset in range(behind):
        if octets[ints[item + offset] + kinds[begin - behind + offset]] == 0:
            return -1
    return begin
