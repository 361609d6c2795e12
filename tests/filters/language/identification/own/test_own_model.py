"""winnow's own model: languages of real sentences, noise refused, and the same scores whatever stands beside a text."""

import hashlib
import re
from importlib.resources import files

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from tools.language_model.ngrams import word_ngrams
from winnow.filters.language.identification.heads import best_codes, guesses_of, heads_of
from winnow.filters.language.identification.own import network as own_network
from winnow.filters.language.identification.own.network import network
from winnow.filters.language.identification.own.ngrams import LONGEST, WORD, folding
from winnow.filters.language.identification.own.predicting import own_model

SENTENCES = {
    "eng_Latn": "The children walked along the river until it was too dark to see the other bank.",
    "deu_Latn": "Die Kinder gingen am Fluss entlang, bis es zu dunkel war, um das andere Ufer zu sehen.",
    "fra_Latn": "Les enfants marchèrent le long de la rivière jusqu'à ce qu'il fasse trop sombre.",
    "spa_Latn": "Los niños caminaron junto al río hasta que oscureció demasiado para ver la otra orilla.",
    "por_Latn": "As crianças caminharam ao longo do rio até ficar escuro demais para ver a outra margem.",
    "ita_Latn": "I bambini camminarono lungo il fiume finché non fu troppo buio per vedere l'altra sponda.",
    "nld_Latn": "De kinderen liepen langs de rivier tot het te donker was om de overkant te zien.",
    "pol_Latn": "Dzieci szły wzdłuż rzeki, aż zrobiło się zbyt ciemno, by zobaczyć drugi brzeg.",
    "ces_Latn": "Děti šly podél řeky, dokud nebyla příliš velká tma, aby viděly druhý břeh.",
    "fin_Latn": "Lapset kävelivät joen vartta, kunnes oli liian pimeää nähdä vastarantaa.",
    "hun_Latn": "A gyerekek a folyó mentén sétáltak, amíg túl sötét nem lett ahhoz, hogy lássák a túlpartot.",
    "tur_Latn": "Çocuklar karşı kıyıyı göremeyecek kadar karanlık olana dek nehir boyunca yürüdüler.",
    "vie_Latn": "Bọn trẻ đi dọc theo bờ sông cho đến khi trời quá tối không nhìn thấy bờ bên kia.",
    "isl_Latn": "Börnin gengu meðfram ánni þar til orðið var of dimmt til að sjá hinn bakkann.",
    "swh_Latn": "Watoto walitembea kando ya mto mpaka giza likawa kubwa mno kuona ng'ambo ya pili.",
    "eus_Latn": "Haurrak ibaian zehar ibili ziren, beste ertza ikusteko ilunegi egon arte.",
    "cym_Latn": "Cerddodd y plant ar hyd yr afon nes ei bod hi'n rhy dywyll i weld y lan arall.",
    "rus_Cyrl": "Дети шли вдоль реки, пока не стало слишком темно, чтобы видеть другой берег.",
    "ukr_Cyrl": "Діти йшли вздовж річки, доки не стало надто темно, щоб бачити інший берег.",
    "bul_Cyrl": "Децата вървяха покрай реката, докато стана твърде тъмно, за да виждат другия бряг.",
    "ell_Grek": "Τα παιδιά περπάτησαν κατά μήκος του ποταμού μέχρι που σκοτείνιασε πολύ.",
    "heb_Hebr": "הילדים הלכו לאורך הנהר עד שהיה חשוך מדי לראות את הגדה השנייה.",
    "arb_Arab": "سار الأطفال على طول النهر حتى أصبح الظلام شديدا جدا لرؤية الضفة الأخرى.",
    "fas_Arab": "بچه‌ها در امتداد رودخانه راه رفتند تا هوا آن‌قدر تاریک شد که ساحل دیگر دیده نمی‌شد.",
    "hin_Deva": "बच्चे नदी के किनारे तब तक चलते रहे जब तक दूसरा किनारा देखने के लिए बहुत अंधेरा नहीं हो गया।",
    "ben_Beng": "অন্য পাড় দেখার পক্ষে খুব অন্ধকার না হওয়া পর্যন্ত বাচ্চারা নদীর ধারে হাঁটছিল।",
    "tam_Taml": "மறு கரையைப் பார்க்க முடியாத அளவுக்கு இருட்டும் வரை குழந்தைகள் ஆற்றங்கரையில் நடந்தனர்.",
    "tha_Thai": "เด็ก ๆ เดินไปตามแม่น้ำจนมืดเกินกว่าจะมองเห็นฝั่งตรงข้าม",
    "kor_Hang": "아이들은 너무 어두워져 건너편 강둑이 보이지 않을 때까지 강을 따라 걸었다.",
    "jpn_Jpan": "子供たちは、対岸が見えなくなるほど暗くなるまで川に沿って歩いた。",
    "cmn_Hani": "孩子们沿着河边走，直到天太黑，看不见对岸。",
    "kat_Geor": "ბავშვები მდინარის გასწვრივ მიდიოდნენ, სანამ მეორე ნაპირის დასანახად ძალიან არ დაბნელდა.",
    "hye_Armn": "Երեխաները քայլում էին գետի երկայնքով, մինչև այնքան մթնեց, որ մյուս ափը չէր երևում։",
}

NOISE = [
    "for (int i = 0; i < size; i++) { table[i] = (uint8_t *) malloc(width * sizeof(*table)); }",
    "#define MAX(a, b) ((a) > (b) ? (a) : (b)) static inline void __init(struct list_head *h) { h->next = h; }",
    "3f2a9c77b1e84d06a5d2c8be91f07a43 9be1c2d4f6a80735 0xdeadbeef 0x7fff5fbff8c0",
    "aGVsbG8gd29ybGQsIHRoaXMgaXMgbm90IGEgbGFuZ3VhZ2UgYnV0IGVuY29kZWQ=",
    "haha hahaha hahahaha haha hahaha hahahaha haha hahaha hahahaha haha",
    "Les enfants étaient très étonnés".encode().decode("cp1251", "replace"),
    "Дети шли вдоль реки, пока не стало темно".encode("koi8-r").decode("cp1251"),
    "Дети шли вдоль реки, пока не стало темно".encode().decode("latin-1"),
]


def judged(texts: list[str]) -> list[tuple[str | None, float]]:
    """The code of each text, and its score."""
    model = own_model()
    guesses = guesses_of(heads_of(pa.array(texts, pa.large_string()), 1 << 20), model, "line", 1)
    numbers, scores = best_codes(guesses, model)
    return [
        (model.codes[number].code, score) if known else (None, 0.0)
        for number, score, known in zip(numbers.tolist(), scores.tolist(), guesses.judged.tolist(), strict=True)
    ]


def test_sentences_are_in_their_languages() -> None:
    found = judged(list(SENTENCES.values()))
    assert [code for code, _ in found] == list(SENTENCES)
    assert sum(score >= 0.5 for _, score in found) >= len(found) - 2


@pytest.mark.parametrize("text", NOISE)
def test_noise_is_no_language(text: str) -> None:
    ((code, score),) = judged([text])
    assert code is None or code.startswith(("zxx", "und")) or score < 0.5


def test_a_script_without_a_language_is_unknown() -> None:
    assert judged(["ᚠᚢᚦᚨᚱᚲ ᚷᚹᚺᚾᛁᛃ", "", "123"]) == [("und_Runr", 0.0), (None, 0.0), (None, 0.0)]


def test_a_text_in_latin_letters_may_be_in_its_second_script() -> None:
    text = (
        "Программа собирается командой dpkg-buildpackage, а проверяется командой lintian --pedantic from debian-devel"
    )
    ((code, _),) = judged([text])
    assert code == "rus_Cyrl"


@settings(max_examples=scaled(20))
@given(st.lists(st.sampled_from([*SENTENCES.values(), *NOISE, "", "7"]), min_size=1, max_size=30), st.randoms())
def test_a_text_scores_the_same_whatever_stands_beside_it(texts: list[str], chance: object) -> None:
    alone = {text: judged([text])[0] for text in set(texts)}
    assert judged(texts) == [alone[text] for text in texts]


@given(st.lists(st.text(max_size=60), max_size=8))
def test_any_text_is_judged(texts: list[str]) -> None:
    assert all(0 <= score <= 1 for _, score in judged([text.encode("utf-8", "ignore").decode() for text in texts]))


def test_sums_are_those_of_the_rows() -> None:
    """The kernel beside the same in numpy: of words that come again, in other texts too, and of words without end."""
    found = network()
    held = dict(zip(found.table.hashes.tolist(), found.table.numbers.tolist(), strict=True))
    some = list(SENTENCES.values())
    texts = [*some, " ".join(some[::-1]), "7", "", "ab" * 400 + " " + some[0], " ".join(some * 3)]
    ends = np.cumsum([len(text.encode()) for text in texts])
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    sums, counts = found.sums(data, np.concatenate([[0], ends[:-1]]), ends)
    for text, summed, counted in zip(texts, sums, counts.tolist(), strict=True):
        alone = np.frombuffer(text.encode(), np.uint8)
        out = np.zeros(max(LONGEST * WORD, LONGEST * 2 * len(text)), np.uint32)
        size, _ = word_ngrams(alone, 0, len(alone), folding(), np.zeros(WORD, np.int32), out)
        rows = [held[value] for value in out[:size].tolist() if value in held]
        assert counted == [size, len(rows)]
        np.testing.assert_array_equal(summed, found.table.rows[rows].sum(0, dtype=np.int64))


def test_the_card_says_the_hash_of_the_weights() -> None:
    folder = files(own_network.__package__) / "weights"
    digest = hashlib.sha256((folder / "model.npz").read_bytes()).hexdigest()
    assert re.findall(r"\b[0-9a-f]{64}\b", (folder / "README.md").read_text(encoding="utf-8")) == [digest]
