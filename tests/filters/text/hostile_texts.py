"""Texts that no author meant: each operator must measure them, or say why not, in linear time."""

HOSTILE = {
    "empty": "",
    "white space": " \t\n\u3000\u2028\r\n",
    "NULs": "\0" * 1000,
    "one word": "a" * 100_000,
    "one letter with many marks": "a" + "\u0301\u0327" * 50_000,
    "flags": "\U0001f1e9" * 20_000,
    "emoji": "😀👩‍👩‍👧" * 5_000,
    "bidi controls": "\u202eabc\u202c\u2066def\u2069 שלום \u200f",
    "replacement": "\ufffd" * 1000,
    "unassigned": "\U000e0fff\u0378 \U0010ffff",
    "binary": "".join(map(chr, range(256))) * 10,
    "newlines": "\n" * 50_000,
    "one letter each": "a " * 50_000,
    "numbers": " ".join(map(str, range(5_000))),
    "one number": "1" * 50_000,
    "fastText's words": "</s> __label__hq __label__cc </s>",
    "marks of n-gram models": "<s> </s> <unk>",
    "apostrophes": "a'" * 20_000,
}
