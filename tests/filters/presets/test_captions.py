"""Rules on captions and pictures: the published ones as they were published, winnow's own in ten languages."""

import random
from collections.abc import Sequence

import duckdb
import fasttext
import pyarrow as pa
import pytest

from tests.filters.caption.rows import Row, batch, layer
from winnow.filters.image.geometry import WRITES
from winnow.filters.presets import find_preset
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.rules.decisions import bits_of
from winnow.pipelines.rules.evaluation import Evaluator
from winnow.schemas.recipe import recipe_from_text

CAPTIONS = {
    "eng": [
        "A red car",
        "two children on a beach",
        "the old bridge at night",
        "Fresh bread, 500 g",
        "map of Europe 1914",
    ],
    "deu": [
        "Ein rotes Auto",
        "Kinder am Strand",
        "die alte Brücke bei Nacht",
        "Frisches Brot, 500 g",
        "Europakarte von 1914",
    ],
    "fra": [
        "Une voiture rouge",
        "deux enfants à la plage",
        "le vieux pont la nuit",
        "Pain frais",
        "carte d'Europe, 1914",
    ],
    "rus": [
        "Красная машина",
        "двое детей на пляже",
        "старый мост ночью",
        "Свежий хлеб, 500 г",
        "карта Европы 1914 года",
    ],
    "arb": ["سيارة حمراء", "طفلان على الشاطئ", "الجسر القديم ليلا", "خبز طازج", "خريطة أوروبا عام ١٩١٤"],
    "hin": ["एक लाल कार", "समुद्र तट पर दो बच्चे", "रात में पुराना पुल", "ताज़ी रोटी", "यूरोप का नक्शा 1914"],
    "cmn": ["一辆红色汽车", "沙滩上的两个孩子", "夜晚的老桥", "新鲜面包", "1914年欧洲地图"],
    "jpn": ["赤い車です", "海辺の二人の子供", "夜の古い橋", "焼きたてのパン", "1914年のヨーロッパ地図"],
    "kor": ["빨간 자동차", "해변의 두 아이", "밤의 오래된 다리", "갓 구운 빵 500g", "1914년 유럽 지도"],
    "tha": ["รถยนต์สีแดง", "เด็กสองคนบนชายหาด", "สะพานเก่ายามค่ำคืน", "ขนมปังสด", "แผนที่ยุโรป 1914"],
}
JUNK = [
    "IMG_2043.jpg",
    "DSC 00123",
    "photo",
    "1024 x 768",
    "",
    "...",
    "图片",
    "https://example.org/a.jpg",
    "12:30 / 14:00",
    "a 1",
]


pytestmark = pytest.mark.usefixtures("lid_model")


Picture = tuple[int, int, int]  # width, height, bytes


def sizes(pictures: Sequence[Sequence[Picture | None] | None]) -> pa.StructArray:
    """The layer `image.geometry` of rows of pictures; None for a picture that cannot be decoded, and a row without."""
    rows = []
    for row in pictures:
        lists: dict[str, list[object]] | None = None if row is None else {name: [] for name in WRITES.names}
        for one in row or ():
            assert lists is not None
            wide, high, size = one or (None, None, None)
            values: dict[str, float | None] = {"width": wide, "height": high, "bytes": size}
            if wide is not None and high is not None:
                values |= {
                    "shorter": min(wide, high),
                    "longer": max(wide, high),
                    "aspect": max(wide, high) / min(wide, high),
                }
            for name in WRITES.names:
                lists[name].append(values.get(name))
        rows.append({"status": "no_input"} if lists is None else {"status": "ok", **lists})
    fields = [pa.field("status", pa.string()), *(pa.field(field.name, pa.list_(field.type)) for field in WRITES)]
    return pa.array(rows, pa.struct(fields))


def reasons(preset: str, rows: Sequence[Row], pictures: Sequence[Sequence[Picture | None] | None]) -> list[str | None]:
    """The first reason of each row, by the engine that runs rules."""
    read = batch(*rows)
    layers = [layer(name, read).to_struct_array() for name in ("length", "language", "overlap")]
    captions = pa.StructArray.from_arrays(layers, ["length", "language", "overlap"])
    image = pa.StructArray.from_arrays([sizes(pictures)], ["geometry"])
    samples = pa.StructArray.from_arrays([read["samples.url"]], ["url"])
    table = pa.table({"caption": captions, "image": image, "samples": samples})
    cases = " ".join(f"WHEN {rule.drop} THEN '{rule.reason}'" for rule in find_preset(preset).rules)
    with duckdb.connect() as engine:
        answer = engine.from_arrow(table).query("rows", f"SELECT CASE {cases} END FROM rows")
        assert answer is not None
        return [reason for (reason,) in answer.fetchall()]


def pairs() -> list[tuple[str, Picture]]:
    """A few hundred captions with sizes at, below and above every threshold."""
    drawn = random.Random(7)
    edges = [
        "",
        " ",
        "a",
        "a b c",
        "a b cd",
        "ab cd",
        "abc d e\N{NO-BREAK SPACE}f",
        "a\x1cb\x85c d",
        "one\ntwo\nthree",
        "12 34 56",
        "e\N{COMBINING ACUTE ACCENT}t\N{COMBINING ACUTE ACCENT}a",  # five characters as written, four composed
        "\u202b\u2004ғ\u2001ҘÖЍŲ⁛\\Ţ•ҡj″ĖЭӍÔwӸ",  # `en` as written, `tr` composed
    ]
    texts = [*edges, *JUNK, *(text for row in CAPTIONS.values() for text in row)]
    sides = [1, 199, 200, 201, 299, 300, 301, 597, 600, 601, 900, 901, 20_000]
    weights = [4_999, 5_000, 5_001, 70_000]
    return [
        (text, (drawn.choice(sides), drawn.choice(sides), drawn.choice(weights))) for text in texts for _ in range(8)
    ]


def test_datacomps_basic_filter_keeps_what_its_published_conditions_keep() -> None:
    made = pairs()
    detector = fasttext.load_model(AssetFiles().path("lid.176"))
    published = []
    for text, (width, height, _) in made:
        labels, _ = detector.predict(text.replace("\n", " "))
        english = bool(labels) and labels[0].split("__label__")[1] == "en"
        long_enough = len(text.split()) > 2 and len(text) > 5
        shaped = min(width, height) >= 200 and max(width, height) / min(width, height) <= 3.0
        published.append(english and long_enough and shaped)
    found = reasons("datacomp@basic", [([text], "a.jpg", None) for text, _ in made], [[size] for _, size in made])
    assert [reason is None for reason in found] == published
    assert 20 < sum(published) < len(made) / 2
    assert {"datacomp_language", "datacomp_words", "datacomp_characters", "datacomp_side", "datacomp_aspect"} <= set(
        found
    )


@pytest.mark.parametrize("preset", ["laion@pre-filter", "obelics@images", "omnicorpus@images", "mm1@like"])
def test_other_published_rules_keep_what_they_say(preset: str) -> None:
    edges = [(20_001, 20_001, 9_000), (20_001, 11_000, 9_000), (70, 69, 9_000), (70, 70, 20_000_001)]
    made = [*pairs(), *(("A red car", edge) for edge in edges)]

    def kept(text: str, width: int, height: int, size: int) -> bool:
        shorter, longer = sorted((width, height))
        if preset == "laion@pre-filter":
            return len(text) >= 5 and size >= 5000
        if preset == "mm1@like":
            return shorter >= 70 and longer <= 3 * shorter and 5000 <= size <= 20_000_000
        return shorter >= 150 and longer <= 2 * shorter and (preset == "omnicorpus@images" or longer <= 20_000)

    found = reasons(preset, [([text], "a.jpg", None) for text, _ in made], [[size] for _, size in made])
    published = [kept(text, *size) for text, size in made]
    assert [reason is None for reason in found] == published
    assert 20 < sum(published) < len(made)


@pytest.mark.parametrize("preset", ["obelics@images", "omnicorpus@images", "mm1@like"])
def test_under_items_each_picture_of_a_document_is_judged_as_if_it_were_alone(preset: str) -> None:
    drawn: list[Picture | None] = [*(size for _, size in pairs()), (70, 70, 20_000_001), (20_001, 20_001, 9_000), None]
    alone = reasons(preset, [([], "a.jpg", None)] * len(drawn), [[size] for size in drawn])
    assert len(set(alone)) > 3
    documents = [drawn[at : at + 3] for at in range(0, len(drawn), 3)]
    program = bind(
        recipe_from_text(
            f"""
version: 1
store: {{path: s}}
sources: {{documents: {{root: a, files: ['*'], class: web}}}}
annotate: [image.geometry]
items: [{{preset: {preset}}}]
"""
        )
    ).rules
    measured = sizes(documents)
    columns = {f"image.geometry.{field.name}": measured.field(field.name) for field in measured.type}
    columns["samples.media"] = pa.array([[{"mime": "image/jpeg"}] * len(one) for one in documents])
    with Evaluator(program) as evaluator:
        decided = evaluator.decide(len(documents), columns)
    assert decided.items is not None
    first = [next((program.reasons[bit] for bit in bits_of(int(mask))), None) for (mask,) in decided.items.fired]
    assert first == alone


@pytest.mark.parametrize(
    "preset", ["datacomp@basic", "laion@pre-filter", "obelics@images", "omnicorpus@images", "mm1@like"]
)
def test_pages_are_kept_and_pictures_that_cannot_be_decoded_are_not(preset: str) -> None:
    good = (640, 480, 50_000)
    rows: list[Row] = [
        ([], None, None),
        (["A red car on a bridge"], "a.jpg", None),
        (["A red car on a bridge"], "a.jpg", None),
    ]
    page, broken, one_of_two = reasons(preset, rows, [None, [None], [(20, 10, 90), good]])
    assert page is None
    assert broken == f"{preset.partition('@')[0]}_undecodable"
    assert one_of_two is None
    if preset in ("datacomp@basic", "laion@pre-filter"):
        assert reasons(preset, [([], "a.jpg", None)], [[good]]) == [f"{preset.partition('@')[0]}_no_caption"]


@pytest.mark.parametrize(("preset", "reason"), [("obelics@images", "obelics_count"), ("mm1@like", "mm1_count")])
def test_documents_of_more_than_thirty_pictures_are_dropped(preset: str, reason: str) -> None:
    good = (640, 480, 50_000)
    assert reasons(preset, [([], "a.jpg", None)] * 2, [[good] * 30, [good] * 31]) == [None, reason]


def test_pictures_of_a_page_are_dropped_by_words_in_their_address_but_no_page_is() -> None:
    rows: list[Row] = [([], "a", f"https://e.org/{name}") for name in ("img/Logo.png", "cat.jpg", "logo.html")]
    good = (640, 480, 50_000)
    assert reasons("mm1@like", rows, [[good], [good], None]) == ["mm1_address", None, None]


@pytest.mark.parametrize("noun", ["Кошка.", "Kissa", "고양이", "猫咪", "แมว", "قطة", "Cat", "बिल्ली"])
def test_a_noun_is_a_caption_in_every_language_where_captions_may_be_short(noun: str) -> None:
    assert reasons("captions@short", [([noun], "IMG_2043.jpg", None)], [None]) == [None]


def test_what_says_nothing_is_no_caption_however_short_captions_may_be() -> None:
    texts = ("1024 x 768", "", "...", "12:30", "IMG_2043", "ab", "猫", "개")
    rows: list[Row] = [([text], "IMG_2043.jpg", None) for text in texts]
    assert None not in reasons("captions@short", rows, [None] * len(rows))


@pytest.mark.parametrize("language", CAPTIONS)
def test_captions_of_every_language_are_kept(language: str) -> None:
    rows: list[Row] = [([text], "IMG_2043.jpg", None) for text in CAPTIONS[language]]
    found = reasons("captions", rows, [None] * len(rows))
    assert found.count(None) >= 0.9 * len(rows), found


def test_what_is_no_caption_is_dropped_in_every_script() -> None:
    rows: list[Row] = [([text], "IMG_2043.jpg", None) for text in JUNK]
    assert None not in reasons("captions", rows, [None] * len(rows))
    beside: list[Row] = [(["photo", "A red car"], "a.jpg", None), ([], "a.jpg", None), ([], None, None)]
    assert reasons("captions", beside, [None] * 3) == [None, "caption_missing", None]
    named: list[Row] = [(["Two Words.jpg"], "two words.jpg", None), (["Two Words"], "two words.jpg", None)]
    assert reasons("captions", named, [None] * 2) == ["caption_file_name", None]
