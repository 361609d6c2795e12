"""Contact sheets: captions are text, whatever is written in them, and what is asked for is checked."""

import pytest

from tests.messages import assert_refused
from tests.runners.example_store import SUMMARY
from winnow.pipelines.media.thumbnails import Thumbnail
from winnow.runners.facts.content import contact_sheets
from winnow.runners.facts.examples import ContactSheet, Examples, SheetPicture
from winnow.runners.stages.reports.gathered_sheets import WantedSheet, wanted_sheets
from winnow.schemas.errors import WinnowError

JPEG = bytes.fromhex("ffd8ffd9")


def test_captions_paths_and_names_are_escaped() -> None:
    hostile = '<script>alert(1)</script>\u202e"><img src=x onerror=alert(1)>'
    facts = {"mime": "image/png", "width": 3, "height": 2, "bytes": 9, "ref": {"path": hostile, "member": None}}
    shown = SheetPicture("0" * 32, Thumbnail("ok", JPEG, 2, 3, facts=facts), (hostile,), "1.5")
    lost = SheetPicture("1" * 32, Thumbnail("forgotten"), ())
    block = contact_sheets(SUMMARY, Examples(sheets=(ContactSheet(hostile, ((hostile, (shown, lost)),)),)))

    assert block is not None
    assert block.body.count("<script") == 0
    assert block.body.count("<img ") == 1  # the thumbnail
    assert block.body.count("\\u202e") == 4
    assert block.body.count("&lt;script&gt;") == 4
    assert 'src="data:image/jpeg;base64,' in block.body
    assert "forgotten" in block.body


def test_without_a_wish_there_is_no_section() -> None:
    assert contact_sheets(SUMMARY, Examples()) is None
    assert wanted_sheets([], 24) is None


def test_each_wish_is_parsed_once() -> None:
    wanted = wanted_sheets(["random", "near:flat", "reason:a:b", "random"], 7, unblurred=True)

    assert wanted is not None
    assert wanted.sheets == (WantedSheet("random"), WantedSheet("near", "flat"), WantedSheet("reason", "a:b"))
    assert (wanted.pictures, wanted.unblurred) == (7, True)


@pytest.mark.parametrize("written", ["", "Random", "random:", "near", "near:", "reason:", "worst:flat"])
def test_other_wishes_are_refused(written: str) -> None:
    with pytest.raises(WinnowError, match="expected random, near:RULE or reason:NAME"):
        wanted_sheets([written], 24)


@pytest.mark.parametrize("pictures", [0, -1, 401])
def test_the_number_of_pictures_has_bounds(pictures: int) -> None:
    with assert_refused(WinnowError, "1", "400"):
        wanted_sheets(["random"], pictures)
