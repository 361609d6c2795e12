"""What datatrove's and dolma's own code says of texts; run under their Pythons: JSON lines in, JSON lines out.

Words are those of `str.split` here: how words are told apart is another matter with other tests.
"""

import json
import sys
from importlib import import_module
from types import SimpleNamespace

WHOSE = sys.argv[1]


def of_datatrove(text):  # type: ignore[no-untyped-def]
    from datatrove.pipeline.filters import gopher_quality_filter as quality
    from datatrove.pipeline.filters import gopher_repetition_filter as repetition

    quality.split_into_words = repetition.split_into_words = lambda text, _language: text.split()
    document = SimpleNamespace(text=text)
    reason = None
    for made in (repetition.GopherRepetitionFilter(), quality.GopherQualityFilter()):
        answer = made.filter(document)
        if answer is not True:
            reason = answer[1]
            break
    values = {}
    if text:
        words = text.split()
        for name, pieces in (
            ("line", repetition.GopherRepetitionFilter()._line_splitter.split(text)),
            ("paragraph", repetition.GopherRepetitionFilter().paragraph_exp.split(text.strip())),
        ):
            elements, characters = repetition.find_duplicates(pieces)
            values[f"dup_{name}_ratio"] = elements / len(pieces)
            values[f"dup_{name}_char_ratio"] = characters / len(text)
        for n in (2, 3, 4):
            grams = repetition.get_n_grams(words, n)
            values[f"top_{n}gram"] = repetition.find_top_duplicate(grams) / len(text) if grams else 0.0
        for n in range(5, 11):
            values[f"dup_{n}gram"] = repetition.find_all_duplicate(words, n) / len(text)
    return {"reason": reason, "values": values}


def of_dolma(text):  # type: ignore[no-untyped-def]
    gopher = import_module("dolma.taggers.gopher")
    tagger = (gopher.GopherTagger if WHOSE == "dolma_v1" else gopher.GopherTaggerV2)()
    document = gopher.Document(source="", version="", id="", text=text)
    exact = {span.type: span.score for span in tagger.predict(document).spans}
    rounded = {name: spans[0][2] for name, spans in tagger.group_output(tagger.predict(document)).items()}
    return {"values": exact, "rounded": rounded}


judge = of_datatrove if WHOSE == "datatrove" else of_dolma
for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))))
