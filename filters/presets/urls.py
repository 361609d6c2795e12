"""Adult sites by address: UT1's list alone, and with the words of FineWeb's URL filter."""

from winnow.filters.presets import Preset, preset_rule

_UT1 = (
    "a listed domain covers every host below it; datatrove compares only the registered domain and the whole host",
    "twelve entries are suffixes under which anybody may register (sa.com, dynu.net …) and mean only that host; "
    "adult, porn, sex, xxx, sex.hu and sex.pl cover all hosts below them",
    "the list's addresses match as paths; datatrove compares them with whole addresses including the scheme, which "
    "they lack, so they never match there",
)

PRESETS = (
    Preset(
        name="urls@ut1-adult",
        summary="pages of sites that UT1 lists as adult",
        operators={"url.blocklist": {"list": "ut1-adult", "category": "sexual.adult_site"}},
        rules=(preset_rule("adult_site", "url.blocklist.hit"),),
        notes=_UT1,
    ),
    Preset(
        name="urls@fineweb",
        summary="URLFilter of datatrove 0.10.1 as FineWeb runs it: UT1's adult sites, and words in the address",
        operators={"url.blocklist": {"list": "fineweb-urls", "category": "sexual.adult_site"}},
        rules=(
            preset_rule("adult_site", "url.blocklist.match IN ('domain', 'host', 'path')"),
            preset_rule("adult_word", "url.blocklist.match = 'word'"),
        ),
        notes=(
            *_UT1,
            "words are compared in lower case after percent-decoding, in host, path and query; datatrove compares "
            "hard and soft words with the raw address, and parts also across its scheme",
        ),
    ),
)
