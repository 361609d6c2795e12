"""datatrove's filters on one document: their own verdict, and everything that they compared on the way.

Each filter runs twice. Once as it is: that is its verdict. And once with thresholds that note what they are compared
with and never drop, so that every value shows, also behind the first reason.
"""

import importlib
import math
from contextlib import suppress
from functools import lru_cache

from datatrove.data import Document
from noting import noted  # type: ignore[import-not-found]  # beside this file, which runs outside winnow

VERSION_OF = "datatrove"
_FILTERS = "datatrove.pipeline.filters"
_AT_ONCE = ("lorem_ipsum", "curly_bracket")  # the filter returns in the middle of a page: its counts are of a part


class _Filter:
    """One filter, as it is and with noting thresholds."""

    def __init__(self, name, options, thresholds, counters):  # type: ignore[no-untyped-def]
        kind = getattr(importlib.import_module(_FILTERS), name)
        options = {key: _pairs(value) for key, value in options.items()}
        self.name = name
        self.counters = counters
        self.plain = kind(**options)
        self.noting = kind(**options)
        self.notes = {}  # type: ignore[var-annotated]
        self.counts = {}
        for threshold in thresholds:
            limit = getattr(self.plain, threshold)
            if limit not in (None, -1):
                setattr(self.noting, threshold, noted(threshold, limit, self.notes))
        self.plain.stat_update = self._count
        self.noting.stat_update = lambda *_, **__: None

    def _count(self, *names, **_):  # type: ignore[no-untyped-def]
        for name in names:
            self.counts[name] = self.counts.get(name, 0) + 1

    def judge(self, text):  # type: ignore[no-untyped-def]
        """Reason or None, values, what fired, the text as the filter leaves it."""
        self.notes.clear()
        self.counts.clear()
        document = Document(text=text, id="0")
        answer = self.plain.filter(document)
        kept, reason = answer if isinstance(answer, tuple) else (answer, self.name)
        values = {}
        if reason not in _AT_ONCE:
            values = {f"{self.name}.{name}": float(self.counts.get(name, 0)) for name in self.counters}
        with suppress(ZeroDivisionError):  # it goes on where the plain one has dropped: there may be no value to show
            self.noting.filter(Document(text=text, id="0"))
        values.update({f"{self.name}.{name}": value for name, (value, _) in self.notes.items()})
        notes = self.notes.items()
        fired = {f"{self.name}.{name}": dropped for name, (value, dropped) in notes if math.isfinite(value)}
        return (None if kept else reason), values, fired, document.text


def _pairs(value):  # type: ignore[no-untyped-def]
    return (
        tuple(tuple(item) if isinstance(item, list) else item for item in value) if isinstance(value, list) else value
    )


def _remember_words() -> None:
    """Every filter splits the same text into the same words: once is enough."""
    from datatrove.pipeline.filters import c4_filters, fineweb_quality_filter, gopher_quality_filter
    from datatrove.pipeline.filters import gopher_repetition_filter as repetition

    once = lru_cache(maxsize=1)(gopher_quality_filter.split_into_words)
    for module in (gopher_quality_filter, repetition, fineweb_quality_filter):
        module.split_into_words = lambda text, language: list(once(text, language))
    sentences = lru_cache(maxsize=4096)(c4_filters.split_into_sentences)
    c4_filters.split_into_sentences = lambda text, language: list(sentences(text, language))


def open_peer(settings):  # type: ignore[no-untyped-def]
    """The filters that the settings name, in order; the first reason of any is the reason.

    `filters` holds for each its name, options, the thresholds to note and the statistics to read. With
    `by_language` options come from the row of the document's language too, and others are not judged.
    """
    _remember_words()

    def made(options_of):  # type: ignore[no-untyped-def]
        return [
            _Filter(
                one["name"],
                {**one.get("options", {}), **options_of.get(one["name"], {})},
                one["thresholds"],
                one.get("counters", ()),
            )
            for one in settings["filters"]
        ]

    by_language = settings.get("by_language")
    opened = lru_cache(maxsize=8)(lambda language: made(by_language[language] if by_language else {}))

    def judge(document):  # type: ignore[no-untyped-def]
        language = document.get("language")
        if by_language and language not in by_language:
            return {"skipped": True, "values": {}}
        answer = {"reason": None, "values": {}, "fired": {}}  # type: ignore[var-annotated]
        for one in opened(language):
            try:
                reason, values, fired, text = one.judge(document["text"])
            except ImportError:  # the words of this language need a package that is not installed
                return {"skipped": True, "values": {}}
            answer["reason"] = answer["reason"] or reason
            answer["values"].update(values)  # type: ignore[union-attr]
            answer["fired"].update(fired)  # type: ignore[union-attr]
            if text != document["text"] or one.name == "C4QualityFilter":
                answer["text"] = text
        return answer

    return judge
