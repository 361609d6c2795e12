"""What safety rules cost and find, as tables by language and as JSON."""

from collections.abc import Iterable, Mapping

import orjson
from rich.console import Console

from benchmarks.safety_parity.measuring import Findings, Hits, Recall
from winnow.runners.tables.quantities import grouped, share
from winnow.runners.tables.table import Table, each, heads
from winnow.runners.tables.units import COUNT, REASON
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.safety import subcategories

SHOWN_RULES = 3  # of each language: those that drop most


def print_findings(preset: str, found: Findings, left_out: Mapping[str, str], console: Console) -> None:
    """What clean texts lose, by language and by topic, and what is found of what was planted."""
    print_tables(console, _clean(preset, found))
    if len({topic for topic, _ in found.topics}) > 1:
        print_tables(console, _topics(found))
    if any(hits.examples for hits in found.dropped.values()):
        print_tables(console, _examples(found))
    print_tables(console, _alarms(found))
    if found.recall:
        print_tables(console, _recall(found))
        print_tables(console, _by_language(found))
    for subcategory in sorted(left_out.keys() & found.detectors.keys()):
        console.print(f"not planted  {subcategory}: {left_out[subcategory]}")


def as_json(preset: str, found: Findings, left_out: Mapping[str, str]) -> bytes:
    """One object."""
    return orjson.dumps(
        {
            "preset": preset,
            "clean": {language: _plain(hits) for language, hits in sorted(found.clean.items())},
            "rules": [
                {"language": language, "rule": rule, **_plain(hits), "examples": hits.examples}
                for (language, rule), hits in sorted(found.dropped.items())
                if hits.hit
            ],
            "topics": [
                {"topic": topic, "rule": rule, **_plain(hits), "examples": hits.examples}
                for (topic, rule), hits in sorted(found.topics.items())
                if hits.hit
            ],
            "recall": [
                {
                    "language": language,
                    "subcategory": name,
                    "variant": variant,
                    "texts": recall.texts,
                    "looked_at": recall.seen,
                    "found": recall.found,
                    "dropped": recall.dropped,
                }
                for (language, name, variant), recall in sorted(found.recall.items())
            ],
            "alarms": [
                {
                    "language": language,
                    "subcategory": name,
                    "texts": alarms.texts,
                    "looked_at": alarms.seen,
                    "found": alarms.found,
                }
                for (language, name), alarms in sorted(found.alarms.items())
            ],
            "naive": {
                language: {"any_word": naive.words, "anywhere": naive.anywhere}
                for language, naive in sorted(found.naive.items())
            },
            "not_planted": {name: left_out[name] for name in sorted(left_out.keys() & found.detectors.keys())},
        }
    )


def _plain(hits: Hits) -> dict[str, int]:
    return {"texts": hits.texts, "hit": hits.hit}


def _clean(preset: str, found: Findings) -> Table:
    """A line a language, those that lose most first."""
    rows = []
    for language, hits in sorted(found.clean.items(), key=lambda item: (-item[1].hit / item[1].texts, item[0])):
        own = [(rule, found.dropped[language, rule].hit) for rule in found.rules]
        most = sorted((one for one in own if one[1]), key=lambda one: -one[1])[:SHOWN_RULES]
        named = ", ".join(f"{rule} {share(count, hits.texts)}" for rule, count in most)
        rows.append((language, *_counts(hits), *_naive(found, [language]), named))
    total = Hits(sum(one.texts for one in found.clean.values()), sum(one.hit for one in found.clean.values()))
    footer = ("all", *_counts(total), *_naive(found, list(found.clean)), "")
    title = f"Clean texts that {preset} drops, by language"
    numbers = ("texts", "dropped", "share", *(("any word", "anywhere") if found.naive else ()))
    return Table(title, heads("language", *each(COUNT, *numbers), "most by"), rows, footer)


def _counts(hits: Hits) -> tuple[str, str, str]:
    return grouped(hits.texts), grouped(hits.hit), share(hits.hit, hits.texts)


def _naive(found: Findings, languages: Iterable[str]) -> tuple[str, ...]:
    """What naive filters would drop of some languages; nothing where nobody asked."""
    own = [(found.clean[language].texts, found.naive[language]) for language in languages if language in found.naive]
    texts = sum(count for count, _ in own)
    counts = (sum(naive.words for _, naive in own), sum(naive.anywhere for _, naive in own))
    return tuple(share(count, texts) for count in counts) if own else ()


def _topics(found: Findings) -> Table:
    rows = []
    for topic in sorted({topic for topic, _ in found.topics}):
        own = [(rule, found.topics[topic, rule]) for rule in found.rules]
        texts = own[0][1].texts if own else 0
        most = sorted(((rule, hits.hit) for rule, hits in own if hits.hit), key=lambda one: -one[1])[:SHOWN_RULES]
        rows.append((topic, grouped(texts), ", ".join(f"{rule} {grouped(count)}" for rule, count in most)))
    return Table("Clean texts that rules drop, by topic", heads("topic", ("texts", COUNT), "dropped by"), rows)


def _examples(found: Findings) -> Table:
    rows = [
        (language, rule, grouped(hits.hit), ", ".join(hits.examples))
        for (language, rule), hits in sorted(found.dropped.items())
        if hits.examples
    ]
    columns = heads(("language", REASON), ("by", REASON), ("texts", COUNT), ("such as", REASON))
    return Table("Clean texts that are dropped", columns, rows)


def _alarms(found: Findings) -> Table:
    """A line a subcategory: what detectors find in clean texts, which is what edits would replace there."""
    rows = []
    for name in (name for name in subcategories() if name in found.detectors):
        total = _sum(alarms for (_, kind), alarms in found.alarms.items() if kind == name)
        own = {code: alarms for (code, kind), alarms in found.alarms.items() if kind == name and alarms.found}
        most = sorted(own.items(), key=lambda item: (-item[1].found / item[1].seen, item[0]))[:SHOWN_RULES]
        named = ", ".join(f"{code} {share(alarms.found, alarms.seen)}" for code, alarms in most)
        counts = (total.texts, total.seen, total.found)
        rows.append((name, *map(grouped, counts), share(total.found, total.seen), named))
    numbers = each(COUNT, "texts", "looked at", "found in", "share")
    return Table("What detectors find in clean texts", heads(("subcategory", REASON), *numbers, "most in"), rows)


def _recall(found: Findings) -> Table:
    """A line a subcategory and variant, over all languages."""
    order = list(subcategories())
    by_kind: dict[tuple[str, str], list[Recall]] = {}
    for (_, name, variant), recall in found.recall.items():
        by_kind.setdefault((name, variant), []).append(recall)
    rows = []
    for name, variant in sorted(by_kind, key=lambda kind: (order.index(kind[0]), kind[1])):
        total = _sum(by_kind[name, variant])
        shares = (share(total.found, total.seen), share(total.found, total.texts), share(total.dropped, total.texts))
        rows.append((name, variant, grouped(total.texts), grouped(total.seen), grouped(total.found), *shares))
    numbers = each(COUNT, "texts", "looked at", "found", "of looked at", "of all", "dropped")
    return Table("What is found of what was planted", heads(*each(REASON, "planted", "written"), *numbers), rows)


def _by_language(found: Findings) -> Table:
    """A line a language: what is found, over all variants."""
    planted = {name for _, name, _ in found.recall}
    order = [name for name in subcategories() if name in planted]
    ends = [name.partition(".")[2] for name in order]

    def cell(language: str, name: str) -> str:
        own = _sum(one for (code, kind, _), one in found.recall.items() if (code, kind) == (language, name))
        looked = own.seen or found.alarms[language, name].seen
        return "nobody" if not looked else share(own.found, own.texts) if own.texts else "-"

    rows = [(language, *(cell(language, name) for name in order)) for language in sorted(found.clean)]
    title = "What is found, by language (nobody: no detector looks; -: nothing was planted)"
    named = (name if ends.count(end) > 1 else end for name, end in zip(order, ends, strict=True))
    return Table(title, heads("language", *each(COUNT, *named)), rows)


def _sum(several: Iterable[Recall]) -> Recall:
    total = Recall()
    for one in several:
        total += one
    return total
