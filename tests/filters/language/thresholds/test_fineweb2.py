"""FineWeb-2's thresholds: as published, as used, and what is between."""

import json
from pathlib import Path

import pytest

from tools.tables.fineweb2 import packed, read
from winnow.filters.language.thresholds.fineweb2 import (
    BOUNDS,
    Clamp,
    fineweb2_clamps,
    fineweb2_languages,
    fineweb2_published,
    fineweb2_stop_words,
    fineweb2_thresholds,
)
from winnow.filters.presets import find_table
from winnow.schemas.rules.thresholds import ThresholdTable


def row(table: ThresholdTable, language: str) -> dict[str, float | None]:
    place = table.keys.index(language)
    return {column: values[place] for column, values in table.columns.items()}


def test_every_published_language_has_its_row() -> None:
    languages = fineweb2_languages()
    assert len(languages) == 1929
    assert list(languages) == sorted(set(languages))
    for table in (fineweb2_thresholds(), fineweb2_published()):
        assert table.keys == (*languages, "egl_Latn", "hbs_Cyrl", "hbs_Latn", "que_Latn")
        assert table.key == "text.language.code"
        assert set(table.columns) == set(BOUNDS)


def test_values_are_those_of_the_configuration() -> None:
    assert row(fineweb2_published(), "deu_Latn") == {
        "language_score": 0.821,
        "line_punct_thr": 0.0,
        "new_line_ratio": 0.152,
        "dup_line_frac": 0.263,
        "top_2gram": 0.169,
        "top_3gram": 0.153,
        "top_4gram": 0.137,
        "dup_5gram": 0.141,
        "dup_6gram": 0.134,
        "dup_7gram": 0.126,
        "dup_8gram": 0.117,
        "dup_9gram": 0.108,
        "dup_10gram": 0.098,
        "min_avg_word_length": 0.0,
        "max_avg_word_length": 15.0,
        "min_alpha_word_ratio": 0.774,
    }
    assert row(fineweb2_thresholds(), "deu_Latn") == row(fineweb2_published(), "deu_Latn")
    assert fineweb2_stop_words()["tha_Thai"] == ("ใน", "ที่", "และ", "ของ", "เป็น", "มี", "การ", "ได้")
    assert fineweb2_stop_words()["bdq_Latn"].count("bok kei") == 1  # two words are one stop word


def test_a_check_that_is_off_is_null() -> None:
    published = fineweb2_published()
    off = {
        column: tuple(key for key, value in zip(published.keys, values, strict=True) if value is None)
        for column, values in published.columns.items()
    }
    assert len(off.pop("line_punct_thr")) == 1613
    assert off.pop("dup_line_frac") == ("chj_Latn", "mgc_Latn", "nwb_Latn", "rav_Deva", "soy_Latn", "tim_Latn")
    assert set(off.values()) == {()}


def test_absurd_values_are_clamped_and_listed() -> None:
    clamps = fineweb2_clamps()
    listed = {(clamp.language, clamp.field): (clamp.published, clamp.used) for clamp in clamps}
    assert len(listed) == len(clamps) == 2293
    expected = {
        ("xho_Latn", "max_avg_word_length"): (3141, 100),
        ("snd_Arab", "new_line_ratio"): (7.25, 1),
        ("bla_Latn", "top_4gram"): (6.787, 1),
        ("nyf_Latn", "dup_line_frac"): (1.32, 1),
        ("bco_Latn", "dup_line_frac"): (0.001, 0.01),
    }
    assert {key: listed[key] for key in expected} == expected
    assert [clamp.language for clamp in clamps if clamp.field == "min_alpha_word_ratio"] == [
        *("arr_Latn", "got_Latn", "jam_Latn", "kri_Latn", "lis_Lisu"),
        *("pis_Latn", "srn_Latn", "tpi_Latn", "wes_Latn", "xum_Latn"),
    ]
    assert str(Clamp("snd_Arab", "new_line_ratio", 7.25, 1.0)) == "snd_Arab new_line_ratio: 7.25 published, 1 used"


def test_the_list_of_clamps_is_the_difference_of_the_tables() -> None:
    published, used = fineweb2_published(), fineweb2_thresholds()
    different = {
        (key, column, before, after)
        for column in BOUNDS
        for key, before, after in zip(published.keys, published.columns[column], used.columns[column], strict=True)
        if before != after and key != "egl_Latn"
    }
    assert different == {(clamp.language, clamp.field, clamp.published, clamp.used) for clamp in fineweb2_clamps()}
    for column, bounds in BOUNDS.items():
        assert all(value is None or bounds.least <= value <= bounds.most for value in used.columns[column])


def test_rules_find_the_tables_by_name() -> None:
    assert find_table("fineweb2") == fineweb2_thresholds()
    assert find_table("fineweb2_published") == fineweb2_published()


CONFIG = {
    "language_score": 0.5,
    "line_punct_thr": -1,
    "new_line_ratio": 0.2,
    "dup_line_frac": 0.3,
    "min_avg_word_length": 2,
    "max_avg_word_length": 9,
    "max_non_alpha_words_ratio": 0.8,
    "top_n_grams": [[2, 0.1], [3, 0.2], [4, 0.3]],
    "dup_n_grams": [[5, 0.5], [6, 0.6], [7, 0.7], [8, 0.8], [9, 0.9], [10, 1.0]],
    "stopwords": ["a", "b c"],
}


def test_a_folder_of_yaml_and_a_file_of_json_are_packed_to_the_same_bytes(tmp_path: Path) -> None:
    folder, lines = tmp_path / "configs", tmp_path / "configs.jsonl"
    folder.mkdir()
    for language in ("zza_Latn", "aaa_Latn"):
        (folder / f"{language}.yml").write_text(json.dumps(CONFIG))
    lines.write_text(
        "".join(json.dumps({"language_script": name, **CONFIG}) + "\n" for name in ("aaa_Latn", "zza_Latn"))
    )
    assert list(read(folder)) == ["aaa_Latn", "zza_Latn"]
    assert packed(read(folder)) == packed(read(lines))


def test_a_place_without_configurations_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no configuration; expected `deu_Latn.yml`"):
        read(tmp_path)
