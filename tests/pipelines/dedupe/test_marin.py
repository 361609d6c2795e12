"""A source of templated pages must not collapse, and unrelated books must not be drawn into anything.

Both happened to others: candidates of locality-sensitive hashing were joined without a look at them, and what was
joined through others left two documents of 859,092 and took 51,160 unrelated books with it. Here such candidates
collapse as well; the clusters that are found do not.
"""

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from benchmarks.inputs.passages import Passages, passages_of
from tests.pipelines.dedupe.search import clusters, layer, search
from winnow.filters.duplicates.bands import band_keys
from winnow.filters.duplicates.candidates import candidate_pairs
from winnow.filters.duplicates.components import components
from winnow.filters.duplicates.signatures import Scheme, shingle_sets, sign
from winnow.filters.duplicates.verification import jaccard
from winnow.runners.demo.texts import declarations

PAGES, BOOKS, COPIES = 2000, 300, 60
THRESHOLD, TEMPLATED = 0.7, 0.64
CERTAIN = THRESHOLD + 3 * (THRESHOLD * (1 - THRESHOLD) / 112) ** 0.5  # from there on an estimate decides


@dataclass(frozen=True)
class Case:
    """What texts are compared by, and which candidates that gives."""

    scheme: Scheme
    bands: int
    rows: int


WORDS = Case(Scheme(), 14, 8)
CHARACTERS = Case(Scheme("characters", 5), 28, 4)  # finds what is alike at 0.43: pages, and books of one language


@cache
def real_passages() -> Passages:
    """Of the Declaration of Human Rights in its languages, and of Python's manual."""
    texts = [("eng", "\n\n".join(topics.values()))]
    for key, one in declarations().items():
        if key != "eng":
            texts.append((key, "\n\n".join(part.body for part in (*one.pages, *one.spares, *one.books))))
    languages, written = zip(*texts, strict=True)
    return passages_of(pa.array(languages), pa.array(written, pa.large_string()))


def random_text(language: str, count: int, number: int) -> str:
    """So many passages of a language, in an order of their own."""
    found = real_passages()
    at = found.languages.index(language)
    low, high = found.passages.starts[at : at + 2]
    chosen = random.Random(number).sample(range(low, high), min(count, int(high - low)))
    return "".join(found.passages.texts[place].as_py() for place in chosen)


def pages(scheme: Scheme) -> dict[str, str]:
    """One template; the languages of what stands in it take turns."""
    around = random_text("eng", 80, 1)
    languages = real_passages().languages
    lengths = {language: _own(around, language, scheme) for language in languages}
    turns = {number: languages[number % len(languages)] for number in range(PAGES)}
    return {
        f"page{number}": f"{around} {random_text(language, lengths[language], 100 + number)}"
        for number, language in turns.items()
    }


def _own(around: str, language: str, scheme: Scheme) -> int:
    """How many passages make pages of one language alike at `TEMPLATED`."""
    own = 20
    for _ in range(3):
        tried = {str(number): f"{around} {random_text(language, own, 50_000 + number)}" for number in range(12)}
        alike = float(np.mean(similarities(tried, scheme, list(pairwise(tried)))))
        own = max(1, round(own * (1 / TEMPLATED - 1) / (1 / alike - 1)))
    return own


def books() -> dict[str, str]:
    """Long English texts, every other under one licence."""
    licence = random_text("eng", 40, 2)
    return {
        f"book{number}": (licence if number % 2 else "") + random_text("eng", 400, 10_000 + number)
        for number in range(BOOKS)
    }


def copies(of: dict[str, str]) -> dict[str, str]:
    """Of some books another edition, with a few words more."""
    found = {}
    for number in range(COPIES):
        text = of[f"book{number}"]
        middle = text.index(" ", len(text) // 2)
        found[f"copy{number}"] = f"{text[:middle]} {random_text('eng', 3, 20_000 + number)} {text[middle:]}"
    return found


def similarities(texts: dict[str, str], scheme: Scheme, pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
    """True ones."""
    first, second = (
        shingle_sets(pa.array([texts[pair[side]] for pair in pairs], pa.large_string()), scheme) for side in (0, 1)
    )
    common, together = jaccard(first, second)
    return common / np.maximum(together, 1)


def unverified(texts: dict[str, str], case: Case) -> list[set[str]]:
    """What is joined where candidates are taken for duplicates."""
    names = np.array(list(texts))
    signed = sign(pa.array(texts.values(), pa.large_string()), case.scheme)
    keys = band_keys(signed.signature, case.bands, case.rows)
    found = candidate_pairs(keys.reshape(-1), np.repeat(np.arange(len(names), dtype=np.uint64), case.bands))
    vertices, roots = components(found.first, found.second)
    return [set(names[vertices[roots == root].astype(np.int64)].tolist()) for root in np.unique(roots)]


def of_pages(names: Iterable[str]) -> int:
    return sum(name.startswith("page") for name in names)


@pytest.mark.large
@pytest.mark.parametrize("case", [WORDS, CHARACTERS], ids=["words", "characters"])
def test_templated_pages_and_books_do_not_join_one_cluster(tmp_path: Path, case: Case) -> None:
    shelf = books()
    sources = {"pages": pages(case.scheme), "books": {**shelf, **copies(shelf)}}
    texts = {key: text for source in sources.values() for key, text in source.items()}
    for name, source in sources.items():
        (tmp_path / name).mkdir()
        lines = "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in source.items())
        (tmp_path / name / "a.jsonl").write_text(lines)
    scheme = case.scheme
    search(
        tmp_path,
        f"{{near: {{shingle: {scheme.unit}, size: {scheme.size}, bands: {case.bands}, rows: {case.rows}, "
        f"min_similarity: {THRESHOLD}}}}}",
        shard_rows=512,
        sources='  books: {root: books, files: ["*.jsonl"], class: web, key: id}\n',
    )
    found = clusters(tmp_path)
    # The trap is a real one: candidates alone join most of the site, and by characters the books with it.
    trap = max(unverified(texts, case), key=len)
    assert of_pages(trap) > 0.8 * PAGES
    if case is CHARACTERS:
        assert len(trap) - of_pages(trap) > 0.8 * BOOKS
    # The site is left, and of the books those that are there twice are found.
    site = [cluster for cluster in found if of_pages(cluster)]
    assert (
        sum(len(cluster) - 1 for cluster in site) <= 0.05 * PAGES
    )  # by estimates that chance has put beyond three standard errors
    assert max(map(len, site), default=0) <= 20
    assert {cluster for cluster in found if cluster not in site} == {
        frozenset({f"book{number}", f"copy{number}"}) for number in range(COPIES)
    }
    assert all(of_pages(cluster) == len(cluster) for cluster in site)
    # Whoever is in a cluster is truly like another, or so like it by its signature that chance hardly explains it.
    said = {key: row for key, row in layer(tmp_path, "near").items() if row["status"] == "ok"}
    truth = similarities(texts, scheme, [(key, str(row["matched"])) for key, row in said.items()])
    for row, true in zip(said.values(), truth.tolist(), strict=True):
        assert isinstance(row["similarity"], float)
        if row["by"] == "jaccard":
            assert row["similarity"] == true >= THRESHOLD
        else:
            assert row["similarity"] > CERTAIN
            assert true > THRESHOLD - 0.15
