"""Every name that a recipe takes out of a closed set is checked by `plan`, which says what is near."""

from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.runners.commands.main import main

RECIPE = """\
version: 1
store: {path: store}
sources:
  web: {root: data, files: ["*.jsonl"], class: web, licence: unknown}
annotate: [text.language, text.length, text.fineweb, text.fineweb2]
"""


def refused(folder: Path, recipe: str, capsys: pytest.CaptureFixture[str]) -> str:
    (folder / "data").mkdir()
    (folder / "data" / "a.jsonl").write_text('{"text": "one two three"}\n')
    (folder / "recipe.yaml").write_text(recipe)
    assert main(["plan", str(folder / "recipe.yaml")]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("text.language.script = 'Ltn'", "'Ltn' … 'Latn'"),
        ("text.language.text_script <> 'Cyril'", "'Cyril' … 'Cyrl'"),
        ("text.language.family = 'Indoeuropean'", "'Indoeuropean' … 'Indo-European'"),
        ("text.language.group IN ('Slavic', 'germanic')", "'germanic' … 'Germanic'"),
        ("text.language.label = 'de'", "text.language.label … 'de' … 'deu'"),
        ("text.language.code = 'deu'", "codes have a script: write 'deu_Latn'"),
        ("text.language.code = 'deu_Latm'", "'Latm' … 'Latn'"),
        ("text.language.code = 'egn_Latn'", "'egn_Latn' … you mean"),
        ("text.language.code = 'tgl_Latn'", "write 'fil_Latn'"),
        ("text.language.code IN ('eng_Latn', 'zho_Hans')", "'zho_Hans' … write 'cmn_Hani'"),
        ("text.language.label <> 'nor'", "write 'nob'"),
        ("text.language.code = 'tlh_Latn'", "the model … does not know Klingon"),
        ("text.length.bytes < thresholds.multilingul.x", "threshold table … 'multilingul'"),
        (
            "text.length.bytes < thresholds.multilingual.language_scor",
            "(did you mean 'thresholds.multilingual.language",
        ),
        ("text.lenth.bytes < 3", "(did you mean 'text.length.bytes'?)"),
        ("samples.source.name = 'wbe'", "'wbe' … 'web'"),
        ("samples.modality = 'picture'", "there is no modality 'picture'"),
    ],
)
def test_in_conditions(condition: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = f'keep: [{{drop: "{condition}", reason: a, when_null: keep}}]\n'
    assert_told(refused(tmp_path, RECIPE + rule, capsys), said)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("thresholds: {multilingul: {cells: {deu_Latn: {language_score: 0.5}}}}", "(did you mean 'multilingual'?)"),
        ("thresholds: {multilingual: {cells: {deu_Latm: {language_score: 0.5}}}}", "(did you mean 'Latn'?)"),
        ("thresholds: {multilingual: {cells: {de: {language_score: 0.5}}}}", "write 'deu_Latn'"),
        ("thresholds: {multilingual: {cells: {deu_Latn: {languag_score: 1}}}}", "(did you mean 'language_score'?)"),
        ("dedupe: {exact: {}, guard: {languages: {deu: {max_loss: 0.9}}}}", "write 'deu_Latn'"),
        ("dedupe: {exact: {}, guard: {languages: {deu_Ltn: {max_loss: 0.9}}}}", "write 'deu_Latn'"),
        ("dedupe: {exact: {}, guard: {sources: {wbe: {max_loss: 0.9}}}}", "'wbe' … 'web'"),
        ("dedupe: {exct: {}}", "exact"),
        ("dedupe: {near: {preset: finweb}}", "fineweb"),
        ("dedupe: {exact: {}, representative: [soure]}", "(did you mean 'source'?)"),
        ("keep: [preset: multilingul]", "(did you mean 'multilingual'?)"),
        (
            "keep: [preset: multilingual]\nloss_alarms: {expected: [line_punct_rati]}",
            "(did you mean 'line_punct_ratio'?)",
        ),
        ("edits: [text.pi]", "(did you mean 'text.pii'?)"),
        ("mix: {families: {weights: {Indoeuropean: 1}}}", "(did you mean 'Indo-European'?)"),
        ("mix: {languages: {weights: {deu_Latm: 1}}}", "(did you mean 'Latn'?)"),
        ("mix: {unit: token}", "tokens"),
        ("mix: {}\nexport: [{parqet: {path: out}}]", "parquet"),
        ("mix: {}\nexport: [{webdataset: {path: out, medai: image}}]", "media"),
        ("mix: {}\nexport: [{webdataset: {path: out, media: imag}}]", "image"),
    ],
)
def test_in_settings(section: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_told(refused(tmp_path, f"{RECIPE}{section}\n", capsys), said)


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        ("text.lngth", "(did you mean 'text.length'?)"),
        ("{text.pii: {kinds: [emial]}}", "(did you mean 'email'?)"),
        ("{url.blocklist: {list: ut1-adlt}}", "(did you mean 'ut1-adult'?)"),
        ("{text.gopher: {preset: gopher@dtatrove}}", "(did you mean 'gopher@datatrove'?)"),
    ],
)
def test_in_operators(operator: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(tmp_path, f"{RECIPE.partition('annotate')[0]}annotate: [{operator}]\n", capsys)


def test_what_exists_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.jsonl").write_text('{"text": "one two three"}\n')
    conditions = (
        "text.language.script IN ('Latn', 'Jpan', 'Hani', 'Zyyy')",
        "text.language.code IN ('deu_Latn', 'unknown', 'und', 'srp_Latn')",
        "text.language.label IN ('deu', 'zxx', 'und')",
        "text.language.family = 'Indo-European'",
    )
    rules = "".join(
        f'  - {{drop: "{one}", reason: r{number}, when_null: keep}}\n' for number, one in enumerate(conditions)
    )
    settings = (
        "dedupe: {exact: {}, guard: {languages: {deu_Latn: {max_loss: 0.9}, unknown: {max_loss: 0.9}}}}\n"
        "thresholds: {multilingual: {cells: {gsw_Latn: {language_score: 0.5}}}}\n"
    )
    (tmp_path / "recipe.yaml").write_text(f"{RECIPE}{settings}keep:\n{rules}")
    status = main(["plan", str(tmp_path / "recipe.yaml")])
    assert status == 0, capsys.readouterr().err
