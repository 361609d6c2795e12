"""TensorFlow Datasets' C4 builder on one document: its page cleaner, its counters and the text that it leaves."""

from collections import Counter

import spacy  # type: ignore[import-not-found]
from tensorflow_datasets.text import c4_utils  # type: ignore[import-not-found]

VERSION_OF = "tensorflow-datasets"
_DROPS = ("filtered:loremipsum", "filtered:squigglybracket", "filtered:too_few_sentences")


class Sentences:
    """spaCy's rule for sentences where the builder has NLTK's trained model, which no package carries."""

    def __init__(self) -> None:
        self._english = spacy.blank("en")
        self._english.add_pipe("sentencizer")

    def tokenize(self, text):  # type: ignore[no-untyped-def]
        """The sentences that hold more than white space."""
        self._english.max_length = len(text) + 10
        return [sentence.text for sentence in self._english(text).sents if sentence.text.strip()]


def open_peer(settings):  # type: ignore[no-untyped-def]
    """The cleaner with its defaults but for sentences; `counters` are the ones to read."""
    c4_utils._SENTENCE_TOKENIZER = Sentences()
    clean = c4_utils.get_clean_page_fn()

    def judge(document):  # type: ignore[no-untyped-def]
        counts = Counter()  # type: ignore[var-annotated]
        sentences = []
        plain = c4_utils._get_sentences

        def counted(line):  # type: ignore[no-untyped-def]
            found = plain(line)
            sentences.append(len(found))
            return found

        c4_utils._get_sentences = counted
        try:
            pages = list(
                clean(
                    c4_utils.PageFeatures(text=document["text"]),
                    counter_inc_fn=lambda name, amount=1: counts.update({name: amount}),
                )
            )
        finally:
            c4_utils._get_sentences = plain
        reason = next((name for name in _DROPS if counts[name]), None)
        values = {}
        if reason not in _DROPS[:2]:  # or it has returned in the middle of the page
            values = {**{name: counts[name] for name in settings["counters"]}, "sentences": sum(sentences)}
        return {
            "reason": reason,
            "values": values,
            "fired": {},
            **({"text": pages[0].text} if pages else {}),
        }

    return judge
