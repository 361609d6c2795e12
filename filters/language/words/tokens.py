"""Tokens of spaCy's rule-based tokenizer, without its whitespace tokens.

Whitespace separates chunks. A chunk is a special case, or loses prefixes and suffixes in turn until it is one, and
the rest is an address, or is split at infixes. Finally, runs of tokens that together form a special case become that
case's pieces. Most chunks have no character that any rule concerns, and are one token at once.
"""

import numpy as np

from winnow.filters.language.kernels.classes import decode, width
from winnow.filters.language.kernels.lookup import filter_of, find, may_be
from winnow.filters.language.kernels.spans import Texts, Words
from winnow.filters.language.words.addresses import is_address
from winnow.filters.language.words.affixes import floating_prefix, infix_end, prefix_length, suffix_length
from winnow.filters.language.words.phrases import put_together
from winnow.filters.language.words.pieces import roomy
from winnow.filters.language.words.rules import (
    ASCII_KINDS,
    FLOATING_AT,
    IS_ACTIVE,
    IS_DOT,
    IS_SPACE,
    KINDS,
    PIECE_AT,
    SPECIALS,
    language_rules,
)
from winnow.schemas.kernels import kernel, leaf


def split_tokens(texts: Texts, language: str) -> Words:
    """The tokens of every text by the rules of a language."""
    return Words(texts.buffer, *_tokens(texts.buffer, texts.offsets, *language_rules(language)))


@kernel
def _tokens(buffer, offsets, pages, flags, ints, octets, parts):  # type: ignore[no-untyped-def]
    documents = np.zeros(len(offsets), np.int64)
    starts = np.empty((offsets[-1] - offsets[0]) // 4 + 64, np.int64)
    ends = np.empty(len(starts), np.int64)
    longest = np.max(offsets[1:] - offsets[:-1]) if len(offsets) > 1 else 0
    kinds = np.empty(longest, np.uint8)  # of a chunk: the class of each character
    places = np.empty(longest + 1, np.int32)  # the start of each
    suffixes = np.empty(longest + 1, np.int32)  # the removed suffixes
    tried = np.full(parts, -1, np.int64)
    count = np.int64(0)
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        starts = roomy(starts, count, 2 * (end - at) + 1)
        ends = roomy(ends, count, 2 * (end - at) + 1)
        until = _document(
            buffer, at, end, pages, flags, ints, octets, kinds, places, suffixes, tried, starts, ends, count
        )
        count = put_together(buffer, ints, octets, starts, ends, count, until)
        documents[document + 1] = count
    return documents, starts[:count].copy(), ends[:count].copy()


@leaf
def _document(buffer, at, end, pages, flags, ints, octets, kinds, places, suffixes, tried, starts, ends, count):  # type: ignore[no-untyped-def]
    specials = ints[SPECIALS]
    marks, longest = filter_of(ints, specials)
    ascii_kinds = np.int64(ints[ASCII_KINDS])
    classes = np.int64(ints[KINDS])
    while at < end:
        seen = np.uint8(0)
        begin = at
        size = 1
        while at < end:
            lead = buffer[at]
            size = width(lead)
            if lead < 0x80:
                kind = octets[ascii_kinds + lead]
            else:
                point = decode(buffer, at)
                kind = octets[classes + flags[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)]]
            if kind & IS_SPACE:
                break
            seen |= kind
            at += size
        if at > begin:
            special = np.int64(-1)
            if may_be(octets, marks, longest, buffer, begin, at):
                special = find(ints, octets, specials, buffer, begin, at)
            if special >= 0:
                count = _emit_special(ints, special, begin, starts, ends, count)
            elif seen & IS_ACTIVE:
                points = 0
                place = begin
                while place < at:
                    point = decode(buffer, place)
                    kinds[points] = flags[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)]
                    places[points] = place - begin
                    points += 1
                    place += width(buffer[place])
                places[points] = at - begin
                dotted = (seen & IS_DOT) != 0
                count = _chunk(
                    buffer, begin, points, ints, octets, kinds, places, suffixes, tried, dotted, starts, ends, count
                )
            else:
                starts[count] = begin
                ends[count] = at
                count += 1
        at += size
    return count


@leaf
def _emit_special(ints, special, begin, starts, ends, count):  # type: ignore[no-untyped-def]
    row = ints[PIECE_AT] + special
    for piece in range(ints[row], ints[row + 1], 2):
        starts[count] = begin + ints[piece]
        ends[count] = begin + ints[piece + 1]
        count += 1
    return count


@leaf
def _chunk(buffer, begin, high, ints, octets, kinds, places, suffixes, tried, dotted, starts, ends, count):  # type: ignore[no-untyped-def]
    """The tokens of a chunk of `high` characters that is not a special case and may have affixes."""
    specials = ints[SPECIALS]
    low = np.int64(0)
    end = np.int64(high)
    before = np.int64(-1)
    special = np.int64(-1)
    stacked = 0
    floats = ints[ints[FLOATING_AT]] < ints[ints[FLOATING_AT] + 1]
    floating = floated = np.int64(-1)  # the first floating prefix; once a suffix cuts it short, none is left
    while low < end and end - low != before:
        if before >= 0:
            special = find(ints, octets, specials, buffer, begin + places[low], begin + places[end])
            if special >= 0:
                break
        before = end - low
        prefix = prefix_length(ints, octets, low, end, kinds, begin, tried)
        if prefix == 0 and floats:
            if floating <= low:
                floating, floated = floating_prefix(ints, octets, low + 1, end, kinds, begin, tried)
            prefix = floated - floating if floated <= end else 0
        bare = low + prefix
        if prefix > 0 and bare < end:
            special = find(ints, octets, specials, buffer, begin + places[bare], begin + places[end])
        suffix = np.int64(0)
        if special < 0 and bare < end:
            suffix = suffix_length(ints, octets, bare, end, kinds)
            if suffix > 0 and end - suffix > low:
                special = find(ints, octets, specials, buffer, begin + places[low], begin + places[end - suffix])
                if special >= 0:
                    bare = low  # the special case begins with an apparent prefix
        if bare > low:
            starts[count] = begin + places[low]
            ends[count] = begin + places[bare]
            count += 1
            low = bare
        if suffix > 0:
            end -= suffix
            suffixes[stacked] = places[end]
            stacked += 1
        if special >= 0:
            break
    if low < end:
        if special >= 0:
            count = _emit_special(ints, special, begin + places[low], starts, ends, count)
        elif dotted and is_address(ints, octets, buffer, begin, places, kinds, low, end):
            starts[count] = begin + places[low]
            ends[count] = begin + places[end]
            count += 1
        else:
            count = _infixes(ints, octets, begin, low, end, kinds, places, tried, starts, ends, count)
    for index in range(stacked - 1, -1, -1):
        starts[count] = begin + suffixes[index]
        ends[count] = begin + (places[high] if index == 0 else suffixes[index - 1])
        count += 1
    return count


@leaf
def _infixes(ints, octets, begin, low, high, kinds, places, tried, starts, ends, count):  # type: ignore[no-untyped-def]
    """Split at infixes as by `re.finditer`: a match at the very start is skipped, an empty one only splits."""
    start = low
    at = low
    empty = True  # whether a match may be empty: not twice at one position
    while at < high:
        found = infix_end(ints, octets, at, low, high, kinds, begin, tried, empty)
        if found < 0:
            at += 1
            empty = True
            continue
        if at != low:
            if at != start:
                starts[count] = begin + places[start]
                ends[count] = begin + places[at]
                count += 1
            if found != at:
                starts[count] = begin + places[at]
                ends[count] = begin + places[found]
                count += 1
            start = found
        empty = found != at
        at = found
    if start < high:
        starts[count] = begin + places[start]
        ends[count] = begin + places[high]
        count += 1
    return count
