"""Labels of identifiers: every label of every model is a language that has its place, and dialects meet in one code.

`labels/` holds the labels of lid.176, of FineWeb-2 (GlotLID's), and of OpenLID v1 to v3.
"""

from pathlib import Path

import pycld2
import pytest

from winnow.schemas.languages import (
    NO_LANGUAGE,
    UNKNOWN,
    USUAL_MEMBER,
    Label,
    Scheme,
    language,
    macrolanguage,
    read_label,
    same_language,
    scheme_of,
    table,
)

LABELS = Path(__file__).with_name("labels")
MODELS: tuple[tuple[str, Scheme, int], ...] = (
    ("lid.176", "wikipedia", 176),
    ("fineweb2", "iso", 1929),
    ("openlid", "iso", 207),
)


def labels_of(model: str) -> list[str]:
    return (LABELS / f"{model}.txt").read_text().split()


@pytest.mark.parametrize(("model", "scheme", "count"), MODELS)
def test_no_label_of_a_model_is_unmapped(model: str, scheme: Scheme, count: int) -> None:
    labels = labels_of(model)
    assert len(labels) == count
    assert scheme_of(labels) == scheme
    for name in labels:
        label = read_label(name, scheme)
        assert label is not None, name
        found = language(label.code)
        assert found is not None, name
        assert found.family is not None or label.code == NO_LANGUAGE, name
        assert found.family != "Unclassified", name


def test_no_code_of_cld2_is_unmapped() -> None:
    for _, code in pycld2.LANGUAGES:
        label = read_label(code, "cld2")
        assert label is not None, code
        assert language(label.code) is not None, code


def test_every_label_of_lid_176_has_a_script() -> None:
    for name in labels_of("lid.176"):
        label = read_label(name, "wikipedia")
        assert label is not None
        found = language(label.code)
        assert found is not None
        assert found.script is not None, name


def test_labels_with_scripts_keep_their_codes_but_for_retired_ones() -> None:
    changed = {
        name: f"{label.code}_{label.script}"
        for name in [*labels_of("fineweb2"), *labels_of("openlid")]
        if (label := read_label(name, "iso")) is not None and f"{label.code}_{label.script}" != name
    }
    assert changed == {
        "ajp_Arab": "apc_Arab",
        "daf_Latn": "dnj_Latn",
        "eml_Latn": "egl_Latn",
        "kzj_Latn": "dtp_Latn",
        "tpw_Latn": "tpn_Latn",
    }


def test_two_dialects_of_labels_give_fineweb2_names_where_it_has_the_language() -> None:
    fineweb2 = {name.partition("_")[0] for name in labels_of("fineweb2")} | {"eng"}
    missing = {name for name in labels_of("lid.176") if read_label(name, "wikipedia").code not in fineweb2}  # type: ignore[union-attr]
    # Quechua and Serbo-Croatian as a whole, of which it knows only members, and a code that was split since.
    assert missing == {"qu", "sh", "eml"}


def test_macrolanguages_are_read_as_the_language_that_is_meant() -> None:
    assert read_label("zh", "wikipedia") == Label("cmn")
    assert read_label("ar", "cld2") == Label("arb")
    assert read_label("zho_Hant", "iso") == Label("zho", "Hant")  # a label in ISO 639-3 says what it means
    for macro, usual in USUAL_MEMBER.items():
        assert usual in table().members[macro]


@pytest.mark.parametrize(
    ("label", "scheme", "code"),
    [
        ("als", "wikipedia", "gsw"),  # the Alemannic edition, not Tosk Albanian
        ("als", "iso", "als"),
        ("no", "wikipedia", "nob"),
        ("bh", "wikipedia", "bho"),
        ("eml", "wikipedia", "egl"),
        ("iw", "cld2", "heb"),
        ("jw", "cld2", "jav"),
        ("sr-ME", "cld2", "cnr"),
        ("zzp", "cld2", "zxx"),
        ("un", "cld2", "und"),
        ("xx-Cher", "cld2", "und"),
        ("und_Xsux", "iso", "und"),
        ("zxx_Zzzz", "iso", "zxx"),
    ],
)
def test_labels_that_are_not_what_they_seem(label: str, scheme: Scheme, code: str) -> None:
    found = read_label(label, scheme)
    assert found is not None
    assert found.code == code


@pytest.mark.parametrize(
    "label", ["", "english", "e", "EN", "xq", "qqq_Latn", "eng_", "eng_latn", "eng_Latn_x", "spam"]
)
def test_what_is_no_language_is_said_to_be_none(label: str) -> None:
    assert read_label(label, "iso") is None
    assert read_label(label, "wikipedia") is None


def test_a_language_agrees_with_its_macrolanguage_and_not_with_its_siblings() -> None:
    assert same_language("hrv", "hbs")
    assert same_language("hbs", "srp")
    assert same_language("fra", "fra")
    assert not same_language("hrv", "srp")
    assert not same_language("fra", UNKNOWN)


def test_a_macrolanguage_is_that_of_iso_639_3_or_the_language_itself() -> None:
    assert [macrolanguage(code) for code in ("hrv", "hbs", "zsm", "nno", "deu", "und", "xyz")] == [
        *("hbs", "hbs", "msa", "nor", "deu", "und", "xyz")
    ]
