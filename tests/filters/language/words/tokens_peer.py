"""Run by datatrove's Python: words and sentences by its spaCy tokenizers, for JSON lines of a language and texts."""

import json
import sys
from itertools import pairwise

from datatrove.utils.word_tokenizers import SpaCyTokenizer

for line in sys.stdin:
    language, texts = json.loads(line)
    tokenizer = SpaCyTokenizer(language)
    answers = []
    for text in texts:
        ends = [end for _, end in tokenizer.span_tokenize(text)]
        bounds = [0, *ends[:-1], len(text)]  # as `datatrove.utils.text.split_into_sentences` cuts them
        answers.append([tokenizer.word_tokenize(text), [text[low:high] for low, high in pairwise(bounds)]])
    print(json.dumps(answers))
