"""`winnow subsets`: the mean scores of lists of uids, against the store's own columns; and what is no list."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.messages import assert_refused, assert_told
from tests.runners.scores.stores import RECIPE, TRAINED, make_store, scored, table
from winnow.pipelines.export.planning.id_list import UID, write_id_list
from winnow.pipelines.score.evaluations import evaluated, known_evaluation
from winnow.pipelines.score.subsets import MEASURES, arrow_uids, common, overlaps, read_uids, score_subsets
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.runners.stages.publishing import Outcome
from winnow.schemas.errors import RecipeError, StageError
from winnow.schemas.recipe import load_recipe


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("subsets")
    make_store(made)
    (made / "recipe.yaml").write_text(RECIPE.format(score=TRAINED, more=""))
    return made


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return scored(load_recipe(folder / "recipe.yaml"))


def listed(folder: Path, name: str, ids: pa.Array) -> str:
    write_id_list([ids], folder / name)
    return str(folder / name)


def test_means_are_those_of_the_listed_rows_and_of_all(folder: Path, outcome: Outcome) -> None:
    ids, scores = table(outcome, "samples")["id"].combine_chunks(), table(outcome, "score.mimic")
    half = np.arange(len(ids)) % 2 == 0
    foreign = pa.array([b"x" * 16], pa.binary(16))
    name = listed(folder, "half.npy", pa.concat_arrays([ids.filter(pa.array(half)), foreign]))
    store = open_store_at(folder / "store")
    one, every = score_subsets(store, outcome.generation, {"half": read_uids(Path(name))})
    assert (one.listed, one.found, every.found) == (half.sum() + 1, half.sum(), len(ids))
    for measure in MEASURES:
        on_request = pa.nulls(len(ids), pa.float64())  # not asked for here
        values = (scores[measure] if measure in scores.column_names else on_request).to_numpy(zero_copy_only=False)
        for subset, rows in ((one, half), (every, np.ones(len(ids), bool))):
            known = values[rows & np.isfinite(values)]
            assert subset.mean("mimic", measure) == (pytest.approx(known.mean()) if len(known) else None)


@pytest.mark.processes
def test_uids_may_be_in_the_metadata(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    uids = [f"{number:032x}" for number in range(1, 5)]
    lines = [{"text": f"text {number}", "meta": {"uid": uid}} for number, uid in enumerate([*uids, "no uid"])]
    (tmp_path / "web" / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "r.yaml").write_text(
        "version: 1\nstore: {path: store}\nsources: {web: {root: web, files: ['*.jsonl'], class: web}}\n"
    )
    assert main(["ingest", str(tmp_path / "r.yaml")]) == 0
    pairs = [(int(uid[:16], 16), int(uid[16:], 16)) for uid in (uids[0], uids[2], "f" * 32)]
    np.save(tmp_path / "u.npy", np.array(pairs, UID))
    from winnow.pipelines.query.generation import require_latest_for

    store = open_store_at(tmp_path / "store")
    lists = {"u": read_uids(tmp_path / "u.npy")}
    one, _ = score_subsets(store, require_latest_for(None, store), lists, "meta.uid")
    assert (one.listed, one.found) == (3, 2)


def test_lists_are_intersected_as_they_are(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    every = random.integers(0, 1 << 63, (60, 2), np.uint64)
    every[0] = (0, 256)  # ends in zeros
    files = []
    for number, rows in enumerate((every[:40], every[::-1][:40])):
        np.save(tmp_path / f"{number}.npy", np.array([tuple(one) for one in rows.tolist()], UID))
        files.append(tmp_path / f"{number}.npy")
    lists = {file.name: read_uids(file) for file in files}
    shared = common(list(lists.values()))
    assert write_id_list([arrow_uids(shared)], tmp_path / "both.npy") == 20
    wanted = sorted(tuple(one) for one in every[20:40].tolist())
    assert [tuple(one) for one in np.load(tmp_path / "both.npy").tolist()] == wanted
    (found,) = overlaps(lists)
    assert (found.both, found.either) == (20, 60)


def test_the_command_writes_the_intersection_and_tells_means(
    folder: Path, outcome: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = table(outcome, "samples")["id"].combine_chunks()
    first, second = listed(folder, "1.npy", ids[:30]), listed(folder, "2.npy", ids[20:])
    arguments = ["subsets", str(folder / "recipe.yaml"), first, second, "--write", str(folder / "both.npy"), "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"] == 10
    assert len(told["subsets"]["rows"] if isinstance(told["subsets"], dict) else told["subsets"]) == 4
    assert len(np.load(folder / "both.npy")) == 10


EVALUATE = """
import json, sys
import numpy as np
print("training …")
with open("runs.txt", "a") as runs:
    print(sys.argv[1], file=runs)
print(json.dumps({"accuracy": len(np.load(sys.argv[1])) / 100, "steps": 7}))
"""


def test_a_program_evaluates_lists_and_its_numbers_stay_beside_them(
    folder: Path, outcome: Outcome, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evaluate.py").write_text(EVALUATE)
    ids = table(outcome, "samples")["id"].combine_chunks()
    first, second = listed(tmp_path, "1.npy", ids[:30]), listed(tmp_path, "2.npy", ids[20:60])
    plain = ["subsets", str(folder / "recipe.yaml"), first, second, "--json"]
    asked = [*plain, "--evaluate", f"{sys.executable} evaluate.py", "--write", "both.npy"]
    for arguments in (asked, asked, plain):  # the second time nothing is run, and later no command is needed
        assert main(arguments) == 0
        told = json.loads(capsys.readouterr().out)["subsets"]
        accuracy = {row["subset"]: row["accuracy"] for row in told}
        both = {"in all lists": 0.1 if "--write" in arguments else None}
        assert accuracy == {first: 0.3, second: 0.4, **both, "all samples": None}
    assert (tmp_path / "runs.txt").read_text().splitlines() == [first, second, "both.npy"]
    kept = json.loads((tmp_path / "1.npy.evaluation.json").read_text())
    assert kept["numbers"] == {"accuracy": 0.3, "steps": 7.0}
    listed(tmp_path, "1.npy", ids[:31])  # another list of the same name
    assert known_evaluation(tmp_path / "1.npy") is None
    assert evaluated(tmp_path / "1.npy", f"{sys.executable} evaluate.py {{list}}").numbers["accuracy"] == 0.31


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo [1]", "expected a JSON object of numbers as the last line"),
        ("echo '{\"a\": NaN}' #", "expected a JSON object of numbers as the last line"),
        ("true", "expected a JSON object of numbers as the last line"),
        ("false", "false ended with 1"),
        ("no-such-program", "No such file or directory; expected a program"),
        ("'unclosed", "No closing quotation; expected a command"),
        (" ", "expected a command, such as"),
    ],
)
def test_a_program_that_finds_no_numbers_is_one_line(tmp_path: Path, command: str, message: str) -> None:
    np.save(tmp_path / "a.npy", np.zeros(1, UID))
    with assert_refused(StageError, message):
        evaluated(tmp_path / "a.npy", command)
    assert not list(tmp_path.glob("*.json"))


def headed(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


PAIRS = "{'descr': [('f0', '<u8'), ('f1', '<u8')], 'fortran_order': False, 'shape': (SHAPE,)}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no list",
        b"\x93NUMPY",
        b"PK\x03\x04 no archive",
        headed("(((((((("),
        headed("\n  a\n b"),
        headed("-" * 9_000 + "1"),
        headed(PAIRS.replace("SHAPE", "-3")),
        headed(PAIRS.replace("SHAPE", "1" + "0" * 14)),
        headed(PAIRS.replace("SHAPE", "1" + "0" * 40)),
    ],
)
def test_what_is_no_file_of_numbers_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with assert_refused(RecipeError, "a.npy: not a .npy file"):
        read_uids(tmp_path / "a.npy")


def test_other_numbers_are_one_line(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(5))
    with assert_refused(RecipeError, "numbers of type int64", "--id-list"):
        read_uids(tmp_path / "a.npy")
    with assert_refused(RecipeError, "gone.npy: No such file"):
        read_uids(tmp_path / "gone.npy")


@pytest.mark.parametrize("place", [".", "gone/both.npy"])
def test_a_list_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    np.save(tmp_path / "a.npy", np.zeros(1, UID))
    assert main(["subsets", str(tmp_path / "no-store"), str(tmp_path / "a.npy"), "--write", str(tmp_path / place)]) == 1
    assert_told(capsys.readouterr().err, "--write", str(tmp_path))
