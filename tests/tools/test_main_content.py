"""The model of main content: labels are right, and the same labelled pages give the same model."""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `torch`")
pytest.importorskip("lightgbm", reason="needs lightgbm, which trains trees: make test-torch brings it")

import torch  # type: ignore[import-not-found, unused-ignore]

from tools.main_content import network as training_network
from tools.main_content.labels import block_shares, word_f1, words_of
from tools.main_content.measuring import calibration
from tools.main_content.pages import folds_of, load, registered_domain
from tools.main_content.train import arrays, train
from tools.main_content.training import fit_linear, fit_trees, flat, unseen_features
from winnow.filters.extraction.main_content.features import COLUMNS, KINDS
from winnow.filters.extraction.main_content.model import cuts_of, judged, read, tree_sums
from winnow.filters.extraction.main_content.network import NUMBERS, inputs, logits

pytestmark = pytest.mark.torch

WORDS = [f"word{number}" for number in range(200)]


def written(folder: Path, pages: int) -> Path:
    """Pages of some sites, whose content stands in paragraphs of a class and among menus."""
    (folder / "html").mkdir(parents=True)
    truth = {}
    for number in range(pages):
        drawn = random.Random(number)
        body = [" ".join(drawn.choices(WORDS, k=30)).capitalize() + "." for _ in range(6)]
        menu = "".join(f"<li class=menu-item><a href=/{word}>{word}</a></li>" for word in drawn.choices(WORDS, k=12))
        html = f"<title>{body[0]}</title><ul class=site-menu>{menu}</ul><main class=post-body><h1>{body[0]}</h1>"
        html += "".join(f"<p>{text}</p>" for text in body) + f"</main><footer class=foot>{menu}</footer>"
        (folder / "html" / f"{number}.html.gz").write_bytes(gzip.compress(html.encode()))
        url = f"https://www.site{number % 20}.example/{number}"
        truth[str(number)] = {"url": url, "articleBody": "\n".join(body), "page_type": KINDS[number % len(KINDS)]}
    (folder / "ground-truth.json").write_text(json.dumps(truth))
    return folder


def test_a_blocks_share_is_that_of_its_words_in_the_body() -> None:
    blocks = [words_of(text) for text in ("Home News", "The news of today", "and of Monday", "Home", "")]
    assert block_shares(blocks, words_of("The news of today and of")).tolist() == pytest.approx([0, 1, 2 / 3, 0, 0])
    assert block_shares([], ["a"]).tolist() == []
    assert block_shares([["a"]], []).tolist() == [0]


def test_domains_are_those_that_are_registered_and_stay_together(tmp_path: Path) -> None:
    hosts = ("https://a.b.example.com/x", "http://www.example.co.uk/", "https://example.org", "nonsense")
    assert [registered_domain(host) for host in hosts] == ["example.com", "example.co.uk", "example.org", "nonsense"]
    pages = load(written(tmp_path, 40))
    folds = folds_of(pages, 5, 1)
    assert {len({int(fold) for page, fold in zip(pages, folds, strict=True) if page.domain == domain}) for domain in
            {page.domain for page in pages}} == {1}  # fmt: skip
    assert set(folds.tolist()) == set(range(5))


def test_what_an_expectation_is_worth_never_falls() -> None:
    expected = np.linspace(0, 1, 200)
    worth = calibration(np.clip(expected + np.sin(expected * 40) * 0.2, 0, 1), expected)
    assert (np.diff(worth, axis=1) >= -1e-6).all()


def test_compiled_trees_are_those_of_lightgbm(tmp_path: Path) -> None:
    pages = load(written(tmp_path, 40))
    rows, foreign, taken = unseen_features(pages, 1)
    booster = fit_trees(pages, rows, foreign, 20, min_data_in_leaf=5)
    every = np.concatenate(rows)
    expected = booster.predict(every, raw_score=True)
    np.testing.assert_allclose(tree_sums(cuts_of(flat(booster)), every), expected, rtol=1e-3, atol=1e-3)
    linear = fit_linear(pages, taken, 3)
    again = fit_linear(pages, taken, 3)
    network = training_network.fit_network(pages, rows, foreign, 1)
    first, second = arrays(linear, flat(booster), network), arrays(again, flat(booster), network)
    assert all((first[name] == second[name]).all() for name in first)


def test_the_network_in_numpy_is_the_one_that_was_trained(tmp_path: Path) -> None:
    pages = load(written(tmp_path, 8))
    random = np.random.default_rng(0)
    torch.manual_seed(0)
    tags = np.arange(3 * training_network.TAGS, dtype=np.int32).reshape(3, -1)
    mean, scale = np.zeros(len(NUMBERS), np.float32), np.ones(len(NUMBERS), np.float32)
    net = training_network._Net(len(NUMBERS) + tags.size).eval()
    rows = [random.normal(size=(len(page.blocks), len(COLUMNS))).astype(np.float32) * 3 for page in pages]
    batch = training_network._batch(
        [(page, inputs(own, mean, scale, tags)) for page, own in zip(pages, rows, strict=True)], 1.0
    )
    with torch.no_grad():
        expected = net(batch).numpy()
    weights = training_network._weights(net, mean, scale, tags)
    layouts = [page.blocks.layout for page in pages]
    found = [
        logits(weights, own, layout.group[:, 0], layout.heading + np.int32(1))
        for own, layout in zip(rows, layouts, strict=True)
    ]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-3, atol=1e-4)
    assert logits(weights, rows[0][:1], np.zeros(1, np.int32), np.zeros(1, np.int32)).shape == (1,)


def test_a_trained_model_finds_what_it_was_taught(tmp_path: Path) -> None:
    pages = load(written(tmp_path / "pages", 60))
    first = train(pages, tmp_path / "one.npz")
    assert train(pages, tmp_path / "two.npz") == first
    model = read(tmp_path / "one.npz")
    scores = []
    for page in load(written(tmp_path / "others", 80))[60:]:
        found = judged(page.blocks, model)
        kept = [word for block in np.flatnonzero(found.kept) for word in page.words[block].elements()]
        scores.append(word_f1(page.reference, type(page.reference)(kept)))
    assert np.mean(scores) > 0.9
