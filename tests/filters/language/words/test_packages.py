"""Segmentation by packages, against datatrove's use of the same packages in its own environment."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import winnow.filters.language.words.packages as packages_module
from benchmarks.measuring.environments import PEERS
from winnow.filters.language.words.packages import PACKAGES, package_segmenter, sudachi_pieces

MIXED = "ABC 1,234.5 http://a.b/c?d=e x@y.org 12345678901234567890123 …… 🙂🙂\u200f\u202e\t\n\n  x"
TEXTS = {
    ("jieba", "cmn_Hani"): "我们都是人类大家庭的成员，享有平等的权利。南京市长江大桥。",
    ("sudachipy", "jpn_Jpan"): "すべての人間は、生まれながらにして自由であり、東京都に住む。",
    ("kiwipiepy", "kor_Hang"): "모든 인간은 태어날 때부터 자유로우며 학교에 갔습니다.",
    ("pyvi", "vie_Latn"): "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm, TP. Hà Nội.",
    ("pythainlp", "tha_Thai"): "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์",
    ("khmernltk", "khm_Khmr"): "មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព។",
    ("laonlp", "lao_Laoo"): "ມະນຸດເກີດມາມີສິດເສລີພາບ ແລະ ສະເໝີໜ້າກັນ",
    ("pyidaungsu", "mya_Mymr"): "လူတိုင်းသည် တူညီလွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် မွေးဖွားလာသူများ ဖြစ်သည်။",
    ("indic", "hin_Deva"): "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है। 12/3/2020",
    ("indic_ur", "urd_Arab"): "تمام انسان آزاد اور حقوق و عزت کے اعتبار سے برابر پیدا ہوئے ہیں۔",
    ("spacy_tr", "tur_Latn"): "Bütün insanlar hür doğarlar; 1'inci madde, Dr. Ali'nin 3.kat'ı.",
}


@pytest.mark.large
def test_words_are_those_of_datatrove() -> None:
    if not (PEERS / "datatrove" / "ready").exists():
        pytest.skip("the peer datatrove is not installed (`python -m benchmarks.parity` says how it is made)")
    asked = [
        [style, language, [text, f"{text}\n{MIXED} {text}", text * 3, "", " \n"]]
        for (style, language), text in TEXTS.items()
    ]
    said = subprocess.run(
        [
            PEERS / "datatrove" / "bin" / "python",
            Path(__file__).with_name("segmenters_peer.py"),
            Path(packages_module.__file__).parent,
        ],
        input="".join(json.dumps(line) + "\n" for line in asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    answers = [json.loads(line) for line in said.stdout.splitlines() if line[:1] in "[n"]
    compared = {style: answer for (style, _), answer in zip(TEXTS, answers, strict=True) if answer is not None}
    for style, (ours, theirs) in compared.items():
        assert ours == theirs, style
        assert len(ours[0]) > 3
    if not compared:
        pytest.skip("the peer datatrove is installed without the packages that find words")


@pytest.mark.parametrize("name", sorted({style for style, _ in TEXTS if style in PACKAGES}))
def test_threads_of_one_process_may_segment_at_once(name: str) -> None:
    segmenter = package_segmenter(name)
    if segmenter is None:
        pytest.skip(f"pip install {PACKAGES[name].install}")
    text = next(text for (style, _), text in TEXTS.items() if style == name) * 20
    alone = segmenter(text)
    with ThreadPoolExecutor(4) as threads:
        assert all(words == alone for words in threads.map(segmenter, [text] * 24))


def test_a_missing_package_has_no_segmenter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages_module, "version", _none_is_installed)
    package_segmenter.cache_clear()
    assert all(package_segmenter(name) is None for name in PACKAGES)
    package_segmenter.cache_clear()


def _none_is_installed(name: str) -> str:
    raise PackageNotFoundError(name)


def test_reasons_name_what_pip_installs() -> None:
    assert sorted({package.reason for package in PACKAGES.values()}) == [
        *("needs_jieba", "needs_khmer_nltk", "needs_kiwipiepy", "needs_laonlp", "needs_pyidaungsu_numpy2"),
        *("needs_pythainlp", "needs_pyvi", "needs_spacy", "needs_sudachipy"),
    ]


def test_texts_for_sudachi_are_cut_below_its_limit() -> None:
    text = "日本語とASCII。" * 20_000
    pieces = sudachi_pieces(text)
    assert "".join(pieces) == text
    assert {len(piece.encode()) > 39_900 for piece in pieces[:-1]} == {True}
    assert all(len(piece.encode()) <= 40_000 for piece in pieces)
    assert sudachi_pieces("") == []
