"""What datatrove says of texts in their languages, run under its Python: JSON lines in, JSON lines out.

Filters get the settings that fineweb-2-pipeline.py of huggingface/fineweb-2 gives them.
"""

import json
import sys

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.filters import FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.filters import gopher_repetition_filter as repetition
from datatrove.utils.text import PUNCTUATION_SET, split_into_words


def reason(language, text, config):  # type: ignore[no-untyped-def]
    filters = (
        GopherRepetitionFilter(
            language=language,
            dup_para_frac=0,
            dup_line_char_frac=0,
            dup_para_char_frac=0,
            dup_line_frac=config["dup_line_frac"],
            top_n_grams=config["top_n_grams"],
            dup_n_grams=config["dup_n_grams"],
        ),
        FineWebQualityFilter(
            language=language,
            short_line_thr=999,
            char_duplicates_ratio=0.1,
            line_punct_thr=config["line_punct_thr"],
            new_line_ratio=config["new_line_ratio"],
        ),
        GopherQualityFilter(
            language=language,
            max_avg_word_length=config["max_avg_word_length"],
            min_avg_word_length=config["min_avg_word_length"],
            stop_words=config["stopwords"],
            max_non_alpha_words_ratio=config["max_non_alpha_words_ratio"],
            min_stop_words=2,
        ),
    )
    for made in filters:
        answer = made.filter(Document(text=text, id=""))
        if answer is not True:
            return answer[1]
    return None


def values(language, text, stop_words):  # type: ignore[no-untyped-def]
    words = split_into_words(text, language)
    solid = [word for word in words if any(character not in PUNCTUATION_SET for character in word)]
    cut = GopherRepetitionFilter()._line_splitter.split(text)
    lines = text.splitlines()
    count = max(len(words), 1)
    found = {
        "characters": len(text),
        "words": len(words),
        "non_symbol_words": len(solid),
        "stop_words": len(set(stop_words) & set(words)),
        "stop_word_occurrences": sum(word in stop_words for word in words),
        "mean_word_length": float(np.mean([len(word) for word in solid])) if solid else 0.0,
        "hash_ratio": text.count("#") / count,
        "ellipsis_ratio": (text.count("...") + text.count("…")) / count,
        "newline_ratio": text.count("\n") / count,
        "bullet_line_ratio": sum(s.lstrip().startswith(("•", "-")) for s in lines) / max(len(lines), 1),
        "ellipsis_line_ratio": sum(s.rstrip().endswith(("...", "…")) for s in lines) / max(len(lines), 1),
        "alpha_word_ratio": sum(any(c.isalpha() for c in word) for word in words) / count,
        "dup_line_ratio": repetition.find_duplicates(cut)[0] / len(cut),
    }
    for n in (2, 3, 4):
        grams = repetition.get_n_grams(words, n)
        found[f"top_{n}gram"] = repetition.find_top_duplicate(grams) / len(text) if grams else 0.0
    for n in range(5, 11):
        found[f"dup_{n}gram"] = repetition.find_all_duplicate(words, n) / len(text)
    return found


for line in sys.stdin:
    language, text, config = json.loads(line)
    stop_words = config["stopwords"]
    answer = {"reason": reason(language, text, config), "values": values(language, text, stop_words)}
    print(json.dumps(answer))
