"""Adult sites by their addresses: UT1's list alone, and with the words by which FineWeb's URL filter goes, too."""

from winnow.filters.presets import Preset, PresetRule

_UT1 = (
    "a domain of the list stands for every host below it; datatrove compares the registered domain and the whole host, "
    "not what lies between",
    "twelve entries are suffixes under which anybody may register (sa.com, dynu.net …) and stand for that host alone; "
    "adult, porn, sex, xxx, sex.hu and sex.pl stand for all below them",
    "the list's addresses match as paths; datatrove compares them with whole addresses that have a scheme, which they "
    "lack, so that none ever matches there",
)

PRESETS = (
    Preset(
        name="urls@ut1-adult",
        summary="pages of sites that UT1 lists as adult",
        operators={"url.blocklist": {"list": "ut1-adult", "category": "sexual.adult_site"}},
        rules=(PresetRule("adult_site", "url.blocklist.hit"),),
        notes=_UT1,
    ),
    Preset(
        name="urls@fineweb",
        summary="URLFilter of datatrove 0.10.1 as FineWeb runs it: UT1's adult sites, and words in the address",
        operators={"url.blocklist": {"list": "fineweb-urls", "category": "sexual.adult_site"}},
        rules=(
            PresetRule("adult_site", "url.blocklist.match IN ('domain', 'host', 'path')"),
            PresetRule("adult_word", "url.blocklist.match = 'word'"),
        ),
        notes=(
            *_UT1,
            "words are compared in lower case and after percent-decoding, in host, path and query; datatrove looks for "
            "hard and soft words in the spelling of the address, and for parts across its scheme, too",
        ),
    ),
)
