"""What is known to fail, or to match nothing, is refused before any source is read, in one line with its place."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.messages import assert_refused, assert_told
from winnow.pipelines.assets import AssetError, lookup
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.preflight.check import Stage, WholeRecipe, preflight
from winnow.runners.commands.main import main
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import load_recipe

RECIPE = """\
version: 1
store: {path: STORE}
sources: {crawl: {root: d, files: ["*.jsonl"], class: web, key: id}, books: {root: b, files: ["*"], class: own}}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length, {text.language: WHERE}]
keep: [{drop: "KEEP", reason: r, when_null: keep}]
mix: MIX
export: [{parquet: {path: OUT}}]
"""
DEFAULTS = {
    "STORE": "store",
    "WHERE": "{}",
    "KEEP": "text.length.characters < 3",
    "MIX": "{unit: samples}",
    "OUT": "out",
}


def check(folder: Path, **changes: str) -> str:
    """What is complained of; empty if nothing is."""
    return check_before(folder, "export", changes)


def check_before(folder: Path, stage: Stage, changes: Mapping[str, str]) -> str:
    """What is complained of before a stage."""
    text = RECIPE
    for name, value in {**DEFAULTS, **changes}.items():
        text = text.replace(name, value)
    (folder / "recipe.yaml").write_text(text)
    try:
        preflight(WholeRecipe(recipe=bind(load_recipe(folder / "recipe.yaml")), last=stage))
    except RecipeError as error:
        return str(error).replace(f"{folder}/", "")
    return ""


def test_a_sound_recipe_is_ready(lid_model: None, tmp_path: Path) -> None:
    assert check(tmp_path) == ""
    sound = "samples.source.name IN ('crawl', 'books') AND samples.source_class = 'own'"
    assert check(tmp_path, KEEP=sound) == ""
    assert (
        check(tmp_path, KEEP="text.language.code <> 'deu_Latn' OR text.language.code IN ('und_Latn', 'unknown')") == ""
    )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"KEEP": "samples.source.name = 'book'"}, "7 … keep[0] … 'book'"),
        ({"KEEP": "samples.source.name IN ('crawl', 'bok')"}, "7 … keep[0] … 'bok'"),
        ({"KEEP": "samples.source_class <> 'wen'"}, "7 … keep[0] … 'wen'"),
        (
            {"KEEP": "text.language.code == 'deu'"},
            "7 … keep[0] … text.language.code",
        ),
        (
            {"KEEP": "text.language.code NOT IN ('eng_Latn', 'ja')"},
            "'ja' … 'jpn_Jpan'",
        ),
        ({"KEEP": "text.language.code = 'German'"}, "language … 'German'"),
        ({"KEEP": "text.length.status = 'no_txt'"}, "7 … keep[0] … text.length.status"),
        ({"KEEP": "text.language.status <> 'no_leters'"}, "text.language.status … 'no_leters'"),
        ({"KEEP": "text.length.status in ('ok', 'okay')"}, "text.length.status is never 'okay'"),
        (
            {"KEEP": "extract.main.status = 'okay'"},
            "extract.main.status … 'okay'",
        ),
        (
            {"MIX": "{unit: samples, languages: {weights: {de: 0.5, eng_Latn: 0.5}}}"},
            "8 … mix.languages.weights … 'de'",
        ),
        ({"WHERE": "{where: \"samples.source.name = 'krawl'\"}"}, "'krawl' … 'crawl'"),
        ({"MIX": "{unit: samples, where: \"samples.source.name = 'x'\"}"}, "mix.where: there is no source 'x'"),
        ({"MIX": "{unit: tokens, tokenizer: no.json}"}, "mix.tokenizer … no.json"),
        ({"MIX": "{unit: tokens, tokenizer: file}"}, "mix.tokenizer: file: "),
        ({"KEEP": "samples.modality = 'txt'"}, "'txt' … 'text'"),
        ({"KEEP": "samples.licence = 'CC'"}, "licence … 'CC'"),
        ({"KEEP": "text.language.code = 'deu_Latn' AND"}, "7 … keep[0] … SQL"),
        ({"STORE": "~/store"}, "store.path … '~/store' … '~'"),
        ({"OUT": "$DATA/out"}, "'$DATA/out' … ${DATA} … DATA"),
        ({"MIX": "\u00a0{unit: samples}"}, "8 … YAML"),
        ({"STORE": "file"}, "store.path"),
        ({"STORE": "file/store"}, "store.path … file/store"),
        (
            {"STORE": "texts"},
            "2 … store.path … a.txt",
        ),
        ({"STORE": "hf://a/b"}, "2 … store.path … hf://a/b"),
        ({"OUT": "az://a/b"}, "9 … export[0].parquet.path … az://a/b"),
        ({"OUT": "file"}, "9 … export[0].parquet.path"),
        ({"OUT": "store/out"}, "store/out … give exports"),
    ],
)
def test_a_mistake_is_a_line(lid_model: None, tmp_path: Path, changes: dict[str, str], line: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("x")
    said = check(tmp_path, **changes)
    assert_told(said, line)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {"{unit: samples}": "{unit: seconds}"},
            "8 … mix.unit",
        ),
        (
            {"parquet: {path: out}": "folder: {path: out}"},
            "9 … export[0].folder",
        ),
        ({"path: out}": "path: out, media: mov}"}, "9 … export[0].parquet"),
    ],
)
def test_media_of_tables_without_a_column_of_media(
    lid_model: None, tmp_path: Path, changed: dict[str, str], line: str
) -> None:
    text = RECIPE
    for name, value in {**DEFAULTS, **changed}.items():
        text = text.replace(name, value)
    for files, named in (("*", False), ("*.csv", True)):  # what has no known ending may be a picture
        (tmp_path / "recipe.yaml").write_text(text.replace('"*"', f'"{files}"'))
        bound = bind(load_recipe(tmp_path / "recipe.yaml"))
        if named:
            with pytest.raises(RecipeError) as caught:
                preflight(WholeRecipe(recipe=bound))
            assert_told(str(caught.value), line)
        else:
            preflight(WholeRecipe(recipe=bound))


def test_a_stage_asks_for_what_it_and_those_before_it_need(lid_model: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    mistakes = {
        "WHERE": "{where: \"samples.source.name = 'krawl'\"}",
        "KEEP": "text.length.status = 'okay'",
        "MIX": "{unit: samples, where: \"samples.source.name = 'x'\"}",
        "OUT": "file",
    }
    stages: tuple[Stage, ...] = ("ingest", "annotate", "score", "mix", "export")
    said = [check_before(tmp_path, stage, mistakes).splitlines() for stage in stages]
    assert [len(lines) for lines in said] == [0, 1, 1, 3, 4]
    assert main(["annotate", str(tmp_path / "recipe.yaml")]) == 1
    assert not (tmp_path / "store").exists()


def test_without_room_for_temporary_files_nothing_begins(
    lid_model: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    assert "set TMPDIR" in check(tmp_path)


ALBUM = """\
version: 1
store: {path: store}
sources: {album: {root: d, files: ['*'], format: image_folder, class: web}}
"""


def test_conditions_on_single_pictures_are_checked_too(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(
        ALBUM + "annotate: [image.geometry]\n"
        "items: [{drop: \"samples.source.name = 'albums' AND image.geometry.width < 64\", reason: small}]\n"
    )
    with assert_refused(RecipeError, "items[0]", "'albums'", "'album'"):
        preflight(WholeRecipe(recipe=bind(load_recipe(tmp_path / "recipe.yaml"))))


MEDIA = (
    ALBUM
    + """\
annotate: [image.geometry, {video.streams: {}}]
dedupe: {exact: {}, url: {}, near: {}, image_bytes: {}, pdq: {}, vpdq: {}, captions: {}}
score:
  worth: {task: linear_head, reference: {train_on: "samples.source.name = 'album'"}}
"""
)
SHOWN = """\
  shown: {task: linear_head, features: efficientnet, frames: {}, reference: {train_on: "samples.source.name = 'album'"}}
"""


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("image.geometry.status = 'okay'", "image.geometry.status is never 'okay' (did you mean 'ok'?)"),
        (
            "'truncated' = image.geometry.status",
            "image.geometry.status is never 'truncated', a status of single items: write "
            "list_contains(image.geometry.items, 'truncated')",
        ),
        ("NOT list_contains(image.geometry.items, 'cut')", "image.geometry.items is never 'cut'; it is one of ok, "),
        ("list_has_any(image.geometry.items, ['ok', 'damage'])", "image.geometry.items is never 'damage' (did you"),
        ("image.geometry.items[1] <> 'not_image'", "is never 'not_image' (did you mean 'not_an_image'?)"),
        ("video.streams.items[1] = 'not_an_image'", "is never 'not_an_image' (did you mean 'not_a_video'?)"),
        ("video.streams.status = 'no_video'", "list_contains(video.streams.items, 'no_video')"),
        ("dedupe.exact.status = 'unmatchd'", "dedupe.exact.status is never 'unmatchd' (did you mean 'unmatched'?)"),
        ("dedupe.near.status IN ('ok', 'no_word')", "dedupe.near.status is never 'no_word' (did you mean 'no_words'?)"),
        ("dedupe.url.status = 'no_digest'", "dedupe.url.status is never 'no_digest'"),
        ("dedupe.image_bytes.status = 'no_hash'", "dedupe.image_bytes.status is never 'no_hash' (did you mean 'not_"),
        ("list_contains(dedupe.pdq.items, 'flat')", "dedupe.pdq.items is never 'flat'"),
        ("dedupe.vpdq.status = 'no_picture'", "dedupe.vpdq.status is never 'no_picture'"),
        ("dedupe.captions.status = 'no_captions'", "dedupe.captions.status is never 'no_captions' (did you mean 'no_"),
        ("score.worth.status = 'to_long'", "score.worth.status is never 'to_long' (did you mean 'too_long'?)"),
        ("lower(image.geometry.status) = 'okay'", ""),
        ("list_has_any(image.geometry.items, ['truncated', 'crashed', 'unavailable', 'not_an_image'])", ""),
        ("list_contains(video.streams.items, 'too_many_packets') OR image.geometry.status = 'no_input'", ""),
        ("dedupe.url.status IN ('unmatched', 'not_an_address') OR dedupe.near.status = 'no_words'", ""),
        ("dedupe.pdq.status IN ('low_quality', 'truncated', 'no_picture', 'forgotten', 'not_an_image')", ""),
        ("dedupe.captions.status = 'no_caption' OR list_contains(dedupe.captions.items, 'no_text_left')", ""),
        ("dedupe.vpdq.status IN ('no_video', 'too_many_frames') OR score.worth.status = 'not_finite'", ""),
        ("score.shown.status IN ('no_frames', 'crashed')", ""),
        ("score.worth.status = 'no_frames'", "score.worth.status is never 'no_frames'"),
    ],
)
def test_statuses_of_media_duplicates_and_scores_are_known(tmp_path: Path, condition: str, said: str) -> None:
    rule = f'keep: [{{drop: "{condition}", reason: r, when_null: keep}}]\n'
    scores = SHOWN if "score.shown" in condition else ""
    if scores:
        try:
            lookup("efficientnet-lite0")
        except AssetError as error:
            pytest.skip(str(error))
    (tmp_path / "recipe.yaml").write_text(MEDIA + scores + rule)
    try:
        preflight(WholeRecipe(recipe=bind(load_recipe(tmp_path / "recipe.yaml"))))
        complaint = ""
    except RecipeError as error:
        complaint = str(error)
    assert said in complaint
    assert bool(said) == bool(complaint)


def test_what_a_killed_command_left_before_there_was_a_store_is_no_obstacle(lid_model: None, tmp_path: Path) -> None:
    for left in (".tmp", "lease", "shares"):
        (tmp_path / "store" / left).mkdir(parents=True)
    assert check(tmp_path) == ""


def test_seconds_of_pictures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(ALBUM + "mix: {unit: seconds}\n")
    with assert_refused(RecipeError, "recipe.yaml:4", "mix.unit"):
        preflight(WholeRecipe(recipe=bind(load_recipe(tmp_path / "recipe.yaml"))))


def test_a_list_compared_with_a_number_says_which_functions_give_one_value(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(
        MEDIA + "keep: [{drop: image.geometry.width < 9, reason: r, when_null: keep}]\n"
    )
    with assert_refused(RecipeError, "list_min(…)", "list_max"):
        _ = bind(load_recipe(tmp_path / "recipe.yaml")).rules
