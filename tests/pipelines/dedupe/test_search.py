"""Duplicates over a store: what is found, what is not, and that it hangs on the rows alone."""

import json
import random
from pathlib import Path
from typing import Any

import networkx
import pyarrow as pa
import pytest

from tests.faults.winnow import run_here
from tests.pipelines.dedupe.search import NEAR, Row, changed, clusters, layer, prose, search, write_pages
from tests.pipelines.store.commits import commits_of
from tests.runners.engines.recipes import noted_pipelines
from winnow.filters.duplicates.signatures import Scheme, shingle_sets
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.dedupe import graph, stage
from winnow.pipelines.dedupe.search import Search, signature_matrix
from winnow.pipelines.running.exchange import routes
from winnow.runners.stages import deduplication
from winnow.runners.stages.deduplication import compare
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.errors import StageError


def family(number: int, sizes: int, share: float) -> list[Row]:
    base = prose(number)
    rows: list[Row] = [{"id": f"{number}", "text": " ".join(base)}]
    rows += [
        {"id": f"{number}.{copy}", "text": " ".join(changed(base, share, 1000 * number + copy))}
        for copy in range(1, sizes)
    ]
    return rows


def corpus() -> list[Row]:
    """Sixty texts alone, ten families at J ≈ 0.95, five of equal texts, three whose chains join two families."""
    rows: list[Row] = [{"id": f"alone{number}", "text": " ".join(prose(number))} for number in range(1000, 1060)]
    for number in range(10):
        rows += family(number, 3, 0.005)
    for number in range(20, 25):
        rows += [{"id": f"equal{number}.{copy}", "text": " ".join(prose(number)).upper()} for copy in range(4)]
    rows += [{"id": "like-equal20", "text": " ".join(changed(prose(20), 0.004, 1))}]
    return rows


def test_similar_texts_and_no_others_form_a_cluster(tmp_path: Path) -> None:
    rows = corpus()
    write_pages(tmp_path, {"a": rows})
    search(tmp_path)
    texts = {str(row["id"]): str(row["text"]) for row in rows}
    assert clusters(tmp_path) == true_clusters(texts, 0.75)
    found = layer(tmp_path, "near")
    assert found["alone1000"]["status"] == "unmatched"
    assert (found["alone1000"]["cluster"], found["alone1000"]["size"]) == ("alone1000", 1)
    assert found["alone1000"]["similarity"] is None
    assert {found[f"equal20.{copy}"]["size"] for copy in range(4)} == {5}
    assert {found[f"equal20.{copy}"]["by"] for copy in range(4)} == {"equal"}
    assert str(found["like-equal20"]["matched"]).startswith("equal20")
    assert 0.9 < float(str(found["like-equal20"]["similarity"])) < 1


def true_clusters(texts: dict[str, str], threshold: float) -> set[frozenset[str]]:
    """From the true similarity of every two texts."""
    offsets, values = shingle_sets(pa.array(texts.values(), pa.large_string()), Scheme())
    sets = [set(values[offsets[at] : offsets[at + 1]].tolist()) for at in range(len(texts))]
    names = list(texts)
    similar = networkx.Graph()
    for one in range(len(names)):
        for other in range(one):
            both = len(sets[one] & sets[other])
            if both and both / len(sets[one] | sets[other]) >= threshold:
                similar.add_edge(names[one], names[other])
    return {frozenset(found) for found in networkx.connected_components(similar)}


@pytest.mark.processes
def test_the_result_does_not_depend_on_order_files_shards_or_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = corpus()
    write_pages(tmp_path / "one", {"a": rows})
    search(tmp_path / "one")
    mixed = random.Random(5).sample(rows, len(rows))
    write_pages(tmp_path / "two", {"a": mixed})
    monkeypatch.setenv(deduplication.HERE_VARIABLE, "0")
    search(tmp_path / "two", shard_rows=17, workers=2)
    assert layer(tmp_path / "two", "near") == layer(tmp_path / "one", "near")


@pytest.mark.parametrize("kinds", ["{exact: {}, url: {}}", NEAR], ids=["equal", "near"])
def test_little_is_compared_in_this_process_with_the_result_of_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: str
) -> None:
    pipelines = noted_pipelines(monkeypatch)
    for name, on_engine in (("here", []), ("engine", ["dedupe.compare", "dedupe"])):
        write_pages(tmp_path / name, {"a": corpus()})
        search(tmp_path / name, kinds, shard_rows=17)
        assert pipelines == ["ingest", "annotate.cpu", *on_engine]
        pipelines.clear()
        monkeypatch.setenv(deduplication.HERE_VARIABLE, "0")
    for kind in ("near",) if kinds == NEAR else ("exact", "url"):
        assert layer(tmp_path / "here", kind) == layer(tmp_path / "engine", kind)


@pytest.mark.processes
@pytest.mark.parametrize("size", [512 << 10, 1 << 30], ids=["several shards in a group", "one group"])
def test_the_result_does_not_depend_on_how_shards_are_grouped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    groups: list[int] = []

    def counted(run: StageRun, searching: Search, *others: Any) -> None:
        groups.append(searching.listed.groups)
        compare(run, searching, *others)

    monkeypatch.setattr(deduplication, "compare", counted)
    for name in ("each", "grouped"):
        write_pages(tmp_path / name, {"a": corpus()})
        search(tmp_path / name, "{exact: {}, near: {min_similarity: 0.75}}", shard_rows=17)
        monkeypatch.setattr(stage, "GROUP_BYTES", size)
    shards, grouped = groups
    assert (grouped == 1) if size == 1 << 30 else (1 < grouped < shards)
    for kind in ("exact", "near"):
        assert layer(tmp_path / "each", kind) == layer(tmp_path / "grouped", kind)


@pytest.mark.parametrize("shuffle", ["files", "engine"])
def test_the_result_does_not_depend_on_how_values_travel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffle: str
) -> None:
    for name in ("straight", "relayed"):
        write_pages(tmp_path / name, {"a": corpus()})
        search(tmp_path / name, "{exact: {}, near: {min_similarity: 0.75}}", shard_rows=17, shuffle=shuffle)
        monkeypatch.setattr(graph, "partitions_for", lambda _: 5)
        monkeypatch.setattr(routes, "MOST_STRAIGHT", 1)
        shuffle = "auto"
    for kind in ("exact", "near"):
        assert layer(tmp_path / "straight", kind) == layer(tmp_path / "relayed", kind)


def test_templated_pages_below_the_threshold_do_not_collapse(tmp_path: Path) -> None:
    """Pages that share boilerplate at J about 0.64: their estimates scatter over the threshold, the truth does not."""
    boilerplate = prose(1, 400)
    rows: list[Row] = [
        {"id": f"page{number}", "text": " ".join([*boilerplate, *prose(50 + number, 112)])} for number in range(150)
    ]
    rows += [{"id": f"book{number}", "text": " ".join(prose(5000 + number, 400))} for number in range(20)]
    write_pages(tmp_path, {"a": rows})
    search(tmp_path, "{near: {min_similarity: 0.7}}")
    found = layer(tmp_path, "near")
    assert clusters(tmp_path) == set()
    assert {row["status"] for row in found.values()} == {"unmatched"}


def test_pairs_that_estimates_cannot_decide_are_decided_by_shingles(tmp_path: Path) -> None:
    rows: list[Row] = []
    for number in range(40):
        rows += family(number, 2, 0.02 + 0.001 * (number % 10))
    write_pages(tmp_path, {"a": rows})
    search(tmp_path)
    truth = true_clusters({str(row["id"]): str(row["text"]) for row in rows}, 0.75)
    assert clusters(tmp_path) <= truth  # some pairs share no band, as the curve says; none is joined wrongly
    decided = {row["by"] for row in layer(tmp_path, "near").values() if row["by"] is not None}
    assert "jaccard" in decided


def test_a_similarity_of_just_the_threshold_is_similar(tmp_path: Path) -> None:
    """Thirty shingles of forty are common: 0.75, which is a float without error."""
    rows: list[Row] = []
    for number in range(12):
        words = [f"w{number}x{place}" for place in range(44)]
        rows += [{"id": f"{number}a", "text": " ".join(words[:34])}, {"id": f"{number}b", "text": " ".join(words)}]
    write_pages(tmp_path, {"a": rows})
    pairs = {frozenset({f"{number}a", f"{number}b"}) for number in range(12)}
    search(tmp_path)
    assert clusters(tmp_path)  # those that share a band
    assert clusters(tmp_path) <= pairs
    search(tmp_path, "{near: {min_similarity: 0.7501}}")
    assert not clusters(tmp_path)


def test_equal_texts_are_found_despite_different_white_space(tmp_path: Path) -> None:
    texts = {"a": "The cat sat.", "b": "  The cat\n sat. ", "c": "the cat sat", "d": "!!!", "e": "!!!"}
    write_pages(tmp_path, {"a": [{"id": key, "text": text} for key, text in texts.items()]})
    search(tmp_path, "{exact: {}}")
    assert clusters(tmp_path, "exact") == {frozenset("ab"), frozenset("de")}
    search(tmp_path, "{exact: {form: bytes}}")
    assert clusters(tmp_path, "exact") == {frozenset("de")}


def test_equal_addresses_are_found_in_any_spelling(tmp_path: Path) -> None:
    urls = {
        "a": "http://www.example.com/x?b=2&a=1&utm_source=feed",
        "b": "https://example.com/x/?a=1&b=2#part",
        "c": "https://example.com/y",
        "d": None,
    }
    write_pages(tmp_path, {"a": [{"id": key, "text": f"Text {key}", "url": url} for key, url in urls.items()]})
    search(tmp_path, "{url: {}}")
    assert clusters(tmp_path, "url") == {frozenset("ab")}
    assert layer(tmp_path, "url")["d"]["status"] == "no_input"


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.processes)])
def test_unusual_texts_are_distinguished_and_none_is_lost(tmp_path: Path, workers: int) -> None:
    texts = {
        "one": "word",
        "other": "word",
        "punctuation": "!?!?",
        "nul": "\0" * 50,
        "escaped": "\udcff and more".encode("utf-8", "replace").decode(),
        "repeated": "a" * 100_000,
        "again": "a" * 100_000,
        "long": " ".join(prose(3, 30_000)),
    }
    write_pages(tmp_path, {"a": [{"id": key, "text": text} for key, text in texts.items()]})
    search(tmp_path, workers=workers)
    assert clusters(tmp_path) == {frozenset({"one", "other"}), frozenset({"repeated", "again"})}
    found = layer(tmp_path, "near")
    assert found["punctuation"]["status"] == found["nul"]["status"] == "no_words"
    assert found["punctuation"]["size"] is None


def test_many_equal_texts_are_one_cluster(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"id": str(number), "text": "The same text again and again and again."} for number in range(5000)
    ]
    write_pages(tmp_path, {"a": rows})
    search(tmp_path, shard_rows=1000)
    assert {row["size"] for row in layer(tmp_path, "near").values()} == {5000}


def test_rules_of_keep_may_read_the_layer_and_rules_of_eligible_may_not(tmp_path: Path) -> None:
    from winnow.pipelines.query.recipe_rules import pinned_rules
    from winnow.schemas.errors import RecipeError
    from winnow.schemas.recipe import load_recipe

    write_pages(tmp_path, {"a": corpus()})
    outcome = search(tmp_path)
    rule = "[{drop: dedupe.near.size > 4, reason: many, when_null: keep}]"
    recipe = tmp_path / "recipe.yaml"
    plain = recipe.read_text()
    recipe.write_text(f"{plain}keep: {rule}\n")
    assert pinned_rules(bind(load_recipe(recipe)), outcome.store, outcome.generation) is not None
    recipe.write_text(f"{plain}eligible: {rule}\n")
    with pytest.raises(RecipeError, match="move the rule to `keep`"):
        pinned_rules(bind(load_recipe(recipe)), outcome.store, outcome.generation)
    recipe.write_text(f"{plain.replace('0.75', '0.8')}keep: {rule}\n")
    with pytest.raises(RecipeError, match="made with other settings"):
        pinned_rules(bind(load_recipe(recipe)), outcome.store, outcome.generation)


def test_a_forgotten_row_is_not_compared_and_a_purge_removes_its_traces(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": family(1, 3, 0.005)})
    outcome = search(tmp_path)
    manifest = outcome.store.manifest(outcome.generation, "samples")
    samples = [row for one in manifest for batch in outcome.store.batches(one) for row in batch.to_pylist()]
    ids = {row["source"]["record"]: row["id"] for row in samples}
    assert clusters(tmp_path) == {frozenset({"1", "1.1", "1.2"})}
    assert run_here(tmp_path, "forget", "recipe.yaml", "--id", ids["1"].hex()).status == 0
    planned = run_here(tmp_path, "plan", "recipe.yaml", "--json")  # at once, before anything is searched again
    assert planned.status == 0, planned.err
    rules = json.loads(planned.out)["rules"]
    assert (rules["kept"]["rows"], rules["forgotten"]["rows"], rules["rules"][0]["dropped"]["rows"]) == (1, 1, 1)
    search(tmp_path)
    assert clusters(tmp_path) == {frozenset({"1.1", "1.2"})}
    assert sorted(str(row["status"]) for row in layer(tmp_path, "near").values()) == ["forgotten", "ok", "ok"]
    purged = run_here(tmp_path, "gc", "recipe.yaml", "--purge")
    assert purged.status == 0, purged.err
    left = outcome.store.require_latest()
    assert not [name for name in left.layers if name.startswith("dedupe.")]
    assert not list(outcome.store.objects.list("layers/dedupe.near/"))
    search(tmp_path)
    assert clusters(tmp_path) == {frozenset({"1.1", "1.2"})}


def test_the_next_search_finishes_one_that_was_stopped(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": corpus()})
    before = search(tmp_path)
    objects = before.store.objects
    for path in commits_of(objects, "dedupe.near")[1:]:
        objects.delete(path)
    objects.delete(next(info.path for info in objects.list("layers/dedupe.near/")))
    objects.put("scratch/dedupe/older/near/members/00000000.arrow", b"of a search that was stopped")
    after = search(tmp_path)
    assert after.generation.tree_hash == before.generation.tree_hash
    assert not list(objects.list("scratch/"))


def test_signatures_of_another_scheme_are_refused(tmp_path: Path) -> None:
    signatures = pa.array([b"\0" * 4 * 112], pa.binary(4 * 112))
    with pytest.raises(StageError, match="112 hashes instead of 126"):
        signature_matrix(signatures, 126)
