"""The model of languages: texts are cleaned; the same examples give the same weights, which tell languages apart."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from tools.language_model import training
from tools.language_model.calibration import logistic
from tools.language_model.cleaning import cleaned, language_of, texts_by_label
from tools.language_model.examples import examples
from tools.language_model.noise import MISREAD, misread
from tools.language_model.quantising import quantised_outputs, quantised_rows, stepped
from tools.language_model.sources import Source, messages
from tools.language_model.tesseract import words
from winnow.filters.language.identification.own.judging import judge
from winnow.filters.language.identification.own.network import read_network
from winnow.filters.language.identification.own.sureness import COLUMNS
from winnow.filters.language.identification.scripts import dominant_scripts

pytestmark = pytest.mark.processes

SYLLABLES = {"eng": ("th", "ing", "ow", "sh"), "fin": ("kk", "yö", "ää", "tta"), "pol": ("szcz", "ąć", "rz", "ów")}
LABELS = ["Latn eng", "Latn fin", "Latn pol"]


def text_of(code: str, chance: random.Random) -> str:
    """Made words of a language's syllables."""
    return " ".join("".join(chance.choices(SYLLABLES[code], k=3)) for _ in range(8))


def trained(epochs: int = 40) -> dict[str, np.ndarray]:
    """The arrays of a model of three made languages."""
    chance = random.Random(1)
    pairs = [(number, text_of(label[5:], chance)) for number, label in enumerate(LABELS) for _ in range(200)]
    wanted = np.array([number for number, _ in pairs])
    bags = training.hashed([text for _, text in pairs])
    vocabulary = training.frequent(bags, 1_000, 2)
    bags = training.known(bags, vocabulary)
    rows = ((np.random.default_rng(1).random((len(vocabulary), 8), np.float32) * 2 - 1) / 8).astype(np.float32)
    outputs = np.zeros((3, 8), np.float32)
    firsts, lasts = np.zeros(len(wanted), np.int64), np.full(len(wanted), 3)
    training.fit(bags.values, bags.offsets, wanted, firsts, lasts, rows, outputs, epochs, 1.0, 7, True)
    kept = np.sort(np.argsort(-np.linalg.norm(rows, axis=1), kind="stable")[:300])
    arrays, _, unit = quantised_rows(rows[kept], 7)
    whole, output_unit = quantised_outputs(outputs)
    arrays |= stepped(vocabulary[kept]) | {"outputs": whole, "unit": np.array(unit * output_unit)}
    labels = np.frombuffer("\n".join(LABELS).encode(), np.uint8)
    return arrays | {"labels": labels, "usual_fit": np.zeros(3, np.float32), "sureness": np.zeros(len(COLUMNS))}


def test_the_same_examples_give_the_same_model() -> None:
    one, other = trained(epochs=5), trained(epochs=5)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_how_sure_labels_are_is_the_same_wherever_rows_are_in_memory() -> None:
    chance = np.random.default_rng(3)
    columns, counts = chance.normal(size=(5_000, 16)), chance.random(5_000)
    columns[:, 15], columns[:, 3] = 1, columns[:, 4] + columns[:, 3] / 1_000
    wanted = columns[:, 0] * 3 + columns[:, 1] - columns[:, 15] + chance.logistic(size=5_000) > 0
    found = logistic(columns, wanted, counts)
    for moved in range(1, 4):
        again = np.empty(columns.size + moved)[moved:].reshape(columns.shape)
        again[:] = columns
        assert np.array_equal(logistic(again, wanted, counts.copy()), found)
    slope = columns.T @ (counts * (1 / (1 + np.exp(-columns @ found)) - wanted)) + 0.01 * found
    assert np.abs(slope).max() < 1e-9  # of the loss, which has one lowest place
    apart = logistic(columns, columns[:, 0] > 0, counts)  # would have no end without a penalty
    assert np.isfinite(apart).all()


def test_a_model_tells_languages_apart() -> None:
    network, chance = read_network(trained()), random.Random(2)
    wanted = [number for number in range(3) for _ in range(40)]
    texts = [text_of(LABELS[number][5:], chance).encode() for number in wanted]
    ends = np.cumsum([len(text) for text in texts])
    starts, buffer = np.concatenate([[0], ends[:-1]]), np.frombuffer(b"".join(texts), np.uint8)
    judged = judge(network, buffer, starts, ends, dominant_scripts(buffer, starts, ends), 3)
    assert judged.labels[:, 0].tolist() == wanted
    assert (np.diff(judged.shares, axis=1) <= 0).all()
    assert np.allclose(judged.shares.sum(1), 1)


def test_rows_are_near_to_what_they_were() -> None:
    rows = np.random.default_rng(3).normal(size=(2_000, 16)).astype(np.float32)
    _, found, _ = quantised_rows(rows, 1)
    assert np.linalg.norm(found - rows) < 0.1 * np.linalg.norm(rows)


def graph(held: list[str]) -> bytes:
    """A model of Tesseract's with these words and nothing else."""
    letters = sorted({letter for word in held for letter in word})
    trie: dict[str, dict] = {}  # type: ignore[type-arg]
    for word in held:
        node = trie
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = {}
    nodes, places, size = [trie], {}, 0
    for node in nodes:  # grows on the way
        places[id(node)] = size
        size += len(node.keys() - {""})
        nodes += [child for letter, child in node.items() if letter and child.keys() - {""}]
    bits, edges = (len(letters) + 1).bit_length(), []
    for node in nodes:
        children = [(letter, child) for letter, child in node.items() if letter]
        for number, (letter, child) in enumerate(children):
            flags = (number == len(children) - 1) + 4 * ("" in child)
            edges.append(letters.index(letter) | flags << bits | places.get(id(child), 0) << bits + 3)
    words_part = struct.pack("<hii", 42, len(letters) + 1, len(edges)) + struct.pack(f"<{len(edges)}Q", *edges)
    characters = "\n".join([str(len(letters)), *(f"{letter} 1 0 Latin" for letter in letters)]).encode()
    begin = 4 + 8 * 22
    starts = [-1] * 22
    starts[19], starts[21] = begin, begin + len(words_part)
    return struct.pack("<i22q", 22, *starts) + words_part + characters


def test_words_of_a_graph_are_read(tmp_path: Path) -> None:
    held = ["an", "and", "ant", "bee", "been", "c"]
    (tmp_path / "model.traineddata").write_bytes(graph(held))
    assert words(tmp_path / "model.traineddata") == held


@pytest.mark.parametrize(
    ("locale", "code"),
    [("pt_BR", "por"), ("zh-min-nan", "nan"), ("sr@latin", "srp"), ("no", "nob"), ("als", "gsw"), ("sq", "als"),
     ("fa", "fas"), ("qqq", None), ("dz", None), ("notalanguage", None)],
)  # fmt: skip
def test_locales_name_languages(locale: str, code: str | None) -> None:
    assert language_of(locale) == code


def test_markup_and_placeholders_are_no_text() -> None:
    found = cleaned("Datei <b>{name}</b> &quot;%s&quot; öffnen: https://example.org/x $1 index.html", False)
    assert found.split() == ["Datei", '"', '"', "öffnen"]
    assert cleaned("_Datei &öffnen (O)", True) == "Datei öffnen"


def test_untranslated_and_foreign_texts_are_left_out() -> None:
    source = Source("made", "none", lambda _root: iter(()))
    found = [("de", "Guten Morgen, liebe Leute"), ("de", "Save the file in the folder"), ("de", "Доброе утро, люди"),
             ("en", "Save the file in the folder"), ("ru", "Доброе утро, люди")]  # fmt: skip
    assert texts_by_label(source, found, set()) == {
        "deu_Latn": ["Guten Morgen, liebe Leute"],
        "eng_Latn": ["Save the file in the folder"],
        "rus_Cyrl": ["Доброе утро, люди"],
    }


def test_small_languages_are_examples_of_unknown_ones() -> None:
    large = {"mediawiki": [f"sentence number {number} of a language" for number in range(400)]}
    labels = {
        example.label
        for example in examples(
            {"eng_Latn": large, "abc_Latn": {"mediawiki": ["little"]}, "abd_Latn": {"cldr": ["less"]}}, 1
        )
    }
    assert labels <= {"eng_Latn", "und_Latn"}
    assert "eng_Latn" in labels


def test_a_text_that_was_decoded_wrongly_differs() -> None:
    chance = random.Random(4)
    found = [misread("Дети шли вдоль реки, пока не стало темно", chance) for _ in range(40)]
    assert all(text != "Дети шли вдоль реки, пока не стало темно" for text in found)
    assert len(set(found)) > len(MISREAD) / 4


def test_translations_of_a_catalogue_are_read(tmp_path: Path) -> None:
    original, text = b"Open\0", "Öffnen\0".encode()
    head = struct.pack("<7I", 0x950412DE, 0, 1, 28, 36, 0, 0)
    tables = struct.pack("<4I", len(original) - 1, 44, len(text) - 1, 44 + len(original))
    (tmp_path / "a.mo").write_bytes(head + tables + original + text)
    assert list(messages(tmp_path / "a.mo")) == [("Open", "Öffnen")]
