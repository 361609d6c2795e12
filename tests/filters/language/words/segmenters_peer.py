"""Run by datatrove's Python: words by our segmenters and by datatrove's, JSON lines in, JSON lines out."""

import importlib.util
import json
import sys
from pathlib import Path

from datatrove.utils.word_tokenizers import load_word_tokenizer

WORDS = Path(sys.argv[1])  # the folder of our modules, whose packages need not be installed there


def module(name):  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location(name, WORDS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


packages, rules = module("packages").PACKAGES, module("indic").INDIC
for line in sys.stdin:
    style, language, texts = json.loads(line)
    try:
        tokenizer = load_word_tokenizer(language)
        theirs = [tokenizer.word_tokenize(text) for text in texts]
    except ImportError:  # a package is missing
        print(json.dumps(None))
        continue
    segmenter = rules[style] if style in rules else packages[style].load()
    ours = [[word.strip() for word in segmenter(text) if word.strip()] for text in texts]
    print(json.dumps([ours, theirs]))
