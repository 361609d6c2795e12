"""Texts on which rules of words meet, made from pieces without chance: the same in every run."""

import random
from collections.abc import Sequence

PIECES = (
    *"()[]{}.,:;!?'\"’‘“”`´…—–-~*&#_%+=<>/\\|@$€£°^·•«»。，、！？「」（）¿¡§©®™§|^",
    *("..", "...", "--", "---", "——", "'s", "’S", "n't", "km", "km²", "m/s", "°C.", "US$", "C$", "A.", "U.S.", "AB."),
    *("Mr.", "e.g.", "i.e.", "a.m.", "10a.m.", "don't", "can't", "Ph.D.", "w/o", "and/or", "C++", "<space>", "\\n"),
    *(":)", ":-)", ":(((", "(:", "=D", "8)", "<3", "._.", "o.O", "(╯°□°）╯︵┻━┻", "¯\\(ツ)/¯", "(-:", ";_;", "(*_*)"),
    *(" ", "  ", "\n", " \n", "\t", "\u00a0", "\u3000", "\u2028", "\x1c", "\x85", "\x00", "\ufffd", "\u200b", "\u202e"),
    *(
        "😀",
        "👍🏽",
        "👨\u200d👩",
        "e\u0301",
        "ß",
        "İ",
        "中文",
        "かな",
        "ไทย",
        "ខ្មែរ",
        "한국어",
        "עברית",
        "العربية",
        "हिन्दी",
    ),
    *("http://", "https://", "www.", "foo.com", "ex-ample.co.uk:8080/a?b#c", "me@x.org", "ftp://u:p@h.net", "a.b.cd/"),
    *("192.168.0.1", "8.8.8.8", "256.1.1.1", "10.0.0.1", "172.16.0.1", "172.32.0.1", "169.254.1.1", "1.2.3.4:80/x"),
    *("3", "12", "2024", "1,000", "1.5", "٣", "５", "10km", "5€", "a", "b", "Z", "Ab", "xY", "жж", "км", "αβ.", "Ж."),
    *(
        "l'",
        "d'eau",
        "-la",
        "<a",
        "<a b>",
        "<br/>",
        "xx-yy-zz",
        "a,b",
        "a:B",
        "a=b",
        "z.B.",
        "т.д.",
        "\U00010400",
        "\uffff",
    ),
)


def nasty_texts(count: int, words: Sequence[str] = (), seed: int = 0) -> list[str]:
    """So many texts of a few pieces each, and of these words among them."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        text = ""
        for _ in range(chance.randint(1, 10)):
            piece = chance.choice(words) if words and chance.random() < 0.3 else chance.choice(PIECES)
            text += piece * (chance.randint(2, 5) if chance.random() < 0.1 else 1)
            text += " " if chance.random() < 0.15 else ""
        texts.append(text)
    return texts
