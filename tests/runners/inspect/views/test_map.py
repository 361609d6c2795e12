"""Maps of embeddings: clusters and their names, the view, and the table that embedding-atlas reads."""

import json
import math
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.measuring.environments import peer_python
from tests.faults.winnow import ended, run_here
from tests.runners.inspect.asking import served
from tests.runners.inspect.embedded_store import RECIPE, SUBJECTS
from tests.runners.inspect.views.sites_store import ask, opened, rows_of
from winnow.pipelines.query.vector_map import (
    _first_of_each,
    cluster_words,
    map_vectors,
    neighbours,
    spread_rows,
)
from winnow.runners.inspect.view import AskedError, UnavailableError


def blobs(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Vectors about six directions, and which one each is about."""
    drawn = np.random.default_rng(seed)
    centres = drawn.normal(size=(6, 32))
    of = drawn.integers(0, 6, 600)
    return (centres[of] + 0.3 * drawn.normal(size=(600, 32))).astype(np.float32), of


def test_clusters_are_those_that_vectors_were_drawn_about_and_points_principal_components() -> None:
    vectors, of = blobs()
    found = map_vectors(vectors)
    pairs = {(own, int(cluster)) for own, cluster in zip(of.tolist(), found.clusters, strict=True)}
    assert len({own for own, _ in pairs}) == 6
    assert all(len({own for own, cluster in pairs if cluster == one}) == 1 for one in set(found.clusters.tolist()))
    assert found.sizes == sorted(found.sizes, reverse=True)
    centred = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    for at in range(2):  # the principal components, up to sign and scale
        assert abs(np.corrcoef(centred @ axes[at], found.points[:, at])[0, 1]) > 0.999
    assert np.abs(found.points).max(axis=0) == pytest.approx([1, 1])
    assert np.array_equal(map_vectors(vectors).points, found.points)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_few_vectors_or_equal_ones_have_a_map(count: int) -> None:
    for vectors in (np.ones((count, 4), np.float32), np.zeros((count, 4), np.float32), np.eye(50, 4)[:count]):
        found = map_vectors(vectors.astype(np.float32))
        assert found.points.shape == (count, 2)
        assert np.isfinite(found.points).all()
        assert sum(found.sizes) == count


def test_neighbours_are_the_nearest_by_brute_force() -> None:
    vectors, _ = blobs()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -2)
    ids, far = neighbours(vectors, 5)
    for row in range(0, 600, 37):
        best = np.sort(similar[row])[::-1][:5]
        assert np.allclose(1 - far[row], best, atol=1e-6)
        assert np.allclose(similar[row][ids[row]], best, atol=1e-6)
    assert neighbours(vectors[:1])[0].shape == (1, 0)


def test_rows_are_spread_over_all() -> None:
    rows = np.arange(1_000_000) * 3
    found = spread_rows(rows, 50_000)
    assert 45_000 <= len(found) <= 50_000
    assert np.array_equal(np.unique(found), found)
    assert np.histogram(found, 10)[0].min() > 3_000
    assert np.array_equal(spread_rows(rows[:100], 100), rows[:100])


def test_clusters_are_named_by_words_that_others_lack() -> None:
    texts = [text for text in SUBJECTS.values() for _ in range(5)] + ["東京の天気は晴れです"] * 5
    names = cluster_words(texts, np.repeat(np.arange(4), 5).astype(np.int16))
    assert [
        set(name.split(", ")) & set(text.lower().replace(",", "").replace(".", "").split())
        for name, text in zip(names, SUBJECTS.values(), strict=False)
    ] == [set(name.split(", ")) for name in names[:3]]
    assert all(len(word) == 2 for word in names[3].split(", "))
    assert cluster_words(["", ""], np.zeros(2, np.int16)) == ["(no words)"]


def test_of_rows_with_many_vectors_the_first_are_read(embedded: Path) -> None:
    of, items = np.array([2, 2, 2, 5, 7, 7]), np.array([0, 1, 2, 0, 0, 1])
    rows, found, vectors = _first_of_each(of, items, np.arange(6, dtype=np.float32)[:, None], 4)
    assert (rows.tolist(), found.tolist(), vectors[:, 0].tolist()) == ([2, 2, 5, 7], [0, 1, 0, 0], [0, 1, 3, 4])
    shown = opened(embedded / "recipe.yaml")
    ask(shown, "map")
    (kept,) = (value for key, value in shown.kept.items() if key[0] == "map")
    assert not hasattr(kept, "sampled")  # nor its vectors
    assert kept.nbytes > 150 * (8 + 8 + 8 + 2 + 32)


def test_the_map_of_a_store_has_its_rows_in_clusters_by_subject(embedded: Path) -> None:
    shown = opened(embedded / "recipe.yaml")
    found = ask(shown, "map")
    points = found["points"]
    assert (found["layer"], found["of"], len(points["x"])) == ("text.embedding", 150, 150)
    assert found["without_vector"] == 0
    texts = {row["id"]: row["text"] for batch in shown.tables.read_columns(["id", "text"]) for row in batch.to_pylist()}
    subjects = [next(one for one in SUBJECTS if f" on {one}." in texts[name]) for name in points["id"]]
    assert len({*zip(subjects, points["cluster"], strict=True)}) == 3
    words = {one["cluster"]: one["words"] for one in found["clusters"]}
    for subject, cluster in zip(subjects, points["cluster"], strict=True):
        assert set(words[cluster].split(", ")) <= {
            *SUBJECTS[subject].lower().replace(",", "").replace(".", "").split(),
            subject,
        }
    fewer = ask(shown, "map", most=30)
    assert len(fewer["points"]["x"]) <= 30


def test_a_part_of_the_map_is_a_filter_of_all_views_and_stays_the_same_part(embedded: Path) -> None:
    shown = opened(embedded / "recipe.yaml")
    points = ask(shown, "map")["points"]
    places = list(zip(points["x"], points["y"], points["row"], points["cluster"], strict=True))
    box = [-0.5, 1.0, -1.0, 0.25]
    inside = sorted(row for x, y, row, _ in places if box[0] <= x <= box[1] and box[2] <= y <= box[3])
    assert 0 < len(inside) < 150
    part = {"layer": "text.embedding", "box": box}
    found = ask(shown, "samples", filter={"map": part}, size=100)
    assert found["total"] == len(inside)
    assert {row["row"] for row in found["rows"]} <= {*inside}
    assert ask(shown, "linked", dimensions=[{"column": "language"}], filter={"map": part})["rows"] == len(inside)
    assert ask(shown, "domains", filter={"map": part})["whole"]["rows"] == len(inside)
    of_cluster = {"layer": "text.embedding", "cluster": 1}
    assert ask(shown, "samples", filter={"map": of_cluster})["total"] == sum(one[3] == 1 for one in places)
    length = {"text.embedding.tokens": [0, 20]} if "text.embedding.tokens" in shown.tables.columns else {}
    among = {"ranges": length, "kept": None}
    drawn = ask(shown, "map", filter=among)["points"]
    assert ask(shown, "samples", filter={"map": {**of_cluster, "among": among}})["total"] == drawn["cluster"].count(1)
    both = ask(shown, "samples", filter={"map": part, "text": "harbour"}, size=100)
    harbour = ask(shown, "samples", filter={"text": "harbour"}, size=100)["rows"]
    assert {row["row"] for row in both["rows"]} == {row["row"] for row in harbour} & {*inside}
    again = opened(embedded / "recipe.yaml")  # another start
    assert ask(again, "samples", filter={"map": part})["total"] == len(inside)


@pytest.mark.parametrize(
    "part",
    [
        [1],
        {"layer": "text.embedding"},
        {"layer": "text.embeding", "cluster": 0},
        {"layer": "text.embedding", "cluster": True},
        {"layer": "text.embedding", "cluster": 0, "box": [0, 1, 0, 1]},
        {"layer": "text.embedding", "box": [0, 1, 0]},
        {"layer": "text.embedding", "box": [math.nan, 1, 0, 1]},
        {"layer": "text.embedding", "box": [0, math.inf, 0, 1]},
        {"layer": "text.embedding", "cluster": 10**6},
        {"layer": "text.embedding", "box": [0, 1, 0, "1"]},
        {"layer": "text.embedding", "cluster": 0, "among": {"map": {"layer": "text.embedding", "cluster": 0}}},
        {"layer": "text.embedding", "cluster": 0, "among": {"x": 1}},
    ],
)
def test_a_part_that_no_map_has_is_refused(embedded: Path, part: object) -> None:
    with pytest.raises(AskedError):
        ask(opened(embedded / "recipe.yaml"), "samples", filter={"map": part})


def test_tabs_end_no_maps_of_each_other(embedded: Path) -> None:
    with served(opened(embedded / "recipe.yaml")) as page:
        page.view("funnel")  # its frame
        found: dict[str, bool] = {}

        def draw(tab: str, most: int) -> None:
            found[tab] = page.view("map", lane="map", turn=1, tab=tab, most=most)["ok"]

        tabs = [threading.Thread(target=draw, args=(f"tab {most}", most)) for most in (50, 100, 150)]
        for tab in tabs:
            tab.start()
        for tab in tabs:
            tab.join(60)
    assert found == {"tab 50": True, "tab 100": True, "tab 150": True}


def test_the_table_for_embedding_atlas_has_edited_texts_and_is_known_to_forget(embedded: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(embedded, folder)
    said = ended(run_here(folder, "vectors", "recipe.yaml", "--atlas", "atlas.parquet", "--layer", "text.embedding"))
    assert "150 rows of text.embedding" in said
    rows = pq.read_table(folder / "atlas.parquet").to_pylist()
    assert len(rows) == 150
    for number, row in enumerate(rows):
        assert -1 <= row["x"] <= 1
        assert "postamt.se" not in row["text"]
        assert len(row["neighbors"]["ids"]) == len(row["neighbors"]["distances"]) == 15
        assert number not in row["neighbors"]["ids"]
    gone = ended(run_here(folder, "forget", "recipe.yaml", "--id", rows[0]["id"]))
    assert "atlas.parquet" in gone
    ended(run_here(folder, "vectors", "recipe.yaml", "--atlas", "atlas.parquet", "--layer", "text.embedding"))
    assert rows[0]["id"] not in {row["id"] for row in pq.read_table(folder / "atlas.parquet").to_pylist()}
    assert rows[0]["id"] not in ask(opened(folder / "recipe.yaml"), "map")["points"]["id"]
    ended(run_here(folder, "vectors", "store", "--atlas", "plain.parquet", "--layer", "text.embedding"))
    assert {row["text"] for row in pq.read_table(folder / "plain.parquet").to_pylist()} == {None}


READER = """
import json, sys
from embedding_atlas.graph_metrics import compute_degree_columns
from embedding_atlas.utils import load_pandas_data

table = load_pandas_data(sys.argv[1])
degrees = compute_degree_columns(table, neighbors="neighbors")
print(json.dumps([len(table), table.x.tolist(), table.text.tolist(), degrees[2].tolist()]))
"""


@pytest.mark.peers
def test_embedding_atlas_reads_the_table(embedded: Path, tmp_path: Path) -> None:
    file = tmp_path / "atlas.parquet"
    ended(run_here(embedded, "vectors", "recipe.yaml", "--atlas", str(file), "--layer", "text.embedding"))
    done = subprocess.run(
        [peer_python("embedding-atlas"), "-c", READER, file], capture_output=True, text=True, check=True, timeout=300
    )
    rows, x, texts, degrees = json.loads(done.stdout)
    table = pq.read_table(file)
    assert (rows, x, texts) == (150, table["x"].to_pylist(), table["text"].to_pylist())
    assert min(degrees) >= 15


def test_a_store_without_embeddings_says_what_to_run(sites: Path) -> None:
    shown = opened(sites / "recipe.yaml")
    assert rows_of(shown)
    with pytest.raises(UnavailableError, match="run: winnow annotate"):
        ask(shown, "map")


def test_an_export_that_asks_for_a_map_has_one_of_its_samples_beside_it(embedded: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(embedded, folder)
    asked = (
        "mix: {unit: samples, budget: 60}\nexport: [{jsonl: {path: out, compression: none, atlas: text.embedding}}]\n"
    )
    (folder / "recipe.yaml").write_text(RECIPE + asked)
    said = ended(run_here(folder, "export", "recipe.yaml", "--workers", "1"))
    file = folder / "out.atlas.parquet"
    rows = pq.read_table(file).to_pylist()
    lines = [line for one in folder.glob("out/**/*.jsonl*") for line in lines_of(one)]
    assert len(lines) == 60
    assert {row["id"] for row in rows} == {line["id"] for line in lines}
    assert all("@postamt.se" not in row["text"] for row in rows)
    assert "60 rows of text.embedding on a map" in said.replace(",", "")
    written = file.stat().st_mtime_ns
    ended(run_here(folder, "export", "recipe.yaml", "--workers", "1"))  # both are there
    assert file.stat().st_mtime_ns == written
    file.unlink()
    ended(run_here(folder, "export", "recipe.yaml", "--workers", "1"))
    assert pq.read_table(file).to_pylist() == rows
    gone = ended(run_here(folder, "forget", "recipe.yaml", "--id", rows[0]["id"]))
    assert "out.atlas.parquet" in gone
    for wrong, why in (("text.language", "no layer of vectors"), ("text.embeding", "did you mean")):
        (folder / "recipe.yaml").write_text(RECIPE + asked.replace("atlas: text.embedding", f"atlas: {wrong}"))
        done = run_here(folder, "plan", "recipe.yaml")
        assert done.status != 0
        assert "export[0].jsonl.atlas" in done.err
        assert why in done.err


def test_a_map_without_rows_takes_the_place_of_an_older_file_alone(embedded: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(embedded, folder)
    command = ("vectors", "recipe.yaml", "--atlas", "atlas.parquet", "--layer", "text.embedding")
    ended(run_here(folder, *command))
    every = [row["id"] for row in pq.read_table(folder / "atlas.parquet").to_pylist()]
    ended(run_here(folder, "forget", "recipe.yaml", *(part for one in every for part in ("--id", one))))
    done = run_here(folder, *command)
    assert done.status == 3
    assert "0 rows of text.embedding" in done.out + done.err
    assert pq.read_table(folder / "atlas.parquet").num_rows == 0
    (folder / "atlas.parquet").unlink()
    assert run_here(folder, *command).status == 3
    assert not (folder / "atlas.parquet").exists()
    shown = opened(folder / "recipe.yaml")
    answer = ask(shown, "map")
    assert (answer["sampled"], answer["of"], answer["points"]["x"], answer["clusters"]) == (0, 0, [], [])
    with_filter = ask(shown, "map", filter={"map": {"layer": "text.embedding", "box": [-1, 1, -1, 1]}})
    assert with_filter["sampled"] == 0


def lines_of(file: Path) -> list[dict[str, object]]:
    """The rows of an export as JSON lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_a_map_has_no_text_whose_edits_were_measured_by_other_settings(embedded: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(embedded, folder)
    (folder / "recipe.yaml").write_text(RECIPE.replace("kinds: [email]", "kinds: [email, phone]"))
    done = run_here(folder, "vectors", "recipe.yaml", "--atlas", "atlas.parquet", "--layer", "text.embedding")
    assert done.status != 0
    assert "winnow annotate" in done.err
    assert not (folder / "atlas.parquet").exists()
