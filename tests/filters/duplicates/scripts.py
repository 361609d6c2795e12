"""Pieces of text in many scripts, for hypothesis: what normal forms and shingles have to tell apart."""

from hypothesis import strategies as st

PIECES = [
    *("the quick brown fox", "Straße", "ŒUVRE", "İstanbul", "ﬁne", "ΣΊΣΥΦΟΣ", "naïve", "foo_bar"),
    *("ABCDEFGH", "abcdefghijklmnopq", "Sixteen_letters_", "x" * 62, "y" * 63, "Z" * 64, "z" * 65),
    *("don't", "don’t", "U.S.A.", "3.14", "1,000", "a.", "a..b", "x:y", "l·l", "²", "½", "①", "ℌ", "__"),
    *("Съешь ещё этих", "ї", "العَرَبِيَّة", "ﷺ", "ﷲ", "ﹰ", "שָׁלוֹם", "हिन्दी क़", "தமிழ் கொ", "తెలుగు"),
    *("ภาษาไทยน้ำ", "ພາສາລາວ ກຳ", "ភាសាខ្មែរ", "မြန်မာ ပစ္စည်း", "္", "ཀཱི"),
    *("中文字", "日本のコーヒー々", "ｶﾞｷﾞ", "ガギ", "ＦＵＬＬ　Ｗｉｄｔｈ", "豈", "𠀀", "한국어 각", "한국", "ᄒ", "ㅤ"),
    *("😀👩‍👩‍👧", "🇩🇪", "\u00ad", "a\u200bb", "\u034f", "\ufe0f", "\u202e"),
    *("a\u0301\u0327", "a\u0327\u0301", "\u0301", "a.\u0301b", "a\u0345"),
    *(" ", "  ", "\n", ", ", ". ", "-", "\t", "\0", "\ufffd", "\u0378", "\U000e0fff", "\U0010ffff"),
    *("\u3000", "ͺ", "゛"),
]  # fmt: skip

TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join)
