"""`winnow curve`: all presets beside each other, one curve in full, its picture, and what cannot be asked together."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.messages import assert_told, assert_told_each
from winnow.runners.commands.main import main
from winnow.runners.commands.research.curve import Curve, block_plot, exact, percent, short

SVG = "{http://www.w3.org/2000/svg}"


def curve(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["curve", *arguments]) == status
    streams = capsys.readouterr()
    return streams.err if status else streams.out


def test_all_presets_are_set_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    lines = curve(capsys).splitlines()
    assert_told_each(
        lines[:4],
        "texts are compared",
        ("half    .5", ".6", ".7", ".75"),
        "-----------  ------  ------  ----  ----  ----  ----  ----  ----  ----  ----",
        "fineweb        14x8     112  .685  .053  .211  .565  .772  .924  .988    ~1",
    )
    assert lines[10] == "refinedweb   450x20   9,000  .723    ~0  .016  .302  .761  .995    ~1    ~1"
    assert lines[12] == "hplt          17x15     255  .807  .001  .008  .078  .204  .456  .789  .980"
    assert len(lines) == 16
    assert max(map(len, lines[:14])) <= 80


def test_a_threshold_judges_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = curve(capsys, "--threshold", "0.8").splitlines()
    assert lines[1].endswith("   .9  recall >= 0.8  false < 0.8")
    assert lines[3].endswith("   ~1         99.0 %       16.0 %")


def test_one_preset_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    lines = curve(capsys, "rpv2@0.9").splitlines()
    assert lines[:3] == ["rpv2@0.9: 5 bands of 25 rows", "  hashes      125", "  shingles    13 words, seed 1"]
    assert lines[3].startswith("  note        RedPajama-Data-v2 for a similarity of 0.9, chosen")
    assert lines[4:7] == [
        "  half point  0.921  half of all pairs are compared",
        "  recall      34.5 %  mean over similarities from 0.75 to 1",
        "  false       < 0.1 %  mean from 0 to 0.75: compared needlessly, rejected by verification",
    ]
    assert lines[-6:] == [
        "      0.80   0.0187",
        "      0.85   0.0831",
        "      0.90   0.3110",
        "      0.95   0.8030",
        "      1.00        1",
        "",
    ]


def test_a_curve_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    lines = curve(capsys, "--bands", "20", "--rows", "5", "--threshold", ".5").splitlines()
    assert lines[:5] == [
        "20 bands of 5 rows",
        "  hashes      100",
        "  half point  0.509  half of all pairs are compared",
        "  recall      90.8 %  mean over similarities from 0.5 to 1",
        "  false       8.9 %  mean from 0 to 0.5: compared needlessly, rejected by verification",
    ]


def test_the_best_bands_of_so_many_hashes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = curve(capsys, "--hashes", "128", "--threshold", "0.8").splitlines()
    assert_told_each(lines[:3], "9 bands of 13 rows", "  hashes      117", ("128 hashes", "0.8", "11"))
    assert json.loads(curve(capsys, "--hashes", "128", "--json"))["threshold"] == 0.75


def test_the_plot_without_unicode_and_with() -> None:
    assert block_plot(14, 8, 0.75, ascii_only=True) == [
        " 1 |                                        .:#########",
        "   |                                      .############",
        "   |                                    .##############",
        "   |                                   :###############",
        " P |                                 .#################",
        "   |                                :##################",
        "   |                             .:####################",
        "   |                       ...::#######################",
        " 0 +---------------------------------------------------",
        "                                          ^ 0.75",
        "    0                    similarity                   1",
    ]
    drawn = block_plot(1, 1, 1, ascii_only=False)
    assert drawn[0].endswith("│" + " " * 45 + "▂▃▄▅▇█")
    assert drawn[9].endswith(" ^ 1")


def test_a_terminal_gets_blocks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the output for a terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "█" in curve(capsys, "fineweb")


def test_json_of_one_and_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    one = json.loads(curve(capsys, "nemotron-cc", "--json"))
    assert {name: one[name] for name in ("preset", "shingle", "size", "seed", "bands", "rows", "hashes")} == {
        "preset": "nemotron-cc",
        "shingle": "characters",
        "size": 24,
        "seed": 42,
        "bands": 20,
        "rows": 13,
        "hashes": 260,
    }
    assert round(one["half_point"], 3) == 0.771
    assert round(one["probability"]["0.80"], 3) == 0.677
    assert one["probability"]["1.00"] == 1
    every = json.loads(curve(capsys, "--json"))
    assert every["threshold"] == 0.75
    assert one in every["curves"]
    assert len(every["curves"]) == 10


def test_the_picture_is_an_svg_file_and_the_same_bytes_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, again = tmp_path / "curve.svg", tmp_path / "again.svg"
    assert curve(capsys, "fineweb", "--plot", str(target)).endswith(f"plot  {target}\n")
    curve(capsys, "fineweb", "--plot", str(again), "--json")
    assert target.read_bytes() == again.read_bytes()
    root = ElementTree.parse(target).getroot()
    assert root.tag == f"{SVG}svg"
    texts = [str(element.text) for element in root.iter(f"{SVG}text")]
    assert_told(texts[0], "fineweb:", "14 bands", "8 rows", whole=True)
    assert_told_each(
        texts[-4:], "threshold 0.75", "half point: 0.685", ("threshold", "96.3 %"), "false candidates below it: 11.4 %"
    )
    line = root.find(f"{SVG}polyline")
    assert line is not None
    assert line.attrib["points"].startswith("58,344 ")
    assert line.attrib["points"].endswith(" 740,44")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["finweb"], "'finweb' … 'fineweb'"),
        (
            ["fineweb", "--bands", "3"],
            "--bands … --rows",
        ),
        (
            ["--bands", "3", "--rows", "4", "--hashes", "12"],
            "--bands … --rows … --hashes",
        ),
        (["--bands", "3"], "--rows … --bands … --rows"),
        (["--rows", "3"], "--bands … --bands … --rows"),
        (["--bands", "0", "--rows", "4"], "--bands 0: expected 1 to 10,000"),
        (["--bands", "4", "--rows", "1001"], "--rows 1001: expected 1 to 1,000"),
        (["--hashes", "1000000000"], "--hashes 1000000000: expected 1 to 10,000"),
        (["--threshold", "0"], "--threshold … 0 … above 0"),
        (["--threshold", "nan"], "--threshold … above 0 … most 1"),
        (["fineweb", "--threshold", "75"], "--threshold … 75 … above 0"),
        (
            ["--plot", "a.svg"],
            "--plot … --bands … --rows",
        ),
        (["fineweb", "--plot", "a.png"], "--plot … a.png … SVG"),
        (["fineweb", "--plot", "no/a.svg"], "--plot … no/a.svg"),
    ],
)
def test_what_cannot_be_asked_ends_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_told(curve(capsys, *arguments, status=1), said, whole=True)
    assert list(tmp_path.iterdir()) == []


def test_rounded_numbers_never_read_as_nothing_or_all() -> None:
    assert [short(p) for p in (0.0001, 0.0006, 0.5, 0.9994, 0.9996, 1.0)] == ["~0", ".001", ".500", ".999", "~1", "~1"]
    assert [exact(p) for p in (1e-7, 0.05, 1 - 1e-7)] == ["1.0e-07", "0.0500", "> 0.9999"]
    assert [percent(p) for p in (1e-7, 0.05, 1 - 1e-7)] == ["< 0.1 %", "5.0 %", "> 99.9 %"]
    assert Curve(14, 8, 0.75).name == "14 bands of 8 rows"


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
@example(0.99995)
@example(0.9995)
@example(0.99949999999)
@example(0.00005)
def test_what_is_neither_0_nor_1_is_never_written_as_such(share: float) -> None:
    assert exact(share) not in ("0.0000", "1.0000")
    assert percent(share) not in ("0.0 %", "100.0 %")
    assert short(share) not in (".000", ".1000")
