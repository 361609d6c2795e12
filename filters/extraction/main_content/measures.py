"""Counts over each block of a page, and the keys by which the model knows its words and its markup.

Counts work for any script: a run of letters is one word, an ideograph or a kana six tenths of one, a letter of a script
without spaces a fifth. Case is counted in ASCII only, and is -1 for a block without ASCII letters.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.names import FNV_BASIS, FNV_PRIME
from winnow.filters.language.kernels.open_tables import slot_of
from winnow.schemas.kernels import kernel, leaf

Keys = npt.NDArray[np.uint64]
Table = npt.NDArray[np.float32]

STATS = (
    *("characters", "words", "in_title", "in_description", "digits", "commas", "sentences", "ends", "colon"),
    *("upper", "capitals", "money", "copyright", "pipes", "at", "question", "copy", "copies", "of_title"),
)
CHARACTERS, WORDS, IN_TITLE, IN_DESCRIPTION, DIGITS, COMMAS, SENTENCES, ENDS, COLON = range(9)
UPPER, CAPITALS, MONEY, COPYRIGHT, PIPES, AT, QUESTION, COPY, COPIES, OF_TITLE = range(9, len(STATS))

MOST_WORDS = 40  # of a block, that its score is based on
MOST_ANCESTORS = 48
MOST_NAMES = 192  # of a block
_ROOM = 512  # slots for the names or words of a block, among which each is counted once
MOST_TOKENS = 2_048  # examined per block: an element with very many contains many blocks
_SHORT = 6  # words: such a block has separate scores
_BASIS, _PRIME = np.uint64(FNV_BASIS), np.uint64(FNV_PRIME)
_SHORT_MARK, _WHOLE_MARK = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_LEVELS = np.array([0x632BE59BD9B4E019, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB], np.uint64)
_TOGETHER = np.uint64(0x8EBC6AF09C88C6E3)


class Measures(NamedTuple):
    """Counts of each block, and the keys of its words and its markup as ranges of two lists."""

    stats: Table
    word_places: npt.NDArray[np.int32]
    word_keys: Keys
    name_places: npt.NDArray[np.int32]
    name_keys: Keys


@leaf
def mixed(key):  # type: ignore[no-untyped-def]
    """A key whose bits all depend on all bits, and never 0, which marks an empty slot."""
    key = (key ^ (key >> np.uint64(33))) * _MIX
    return (key ^ (key >> np.uint64(29))) | np.uint64(1)


@leaf
def _is_sign(first, second, third):  # type: ignore[no-untyped-def]
    """Whether a character of several bytes is no letter: punctuation, signs and symbols."""
    if first == 0xC2:
        return second not in (0xAA, 0xB5, 0xBA)
    if first == 0xE2:
        return second < 0xB0
    if first == 0xE3:
        return second == 0x80
    if first == 0xEF:
        return (second == 0xBC and (third < 0x90 or 0x9A <= third <= 0xA0)) or (
            second == 0xBD and third >= 0x9B and third < 0xA6
        )
    return (
        (first == 0xD8 and second in (0x8C, 0x9B, 0x9F))
        or (first == 0xDB and second == 0x94)
        or (first == 0xE0 and second == 0xA5 and third in (0xA4, 0xA5))
    )


@leaf
def _is_end(first, second, third):  # type: ignore[no-untyped-def]
    """Whether such a sign ends a sentence: 。 ！ ？ । ۔ ؟ and the ellipsis."""
    return (
        (first == 0xE3 and second == 0x80 and third == 0x82)
        or (first == 0xEF and second == 0xBC and third in (0x81, 0x9F))
        or (first == 0xE0 and second == 0xA5 and third in (0xA4, 0xA5))
        or (first == 0xDB and second == 0x94)
        or (first == 0xD8 and second == 0x9F)
        or (first == 0xE2 and second == 0x80 and third == 0xA6)
    )


@leaf
def _share_of_word(first, second):  # type: ignore[no-untyped-def]
    """How much of a word one character is in a script that does not part words by spaces; 0 in others."""
    if (first == 0xE3 and second >= 0x81) or 0xE4 <= first <= 0xE9:
        return np.float32(0.6)
    if (first == 0xE0 and 0xB8 <= second <= 0xBB) or (first == 0xE1 and (second <= 0x82 or 0x9E <= second <= 0x9F)):
        return np.float32(0.2)
    return np.float32(0.0)


@leaf
def _size_at(text, at, end):  # type: ignore[no-untyped-def]
    """The bytes of the character here."""
    first = text[at]
    size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    return min(size, end - at)


@leaf
def _next_word(text, at, end):  # type: ignore[no-untyped-def]
    """The next word from here: its key, where it begins and ends (the end for none), and how many words it counts."""
    key, begin, weight = _BASIS, -1, np.float32(0.0)
    while at < end:
        byte = text[at]
        if byte < 0x80:
            lower = byte | 32
            if 97 <= lower <= 122 and byte >= 65:
                key = (key ^ np.uint64(lower)) * _PRIME
            elif 48 <= byte <= 57 or byte == 95:
                key = (key ^ np.uint64(byte)) * _PRIME
            elif begin >= 0:
                break
            else:
                at += 1
                continue
            if begin < 0:
                begin = at
            at += 1
            continue
        size = _size_at(text, at, end)
        second = text[at + 1] if size > 1 else np.uint8(0)
        third = text[at + 2] if size > 2 else np.uint8(0)
        if _is_sign(byte, second, third):
            if begin >= 0:
                break
            at += size
            continue
        share = _share_of_word(byte, second)
        if share > 0.5:  # an ideograph is a word of its own
            if begin >= 0:
                break
            for place in range(at, at + size):
                key = (key ^ np.uint64(text[place])) * _PRIME
            return mixed(key), at, at + size, share
        if begin < 0:
            begin = at
        for place in range(at, at + size):
            key = (key ^ np.uint64(text[place])) * _PRIME
        weight += share
        at += size
    if begin < 0:
        return key, end, end, np.float32(0.0)
    return mixed(key), begin, at, max(weight, np.float32(1.0))


@leaf
def _signs(text, begin, end, row):  # type: ignore[no-untyped-def]
    """Count the characters and signs of a block."""
    characters = commas = sentences = pipes = 0
    at, letters, closed = begin, False, False
    while at < end:
        byte = text[at]
        size = 1
        characters += 1
        if byte < 0x80:
            letters = letters or 97 <= byte | 32 <= 122
            if byte == 46 or byte == 33 or byte == 63:
                sentences += at + 1 == end or text[at + 1] <= 32
                closed = True
            elif byte > 32 and byte not in (34, 39, 41):
                closed = False
            if byte == 44 or byte == 59:
                commas += 1
            elif byte == 36:
                row[MONEY] = 1
            elif byte == 124 or byte == 47:
                pipes += 2 if byte == 124 else 1
            elif byte == 64:
                row[AT] = 1
            if byte == 63:
                row[QUESTION] = 1
        else:
            size = _size_at(text, at, end)
            second = text[at + 1] if size > 1 else np.uint8(0)
            third = text[at + 2] if size > 2 else np.uint8(0)
            if _is_end(byte, second, third):
                sentences += byte != 226
                closed = True
                row[QUESTION] = max(row[QUESTION], np.float32(third == 0x9F or byte == 0xD8))
            elif (byte != 0xE2 or second != 0x80 or third not in (0x9D, 0x99)) and (byte != 0xC2 or second != 0xBB):
                closed = False  # quotes may follow the end of a sentence
            if byte == 0xC2 and second == 0xA9:
                row[COPYRIGHT] = 1
            elif (byte == 0xC2 and second == 0xA3) or (byte == 0xE2 and second == 0x82 and third == 0xAC):
                row[MONEY] = 1
            elif (byte == 0xE2 and second == 0x80 and third in (0xA2, 0xBA)) or (
                byte == 0xC2 and second in (0xBB, 0xB7)
            ):
                pipes += 2
            elif (
                (byte == 0xE3 and second == 0x80 and third == 0x81)
                or (byte == 0xEF and second == 0xBC and third == 0x8C)
                or (byte == 0xD8 and second == 0x8C)
            ):
                commas += 1
        at += size
    row[CHARACTERS], row[COMMAS], row[SENTENCES], row[PIPES] = characters, commas, sentences, pipes * 0.5
    row[ENDS], row[COLON] = closed, text[end - 1] == 58
    return letters


@leaf
def _is_new(seen, stamp, key):  # type: ignore[no-untyped-def]
    """Whether a key is seen for the first time under this stamp. Has room for all names and words of a block."""
    mask = np.uint64(seen.shape[1] - 1)
    slot = (key ^ (key >> np.uint64(29))) & mask
    while seen[0, slot] == stamp:
        if seen[1, slot] == key:
            return False
        slot = (slot + np.uint64(1)) & mask
    seen[0, slot], seen[1, slot] = stamp, key
    return True


@leaf
def _words(text, begin, end, row, title, description, keys, at_key, seen, stamp):  # type: ignore[no-untyped-def]
    """Count the words of a block and write the keys of its first ones; where the list of keys ends."""
    count, runs, capitals, digits, whole = np.float32(0.0), 0, 0, 0, _WHOLE_MARK
    first_key, place = at_key, begin
    same = _BASIS
    while True:
        key, word, place, weight = _next_word(text, place, end)
        if word >= end:
            break
        count += weight
        same = mixed(same * _PRIME ^ key)
        capitals += 65 <= text[word] <= 90
        digits += 48 <= text[word] <= 57
        row[IN_TITLE] += title[slot_of(title, key)] == key
        row[IN_DESCRIPTION] += description[slot_of(description, key)] == key
        if runs < MOST_WORDS and _is_new(seen, stamp, key):
            keys[at_key] = key
            at_key += 1
        whole = mixed(whole * _PRIME ^ key)
        runs += 1
    row[WORDS], row[CAPITALS], row[DIGITS] = count, capitals, digits
    if 0 < runs <= _SHORT:
        for place in range(first_key, at_key):
            keys[at_key + place - first_key] = mixed(keys[place] ^ _SHORT_MARK)
        at_key += at_key - first_key
        if 1 < runs <= 4:
            keys[at_key] = whole
            at_key += 1
    return at_key, same


@leaf
def _tokens(source, begin, end, keys, at_key):  # type: ignore[no-untyped-def]
    """Write the keys of the names in a class or an id, cut at what is no letter and before capitals."""
    key, length, was_lower = _BASIS, 0, False
    for place in range(begin, end + 1):
        byte = source[place] if place < end else np.uint8(32)
        lower = byte | 32
        letter = 97 <= lower <= 122 and byte >= 65
        if length and (not letter or (byte < 97 and was_lower)):
            if 2 < length < 20 and at_key < len(keys):
                keys[at_key] = mixed(key)
                at_key += 1
            key, length = _BASIS, 0
        if letter:
            key = (key ^ np.uint64(lower)) * _PRIME
            length += 1
        was_lower = bool(letter and byte >= 97)
    return at_key


@kernel
def element_tokens(page):  # type: ignore[no-untyped-def]
    """The keys of the names in each element's class and id, as ranges of a list; of elements with blocks alone."""
    room = 0
    for element in range(len(page.tag)):
        if page.end_block[element] > page.first_block[element]:
            room += (page.classes[1, element] - page.classes[0, element]) // 3 + 1
            room += max(0, page.identity[1, element] - page.identity[0, element]) // 3 + 1
    keys = np.empty(room + 2, np.uint64)
    places = np.zeros(len(page.tag) + 1, np.int32)
    at = 0
    for element in range(len(page.tag)):
        if page.end_block[element] > page.first_block[element]:
            for begin, end in (page.classes[:, element], page.identity[:, element]):
                at = _tokens(page.source, begin, end, keys, at) if begin >= 0 else at
        places[element + 1] = at
    return places, keys[:at]


@leaf
def _add_name(keys, first, at, key, seen, stamp):  # type: ignore[no-untyped-def]
    if at - first < MOST_NAMES and _is_new(seen, stamp, key):
        keys[at] = key
        return at + 1
    return at


@leaf
def _names(page, element, places, tokens, keys, at, seen, stamp):  # type: ignore[no-untyped-def]
    """Write the keys of what an element and those around it are called, by how far around."""
    first, distance, looked = at, 0, 0
    while element >= 0 and distance < MOST_ANCESTORS and at - first < MOST_NAMES and looked < MOST_TOKENS:
        tag = np.uint64(page.tag[element])
        level = _LEVELS[0 if distance == 0 else 1 if distance < 3 else 2 if distance < 6 else 3]
        together = np.uint64(0)
        end = min(places[element + 1], places[element] + MOST_TOKENS)
        looked += end - places[element]
        for place in range(places[element], end):
            together += tokens[place]
            at = _add_name(keys, first, at, mixed(tokens[place] ^ level), seen, stamp)
        if distance < 3 and together:
            at = _add_name(keys, first, at, mixed((together ^ _TOGETHER) + tag * _PRIME), seen, stamp)
        if distance < 4:
            key = mixed((tag + np.uint64(1)) * _PRIME + np.uint64(distance) * _TOGETHER)
            at = _add_name(keys, first, at, key, seen, stamp)
        element = page.parent[element]
        distance += 1
    return at


@kernel
def word_set(texts):  # type: ignore[no-untyped-def]
    """The keys of all words of a text, as an open table."""
    count, place = 1, 0
    while True:
        _, word, place, _ = _next_word(texts, place, len(texts))
        if word >= len(texts):
            break
        count += 1
    size = 8
    while size < 2 * count:
        size *= 2
    table = np.zeros(size, np.uint64)
    place = count = 0
    while True:
        key, word, place, _ = _next_word(texts, place, len(texts))
        if word >= len(texts):
            return table, count
        slot = slot_of(table, key)
        count += table[slot] != key
        table[slot] = key


@kernel
def measured(page, places, tokens, title, title_words, description):  # type: ignore[no-untyped-def]
    """The measures of a page's blocks. `title` and `description` are word sets."""
    blocks = len(page.block_begins)
    stats = np.zeros((blocks, len(STATS)), np.float32)
    word_places, name_places = np.zeros(blocks + 1, np.int32), np.zeros(blocks + 1, np.int32)
    room = 0
    for block in range(blocks):
        room += min(MOST_WORDS, (page.block_ends[block] - page.block_begins[block]) // 2 + 1) + _SHORT + 1
    words = np.empty(room + 1, np.uint64)
    names = np.empty(blocks * 24 + MOST_NAMES, np.uint64)
    size = 8
    while size < 2 * blocks:
        size *= 2
    table, first, counts = np.zeros(size, np.uint64), np.zeros(blocks, np.int32), np.zeros(size, np.int32)
    seen = np.zeros((2, _ROOM), np.uint64)
    at_word = at_name = 0
    for block in range(blocks):
        row, stamp = stats[block], np.uint64(2 * block + 1)
        begin, end = page.block_begins[block], page.block_ends[block]
        letters = _signs(page.text, begin, end, row)
        at_word, same = _words(page.text, begin, end, row, title, description, words, at_word, seen, stamp)
        word_places[block + 1] = at_word
        row[UPPER] = (65 <= page.text[begin] <= 90) if letters else -1
        row[CAPITALS] = row[CAPITALS] / (row[WORDS] + 1) if letters else -1
        row[OF_TITLE] = row[IN_TITLE] / (title_words + 1)
        slot = slot_of(table, same)
        table[slot] = same
        first[block] = slot
        row[COPY] = counts[slot]
        counts[slot] += 1
        if len(names) - at_name < MOST_NAMES:
            more = np.empty(2 * len(names), np.uint64)
            more[:at_name] = names[:at_name]
            names = more
        at_name = _names(page, page.block_element[block], places, tokens, names, at_name, seen, stamp + np.uint64(1))
        name_places[block + 1] = at_name
    for block in range(blocks):
        stats[block, COPIES] = counts[first[block]]
    return Measures(stats, word_places, words[:at_word], name_places, names[:at_name])
