"""The n-grams of whole texts, as training and tests read them; the product takes them word by word."""

from winnow.filters.language.identification.own.ngrams import LONGEST, ngrams_of_word, read_word
from winnow.schemas.kernels import kernel


@kernel
def word_ngrams(buffer, start, end, fold, room, out):  # type: ignore[no-untyped-def]
    """Write the hashes of the n-grams of a range of UTF-8 text; returns how many there are, and where it stopped.

    It stops before the word that might not fit into `out`, for the caller to go on from there.

    Args:
        buffer: UTF-8.
        start: The first byte of the range.
        end: Its end.
        fold: `folding()`.
        room: Numbers for the characters of one word; longer words are read in pieces.
        out: Where hashes go; at least `LONGEST` times as many as there is room.
    """
    count, at = 0, start
    while at < end:
        length, after = read_word(buffer, at, end, fold, room)
        if count + LONGEST * length > len(out):
            return count, at
        count = ngrams_of_word(room, length, out, count)
        at = after
    return count, end
