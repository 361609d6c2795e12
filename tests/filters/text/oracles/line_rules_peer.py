"""What datatrove's own filters say of texts; run under the peer's Python: JSON lines in, JSON lines out.

`edits` is what C4 leaves of a page, without a rule on sentences; `c4` is its reason, and the page's sentences by
spaCy; `fineweb` is FineWeb's reason, whose words are those of `str.split` here: how words are told apart has
other tests.
"""

import json
import sys

from datatrove.data import Document
from datatrove.pipeline.filters import c4_filters as c4
from datatrove.pipeline.filters import fineweb_quality_filter as fineweb

WANTED, OPTIONS = sys.argv[1], json.loads(sys.argv[2])


def reason(made, text):  # type: ignore[no-untyped-def]
    document = Document(text=text, id="")
    answer = made.filter(document)
    return (None if answer is True else answer[1]), document.text


def edits(text):  # type: ignore[no-untyped-def]
    settings = {"min_num_sentences": -1, "filter_lorem_ipsum": False, "filter_curly_bracket": False}
    made = c4.C4QualityFilter(**{**settings, **OPTIONS})
    _, left = reason(made, text)
    return {"text": left, "counts": {name: stat.total for name, stat in made.stats.stats.items()}}


def rules(text):  # type: ignore[no-untyped-def]
    counts = []
    plain = c4.split_into_sentences

    def counted(line, language):  # type: ignore[no-untyped-def]
        found = plain(line, language)
        counts.append(len(found))
        return found

    c4.split_into_sentences = counted
    reason(c4.C4QualityFilter(filter_lorem_ipsum=False, filter_curly_bracket=False, **OPTIONS), text)
    c4.split_into_sentences = plain
    return {"reason": reason(c4.C4QualityFilter(**OPTIONS), text)[0], "sentences": sum(counts)}


def page(text):  # type: ignore[no-untyped-def]
    fineweb.split_into_words = lambda text, _language: text.split()
    return reason(fineweb.FineWebQualityFilter(**OPTIONS), text)[0]


judge = {"edits": edits, "c4": rules, "fineweb": page}[WANTED]
for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))))
